"""What a file claims is measured by its own length before anything is made of it, and numbers are numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from fuzz.models import GENERALISED, graph, save_generalised, save_model
from tractable.circuit import Builder
from tractable.circuit.generalised import GeneralisedBuilder, GeneralisedGraph
from tractable.circuit.generalised import log_prob as generalised_log_prob
from tractable.circuit.generalised import marginals as generalised_marginals
from tractable.circuit.leaves.perceptron import Committee, Layer, Perceptron
from tractable.data import Evidence, Schema, Variable, discrete_schema
from tractable.formats import Document, read_circuit, write_circuit
from tractable.formats.generalised import read_generalised
from tractable.formats.tract import digest
from tractable.queries import log_prob, marginals, moments, most_probable, sample

Tensors = dict[str, Any]
LARGEST, LEAST = 2**63 - 1, -(2**63)


def sealed_again(path: Path, change: Callable[[Tensors, dict[str, Any]], None]) -> None:
    """Change arrays and header of a file and give it a checksum that fits."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["circuit"])
    arrays = load(data)
    change(arrays, header)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    text = json.dumps(header)
    path.write_bytes(save(arrays, metadata={"circuit": text, "digest": digest(text, arrays)}))


def put(name: str, at: int, value: float) -> Callable[[Tensors, dict[str, Any]], None]:
    def change(arrays: Tensors, header: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].flat[at] = value

    return change


def remade(name: str, make: Callable[[Any], Any]) -> Callable[[Tensors, dict[str, Any]], None]:
    def change(arrays: Tensors, header: dict[str, Any]) -> None:
        arrays[name] = make(arrays[name])

    return change


def without(entry: str) -> Callable[[Tensors, dict[str, Any]], None]:
    def change(arrays: Tensors, header: dict[str, Any]) -> None:
        del header["networks"][0][entry]

    return change


def wrapping(start: Any) -> Any:
    """The same ends, with differences between that wrap around to numbers from zero up."""
    changed = start.copy()
    changed[1:4] = LARGEST, LEAST, -1
    return changed


