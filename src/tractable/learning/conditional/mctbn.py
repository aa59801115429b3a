"""Hong, Batal and Hauskrecht, «A mixtures-of-trees framework for multi-label classification», CIKM 2014."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Key, Watch
from tractable.base.settings import Between, OneOf, setting
from tractable.data import Table
from tractable.learning.conditional.learner import CompleteTargetsLearner
from tractable.learning.conditional.parts.growth import Stopping, add_components, divide_rows
from tractable.learning.conditional.parts.network import (
    Leaf,
    Mixture,
    P,
    freeze_part,
    improve,
    is_worth,
    leaves,
    score,
)
from tractable.learning.conditional.parts.rows import RegressionRows, Sample, regression_sample
from tractable.learning.conditional.parts.tree import (
    FULL,
    ConditionalTree,
    Prior,
    learn_edges,
    residuals,
    roots_alone,
    zero_prior,
)
from tractable.learning.learner import Learned

TREE = Key(__name__, "tree", Mixture)
LARGER: Key[Mixture | None] = Key(__name__, "larger", Mixture | None)

PATIENCE = 2  # iterations of expectation maximisation without progress
LEAST_PROGRESS = 1e-4  # nats a row


@final
@dataclass(frozen=True, kw_only=True)
class MCTBNLearner(CompleteTargetsLearner):
    """A mixture of trees over the targets, in which each target has a regression on all inputs.

    For each state of its parent in the tree, the distribution of a target is a logistic (softmax) regression
    on the inputs. Each tree maximises the conditional likelihood; the mixture and the regressions are fitted
    by EM. Numeric inputs are standardised.
    """

    name: ClassVar[str] = "mctbn"
    title: ClassVar[str] = "Mixture of conditional trees"

    components: int = setting(
        4,
        "Maximum number of trees. Trees are added as long as they improve the score on the validation rows"
        " or, without validation rows, the Bayesian information criterion.",
        at_least=1,
        search=Between(1, 6, whole=True),
    )
    l2: tuple[float, ...] = setting(
        (1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
        "Strengths of the L2 penalty of the regressions to try. The one with the best score on the"
        " validation rows is selected; without validation rows, the middle one.",
        at_least=1e-6,
    )
    shrink_to: Literal["zero", "target"] = setting(
        "zero",
        "Point towards which the penalty shrinks the regression of a target given a state of its parent:"
        " zero, as in the original paper, or the regression of the target without a parent, which needs fewer"
        " rows.",
        search=OneOf("zero", "target"),
    )
    parents_tried: int = setting(
        20,
        "Maximum number of other targets that are considered as the parent of a target. Those with the"
        " highest score-test statistic are considered.",
        at_least=0,
    )
    iterations: int = setting(
        30,
        "Maximum number of EM iterations after each added tree.",
        at_least=0,
    )

    def _learn_complete(
        self, table: Table, rng: np.random.Generator, held: Table | None, watch: Watch
    ) -> Learned:
        sample, features = regression_sample(table, held)
        return Learned(freeze_part(self._grow(sample, watch), table.schema, features))

    def _grow(self, sample: Sample, watch: Watch) -> Mixture:
        """The mixture with as many trees as pay."""
        first = watch.remember(TREE, lambda part: self._first_tree(sample, part))
        if not sample.rows.total or (sample.rows.states < 2).all():
            return first

        def enlarge(smaller: Mixture, part: Watch) -> Mixture:
            return self._with_one_more(smaller, sample, part)

        def pays(larger: Mixture, smaller: Mixture) -> bool:
            return is_worth(larger, smaller, sample)

        return add_components(first, self.components, enlarge, pays, watch, LARGER)

    def _first_tree(self, sample: Sample, watch: Watch) -> Mixture:
        """The best tree by itself, with its prior."""
        rows = sample.rows
        alone = _best(_refits(None, rows, self._priors(zero_prior(rows, 1.0), sample), watch), sample)
        prior, regressions = alone.prior, alone.tree
        if self.shrink_to == "target":
            prior = Prior(prior.l2, tuple(beta[0] for beta in regressions.beta))
        tree = learn_edges(rows, sample.held, regressions, (prior, self.parents_tried), watch)
        best = _best(_refits(tree, rows, self._priors(prior, sample), watch), sample)
        return Mixture(np.zeros(1), (best,))

    def _priors(self, like: Prior, sample: Sample) -> list[Prior]:
        """The prior with each penalty that is tried, the strongest first."""
        middle = self.l2[(len(self.l2) - 1) // 2]
        tried = [middle] if sample.held is None else sorted(set(self.l2), reverse=True)
        return [like._replace(l2=l2) for l2 in tried]

    def _with_one_more(self, old: Mixture, sample: Sample, watch: Watch) -> Mixture:
        """The mixture with one more tree, fitted; its penalty is that of before, or a stronger one."""
        prior = next(leaves(old)).prior
        shares = first_responsibilities(old, sample)
        mine = sample.reweight(shares)
        alone = roots_alone(mine.rows, prior, watch)
        tree = learn_edges(mine.rows, mine.held, alone, (prior, self.parents_tried), watch)
        trees = [*(leaf.tree for leaf in leaves(old)), tree]
        rest = old.responsibilities(sample.rows) * (1 - shares[0][:, None])
        responsibilities = np.concatenate([rest, shares[0][:, None]], axis=1)
        fitted = []
        for tried in [other for other in self._priors(prior, sample) if other.l2 >= prior.l2][-3:]:
            parts = tuple(Leaf(old.targets, each, tried) for each in trees)
            started = Mixture(np.full(len(trees), -np.log(len(trees))), parts)
            started = started.fit_to(sample.rows, responsibilities, watch)
            stopping = Stopping(self.iterations, PATIENCE, LEAST_PROGRESS)
            fitted.append(improve(started, sample, stopping, watch, momentum=False))
        return _best(iter(fitted), sample)


def first_responsibilities(mixture: Mixture, sample: Sample) -> list[Floats]:
    """The first responsibilities of a new component for the rows, and for the held-out rows if there are any.

    What the mixture does not explain shows in residuals that vary together.
    """
    unexplained = [_mean_residuals(mixture, some) for some in sample.tables]
    return divide_rows(unexplained[0], sample.rows.weight, *unexplained[1:])


def _mean_residuals(mixture: Mixture, rows: RegressionRows) -> Floats:
    weight = mixture.responsibilities(rows)
    each = (residuals(rows, leaf.tree) * weight[:, k, None] for k, leaf in enumerate(leaves(mixture)))
    answer: Floats = sum(each, np.zeros(()))
    return answer


def _refits(
    tree: ConditionalTree | None, rows: RegressionRows, priors: list[Prior], watch: Watch
) -> Iterator[Leaf]:
    """A tree, or the one without edges, fitted under several priors."""
    for number, prior in enumerate(priors):
        if number and watch.should_stop():
            return
        watch.report("penalties", number, len(priors))
        tree = roots_alone(rows, prior, watch) if tree is None else tree.refit(rows, prior, FULL, watch)
        yield Leaf(np.arange(rows.states.size), tree, prior)


def _best(models: Iterator[P], sample: Sample) -> P:
    """The model with the best score of held-out rows, the first without these."""
    held = sample.held
    return next(models) if held is None else max(models, key=lambda model: score(model, held))
