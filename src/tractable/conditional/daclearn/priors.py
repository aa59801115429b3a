"""Priors are chosen by the validation rows: each strength is raised or lowered while that helps."""

from collections.abc import Iterator

from tractable.conditional.daclearn.objective import ConditionalLikelihood
from tractable.growing import FitEffort, Priors
from tractable.progress import Watch

FACTOR = 3.0  # by which the L1 penalty or the variance changes in a step


def choose_priors(objective: ConditionalLikelihood, effort: FitEffort, most: int, watch: Watch) -> None:
    """Fit the weights under priors that suit the validation rows best, after at most so many fits.

    Every fit begins with the best weights so far. The objective ends with the best weights and their priors.
    """
    best, priors = objective.snapshot(), objective.priors
    tried = {_key(priors)}
    fits = 0
    searching = objective.has_validation_rows
    while searching:
        searching = False
        for other in list(_neighbours(priors)):
            if _key(other) in tried or fits >= most or watch.should_stop():
                continue
            tried.add(_key(other))
            fits += 1
            objective.change_priors(other, best.weights)
            objective.fit(effort, watch.part(f"priors {fits}"))
            if objective.score > best.score:
                best, priors, searching = objective.snapshot(), other, True
                break
    objective.change_priors(priors, best.weights)


def _neighbours(priors: Priors) -> Iterator[Priors]:
    yield Priors(priors.l1 * FACTOR, priors.variance)
    yield Priors(priors.l1, priors.variance * FACTOR)
    yield Priors(priors.l1, priors.variance / FACTOR)
    yield Priors(priors.l1 / FACTOR, priors.variance)


def _key(priors: Priors) -> tuple[float, float]:
    return round(priors.l1, 9), round(priors.variance, 9)
