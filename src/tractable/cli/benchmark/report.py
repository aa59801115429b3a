"""A comparison as a page: Markdown with all tables, and a picture beside it."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

from tractable import __version__
from tractable.cli.benchmark import published
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.contestants import any_contestant
from tractable.cli.benchmark.grid import MARKS, SAMPLED, Grid, log_likelihood
from tractable.cli.benchmark.picture import picture
from tractable.cli.benchmark.questions import PERCENTAGES
from tractable.cli.benchmark.runs import Measured, Run
from tractable.cli.benchmark.significance import LEVEL
from tractable.formats.atomic import require_replaceable, write_bytes, write_text

# ---- all tables of a comparison, published figures beside measured ones: Rooshenas 2017, measured again ----
#
# Tables 3.1 and 3.2 show how probable test rows are, and who wins; table 3.3 how good answers are, and
# how long they take. The table of runs shows what was asked of each, and what it cost.


def grids(comparison: Comparison, methods: Sequence[str]) -> list[Grid]:
    """All tables that there is something to put in; `methods` are the published ones to show."""
    every = [
        likelihood_grid(comparison, methods),
        wins_grid(comparison),
        answers_grid(comparison),
        times_grid(comparison),
        runs_grid(comparison),
    ]
    return [grid for grid in every if grid.lines]


def relevant_methods(comparison: Comparison) -> list[str]:
    """The published methods that the learners repeat, what these are compared with, and the best."""
    wanted = {published.REFERENCE, published.BEST}
    wanted |= {
        published.counterparts()[name] for name in comparison.learners if name in published.counterparts()
    }
    return [method for method in published.methods() if method in wanted]


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
    asked = (comparison.answers(dataset, learner, percent) for dataset in comparison.datasets)
    return [getattr(answers, field) for answers in asked if answers is not None]


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
    wins = published.wins().get((names.get(one, ""), names.get(other, "")))
    return str(comparison.wins(one, other)) + ("" if wins is None else f" ({wins})")


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
    texts = [
        f"{part}.{name}={_value(value)}"
        for part, settings in run.settings.items()
        for name, value in settings.items()
        if part not in plain or plain[part].get(name) != value
    ]
    if run.seed != 0:
        texts.append(f"seed={run.seed}")
    if run.budget is not None:
        texts.append(f"budget={run.budget:g}s")
    return " ".join(texts)


def _defaults(learner: str, conditional: bool) -> dict[str, dict[str, Any]]:
    """The default settings; none of a learner that is there no more."""
    try:
        return any_contestant(learner, (), conditional).settings
    except ValueError:
        return {}


def _value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


NAME = "bench.md"  # in a folder


def report_place(given: Path) -> Path:
    """Where the page goes: the file, or `bench.md` in the folder, which is made.

    Raises:
        ValueError: if it cannot be written or drawn.
        FileExistsError: if something else than a file stands there.
    """
    if find_spec("matplotlib") is None:
        raise ValueError("a report requires matplotlib, which is installed by: pip install 'tractable[plot]'")
    if given.suffix.lower() == ".md":
        if not given.parent.is_dir():
            raise ValueError(f"there is no folder '{given.parent}' to write '{given.name}' in")
        return _checked(given)
    if given.exists() and not given.is_dir():
        raise ValueError(f"'{given}': a report must be a folder or a file with the suffix .md")
    given.mkdir(parents=True, exist_ok=True)
    return _checked(given / NAME)


def _checked(page: Path) -> Path:
    """The page, unless something else than a file stands in its place or in that of its picture."""
    for file in (page, page.with_suffix(".svg")):
        require_replaceable(file)
    return page


def write_report(comparison: Comparison, page: Path) -> list[Path]:
    """Write the page and, under the same name, its picture; the files written."""
    image = page.with_suffix(".svg")
    write_bytes(image, picture(comparison))
    write_text(page, _page(comparison, image.name))
    return [page, image]


def _page(comparison: Comparison, image: str) -> str:
    parts = [
        "# Benchmark",
        f"Measured with tractable {__version__}. Published figures have a *; sources are at the end.",
        f"![test log-likelihoods, measured and published]({image})",
        *(grid.markdown() for grid in grids(comparison, list(published.methods()))),
        "## Sources",
        "\n".join(f"- {method}*: {source}" for method, source in published.methods().items()),
    ]
    return "\n\n".join(parts) + "\n"
