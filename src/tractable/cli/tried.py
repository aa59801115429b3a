"""The models that `auto` has tried, as text."""

from collections.abc import Sequence
from typing import Any

HEADINGS = ("learner", "seconds", "edges", "valid ll", "weight", "loss without", "remark")


def tried_table(tried: Sequence[dict[str, Any]]) -> str:
    """One line per model: its size, score and weight, and the loss of the mixture without it."""
    rows = [HEADINGS, *(_row(one) for one in tried)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    last = len(HEADINGS) - 1
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in (0, last) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    settings = ", ".join(f"{name}={_text(value)}" for name, value in one["settings"].items())
    remarks = [one["remark"], "" if one["finished"] else "stopped early"]
    return (
        f"{one['learner']} ({settings or 'defaults'})",
        f"{one['seconds']:.1f}",
        f"{one['edges']:,}",
        _number(one["valid_ll"], ".4f"),
        f"{one['weight']:.3f}" if one["weight"] else "",
        _number(one["loss_without"], ".4f"),
        "; ".join(filter(None, remarks)),
    )


def _text(value: Any) -> str:
    from tractable.base.settings import setting_text

    return setting_text(tuple(value) if isinstance(value, list) else value)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
