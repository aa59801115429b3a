"""Conditional sum-product networks: recursive learning over the targets, with regressions on the inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, setting
from tractable.data import Table
from tractable.learning.conditional.learner import CompleteTargetsLearner
from tractable.learning.conditional.parts.growth import Stopping, divide_rows
from tractable.learning.conditional.parts.network import (
    GatedSum,
    Leaf,
    Part,
    Product,
    freeze_part,
    improve,
    is_worth,
    score,
)
from tractable.learning.conditional.parts.rows import Sample, regression_sample
from tractable.learning.conditional.parts.sparse import sparse_regressions
from tractable.learning.conditional.parts.tree import (
    ConditionalTree,
    Prior,
    learn_edges,
    residuals,
    roots_alone,
    zero_prior,
)
from tractable.learning.learner import Learned

TREE = Key(__name__, "tree", Leaf)
SUM: Key[GatedSum | None] = Key(__name__, "sum", GatedSum | None)

LEAST_SHARE = 1e-3  # of a row that is looked at in a part
PATIENCE = 3  # iterations of expectation maximisation without progress
LEAST_PROGRESS = 5e-5  # nats a row
LEAST_GAIN = 2.0  # nats of all held-out rows that a sum must gain


def grow(leaf: Leaf, sample: Sample, settings: "ConditionalSPNLearner", watch: Watch) -> Part:
    """The subcircuit that replaces a tree: a gated sum or a product of subcircuits, or the tree itself."""
    if watch.should_stop() or not settings.depth or (sample.rows.states[leaf.targets] > 1).sum() < 2:
        return leaf
    gated: GatedSum | None = None
    if sample.rows.total >= settings.min_rows:
        gated = watch.remember(SUM, lambda part: _divided(leaf, sample, settings, part))
    if gated is None:
        return _factors(leaf, sample, settings, watch)
    shares = [gated.responsibilities(some) for some in sample.tables]
    deeper = replace(settings, depth=settings.depth - 1)
    parts = tuple(
        grow(below, _belonging(sample, [share[:, k] for share in shares]), deeper, watch.part(f"part {k}"))
        for k, below in enumerate(gated.parts)
        if isinstance(below, Leaf)
    )
    return replace(gated, parts=parts)


def _factors(leaf: Leaf, sample: Sample, settings: "ConditionalSPNLearner", watch: Watch) -> Part:
    """The product of a forest's trees, each of which may become a sum; or the leaf itself."""
    groups = connected(leaf.tree.parent)
    if len(groups) < 2:
        return leaf
    parts: list[Part] = []
    for number, group in enumerate(groups):
        own = Leaf(leaf.targets[group], restrict(leaf.tree, group), leaf.prior.select(group))
        parts.append(grow(own, sample, settings, watch.part(f"factor {number}")))
    return Product(tuple(parts)) if any(not isinstance(part, Leaf) for part in parts) else leaf


def connected(parent: Ints) -> list[Ints]:
    """The trees of a forest: their nodes, ascending."""
    root = np.arange(parent.size)
    for _ in range(parent.size):
        above = np.where(parent[root] >= 0, parent[root], root)
        if (above == root).all():
            break
        root = above
    return [np.flatnonzero(root == top) for top in np.unique(root)]


def restrict(tree: ConditionalTree, some: Ints) -> ConditionalTree:
    """A tree of a forest with renumbered nodes."""
    number = np.full(tree.parent.size + 1, -1)
    number[some] = np.arange(some.size)
    return ConditionalTree(number[tree.parent[some]], tuple(tree.beta[j] for j in some.tolist()))


def learn_leaf(
    targets: Ints, sample: Sample, prior: Prior, settings: "ConditionalSPNLearner", watch: Watch
) -> Leaf:
    """The best tree over some targets, with regressions shrunk towards those of the targets alone."""
    rows = sample.rows.select(targets)
    held = None if sample.held is None else sample.held.select(targets)
    alone = roots_alone(rows, prior, watch)
    own = prior._replace(means=tuple(beta[0] for beta in alone.beta))
    return Leaf(targets, learn_edges(rows, held, alone, (own, settings.parents_tried), watch), own)


def _divided(leaf: Leaf, sample: Sample, settings: "ConditionalSPNLearner", watch: Watch) -> GatedSum | None:
    """A gated sum of two trees in place of a tree if it is better, or None.

    Rows are divided at the first principal component of the residuals.
    """
    residual = [residuals(some.select(leaf.targets), leaf.tree) for some in sample.tables]
    second = divide_rows(residual[0], sample.rows.weight, *residual[1:])
    samples = [_belonging(sample, shares) for shares in ([1 - share for share in second], second)]
    first_shares = np.stack([1 - second[0], second[0]], axis=1)
    stopping = Stopping(settings.iterations, PATIENCE, LEAST_PROGRESS)
    fitted: list[GatedSum] = []
    for strength in [leaf.prior.l2, *(l2 for l2 in settings.increasing_strengths if l2 > leaf.prior.l2)][:2]:
        prior = leaf.prior._replace(l2=strength)
        trees = tuple(learn_leaf(leaf.targets, some, prior, settings, watch) for some in samples)
        for penalty in settings.gate_l2:
            started = GatedSum(np.zeros((1, sample.rows.x.shape[1])), penalty, trees)
            started = started.fit_to(sample.rows, first_shares, watch)
            fitted.append(improve(started, sample, stopping, watch, momentum=True))
    best = max(fitted, key=lambda each: score(each, sample.judge))
    return best if is_worth(best, leaf, sample, LEAST_GAIN) else None


