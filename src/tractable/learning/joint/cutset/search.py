"""Learning of a mixture of cutset networks: selection of settings, and a limit of edges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Ints
from tractable.base.progress import InnerWatch, Key, Watch
from tractable.learning.joint.cutset.circuit import count_edges, count_tree_edges
from tractable.learning.joint.cutset.mixtures import (
    CutsetMixture,
    Kind,
    Member,
    boost,
    grow_members,
    iterate_em,
    mix_evenly,
)
from tractable.learning.joint.cutset.network import CutsetTree, prune, spanning_tree
from tractable.learning.joint.cutset.rows import CountedRows, HeldOutRows
from tractable.learning.joint.cutset.splits import Growth

SCORE = Key(__name__, "score", float)

PILOTS = (8, 16)  # least and most networks whose mixtures are compared on the validation rows ...
PILOT_COLUMNS = 8000  # ... and the columns that they have together
MOST_TRIALS = 16  # choices that are compared
LEAVES_A_TREE = 1.5  # that have the edges of one tree of all rows: columns of splits above are not in a leaf
PATIENCE = 2  # early stopping: iterations of EM without a better score


class Choice(NamedTuple):
    """The settings that are selected on the validation rows."""

    candidates: int | None
    shrinkage: float
    min_rows: float


class Options(NamedTuple):
    """The values to try for each setting of a choice; the first is used without validation rows."""

    candidates: tuple[int | None, ...]
    shrinkage: tuple[float, ...]
    min_rows: tuple[float, ...]

    @property
    def first(self) -> Choice:
        """The choice of all first values."""
        return Choice(self.candidates[0], self.shrinkage[0], self.min_rows[0])

    def variations(self, part: int, choice: Choice) -> list[Choice]:
        """The choice with each value of one of its settings."""
        if part == 0:
            return [choice._replace(min_rows=value) for value in self.min_rows]
        if part == 1:
            return [choice._replace(candidates=value) for value in self.candidates]
        return [choice._replace(shrinkage=value) for value in self.shrinkage]


def best_choice(options: Options, score: Callable[[Choice], float], watch: Watch) -> Choice:
    """The best choice by coordinate search: one setting is varied at a time until none improves."""

    def remembered(number: int, trial: Choice) -> float:
        return watch.remember(SCORE.at(number), lambda _: score(trial))

    best = options.first
    scores = {best: remembered(0, best)}
    part, unchanged = 0, 0
    while unchanged < len(options):
        before = best
        for trial in options.variations(part, best):
            if trial not in scores:
                if watch.should_stop() or len(scores) >= MOST_TRIALS:
                    return best
                scores[trial] = remembered(len(scores), trial)
                watch.report("choosing settings", len(scores), MOST_TRIALS, max(scores.values()))
            best = trial if scores[trial] > scores[best] else best
        part = (part + 1) % len(options)
        unchanged = unchanged + 1 if best == before else 1
    return best


@dataclass(frozen=True, eq=False)
class Search:
    """Learns a mixture of cutset networks."""

    rows: CountedRows
    valid: HeldOutRows | None
    growth: Growth  # what is not chosen
    kind: Kind
    seeds: Sequence[np.random.SeedSequence]  # one for each component
    max_edges: int
    leaf_edges: Ints  # (columns,) that a leaf over each column has in the end; see `PieceView.leaf_edges`

    def run(self, options: Options, em_steps: int, watch: Watch) -> CutsetMixture:
        """The mixture of the choice with the best score on the validation rows."""
        search = self._with_room()
        pilots: dict[Choice, list[CutsetTree]] = {}
        choice = options.first
        if self.valid is not None and max(map(len, options)) > 1:
            choice = best_choice(options, lambda each: search._score(each, self.valid, pilots, watch), watch)
        mixture = search._limit(search._mixture(choice, pilots.get(choice, []), watch), choice, watch)
        if em_steps and not watch.should_stop():
            mixture = self._fit(mixture, choice.shrinkage, em_steps, watch)
        return mixture

    def _with_room(self) -> "Search":
        """The search with numbers of components and leaves that meet the limit of edges.

        Leaves are assumed to have as many edges as the tree of all rows; if that exceeds the limit, trees
        have no edges.
        """
        every = np.flatnonzero(self.rows.weights > 0)
        counts = self.rows.count_pairs(every, self.rows.weights[every])
        columns = np.arange(self.rows.columns)
        tree = spanning_tree(counts, self.rows.places, columns, self.growth.link_cost)
        edges = count_tree_edges(tree, self.leaf_edges)
        room = self.max_edges / max(edges, 1)
        size = max(1, min(len(self.seeds), int(room)))
        link_cost = self.growth.link_cost if room >= 1 else np.inf
        growth = replace(self.growth, max_leaves=max(LEAVES_A_TREE * room / size, 1.0), link_cost=link_cost)
        return replace(self, growth=growth, seeds=self.seeds[:size])

    def _score(
        self,
        choice: Choice,
        valid: HeldOutRows | None,
        pilots: dict[Choice, list[CutsetTree]],
        watch: Watch,
    ) -> float:
        """The mean log-likelihood of the validation rows under a mixture of a few networks."""
        assert valid is not None
        silent = InnerWatch(watch, lambda progress: None)
        size = int(np.clip(PILOT_COLUMNS // self.rows.columns, *PILOTS))
        pilots[choice] = self._grow(self._members(choice)[:size], silent)
        return valid.mean(mix_evenly(pilots[choice]).log_probs(valid.codes))

    def _members(self, choice: Choice) -> list[Member]:
        growth = replace(
            self.growth,
            splitting=replace(self.growth.splitting, candidates=choice.candidates, min_rows=choice.min_rows),
            shrinkage=choice.shrinkage,
            keep_trees=self._prunes,
        )
        return [Member(growth, seed, self.kind == "bagged" and len(self.seeds) > 1) for seed in self.seeds]

    @property
    def _prunes(self) -> bool:
        """Whether networks are pruned: a single network with validation rows."""
        return len(self.seeds) == 1 and self.valid is not None

    def _grow(self, members: Sequence[Member], watch: Watch) -> list[CutsetTree]:
        networks = grow_members(self.rows, members, watch)
        if self._prunes and self.valid is not None:
            networks = [prune(network, self.valid.codes, self.valid.weights) for network in networks]
        return networks

    def _mixture(self, choice: Choice, grown: list[CutsetTree], watch: Watch) -> CutsetMixture:
        """The whole mixture, beginning with networks that are already grown."""
        members = self._members(choice)
        if self.kind == "boosted" and len(members) > 1:
            return boost(self.rows, members, watch)
        rest = members[len(grown) :]
        more = self._grow(rest, watch) if rest and not (grown and watch.should_stop()) else []
        return mix_evenly([*grown, *more])

    def _limit(self, mixture: CutsetMixture, choice: Choice, watch: Watch) -> CutsetMixture:
        """The mixture without its last networks, or a smaller network, to meet the limit of edges."""
        edges = np.cumsum([1 + count_edges(network, self.leaf_edges) for network in mixture.networks])
        fits = int(np.searchsorted(edges, self.max_edges, side="right"))
        if fits < 2 and edges[0] - 1 <= self.max_edges:  # a network alone has no edge above it
            fits = 1
        smaller = self._smaller() if not fits else None
        if smaller is not None:
            return smaller._limit(smaller._mixture(choice, [], watch), choice, watch)
        weights = mixture.weights[: max(fits, 1)]
        return CutsetMixture(mixture.networks[: max(fits, 1)], weights / weights.sum())

    def _smaller(self) -> "Search | None":
        """The search for a network of half the leaves or, with one leaf, without edges; None after that."""
        leaves, link_cost = self.growth.max_leaves, self.growth.link_cost
        if leaves <= 1 and link_cost == np.inf:
            return None
        growth = replace(
            self.growth, max_leaves=max(1.0, leaves / 2), link_cost=np.inf if leaves <= 1 else link_cost
        )
        return replace(self, growth=growth, seeds=self.seeds[:1])

    def _fit(self, mixture: CutsetMixture, shrinkage: float, steps: int, watch: Watch) -> CutsetMixture:
        """The mixture after EM: the iteration with the best score on the validation rows, or the last one."""
        best, since = mixture, 0
        valid = self.valid
        best_score = -np.inf if valid is None else valid.mean(mixture.log_probs(valid.codes))
        for step, fitted in enumerate(iterate_em(self.rows, mixture, shrinkage)):
            score = 0.0 if valid is None else valid.mean(fitted.log_probs(valid.codes))
            since = 0 if score > best_score or valid is None else since + 1
            if not since:
                best, best_score = fitted, score
            watch.report("EM", step + 1, steps, None if valid is None else best_score)
            if step + 1 >= steps or since >= PATIENCE or watch.should_stop():
                break
        return best
