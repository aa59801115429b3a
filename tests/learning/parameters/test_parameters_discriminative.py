"""Parameters of maximum conditional likelihood: the gradient, and what is promised of the fit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_circuits import random_graph
from strategies import circuits, conditional_circuits

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph
from tractable.circuit.blocks import ConstantBlock
from tractable.data import Schema, Table, Variable, collapse, discrete_schema
from tractable.engine import log_values
from tractable.engine.compile import compile_graph
from tractable.learning.joint.markov import EACMNLearner
from tractable.learning.parameters import fit
from tractable.learning.parameters.discriminative import Discriminative, without_targets
from tractable.learning.parameters.method import WeightedRows
from tractable.learning.parameters.openings import open_circuit
from tractable.learning.parameters.vector import ParameterVector
from tractable.queries import log_conditional, log_prob

COLUMNS = 6
TARGETS = ("x0", "x1", "x2")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def start(seed: int = 0) -> Graph:
    return random_graph(rng(seed), COLUMNS, 200)


def table(rows: int = 300, missing: float = 0.0, seed: int = 1) -> Table:
    """Each of three targets copies an input, mostly; the third depends on the first as well."""
    draw = rng(seed)
    inputs = draw.integers(2, size=(rows, 3))
    targets = np.where(draw.random((rows, 3)) < 0.85, inputs, 1 - inputs)
    targets[:, 2] ^= targets[:, 0]
    values = np.concatenate([targets, inputs], axis=1).astype(np.float64)
    values[draw.random(values.shape) < missing] = np.nan
    return Table(discrete_schema([2] * COLUMNS), values)


def conditional_mean(graph: Graph, some: Table) -> float:
    logs = log_conditional(graph, some.values, [3, 4, 5])
    return float(logs @ some.row_weights / some.total_weight)


# ---- the gradient ---------------------------------------------------------------------------------------


def conditional_log_likelihood(graph: Graph, rows: WeightedRows, free: WeightedRows) -> float:
    clamped, open_ = (float(some.weights @ log_values(graph, some.values)) for some in (rows, free))
    return clamped - open_


def assert_gradient(graph: Graph, values: Floats, targets: list[int]) -> None:
    """The gradient by flows is the one by differences, in a random direction and along single parameters."""
    rows = WeightedRows(values, rng(0).integers(1, 4, len(values)).astype(np.float64))
    free = without_targets(rows, targets, graph.schema)
    vector, expecter = ParameterVector(graph), open_circuit(graph)
    if not len(vector):
        return
    parts = (expecter.expectations(graph, some.values, some.weights) for some in (rows, free))
    clamped, open_ = (vector.gradient(graph, expected) for expected in parts)
    slope, theta = clamped - open_, vector.take(graph)
    directions = [rng(1).normal(size=len(vector)), *np.eye(len(vector))[:8]]
    for direction in directions:
        step = 1e-4 * direction
        ahead, behind = (
            conditional_log_likelihood(vector.put(graph, theta + sign * step), rows, free) for sign in (1, -1)
        )
        expected = (ahead - behind) / 2e-4
        assert slope @ direction == pytest.approx(expected, rel=1e-6, abs=1e-6)


def possible_rows(graph: Graph, data: st.DataObject) -> Floats:
    drawn = [[data.draw(st.integers(0, v.cardinality - 1)) for v in graph.schema] for _ in range(4)]
    values = np.unique(np.array(drawn, dtype=np.float64), axis=0)
    return values[np.isfinite(log_values(graph, values))]


@given(circuits(normalised=False), st.data())
@settings(max_examples=25)
def test_the_gradient_of_joint_circuits_is_that_of_differences(graph: Graph, data: st.DataObject) -> None:
    values = possible_rows(graph, data)
    assume(len(values) and not compile_graph(graph, merge=False).constant)
    columns = range(len(graph.schema))
    targets = data.draw(st.sets(st.sampled_from(columns), min_size=1))
    assert_gradient(graph, values, sorted(targets))


@given(conditional_circuits(), st.data())
@settings(max_examples=25)
def test_the_gradient_of_conditional_circuits_is_that_of_differences(
    graph: Graph, data: st.DataObject
) -> None:
    values = possible_rows(graph, data)
    assume(len(values) and not compile_graph(graph, merge=False).constant)
    assert_gradient(graph, values, graph.schema.targets.tolist())


def markov_network() -> Graph:
    return EACMNLearner().learn(table(), rng())


def test_the_gradient_of_a_markov_network_is_that_of_differences() -> None:
    assert markov_network().features is not None
    assert_gradient(markov_network(), collapse(table(40))[0].values, [0, 1, 2])


def test_features_keep_step_with_the_constants_that_carry_them() -> None:
    found = fit(markov_network(), table(), Discriminative(targets=TARGETS), rng()).graph
    assert found.features is not None
    value = np.zeros(found.nodes)
    for block in found.blocks_of(ConstantBlock):
        value[block.node] = block.log_value
    carried = found.features.node >= 0
    np.testing.assert_allclose(
        found.features.log_weight[carried], value[found.features.node[carried]], atol=1e-12
    )
    network = markov_network()
    assert network.features is not None
    assert not np.allclose(found.features.log_weight, network.features.log_weight)


def test_counts_of_complete_rows_in_deterministic_circuits_are_fixed() -> None:
    """With other parameters the log-values are those that the counts promise, and the counts stay."""
    schema = discrete_schema([2, 2, 3])
    b = Builder(schema)
    halves = [
        b.product([b.indicator(0, k), b.leaf("bernoulli", 1, [k - 0.3]), b.leaf("categorical", 2, logs)])
        for k, logs in enumerate((np.log([0.2, 0.3, 0.5]), np.log([0.6, 0.3, 0.1])))
    ]
    b.product([b.constant(0.7), b.sum(halves, np.log([0.4, 0.9]))])
    for graph in (b.freeze(), markov_network()):
        values = rng(4).integers(0, graph.schema.cardinalities, (50, len(graph.schema))).astype(np.float64)
        weights, vector, opened = rng(5).random(50), ParameterVector(graph), open_circuit(graph)
        counts = opened.expectations(graph, values, weights)
        moved = vector.put(graph, vector.take(graph) + rng(6).normal(size=len(vector)))
        change = weights @ (log_values(moved, values) - log_values(graph, values))
        assert vector.log_change(graph, moved, counts) == pytest.approx(change, abs=1e-9)
        again = opened.expectations(moved, values, weights)
        np.testing.assert_allclose(again.edge, counts.edge, atol=1e-9)


# ---- the fit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("l1", [0.0, 0.1])
def test_the_conditional_likelihood_of_training_rows_rises(l1: float, missing: float) -> None:
    some = table(missing=missing)
    how = Discriminative(targets=TARGETS, l1=l1, deviation=10.0, iterations=8)
    found = fit(start(), some, how, rng())
    assert (np.diff(found.train) >= -1e-9).all() or l1 > 0
    assert min(found.train) >= found.train[0]
    assert conditional_mean(found.graph, some) == pytest.approx(found.train[-1], abs=1e-9)
    assert found.train[-1] > found.train[0] + 0.2


def test_without_priors_a_mixture_of_all_inputs_reaches_the_conditional_frequencies() -> None:
    """With a leaf for each state of the input there is nothing better than counting."""
    schema = Schema((Variable("x", states=(0, 1, 2)), Variable("y", states=("a", "b", "c"))))
    b = Builder(schema)
    even = np.log(np.ones(3) / 3)
    b.sum(
        [b.product([b.indicator(0, k), b.leaf("categorical", 1, even)]) for k in range(3)],
        np.log([0.2, 0.3, 0.5]),
    )
    counts = rng(3).integers(1, 30, (3, 3))
    values = np.array([[x, y] for x in range(3) for y in range(3)], dtype=np.float64)
    some = Table(schema, values, counts.ravel().astype(np.float64))
    how = Discriminative(targets="y", l1=0.0, deviation=1e6, tolerance=1e-12)  # type: ignore[arg-type]
    found = fit(b.freeze(), some, how, rng()).graph
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_conditional(found, values, [0])).reshape(3, 3), expected, atol=1e-5)


def test_weighted_rows_count_like_repeated_rows() -> None:
    some, how = table(60), Discriminative(targets=TARGETS, iterations=2)
    weights = rng(3).integers(0, 4, size=60)
    weighted = replace(some, weights=weights.astype(np.float64))
    repeated = Table(some.schema, np.repeat(some.values, weights, axis=0))
    one, other = (fit(start(), t, how, rng()).graph for t in (weighted, repeated))
    np.testing.assert_allclose(log_prob(one, some.values), log_prob(other, some.values), atol=1e-6)


def test_validation_rows_are_never_worse_than_at_the_start() -> None:
    held_out = table(200, seed=8)
    how = Discriminative(targets=TARGETS, l1=0.0, deviation=1e3, tolerance=0.0, patience=2)
    few = table(12)
    found = fit(start(), few, how, rng(), valid=held_out)
    assert conditional_mean(found.graph, held_out) == pytest.approx(max(found.valid), abs=1e-9)
    assert max(found.valid) >= found.valid[0]
    assert len(found.train) < how.iterations


def test_strong_priors_keep_the_parameters_where_they_are() -> None:
    for how in (
        Discriminative(targets=TARGETS, l1=1e6),
        Discriminative(targets=TARGETS, l1=0.0, deviation=1e-5),
    ):
        found = fit(start(), table(), how, rng()).graph
        np.testing.assert_allclose(
            log_prob(found, table().values), log_prob(start(), table().values), atol=1e-4
        )


def test_a_circuit_out_of_time_comes_back_as_it_was() -> None:
    found = fit(start(), table(), Discriminative(targets=TARGETS), rng(), watch=Watch(seconds=0.0))
    assert len(found.train) == 1


class _Impatient(Watch):
    """Tells the work to stop at its third question, which is in the middle of the first iteration."""

    asked = 0

    def should_stop(self) -> bool:
        self.asked += 1
        return self.asked >= 3


def test_an_iteration_ends_with_the_step_after_which_time_is_over() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 3)).astype(float)
    table = Table(discrete_schema([2, 2, 2]), rows)
    graph = random_graph(rng, 3, 30)
    how = Discriminative(targets=("x0",), l1=0.0, deviation=10.0)
    scores = {}
    for name, watch in (("short", _Impatient()), ("long", Watch())):
        scores[name] = fit(graph, table, replace(how, iterations=1), rng, watch=watch).train
    assert len(scores["short"]) == 2
    assert scores["short"][0] < scores["short"][1] < scores["long"][1]


def test_leaves_over_numbers_stay_as_they_are() -> None:
    schema = Schema((Variable("x", "real"), Variable("y", states=(0, 1))))
    b = Builder(schema)
    parts = [
        b.product([b.leaf("gaussian", 0, [m, 0.0]), b.leaf("bernoulli", 1, [0.1 * m])]) for m in (-1.0, 1.0)
    ]
    graph = b.freeze(b.sum(parts, np.log([0.4, 0.6])))
    x = rng().normal(size=200)
    some = Table(schema, np.stack([x, (x > 0).astype(np.float64)], axis=1))
    found = fit(graph, some, Discriminative(targets=("y",)), rng())
    assert found.train[-1] > found.train[0] + 0.1
    before, after = (next(b for b in g.blocks if b.name == "gaussian") for g in (graph, found.graph))
    assert np.array_equal(before.parameters, after.parameters)


# ---- refusals, provenance and the command line ----------------------------------------------------------


def test_what_cannot_be_fitted_is_refused_by_name() -> None:
    conditional = replace(start(), schema=start().schema.with_inputs([3, 4, 5]))
    rows = Table(conditional.schema, table().values)
    assert fit(conditional, rows, Discriminative(), rng()).train[-1] > -5
    gap = rows.values.copy()
    gap[2, 4] = np.nan
    for graph, some, targets, words in (
        (start(), table(), (), "name the columns to predict"),
        (start(), table(), tuple(f"x{i}" for i in range(6)), "all columns are targets"),
        (start(), table(), ("x9",), "no column 'x9'"),
        (conditional, rows, ("x3",), "column 'x3' is not a target"),
        (
            conditional,
            Table(rows.schema, gap),
            (),
            "column 'x4' is an input, but one of its cells is missing",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            fit(graph, some, Discriminative(targets=targets), rng())


def test_the_provenance_says_what_was_fitted() -> None:
    circuit = tr.fit_parameters(tr.Circuit(start()), table(), "discriminative", targets=["x0", "x2"])
    record = circuit.about["parameters"]
    assert record["settings"]["targets"] == ["x0", "x2"]
    assert record["fitted"].startswith("P(x0, x2 | all other columns); the joint distribution is not fitted")


def test_the_command_line_fits_conditional_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from tractable.cli import run

    tr.Circuit(start()).save(tmp_path / "m.tract")
    lines = [",".join(start().schema.names), *(",".join(str(int(x)) for x in r) for r in table(100).values)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    files = [str(tmp_path / name) for name in ("m.tract", "t.csv", "n.tract")]
    command = [
        "parameters",
        *files[:2],
        "--method",
        "discriminative",
        "--targets",
        "x0,x1,x2",
        "-o",
        files[2],
    ]
    assert run([*command, "--json", "--quiet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    some = table(100)
    assert facts["train_cll"] == pytest.approx(conditional_mean(tr.load(files[2]).graph, some), abs=1e-9)
    assert facts["train_cll"] > conditional_mean(start(), some)
