"""Conditional sum-product networks: LearnSPN's recursion over targets, with regressions on inputs."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import Between, setting
from tractable.circuit.leaves.logistic import input_features
from tractable.data import Table
from tractable.learning.conditional.learner import ConditionalLearner
from tractable.learning.conditional.spn.freeze import freeze_part
from tractable.learning.conditional.spn.growth import Growth, Sample, grow, learn_leaf
from tractable.learning.conditional.spn.parts import Leaf, Part, improve, score
from tractable.learning.conditional.spn.sparse import sparse_regressions
from tractable.learning.conditional.spn.states import LEAF
from tractable.learning.conditional.targets import complete_targets, require_categorical_targets
from tractable.learning.conditional.trees.rows import regression_rows
from tractable.learning.conditional.trees.tree import roots_alone, zero_prior
from tractable.learning.learner import Learned


@final
@dataclass(frozen=True, kw_only=True)
class ConditionalSPNLearner(ConditionalLearner):
    """A sum-product network over the targets, whose weights and leaves are regressions on the inputs.

    It begins as one tree over the targets, each regressed on its inputs and its parent. A tree may become a
    gated sum of two trees, whose weights are a logistic regression on the inputs (rows are divided), or a
    product of independent ones (targets are divided), and so on below. The regressions of a part are drawn to
    those of the whole, so that small parts need few rows. All parts are fitted by expectation maximisation.
    """

    name: ClassVar[str] = "conditional-spn"
    title: ClassVar[str] = "Conditional sum-product network"

    depth: int = setting(
        3,
        "Maximum number of gated sums on the way from the root to a tree.",
        at_least=0,
        search=Between(0, 4, whole=True),
    )
    min_rows: int = setting(
        200,
        "Least weight of rows of a part that may become a gated sum.",
        at_least=1,
        search=Between(50, 1000, whole=True, log=True),
    )
    l1: tuple[float, ...] = setting(
        (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        "L1 penalties of each target's first regression, of which the one is taken that suits the"
        " validation rows best, the middle one without validation rows. Inputs without weight are left out in"
        " all parts.",
        at_least=1e-6,
    )
    generative: tuple[float, ...] = setting(
        (0.03, 0.1, 0.3),
        "Shares of the weights of a generative model, in which inputs are independent given the target, that"
        " each target's first regression may be drawn to instead of zero, if that suits the validation rows"
        " better: a mixture of generative and discriminative learning where there are fewer than 50 rows for"
        " each feature of the inputs. None for purely discriminative regressions.",
        at_least=0,
        optional=True,
    )
    strengths: tuple[float, ...] = setting(
        (0.25, 2.0, 16.0, 128.0),
        "How many times stronger the regressions of a part are drawn to those of the whole than the first"
        " ones to zero. The first tree takes the one that suits the validation rows best, or the smallest"
        " without validation rows; a part takes that of the whole or the next.",
        at_least=1e-6,
    )
    gate_l2: tuple[float, ...] = setting(
        (2.0,),
        "L2 penalties of the weights of gates, of which the best for the validation rows is taken.",
        at_least=1e-6,
    )
    parents_tried: int = setting(
        10,
        "Maximum number of other targets that are tried as parents of a target in a tree.",
        at_least=0,
    )
    iterations: int = setting(
        30,
        "Maximum number of iterations of expectation maximisation of each sum, and of the whole network.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_categorical_targets(table.schema, self.name)
        whole, held_table = complete_targets(table, valid, rng)
        features = input_features(whole.schema, whole.schema.inputs, whole.values, whole.row_weights)
        rows = regression_rows(whole, features)
        held = None if held_table is None else regression_rows(held_table, features)
        sample = Sample(rows, None if held is None or not held.total else held)
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            part = self._grow(sample, watch)
        return Learned(freeze_part(part, table.schema, features))

    def _grow(self, sample: Sample, watch: Watch) -> Part:
        """The network: the first tree, its parts, and all of them fitted together."""
        growth = Growth(
            self.parents_tried,
            self.iterations,
            self.depth,
            self.min_rows,
            self.gate_l2,
            tuple(sorted(set(self.strengths))),
        )
        leaf = watch.remember("tree", lambda part: self._first_tree(sample, growth, part), LEAF)
        grown = grow(leaf, sample, growth, watch.part("parts")) if sample.rows.total else leaf
        if isinstance(grown, Leaf):
            return grown
        return improve(grown, sample.rows, sample.held, self.iterations, watch)

    @property
    def _tried(self) -> tuple[list[float], tuple[float, ...]]:
        return sorted(set(self.l1)), tuple(sorted(set(self.generative)))

    def _first_tree(self, sample: Sample, growth: Growth, watch: Watch) -> Leaf:
        """The best tree over all targets, drawn to each target's regression on the inputs that it needs."""
        rows = sample.rows
        plain = zero_prior(rows, 10.0)
        alone = roots_alone(rows, plain, watch)
        _, prior = sparse_regressions(rows, sample.held, (alone, plain), self._tried, watch)
        best: Leaf | None = None
        for strength in growth.strengths:
            own = prior._replace(l2=strength)
            leaf = learn_leaf(np.arange(rows.states.size), sample, own, growth, watch)
            if best is not None and score(leaf, sample.judge) <= score(best, sample.judge):
                break
            best = leaf
        assert best is not None
        return best
