"""How a tree becomes a gated sum of trees or a product, as long as held-out rows gain.

A part may be divided as LearnSPN divides a table: its rows by a gated sum, its targets by a product.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.learning.conditional.spn.parts import GatedSum, Leaf, Part, Product, improve, score
from tractable.learning.conditional.spn.states import SUM
from tractable.learning.conditional.trees.rows import RegressionRows
from tractable.learning.conditional.trees.tree import (
    ConditionalTree,
    Prior,
    learn_edges,
    residuals,
    roots_alone,
)

SHARPNESS = 2.0  # of the first shares of the rows that the two parts of a sum have
LEAST_SHARE = 1e-3  # of a row that is looked at in a part
LEAST_GAIN = 2.0  # nats of all held-out rows that a sum must gain


@dataclass(frozen=True, slots=True)
class Growth:
    """What the search for parts is allowed."""

    parents_tried: int
    iterations: int
    depth: int  # most sums on the way down to a tree
    min_rows: float  # in a part that is divided
    gate_l2: tuple[float, ...]
    strengths: tuple[float, ...]  # of the prior, ascending


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Weighted rows, and held-out rows if there are any."""

    rows: RegressionRows
    held: RegressionRows | None

    @property
    def judge(self) -> RegressionRows:
        """The rows that say which of several models is best."""
        return self.rows if self.held is None else self.held

    def part(self, shares: "Shares", number: int) -> "Sample":
        """The rows of a part of a sum; those that hardly belong to it are left out."""
        rows = self.rows.reweight(shares.rows[:, number]).heavier_than(LEAST_SHARE)
        if self.held is None or shares.held is None:
            return Sample(rows, None)
        return Sample(rows, self.held.reweight(shares.held[:, number]).heavier_than(LEAST_SHARE))


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """How much of each row, and of each held-out row, belongs to each part of a sum."""

    rows: Floats  # (rows, parts)
    held: Floats | None


def grow(leaf: Leaf, sample: Sample, growth: Growth, watch: Watch) -> Part:
    """The part that a tree becomes: a gated sum or a product of such parts, or the tree itself."""
    if watch.should_stop() or not growth.depth or (sample.rows.states[leaf.targets] > 1).sum() < 2:
        return leaf
    found = None
    if sample.rows.total >= growth.min_rows:
        found = watch.remember("sum", lambda part: _divided(leaf, sample, growth, part), SUM)
    if found is None:
        return _factors(leaf, sample, growth, watch)
    shares = Shares(
        found.responsibilities(sample.rows),
        None if sample.held is None else found.responsibilities(sample.held),
    )
    deeper = replace(growth, depth=growth.depth - 1)
    parts = tuple(
        grow(below, sample.part(shares, k), deeper, watch.part(f"part {k}"))
        for k, below in enumerate(found.parts)
        if isinstance(below, Leaf)
    )
    return replace(found, parts=parts)


def _factors(leaf: Leaf, sample: Sample, growth: Growth, watch: Watch) -> Part:
    """The product of a forest's trees, each of which may become a sum of its own; or the leaf itself."""
    groups = connected(leaf.tree.parent)
    if len(groups) < 2:
        return leaf
    parts: list[Part] = []
    for number, group in enumerate(groups):
        own = Leaf(leaf.targets[group], restrict(leaf.tree, group), leaf.prior.select(group))
        parts.append(grow(own, sample, growth, watch.part(f"factor {number}")))
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
    """A tree of a forest by itself, its nodes numbered anew."""
    number = np.full(tree.parent.size + 1, -1)
    number[some] = np.arange(some.size)
    return ConditionalTree(number[tree.parent[some]], tuple(tree.beta[j] for j in some.tolist()))


def learn_leaf(targets: Ints, sample: Sample, prior: Prior, growth: Growth, watch: Watch) -> Leaf:
    """The best tree over some targets; its regressions are drawn to those of the targets alone."""
    rows = sample.rows.select(targets)
    held = None if sample.held is None else sample.held.select(targets)
    alone = roots_alone(rows, prior, watch)
    own = prior._replace(means=tuple(beta[0] for beta in alone.beta))
    return Leaf(targets, learn_edges(rows, held, alone, (own, growth.parents_tried), watch), own)


def _divided(leaf: Leaf, sample: Sample, growth: Growth, watch: Watch) -> GatedSum | None:
    """A gated sum of two trees in place of one, if it is better."""
    shares = _first_shares(leaf, sample)
    samples = [sample.part(shares, k) for k in range(2)]
    found: list[GatedSum] = []
    for strength in [leaf.prior.l2, *(l2 for l2 in growth.strengths if l2 > leaf.prior.l2)][:2]:
        prior = leaf.prior._replace(l2=strength)
        trees = tuple(learn_leaf(leaf.targets, some, prior, growth, watch) for some in samples)
        for penalty in growth.gate_l2:
            started = GatedSum(np.zeros((1, sample.rows.x.shape[1])), penalty, trees)
            fitted = started.fit_to(sample.rows, shares.rows, watch)
            best = improve(fitted, sample.rows, sample.held, growth.iterations, watch)
            assert isinstance(best, GatedSum)
            found.append(best)
    best = max(found, key=lambda one: score(one, sample.judge))
    return best if _pays(best, leaf, sample) else None


def _pays(larger: GatedSum, leaf: Leaf, sample: Sample) -> bool:
    """Whether a sum is better for held-out rows, or by the Bayesian information criterion."""
    rows, held = sample.rows, sample.held
    if held is not None:
        return held.total * (score(larger, held) - score(leaf, held)) > LEAST_GAIN
    gain = rows.total * (score(larger, rows) - score(leaf, rows))
    cost = larger.effective_parameters(rows) - leaf.effective_parameters(rows)
    return gain > 0.5 * cost * np.log(max(rows.total, 1.0))


def _first_shares(leaf: Leaf, sample: Sample) -> Shares:
    """The shares that the two parts of a sum begin with.

    What the tree does not explain shows in residuals that vary together. Rows on the two sides of their first
    principal component are told apart.
    """
    found, weight = residuals(sample.rows.select(leaf.targets), leaf.tree), sample.rows.weight
    centre = np.average(found, axis=0, weights=weight)
    direction = np.linalg.eigh(((found - centre) * weight[:, None]).T @ (found - centre))[1][:, -1]
    direction = direction * (1.0 if direction[np.abs(direction).argmax()] > 0 else -1.0)
    along = (found - centre) @ direction
    size = np.sqrt(float(np.average(along**2, weights=weight))) or 1.0
    if sample.held is None:
        return Shares(_sides(along / size), None)
    others = (residuals(sample.held.select(leaf.targets), leaf.tree) - centre) @ direction
    return Shares(_sides(along / size), _sides(others / size))


def _sides(along: Floats) -> Floats:
    second = expit(SHARPNESS * along)
    return np.stack([1 - second, second], axis=1)
