"""Stacked and bagged circuits are mixtures of their members."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import categorical_table, mixed_table
from strategies import circuits

import tractable as tr
from tractable.base.progress import Watch
from tractable.base.settings import settings_of
from tractable.circuit import Graph
from tractable.cli.app import run
from tractable.data import Table
from tractable.engine import log_values
from tractable.learning.ensembles.bagging import bagged
from tractable.learning.joint import LEARNERS
from tractable.learning.statistics.held_out import draw_rows
from tractable.learning.statistics.stack_weights import choose_weights, fit_weights
from tractable.learning.training import make_learner


def members(count: int = 3) -> list[tr.Circuit]:
    names = ("independent", "chow-liu", "naive-bayes")[:count]
    return [tr.Circuit(LEARNERS[n]().learn(categorical_table(), np.random.default_rng(0))) for n in names]


def mixed_logs(circuits: list[tr.Circuit], weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The logarithm of the weighted sum of probabilities, by definition."""
    return np.log(
        sum(w * np.exp(log_values(c.graph, values)) for c, w in zip(circuits, weights, strict=True))
    )


def test_a_stack_is_the_mixture_of_its_members_with_weights_that_sum_to_one() -> None:
    valid, some = categorical_table(100, seed=4), members()
    stacked = tr.stack(some, valid)
    weights = np.array([member["weight"] for member in stacked.about["members"]])
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        log_values(stacked.graph, valid.values), mixed_logs(some, weights, valid.values), rtol=1e-10
    )
    assert stacked.about["valid_ll"] == pytest.approx(stacked.score(valid))


def test_a_stack_is_at_least_as_good_as_its_best_member_on_the_validation_rows() -> None:
    valid, some = categorical_table(100, seed=4), members()
    stacked = tr.stack(some, valid, pseudo_count=0)
    assert stacked.score(valid) >= max(c.score(valid) for c in some) - 1e-6


@settings(max_examples=50)
@given(
    st.integers(1, 5).flatmap(
        lambda k: st.lists(
            st.lists(st.floats(-1000, 0) | st.just(-np.inf), min_size=k, max_size=k).filter(
                lambda line: max(line) > -np.inf
            ),
            min_size=1,
            max_size=6,
        )
    ),
    st.floats(0, 10),
)
def test_weights_sum_to_one_and_are_no_worse_than_even_ones(lines: list[list[float]], pseudo: float) -> None:
    logs = np.array(lines)
    found = fit_weights(logs, np.ones(len(logs)), pseudo)
    assert found.weights.sum() == pytest.approx(1.0)
    assert (found.weights >= 0).all()
    even = np.logaddexp.reduce(logs, axis=1).mean() - np.log(logs.shape[1])
    penalty = pseudo * np.abs(np.log(np.maximum(found.weights, 1e-300) * logs.shape[1])).max()
    assert found.score >= even - penalty - 1e-6


def test_a_weighted_row_counts_like_repeated_rows() -> None:
    rng = np.random.default_rng(0)
    logs, times = rng.normal(size=(20, 3)), rng.integers(1, 4, 20)
    once = fit_weights(logs, times.astype(float), 1.0)
    again = fit_weights(np.repeat(logs, times, axis=0), np.ones(times.sum()), 1.0)
    np.testing.assert_allclose(once.weights, again.weights, atol=1e-6)
    assert once.score == pytest.approx(again.score)


def test_members_are_left_out_until_the_edges_fit() -> None:
    rng = np.random.default_rng(0)
    logs, edges = rng.normal(size=(50, 4)), np.array([10, 20, 30, 1000])
    found = choose_weights(logs, np.ones(50), edges, max_edges=45)
    kept = found.weights > 0
    assert not kept[3]
    assert edges[kept].sum() + kept.sum() <= 45
    with pytest.raises(ValueError, match="the smallest member has 10 edges, more than 5"):
        choose_weights(logs, np.ones(50), edges, max_edges=5)


def test_a_useless_member_is_left_out() -> None:
    logs = np.stack([np.zeros(500), np.full(500, -50.0)], axis=1)
    assert choose_weights(logs, np.ones(500), np.array([1, 1]), 0.1).weights.tolist() == [1.0, 0.0]


