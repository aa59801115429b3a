"""A mixture grows by one component after the other, as long as held-out rows gain."""

from dataclasses import dataclass

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.learning.conditional.daclearn.objective import ConditionalLikelihood
from tractable.learning.conditional.mixture.division import divisions
from tractable.learning.conditional.mixture.fit import Fitted, MixtureFit, Sample
from tractable.learning.conditional.mixture.likelihood import MixtureLikelihood
from tractable.learning.conditional.mixture.model import Component, FieldMixture, MixturePriors, mixture_form
from tractable.learning.growing import Priors, SplitCosts
from tractable.learning.growing.search import search_splits

LEAST_GAIN = 2.0  # nats of all held-out rows that a component must gain
FIRST_STEPS = 3  # of two components towards the rows that they begin with


@dataclass(frozen=True, slots=True)
class Growth:
    """What the search for components is allowed."""

    components: int
    min_rows: float  # in a component that is divided
    iterations: int
    priors: MixturePriors
    costs: SplitCosts
    patience: int  # splits of a component without a better score


def grow_mixture(mixture: FieldMixture, sample: Sample, growth: Growth, watch: Watch) -> FieldMixture:
    """The mixture with as many components as pay."""
    best, form = mixture, mixture_form(mixture.components[0].structure)
    for number in range(2, growth.components + 1):
        if watch.should_stop():
            break
        before = best

        def work(part: Watch, before: FieldMixture = before) -> FieldMixture | None:
            return _with_one_more(before, sample, growth, part)

        larger = watch.remember(f"component {number}", work, form)
        if larger is None or not _pays(larger, before, sample):
            break
        best = larger
    return best


def _with_one_more(
    mixture: FieldMixture, sample: Sample, growth: Growth, watch: Watch
) -> FieldMixture | None:
    """The mixture with its heaviest component divided in the better way; None if that has too few rows."""
    weights = MixtureLikelihood(mixture, sample.rows).responsibilities(mixture) @ sample.rows.rows.weight
    which = int(weights.argmax())
    if weights[which] < growth.min_rows:
        return None
    best: Fitted | None = None
    for way, (divided, shares) in enumerate(divisions(mixture, sample.rows, which, growth.priors.gate_l2)):
        fit, part = MixtureFit(divided, sample, growth.priors), watch.part(f"way {way}")
        begun = fit.fit_to_shares(divided, shares, FIRST_STEPS, part.part("shares"))
        found = fit.improve(begun, growth.iterations, part)
        if best is None or found.score > best.score:
            best = found
        if watch.should_stop():
            break
    assert best is not None
    return _refine(best, sample, growth, watch)


def _refine(fitted: Fitted, sample: Sample, growth: Growth, watch: Watch) -> FieldMixture:
    """The better one of the mixture as it is, and after a search for splits in each component and a fit."""
    mixture = fitted.mixture
    shares = MixtureLikelihood(mixture, sample.rows).responsibilities(mixture)
    held = None if sample.held is None else MixtureLikelihood(mixture, sample.held).responsibilities(mixture)
    components = []
    for k, component in enumerate(mixture.components):
        own = (shares[k], None if held is None else held[k])
        components.append(_search(component, sample, own, growth, watch.part(f"splits {k}")))
    larger = FieldMixture(tuple(components), mixture.gate)
    found = MixtureFit(larger, sample, growth.priors).improve(larger, growth.iterations, watch.part("refit"))
    return found.mixture if found.score > fitted.score else mixture


def _search(
    component: Component,
    sample: Sample,
    shares: tuple[Floats, Floats | None],
    growth: Growth,
    watch: Watch,
) -> Component:
    """A component with more splits, as `daclearn` finds them for the rows that belong to it."""
    rows = sample.rows.part(shares[0])
    held = None if sample.held is None or shares[1] is None else sample.held.part(shares[1])
    if watch.should_stop() or not rows.total:
        return component
    structure, priors = component.structure.regrow(np.zeros((0, 2), dtype=np.int64)), growth.priors
    objective = ConditionalLikelihood(structure, rows, held, Priors(priors.l1, priors.variance))
    objective.start_from(component.structure.history, component.prior_mean, component.weights)
    search_splits(objective, growth.costs, growth.patience, watch)
    return Component(structure, objective.prior_mean, objective.weights)


def _pays(larger: FieldMixture, before: FieldMixture, sample: Sample) -> bool:
    """Whether a mixture is better for held-out rows, or by the Bayesian information criterion."""
    judge = sample.judge
    one, other = (MixtureLikelihood(m, judge).score(m) for m in (before, larger))
    gain = judge.rows.total * (other - one)
    if sample.held is not None:
        return gain > LEAST_GAIN
    cost = larger.free_parameters - before.free_parameters
    return gain > 0.5 * cost * np.log(max(judge.rows.total, 1.0))
