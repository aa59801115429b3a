"""`tractable bench`: compare learners on data sets with published results."""

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.files import check_place
from tractable.cli.output import answer, count, note

if TYPE_CHECKING:
    from tractable.cli.benchmark import Comparison, DataSet, Job, Run
    from tractable.cli.benchmark.grid import Grid


def bench(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar=("DIR"),
            help="Folder with NAME.train.data.gz, .valid and .test files; by default a built-in data set.",
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option("--datasets", metavar="A,B", help="Data sets in the folder; by default all.")
    ] = None,
    learners: Annotated[
        str | None,
        typer.Option(
            "--learners",
            metavar="X,Y",
            help=(
                "Learners, such as idspn,learnspn+cccp,selective:tuning=grid; by default those with"
                " published results."
            ),
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="LEARNER.NAME=VALUE", help="Setting of a learner; repeatable."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Time budget for learning a model: 90s, 10m, 1h."),
    ] = None,
    queries: Annotated[
        int, typer.Option("--queries", min=0, metavar="N", help="Maximum number of queries about test rows.")
    ] = 1000,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="NAME", help="Learner to compare with; by default idspn or daclearn."
        ),
    ] = None,
    conditional: Annotated[
        bool,
        typer.Option(
            "--conditional",
            help=(
                "Compare P(targets | inputs) of conditional learners, joint learners and logistic regression."
            ),
        ),
    ] = False,
    inputs: Annotated[
        str,
        typer.Option(
            "--inputs", metavar="P,Q", help="With --conditional: percentages of the columns that are inputs."
        ),
    ] = "50,80",
    results: Annotated[
        Path,
        typer.Option("--results", metavar="FILE", help="File of results as JSON lines, which is extended."),
    ] = Path("bench.jsonl"),
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="PLACE", help="Write a report with a picture to this folder or FILE.md."
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat failed runs.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Only show the results in the results file.")] = False,
    seed: options.Seed = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Number of parallel runs, each on one core.")
    ] = 1,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Run learners on data sets and print their results beside published ones.

    Each run is a separate process. Results in the results file are not computed again, so an interrupted
    benchmark can be continued. The tables show all results in the file.

    With --conditional, some columns are inputs and the others are predicted from them. Joint models are
    learned once and stored in the folder RESULTS.models. `logistic` is an independent logistic regression of
    each target.

    Example: tractable bench --data DIR --datasets nltcs,plants --learners acmn,learnspn+cccp --budget 10m
    """
    from tractable.cli import benchmark

    page = None if report is None else benchmark.report_place(report)
    check_place(results)
    shares: list[float | None] = _shares(inputs) if conditional else [None]
    before = benchmark.read_results(results)
    if not show:
        seconds = None if budget is None else options.duration(budget)
        sets = _data_sets(data, options.names(datasets))
        every = benchmark.published_conditional_names if conditional else benchmark.published_names
        like = benchmark.Job(
            sets[0], "", (), seed, seconds, queries, None, _models_folder(results) if conditional else None
        )
        wanted = _jobs(sets, options.names(learners) or every(), settings or [], like, shares)
        _run(_left(wanted, before, retry), results, jobs, quiet or as_json)
    shown = _Shown(benchmark.read_results(results), against, conditional)
    files = [] if page is None else shown.write(page)
    facts = {"results": results, "report": files, "against": shown.against, "runs": shown.facts()}
    answer(facts, "\n\n".join(grid.text() for grid in shown.grids()) or "no runs", as_json)
    note("\nwrote " + ", ".join(map(str, files)), quiet or as_json or not files)


class _Shown:
    """The results in the results file, of joint or of conditional models."""

    def __init__(self, runs: list["Run"], against: str | None, conditional: bool) -> None:
        from tractable.cli.benchmark import compare

        self.against = against or ("daclearn" if conditional else "idspn")
        self.conditional = conditional
        shares = sorted({run.inputs for run in runs if run.inputs is not None})
        self.joint = compare(runs, self.against)
        self.given = {share: compare(runs, self.against, share) for share in shares}

    def grids(self) -> list["Grid"]:
        """All tables."""
        from tractable.cli import benchmark

        if self.conditional:
            return benchmark.conditional_grids(self.given)
        return benchmark.grids(self.joint, benchmark.relevant_methods(self.joint))

    def write(self, page: Path) -> list[Path]:
        """Write the report and its picture; returns the files written."""
        from tractable.cli import benchmark

        if self.conditional:
            return benchmark.write_conditional_report(self.given, page)
        return benchmark.write_report(self.joint, page)

    def facts(self) -> list[dict[str, Any]]:
        """The runs as JSON data."""
        some = self.given.values() if self.conditional else [self.joint]
        return [run for comparison in some for run in _runs(comparison)]


def _shares(text: str) -> list[float | None]:
    """Percentages of the columns as fractions.

    Raises:
        ValueError: naming a value that is not a percentage.
    """
    shares: list[float | None] = []
    for word in options.names(text):
        try:
            share = float(word) / 100
        except ValueError:
            share = 0.0
        if not 0 < share < 1:
            raise ValueError(f"--inputs: '{word}' is not a percentage between 0 and 100")
        shares.append(share)
    return shares


def _models_folder(results: Path) -> str:
    """The folder in which joint models are stored for queries with different inputs."""
    return str(results.with_name(results.name + ".models").resolve())


def _data_sets(data: Path | None, names: list[str]) -> list["DataSet"]:
    from tractable.cli.benchmark import demo, find

    if data is not None:
        return find(data, names)
    if names not in ([], [demo().name]):
        raise ValueError(f"without --data, the only data set is {demo().name}")
    return [demo()]


def _jobs(
    sets: list["DataSet"], names: list[str], settings: list[str], like: "Job", shares: list[float | None]
) -> list["Job"]:
    """The jobs for all learners and data sets, ordered by data set."""
    from dataclasses import replace

    from tractable.cli.benchmark import conditional_contestants, contestants

    refuse = contestants if shares == [None] else conditional_contestants
    refuse(names, settings)  # what is unknown, before anything runs
    return [
        replace(like, dataset=dataset, learner=name, settings=tuple(settings), inputs=share)
        for dataset in sets
        for name in dict.fromkeys(names)
        for share in shares
    ]


def _left(jobs: list["Job"], before: list["Run"], retry: bool) -> list["Job"]:
    """The jobs without results."""
    there = {run.key for run in before if run.measured is not None or not retry}
    return [job for job in jobs if job.result(None).key not in there]


def _run(jobs: list["Job"], results: Path, at_once: int, quiet: bool) -> None:
    """Run the jobs and store each result as soon as it is available."""
    from tractable.cli.benchmark import append_result, run_all

    note(f"{count(len(jobs), 'run')} to go", quiet)
    with closing(run_all(jobs, at_once)) as done:
        for number, (job, run) in enumerate(done, start=1):
            append_result(results, run)
            given = "" if job.inputs is None else f", {100 * job.inputs:g} % given"
            note(f"{number}/{len(jobs)}  {job.dataset.name}  {job.learner}{given}: {_outcome(run)}", quiet)


def _outcome(run: "Run") -> str:
    measured = run.measured
    if measured is None:
        return f"failed: {run.reason}"
    cost = f"{measured.cpu_seconds:.1f} CPU s, {measured.peak_mb:,.0f} MB"
    if measured.edges is None or measured.test_ll is None:
        return f"{count(measured.features or 0, 'feature')}, approximate answers, {cost}"
    return f"{measured.test_ll:.4f} nats, {count(measured.edges, 'edge')}, {cost}"


def _runs(comparison: "Comparison") -> list[dict[str, Any]]:
    """The runs as JSON data, with scores but without individual rows."""
    return [_facts(run, label, comparison) for run, label in _label_runs(comparison)]


def _label_runs(comparison: "Comparison") -> list[tuple["Run", str | None]]:
    """All runs, each with the data set that it represents in the tables, if any."""
    standing = {run.key: label for label, runs in comparison.chosen.items() for run in runs.values()}
    return [(run, standing.get(run.key)) for run in comparison.runs]


def _facts(run: "Run", label: str | None, comparison: "Comparison") -> dict[str, Any]:
    facts = {name: value for name, value in vars(run).items() if name != "measured"}
    facts["chosen"] = label is not None
    if run.measured is None:
        return facts
    rows = ("log_prob", "answers", "times")
    facts |= {name: value for name, value in vars(run.measured).items() if name not in rows}
    facts |= {"test_ll": run.measured.test_ll, "test_rows": len(run.measured.log_prob) or None}
    exact = not run.measured.is_network
    facts["questions"] = [
        asdict(one) | {"log_prob": sum(one.log_prob) / len(one.log_prob), "exact": exact}
        for one in run.measured.answers
    ]
    if run.measured.times is not None:
        facts["times"] = asdict(run.measured.times)
    if label is not None:
        facts["verdict"] = comparison.verdict(label, run.learner) or None
    return facts
