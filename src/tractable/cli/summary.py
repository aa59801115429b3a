"""The summary of a model that is already saved; it takes little time and can be interrupted."""

from typing import TYPE_CHECKING, Any

from tractable.cli.progress import OnProgress

if TYPE_CHECKING:
    from tractable.base.progress import Watch

SECONDS = 5.0  # in which rows are scored; where that is too short, a sample of them is
HASTY_SECONDS = 1.0  # the same after Ctrl-C


def summary_watch(tell: OnProgress | None, *, interrupted: bool = False) -> "Watch":
    """The watch of a summary."""
    from tractable.base.progress import Watch

    return Watch(tell, seconds=HASTY_SECONDS if interrupted else SECONDS)


def sample_remark(facts: dict[str, Any], name: str) -> str:
    """The remark on a score that was estimated from a sample: the number of rows and the standard error."""
    rows = facts.get(f"{name}_rows")
    if rows is None:
        return ""
    error = facts[f"{name}_std_error"]
    return f" (of {rows:,} random rows{'' if error is None else f', ± {error:.2g}'})"


def shown_score(facts: dict[str, Any], name: str) -> object:
    """A score for display: a number, or an estimate from a sample of the rows."""
    score = facts[name]
    remark = sample_remark(facts, name)
    if not remark:
        return score
    return "unknown: interrupted before any row was scored" if score is None else f"{score:.6g}{remark}"
