"""DSPN-SVD as a conditional circuit: features of the inputs, and circuits over features inside a network."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.datasets import load_iris

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.base.progress.codec import state_from_bytes, state_to_bytes
from tractable.circuit import Builder, Graph, is_deterministic, is_valid_over
from tractable.circuit.leaves.perceptron import Layer, Perceptron, evaluate_layers
from tractable.circuit.states import graph_from_state, graph_state
from tractable.cli import run
from tractable.data import Schema, Table, Variable
from tractable.engine.feature_circuits import FeatureCircuits, feature_schema
from tractable.formats import FORMATS
from tractable.learning.conditional.dspn_svd.densities import freeze_classes, input_layers
from tractable.learning.conditional.dspn_svd.hsic import FeatureSettings, find_projection
from tractable.learning.conditional.dspn_svd.learner import DSPNSVDLearner
from tractable.learning.conditional.inputs import plain_inputs
from tractable.queries import log_prob, marginals

SCHEMA = Schema(
    (
        Variable("a", "real", role="input"),
        Variable("b", states=("x", "y", "z"), role="input"),
        Variable("label", states=("ant", "bee", "cow")),
    )
)


def labelled(x: Floats, y: Any, classes: int) -> Table:
    columns = (Variable(f"x{i}", "real", role="input") for i in range(x.shape[1]))
    schema = Schema((*columns, Variable("label", states=tuple(range(classes)))))
    return Table(schema, np.column_stack([x, y]).astype(np.float64))


def iris(seed: int = 0) -> tuple[Table, Table]:
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    table = labelled(x[order], y[order], 3)
    return table.take(np.arange(100)), table.take(np.arange(100, 150))


def without_class(table: Table) -> Floats:
    rows = table.values.copy()
    rows[:, -1] = np.nan
    return rows


def class_probabilities(graph: Graph, table: Table) -> Floats:
    return marginals(graph, without_class(table))[len(table.schema) - 1]


def some_network(seed: int) -> tuple[FeatureCircuits, list[list[Any]]]:
    """Two features, three mixtures of Gaussians over them, as (weight, means, sds), and sums of these."""
    rng = np.random.default_rng(seed)
    layers = (
        Layer(rng.normal(size=(3, 4)), rng.normal(size=3), "cos"),
        Layer(rng.normal(size=(2, 3)), rng.normal(size=2)),
    )
    parts, graphs = [], []
    for _ in range(3):
        builder, nodes, plain = Builder(feature_schema(2)), [], []
        for weight in rng.dirichlet([1.0, 1.0]).tolist():
            mean, sd = rng.normal(size=2), rng.uniform(0.3, 2.0, 2)
            leaves = [builder.leaf("gaussian", j, (mean[j], np.log(sd[j]))) for j in range(2)]
            nodes.append(builder.product(leaves))
            plain.append((weight, mean, sd))
        builder.sum(nodes, np.log([weight for weight, _, _ in plain]))
        graphs.append(builder.freeze())
        parts.append(plain)
    weights = rng.uniform(0.1, 1.0, (3, 3)) * np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1]])
    return FeatureCircuits(Perceptron(("a", "b"), (0, 3), layers), tuple(graphs), weights), parts


def slow_posterior(network: FeatureCircuits, parts: list[list[Any]], cells: Floats) -> Floats:
    """P(class | inputs) of one row from its definition, number by number."""
    x = np.array([cells[0], *(float(cells[1] == state) for state in range(3))])
    first, second = network.perceptron.layers
    z = second.weight @ np.cos(first.weight @ x + first.bias) + second.bias
    density = [sum(w * np.prod(norm.pdf(z, mean, sd)) for w, mean, sd in plain) for plain in parts]
    joint = network.weights @ np.array(density)
    return np.asarray(joint / joint.sum())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_circuit_above_circuits_is_its_formula(seed: int) -> None:
    network, parts = some_network(seed)
    graph = freeze_classes(network, SCHEMA)
    assert is_valid_over(graph, SCHEMA.targets)
    assert is_deterministic(graph)
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=4), rng.integers(0, 3, 4), np.full(4, np.nan)])
    expected = np.stack([slow_posterior(network, parts, row) for row in rows])
    np.testing.assert_allclose(marginals(graph, rows)[2], expected, rtol=1e-9)
    best = tr.Circuit(graph).mpe(rows=Table(SCHEMA, rows))
    assert best.exact.all()
    np.testing.assert_allclose(best.log_prob, np.log(expected.max(axis=1)))
    known = np.column_stack([rows[:, :2], rng.integers(0, 3, 4)])
    own = expected[np.arange(4), known[:, 2].astype(int)]
    np.testing.assert_allclose(np.exp(log_prob(graph, known)), own, rtol=1e-9)


def test_files_and_checkpoints_keep_circuits_inside_networks(tmp_path: Path) -> None:
    train, test = iris()
    for more in ({}, {"kernel": "rbf", "components": 15, "density": "gaussian-mixture", "n_features": 2}):
        graph = DSPNSVDLearner(**more).learn(train, np.random.default_rng(0))  # type: ignore[arg-type]
        tr.Circuit(graph).save(tmp_path / "m.tract")
        again = tr.load(tmp_path / "m.tract")
        np.testing.assert_array_equal(log_prob(again.graph, test.values), log_prob(graph, test.values))
        again.save(tmp_path / "n.tract")
        assert (tmp_path / "m.tract").read_bytes() == (tmp_path / "n.tract").read_bytes()
        state = state_from_bytes(state_to_bytes(graph_state(graph)))
        kept = graph_from_state(state, train.schema)
        np.testing.assert_array_equal(log_prob(kept, test.values), log_prob(graph, test.values))
    for suffix in set(FORMATS) - {".tract", ".dot", ".svg", ".bif", ".bn"}:
        with pytest.raises(ValueError, match="holds no neural networks"):
            again.save(tmp_path / f"m{suffix}")
    with pytest.raises(ValueError, match="kind feature-circuits, which cannot be converted to plain"):
        tr.GeneralisedCircuit.from_circuit(again.graph)


def test_damaged_circuits_inside_networks_are_refused(tmp_path: Path) -> None:
    tr.Circuit(freeze_classes(some_network(0)[0], SCHEMA)).save(tmp_path / "m.tract")
    data = (tmp_path / "m.tract").read_bytes()
    for old, new in (
        (b'\\"cos\\"', b'\\"coz\\"'),
        (b'\\"circuits\\"', b'\\"circuitz\\"'),
        (b"network.0.circuit.2.child", b"network.0.circuit.3.child"),
        (b"network.0.circuit.1.kind", b"network.0.circuit.1.kinn"),
        (b"network.0.features.1.bias", b"network.0.features.2.bias"),
        (b"network.0.weights", b"network.0.weightz"),
        (b'\\"gaussian\\"', b'\\"gauzsian\\"'),
    ):
        assert old in data
        (tmp_path / "bad.tract").write_bytes(data.replace(old, new))
        with pytest.raises(ValueError, match=r"bad\.tract"):
            tr.load(tmp_path / "bad.tract")


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.eye(2), "do not fit 3 circuits"),
        (-np.eye(3), "negative or not finite"),
        (np.diag([1.0, 1.0, 0.0]), "an output of a network has no circuit"),
    ],
)
def test_networks_that_make_no_sense_are_refused(weights: Floats, words: str) -> None:
    network, _ = some_network(0)
    with pytest.raises(ValueError, match=words):
        FeatureCircuits(network.perceptron, network.graphs, weights)
    with pytest.raises(ValueError, match="not over the features of the network"):
        FeatureCircuits(network.perceptron, (freeze_classes(network, SCHEMA),), np.ones((1, 1)))


def test_the_learner_finds_the_model_of_the_estimator() -> None:
    train, test = iris()
    how = DSPNSVDLearner(n_features=(2,), gamma=(4.0,), standardise=False, background=0.0)
    graph = how.learn(train, np.random.default_rng(0))
    known = tr.DSPNSVD(2, 4.0).fit(train.values[:, :4], train.values[:, 4])
    np.testing.assert_allclose(
        class_probabilities(graph, test), known.predict_proba(test.values[:, :4]), atol=1e-6
    )


def test_random_fourier_features_are_layers_over_the_columns() -> None:
    train, _ = iris()
    scale = plain_inputs(train, divide=True)
    x, codes = scale.show(train), train.values[:, 4].astype(np.int64)
    how = FeatureSettings(kernel="rbf", components=40, whiten=True)
    projection = find_projection(x, codes, np.ones(len(x)), how, np.random.default_rng(0)).first(2)
    layers = input_layers(projection)
    np.testing.assert_allclose(evaluate_layers(layers, x), projection(x), atol=1e-4)
    inputs = train.values[:, :4]
    np.testing.assert_allclose(scale.unscale(layers)(inputs), evaluate_layers(layers, x), atol=1e-9)


def test_units_do_not_matter_and_chunks_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = iris()
    scale = np.array([1000.0, 1.0, 1e-3, 1.0, 1.0])
    one = DSPNSVDLearner().learn(train, np.random.default_rng(0))
    other = DSPNSVDLearner().learn(Table(train.schema, train.values * scale), np.random.default_rng(0))
    probs = class_probabilities(one, test)
    scaled = class_probabilities(other, Table(test.schema, test.values * scale))
    np.testing.assert_allclose(scaled, probs, atol=1e-6)
    monkeypatch.setattr("tractable.engine.feature_circuits.CHUNK", 7)
    np.testing.assert_array_equal(class_probabilities(one, test), probs)


def test_far_from_all_rows_the_classes_have_their_shares() -> None:
    train, _ = iris()
    graph = DSPNSVDLearner().learn(train, np.random.default_rng(0))
    shares = np.bincount(train.values[:, 4].astype(int)) / len(train)
    for far in (1e6, 1e100, 1e308):
        row = Table(train.schema, np.array([[far, 0.0, 0.0, 0.0, np.nan]]))
        np.testing.assert_allclose(class_probabilities(graph, row)[0], shares, atol=1e-9)


RNG = np.random.default_rng(0)
THREE = np.repeat([0.0, 3.0, 6.0], 20)
EDGES = {
    "one class": labelled(RNG.normal(size=(20, 2)), np.zeros(20), 1),
    "one class with rows": labelled(RNG.normal(size=(20, 2)), np.ones(20), 3),
    "one row": labelled(np.array([[1.0, 2.0]]), [1], 3),
    "equal rows of two classes": labelled(np.ones((2, 2)), [0, 1], 2),
    "constant columns": labelled(np.full((30, 2), 5.0), RNG.integers(0, 2, 30), 2),
    "a class of one row": labelled(RNG.normal(size=(30, 2)), [2] + [0] * 15 + [1] * 14, 3),
    "no row has a class": labelled(RNG.normal(size=(5, 2)), np.full(5, np.nan), 3),
    "huge numbers": labelled(1e250 * (RNG.normal(size=(60, 2)) + THREE[:, None]), THREE / 3, 3),
    "tiny numbers": labelled(1e-250 * (RNG.normal(size=(60, 2)) + THREE[:, None]), THREE / 3, 3),
    "numbers far from zero": labelled(1e9 + RNG.normal(size=(60, 2)) + THREE[:, None], THREE / 3, 3),
}


@pytest.mark.parametrize(
    "more",
    [{}, {"background": 0.0}, {"kernel": "rbf", "components": 10, "whiten": True}],
    ids=["default", "no background", "kernel"],
)
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_strange_tables_give_a_distribution(name: str, more: dict[str, Any]) -> None:
    table = EDGES[name]
    graph = DSPNSVDLearner(**more).learn(table, np.random.default_rng(0))
    probs = class_probabilities(graph, table)
    np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    if len(table) == 60:  # there are three clusters
        assert (probs.argmax(axis=1) == table.values[:, -1]).mean() > 0.8
    if name in ("constant columns", "equal rows of two classes"):
        shares = np.bincount(table.values[:, -1].astype(int)) / len(table)
        np.testing.assert_allclose(probs, np.broadcast_to(shares, probs.shape))


def test_several_targets_and_numbers_are_refused() -> None:
    train, _ = iris()
    both = Table(train.schema.with_targets([0, 4]), train.values)
    with pytest.raises(
        ValueError, match="dspn-svd supports a single target, not 'x0', 'label': learn a model"
    ):
        DSPNSVDLearner().learn(both, np.random.default_rng(0))
    number = Table(train.schema.with_targets([0]), train.values)
    with pytest.raises(ValueError, match="column 'x0' is real: dspn-svd supports only categorical targets"):
        DSPNSVDLearner().learn(number, np.random.default_rng(0))


def two_dimensions(rows: int, seed: int) -> Table:
    """Four classes at the corners of a square, which one feature does not tell apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, rows)
    corners = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
    return labelled(corners[y] + rng.normal(size=(rows, 2)), y, 4)


