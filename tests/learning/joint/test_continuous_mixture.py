"""Continuous mixtures of trees: their gradients, their circuits, and what they learn."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tractable.base.arrays import AnyArray, Floats
from tractable.base.processes import side_by_side
from tractable.base.progress import InnerWatch, Key, MemoryCheckpoints, Watch, codec
from tractable.base.threads import use_threads
from tractable.circuit.graph import Shape
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.continuous import training
from tractable.learning.joint.continuous.components import (
    Components,
    golden_ratio,
    latent_points,
    mean_score,
    row_logs,
)
from tractable.learning.joint.continuous.course import Adam, Course, Schedule
from tractable.learning.joint.continuous.decoder import Decoder, initial_decoder, tree_outputs
from tractable.learning.joint.continuous.joint_training import (
    PACES,
    ComponentTrainer,
    Found,
    best_members,
    mixed_trees,
    train_members,
)
from tractable.learning.joint.continuous.learner import ContinuousMixtureLearner, mixture_circuit
from tractable.learning.joint.continuous.rows import TreeRows, frequent_first, tree_rows
from tractable.learning.joint.continuous.shape import TreeShape, tree_shape
from tractable.learning.joint.continuous.training import STRENGTHS, Trained, TrainingData
from tractable.learning.joint.continuous.trees import Trees
from tractable.learning.statistics.encoding import Encoding, encode
from tractable.learning.statistics.forests import chow_liu_forest

STATES = (2, 3, 2, 4, 1, 2)


def mixed_rows(rows: int, missing: float, seed: int) -> Table:
    """Categorical columns of one to four states, two real ones, a whole and a count; all depend on others."""
    rng = np.random.default_rng(seed)
    columns: list[AnyArray] = [rng.integers(0, 2, rows)]
    for states in STATES[1:]:
        columns.append((columns[-1] + (rng.random(rows) < 0.3)) % states)
    columns += [
        rng.normal(2 * columns[0], 1),
        rng.normal(columns[3], 0.5),
        np.rint(rng.normal(9 * columns[1], 3)),
    ]
    columns.append(rng.poisson(1 + 3 * columns[1]))
    values = np.column_stack(columns).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    kinds = [Variable(f"c{i}", "categorical", tuple(range(n))) for i, n in enumerate(STATES)]
    kinds += [Variable("x", "real"), Variable("y", "real"), Variable("k", "integer"), Variable("n", "count")]
    return Table(Schema(tuple(kinds)), values)


def binary_rows(rows: int, columns: int, seed: int, missing: float = 0.0) -> Table:
    rng = np.random.default_rng(seed)
    share = rng.random((3, columns))[rng.integers(0, 3, rows)]
    values = (rng.random((rows, columns)) < share).astype(np.float64)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2] * columns), values)


def prepared(table: Table) -> tuple[Encoding, TreeShape, TreeRows]:
    """An encoding, the shape of its Chow-Liu tree, and the rows as doubles."""
    encoding = encode(table.useful_rows())
    shape = tree_shape(encoding, chow_liu_forest(encoding, 1.0))
    rows = tree_rows(shape, encoding, encoding.table)
    return encoding, shape, replace(rows, matrix=rows.matrix.astype(np.float64))


def numeric_gradient(function: object, x: Floats, step: float = 1e-6) -> Floats:
    """Central differences, one coordinate after the other."""
    answer = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * step
            ends.append(function(moved))  # type: ignore[operator]
        answer[place] = (ends[0] - ends[1]) / (2 * step)
    return answer


TABLES = {
    "binary": binary_rows(20, 6, 0),
    "binary with missing cells": binary_rows(20, 6, 0, 0.4),
    "mixed": mixed_rows(15, 0.0, 1),
    "mixed with missing cells": mixed_rows(15, 0.3, 1),
    "hardly a cell": mixed_rows(15, 0.8, 2),
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@every_table
def test_the_gradient_of_outputs_is_that_of_differences(table: Table) -> None:
    _, shape, rows = prepared(table)
    rng = np.random.default_rng(0)
    output, share = rng.normal(size=(shape.statistics, 3)), rng.random((len(rows), 3))

    def total(output: Floats) -> float:
        return float((Trees.from_outputs(shape, output).log_likelihoods(rows) * share).sum())

    exact = Trees.from_outputs(shape, output).output_gradient(rows, share)
    np.testing.assert_allclose(exact, numeric_gradient(total, output), rtol=1e-5, atol=1e-5)


def test_the_gradients_of_a_network_are_those_of_differences() -> None:
    _, shape, rows = prepared(mixed_rows(10, 0.2, 0))
    rng = np.random.default_rng(0)
    decoder = initial_decoder(shape, rng.normal(size=shape.statistics), 2, rng)
    points, kept = rng.normal(size=(2, 3)), (rng.random((128, 3)) < 0.8) / 0.8

    def total(decoder: Decoder, points: Floats) -> float:
        output = decoder.trace(points, kept).output
        logs = Trees.from_outputs(shape, output).log_likelihoods(rows)
        return float(np.logaddexp.reduce(logs, axis=1).sum())

    trace = decoder.trace(points, kept)
    trees = Trees.from_outputs(shape, trace.output)
    logs = trees.log_likelihoods(rows)
    slope = trees.output_gradient(rows, np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)))
    of_decoder, of_points = trace.gradient(slope)
    by_points = numeric_gradient(lambda z: total(decoder, z), points)
    np.testing.assert_allclose(of_points, by_points, rtol=1e-4, atol=1e-4)
    for number, (value, exact) in enumerate(zip(decoder, of_decoder, strict=True)):
        assert exact.shape == value.shape
        for place in [tuple(rng.integers(0, value.shape)) for _ in range(4)]:
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved[place] += sign * 1e-6
                ends.append(total(decoder._replace(**{Decoder._fields[number]: moved}), points))
            assert exact[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-3, abs=1e-4)


def component_trainer(table: Table, dropout: float = 0.2) -> tuple[ComponentTrainer, Components]:
    """A decoder with five points."""
    _, shape, rows = prepared(table)
    rng = np.random.default_rng(0)
    decoder = initial_decoder(shape, rng.normal(size=shape.statistics), 2, rng)
    strength = replace(STRENGTHS["medium"], dropout=dropout)
    start = tree_outputs(shape, encode(table.useful_rows()), 1.0)
    trainer = ComponentTrainer(TrainingData(shape, start, rows, rows), strength, batch=8)
    return trainer, Components.begin(decoder, 5)


def test_the_gradient_of_components_is_that_of_differences() -> None:
    trainer, start = component_trainer(mixed_rows(10, 0.2, 0), dropout=0.0)
    rows, rng = trainer.data.rows, np.random.default_rng(1)
    times = rng.random(len(rows))

    def mean(arrays: list[AnyArray]) -> float:
        now = Components.from_arrays(arrays)
        logs = now.trees(trainer.data.shape).log_likelihoods(rows) + now.log_shares
        return float(times @ np.logaddexp.reduce(logs, axis=1) / times.sum())

    arrays = start.arrays()
    for number, slope in enumerate(trainer.gradient(start, rows, times, rng)):
        assert slope.shape == arrays[number].shape
        for place in [tuple(rng.integers(0, slope.shape)) for _ in range(3)]:
            ends = []
            for sign in (1, -1):
                moved = [each.copy() for each in arrays]
                moved[number][place] += sign * 1e-6
                ends.append(mean(moved))
            assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-3, abs=1e-5)


def test_trained_components_are_better_than_spread_ones_and_their_parts_stay_apart() -> None:
    trainer, start = component_trainer(binary_rows(60, 6, 0))
    before = [each.copy() for each in start.arrays()]
    found = trainer.run(start, 0, Watch())
    held_out = trainer.data.held_out
    spread = mean_score(start.trees(trainer.data.shape), start.log_shares, held_out)
    assert found.score > spread
    trained = found.components
    assert mean_score(trained.trees(trainer.data.shape), trained.log_shares, held_out) == found.score
    assert all((old == new).all() for old, new in zip(before, start.arrays(), strict=True))
    again = Components.from_arrays(trained.arrays())
    assert again.points.shape == (2, 5)
    assert np.exp(again.log_shares).sum() == pytest.approx(1.0)


def test_components_that_had_to_hurry_go_on_when_there_is_more_time() -> None:
    trainer, start = component_trainer(binary_rows(60, 6, 0))
    memory = MemoryCheckpoints()
    memory._least = memory._pause = 0.0
    work = partial(trainer.run, start, 0)

    def found(seconds: float | None) -> Found:
        watch = InnerWatch(Watch(), seconds=seconds, checkpoints=memory)
        return watch.remember(Key(__name__, "components", Found), work)

    short, whole = found(0.1), found(None)
    assert short.score < whole.score + 0.1  # it came to its end within 0.1 seconds, or was broken off
    assert not whole.hurried
    at_once = trainer.run(start, 0, Watch())
    assert whole.score == pytest.approx(at_once.score, abs=1e-12)
    assert found(None).score == whole.score  # it is remembered now


@pytest.mark.parametrize(
    ("gains", "too_fast", "expected"), [(0.1, True, PACES), (-0.1, True, PACES), (0.1, False, PACES[:1])]
)
def test_components_that_learn_too_fast_begin_anew_with_smaller_steps(
    monkeypatch: pytest.MonkeyPatch, gains: float, too_fast: bool, expected: tuple[float, ...]
) -> None:
    trainer, start = component_trainer(binary_rows(40, 6, 0))
    paces: list[float] = []

    def train(self: ComponentTrainer, *_: Any) -> Found:
        paces.append(self.pace)
        return Found(start, gains * len(paces), hurried=False, too_fast=too_fast)

    monkeypatch.setattr(ComponentTrainer, "_train", train)
    assert trainer.run(start, 0, Watch()).score == max(gains, gains * len(expected))
    assert tuple(paces) == expected


def test_training_is_too_fast_when_scores_stop_rising_before_its_steps_are_over() -> None:
    how = Schedule(patience=3, steps=100)
    for scores, too_fast in (((1.0, 2.0, 2.0, 1.0, 2.0), True), ((1.0, 2.0, 3.0, 4.0, 5.0), False)):
        course = Course.begin([np.zeros(1)])
        for score in scores:
            course.record(score, how)
            course.step += 25
        course.record(scores[-1], how)
        assert course.fall_begin >= 0
        assert course.too_fast == too_fast
        assert codec.decode(Course, codec.encode(course)).too_fast == too_fast


def test_members_are_trained_apart_and_held_out_rows_tell_their_weights() -> None:
    trainer, start = component_trainer(binary_rows(60, 6, 0))
    rng = np.random.default_rng(1)
    other = initial_decoder(trainer.data.shape, rng.normal(size=trainer.data.shape.statistics), 3, rng)
    networks = [Trained(decoder, 0.0, hurried=False) for decoder in (start.decoder, other)]
    members = train_members(trainer, networks, 5, 0, Watch())
    assert [member.points.shape for member in members] == [(2, 3), (3, 2)]
    trees, log_share = mixed_trees(members, trainer)
    assert np.exp(log_share).sum() == pytest.approx(1.0)
    rows = trainer.data.held_out
    mixed = mean_score(trees, log_share, rows)
    alone = [mean_score(m.trees(trainer.data.shape), m.log_shares, rows) for m in members]
    logs = [row_logs(m.trees(trainer.data.shape), m.log_shares, rows) for m in members]
    even = float(rows.weights @ (np.logaddexp(*logs) - np.log(2))) / rows.weights.sum()
    assert mixed > max(even, *alone) - 0.01  # the pseudo-count may cost a little


def test_works_side_by_side_share_the_time() -> None:
    works = [lambda watch: watch.left] * 3
    for threads, shares in ((1, [30, 45, 90]), (2, [45, 45, 90]), (3, [90, 90, 90])):
        with use_threads(threads):
            assert side_by_side(works, Watch(seconds=90)) == pytest.approx(shares, abs=2)
            assert side_by_side(works, Watch(seconds=90), 20) == pytest.approx([20, 20, 20], abs=2)
            assert side_by_side(works, Watch()) == [None, None, None]
            assert side_by_side([], Watch()) == []


@pytest.mark.parametrize("seed", range(4))
def test_one_network_has_all_components_if_held_out_rows_say_so(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "MANY_ROWS", 50)
    trainer, start = component_trainer(binary_rows(60, 6, seed))
    rng = np.random.default_rng(seed)
    other = initial_decoder(trainer.data.shape, rng.normal(size=trainer.data.shape.statistics), 3, rng)
    networks = [Trained(start.decoder, -1.0, hurried=False), Trained(other, -2.0, hurried=False)]
    rows = trainer.data.held_out

    def score(members: list[Components]) -> float:
        return mean_score(*mixed_trees(members, trainer), rows)

    several = train_members(trainer, networks, 5, 0, Watch())
    one = train_members(trainer, networks[:1], 5, 0, Watch())
    best = best_members(trainer, networks, 5, 0, Watch())
    assert score(best) == max(score(several), score(one))
    assert sum(member.points.shape[1] for member in best) == 5
    hurried = best_members(trainer, networks, 5, 0, Watch(seconds=0))
    assert len(hurried) == 2  # there is no time for another try
    monkeypatch.setattr(training, "MANY_ROWS", 100)
    assert len(best_members(trainer, networks, 5, 0, Watch())) == 2


@every_table
def test_the_circuit_is_the_sum_over_the_points(table: Table) -> None:
    keep = [i for i, v in enumerate(table.schema) if v.kind != "integer"]  # a whole number has a mass there
    encoding, shape, rows = prepared(table.select(keep))
    rng = np.random.default_rng(0)
    trees = Trees.from_outputs(shape, rng.normal(size=(shape.statistics, 9)))
    log_weight = np.log(rng.dirichlet(np.ones(9)))
    graph = mixture_circuit(trees, log_weight, encoding)
    logs = np.logaddexp.reduce(trees.log_likelihoods(rows) + log_weight, axis=1) + rows.constant
    np.testing.assert_allclose(log_values(graph, encoding.table.values), logs, rtol=1e-9, atol=1e-9)
    assert isinstance(graph.mixture, Shape)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 7), st.integers(1, 12), st.floats(0, 1), st.integers(0, 10**6))
def test_missing_cells_are_summed_out_of_every_tree(
    columns: int, rows: int, missing: float, seed: int
) -> None:
    table = binary_rows(rows, columns, seed, missing)
    if not len(table.useful_rows()):
        return
    encoding, shape, data = prepared(table)
    rng = np.random.default_rng(seed)
    trees = Trees.from_outputs(shape, 3 * rng.normal(size=(shape.statistics, 2)))
    logs = trees.log_likelihoods(data)
    codes = (np.arange(2**columns)[:, None] >> np.arange(columns)) & 1
    complete = tree_rows(shape, encoding, Table(table.schema, codes.astype(np.float64)))
    every = trees.log_likelihoods(replace(complete, matrix=complete.matrix.astype(np.float64)))
    np.testing.assert_allclose(np.logaddexp.reduce(every, axis=0), 0.0, atol=1e-9)
    for row, found in zip(encoding.table.values, logs, strict=True):
        agrees = (np.isnan(row) | (codes == row)).all(axis=1)
        np.testing.assert_allclose(found, np.logaddexp.reduce(every[agrees], axis=0), atol=1e-9)


@every_table
def test_training_begins_with_the_chow_liu_tree(table: Table) -> None:
    keep = [i for i, v in enumerate(table.schema) if v.is_categorical]
    encoding, shape, _ = prepared(table.select(keep))
    start = tree_outputs(shape, encoding, 1.0)
    graph = mixture_circuit(Trees.from_outputs(shape, start[:, None]), np.zeros(1), encoding)
    tree = LEARNERS["chow-liu"](smoothing=1.0, link_cost=0.0).learn(  # type: ignore[call-arg]
        encoding.table, np.random.default_rng(0)
    )
    values = encoding.table.values
    np.testing.assert_allclose(log_values(graph, values), log_values(tree, values), atol=1e-9)


def test_points_are_spread_like_a_normal_distribution() -> None:
    assert golden_ratio(1) == pytest.approx((1 + 5**0.5) / 2)
    points = latent_points(4096, 3)
    np.testing.assert_allclose(points.mean(axis=1), 0.0, atol=0.01)
    np.testing.assert_allclose(np.cov(points), np.eye(3), atol=0.05)
    moved = latent_points(4096, 3, np.array([0.1, 0.7, 0.3]))
    np.testing.assert_allclose(np.cov(moved), np.eye(3), atol=0.05)


def test_adam_climbs_to_the_top_of_a_parabola() -> None:
    x = [np.array([3.0, -2.0])]
    adam = Adam.begin(x)
    for _ in range(2000):
        adam.climb(x, [-2 * (x[0] - 1.0)], [0.01])
    np.testing.assert_allclose(x[0], 1.0, atol=1e-2)


def ring(rows: int, seed: int) -> Table:
    """Rows with an angle as their only cause: a continuous mixture by nature."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, rows)
    where = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    share = 0.05 + 0.9 * (np.cos(angle[:, None] - where) > 0.5)
    return Table(discrete_schema([2] * 16), (rng.random((rows, 16)) < share).astype(np.float64))


