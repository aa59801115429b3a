"""`tractable tune`: search for the settings of a learner with the best score on the validation rows."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options, training
from tractable.cli.completion import learner_names
from tractable.cli.files import check_model_place, check_place
from tractable.cli.output import INTERRUPTED, answer, likelihood_of, lines, note
from tractable.cli.progress import progress_bar
from tractable.cli.reading import Reading, reads_tables
from tractable.cli.summary import shown_score, summary_watch

if TYPE_CHECKING:
    from tractable.learning.tuning import Tuned


@reads_tables
def tune(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
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
    valid: Annotated[
        Path,
        typer.Option(
            "--valid", metavar="FILE", help="Validation rows for scoring the trials.", show_default=False
        ),
    ],
    trials: Annotated[
        int, typer.Option("--trials", min=1, help="Number of trials, including earlier ones.")
    ] = 20,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Model file; by default TRAIN.ALGORITHM.tract."),
    ] = None,
    storage: Annotated[
        Path | None,
        typer.Option(
            "--storage", metavar="FILE", help="Store the trials in this file, and continue those in it."
        ),
    ] = None,
    sampler: Annotated[str, typer.Option("--sampler", help="Sampler: random, or tpe (Optuna).")] = "random",
    settings: options.Settings = None,
    targets: options.Targets = None,
    weight: options.Weight = None,
    seed: options.Seed = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Number of parallel trials, which share the cores.")
    ] = 1,
    budget: options.Budget = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Try settings of a learner and save the model with the best score on the validation rows.

    The first trial has the default settings. The best model so far is saved immediately, and Ctrl-C ends the
    search. With --storage an interrupted search is continued. Conditional learners require --targets.

    Example: tractable tune acmn train.csv --valid valid.csv --trials 30 --storage study.db -o clinic.tract
    """
    from tractable.base.settings import settings_from_text
    from tractable.cli.reports import learning_summary
    from tractable.learning import tuning
    from tractable.learning.training import find_circuit_learner

    kind = find_circuit_learner(algorithm)
    fixed = settings_from_text(kind, settings or [])
    seconds = None if budget is None else options.duration(budget)
    model = output or training.default_place(train, algorithm)
    check_model_place(model)
    if storage is not None:
        check_place(storage)
    table, held_out = training.give_roles(
        training.read_tables(train, valid, weight, reading), kind(**fixed), targets
    )
    started = time.perf_counter()
    with training.cores(None), progress_bar(quiet) as tell:
        tuned = tuning.tune(
            algorithm,
            table,
            held_out,
            trials=trials,
            budget=seconds,
            sampler=sampler,
            storage=storage,
            output=model,
            settings=fixed,
            jobs=jobs,
            unseen=reading.unseen,
            random_state=seed,
            tell=tell,
        )
    if tuned.interrupted:
        note(INTERRUPTED, quiet)
    took = time.perf_counter() - started
    note(f"model written to {model}", quiet)
    with summary_watch(None, interrupted=tuned.interrupted) as watch:
        summary = learning_summary(tuned.circuit, table, held_out, watch)
    facts = summary | {
        "seconds": took,
        "model": model,
        "sampler": sampler,
        "storage": storage,
        "best": tuned.best.number,
        "trials": [asdict(trial) for trial in tuned.trials],
    }
    answer(facts, _words(tuned, facts), as_json)


def _words(tuned: "Tuned", facts: dict[str, Any]) -> str:
    from tractable.base.settings import setting_text

    report = [
        (name.replace("_ll", " log-likelihood"), shown_score(facts, name))
        for name in ("train_ll", "valid_ll")
    ]
    chosen = " ".join(f"--set {name}={setting_text(value)}" for name, value in tuned.best.settings.items())
    report.append(("log-likelihood of", likelihood_of(facts)))
    best = [("best trial", tuned.best.number), ("settings", chosen), *report]
    return f"{tuned}\n\n{lines([*best, ('seconds', round(facts['seconds'], 2))])}"