@pytest.mark.parametrize("valid", [True, False], ids=["validation rows", "cross-validation"])
def test_held_out_rows_choose(valid: bool) -> None:
    train, held = two_dimensions(120, 0), two_dimensions(60, 1) if valid else None
    how = DSPNSVDLearner(n_features=(1, 2), gamma=(4.0,))
    found = how.learn_with_extras(train, np.random.default_rng(0), valid=held)
    assert found.extras["chosen"] == {"n_features": 2, "gamma": 4.0}
    alone = DSPNSVDLearner(n_features=(2,), gamma=(4.0,)).learn(train, np.random.default_rng(0))
    np.testing.assert_array_equal(class_probabilities(found.graph, train), class_probabilities(alone, train))


@pytest.mark.parametrize("valid", [True, False], ids=["validation rows", "cross-validation"])
def test_work_that_is_stopped_gives_the_best_of_what_was_tried(valid: bool) -> None:
    train, held = two_dimensions(120, 0), two_dimensions(60, 1) if valid else None
    how = DSPNSVDLearner(n_features=(1, 2), gamma=(4.0,))

    def stop(progress: Progress) -> None:
        if progress.stage == "choices tried" and progress.done == 1:
            raise KeyboardInterrupt

    found = how.learn(train, np.random.default_rng(0), valid=held, watch=Watch(stop))
    first = DSPNSVDLearner(n_features=(1,), gamma=(4.0,)).learn(train, np.random.default_rng(0))
    np.testing.assert_array_equal(class_probabilities(found, train), class_probabilities(first, train))