def test_a_continuous_cause_is_learned_better_than_by_classes_or_trees() -> None:
    train, valid, test = ring(800, 0), ring(200, 1), ring(1000, 2)
    scores = {
        name: log_values(
            LEARNERS[name]().learn(train, np.random.default_rng(0), valid=valid), test.values
        ).mean()
        for name in ("continuous-mixture", "naive-bayes", "chow-liu")
    }
    assert scores["continuous-mixture"] > scores["naive-bayes"] + 0.05
    assert scores["continuous-mixture"] > scores["chow-liu"] + 1.0


def test_the_model_does_not_depend_on_the_number_of_threads() -> None:
    table = ring(200, 0)
    learner = ContinuousMixtureLearner(components=16, points=32)
    graphs = []
    for threads in (1, 3):
        with use_threads(threads):
            graphs.append(learner.learn(table, np.random.default_rng(0)))
    np.testing.assert_array_equal(graphs[0].log_weight, graphs[1].log_weight)
    for one, other in zip(graphs[0].blocks, graphs[1].blocks, strict=True):
        np.testing.assert_array_equal(one.parameters, other.parameters)


def test_there_are_as_many_components_as_asked_for() -> None:
    graph = ContinuousMixtureLearner(components=24, points=16, strength="weak").learn(
        ring(200, 0), np.random.default_rng(0)
    )
    assert graph.start[-1] - graph.start[-2] == 24