def _belonging(sample: Sample, shares: Sequence[Floats]) -> Sample:
    """The rows of a component, without those of negligible responsibility."""
    return sample.reweight(shares).heavier_than(LEAST_SHARE)


@final
@dataclass(frozen=True, kw_only=True)
class ConditionalSPNLearner(CompleteTargetsLearner):
    """A sum-product network over the targets, whose weights and leaves are regressions on the inputs.

    The initial model is one tree over the targets, with a regression of each target on its inputs and its
    parent. A tree is replaced by a gated sum of two trees, whose weights are a logistic regression on the
    inputs (dividing the rows), or by a product of independent trees (dividing the targets), and so on
    recursively. The regressions of a subcircuit are shrunk towards those of its parent, so that few rows
    suffice. All parameters are fitted by EM.
    """

    name: ClassVar[str] = "conditional-spn"
    title: ClassVar[str] = "Conditional sum-product network"

    depth: int = setting(
        3,
        "Maximum number of gated sums on a path from the root to a tree.",
        at_least=0,
        search=Between(0, 4, whole=True),
    )
    min_rows: int = setting(
        200,
        "Minimum total weight of the rows assigned to a subcircuit for it to become a gated sum.",
        at_least=1,
        search=Between(50, 1000, whole=True, log=True),
    )
    l1: tuple[float, ...] = setting(
        (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        "Strengths of the L1 penalty to try for the first regression of each target. The one with the best"
        " score on the validation rows is selected; without validation rows, the middle one. Inputs whose"
        " coefficients are all zero are ignored in the rest of the circuit.",
        at_least=1e-6,
    )
    generative: tuple[float, ...] = setting(
        (0.03, 0.1, 0.3),
        "Shares to try of the coefficients of a generative model, in which the inputs are independent given"
        " the target. The first regression of each target is shrunk towards this share of them instead of"
        " zero if that improves the score on the validation rows. This blend of generative and"
        " discriminative learning is tried only with fewer than 50 rows per input feature. An empty list"
        " gives purely discriminative regressions.",
        at_least=0,
        optional=True,
    )
    strengths: tuple[float, ...] = setting(
        (0.25, 2.0, 16.0, 128.0),
        "Strengths to try for the shrinkage of the regressions of a subcircuit towards those of its parent,"
        " as multiples of the penalty of the first regressions. The root uses the strength with the best"
        " score on the validation rows, or the smallest one without validation rows; a subcircuit uses that"
        " of its parent or the next one.",
        at_least=1e-6,
    )
    gate_l2: tuple[float, ...] = setting(
        (2.0,),
        "Strengths of the L2 penalty on the weights of the gates to try. The one with the best score on the"
        " validation rows is selected.",
        at_least=1e-6,
    )
    parents_tried: int = setting(
        10,
        "Maximum number of other targets that are considered as the parent of a target in a tree.",
        at_least=0,
    )
    iterations: int = setting(
        30,
        "Maximum number of EM iterations for each sum node and for the whole circuit.",
        at_least=0,
    )

    def _learn_complete(
        self, table: Table, rng: np.random.Generator, held: Table | None, watch: Watch
    ) -> Learned:
        sample, features = regression_sample(table, held)
        return Learned(freeze_part(self._grow(sample, watch), table.schema, features))

    def _grow(self, sample: Sample, watch: Watch) -> Part:
        """The network: the first tree, its subcircuits, and a joint fit."""
        leaf = watch.remember(TREE, lambda part: self._first_tree(sample, part))
        grown = grow(leaf, sample, self, watch.part("parts")) if sample.rows.total else leaf
        if isinstance(grown, Leaf):
            return grown
        stopping = Stopping(self.iterations, PATIENCE, LEAST_PROGRESS)
        return improve(grown, sample, stopping, watch, momentum=True)

    @property
    def increasing_strengths(self) -> list[float]:
        """The strengths in ascending order."""
        return sorted(set(self.strengths))

    def _first_tree(self, sample: Sample, watch: Watch) -> Leaf:
        """The best tree over all targets, shrunk towards sparse regressions of each target."""
        rows, tried = sample.rows, (sorted(set(self.l1)), sorted(set(self.generative)))
        plain = zero_prior(rows, 10.0)
        alone = roots_alone(rows, plain, watch)
        _, prior = sparse_regressions(rows, sample.held, (alone, plain), tried, watch)
        best: Leaf | None = None
        for strength in self.increasing_strengths:
            own = prior._replace(l2=strength)
            leaf = learn_leaf(np.arange(rows.states.size), sample, own, self, watch)
            if best is not None and score(leaf, sample.judge) <= score(best, sample.judge):
                break
            best = leaf
        assert best is not None
        return best