def test_validation_rows_that_occur_in_training_do_not_count() -> None:
    train, some = categorical_table(), members()
    fresh = Table(train.schema, np.array([[1.0, 1.0, 0.0, 0.0]]))
    seen = train.take((train.values != fresh.values).any(axis=1))
    both = Table(train.schema, np.concatenate([seen.values[:50], fresh.values]))
    chosen, alone = tr.stack(some, both, train=seen), tr.stack(some, fresh)
    weights = [[m["weight"] for m in c.about["members"]] for c in (chosen, alone)]
    assert weights[0] == pytest.approx(weights[1])
    assert weights[0] != pytest.approx([m["weight"] for m in tr.stack(some, both).about["members"]])
    with pytest.raises(ValueError, match="no validation row with a positive weight"):
        tr.stack(some, train, train=train)


def test_circuits_over_other_columns_are_not_stacked() -> None:
    other = tr.Circuit(LEARNERS["independent"]().learn(mixed_table(), np.random.default_rng(0)))
    with pytest.raises(ValueError, match="circuits of a stack must have the same columns"):
        tr.stack([members(1)[0], other], categorical_table())
    with pytest.raises(ValueError, match="at least one circuit"):
        tr.stack([], categorical_table())


@settings(max_examples=20)
@given(circuits(), st.integers(0, 3))
def test_a_stack_of_one_circuit_is_that_circuit(graph: Graph, seed: int) -> None:
    circuit = tr.Circuit(graph)
    rows = circuit.sample(5, random_state=seed)
    assert tr.stack([circuit], rows).graph is graph


def test_a_bagged_circuit_is_the_even_mixture_of_models_of_drawn_rows() -> None:
    table = categorical_table()
    circuit = tr.bag("chow-liu", table, members=3, random_state=5)
    rng = np.random.default_rng(5)
    logs = []
    for seed in rng.integers(2**63, size=3).tolist():
        inner = np.random.default_rng(seed)
        drawn = draw_rows(table, inner)
        logs.append(log_values(LEARNERS["chow-liu"]().learn(drawn, inner), table.values))
    expected = np.logaddexp.reduce(logs, axis=0) - np.log(3)
    np.testing.assert_allclose(log_values(circuit.graph, table.values), expected, rtol=1e-10)


def test_bagging_takes_names_estimators_and_learners() -> None:
    table = categorical_table(60)
    scores = {
        tr.bag(learner, table, members=2).score(table)
        for learner in ("chow-liu", tr.ChowLiuTree(), LEARNERS["chow-liu"]())
    }
    assert len(scores) == 1
    with pytest.raises(ValueError, match="there is no learner 'chow'"):
        tr.bag("chow", table)


def test_one_member_of_all_rows_is_the_learner_itself() -> None:
    table = categorical_table(60)
    alone = tr.bag("chow-liu", table, members=1)
    plain = LEARNERS["chow-liu"]().learn(table, np.random.default_rng(0))
    np.testing.assert_allclose(log_values(alone.graph, table.values), log_values(plain, table.values))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_can_be_bagged_by_a_setting(name: str) -> None:
    learner = make_learner(name, ["members=2", "smoothing=1"])
    assert learner.name == name
    assert {"members", "resampled"} < {s.name for s in settings_of(type(learner))}
    with pytest.raises(ValueError, match="setting members"):
        make_learner(name, ["members=0"])


def test_bagging_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="already has a setting 'members'"):
        bagged(bagged(LEARNERS["chow-liu"](), 2), 2)


def test_bagging_without_time_gives_one_model() -> None:
    graph = bagged(LEARNERS["naive-bayes"](), 50).learn(
        categorical_table(), np.random.default_rng(0), watch=Watch(seconds=0.0)
    )
    assert graph.edges < 100


def test_the_command_stacks_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "valid.data"
    table = categorical_table(50, seed=3)
    np.savetxt(rows, table.values, fmt="%d", delimiter=",")
    files = []
    for i, circuit in enumerate(members()):
        files.append(str(tmp_path / f"{i}.json"))
        circuit.save(files[-1])
    target = tmp_path / "all.tract"
    assert run(["stack", *files, "--valid", str(rows), "-o", str(target), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(told["weights"]) == pytest.approx(1.0)
    assert tr.load(target).score(table) == pytest.approx(told["valid_ll"])
    assert run(["stack", *files, "--valid", str(rows), "-o", str(target), "--max-edges", "1"]) == 2
