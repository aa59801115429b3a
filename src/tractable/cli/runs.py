"""A run of `tractable learn`: its inputs, its output file and its report."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from tractable.cli.progress import OnProgress
from tractable.cli.summary import summary_watch

if TYPE_CHECKING:
    from tractable.base.progress import Watch
    from tractable.data import Table
    from tractable.formats.network_files import NetworkDocument
    from tractable.learning.conditional import ConditionalLearner
    from tractable.learning.joint import Learner
    from tractable.learning.networks import NetworkLearner
    from tractable.model import Circuit


class Recorded(Protocol):
    """A learned object with provenance."""

    @property
    def about(self) -> dict[str, Any]:
        """The provenance."""


L = TypeVar("L", bound="Learner | ConditionalLearner | NetworkLearner")
T = TypeVar("T", bound=Recorded)


class Run(ABC, Generic[L, T]):
    """A run that learns, or continues an earlier run of the same call."""

    labels: ClassVar[dict[str, str]]  # the facts that are shown, by name, in words
    remark: ClassVar[str] = ""  # what is said behind the name of the saved file

    def __init__(
        self,
        learner: L,
        tables: "tuple[Table, Table | None]",
        seed: int,
        place: Path,
        *,
        reserve: bool = True,
        keep_checkpoint: bool = False,
    ) -> None:
        from tractable.data import frame_kind
        from tractable.learning.training import provenance

        self._learner = learner
        self._tables = tables
        self._place = place
        self._keeps_checkpoint = keep_checkpoint
        self.interrupted = False  # whether Ctrl-C ended the learning
        self._about = provenance(learner, *tables, seed=seed, frame=frame_kind(tables[0]), reserve=reserve)

    def facts(
        self, seconds: float | None, tell: OnProgress | None, *, resume: bool, announce: Callable[[str], None]
    ) -> dict[str, Any]:
        """The report of a run; `seconds` is zero if an earlier run had finished it.

        The path of the model is announced first.
        """
        result, took = self.resume(seconds, tell) if resume else self.learn(seconds, tell)
        announce(self._announcement(took is None))
        with summary_watch(tell, interrupted=self.interrupted) as watch:
            return self._summary(result, watch) | {"seconds": took or 0.0, "model": self._place}

    def _announcement(self, was_there: bool) -> str:
        return (
            f"{self._place} is finished already"
            if was_there
            else f"model written to {self._place}{self.remark}"
        )

    def resume(self, seconds: float | None, tell: OnProgress | None) -> tuple[T, float | None]:
        """The result of an earlier run of the same call, or of learning from its last checkpoint.

        It is returned with the seconds of learning, or None if the earlier run had finished.
        """
        from tractable.learning.training import is_finished

        if self._place.exists() and is_finished((finished := self._read()).about, self._about):
            return finished, None
        return self.learn(seconds, tell, resume=True)

    def learn(
        self, seconds: float | None, tell: OnProgress | None, *, resume: bool = False
    ) -> tuple[T, float | None]:
        """Learn and save, with checkpoints in between; the seconds are those of learning alone.

        With `resume` learning continues from the last checkpoint of the same call. Unless it is to be kept,
        the checkpoint is removed when the learner has finished or, without `resume`, has used up its budget.
        Ctrl-C does not interrupt saving.

        Raises:
            OSError: if the file cannot be written, naming the file to which the model was saved instead, if
                any.
        """
        from tractable.base.progress import Watch
        from tractable.formats.atomic import save_or_rescue
        from tractable.learning.training import CheckpointFile

        checkpoints = CheckpointFile(self._place, self._about, is_wanted=resume)
        with Watch(tell, seconds=seconds, checkpoints=checkpoints) as watch:
            started = time.perf_counter()
            result = self._train(watch)
            took = time.perf_counter() - started
            self.interrupted = watch.interrupted
            save_or_rescue(lambda place: self._write(result, place), self._place)
        # A budget ends a run as it was asked to; only who interrupts it, or says so, wants to go on.
        goes_on = not result.about["finished"] and (resume or self.interrupted)
        if not (goes_on or self._keeps_checkpoint):
            checkpoints.remove()
        return result, took

    @abstractmethod
    def _read(self) -> T:
        """The result in the file of an earlier run."""

    @abstractmethod
    def _train(self, watch: "Watch") -> T:
        """The result of the learner on the tables."""

    @abstractmethod
    def _write(self, result: T, place: Path) -> None:
        """Save the result."""

    @abstractmethod
    def _summary(self, result: T, watch: "Watch") -> dict[str, Any]:
        """The report of a result without its file and its time, as far as the watch allows."""


class CircuitRun(Run["Learner | ConditionalLearner", "Circuit"]):
    """A run of a learner of circuits."""

    labels: ClassVar[dict[str, str]] = {
        "algorithm": "algorithm",
        "rows": "rows",
        "variables": "variables",
        "nodes": "nodes",
        "edges": "edges",
        "train_ll": "train log-likelihood",
        "valid_ll": "valid log-likelihood",
    }

    def _read(self) -> "Circuit":
        from tractable.model import load

        return load(self._place)

    def _train(self, watch: "Watch") -> "Circuit":
        from tractable.learning.training import train

        return train(self._learner, *self._tables, self._about, watch).circuit

    def _write(self, result: "Circuit", place: Path) -> None:
        result.save(place)

    def _summary(self, result: "Circuit", watch: "Watch") -> dict[str, Any]:
        from tractable.cli.reports import learning_summary

        return learning_summary(result, *self._tables, watch)


class NetworkRun(Run["NetworkLearner", "NetworkDocument"]):
    """A run of a learner of networks."""

    labels: ClassVar[dict[str, str]] = {
        "algorithm": "algorithm",
        "rows": "rows",
        "variables": "variables",
        "features": "features",
        "train_pll": "train log pseudo-likelihood",
        "valid_pll": "valid log pseudo-likelihood",
    }
    remark: ClassVar[str] = (
        ", a Markov network without a circuit: unless it is small enough to be compiled, its answers are"
        " approximate, by Gibbs sampling (tractable query --approximate, tr.MarkovNetwork.load)"
    )

    def _read(self) -> "NetworkDocument":
        from tractable.formats.network_files import read_network_document

        return read_network_document(self._place)

    def _train(self, watch: "Watch") -> "NetworkDocument":
        from tractable.learning.training import train_network

        return train_network(self._learner, *self._tables, self._about, watch)

    def _write(self, result: "NetworkDocument", place: Path) -> None:
        from tractable.formats.network_files import write_network_document

        write_network_document(result, place)

    def _summary(self, result: "NetworkDocument", watch: "Watch") -> dict[str, Any]:
        from tractable.cli.reports import network_summary

        return network_summary(result, *self._tables, watch)
