"""The summary of a model that is written already: it takes little time, and Ctrl-C ends it early."""

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
    """What is said behind a score that is that of a sample: how many rows, and its standard error."""
    rows = facts.get(f"{name}_rows")
    if rows is None:
        return ""
    error = facts[f"{name}_std_error"]
    return f" (of {rows:,} random rows{'' if error is None else f', ± {error:.2g}'})"


def shown_score(facts: dict[str, Any], name: str) -> object:
    """A score as it is shown: a number, or what is known of it from a sample of the rows."""
    score = facts[name]
    remark = sample_remark(facts, name)
    if not remark:
        return score
    return "unknown: interrupted before any row was scored" if score is None else f"{score:.6g}{remark}"
