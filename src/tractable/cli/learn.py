"""`tractable learn`: a table to a model."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tractable.cli import options, training
from tractable.cli.files import check_model_place
from tractable.cli.output import answer, lines, note
from tractable.cli.progress import progress_bar


def learn(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    algorithm: Annotated[
        str, typer.Argument(metavar="ALGORITHM", help="Such as chow-liu.", show_default=False)
    ],
    train: Annotated[
        Path, typer.Argument(metavar="TRAIN", help="The table to learn from.", show_default=False)
    ],
    valid: options.Valid = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="MODEL", help="The model's file; TRAIN.ALGORITHM.tract unless given."
        ),
    ] = None,
    settings: options.Settings = None,
    weight: options.Weight = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from the checkpoint of the same call, and save checkpoints."),
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model of TRAIN and save it. Ctrl-C saves the best model so far; a second one gives up.

    Tables are .csv, .csv.gz, .parquet, or headerless integers in .data and .data.gz.

    Example: tractable learn chow-liu train.csv --valid valid.csv -o clinic.tract --set smoothing=0.5
    """
    from tractable.data import read
    from tractable.learners import Watch

    learner = training.learner_named(algorithm, settings or [])
    seconds = None if budget is None else options.duration(budget)
    model = output or training.default_place(train, algorithm)
    check_model_place(model)
    table = read(train, weight=weight)
    held_out = None if valid is None else read(valid, schema=table.schema, weight=weight)
    about = training.heritage(learner, seed, table, held_out)
    started = time.perf_counter()
    circuit = training.finished(model, about) if resume else None
    if circuit is None:
        with training.cores(jobs), progress_bar(quiet) as tell:
            checkpoints = training.CheckpointFile(model, about) if resume else None
            watch = Watch(tell, seconds=seconds, checkpoints=checkpoints)
            circuit = training.learned(learner, table, held_out, about, watch)
        took = time.perf_counter() - started
        circuit.save(model)
        if checkpoints is not None and circuit.about["finished"]:
            checkpoints.remove()
    else:
        took = 0.0
        note(f"{model} is finished already", quiet)
    facts = training.facts(circuit, table, held_out) | {"seconds": took, "model": model}
    answer(facts, _words(facts), as_json)
    note(f"saved {model}", quiet or as_json)


def _words(facts: dict[str, Any]) -> str:
    names = ("algorithm", "rows", "variables", "nodes", "edges", "train_ll", "valid_ll")
    shown = [
        (name.replace("_ll", " log-likelihood"), facts[name]) for name in names if facts[name] is not None
    ]
    stopped = [] if facts["finished"] else [("stopped", "early, with the best model so far")]
    return lines([*shown, ("seconds", round(facts["seconds"], 2)), *stopped])
