"""Mixtures of conditional trees, by expectation maximisation."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from tractable.base.arrays import Floats
from tractable.base.progress import Form, State, Watch
from tractable.learning.conditional.trees.regression import Effort
from tractable.learning.conditional.trees.rows import RegressionRows
from tractable.learning.conditional.trees.tree import ConditionalTree, Prior, residuals

STEP = Effort(1, 1e-3)  # of each regression between two expectation steps
SHARPNESS = 2.0  # of the first responsibilities of a new component


@dataclass(frozen=True, slots=True, eq=False)
class TreeMixture:
    """Trees and the logarithms of their shares."""

    log_share: Floats  # (trees,)
    trees: tuple[ConditionalTree, ...]

    def log_joint(self, rows: RegressionRows) -> Floats:
        """log P(tree, targets | inputs). Shape (rows, trees)."""
        return np.stack([t.log_likelihood(rows) for t in self.trees], axis=1) + self.log_share

    def score(self, rows: RegressionRows) -> float:
        """The mean log-likelihood of weighted rows; zero where there are none."""
        if not rows.total:
            return 0.0
        return float(rows.weight @ logsumexp(self.log_joint(rows), axis=1)) / rows.total

    def responsibilities(self, rows: RegressionRows) -> Floats:
        """P(tree | inputs and targets). Shape (rows, trees)."""
        logs = self.log_joint(rows)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def effective_parameters(self, rows: RegressionRows, prior: Prior) -> float:
        """How many free parameters the regressions have, those that the penalty holds counting less."""
        part = self.responsibilities(rows)
        each = (t.effective_parameters(rows.reweight(part[:, k]), prior) for k, t in enumerate(self.trees))
        return len(self.trees) - 1 + sum(each)


def single(tree: ConditionalTree) -> TreeMixture:
    """A tree as a mixture."""
    return TreeMixture(np.zeros(1), (tree,))


def maximise(
    mixture: TreeMixture, rows: RegressionRows, part: Floats, prior: Prior, watch: Watch
) -> TreeMixture:
    """The mixture fitted to rows that belong to its trees in parts. `part` is (rows, trees)."""
    size = rows.weight @ part + 1.0 / len(mixture.trees)
    trees = tuple(
        tree.refit(rows.reweight(part[:, k]), prior, STEP, watch) for k, tree in enumerate(mixture.trees)
    )
    return TreeMixture(np.log(size / size.sum()), trees)


def improve(
    mixture: TreeMixture,
    rows: RegressionRows,
    held: RegressionRows | None,
    tuning: tuple[Prior, int],
    watch: Watch,
) -> TreeMixture:
    """The best mixture on the way of expectation maximisation; `tuning` is (prior, most iterations)."""
    prior, iterations = tuning
    judge = rows if held is None else held
    best, best_score = mixture, mixture.score(judge)
    waited = 0
    for iteration in range(iterations):
        watch.report("expectation maximisation", iteration, iterations, best_score)
        if watch.should_stop() or waited == 2:
            break
        mixture = maximise(mixture, rows, mixture.responsibilities(rows), prior, watch)
        score = mixture.score(judge)
        waited = 0 if score > best_score + 1e-4 else waited + 1
        if score > best_score:
            best, best_score = mixture, score
    return best


def split_rows(mixture: TreeMixture, rows: RegressionRows, held: RegressionRows | None) -> list[Floats]:
    """The first responsibilities of a new component for the rows, and for the held-out rows if there are any.

    What the mixture does not explain shows in residuals that vary together. Rows far on one side of their
    first principal component go to the new component.
    """
    found = [_mean_residuals(mixture, some) for some in (rows, held) if some is not None]
    centre = np.average(found[0], axis=0, weights=rows.weight)
    spread = (found[0] - centre) * rows.weight[:, None]
    direction = np.linalg.eigh(spread.T @ (found[0] - centre))[1][:, -1]
    direction = direction * (1.0 if direction[np.abs(direction).argmax()] > 0 else -1.0)
    along = [(some - centre) @ direction for some in found]
    size = np.sqrt(float(np.average(along[0] ** 2, weights=rows.weight))) or 1.0
    return [expit(SHARPNESS * some / size) for some in along]


def _mean_residuals(mixture: TreeMixture, rows: RegressionRows) -> Floats:
    part = mixture.responsibilities(rows)
    each = (residuals(rows, tree) * part[:, k, None] for k, tree in enumerate(mixture.trees))
    answer: Floats = sum(each, np.zeros(()))
    return answer


class Penalised(NamedTuple):
    """A mixture and the prior of its regressions."""

    prior: Prior
    mixture: TreeMixture


def _state(found: Penalised) -> State:
    trees = [[tree.parent, list(tree.beta)] for tree in found.mixture.trees]
    return [found.prior.l2, list(found.prior.means), found.mixture.log_share, trees]


def _from_state(state: State) -> Penalised:
    l2, means, log_share, lines = state
    trees = tuple(ConditionalTree(parent, tuple(beta)) for parent, beta in lines)
    return Penalised(Prior(l2, tuple(means)), TreeMixture(log_share, trees))


PENALISED: Form[Penalised] = Form(_state, _from_state)
