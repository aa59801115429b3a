"""Mixtures of components of one shape give the same answers as any other circuit."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
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

from tractable.base.progress.codec import state_from_bytes, state_to_bytes
from tractable.circuit import (
    Builder,
    Graph,
    condition,
    marginalise,
    mixture,
    normalise,
    product,
    smooth,
)  # fmt: skip
from tractable.circuit.graph import Members, Shape
from tractable.circuit.shapes import check_mixture, declare_shape, members_of
from tractable.circuit.states import graph_from_state, graph_state
from tractable.data import Schema, Variable, discrete_schema
from tractable.engine import shape_terms, shared, sweep
from tractable.engine.shape_terms import shape_program
from tractable.formats import Document, read_circuit, write_circuit

MIXED = Schema((Variable("a", "categorical", (0, 1)), Variable("b", "categorical", (0, 1, 2)),
                Variable("x", "real"), Variable("n", "count")))  # fmt: skip


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MANY_EDGES", 0)
    monkeypatch.setattr(shared, "EDGES_EACH", 0)


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
    return declare_shape(builder.freeze())


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


def test_a_mixture_of_circuits_of_one_shape_carries_it() -> None:
    graph = discrete_mixture(10)
    assert isinstance(graph.mixture, Shape)
    assert (graph.mixture.step > 1).all()


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(circuits())
def test_any_circuit_keeps_its_values(graph: Graph) -> None:
    rows = np.full((1, len(graph.schema)), np.nan)
    np.testing.assert_allclose(shared.log_values(graph, rows), sweep.log_values(graph, rows))


def test_components_of_different_shapes_are_not_declared_to_be_of_one() -> None:
    builder, rng = Builder(discrete_schema([2, 2])), np.random.default_rng(0)
    roots = [
        builder.product([builder.leaf("bernoulli", c, rng.normal(size=1)) for c in ((0, 1) if i else (1, 0))])
        for i in range(10)
    ]
    builder.sum(roots, np.log(np.full(10, 0.1)))
    with pytest.raises(ValueError, match="not the mixture that it declares"):
        declare_shape(builder.freeze())


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
    for each in (graph, replace(graph, mixture=None)):
        write_circuit(Document(each, {}), tmp_path / "m.tract")
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
    assert [shape_program(one) is not None for one in members_of(graph)] == [True, False, True]
    np.testing.assert_allclose(
        shared.log_values(graph, rows), sweep.log_values(graph, rows), rtol=1e-10, atol=1e-10
    )


def test_members_are_the_circuits_that_were_mixed() -> None:
    parts = [mixed_mixture(12, 0, 0.3), mixed_mixture(1, 1), mixed_mixture(9, 2)]
    for part, member in zip(parts, members_of(mixture(parts)), strict=True):
        assert_same_graph(part, member)
        assert (part.mixture is None) == (member.mixture is None)


def nested(levels: int) -> list[dict[str, Any]]:
    """What a header says of members inside members."""
    return [{"members": nested(levels - 1)}] if levels else []


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
        (lambda header: header["members"][1].update(members=[{}]), "does not belong here"),
        (lambda header: header["members"][1].update(members=nested(9)), "more than 8 levels"),
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


# ---- what a graph carries ------------------------------------------------------------------------------


def deep_stack(levels: int = 2) -> Graph:
    """A mixture of a mixture of ... of mixtures of one shape."""
    graph = stack()
    for seed in range(levels - 1):
        graph = mixture([mixed_mixture(1, seed), graph])
    return graph


EVERY_MIXTURE: dict[str, Callable[[], Graph]] = {
    "shape": lambda: mixed_mixture(12, 0, 0.3),
    "alike": lambda: discrete_mixture(9),
    "members": stack,
    "inside": deep_stack,
}


def plain(mixture: Shape | Members | None) -> object:
    """What a graph carries, as lists that can be compared."""
    if isinstance(mixture, Members):
        return [mixture.end.tolist(), *map(plain, mixture.mixtures)]
    return None if mixture is None else (mixture.first.tolist(), mixture.step.tolist())


def saved_and_loaded(graph: Graph) -> Graph:
    with TemporaryDirectory() as folder:
        write_circuit(Document(graph, {}), Path(folder) / "m.tract")
        return read_circuit(Path(folder) / "m.tract").graph


def with_even_weights(graph: Graph) -> Graph:
    return graph.with_parameters(log_weight=np.where(graph.log_weight < 0, -1.0, graph.log_weight))


KEEPING: dict[str, Callable[[Graph], Graph]] = {
    "file": saved_and_loaded,
    "pickle": lambda graph: pickle.loads(pickle.dumps(graph)),
    "checkpoint": lambda graph: graph_from_state(
        state_from_bytes(state_to_bytes(graph_state(graph))), graph.schema
    ),
    "parameters": with_even_weights,
}
CHANGING: dict[str, Callable[[Graph], Graph]] = {
    "condition": lambda graph: condition(graph, np.array([1.0, *[np.nan] * (len(graph.schema) - 1)])),
    "marginalise": lambda graph: marginalise(graph, [1, 2]),
    "normalise": lambda graph: normalise(graph).graph,
    "smooth": smooth,
    "mixture": lambda graph: mixture([graph, graph], [0.3, 0.7]),
    "product": lambda graph: product([graph]),
}


@pytest.mark.parametrize("change", KEEPING)
@pytest.mark.parametrize("make", EVERY_MIXTURE)
def test_a_mixture_is_carried_along_and_keeps_its_values(make: str, change: str) -> None:
    graph = EVERY_MIXTURE[make]()
    changed = KEEPING[change](graph)
    assert plain(changed.mixture) == plain(graph.mixture) != None  # noqa: E711
    assert_same_answers(changed)


@pytest.mark.parametrize("change", CHANGING)
@pytest.mark.parametrize("make", EVERY_MIXTURE)
def test_a_changed_circuit_carries_no_wrong_mixture(make: str, change: str) -> None:
    changed = CHANGING[change](EVERY_MIXTURE[make]())
    check_mixture(changed)
    assert_same_answers(changed)


def assert_same_answers(graph: Graph) -> None:
    """A circuit answers like the one that carries nothing."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(v.cardinality or 4, size=40) for v in graph.schema]
    rows = np.where(rng.random((40, len(columns))) < 0.2, np.nan, np.array(columns).T.astype(np.float64))
    bare = replace(graph, mixture=None)
    np.testing.assert_allclose(
        shared.log_values(graph, rows), sweep.log_values(bare, rows), rtol=1e-10, atol=1e-10
    )


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(EVERY_MIXTURE)), st.data())
def test_a_graph_whose_edges_or_leaves_are_changed_is_refused(make: str, data: st.DataObject) -> None:
    graph = EVERY_MIXTURE[make]()
    edge = data.draw(st.integers(0, graph.edges - 1))
    child = graph.child.copy()
    child[edge] = data.draw(st.integers(0, int(graph.parent[edge]) - 1))
    if child[edge] == graph.child[edge]:
        return
    changed = replace(graph, child=child, mixture=None)
    try:
        carrying = replace(graph, child=child)
    except ValueError:
        return
    assert make in ("members", "inside")  # inside a member that is no mixture all edges are allowed
    assert_same_answers(carrying)
    assert_same_graph(changed, carrying)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda shape: Shape(shape.first[:-1], shape.step[:-1]),
        lambda shape: Shape(shape.first, shape.step[:-1]),
        lambda shape: Shape(shape.first, shape.step + 1),
        lambda shape: Shape(shape.first, shape.step * 2**60),
        lambda shape: Shape(shape.first - 10, shape.step),
        lambda shape: Shape(shape.first[:0], shape.step[:0]),
        lambda shape: Shape(shape.first[::-1], shape.step[::-1]),
        lambda shape: Members(shape.first + 1, (None,) * shape.first.size),
        lambda shape: Members(np.array([5]), (None,)),
    ],
)
def test_a_wrong_mixture_is_refused(wrong: Callable[[Shape], Shape | Members]) -> None:
    graph = discrete_mixture(9)
    assert isinstance(graph.mixture, Shape)
    with pytest.raises(ValueError, match="not the mixture that it declares"):
        replace(graph, mixture=wrong(graph.mixture))


def test_mixtures_inside_each_other_are_stored_as_deep_as_they_are_read() -> None:
    graph = deep_stack(12)
    assert_same_graph(saved_and_loaded(graph), graph)
