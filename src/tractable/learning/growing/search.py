"""The search for splits from beginning to end, with early stopping and checkpoints."""

from tractable.base.progress import Form, State, Watch
from tractable.learning.growing.best_first import BestFirst, SplitCosts
from tractable.learning.growing.objective import Objective, Snapshot


class SplitSearch(BestFirst):
    """Splits the structure of an objective until nothing is worth it, and returns to the best model."""

    def __init__(self, objective: Objective, costs: SplitCosts, watch: Watch) -> None:
        super().__init__(objective, costs, watch)
        self._best: Snapshot | None = None
        self._scores: list[float | None] = []  # after each batch of splits

    def resume(self) -> bool:
        """Go to the last checkpoint of an earlier run; false if there is none."""
        saved = self.watch.checkpoint()
        if saved is None:
            return False
        self._best = Snapshot(*saved["best"])
        self.restore(saved)
        for score in saved["scores"]:
            self._note(score)
        self._report()
        return True

    def run(self, patience: int) -> None:
        """Split until nothing is worth it, or the model has not improved for `patience` splits.

        The structure and its objective end as they were when the model was best.
        """
        objective = self.objective
        if self._best is None and not self.resume():
            self._best = objective.snapshot()
            self._note(objective.reported_score)
            self._report()
        assert self._best is not None
        while self.advance():
            if objective.improves_on(self._best):
                self._best = objective.snapshot()
            elif self.splits - self._best.splits >= patience:
                break
            self._note(objective.reported_score)
            self._report()
            self.watch.save_checkpoint(self._search_state)
        if self._best.splits < self.splits:
            self.structure.undo(self._best.splits)
            objective.restore(self._best.weights)

    def _note(self, score: float | None) -> None:
        """Keep a score for checkpoints, and tell the watch, which may give up the search by it."""
        self._scores.append(score)
        if score is not None:
            self.watch.note_score(score)

    def _report(self) -> None:
        stage = f"{self.structure.edges:,} edges, splits"
        self.watch.report(stage, self.splits, None, self._scores[-1])

    def _search_state(self) -> State:
        assert self._best is not None
        return self.state() | {"best": list(self._best), "scores": self._scores}


def search_splits(objective: Objective, costs: SplitCosts, patience: int, watch: Watch) -> None:
    """Search for splits, or repeat those that an earlier run has found; the objective ends at its best."""

    def search(part: Watch) -> None:
        SplitSearch(objective, costs, part).run(patience)

    watch.remember("search", search, model_form(objective))


def model_form(objective: Objective) -> Form[None]:
    """How the structure and the weights of an objective are saved; they are restored in the objective."""

    def to_state(_: None) -> State:
        return [objective.structure.history, objective.weights, objective.memory()]

    def from_state(state: State) -> None:
        history, weights, memory = state
        objective.replay(history)
        objective.restore(weights)
        objective.recall(memory)

    return Form(to_state, from_state)
