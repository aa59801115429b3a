"""Hong, Batal and Hauskrecht, «A mixtures-of-trees framework for multi-label classification», CIKM 2014."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.progress import Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.circuit.leaves.logistic import input_features
from tractable.data import Table
from tractable.learning.conditional.learner import ConditionalLearner
from tractable.learning.conditional.mctbn.freeze import freeze_mixture
from tractable.learning.conditional.mctbn.mixture import (
    PENALISED,
    Penalised,
    TreeMixture,
    improve,
    maximise,
    single,
    split_rows,
)
from tractable.learning.conditional.targets import complete_targets, require_categorical_targets
from tractable.learning.conditional.trees.rows import RegressionRows, regression_rows
from tractable.learning.conditional.trees.tree import (
    FULL,
    ConditionalTree,
    Prior,
    learn_edges,
    roots_alone,
    zero_prior,
)
from tractable.learning.learner import Learned


@final
@dataclass(frozen=True, kw_only=True)
class MCTBNLearner(ConditionalLearner):
    """A mixture of trees over the targets, in which each target is regressed on all inputs.

    The distribution of a target is a logistic (softmax) regression on the inputs, one for each state of its
    parent in the tree. Each tree is that of highest conditional likelihood; mixture and regressions are
    fitted by expectation maximisation. Numeric inputs are standardised.
    """

    name: ClassVar[str] = "mctbn"
    title: ClassVar[str] = "Mixture of conditional trees"

    components: int = setting(
        4,
        "Maximum number of trees. One is added as long as that improves the score of the validation rows, or"
        " the Bayesian information criterion without validation rows.",
        at_least=1,
        search=Between(1, 6, whole=True),
    )
    l2: tuple[float, ...] = setting(
        (1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
        "L2 penalties of the weights of regressions, of which the one is taken that suits the validation rows"
        " best, the middle one without validation rows.",
        at_least=1e-6,
    )
    shrink_to: Literal["zero", "target"] = setting(
        "zero",
        "What the penalty shrinks the regressions of a target under a parent to: zero, as in the paper, or"
        " the target's regression without parent, which needs fewer rows.",
        search=OneOf("zero", "target"),
    )
    parents_tried: int = setting(
        20,
        "Maximum number of other targets that are tried as parents of a target, those with the highest"
        " statistic of a score test.",
        at_least=0,
    )
    iterations: int = setting(
        30,
        "Maximum number of iterations of expectation maximisation after each tree that is added.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        require_categorical_targets(table.schema, self.name)
        whole, held_table = complete_targets(table, valid, rng)
        features = input_features(whole.schema, whole.schema.inputs, whole.values, whole.row_weights)
        rows = regression_rows(whole, features)
        held = None if held_table is None else regression_rows(held_table, features)
        held = None if held is None or not held.total else held
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            mixture = self._grow(rows, held, watch)
        return Learned(freeze_mixture(mixture, table.schema, features))

    def _grow(self, rows: RegressionRows, held: RegressionRows | None, watch: Watch) -> TreeMixture:
        """The mixture with as many trees as pay."""
        best = watch.remember("tree 1", lambda part: self._first_tree(rows, held, part), PENALISED)
        for number in range(2, self.components + 1):
            if watch.should_stop() or not rows.total or (rows.states < 2).all():
                break
            before = best

            def work(part: Watch, before: Penalised = before) -> Penalised:
                return self._with_one_more(before, rows, held, part)

            larger = watch.remember(f"tree {number}", work, PENALISED)
            if not _pays(larger, before, rows, held):
                break
            best = larger
        return best.mixture

    def _first_tree(self, rows: RegressionRows, held: RegressionRows | None, watch: Watch) -> Penalised:
        """The best tree by itself, with its prior."""
        alone = _best(_refits(None, rows, self._priors(zero_prior(rows, 1.0), held), watch), held)
        prior, regressions = alone.prior, alone.mixture.trees[0]
        if self.shrink_to == "target":
            prior = Prior(prior.l2, tuple(beta[0] for beta in regressions.beta))
        tree = learn_edges(rows, held, regressions, (prior, self.parents_tried), watch)
        return _best(_refits(tree, rows, self._priors(prior, held), watch), held)

    def _priors(self, like: Prior, held: RegressionRows | None) -> list[Prior]:
        """The prior with each penalty that is tried, the strongest first."""
        tried = [self.l2[(len(self.l2) - 1) // 2]] if held is None else sorted(set(self.l2), reverse=True)
        return [like._replace(l2=l2) for l2 in tried]

    def _with_one_more(
        self, old: Penalised, rows: RegressionRows, held: RegressionRows | None, watch: Watch
    ) -> Penalised:
        """The mixture with one more tree, fitted; its penalty is that of before, or a stronger one."""
        parts = split_rows(old.mixture, rows, held)
        mine, others = rows.reweight(parts[0]), None if held is None else held.reweight(parts[1])
        alone = roots_alone(mine, old.prior, watch)
        tree = learn_edges(mine, others, alone, (old.prior, self.parents_tried), watch)
        trees = (*old.mixture.trees, tree)
        started = TreeMixture(np.full(len(trees), -np.log(len(trees))), trees)
        part = np.concatenate(
            [old.mixture.responsibilities(rows) * (1 - parts[0][:, None]), parts[0][:, None]], axis=1
        )
        tried = [prior for prior in self._priors(old.prior, held) if prior.l2 >= old.prior.l2]
        found = []
        for prior in tried[-3:]:
            fitted = maximise(started, rows, part, prior, watch)
            fitted = improve(fitted, rows, held, (prior, self.iterations), watch)
            found.append(Penalised(prior, fitted))
        return _best(iter(found), held)


def _refits(
    tree: ConditionalTree | None, rows: RegressionRows, priors: list[Prior], watch: Watch
) -> Iterator[Penalised]:
    """A tree, or the one without edges, fitted under several priors."""
    for number, prior in enumerate(priors):
        if number and watch.should_stop():
            return
        watch.report("penalties", number, len(priors))
        tree = roots_alone(rows, prior, watch) if tree is None else tree.refit(rows, prior, FULL, watch)
        yield Penalised(prior, single(tree))


def _best(found: Iterator[Penalised], held: RegressionRows | None) -> Penalised:
    """The one with the best score of held-out rows, the first without these."""
    return next(found) if held is None else max(found, key=lambda one: one.mixture.score(held))


def _pays(larger: Penalised, before: Penalised, rows: RegressionRows, held: RegressionRows | None) -> bool:
    """Whether one more tree is better for held-out rows, or by the Bayesian information criterion."""
    if held is not None:
        return larger.mixture.score(held) > before.mixture.score(held)
    gain = rows.total * (larger.mixture.score(rows) - before.mixture.score(rows))
    size = [some.mixture.effective_parameters(rows, some.prior) for some in (before, larger)]
    return gain > 0.5 * (size[1] - size[0]) * np.log(max(rows.total, 1.0))
