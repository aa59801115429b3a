"""Table 3.3 of Rooshenas 2017, measured again: how good answers are, and how long they take."""

from statistics import fmean

from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.grid import MARKS, SAMPLED, Grid, log_likelihood
from tractable.cli.benchmark.questions import PERCENTAGES


def answers_grid(comparison: Comparison) -> Grid:
    """Conditional log-likelihoods, measured and published (table 3.3)."""
    lines = []
    for dataset in comparison.datasets:
        for learner in comparison.learners:
            cells = [_answer_cell(comparison, dataset, learner, percent) for percent in PERCENTAGES]
            if any(cells):
                lines.append((dataset, learner, *cells))
        for method in published.methods():
            for mark, figures in (("*", published.conditionals()), ("**", published.conditionals_a_cell())):
                means = [figures.get((dataset, method, percent)) for percent in PERCENTAGES]
                if any(mean is not None for mean in means):
                    shown = ("" if mean is None else f"{mean:.4f}" for mean in means)
                    lines.append((dataset, method + mark, *shown))
    return Grid(
        "Conditional log-likelihood",
        ("data set", "learner", *(f"{percent} %" for percent in PERCENTAGES)),
        tuple(lines) if any(not line[1].endswith("*") for line in lines) else (),
        "Of so many of the variables given the others, nats a variable asked about; marks as above."
        " * published, with other draws of the variables; ** the same, for one variable fewer than it was"
        " divided by, which is what the figures fit where the percentage is a whole number of variables."
        + _sampled_legend(comparison),
        names=2,
    )


def _answer_cell(comparison: Comparison, dataset: str, learner: str, percent: int) -> str:
    answers = comparison.answers(dataset, learner, percent)
    if answers is None:
        return ""
    mark = MARKS[comparison.answer_verdict(dataset, learner, percent)]
    sampled = SAMPLED if learner in comparison.networks else ""
    return f"{mark}{sampled}{log_likelihood(fmean(answers.log_prob), 4)}"


def _sampled_legend(comparison: Comparison) -> str:
    """What the sign means that marks approximate answers."""
    if not comparison.networks:
        return ""
    return (
        " ≈ approximate, by Gibbs sampling: the sum over cells of log marginals (conditional marginal"
        " log-likelihood), not the joint conditional log-likelihood, with which it is not compared."
    )


def times_grid(comparison: Comparison) -> Grid:
    """Milliseconds a question: mean and largest of the averages of all data sets (table 3.3, last lines)."""
    lines = []
    for learner in comparison.learners:
        for name, field in (("alone", "alone_ms"), ("all at once", "batch_ms")):
            times = [_times(comparison, learner, percent, field) for percent in PERCENTAGES]
            if all(times):
                lines.append((learner, name, *(f"{fmean(ms):.3g} / {max(ms):.3g}" for ms in times)))
    if lines:
        for method in dict.fromkeys(method for method, _ in published.query_times()):
            times_told = [published.query_times()[method, percent] for percent in PERCENTAGES]
            lines.append((f"{method}*", "", *(f"{average:g} / {most:g}" for average, most in times_told)))
    return Grid(
        "Milliseconds a question",
        ("learner", "asked", *(f"{percent} %" for percent in PERCENTAGES)),
        tuple(lines),
        "Mean / largest of the data sets' averages, on one core."
        " * published: twenty data sets, a core of 2.67 GHz."
        + (f" {', '.join(comparison.networks)}: by Gibbs sampling." if comparison.networks else ""),
        names=2,
    )


def _times(comparison: Comparison, learner: str, percent: int, field: str) -> list[float]:
    found = (comparison.answers(dataset, learner, percent) for dataset in comparison.datasets)
    return [getattr(answers, field) for answers in found if answers is not None]
