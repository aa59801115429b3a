"""What cannot be computed is refused: logarithms whose sums have no digits left."""

import math
from pathlib import Path

import numpy as np
import pytest

from tractable.circuit import Builder, Graph
from tractable.circuit.blocks import leaf_block
from tractable.circuit.check import LARGEST_LOG
from tractable.cli import run
from tractable.data import Schema, Variable, discrete_schema
from tractable.formats import Document, read_circuit, write_circuit
from tractable.formats.network_files import read_network_document
from tractable.model import Circuit

HUGE = [1e10, -1e10, 1e16, -1e16, 1e300, -1e300, 2 * LARGEST_LOG]
LARGE = [0.9 * LARGEST_LOG, -0.9 * LARGEST_LOG, 1e6, -1e6]


def choice(log_weights: list[float]) -> Graph:
    builder = Builder(discrete_schema([2]))
    builder.sum([builder.indicator(0, 0), builder.indicator(0, 1)], log_weights)
    return builder.freeze()


def scaled(log_factor: float) -> Graph:
    builder = Builder(discrete_schema([2]))
    parts = [builder.product([builder.indicator(0, k), builder.constant(log_factor + k)]) for k in (0, 1)]
    builder.sum(parts, [0.0, 0.0])
    return builder.freeze()


@pytest.mark.parametrize("log", HUGE)
def test_a_builder_refuses_weights_and_constants_that_sums_cannot_tell_apart(log: float) -> None:
    with pytest.raises(ValueError, match="sums lose their digits"):
        choice([log, log + 1.0])
    with pytest.raises(ValueError, match="sums lose their digits"):
        scaled(log)


@pytest.mark.parametrize("make", [lambda log: choice([log, log + 1.0]), scaled])
@pytest.mark.parametrize("log", LARGE)
def test_what_is_allowed_is_computed_to_eight_digits(log: float, make: object) -> None:
    circuit = Circuit(make(log))  # type: ignore[operator]
    share = math.e / (1 + math.e)
    assert circuit.prob("x0=1") == pytest.approx(share, rel=1e-8)
    assert circuit.prob("x0=0") + circuit.prob("x0=1") == pytest.approx(1.0, rel=1e-8)


def test_a_term_may_be_as_small_as_it_likes_beside_a_larger_one() -> None:
    circuit = Circuit(choice([0.0, -1e300]))
    assert (circuit.prob("x0=0"), circuit.prob("x0=1")) == (1.0, 0.0)
    assert circuit.log_prob({"x0": 1}) == -1e300


def test_a_partition_function_that_many_constants_make_too_large_is_refused() -> None:
    builder = Builder(discrete_schema([2]))
    many = [builder.constant(LARGEST_LOG) for _ in range(10**3)]
    builder.product([builder.leaf("bernoulli", 0, [0.3]), *many])
    circuit = Circuit(builder.freeze())
    with pytest.raises(ValueError, match="partition function"):
        circuit.log_prob({"x0": 1})


