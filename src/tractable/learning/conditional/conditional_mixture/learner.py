"""Gated mixtures of conditional random fields over the targets given the inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, final

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.base.settings import Between, redeclare, setting
from tractable.circuit.leaves.logistic import input_features
from tractable.data import Table
from tractable.learning.conditional.conditional_mixture.likelihood import (
    GatedRows,
    MixtureFit,
    MixtureLikelihood,
    Sample,
    gated_rows,
)
from tractable.learning.conditional.conditional_mixture.model import (
    LARGER,
    Component,
    FieldMixture,
    MixturePriors,
    freeze_mixture,
    structure_forms,
)
from tractable.learning.conditional.field.learner import FieldLearner
from tractable.learning.conditional.field.objective import ConditionalLikelihood
from tractable.learning.conditional.field.rows import ConditionalRows, input_cuts
from tractable.learning.conditional.parts.growth import Scored, add_components, divide_rows, pays
from tractable.learning.conditional.parts.regression import Effort, Penalty, fit_regression
from tractable.learning.growing import Priors
from tractable.learning.growing.search import search_splits
from tractable.learning.learner import Learned

LEAST_GAIN = 2.0  # nats of all held-out rows that a component must gain
FIRST_STEPS = 3  # of two components towards the rows that they begin with


class Growth(NamedTuple):
    """The limits of the search for components, and the priors of the weights."""

    settings: "ConditionalMixtureLearner"
    priors: MixturePriors


def grow_mixture(mixture: FieldMixture, sample: Sample, growth: Growth, watch: Watch) -> FieldMixture:
    """The mixture with as many components as improve the score."""

    def enlarge(smaller: FieldMixture, part: Watch) -> FieldMixture | None:
        return _with_one_more(smaller, sample, growth, part)

    def is_worth(larger: FieldMixture, smaller: FieldMixture) -> bool:
        return _is_worth(larger, smaller, sample)

    return add_components(
        mixture, growth.settings.components, enlarge, is_worth, watch, LARGER, structure_forms(mixture)
    )


def _with_one_more(
    mixture: FieldMixture, sample: Sample, growth: Growth, watch: Watch
) -> FieldMixture | None:
    """The mixture with its largest component divided, or None if that has too few rows."""
    weights = MixtureLikelihood(mixture, sample.rows).responsibilities(mixture) @ sample.rows.rows.weight
    which = int(weights.argmax())
    if weights[which] < growth.settings.min_rows:
        return None
    best: Scored[FieldMixture] | None = None
    for way, (divided, shares) in enumerate(divisions(mixture, sample.rows, which, growth.priors.gate_l2)):
        fit, part = MixtureFit(divided, sample, growth.priors), watch.part(f"way {way}")
        begun = fit.fit_to_shares(divided, shares, FIRST_STEPS, part.part("shares"))
        improved = fit.improve(begun, growth.settings.iterations, part)
        if best is None or improved.score > best.score:
            best = improved
        if watch.should_stop():
            break
    assert best is not None
    return _refine(best, sample, growth, watch)


def _refine(fitted: Scored[FieldMixture], sample: Sample, growth: Growth, watch: Watch) -> FieldMixture:
    """The better of the mixture and its refinement by further splits and a joint fit."""
    mixture = fitted.model
    shares = MixtureLikelihood(mixture, sample.rows).responsibilities(mixture)
    held = None if sample.held is None else MixtureLikelihood(mixture, sample.held).responsibilities(mixture)
    components = []
    for k, component in enumerate(mixture.components):
        own = (shares[k], None if held is None else held[k])
        components.append(_search(component, sample, own, growth, watch.part(f"splits {k}")))
    larger = FieldMixture(tuple(components), mixture.gate)
    refined = MixtureFit(larger, sample, growth.priors).improve(
        larger, growth.settings.iterations, watch.part("refit")
    )
    return refined.model if refined.score > fitted.score else mixture


def _search(
    component: Component,
    sample: Sample,
    shares: tuple[Floats, Floats | None],
    growth: Growth,
    watch: Watch,
) -> Component:
    """A component with further splits, found on the rows assigned to it."""
    rows = sample.rows.part(shares[0])
    held = None if sample.held is None or shares[1] is None else sample.held.part(shares[1])
    if watch.should_stop() or not rows.total:
        return component
    structure, priors = component.structure.regrow(np.zeros((0, 2), dtype=np.int64)), growth.priors
    objective = ConditionalLikelihood(structure, rows, held, Priors(priors.l1, priors.variance))
    objective.start_from(component.structure.history, component.prior_mean, component.weights)
    search_splits(objective, growth.settings.costs, growth.settings.component_patience, watch)
    return Component(structure, objective.prior_mean, objective.weights)


def _is_worth(larger: FieldMixture, before: FieldMixture, sample: Sample) -> bool:
    """Whether a larger mixture is better according to `pays`."""
    judge = sample.judge
    old, new = (MixtureLikelihood(mixture, judge).score(mixture) for mixture in (before, larger))
    parameters = None if sample.held is not None else lambda: larger.free_parameters - before.free_parameters
    return pays(new - old, judge.rows.total, parameters, LEAST_GAIN)


GATE = Effort(10, 1e-6)
MOST = 5.0  # standard deviations of a residual that count


class Division(NamedTuple):
    """A mixture with an additional component, and the responsibilities of its components."""

    mixture: FieldMixture
    shares: Floats  # (components, rows)


def divisions(mixture: FieldMixture, some: GatedRows, which: int, gate_l2: float) -> Iterator[Division]:
    """The ways in which a component may be divided.

    Rows are divided at the first principal component of the residuals of the targets, or of the inputs. Both
    new components start with the weights of the old one.
    """
    likelihood = MixtureLikelihood(mixture, some)
    old = likelihood.responsibilities(mixture)
    weight = some.rows.weight * old[which]
    residuals = _residuals(likelihood.target_states(mixture), some.rows)
    for matrix in (residuals, some.x[some.rows.group, :-1]):
        (second,) = divide_rows(matrix, weight)
        shares = np.concatenate([old, [old[which] * second]])
        shares[which] *= 1 - second
        apart = _gate(some, second, weight, gate_l2)
        yield Division(_divide(mixture, which, apart), shares)


def _divide(mixture: FieldMixture, which: int, apart: Floats) -> FieldMixture:
    """The mixture with two copies of a component, whose gates differ by `apart`."""
    gate = np.concatenate([mixture.gate, mixture.gate[which : which + 1] + 0.5 * apart])
    gate[which] -= 0.5 * apart
    gate[[which, -1], -1] -= np.log(2.0)
    return replace(mixture, components=(*mixture.components, mixture.components[which]), gate=gate)


def _gate(some: GatedRows, second: Floats, weight: Floats, l2: float) -> Floats:
    """The logistic regression on the inputs of which side rows are on. Shape (features,)."""
    groups, width = some.x.shape
    total = np.bincount(some.rows.group, weight, groups).astype(np.float64)
    share = np.bincount(some.rows.group, weight * second, groups) / np.maximum(total, 1e-300)
    start = np.zeros((1, width))
    sides = np.stack([1 - share, share], axis=1)
    return fit_regression(some.x, sides, total, Penalty(l2, start), start, GATE)[0]


def _residuals(probability: Floats, rows: ConditionalRows) -> Floats:
    """The standardised residuals of the states. Shape (rows, states).

    `probability` is (states of all targets, groups).
    """
    p = np.clip(probability.T[rows.group], 0.0, 1.0)
    return np.clip((rows.target_indicators - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12)), -MOST, MOST)


@final
@dataclass(frozen=True, kw_only=True)
class ConditionalMixtureLearner(FieldLearner):
    """A mixture of conditional random fields, each with its circuit, whose weights depend on the inputs.

    The initial model is the field that `daclearn` learns from all rows. A field is then divided into two,
    which are shrunk towards the field of all rows, gated by a regression on the inputs, and grown further on
    the rows assigned to them. All weights are fitted jointly to the conditional likelihood, with one
    partition function for the whole mixture.
    """

    name: ClassVar[str] = "conditional-mixture"
    title: ClassVar[str] = "Mixture of conditional random fields"

    max_edges: int = redeclare(
        FieldLearner, "max_edges", 1_000_000, text="Maximum number of edges in the circuit of each field."
    )
    components: int = setting(
        4,
        "Maximum number of mixture components (fields). Components are added as long as they improve the"
        " score on the validation rows or, without validation rows, the Bayesian information criterion.",
        at_least=1,
        search=Between(1, 5, whole=True),
    )
    min_rows: int = setting(
        200,
        "Minimum total weight of the rows assigned to a field for it to be divided.",
        at_least=1,
        search=Between(50, 1000, whole=True, log=True),
    )
    strength: float = setting(
        1.0,
        "Strength of the L1 penalty on the difference between a field's weights and those of the field of"
        " all rows, as a multiple of the L1 penalty selected for the latter. Larger values shrink fields with"
        " few rows more strongly towards the field of all rows.",
        at_least=0,
        search=Between(0.5, 5, log=True),
    )
    gate_l2: float = setting(
        2.0,
        "Strength of the L2 penalty on the weights of the gates.",
        at_least=1e-6,
        search=Between(0.5, 50, log=True),
    )
    component_patience: int = setting(
        50,
        "Early stopping: the search for splits of a mixture component ends after this many splits without"
        " improvement on the validation rows, weighted by their responsibilities.",
        at_least=1,
    )
    iterations: int = setting(
        20,
        "Maximum number of rounds in which all weights are fitted jointly. A round is ten quasi-Newton"
        " steps; after each round the score on the validation rows decides whether to continue.",
        at_least=0,
    )

    def _learn_complete(
        self, table: Table, rng: np.random.Generator, held: Table | None, watch: Watch
    ) -> Learned:
        cuts = input_cuts(table, self.intervals)
        features = input_features(table.schema, table.schema.inputs, table.values, table.row_weights)
        others = None if held is None else gated_rows(held, cuts, features)
        mixture = self._grow_mixture(Sample(gated_rows(table, cuts, features), others), watch)
        return Learned(freeze_mixture(mixture, table.schema, features, cuts))

    def _grow_mixture(self, sample: Sample, watch: Watch) -> FieldMixture:
        """The field of all rows, and the sum that it becomes."""
        held = None if sample.held is None else sample.held.rows
        field = self.grow(sample.rows.rows, held, watch.part("whole"))
        component = Component(field.structure, field.weights, field.weights)
        mixture = FieldMixture((component,), np.zeros((1, sample.rows.x.shape[1])))
        priors = MixturePriors(field.priors.l1 * self.strength, field.priors.variance, self.gate_l2)
        return grow_mixture(mixture, sample, Growth(self, priors), watch)
