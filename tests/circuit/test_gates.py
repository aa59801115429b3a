"""Gates: leaves that are the probabilities of outcomes of softmax regressions on inputs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import conditional_circuits, regressions

from tractable import Circuit, load, queries
from tractable.base.arrays import Floats
from tractable.base.progress import decode, encode
from tractable.circuit import Builder, Graph, condition, is_deterministic
from tractable.circuit.blocks import GateBlock, LeafBlock
from tractable.circuit.combine import product
from tractable.circuit.convert import to_ac
from tractable.circuit.leaves.logistic import (
    FARTHEST,
    InputFeatures,
    SoftmaxRegressions,
    input_features,
    log_softmax,
)
from tractable.circuit.states import graph_forms
from tractable.data import Interval, Schema, Variable
from tractable.formats import Document, read_circuit, write_circuit

SCHEMA = Schema(
    (
        Variable("size", "real", role="input"),
        Variable("y", states=("no", "yes")),
        Variable("kind", states=("a", "b", "c"), role="input"),
        Variable("z", states=("low", "mid", "high")),
        Variable("flag", states=("no", "yes"), role="input"),
    )
)


def features() -> InputFeatures:
    rows = np.array([[3.0, 0, 0, 0, 1], [5.0, 0, 1, 0, 0], [10.0, 0, 2, 0, 1]])
    return input_features(SCHEMA, SCHEMA.inputs, rows, np.array([1.0, 2.0, 1.0]))


def model(seed: int = 0) -> Graph:
    """A mixture of two: z given y given the inputs, its shares a regression as well (a gating sum)."""
    draw = np.random.default_rng(seed)
    builder, known = Builder(SCHEMA), features()

    def gates(count: int, outcomes: int) -> list[list[int]]:
        weights = draw.normal(size=(count, outcomes - 1, len(known) + 1))
        return builder.gates(SoftmaxRegressions(known, weights)).tolist()

    parts = []
    for _ in range(2):
        below = [
            builder.sum(
                [builder.product([builder.indicator(3, k), g]) for k, g in enumerate(line)], [0, 0, 0]
            )
            for line in gates(2, 3)
        ]
        top = [builder.product([builder.indicator(1, k), g, below[k]]) for k, g in enumerate(gates(1, 2)[0])]
        parts.append(builder.sum(top, [0, 0]))
    shares = [builder.product([gate, part]) for gate, part in zip(gates(1, 2)[0], parts, strict=True)]
    return builder.freeze(builder.sum(shares, [0, 0]))


def rows_of_inputs(count: int = 5, seed: int = 1) -> Floats:
    draw = np.random.default_rng(seed)
    rows = np.full((count, 5), np.nan)
    rows[:, 0], rows[:, 2], rows[:, 4] = draw.normal(5, 4, count), draw.integers(3, size=count), 1
    return rows


def completions(row: Floats) -> Floats:
    rows = np.repeat(row[None], 6, axis=0)
    rows[:, 1], rows[:, 3] = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    return rows


def test_every_question_agrees_with_enumeration() -> None:
    graph = model()
    for row in rows_of_inputs():
        rows = completions(row)
        probs = np.exp([oracle.log_value(graph, r) for r in rows])
        assert probs.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(np.exp(queries.log_prob(graph, rows)), probs, atol=1e-9)
        marginals = queries.marginals(graph, row[None])
        np.testing.assert_allclose(marginals[1][0], probs.reshape(2, 3).sum(axis=1), atol=1e-9)
        np.testing.assert_allclose(marginals[3][0], probs.reshape(2, 3).sum(axis=0), atol=1e-9)
        best = queries.most_probable(graph, row[None])
        assert best.exact[0]
        np.testing.assert_array_equal(best.rows[0], rows[probs.argmax()])
        drawn = queries.sample_rows(graph, row[None], 3000, seed=2)
        shares = np.array([(drawn == r).all(axis=1).mean() for r in rows])
        assert np.abs(shares - probs).max() < 0.05


def test_a_tree_of_regressions_is_deterministic_so_that_its_best_targets_are_exact() -> None:
    builder, known = Builder(SCHEMA), features()
    nodes = builder.gates(SoftmaxRegressions(known, np.ones((1, 1, len(known) + 1))))[0].tolist()
    terms = [builder.product([builder.indicator(1, k), gate]) for k, gate in enumerate(nodes)]
    assert is_deterministic(builder.freeze(builder.sum(terms, [0, 0])))


@pytest.mark.parametrize("some", [["size"], ["kind"], ["flag", "size"], ["size", "kind", "flag"]])
def test_inputs_become_known_one_by_one(some: list[str]) -> None:
    graph, row = model(), rows_of_inputs()[0]
    values = {name: SCHEMA[c].states[int(row[c])] if SCHEMA[c].states else row[c]
              for name in some for c in [SCHEMA.column(name)]}  # fmt: skip
    part = Circuit(graph).condition(values)
    kept = [c for c in range(5) if SCHEMA[c].name not in some]
    rows = completions(row)
    np.testing.assert_allclose(
        queries.log_prob(part.graph, rows[:, kept]), queries.log_prob(graph, rows), atol=1e-9
    )
    assert bool(part.graph.blocks_of(GateBlock)) == (len(some) < 3)


@given(conditional_circuits())
def test_circuits_made_of_circuits_keep_their_gates(graph: Graph) -> None:
    rows = np.array(oracle.all_rows(graph.schema), dtype=np.float64)
    expected = oracle.log_values(graph, rows)
    forms = graph_forms(graph.schema)
    others = [product([graph]), decode(Graph, encode(graph, forms), forms)]
    if graph.blocks_of(LeafBlock):
        others.append(to_ac(graph))
    for other in others:
        np.testing.assert_allclose(oracle.log_values(other, rows), expected, atol=1e-9)


@given(conditional_circuits(), st.sampled_from([".tract", ".json"]))
def test_files_hold_gates_to_the_last_digit(graph: Graph, suffix: str) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as name:
        file = Path(name) / f"m{suffix}"
        write_circuit(Document(graph), file)
        back = read_circuit(file).graph
    assert back.schema == graph.schema
    assert len(back.blocks_of(GateBlock)) == len(graph.blocks_of(GateBlock))
    for mine, theirs in zip(graph.blocks_of(GateBlock), back.blocks_of(GateBlock), strict=True):
        np.testing.assert_array_equal(mine.node, theirs.node)
        np.testing.assert_array_equal(mine.regressions.weights, theirs.regressions.weights)
    rows = np.array(oracle.all_rows(graph.schema), dtype=np.float64)
    np.testing.assert_array_equal(oracle.log_values(graph, rows), oracle.log_values(back, rows))


@pytest.mark.parametrize("suffix", [".ac", ".spn", ".uai", ".mn"])
def test_formats_without_regressions_refuse_them_in_one_sentence(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot hold regressions on inputs: save the model as"):
        Circuit(model()).save(tmp_path / f"m{suffix}")
    assert not list(tmp_path.iterdir())


def test_numeric_inputs_and_wrong_regressions_of_json_files(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    Circuit(model()).save(file)
    rows = np.concatenate([completions(row) for row in rows_of_inputs()])
    expected = queries.log_prob(model(), rows)
    np.testing.assert_array_equal(queries.log_prob(load(file).graph, rows), expected)
    text = file.read_text()
    for old, new, words in (
        ('"outcome": 1}', '"outcome": -1}', "is not a gate with the numbers"),
        ('"block": 0,', '"block": 99,', "there are no regressions number 99"),
        ('"scale": ', '"size": ', "regressions number 0 are not features and weights"),
        ('"weights": [[[', '"weights": [[["x", ', "regressions number 0 are not features and weights"),
        ('"state": null', '"state": 1e999', "regressions number 0 are not features and weights"),
    ):
        file.write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=words):
            load(file)


def test_pictures_and_summaries_show_gates(tmp_path: Path) -> None:
    circuit = Circuit(model())
    circuit.save(tmp_path / "m.svg")
    circuit.save(tmp_path / "m.dot")
    assert "gate 0, outcome 1" in (tmp_path / "m.dot").read_text()
    circuit.save(tmp_path / "m.tract")
    assert load(tmp_path / "m.tract").properties == circuit.properties
    assert circuit.properties.parameters == 6 * (2 * 2 + 1 + 1 + 2 * 2 + 1) + 0
    assert circuit.properties.variables == 5


@given(regressions(SCHEMA.with_targets([1, 3])), st.lists(st.floats(allow_nan=False), min_size=1, max_size=4))
def test_the_outcomes_of_a_regression_add_up_to_one(some: SoftmaxRegressions, sizes: list[float]) -> None:
    numbers = InputFeatures(np.array([0]), np.array([-1]), np.array([0.5]), np.array([1e-3]))
    weights = np.array([[[2.0, -1.0]], [[-300.0, 0.0]]])
    rows = np.zeros((len(sizes), 5))
    rows[:, 0] = sizes
    for regression in (some, SoftmaxRegressions(numbers, weights)):
        logs = regression.log_probs(rows)
        assert not np.isnan(logs).any()
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0, atol=1e-12)


def test_features_are_centred_states_and_standardised_numbers() -> None:
    known = features()
    assert known.column.tolist() == [0, 2, 2, 2, 4]
    assert known.state.tolist() == [-1, 0, 1, 2, 1]
    rows = np.array([[3.0, 0, 0, 0, 1], [5.0, 0, 1, 0, 0], [5.0, 0, 1, 0, 0], [10.0, 0, 2, 0, 1]])
    seen = known.encode(rows)
    np.testing.assert_allclose(seen[:, :-1].mean(axis=0), 0, atol=1e-12)
    assert seen[:, 0].std() == pytest.approx(1.0)
    assert (seen[:, -1] == 1).all()
    far = known.encode(np.array([[1e308, 0, 0, 0, 1], [-1e308, 0, 0, 0, 1]]))
    assert far[:, 0].tolist() == [FARTHEST, -FARTHEST]
    same = input_features(SCHEMA, SCHEMA.inputs, rows[1:3], np.ones(2))
    assert len(same) == 0
    assert len(input_features(SCHEMA, SCHEMA.inputs, rows[:0], np.ones(0))) == 0


def test_missing_inputs_never_reach_a_regression() -> None:
    row = rows_of_inputs()[:1]
    row[0, 0] = np.nan
    with pytest.raises(ValueError, match="column 'size' is an input of the circuit: it must have a value"):
        queries.log_prob(model(), row)
    with pytest.raises(ValueError, match="needs a value of each"):
        features().encode(row)


def broken(**changes: object) -> None:
    builder = Builder(SCHEMA)
    known = replace(features(), **changes)  # type: ignore[arg-type]
    builder.gates(SoftmaxRegressions(known, np.zeros((1, 1, len(features()) + 1))))
    builder.product(list(range(2)))
    builder.freeze()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"column": np.array([0, 2, 2, 2, 1])}, "column 'y' is a target: gates depend on inputs"),
        ({"column": np.array([0, 2, 2, 2, 9])}, "a feature is of column 9, out of range"),
        ({"state": np.array([-1, 0, 1, 3, 1])}, "column 'kind' has no state number 3"),
        ({"state": np.array([0, 0, 1, 2, 1])}, "column 'size' has no state number 0"),
        ({"scale": np.array([0.0, 1, 1, 1, 1])}, "the scale of a feature is not above zero"),
        ({"shift": np.array([np.inf, 0, 0, 0, 0])}, "the shift or the scale of a feature is not finite"),
        ({"shift": np.zeros(2)}, "the arrays of the features do not fit together"),
    ],
)
def test_wrong_regressions_are_refused_in_words(changes: dict[str, Floats], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        broken(**changes)


def test_wrong_weights_are_refused_in_words() -> None:
    for weights, words in (
        (np.zeros((1, 1, 3)), "not those of the features and an intercept"),
        (np.full((1, 1, 6), np.nan), "a weight is not a number between"),
        (np.full((1, 1, 6), 1e9), "a weight is not a number between"),
    ):
        builder = Builder(SCHEMA)
        builder.gates(SoftmaxRegressions(features(), weights))
        builder.product([0, 1])
        with pytest.raises(ValueError, match=words):
            builder.freeze()


def test_gates_need_inputs_and_leaves_that_there_are() -> None:
    graph = model()
    with pytest.raises(ValueError, match="gates depend on inputs, but no column is an input"):
        replace(graph, schema=SCHEMA.with_targets(range(5)))
    block = graph.blocks_of(GateBlock)[0]
    others = [other for other in graph.blocks if other is not block]
    for wrong in (replace(block, outcome=block.outcome + 3), replace(block, regression=block.regression - 1)):
        with pytest.raises(ValueError, match="refers to a regression or an outcome that is out of range"):
            replace(graph, blocks=(wrong, *others))
    with pytest.raises(ValueError, match="the arrays of the gates do not fit together"):
        replace(graph, blocks=(replace(block, outcome=block.outcome[:1]), *others))
    with pytest.raises(ValueError, match="it must have a value, not a region"):
        condition(graph, np.full(5, np.nan), {0: Interval(0, 5)})


@given(st.lists(st.lists(st.floats(-700, 700), min_size=2, max_size=4), min_size=1, max_size=1))
def test_the_soft_maximum_is_exact(scores: list[list[float]]) -> None:
    found = log_softmax(np.array(scores).T[None])[0, :, 0]
    expected = [s - oracle.log_sum(scores[0]) for s in scores[0]]
    np.testing.assert_allclose(found, expected, atol=1e-9)
