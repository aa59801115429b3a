"""The mixture of several learners' models: what is tried, how it is divided, weighed and told."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import assert_same, categorical_table, mixed_table

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import InnerWatch, Key, MemoryCheckpoints, Progress, Watch
from tractable.cli.app import run
from tractable.data import Table, discrete_schema
from tractable.engine import log_values
from tractable.learning.ensembles.auto import search as auto_search
from tractable.learning.ensembles.auto.candidates import (
    FLOOR,
    TINY,
    VARIANTS,
    Candidate,
    TableFacts,
    candidates_for,
    describe,
    kinds_for,
)
from tractable.learning.ensembles.auto.learner import AutoLearner
from tractable.learning.ensembles.auto.members import FOLDS, Member, make_folds
from tractable.learning.ensembles.auto.mixing import LEAST_LOSS, MixingSettings, mix
from tractable.learning.ensembles.auto.search import MemberSearch
from tractable.learning.joint import LEARNERS, Learned, Learner

HOW = MixingSettings(pseudo_count=1.0, max_edges=10**6, least_weight=0.02)
LARGE = TableFacts(rows=1e5, distinct=10**5, columns=50, numeric=0, density=0.2, ordered=False)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def chain_table(rows: int, columns: int, order: Any = None) -> Table:
    """Binary columns, each a noisy copy of the one before it."""
    flips = rng(1).random((rows, columns)) < np.where(np.arange(columns) == 0, 0.5, 0.1)
    values = np.logical_xor.accumulate(flips, axis=1).astype(np.float64)
    return Table(discrete_schema([2] * columns), values[:, slice(None) if order is None else order])


# ---- facts and candidates -------------------------------------------------------------------------------


def test_the_order_of_columns_is_noticed() -> None:
    assert describe(chain_table(2000, 16)).ordered
    assert not describe(chain_table(2000, 16, rng(3).permutation(16))).ordered


def test_facts_count_by_weight_and_leave_out_rows_of_weight_zero() -> None:
    values = np.array([[0, 1.0], [0, 1.0], [1, 7.0], [0, np.nan]])
    table = Table(tr.Schema((discrete_schema([2])[0], mixed_table().schema[0])), values)
    facts = describe(table.reweight(np.array([2.0, 1.0, 3.0, 0.0])))
    assert (facts.rows, facts.distinct, facts.columns, facts.numeric) == (6.0, 2, 2, 1)
    assert facts.density == pytest.approx(0.5)
    assert facts.repeated == pytest.approx(4 / 6)


def test_every_candidate_is_a_learner_with_settings_that_it_has() -> None:
    for variants in (VARIANTS, TINY):
        for learner, choices in variants.items():
            for choice in choices:
                LEARNERS.make_with(learner, choice)


@pytest.mark.parametrize("columns", [3, 50])
@pytest.mark.parametrize("numeric", [0, 2])
@pytest.mark.parametrize("ordered", [False, True])
def test_every_table_has_candidates_of_different_learners(columns: int, numeric: int, ordered: bool) -> None:
    facts = TableFacts(
        rows=1e3, distinct=10**3, columns=columns, numeric=numeric, density=0.2, ordered=ordered
    )
    kinds = kinds_for(facts)
    assert len(set(kinds)) == len(kinds) >= 4
    assert all(candidates_for(kind, facts) for kind in kinds)
    assert not set(kinds) & set(FLOOR)


# ---- held-out rows --------------------------------------------------------------------------------------


def test_of_a_small_table_every_row_is_held_out_once_and_never_learned_from_at_the_same_time() -> None:
    table = mixed_table(100, missing=0)
    folds = make_folds(table, None, rng())
    assert len(folds) == FOLDS
    assert sum(fold.held.total_weight for fold in folds) == len(table)
    for fold in folds:
        assert fold.train.total_weight + fold.held.total_weight == len(table)
        assert not {tuple(r) for r in fold.train.values} & {tuple(r) for r in fold.held.values}


def test_validation_rows_are_used_as_they_are() -> None:
    table, valid = categorical_table(100), categorical_table(40, seed=2)
    (fold,) = make_folds(table, valid, rng())
    assert (fold.train.total_weight, fold.held.total_weight, fold.scored.total_weight) == (100, 40, 40)


def test_validation_rows_that_say_nothing_are_no_validation_rows() -> None:
    nothing = Table(mixed_table().schema, np.full((5, 4), np.nan))
    assert len(make_folds(mixed_table(60), nothing, rng())) == FOLDS
    assert not make_folds(mixed_table(3), nothing, rng())


# ---- mixtures -------------------------------------------------------------------------------------------


def some_members(valid: Table) -> list[Member]:
    """Members of very different worth, one of them twice."""
    found = []
    for number, name in enumerate(["independent", "chow-liu", "naive-bayes", "chow-liu"], start=1):
        graph = LEARNERS[name]().learn(categorical_table(), rng())
        found.append(Member(Candidate(name, number, {}), graph, log_values(graph, valid.values), 1.0, True))
    return found


def test_a_mixture_is_that_of_its_members_and_weights_sum_to_one() -> None:
    valid = categorical_table(200, seed=5)
    mixed = mix(some_members(valid), valid.row_weights, HOW)
    assert mixed.weights.sum() == pytest.approx(1.0)
    expected = np.log(sum(w * np.exp(m.logs) for m, w in zip(mixed.members, mixed.weights, strict=True)))
    np.testing.assert_allclose(log_values(mixed.circuit(), valid.values), expected)
    np.testing.assert_allclose(mixed.logs, expected)
    assert mixed.score == pytest.approx(expected.mean())
    assert mixed.score >= max(m.logs.mean() for m in mixed.members) - 0.01


def test_a_member_that_is_not_missed_is_left_out() -> None:
    valid = categorical_table(200, seed=5)
    mixed = mix(some_members(valid), valid.row_weights, HOW)
    pruned = mixed.pruned()
    assert pruned.weights.sum() == pytest.approx(1.0)
    assert not (pruned.weights[1] > 0 and pruned.weights[3] > 0)  # they are the same
    assert pruned.score > mixed.score - len(mixed.members) * LEAST_LOSS
    told = pruned.table([])
    assert [one["weight"] for one in told] == sorted((one["weight"] for one in told), reverse=True)
    assert all(bool(one["remark"]) == (one["weight"] == 0) for one in told)


def test_a_mixture_keeps_its_number_of_edges() -> None:
    valid = categorical_table(200, seed=5)
    members = some_members(valid)
    assert members[1].graph is not None
    most = members[1].graph.edges - 1
    how = MixingSettings(pseudo_count=1.0, max_edges=most, least_weight=0.02)
    mixed = mix(members, valid.row_weights, how).pruned()
    assert mixed.circuit().edges <= most
    assert any("edges" in one["remark"] for one in mixed.table([]))


# ---- the search -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Fake(Learner):
    """Learns what another learner does, after some steps that take time."""

    name: ClassVar[str] = "fake"

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        step = watch.checkpoint(STEP) or 0
        while step < STEPS and not watch.should_stop():
            time.sleep(0.01)
            step += 1
            watch.save_checkpoint(STEP, partial(int, step))
            DONE.append(step)
        name = "chow-liu" if step == STEPS else "independent"
        return Learned(LEARNERS[name]().learn(table, rng))


STEPS = 30
STEP = Key(__name__, "step", int)
DONE: list[int] = []


@dataclass(frozen=True, kw_only=True)
class Unsuited(Learner):
    """Takes no table at all."""

    name: ClassVar[str] = "unsuited"

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        raise ValueError("not such a table")


def make_search(
    monkeypatch: pytest.MonkeyPatch, kinds: Mapping[str, Learner], workers: int = 1
) -> MemberSearch:
    """A search among these learners, each with one candidate."""
    monkeypatch.setattr(auto_search, "kinds_for", lambda facts: tuple(kinds))
    monkeypatch.setattr(auto_search, "candidates_for", lambda kind, facts: (Candidate(kind, 1, {}),))
    monkeypatch.setattr(auto_search, "default_threads", lambda: workers)

    def make(candidate: Candidate) -> Learner:
        return kinds.get(candidate.learner) or LEARNERS.make(candidate.learner)

    folds = make_folds(categorical_table(300), categorical_table(100, seed=2), rng())
    return MemberSearch(folds, LARGE, HOW, make, 0)


def test_a_member_that_was_stopped_goes_on_in_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    monkeypatch.setattr(auto_search, "FIRST_SHARE", 0.1 / 20)
    found = make_search(monkeypatch, {"fake": Fake()})
    memory = MemoryCheckpoints()
    memory._least = memory._pause = 0.0
    found.run(InnerWatch(Watch(), seconds=20.0, checkpoints=memory))
    assert sorted(set(DONE)) == list(range(1, STEPS + 1))
    assert len(DONE) <= STEPS + 1  # the step during which the time was over is done again
    told = {one["learner"]: one for one in found.mix().table(found.faults)}
    assert told["fake"]["finished"]
    assert told["fake"]["valid_ll"] == pytest.approx(told["chow-liu"]["valid_ll"])
    assert told["fake"]["seconds"] >= 0.01 * STEPS


def test_candidates_share_the_time_of_a_round() -> None:
    assert auto_search.total_span([1.0] * 6, 1) == 6.0
    assert auto_search.total_span([1.0] * 5, 2) == 3.0
    assert auto_search.total_span([1.0, 3.0, 1.0, 1.0], 2) == 3.0


def test_continuous_mixtures_of_wide_tables_have_more_time_than_others() -> None:
    shares = {
        columns: [
            c.share
            for kind in ("cutset", "continuous-mixture")
            for c in candidates_for(kind, replace(LARGE, columns=columns))[:1]
        ]
        for columns in (20, 800)
    }
    assert shares[20] == [1.0, 1.0]
    assert shares[800][1] > shares[800][0]


def test_a_learner_that_does_not_suit_the_table_is_told_and_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = make_search(monkeypatch, {"unsuited": Unsuited()})
    found.run(Watch())
    told = found.mix().table(found.faults)
    assert [one["remark"] for one in told if one["learner"] == "unsuited"] == ["no model: not such a table"]


def test_the_score_that_is_reported_never_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []
    LEARNERS["auto"]().learn(
        categorical_table(), rng(), valid=categorical_table(90, seed=3), watch=Watch(told.append)
    )
    scores = [p.score for p in told if p.score is not None]
    assert len(set(scores)) > 3
    assert all(later > earlier - 1e-3 for earlier, later in pairwise(scores))
    assert any(p.stage.startswith("learnspn 1: ") for p in told)


def test_a_member_of_a_longer_time_does_not_replace_a_better_one() -> None:
    candidate, graph = Candidate("x", 1, {}), LEARNERS["independent"]().learn(categorical_table(), rng())
    rows = np.array([1.0, 5.0])

    def member(score: float, finished: bool) -> Member:
        return Member(candidate, graph, np.array([-10.0 - 3 * score, score]), 2.0, finished)

    worse = member(-2.0, True).after(member(-1.0, False), rows)
    assert (worse.logs[1], worse.seconds, worse.finished) == (-1.0, 4.0, True)
    assert member(-1.0, True).after(member(-2.0, False), rows).logs[1] == -1.0
    assert member(-1.0, True).after(None, rows).seconds == 2.0


def test_members_learned_side_by_side_give_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = []
    for workers in (1, 2):
        kinds = {name: LEARNERS.make(name) for name in ("learnspn", "naive-bayes", "latent-tree")}
        found = make_search(monkeypatch, kinds, workers)
        found.run(Watch())
        assert not found.faults
        assert len(found.mix().members) == len(FLOOR) + len(kinds)
        graphs.append(found.mix().circuit())
    assert_same(*graphs)


# ---- what users see -------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["soon", "0s", ""])
def test_a_budget_that_is_no_time_is_refused(budget: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        AutoLearner(budget=budget)


def test_the_budget_ends_the_work() -> None:
    begin = time.monotonic()
    AutoLearner(budget="0.2s").learn(mixed_table(), rng())
    assert time.monotonic() - begin < 15  # no more than what is under way is rounded off


def test_an_estimator_shows_what_was_tried() -> None:
    model: Any = tr.AutoTractable(random_state=0).fit(
        categorical_table(), valid=categorical_table(90, seed=3)
    )
    assert {"independent", "chow-liu", "learnspn"} <= {one["learner"] for one in model.tried_}
    assert sum(one["weight"] for one in model.tried_) == pytest.approx(1.0)
    assert model.circuit_.about["tried"] == model.tried_


def test_the_command_line_shows_what_was_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    rows: Floats = categorical_table(150).values
    table.write_text("a,b,c,d\n" + "".join(",".join(f"s{cell:.0f}" for cell in row) + "\n" for row in rows))
    model = tmp_path / "m.tract"
    call = ["learn", "auto", str(table), "-o", str(model), "--quiet"]
    assert run(call) == 0
    learned = capsys.readouterr().out
    assert run(["info", str(model)]) == 0
    shown = capsys.readouterr().out
    for text in (learned, shown):
        assert "loss without" in text
        assert "chow-liu (defaults)" in text
    before = model.read_bytes()
    assert run([*call, "--max-edges", "70", "--json", "-o", str(tmp_path / "small.tract")]) == 0
    assert json.loads(capsys.readouterr().out)["edges"] <= 70
    assert run([*call, "--resume", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds"] == 0  # it was finished
    assert model.read_bytes() == before


@settings(max_examples=5, deadline=None)
@given(st.integers(1, 12), st.integers(0, 3))
def test_hardly_any_rows_still_give_a_distribution(rows: int, seed: int) -> None:
    table = mixed_table(rows, seed=seed)
    graph = AutoLearner().learn(table, rng())
    assert abs(log_values(graph, np.full((1, 4), np.nan))[0]) < 1e-9
