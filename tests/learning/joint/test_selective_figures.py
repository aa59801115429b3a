"""The canonical selective networks of the documentation have the independences that they are drawn for."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from small_tables import every_row, is_normalised

from tractable.base.arrays import Floats
from tractable.circuit import PRODUCT, SUM, Graph, is_regular_selective
from tractable.circuit.blocks import LeafBlock
from tractable.data import Table
from tractable.engine import log_values
from tractable.formats.pictures import svg_text
from tractable.learning.parameters import fit
from tractable.learning.parameters.closed_form import ClosedForm

ROOT = Path(__file__).parents[3]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


figures = load(ROOT / "benchmarks" / "selective_figures.py")
every_figure = pytest.mark.parametrize("name", figures.FIGURES)


def joint(graph: Graph) -> Floats:
    """P(X, Y, Z) as a table."""
    sizes = [variable.cardinality for variable in graph.schema]
    return np.exp(log_values(graph, every_row(graph.schema))).reshape(sizes)


def dependence(table: Floats) -> float:
    """How far two columns are from independence, from their table of two dimensions."""
    p = table / table.sum()
    return float(np.abs(p - np.outer(p.sum(axis=1), p.sum(axis=0))).max())


@every_figure
def test_each_is_a_regular_selective_distribution(name: str) -> None:
    graph = figures.FIGURES[name]()
    assert is_normalised(graph)
    assert is_regular_selective(graph)


@every_figure
def test_each_is_drawn_as_it_is(name: str) -> None:
    picture = (ROOT / "docs" / "pictures" / f"selective-{name}.svg").read_text(encoding="utf-8")
    assert picture == svg_text(figures.FIGURES[name]()), "run `make figures`"
    assert f"pictures/selective-{name}.svg" in (ROOT / "docs" / "selective.md").read_text()


@every_figure
def test_the_closed_form_finds_the_weights_of_each_again(name: str) -> None:
    graph = figures.FIGURES[name]()
    rows = every_row(graph.schema)
    table = Table(graph.schema, rows, np.exp(log_values(graph, rows)) * 1000)
    even = graph.with_parameters(log_weight=np.where(graph.log_weight < 0, -1.0, 0.0))
    fitted = fit(even, table, ClosedForm(smoothing=0.0), np.random.default_rng(0)).graph
    np.testing.assert_allclose(log_values(fitted, rows), log_values(graph, rows), atol=1e-9)


def test_the_columns_of_the_empty_network_are_independent() -> None:
    p = joint(figures.empty_network())
    x, y, z = p.sum(axis=(1, 2)), p.sum(axis=(0, 2)), p.sum(axis=(0, 1))
    np.testing.assert_allclose(p, x[:, None, None] * y[None, :, None] * z[None, None, :])


def test_children_of_a_common_parent_are_independent_given_it() -> None:
    p = joint(figures.common_parent())
    assert max(dependence(p[0]), dependence(p[1])) < 1e-12
    assert dependence(p.sum(axis=0)) > 0.01


def test_the_ends_of_a_chain_are_independent_given_its_middle() -> None:
    graph = figures.chain()
    p = joint(graph)
    assert max(dependence(p[:, 0]), dependence(p[:, 1])) < 1e-12
    assert dependence(p.sum(axis=1)) > 0.01
    parents = np.bincount(graph.child, minlength=graph.nodes)
    assert (parents[graph.kind == PRODUCT] == 2).sum() == 2  # both states of Y are shared


def test_the_full_network_is_any_distribution() -> None:
    p = np.random.default_rng(0).random((2, 2, 2))
    p /= p.sum()
    x, y = p.sum(axis=(1, 2)), p.sum(axis=2)
    weights = [x[0], *(y[:, 0] / x), *(p[:, :, 0] / y).ravel()]
    np.testing.assert_allclose(joint(figures.full_network(weights)), p)


def test_equal_weights_make_the_parents_of_a_common_child_independent() -> None:
    assert dependence(joint(figures.head_to_head()).sum(axis=2)) < 1e-12
    assert dependence(joint(figures.full_network()).sum(axis=2)) > 0.01
    assert dependence(joint(figures.head_to_head())[:, :, 0]) > 0.01


def test_columns_are_independent_in_one_context_only() -> None:
    p = joint(figures.context_specific())
    assert dependence(p[1]) < 1e-12
    assert dependence(p[0]) > 0.01


def test_contexts_of_a_multi_net_decide_different_columns_first() -> None:
    graph = figures.nested_multi_net()
    p = joint(graph)
    assert min(dependence(p[0]), dependence(p[1])) > 0.01
    assert decided_columns(graph) == {0: 1, 1: 3, 2: 3}  # besides X: Y once and Z once as decisions


def test_states_are_told_apart_in_one_context_only() -> None:
    graph = figures.state_partitions()
    p = joint(graph)
    assert dependence(p[1:, 0]) < 1e-12
    assert dependence(p[1:, 1]) > 0.01
    assert dependence(p[0]) < 1e-12
    assert decided_columns(graph)[0] == 3  # on one path X is decided twice


def test_a_shared_component_is_one_distribution_in_all_its_contexts() -> None:
    p = joint(figures.shared_component())
    given = p / p.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(given[0, 1], given[1, 0])
    np.testing.assert_allclose(given[1, 0], given[1, 1])
    assert abs(given[0, 0, 0] - given[0, 1, 0]) > 0.1
    graph = figures.shared_component()
    parents = np.bincount(graph.child, minlength=graph.nodes)
    assert (parents[graph.kind == SUM] == 2).sum() == 1


def decided_columns(graph: Graph) -> dict[int, int]:
    """How many sums decide each column: their children have different states of it."""
    answer: dict[int, int] = {}
    reach: list[dict[int, frozenset[int]]] = [{} for _ in range(graph.nodes)]
    for block in graph.blocks_of(LeafBlock):
        for node, column, state in zip(block.node, block.column, block.params[:, 0], strict=True):
            reach[node] = {int(column): frozenset([int(state)])}
    for node in range(graph.nodes):
        below = [reach[c] for c in graph.child[graph.start[node] : graph.start[node + 1]]]
        for states in below:
            for column, some in states.items():
                reach[node][column] = reach[node].get(column, frozenset()) | some
        if graph.kind[node] == SUM:
            (column,) = [c for c in below[0] if any(b[c] != below[0][c] for b in below)]
            answer[column] = answer.get(column, 0) + 1
    return answer
