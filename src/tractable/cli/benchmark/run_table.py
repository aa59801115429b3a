"""The table of all runs: what was asked of each, and what it cost."""

from typing import Any

from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.contestants import any_contestant
from tractable.cli.benchmark.grid import Grid, log_likelihood
from tractable.cli.benchmark.runs import Measured, Run

NAMES = ("data set", "learner", "settings", "outcome")
NETWORKS = (
    " A network has no circuit, and no log-likelihood: PLL is the mean log pseudo-likelihood, which chooses"
    " between runs of its learner."
)


def runs_grid(comparison: Comparison) -> Grid:
    """Every run: its settings, its figures and what it cost, or why it failed."""
    chosen = {run.key for of_set in comparison.chosen.values() for run in of_set.values()}
    return Grid(
        "Runs",
        (*NAMES, "valid LL", "test LL", "new rows", "edges", "CPU s", "near", "MB"),
        tuple(_run_line(run, run.key in chosen) for run in comparison.runs),
        "New rows: the mean log-likelihood of the test rows that do not occur among the training rows. Near:"
        " the seconds until the score was within 0.5 % of the last one. CPU seconds of learning, peak memory"
        " of the whole process, on one core. ✓ stands in the tables above: of several runs of a learner on a"
        " data set the best on validation rows." + (NETWORKS if comparison.networks else ""),
        names=len(NAMES),
    )


def _run_line(run: Run, is_chosen: bool) -> tuple[str, ...]:
    head = (run.dataset, run.learner, settings_text(run))
    measured = run.measured
    if measured is None:
        return (*head, f"failed: {run.reason}", "", "", "", "", "", "", "")
    parts = ["stopped by budget"] * (not measured.finished) + _network_words(measured)
    outcome = ("✓ " if is_chosen else "") + ", ".join(parts)
    figures = (
        log_likelihood(measured.valid_ll, 3),
        log_likelihood(measured.test_ll, 3),
        log_likelihood(measured.new_test_ll, 3),
        "" if measured.edges is None else f"{measured.edges:,}",
    )
    near = "" if measured.settled_seconds is None else f"{measured.settled_seconds:.0f}"
    cost = (f"{measured.cpu_seconds:.1f}", near, f"{measured.peak_mb:,.0f}")
    return (*head, outcome.strip(), *figures, *cost)


def _network_words(measured: Measured) -> list[str]:
    """What a network has in place of edges and log-likelihoods."""
    if measured.features is None:
        return []
    return [f"network of {measured.features:,} features, valid PLL {log_likelihood(measured.valid_pll, 3)}"]


def settings_text(run: Run) -> str:
    """What of a run is not as it is by default."""
    plain = _defaults(run.learner, run.inputs is not None)
    told = [
        f"{part}.{name}={_value(value)}"
        for part, settings in run.settings.items()
        for name, value in settings.items()
        if part not in plain or plain[part].get(name) != value
    ]
    if run.seed != 0:
        told.append(f"seed={run.seed}")
    if run.budget is not None:
        told.append(f"budget={run.budget:g}s")
    return " ".join(told)


def _defaults(learner: str, conditional: bool) -> dict[str, dict[str, Any]]:
    """The default settings; none of a learner that is there no more."""
    try:
        return any_contestant(learner, (), conditional).settings
    except ValueError:
        return {}


def _value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
