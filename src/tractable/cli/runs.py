"""One call of `tractable learn`: what is learned from what, where it goes, and what there is to tell."""

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
    """Something learned that knows where it comes from."""

    @property
    def about(self) -> dict[str, Any]:
        """Its provenance."""


L = TypeVar("L", bound="Learner | ConditionalLearner | NetworkLearner")
T = TypeVar("T", bound=Recorded)


class Run(ABC, Generic[L, T]):
    """Learns once, or goes on with what an earlier run of the same call has left."""

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
        """What there is to tell of what was learned; `seconds` are zero where it was finished already.

        That the model is written is announced before anything else is done.
        """
        found, took = self.resume(seconds, tell) if resume else self.learn(seconds, tell)
        announce(self._announcement(took is None))
        with summary_watch(tell, interrupted=self.interrupted) as watch:
            return self._summary(found, watch) | {"seconds": took or 0.0, "model": self._place}

    def _announcement(self, was_there: bool) -> str:
        return (
            f"{self._place} is finished already"
            if was_there
            else f"model written to {self._place}{self.remark}"
        )

    def resume(self, seconds: float | None, tell: OnProgress | None) -> tuple[T, float | None]:
        """What the same call has finished, or what is learned from its last checkpoint on.

        With it the seconds that learning took; None if there was nothing left to do.
        """
        from tractable.learning.training import is_finished

        if self._place.exists() and is_finished((found := self._read()).about, self._about):
            return found, None
        return self.learn(seconds, tell, resume=True)

    def learn(
        self, seconds: float | None, tell: OnProgress | None, *, resume: bool = False
    ) -> tuple[T, float | None]:
        """Learn and save, with checkpoints on the way; the seconds count learning alone.

        With `resume` learning goes on from the last checkpoint of the same call. Unless it is to be kept, it
        is removed when the learner has finished or, without `resume`, has used up its budget. Ctrl-C while
        the model is being saved does not keep it from being saved.

        Raises:
            OSError: if the file cannot be written; it says where else the model is, if it could be saved.
        """
        from tractable.base.progress import Watch
        from tractable.formats.rescue import save_or_rescue
        from tractable.learning.training import CheckpointFile

        checkpoints = CheckpointFile(self._place, self._about, is_wanted=resume)
        with Watch(tell, seconds=seconds, checkpoints=checkpoints) as watch:
            started = time.perf_counter()
            found = self._train(watch)
            took = time.perf_counter() - started
            self.interrupted = watch.interrupted
            save_or_rescue(lambda place: self._write(found, place), self._place)
        # A budget ends a run as it was asked to; only who interrupts it, or says so, wants to go on.
        goes_on = not found.about["finished"] and (resume or self.interrupted)
        if not (goes_on or self._keeps_checkpoint):
            checkpoints.remove()
        return found, took

    @abstractmethod
    def _read(self) -> T:
        """What the file holds that an earlier run has left."""

    @abstractmethod
    def _train(self, watch: "Watch") -> T:
        """What the learner makes of the tables."""

    @abstractmethod
    def _write(self, found: T, place: Path) -> None:
        """Save what was learned."""

    @abstractmethod
    def _summary(self, found: T, watch: "Watch") -> dict[str, Any]:
        """What there is to tell of it but for its file and the time it took, as long as the watch lets it."""


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

    def _write(self, found: "Circuit", place: Path) -> None:
        found.save(place)

    def _summary(self, found: "Circuit", watch: "Watch") -> dict[str, Any]:
        from tractable.cli.reports import learning_summary

        return learning_summary(found, *self._tables, watch)


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

    def _write(self, found: "NetworkDocument", place: Path) -> None:
        from tractable.formats.network_files import write_network_document

        write_network_document(found, place)

    def _summary(self, found: "NetworkDocument", watch: "Watch") -> dict[str, Any]:
        from tractable.cli.reports import network_summary

        return network_summary(found, *self._tables, watch)