JSON = """{"format": "tractable circuit", "version": 1, "about": {}, "schema": [
{"name": "x0", "kind": "categorical", "role": "target", "states": [0, 1]}],
"nodes": [{"leaf": "indicator", "column": "x0", "params": [0]},
{"leaf": "indicator", "column": "x0", "params": [1]},
{"sum": [0, 1], "log_weights": [LOG, LOG]}]}"""
CONSTANT = JSON.replace(
    '{"sum": [0, 1], "log_weights": [LOG, LOG]}',
    """{"sum": [0, 1], "log_weights": [0, 0]},
{"leaf": "constant", "params": [LOG]}, {"product": [2, 3]}""",
)
FEATURE = (
    JSON.replace("[LOG, LOG]", "[0, 0]")[:-1]
    + """, "features": [
{"node": -1, "log_weight": LOG, "conditions": [["x0", 1, true]]}]}"""
)
TEXTS = {
    "weight.json": JSON,
    "constant.json": CONSTANT,
    "feature.json": FEATURE,
    "feature.mn": "2\nMN {\nLOG +v0_1\n}\n",
    "table.mn": "2\nMN {\ntable {\nLOG +v0_0\nLOG +v0_1\n}\n}\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("log", HUGE)
def test_files_are_refused(name: str, log: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_text(TEXTS[name].replace("LOG", repr(log)))
    with pytest.raises(ValueError, match="sums lose their digits") as caught:
        read_circuit(path)
    assert str(caught.value).startswith(f"{path}: ")
    if path.suffix == ".mn":
        with pytest.raises(ValueError, match="sums lose their digits"):
            read_network_document(path)
    assert run(["check", str(path)]) == 2
    assert "sums lose their digits" in capsys.readouterr().err
    path.write_text(TEXTS[name].replace("LOG", "1.5"))
    read_circuit(path)


def test_a_spn_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.spn"
    write_circuit(Document(choice([0.0, 1.0])), path)
    tree = (path / "spac.m").read_text().splitlines()
    tree[4] = " ".join(["1e16"] * len(tree[4].split()))
    (path / "spac.m").write_text("\n".join(tree))
    with pytest.raises(ValueError, match="sums lose their digits"):
        read_circuit(path)


@pytest.mark.parametrize("suffix", [".tract", ".json"])
def test_nothing_is_written_that_could_not_be_read(suffix: str, tmp_path: Path) -> None:
    graph = choice([0.0, 1.0]).with_parameters(np.array([1e16, 1e16]))
    with pytest.raises(ValueError, match=r"c\..*sums lose their digits"):
        write_circuit(Document(graph), tmp_path / f"c{suffix}")
    assert not list(tmp_path.iterdir())


def told_by_a_number() -> Circuit:
    """A mixture of two narrow densities of x, beside a state; x tells which, wherever it lies."""
    schema = Schema((Variable("x", "real"), Variable("a", "categorical", ("p", "q")), Variable("y", "real")))
    builder = Builder(schema)
    parts = [
        builder.product(
            [
                builder.leaf("gaussian", 0, [mean, -10.0]),
                builder.leaf("bernoulli", 1, [log_odds]),
                builder.leaf("gaussian", 2, [log_odds, 0.0]),
            ]
        )
        for mean, log_odds in ((0.0, 0.3), (1e-4, 1.0))
    ]
    return Circuit(builder.freeze(builder.sum(parts, np.log([0.5, 0.5]))))


@pytest.mark.parametrize("x", [0.1, 100.0, 1e4, 1e6, -1e6])
def test_evidence_far_out_leaves_probabilities_that_sum_to_one(x: float) -> None:
    """The log-density of 1e6 is -2e20, and yet one density is far larger there than the other."""
    circuit = told_by_a_number()
    log_odds = 1.0 if x > 0 else 0.3
    expected = 1 / (1 + math.exp(-log_odds))
    assert circuit.prob("a=q", {"x": x}) == pytest.approx(expected, rel=1e-9)
    assert circuit.prob("a=p", {"x": x}) == pytest.approx(1 - expected, rel=1e-9)
    assert circuit.prob("a=q", {"x": x, "y": (0, 50)}) == pytest.approx(expected, rel=1e-9)
    assert circuit.prob(f"a=q, x={x}", {"x": x}) == pytest.approx(expected, rel=1e-9)
    rest = circuit.condition({"x": x})
    assert rest.prob("a=q") == pytest.approx(expected, rel=1e-9)
    assert rest.log_prob({"a": "q"}) == pytest.approx(math.log(expected), rel=1e-9)


@pytest.mark.parametrize("width", [0, 2])
def test_a_constant_has_one_parameter(width: int) -> None:
    with pytest.raises(ValueError, match="a constant leaf must have one parameter"):
        leaf_block("constant", np.array([0]), np.array([-1]), np.zeros((1, width)))