def test_a_link_between_columns_of_very_many_states_is_cut() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(rng.integers(0, 300, (400, 1)), 2, axis=1).astype(np.float64)
    encoding, shape, _ = prepared(Table(discrete_schema([300, 300]), codes))
    assert (shape.forest.parent == -1).all()
    assert shape.statistics == 2 * 299
    assert encoding.schema == shape.schema


def test_the_model_does_not_depend_on_the_order_of_states() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    values = np.column_stack([a, (a + (rng.random(200) < 0.2)) % 2]).astype(np.float64)
    one = Schema((Variable("a", "categorical", ("x", "y", "z")), Variable("b", "categorical", ("no", "yes"))))
    other = Schema(
        (Variable("a", "categorical", ("z", "x", "y")), Variable("b", "categorical", ("yes", "no")))
    )
    turned = np.column_stack([(values[:, 0] + 1) % 3, 1 - values[:, 1]])
    learner = ContinuousMixtureLearner(components=8, points=16)
    logs = [
        log_values(learner.learn(Table(schema, rows), np.random.default_rng(0)), rows)
        for schema, rows in ((one, values), (other, turned))
    ]
    np.testing.assert_allclose(logs[0], logs[1], rtol=1e-6)
    assert frequent_first(Table(one, values)).orders or frequent_first(Table(other, turned)).orders