def test_the_command_line_answers_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    colour = np.where(rng.random(80) < 0.8, y, rng.integers(0, 2, 80))
    lines = [
        f"{3 * k + rng.normal():.3f},{'rg'[c]},{['no', 'yes'][k]}" for k, c in zip(y, colour, strict=True)
    ]
    Path("t.csv").write_text("size,colour,label\n" + "\n".join(lines) + "\n")
    assert run(["learn", "dspn-svd", "t.csv", "--targets", "label", "-o", "m.tract", "-q"]) == 0
    model = tr.load("m.tract")
    assert model.about["chosen"] == {"n_features": 1, "gamma": model.about["chosen"]["gamma"]}
    inputs = ["--given", "size=3, colour=g"]
    for words in (
        ["score", "m.tract", "t.csv", "--metrics"],
        ["query", "m.tract", "P(label=yes | size=3, colour=g)"],
        ["marginals", "m.tract", *inputs],
        ["mpe", "m.tract", *inputs],
        ["sample", "m.tract", "5", *inputs],
        ["info", "m.tract"],
        ["check", "m.tract"],
        ["plot", "m.tract", "m.svg"],
    ):
        assert run(words) == 0, words
    answers = capsys.readouterr().out
    assert "probability 0.9" in answers
    assert "The circuit is a conditional distribution." in answers
    assert run(["learn", "dspn-svd", "t.csv", "--targets", "label,colour", "-o", "n.tract", "-q"]) == 2
    assert "dspn-svd supports a single target" in capsys.readouterr().err
