"""`tractable learn`: learn a model or a network from a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options, training
from tractable.cli.completion import learner_names
from tractable.cli.files import check_model_place, check_network_place, check_place
from tractable.cli.output import INTERRUPTED, answer, likelihood_of, lines, note
from tractable.cli.progress import progress_bar
from tractable.cli.reading import Reading, reads_tables
from tractable.cli.runs import CircuitRun, NetworkRun
from tractable.cli.stack import tried_table
from tractable.cli.summary import shown_score

if TYPE_CHECKING:
    from tractable.data import Table
    from tractable.learning.conditional import ConditionalLearner
    from tractable.learning.joint import Learner
    from tractable.learning.networks import NetworkLearner


@reads_tables
def learn(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar=("ALGORITHM"),
            help="Name of a learner, such as chow-liu.",
            show_default=False,
            autocompletion=learner_names,
        ),
    ],
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Table to learn from.", show_default=False)],
    valid: options.Valid = None,
    targets: options.Targets = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="Model file; by default TRAIN.ALGORITHM.tract (.mn for a network).",
        ),
    ] = None,
    settings: options.Settings = None,
    max_edges: Annotated[
        int | None,
        typer.Option(
            "--max-edges", min=1, help="Maximum number of edges in the circuit; short for --set max_edges=N."
        ),
    ] = None,
    weight: options.Weight = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from the last checkpoint of the same call, and keep checkpoints.",
        ),
    ] = False,
    keep_checkpoint: Annotated[
        bool,
        typer.Option("--keep-checkpoint", help="Keep the last checkpoint next to the finished model."),
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Learn a model of TRAIN and save it. Ctrl-C saves the best model so far; a second Ctrl-C aborts.

    Tables are text (.csv, .tsv, .txt), .json, .jsonl, .parquet, .feather, workbooks (.xlsx::SHEET, .xls,
    .ods), databases (.db::TABLE, .sqlite, .duckdb), or headerless integers in .data, optionally compressed
    (.gz, .zip, ...); - is standard input. l1-markov and gssl learn a network without a circuit, saved as .mn
    or .uai, whose answers are approximate. Conditional learners such as cacmn learn a model of --targets
    given all other columns, which are its inputs.

    auto tries several learners and mixes their models; it takes ten minutes unless --budget is given.

    Example: tractable learn auto train.csv --valid valid.csv -o clinic.tract --budget 1m
    """
    from tractable.data import useful_validation
    from tractable.learning.training import make_learner

    limit = [] if max_edges is None else [f"max_edges={max_edges}"]
    learner = make_learner(algorithm, [*(settings or []), *limit])
    seconds = None if budget is None else options.duration(budget)
    model = _model_place(output, train, learner)
    if resume or keep_checkpoint:
        check_place(model.with_name(f"{model.name}.checkpoint"))
    table, held_out = training.give_roles(
        training.read_tables(train, valid, weight, reading), learner, targets
    )
    tables = table, useful_validation(held_out)  # left out here, so that nobody scores it
    run = _make_run(
        learner, tables, seed, model, reserve=reading.unseen == "share", keep_checkpoint=keep_checkpoint
    )

    def announce(text: str) -> None:
        if run.interrupted:
            note(INTERRUPTED, quiet)
        note(text, quiet)

    with training.cores(jobs), progress_bar(quiet) as tell:
        facts = run.facts(seconds, tell, resume=resume, announce=announce)
    answer(facts, _words(facts, run.labels), as_json)


def _model_place(
    output: Path | None, train: Path, learner: "Learner | ConditionalLearner | NetworkLearner"
) -> Path:
    """The path of the model, after a check that it can be written."""
    from tractable.learning.networks import NetworkLearner

    if isinstance(learner, NetworkLearner):
        place = output or training.default_place(train, learner.name, ".mn")
        check_network_place(place, learner.name)
    else:
        place = output or training.default_place(train, learner.name)
        check_model_place(place)
    return place


def _make_run(
    learner: "Learner | ConditionalLearner | NetworkLearner",
    tables: "tuple[Table, Table | None]",
    seed: int,
    place: Path,
    **how: bool,
) -> CircuitRun | NetworkRun:
    from tractable.learning.networks import NetworkLearner

    if isinstance(learner, NetworkLearner):
        return NetworkRun(learner, tables, seed, place, **how)
    return CircuitRun(learner, tables, seed, place, **how)


def _words(facts: dict[str, Any], labels: dict[str, str]) -> str:
    shown: list[tuple[str, object]] = [(label, shown_score(facts, name)) for name, label in labels.items()]
    shown = [(label, value) for label, value in shown if value is not None]
    if "density" in facts:
        shown.append(("log-likelihood of", likelihood_of(facts)))
    stopped = [] if facts["finished"] else [("stopped", "early, with the best model so far")]
    words = lines([*shown, ("seconds", round(facts["seconds"], 2)), *stopped])
    return f"{tried_table(facts['tried'])}\n\n{words}" if facts.get("tried") else words
