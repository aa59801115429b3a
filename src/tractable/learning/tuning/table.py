"""Trials as a table of text."""

from collections.abc import Sequence

from tractable.base.settings import setting_text
from tractable.learning.tuning.trial import Trial, best_of


def table_text(trials: Sequence[Trial]) -> str:
    """One line per trial, the best marked by a star; settings are written as after `--set`."""
    best = best_of(trials)
    names = list(trials[0].settings)
    head = ["", "trial", "score", "seconds", "edges", *names, ""]
    rows = [head, *(_cells(trial, names, trial is best) for trial in trials)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return (
        "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
            + f"  {row[-1]}"
            for row in rows
        )
        .replace("  \n", "\n")
        .rstrip()
    )


def _cells(trial: Trial, names: Sequence[str], is_best: bool) -> list[str]:
    settings = [setting_text(trial.settings[name]) for name in names]
    remark = trial.fault or ("" if trial.finished else "stopped early")
    numbers = [str(trial.number), f"{trial.score:.5f}", f"{trial.seconds:.2f}", f"{trial.edges:,}"]
    return ["*" if is_best else "", *numbers, *settings, " ".join(remark.split())]
