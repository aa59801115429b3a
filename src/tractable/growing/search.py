"""The search for splits from beginning to end, with early stopping and checkpoints."""

from functools import partial
from io import BytesIO

import numpy as np

from tractable.growing.best_first import BestFirst
from tractable.growing.objective import Snapshot


class SplitSearch(BestFirst):
    """Splits the structure of an objective until nothing is worth it, and returns to the best model."""

    def run(self, patience: int) -> None:
        """Split until nothing is worth it, or the model has not improved for `patience` splits.

        The structure and its objective end as they were when the model was best.
        """
        objective, watch = self.objective, self.watch
        best = self._restore_checkpoint(watch.checkpoint()) or objective.snapshot()
        self._report()
        while self.advance():
            if objective.improves_on(best):
                best = objective.snapshot()
            elif self.splits - best.splits >= patience:
                break
            self._report()
            watch.save_checkpoint(partial(self._make_checkpoint, best))
        if best.splits < self.splits:
            self.structure.undo(best.splits)
            objective.restore(best.weights)

    def _report(self) -> None:
        edges, score = self.structure.edges, self.objective.reported_score
        self.watch.report(f"{edges:,} edges, splits", self.splits, None, score)

    def _make_checkpoint(self, best: Snapshot) -> bytes:
        """The splits and weights of the present model and of the best one."""
        checkpoint = BytesIO()
        np.savez(
            checkpoint,
            history=self.structure.history,
            weight=self.objective.weights,
            edge_cost=self.table.edge_cost,
            splits=best.splits,
            best=best.weights,
            score=best.score,
        )
        return checkpoint.getvalue()

    def _restore_checkpoint(self, checkpoint: bytes | None) -> Snapshot | None:
        """Continue from a checkpoint, if there is one, and answer with the best model that it has."""
        if checkpoint is None:
            return None
        with np.load(BytesIO(checkpoint)) as saved:
            for item, column in saved["history"][self.splits :].tolist():
                self.structure.split(item, column)
                self.objective.add_split(item, column)
            self.objective.restore(saved["weight"])
            self.table.edge_cost = float(saved["edge_cost"])
            return Snapshot(int(saved["splits"]), saved["best"], float(saved["score"]))
