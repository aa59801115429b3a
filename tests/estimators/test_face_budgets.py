"""A time budget is for the whole fit of a classifier, an imputer or an anomaly scorer."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import tractable as tr
from tractable.base.progress import InnerWatch, Watch, seconds_in
from tractable.base.settings import setting
from tractable.data import Table, clinic
from tractable.estimators import choice as choices
from tractable.estimators.choice import budget_of, choose, whole_watch
from tractable.estimators.factory import estimator_class
from tractable.learning.joint import Learned, Learner
from tractable.learning.joint.independent import IndependentLearner


@dataclass(frozen=True, kw_only=True)
class GreedyLearner(Learner):
    """A learner that uses all the time that it is given, and tells how much that was."""

    name: ClassVar[str] = "greedy"
    title: ClassVar[str] = "greedy"
    given: ClassVar[list[float]] = []

    budget: str = setting("10m", "Time to learn, where no other time budget is given to the call.")

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        watch = watch if watch.left is not None else InnerWatch(watch, seconds=seconds_in(self.budget))
        assert watch.left is not None
        self.given.append(watch.left)
        while not watch.should_stop():
            time.sleep(0.005)
        return Learned(IndependentLearner().learn(table, rng))


def greedy(budget: str) -> Any:
    GreedyLearner.given.clear()
    return estimator_class("Greedy", GreedyLearner)().set_params(budget=budget)


def fits(learner: Any) -> dict[str, Any]:
    return {
        "classifier": tr.TractableClassifier(learner, target="cough", random_state=0),
        "by class": tr.TractableClassifier(learner, target="cough", by_class=True, random_state=0),
        "imputer": tr.TractableImputer(learner, random_state=0),
        "anomaly": tr.AnomalyScorer(learner, random_state=0),
    }


@pytest.mark.parametrize("name", fits(None))
@pytest.mark.parametrize("own", [True, False], ids=["own budget", "watch"])
def test_everything_together_takes_the_budget(name: str, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "FOLD_SECONDS", 0.05)
    table = clinic(300, 0)
    fits(greedy("1s"))[name].fit(table.take(slice(0, 60)))  # what is compiled and imported
    face = fits(greedy("0.6s" if own else "10m"))[name]
    GreedyLearner.given.clear()
    begin = time.process_time(), time.monotonic()
    face.fit(table, watch=None if own else Watch(seconds=0.6))
    assert sum(GreedyLearner.given) < 0.7
    waited = time.monotonic() - begin[1] - (time.process_time() - begin[0])
    assert waited < 5
    if name == "classifier":  # three folds of two candidates, one of them with three classes; and the best
        assert len(GreedyLearner.given) > 2


def test_a_choice_whose_time_is_over_keeps_to_what_was_compared() -> None:
    table = clinic(200, 0)
    told: list[str] = []

    def learn(name: str, rows: Table, watch: Watch | None) -> tr.Circuit:
        told.append(name)
        return tr.Circuit(IndependentLearner().learn(rows, np.random.default_rng(0)))

    candidates = [choices.Candidate(name, partial(learn, name)) for name in "abc"]
    score = choices.Score(tr.Circuit.log_prob)
    assert choose(candidates, table, score, 0, watch=Watch(seconds=1e-9)).best.name == "a"
    assert not told
    whole = choose(candidates, table, score, 0)
    assert whole.scores == choose(candidates, table, score, 0, watch=Watch(seconds=1e5)).scores
    assert len(whole.scores) == 3


def test_the_budget_of_a_learner_is_that_of_the_watch_where_that_has_one() -> None:
    watch = Watch(seconds=5)
    assert whole_watch(budget_of(greedy("1h")), watch) is watch
    assert whole_watch(budget_of(tr.NaiveBayesMixture()), None) is None
    own = whole_watch(budget_of(greedy("1m")), None)
    assert own is not None
    assert own.left == pytest.approx(60, abs=1)
    inner = whole_watch(budget_of(greedy("1m")), plain := Watch())
    plain.interrupted = True
    assert inner is not None
    assert inner.should_stop()


def test_an_interrupt_ends_a_fit_with_a_model() -> None:
    watch = Watch()
    watch.interrupted = True
    found = tr.TractableClassifier(greedy("10m"), target="cough").fit(clinic(200, 0), watch=watch)
    assert found.predict_proba(clinic(5, 1)).shape == (5, 3)
