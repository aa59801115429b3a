"""The best model so far, in memory and in its file."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from tractable.circuit import Graph
from tractable.formats.atomic import save_or_rescue
from tractable.learning.training import provenance
from tractable.learning.tuning.trial import Problem, Trial
from tractable.model import Circuit, load


class Best:
    """The model of the best trial; after a restart the trial may be known without its model."""

    def __init__(self, problem: Problem, frame: str, place: Path | None, trial: Trial | None) -> None:
        self._problem = problem
        self._frame = frame
        self._place = place
        self.trial = trial
        self.circuit = None if trial is None else self._kept(trial)
        self._is_saved = True

    def offer(self, trial: Trial, graph: Graph) -> None:
        """Keep the model of a trial if it is better than the best so far."""
        if self.trial is None or trial.rank > self.trial.rank:
            self.keep(trial, graph)

    def keep(self, trial: Trial, graph: Graph) -> None:
        """Replace the best model."""
        self.trial = trial
        self.circuit = Circuit(graph, self._about(trial))
        if self._place is not None:
            self._is_saved = False
            with suppress(OSError):  # a full disk is no reason to end the search: see `save_again`
                self.circuit.save(self._place)
                self._is_saved = True

    def save_again(self) -> None:
        """Save the best model if that failed when it was found.

        Raises:
            OSError: if it still fails, naming the file to which it was saved instead, if any.
        """
        if not self._is_saved and self.circuit is not None and self._place is not None:
            save_or_rescue(self.circuit.save, self._place)
            self._is_saved = True

    def _kept(self, trial: Trial) -> Circuit | None:
        """The model of a trial, if the file has just that model from an earlier run."""
        if self._place is None or not self._place.exists():
            return None
        with suppress(ValueError, OSError):  # what cannot be read is learned again and written over
            circuit = load(self._place)
            if circuit.about == self._about(trial):
                return circuit
        return None

    def _about(self, trial: Trial) -> dict[str, Any]:
        """The provenance of the model of a trial: that of its learner, and the trial."""
        problem = self._problem
        about = provenance(
            problem.learner(trial.settings),
            problem.train,
            problem.valid,
            seed=problem.seed,
            frame=self._frame,
            reserve=problem.reserve,
            tuning={"search": problem.key, "trial": trial.number},
        )
        return {**about, "finished": trial.finished}
