"""`tractable learn`: a table to a model."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options, training
from tractable.cli.files import check_model_place
from tractable.cli.output import answer, lines, note
from tractable.cli.progress import OnProgress, progress_bar

if TYPE_CHECKING:
    from tractable.data import Table
    from tractable.learners import Learner
    from tractable.model import Circuit
    from tractable.training import CheckpointFile


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
        typer.Option(
            "--resume",
            help="Go on from the last checkpoint of the same call, and keep checkpoints to do so again.",
        ),
    ] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model of TRAIN and save it. Ctrl-C saves the best model so far; a second one gives up.

    Tables are .csv, .csv.gz, .parquet, or headerless integers in .data and .data.gz.

    Example: tractable learn chow-liu train.csv --valid valid.csv -o clinic.tract --set smoothing=0.5
    """
    from tractable.learners import LEARNERS
    from tractable.reports import learning_summary

    learner = LEARNERS.make(algorithm, settings or [])
    seconds = None if budget is None else options.duration(budget)
    model = output or training.default_place(train, algorithm)
    check_model_place(model)
    table, held_out = training.read_tables(train, valid, weight)
    with training.cores(jobs), progress_bar(quiet) as tell:
        run = Run(learner, table, held_out, seed, model)
        circuit, took = run.resume(seconds, tell) if resume else run.learn(seconds, tell)
    if took is None:
        note(f"{model} is finished already", quiet)
    facts = learning_summary(circuit, table, held_out) | {"seconds": took or 0.0, "model": model}
    answer(facts, _words(facts), as_json)
    note(f"saved {model}", quiet or as_json)


class Run:
    """One call of the command: what is learned from what, and where the model goes."""

    def __init__(
        self, learner: "Learner", table: "Table", valid: "Table | None", seed: int, model: Path
    ) -> None:
        from tractable.data import frame_kind
        from tractable.training import provenance

        self._learner = learner
        self._tables = table, valid
        self._model = model
        self._about = provenance(learner, table, valid, seed=seed, frame=frame_kind(table))

    def resume(self, seconds: float | None, tell: "OnProgress | None") -> "tuple[Circuit, float | None]":
        """The model that the same call has finished, or one learned from its last checkpoint on.

        With it the seconds that learning took; None if there was nothing left to do.
        """
        from tractable.model import load
        from tractable.training import CheckpointFile, is_finished

        if self._model.exists() and is_finished((circuit := load(self._model)).about, self._about):
            return circuit, None
        checkpoints = CheckpointFile(self._model, self._about)
        circuit, took = self.learn(seconds, tell, checkpoints)
        if circuit.about["finished"]:
            checkpoints.remove()
        return circuit, took

    def learn(
        self, seconds: float | None, tell: "OnProgress | None", checkpoints: "CheckpointFile | None" = None
    ) -> "tuple[Circuit, float | None]":
        """Learn the model and save it; the seconds count learning alone."""
        from tractable.progress import Watch
        from tractable.training import train

        started = time.perf_counter()
        watch = Watch(tell, seconds=seconds, checkpoints=checkpoints)
        circuit = train(self._learner, *self._tables, self._about, watch).circuit
        took = time.perf_counter() - started
        circuit.save(self._model)
        return circuit, took


def _words(facts: dict[str, Any]) -> str:
    names = ("algorithm", "rows", "variables", "nodes", "edges", "train_ll", "valid_ll")
    shown = [
        (name.replace("_ll", " log-likelihood"), facts[name]) for name in names if facts[name] is not None
    ]
    stopped = [] if facts["finished"] else [("stopped", "early, with the best model so far")]
    return lines([*shown, ("seconds", round(facts["seconds"], 2)), *stopped])
