"""Mixtures of components of one shape give the same answers as any other circuit."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from documents import ABOUT, assert_same_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from small_tables import every_row
from strategies import circuits

from tractable.circuit import Builder, Graph, mixture
from tractable.circuit.members import mixture_members
from tractable.circuit.shapes import shared_shape
from tractable.data import Schema, Variable, discrete_schema
from tractable.engine import shape_terms, shared, sweep
from tractable.engine.shape_terms import shape_program
from tractable.formats import Document, graph_tensors, read_circuit, write_circuit
from tractable.formats.tract_members import join_members

MIXED = Schema((Variable("a", "categorical", (0, 1)), Variable("b", "categorical", (0, 1, 2)),
                Variable("x", "real"), Variable("n", "count")))  # fmt: skip


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MANY_EDGES", 0)
    monkeypatch.setattr(shared, "EDGES_EACH", 0)
    monkeypatch.setattr(graph_tensors, "MANY_NODES", 0)


def component(builder: Builder, rng: np.random.Generator, zeros: float = 0.0) -> int:
    """A tree a -> b with numbers below b; some weights are zero."""

    def weights(size: int) -> np.ndarray:
        share = rng.dirichlet(np.ones(size)) * (rng.random(size) >= zeros)
        with np.errstate(divide="ignore"):
            return np.log(share / share.sum() if share.sum() else np.eye(size)[0])

    numbers = [
        builder.product([builder.indicator(1, s), builder.leaf("gaussian", 2, rng.normal(size=2)),
                         builder.leaf("poisson", 3, rng.normal(size=1))])
        for s in range(3)
    ]  # fmt: skip
    states = [builder.product([builder.indicator(0, s), builder.sum(numbers, weights(3))]) for s in range(2)]
    return builder.sum(states, weights(2))


def mixed_mixture(size: int, seed: int, zeros: float = 0.0) -> Graph:
    rng, builder = np.random.default_rng(seed), Builder(MIXED)
    for column, states in ((0, 2), (1, 3)):
        for state in range(states):
            builder.indicator(column, state)  # shared by all components, and numbered before them
    roots = [component(builder, rng, zeros) for _ in range(size)]
    builder.sum(roots, np.log(rng.dirichlet(np.ones(size))))
    return builder.freeze()


def rows_of(seed: int, count: int = 40, missing: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, 2, count), rng.integers(0, 3, count), rng.normal(size=count),
                              rng.poisson(2, count)]).astype(np.float64)  # fmt: skip
    values[rng.random(values.shape) < missing] = np.nan
    return values


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(8, 80), st.integers(0, 1000), st.sampled_from([0.0, 0.3, 0.9]))
def test_a_mixture_of_one_shape_has_the_values_of_the_general_sweep(
    size: int, seed: int, zeros: float
) -> None:
    graph = mixed_mixture(size, seed, zeros)
    rows = rows_of(seed)
    assert shape_program(graph) is not None
    np.testing.assert_allclose(
        shared.log_values(graph, rows), sweep.log_values(graph, rows), rtol=1e-10, atol=1e-10
    )


def test_a_mixture_of_one_shape_has_the_values_of_the_oracle() -> None:
    graph = discrete_mixture(9)
    rows = every_row(graph.schema)
    np.testing.assert_allclose(shared.log_values(graph, rows), oracle.log_values(graph, rows.tolist()))


def discrete_mixture(size: int, seed: int = 0) -> Graph:
    """A mixture whose components are whole circuits, one numbered after the other."""
    rng, graphs = np.random.default_rng(seed), []
    for _ in range(size):
        builder = Builder(discrete_schema([2, 2, 3]))
        states = [
            builder.product([builder.indicator(0, s), builder.leaf("bernoulli", 1, rng.normal(size=1)),
                             builder.leaf("categorical", 2, np.log(rng.dirichlet(np.ones(3))))])
            for s in range(2)
        ]  # fmt: skip
        builder.sum(states, np.log(rng.dirichlet(np.ones(2))))
        graphs.append(builder.freeze())
    return mixture(graphs, rng.random(size))


def test_components_that_are_numbered_one_after_the_other_are_found() -> None:
    shape = shared_shape(discrete_mixture(10))
    assert shape is not None
    assert shape.size == 10
    assert (shape.step > 1).any()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(circuits())
def test_any_circuit_keeps_its_values(graph: Graph) -> None:
    rows = np.full((1, len(graph.schema)), np.nan)
    np.testing.assert_allclose(shared.log_values(graph, rows), sweep.log_values(graph, rows))


def test_components_of_different_shapes_are_not_taken_for_one() -> None:
    builder, rng = Builder(discrete_schema([2, 2])), np.random.default_rng(0)
    roots = [
        builder.product([builder.leaf("bernoulli", c, rng.normal(size=1)) for c in ((0, 1) if i else (1, 0))])
        for i in range(10)
    ]
    builder.sum(roots, np.log(np.full(10, 0.1)))
    graph = builder.freeze()
    assert shared_shape(graph) is None
    rows = every_row(graph.schema)
    assert np.exp(shared.log_values(graph, rows)).sum() == pytest.approx(1.0)


def test_one_row_or_many_and_any_number_of_threads_give_the_same_values() -> None:
    graph, rows = mixed_mixture(70, 1), rows_of(3, 300, missing=0)
    many = shared.log_values(graph, rows, threads=1)
    np.testing.assert_array_equal(many, shared.log_values(graph, rows, threads=4))
    one = [shared.log_values(graph, row[None, :])[0] for row in rows[:20]]
    np.testing.assert_array_equal(many[:20], one)
    assert shared.log_values(graph, rows[:0]).shape == (0,)


@pytest.mark.parametrize("make", [lambda: mixed_mixture(12, 0, 0.3), lambda: discrete_mixture(9)])
def test_a_file_stores_the_shape_once_and_is_read_as_it_was(make: object, tmp_path: Path) -> None:
    graph = make()  # type: ignore[operator]
    path = tmp_path / "m.tract"
    write_circuit(Document(graph, ABOUT), path)
    with safe_open(path, framework="np") as file:
        assert "shape.root" in file.keys()  # noqa: SIM118
        assert "child" not in file.keys()  # noqa: SIM118
    document = read_circuit(path)
    assert_same_graph(graph, document.graph)
    assert document.about == ABOUT


def test_a_large_mixture_takes_a_third_of_the_room(tmp_path: Path) -> None:
    graph = discrete_mixture(300)
    sizes = []
    for many in (0, 10**9):
        graph_tensors.MANY_NODES = many  # the fixture restores it
        write_circuit(Document(graph, {}), tmp_path / "m.tract")
        sizes.append((tmp_path / "m.tract").stat().st_size)
    assert 3 * sizes[0] < sizes[1]


@pytest.fixture(scope="module")
def damage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), stacked=st.booleans())
def test_a_damaged_shape_is_refused_by_one_line(damage: Path, data: st.DataObject, stacked: bool) -> None:
    path = damage / "m.tract"
    write_circuit(Document(stack() if stacked else discrete_mixture(9), ABOUT), path)
    with safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    name = data.draw(st.sampled_from(sorted(tensors)))
    flat = tensors[name].reshape(-1)
    if data.draw(st.booleans()):
        place, change = (
            data.draw(st.integers(0, flat.size - 1)),
            data.draw(st.sampled_from([-100, -1, 1, 100])),
        )
        old = int(flat[place]) if np.isfinite(flat[place]) else 0
        flat[place] = np.array(old + change).astype(flat.dtype)
    else:
        tensors[name] = flat[:-1]
    save_file(tensors, path, metadata=metadata)
    with pytest.raises(ValueError, match=r"m\.tract: ") as fault:
        read_circuit(path)
    assert "\n" not in str(fault.value)


# ---- mixtures of several circuits, some of which have components of one shape --------------------------


def stack(seed: int = 0) -> Graph:
    """A mixture of two mixtures of one shape and of a single component."""
    parts = [mixed_mixture(12, seed, 0.3), mixed_mixture(1, seed + 1), mixed_mixture(9, seed + 2)]
    return mixture(parts, [0.5, 0.2, 0.3])


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000))
def test_a_stack_has_the_values_of_the_general_sweep(seed: int) -> None:
    graph, rows = stack(seed), rows_of(seed)
    assert shape_program(graph) is None
    members = mixture_members(graph)
    assert members is not None
    assert [shape_program(one) is not None for one in members.graphs] == [True, False, True]
    np.testing.assert_allclose(
        shared.log_values(graph, rows), sweep.log_values(graph, rows), rtol=1e-10, atol=1e-10
    )


def test_members_are_put_together_to_the_same_circuit() -> None:
    graph = stack()
    members = mixture_members(graph)
    assert members is not None
    assert_same_graph(join_members(members), graph)


def test_members_that_share_nodes_are_left_together() -> None:
    builder = Builder(discrete_schema([2, 2]))
    shared_leaf = builder.leaf("bernoulli", 1, [0.3])
    both = [builder.product([builder.leaf("bernoulli", 0, [x]), shared_leaf]) for x in (-1.0, 1.0)]
    builder.sum(both, np.log([0.4, 0.6]))
    assert mixture_members(builder.freeze()) is None
    assert mixture_members(mixed_mixture(1, 0)) is None


def test_a_file_of_a_stack_stores_its_members(tmp_path: Path) -> None:
    graph, path = stack(), tmp_path / "m.tract"
    write_circuit(Document(graph, ABOUT), path)
    with safe_open(path, framework="np") as file:
        names = set(file.keys())
    assert {"members.log_weight", "member.0.shape.root", "member.1.child", "member.2.shape.root"} <= names
    assert "child" not in names
    document = read_circuit(path)
    assert_same_graph(graph, document.graph)
    assert document.about == ABOUT


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header: header.update(members=3), "not a list"),
        (lambda header: header["members"].pop(), "does not belong here"),
        (lambda header: header["members"][1].update(members=[{}]), "members of its own"),
        (lambda header: header["members"][1].update(families=["odd"] * 9), "is missing"),
        (lambda header: header["members"].append({"families": []}), "weights of 4 members"),
    ],
)
def test_a_header_that_does_not_fit_the_members_is_refused(
    change: Callable[[dict[str, Any]], None], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.tract"
    write_circuit(Document(stack(), ABOUT), path)
    with safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    header = json.loads(metadata["circuit"])
    change(header)
    save_file(tensors, path, metadata=metadata | {"circuit": json.dumps(header)})
    with pytest.raises(ValueError, match=words):
        read_circuit(path)


def test_components_with_few_edges_are_scored_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mixed_mixture(40, 3)
    asked: list[Graph] = []
    monkeypatch.setattr(shape_terms, "shape_program", asked.append)
    shared.log_values(graph, rows_of(1))
    assert len(asked) == 1
    monkeypatch.setattr(shared, "EDGES_EACH", 100)
    shared.log_values(graph, rows_of(1))
    assert len(asked) == 1