@pytest.mark.parametrize(
    ("model", "change", "fault"),
    [
        ("mixture", remade("start", wrapping), "the edges are not divided among the nodes in order"),
        ("features", remade("feature.start", lambda a: a - 1), "the conditions are not divided among"),
        ("features", put("feature.column", 0, LARGEST), "refers to a column or state that does not exist"),
        ("features", put("feature.state", 0, LEAST), "refers to a column or state that does not exist"),
        ("binary", remade("leaf.1.params", lambda a: a[:, :0]), "0 parameters, not the code of a state"),
        ("gated", put("gate.0.column", 0, LARGEST), "a feature is of column 9223372036854775807"),
        ("gated", put("gate.0.weights", 0, np.inf), "a weight is not a number between"),
        ("gated", put("gate.0.regression", 0, LEAST), "a regression or an outcome that is out of range"),
        ("shape", put("shape.step", 0, LEAST), "a node of the shape is out of range"),
        ("shape", put("shape.first", 0, LARGEST), "a node of the shape is out of range"),
        ("network", without("states"), "network 0 is not columns, states, operators"),
        (
            "network",
            without("columns"),
            "network 0 is not columns, states, operators",
        ),
        ("network", put("network.0.0.0.weight", 0, np.nan), "a weight or a bias of a layer is not finite"),
        ("mapped", put("joint.0.params", 0, np.nan), "is not finite"),
        ("mapped", put("joint.0.params", 0, 1e308), "a mean is beyond 1e.300 either way"),
    ],
)
def test_numbers_that_are_none_are_found_though_the_checksum_fits(
    model: str, change: Callable[[Tensors, dict[str, Any]], None], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.tract"
    save_model(model, path)
    sealed_again(path, change)
    with pytest.raises(ValueError, match=rf"c\.tract: .*{fault}"):
        read_circuit(path)


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("column", LARGEST, "is over"),
        ("column", LEAST, "is over"),
        ("code", LARGEST, "is an indicator of no state|is an unknown operator"),
        ("value", np.nan, "is a parameter that is not finite"),
        ("child", LEAST, "a child is not numbered before its parents"),
        ("start", LARGEST, "the edges are not divided among the nodes in order"),
    ],
)
def test_numbers_of_generalised_circuits_are_looked_at_everywhere(
    name: str, value: float, fault: str, tmp_path: Path
) -> None:
    for model in GENERALISED:
        path = tmp_path / "c.gac"
        save_generalised(model, path)
        entries = range(min(8, load(path.read_bytes())[name].size))
        told = []
        for at in entries:
            save_generalised(model, path)
            sealed_again(path, put(name, at, value))
            try:
                read_generalised(path)
            except ValueError as error:
                told.append(str(error))
        assert told or name in ("value", "code")  # which other nodes do not have
        for line in told:
            assert line.startswith(f"{path}: ")
            assert any(each in line for each in fault.split("|"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.bn", "65536,65536\nBN {\nv0 {\ntable {\n-1 +v0_0 +v1_1\n}\n}\n}\n"),
        ("a.bn", "000000000" + "9" * 12 + ",2\nBN {\n}\n"),
        (
            "b.bn",
            ",".join("2" * 27) + "\nBN {\nv0 {\n" + "".join(f"0 +v{i}_0\n" for i in range(27)) + "}\n}\n",
        ),
        ("a.mn", "65536,2\nMN {\n1 +v0_65535\n}\n"),
        ("a.uai", "MARKOV\n3\n65536 65536 65536\n0\n"),
        ("a.ac", "(65536 65536)\nn 1.0\nEOF\n"),
        ("a.ac", "(" + "9" * 5000 + ")\nn 1.0\nEOF\n"),
    ],
)
def test_a_short_file_cannot_claim_much(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"{name}: ") as caught:
        read_circuit(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_file_of_an_older_version_that_numbers_intervals_is_read_without_its_features(
    tmp_path: Path,
) -> None:
    path = tmp_path / "c.tract"
    model = graph("conditional:daclearn")
    assert model.features is not None
    assert model.features.ends is not None
    write_circuit(Document(model), path)

    def as_it_was(arrays: Tensors, header: dict[str, Any]) -> None:
        del arrays["feature.ends"]
        arrays["feature.state"] = np.maximum(arrays["feature.state"], 0)

    sealed_again(path, as_it_was)
    back = read_circuit(path).graph
    assert back.features is None
    rows = np.array([[0.0, 0.3, 1.0, 2.0], [1.0, -2.0, np.nan, 0.0]])
    np.testing.assert_array_equal(log_prob(back, rows), log_prob(model, rows))


# ---- answers are numbers ---------------------------------------------------------------------------------


def test_a_column_of_one_state_that_stands_nowhere_has_it_for_certain() -> None:
    builder = Builder(Schema((Variable("a", states=("x", "y")), Variable("b", states=("only",)))))
    builder.leaf("bernoulli", 0, [0.3])
    circuit = builder.freeze()
    row = np.full((1, 2), np.nan)
    np.testing.assert_array_equal(marginals(circuit, row)[1], [[1.0]])
    assert sample(circuit, 3, Evidence(row[0], {}), 0)[:, 1].tolist() == [0.0] * 3
    assert most_probable(circuit, row).rows[0, 1] == 0.0


def test_absurd_numbers_end_in_numbers_or_in_an_error() -> None:
    builder = Builder(Schema((Variable("x", "real"), Variable("y", "real"))))
    ends = [
        builder.joint_leaf("multivariate-gaussian", [0, 1], [m, -m, 1e150, 0.0, 1e150])
        for m in (1e300, -1e300)
    ]
    builder.sum(ends, np.log([0.5, 0.5]))
    row = np.full((1, 2), np.nan)
    try:
        found = marginals(builder.freeze(), row)
    except ValueError as error:
        told = str(error)
    else:
        told = ""
        assert not any(np.isnan(each).any() for each in found)
    assert told in ("", "column 'x', row 0: the mean or the variance is too large")


def test_a_whole_number_far_out_has_a_completion() -> None:
    builder = Builder(Schema((Variable("n", "integer"),)))
    builder.leaf("rounded-gaussian", 0, [1e308, 2.9])
    assert most_probable(builder.freeze(), np.array([[np.nan]])).rows[0, 0] == 1e308


def test_states_that_are_huge_numbers_have_moments_that_are_numbers() -> None:
    builder = Builder(Schema((Variable("s", "ordinal", (-1e308, 1e308, 0)),)))
    builder.leaf("categorical", 0, [0.0, -np.inf, -np.inf])
    certain = moments(builder.freeze(), 0, Evidence(np.array([np.nan]), {}))
    assert (certain.mean, certain.std) == (-1e308, 0.0)


def test_a_state_is_no_number_beyond_all_doubles() -> None:
    with pytest.raises(
        ValueError, match=r"column 's' has the state 10{39}: a state must be text or a finite"
    ):
        Variable("s", "ordinal", (1, 10**400))
    assert Variable("s", "ordinal", (1, 10**300)).cardinality == 2


def test_outputs_of_networks_that_are_no_numbers_are_refused() -> None:
    layers = (
        Layer(np.full((2, 1), 1e308), np.zeros(2), "identity"),
        Layer(np.array([[1.0, -1.0]]), np.zeros(1)),
    )
    network = Committee((Perceptron(("x",), (0,), layers),))
    with pytest.raises(ValueError, match="row 1: output 0 of a network is negative or too large"):
        network.log_outputs(np.array([[0.0], [1e10]]))


def overflowing(values: tuple[float, float]) -> GeneralisedGraph:
    """Numbers times the indicators of two states, in a sum."""
    builder = GeneralisedBuilder(discrete_schema([2]))
    parts = [builder.product([builder.parameter(v), builder.indicator(0, s)]) for s, v in enumerate(values)]
    return builder.freeze(builder.sum(parts))


def test_a_generalised_circuit_that_overflows_is_refused() -> None:
    row = np.array([[np.nan]])
    with pytest.raises(ValueError, match="the sum of row 0 over its states is inf"):
        generalised_log_prob(overflowing((1e308, 1e308)), row)
    posterior = generalised_marginals(overflowing((1e308, 1e308)), row)[0]
    np.testing.assert_array_equal(posterior, [[0.5, 0.5]])


def test_the_logarithm_of_zero_below_a_root_is_an_answer_or_an_error() -> None:
    builder = GeneralisedBuilder(discrete_schema([2]))
    logs = [builder.apply("log", builder.indicator(0, s)) for s in (0, 1)]
    circuit = builder.freeze(builder.sum([builder.apply("exp", each) for each in logs]))
    posterior = generalised_marginals(circuit, np.array([[np.nan]]))[0]
    np.testing.assert_array_equal(posterior, [[0.5, 0.5]])


def test_binary_columns_stay_cheap(tmp_path: Path) -> None:
    """Many columns are no many states: what a file says much about may be large."""
    path = tmp_path / "c.ac"
    builder = Builder(discrete_schema([2] * 3000))
    builder.product([builder.leaf("bernoulli", c, [0.0]) for c in range(3000)])
    write_circuit(Document(builder.freeze()), path)
    assert len(read_circuit(path).graph.schema) == 3000


def test_a_cell_beyond_all_scale_is_refused_instead_of_marginals_that_sum_to_nothing() -> None:
    builder = Builder(Schema((Variable("x", "real"), Variable("s", "categorical", ("a", "b")))))
    ends = [
        builder.product(
            [builder.leaf("piece", 0, [2.0 * i, np.inf, -1.3]), builder.leaf("bernoulli", 1, [i - 0.5])]
        )
        for i in range(2)
    ]
    builder.sum(ends, np.log([0.5, 0.5]))
    graph = builder.freeze()
    for x in (10.0, 1e5):
        assert marginals(graph, np.array([[x, np.nan]]))[1].sum() == pytest.approx(1.0)
    try:
        far = float(marginals(graph, np.array([[1e300, np.nan]]))[1].sum())
    except ValueError as error:
        far, told = 1.0, str(error)
    else:
        told = ""
    assert far == pytest.approx(1.0)
    assert told in ("", "column 's', row 0: the evidence is too improbable for floating-point numbers")


def test_a_draw_given_a_cell_far_out_is_a_number() -> None:
    builder = Builder(Schema((Variable("x", "real"), Variable("y", "real"))))
    builder.joint_leaf("multivariate-gaussian", [0, 1], [0.0, 0.0, 1.0, 1e10, 1.0])
    drawn = sample(builder.freeze(), 3, Evidence(np.array([1e300, np.nan]), {}), 0)
    assert np.isfinite(drawn).all()
