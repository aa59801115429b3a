"""Tables 3.1 and 3.2 of Rooshenas 2017, measured again: how probable test rows are, and who wins."""

from collections.abc import Sequence

from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.grid import MARKS, Grid, log_likelihood
from tractable.cli.benchmark.significance import LEVEL


def likelihood_grid(comparison: Comparison, methods: Sequence[str]) -> Grid:
    """Mean test log-likelihoods, measured and published (table 3.1)."""
    known = published.log_likelihoods()
    shown = [m for m in methods if any((name, m) in known for name in comparison.datasets)]
    lines = []
    for dataset in comparison.datasets:
        ours = [_measured_cell(comparison, dataset, learner) for learner in comparison.learners]
        theirs = [_published_cell(dataset, method) for method in shown]
        lines.append((dataset, *ours, *theirs))
    if lines:
        lines.append(("better / worse", *_counts(comparison), *map(_published_counts, shown)))
    return Grid(
        "Test log-likelihood",
        ("data set", *comparison.learners, *(f"{method}*" for method in shown)),
        tuple(lines),
        _legend(comparison)
        + (f" * published; its marks compare with {published.REFERENCE}*." if shown else "")
        + _network_legend(comparison),
    )


def _legend(comparison: Comparison) -> str:
    if comparison.against not in comparison.learners:
        return f"Mean over test rows, nats. No run of {comparison.against} to compare with."
    if comparison.against in comparison.networks:
        return f"Mean over test rows, nats. {comparison.against} has no log-likelihood to compare with."
    return (
        f"Mean over test rows, nats. • significantly better than {comparison.against}, ◦ significantly worse"
        f" (paired t-test, p = {LEVEL:g})."
    )


def _network_legend(comparison: Comparison) -> str:
    """Why some columns are empty."""
    if not comparison.networks:
        return ""
    return (
        f" {', '.join(comparison.networks)}: no figures, since the log-likelihood of a Markov network without"
        " a circuit is intractable."
    )


def _measured_cell(comparison: Comparison, dataset: str, learner: str) -> str:
    measured = comparison.measured(dataset, learner)
    if measured is None:
        return "failed" if (dataset, learner) in comparison.failed else ""
    return MARKS[comparison.verdict(dataset, learner)] + log_likelihood(measured.test_ll, 3)


def _published_cell(dataset: str, method: str) -> str:
    figure = published.log_likelihoods().get((dataset, method))
    return "" if figure is None else MARKS[figure.against_reference] + f"{figure.mean:.2f}"


def _counts(comparison: Comparison) -> list[str]:
    against = comparison.against
    compared = _with_likelihoods(comparison)
    return [
        "" if learner == against or not {learner, against} <= set(compared)
        else f"{comparison.wins(learner, against)} / {comparison.wins(against, learner)}"
        for learner in comparison.learners
    ]  # fmt: skip


def _published_counts(method: str) -> str:
    wins = published.wins()
    forth, back = (method, published.REFERENCE), (published.REFERENCE, method)
    return f"{wins[forth]} / {wins[back]}" if forth in wins else ""


def _with_likelihoods(comparison: Comparison) -> list[str]:
    """The learners whose log-likelihoods can be compared: those of circuits."""
    return [learner for learner in comparison.learners if learner not in comparison.networks]


def wins_grid(comparison: Comparison) -> Grid:
    """On how many data sets each learner is significantly better than each other (table 3.2)."""
    compared = _with_likelihoods(comparison)
    learners = compared if len(compared) > 1 else []
    lines = [
        (one, *("—" if one == other else _wins_cell(comparison, one, other) for other in learners))
        for one in learners
    ]
    note = (
        f"On how many of {len(comparison.datasets)} data sets the learner of the line is significantly better"
    )
    note += " than that of the column; in brackets the published number of 20."
    return Grid("Wins and losses", ("", *learners), tuple(lines), note)


def _wins_cell(comparison: Comparison, one: str, other: str) -> str:
    names = published.counterparts()
    told = published.wins().get((names.get(one, ""), names.get(other, "")))
    return str(comparison.wins(one, other)) + ("" if told is None else f" ({told})")
