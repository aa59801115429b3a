"""Every kind of leaves has the same operations; a kind that only this file knows is enough of a proof."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import AnyArray, Bools, Floats, Ints
from tractable.circuit import Graph, condition, marginalise, mixture, product, properties
from tractable.circuit.assemble import Edges, assemble
from tractable.circuit.blocks import (
    Block,
    ConstantBlock,
    FactorBlock,
    GateBlock,
    JointBlock,
    LeafBlock,
    LeafCounts,
    LeafNumbers,
    MissingCells,
    join_blocks,
    leaf_block,
    network_block,
)
from tractable.circuit.blocks.block import Layout, check_lines
from tractable.circuit.blocks.joint import region_box
from tractable.circuit.codec import SECTIONS, Section, decode_graph, encode_graph
from tractable.circuit.graph import LEAF, PRODUCT, SUM
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.circuit.leaves.perceptron import Committee, Layer, Perceptron
from tractable.data import Interval, Region, Schema, Table, Variable
from tractable.engine import completions, log_values, samples
from tractable.engine.expectations import Expecter
from tractable.formats import Document, read_circuit, write_circuit

SCHEMA = Schema(
    (
        Variable("i", states=("x", "y", "z"), role="input"),
        Variable("j", "real", role="input"),
        Variable("p", "real", role="potential"),
        Variable("a", states=("u", "v")),
        Variable("b", states=("u", "v", "w")),
        Variable("c", "real"),
        Variable("d", "real"),
    )
)
STATE, NUMBER, P, A, B, C, D = range(7)
NODE = np.array([2, 5, 9])


@dataclass(frozen=True, slots=True, eq=False)
class BoxBlock(Block):
    """Uniform distributions over boxes of several numeric columns: a kind that the package does not have."""

    section: ClassVar[str] = "box"
    layout: ClassVar[Layout] = {
        "node": (np.int64, 1), "columns": (np.int64, 2), "low": (np.float64, 2), "high": (np.float64, 2),
    }  # fmt: skip
    per_leaf: ClassVar[tuple[str, ...]] = ("node", "columns", "low", "high")
    name: ClassVar[str] = "box"

    node: Ints
    columns: Ints
    low: Floats
    high: Floats

    @property
    def key(self) -> Hashable:
        return self.name, self.columns.shape[1]

    @property
    def scope(self) -> Ints:
        return self.columns

    def first_column(self, schema: Schema) -> Ints:
        return self.columns[:, 0]

    def over(self, place: Ints) -> Self:
        return replace(self, columns=place[self.columns])

    def check(self, schema: Schema) -> None:
        check_lines(self)
        if not (self.low < self.high).all():
            raise ValueError("a box is empty")

    def describe(self, schema: Schema) -> list[str]:
        return [f"box of {', '.join(schema[c].name for c in line)}" for line in self.columns.tolist()]

    def write_log_values(self, rows: Floats, schema: Schema, missing: MissingCells, out: Floats) -> None:
        for i, columns in enumerate(self.columns):
            x, low, high = rows[:, columns], self.low[i], self.high[i]
            box = region_box(missing.regions, columns)
            share = np.maximum(np.minimum(high, box.high) - np.maximum(low, box.low), 0) / (high - low)
            inside = np.where(np.isnan(x), share, ((x >= low) & (x < high)) / (high - low))
            with np.errstate(divide="ignore"):
                out[i] = np.log(inside).sum(axis=1)

    def observe(
        self, row: Floats, regions: Mapping[int, Region], schema: Schema, numbers: LeafNumbers
    ) -> Sequence[Block]:
        known = ~np.isnan(row)
        known[list(regions)] = True
        numbers.log_value[self.node] = self.log_values(row[None], schema, MissingCells(regions))[:, 0]
        return self.sum_out(~known, schema, numbers)

    def sum_out(self, stays: Bools, schema: Schema, numbers: LeafNumbers) -> Sequence[Block]:
        rest = []
        for i, columns in enumerate(self.columns):
            keep, node = stays[columns], self.node[i : i + 1]
            numbers.known[node] = not keep.any()
            if keep.any():
                low, high = self.low[i][None, keep], self.high[i][None, keep]
                rest.append(BoxBlock(node, columns[None, keep], low, high))
        return rest

    def complete(
        self,
        rows: Floats,
        answer: Floats,
        chosen: Callable[[int], Ints],
        schema: Schema,
        missing: MissingCells,
        uniform: Callable[[AnyArray, int], Floats],
    ) -> None:
        for i, columns in enumerate(self.columns):
            for place, column in enumerate(columns.tolist()):
                here = (chosen(int(columns[0])) == i) & np.isnan(rows[:, column])
                low, high = self.low[i, place], self.high[i, place]
                share = 0.5 if missing.best else uniform(here, column)
                answer[here, column] = low + (high - low) * share


def boxes() -> BoxBlock:
    columns = np.array([[C, D], [D, C], [C, D]])
    low = np.array([[0.0, -1.0], [0.25, 0.0], [-3.0, -3.0]])
    return BoxBlock(NODE, columns, low, low + np.array([[1.0, 2.0], [4.0, 0.5], [6.0, 6.0]]))


def joint() -> JointBlock:
    rng = np.random.default_rng(3)
    lower = np.abs(rng.normal(size=(3, 3))) + 0.2
    params = np.concatenate([rng.normal(size=(3, 2)), lower], axis=1)
    family = JOINT_FAMILIES["multivariate-gaussian"]
    return JointBlock(family, NODE, np.array([[C, D], [D, C], [C, D]]), params)


def gates() -> GateBlock:
    features = InputFeatures(
        np.array([STATE, NUMBER]), np.array([1, -1]), np.array([0.0, 0.5]), np.array([1.0, 2.0])
    )
    weights = np.random.default_rng(4).normal(size=(2, 2, 3))
    return GateBlock(SoftmaxRegressions(features, weights), NODE, np.array([0, 1, 1]), np.array([2, 0, 1]))


def outputs() -> Block:
    rng = np.random.default_rng(5)
    layers = (Layer(rng.normal(size=(3, 4)), rng.normal(size=3), "softplus"),)
    network = Committee((Perceptron(("i", "j"), (3, 0), layers),) * 2)
    return network_block(network, SCHEMA, NODE, np.array([2, 0, 2]))


def single(name: str, columns: list[int], params: list[list[float]]) -> Block:
    return leaf_block(name, NODE, np.array(columns), np.array(params, dtype=np.float64).reshape(3, -1))


KINDS: dict[str, Callable[[], Block]] = {
    "categorical": lambda: single("categorical", [B, B, B], np.log([[0.2, 0.3, 0.5]] * 3).tolist()),
    "bernoulli": lambda: single("bernoulli", [A, A, A], [[0.3], [-1.0], [2.0]]),
    "gaussian": lambda: single("gaussian", [C, C, C], [[0.0, 0.1], [1.0, -0.5], [-2.0, 0.7]]),
    "constant": lambda: single("constant", [-1, -1, -1], [[-0.5], [1.5], [0.0]]),
    "potential": lambda: single("potential", [P, P, P], [[], [], []]),
    "within": lambda: single("within", [NUMBER, NUMBER, NUMBER], [[-1.0, 0.0], [0.0, 2.0], [-3.0, 9.0]]),
    "joint": joint,
    "gate": gates,
    "network": outputs,
    "box": boxes,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _box_section(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line by which files and checkpoints know the kind of this file."""

    def decode(name: Any, arrays: dict[str, AnyArray], schema: Schema) -> Block:
        return BoxBlock(arrays["node"], arrays["columns"], arrays["low"], arrays["high"])

    monkeypatch.setitem(SECTIONS, "box", Section("boxes", "the boxes", BoxBlock.layout, decode))


def some_rows(count: int = 12) -> Floats:
    rng = np.random.default_rng(6)
    cells = [rng.integers(3, size=count), rng.normal(size=count), rng.normal(size=count)]
    cells += [rng.integers(2, size=count), rng.integers(3, size=count)]
    return np.column_stack([*cells, rng.uniform(0, 1, count), rng.uniform(0, 1, count)]).astype(np.float64)


def columns_of(block: Block) -> list[int]:
    return sorted({*block.scope.ravel().tolist(), *block.reads.tolist()})


def circuit(block: Block) -> Graph:
    """A mixture of the three leaves, each times a bit of the first target that does not meet them."""
    bits = [c for c in (A, B) if c not in block.scope]
    states = int(SCHEMA.cardinalities[bits[0]])
    node = np.array([0, 1, 2])
    beside = LeafBlock(
        leaf_block("indicator", node, node, node[:, None] * 1.0).family,  # type: ignore[attr-defined]
        3 + node, np.full(3, bits[0]), np.minimum(node, states - 1)[:, None].astype(np.float64),
    )  # fmt: skip
    kind = np.array([LEAF] * 6 + [PRODUCT] * 3 + [SUM])
    parent, child = np.array([6, 6, 7, 7, 8, 8, 9, 9, 9]), np.array([0, 3, 1, 4, 2, 5, 6, 7, 8])
    weight = np.concatenate([np.zeros(6), np.log([0.2, 0.5, 0.3])])
    return assemble(SCHEMA, kind, Edges(parent, child, weight), [block.renumber(node), beside])


def slow_values(block: Block, rows: Floats) -> Floats:
    """The values of a circuit by its definition, from the values of single leaves."""
    graph = circuit(block)
    first = min(c for c in (A, B) if c not in block.scope)
    top = int(SCHEMA.cardinalities[first]) - 1
    leaf = np.exp(np.stack([block.select(slice(i, i + 1)).log_values(rows, SCHEMA)[0] for i in range(3)]))
    met = np.stack([np.isnan(rows[:, first]) | (rows[:, first] == min(i, top)) for i in range(3)])
    assert graph.nodes == 10
    return np.array([0.2, 0.5, 0.3]) @ (leaf * met)


@every_kind
def test_some_leaves_are_those_of_the_block(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    whole = block.log_values(rows, SCHEMA)
    assert whole.shape == (3, len(rows))
    some = block.select(np.array([2, 0]))
    np.testing.assert_array_equal(some.log_values(rows, SCHEMA), whole[[2, 0]])
    np.testing.assert_array_equal(some.node, NODE[[2, 0]])
    one_by_one = [block.select(slice(i, i + 1)) for i in range(3)]
    if len({part.key for part in one_by_one}) == 1:
        np.testing.assert_array_equal(join_blocks(one_by_one).log_values(rows, SCHEMA), whole)
    moved = block.renumber(NODE + 7)
    np.testing.assert_array_equal(moved.node, NODE + 7)
    np.testing.assert_array_equal(moved.log_values(rows, SCHEMA), whole)
    assert len(block.describe(SCHEMA)) == 3


@every_kind
def test_values_of_rows_do_not_depend_on_the_other_rows(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    for c in block.scope.ravel().tolist():
        rows[::3, c] = np.nan
    each = np.concatenate([block.log_values(rows[i : i + 1], SCHEMA) for i in range(len(rows))], axis=1)
    np.testing.assert_allclose(block.log_values(rows, SCHEMA), each, rtol=1e-12)


@every_kind
def test_columns_may_be_called_by_other_numbers(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    place = np.array([3, 6, 1, 5, 0, 2, 4])
    names = Schema(tuple(SCHEMA[int(c)] for c in np.argsort(place)))
    other = block.over(place)
    other.check(names)
    found = other.log_values(rows[:, np.argsort(place)], names)
    np.testing.assert_array_equal(found, block.log_values(rows, SCHEMA))
    assert columns_of(other) == sorted(place[columns_of(block)].tolist())


@every_kind
def test_leaves_depend_on_their_columns_alone(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    whole, mine = block.log_values(rows, SCHEMA), columns_of(block)
    for column in range(len(SCHEMA)):
        other = rows.copy()
        other[:, column] = 1.0 - np.minimum(other[:, column], 1.0)
        assert (column in mine) or np.array_equal(block.log_values(other, SCHEMA), whole)


@every_kind
def test_what_is_known_of_a_row_leaves_the_rest_of_the_leaves(kind: str) -> None:
    block, mine = KINDS[kind](), columns_of(KINDS[kind]())
    inputs = [c for c in mine if SCHEMA[c].role == "input"]
    for row in some_rows(4):
        for known in ([], mine, mine[:1], inputs):
            if kind == "network" and len(known) == 1:
                with pytest.raises(ValueError, match="either all inputs of a network or none"):
                    _observed(block, row, known)
                continue
            numbers, rest = _observed(block, row, known)
            cells = row.copy()
            cells[known] = np.nan if not inputs else cells[known]
            whole = dict(zip(NODE.tolist(), block.log_values(row[None], SCHEMA)[:, 0].tolist(), strict=True))
            left = {
                int(n): float(v)
                for part in rest
                for n, v in zip(part.node, part.log_values(row[None], SCHEMA)[:, 0], strict=True)
                if not numbers.known[n]
            }
            assert set(left) | set(np.flatnonzero(numbers.known).tolist()) == set(NODE.tolist())
            for node in NODE.tolist():
                assert numbers.log_value[node] + left.get(node, 0.0) == pytest.approx(whole[node], rel=1e-9)


def _observed(block: Block, row: Floats, known: list[int]) -> tuple[LeafNumbers, Sequence[Block]]:
    numbers = LeafNumbers(np.zeros(12), np.zeros(12, dtype=np.bool_))
    seen = np.full(len(row), np.nan)
    seen[known] = row[known]
    return numbers, block.observe(seen, {}, SCHEMA, numbers)


@every_kind
def test_columns_that_are_summed_out_count_as_missing_cells(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    for gone in ([], *([c] for c in np.unique(block.scope).tolist()), np.unique(block.scope).tolist()):
        numbers = LeafNumbers(np.zeros(12), np.zeros(12, dtype=np.bool_))
        stays = np.ones(len(SCHEMA), dtype=np.bool_)
        stays[gone] = False
        rest = block.sum_out(stays, SCHEMA, numbers)
        cells = rows.copy()
        cells[:, gone] = np.nan
        expected = dict(zip(NODE.tolist(), block.log_values(cells, SCHEMA), strict=True))
        for node in np.flatnonzero(numbers.known).tolist():
            np.testing.assert_allclose(expected.pop(node), numbers.log_value[node], atol=1e-12)
        for part in rest:
            for node, value in zip(part.node.tolist(), part.log_values(rows, SCHEMA), strict=True):
                if not numbers.known[node]:
                    np.testing.assert_allclose(expected.pop(node), value, rtol=1e-9)
        assert not expected


@every_kind
def test_the_engine_has_the_values_of_the_leaves(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    graph = circuit(block)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_values(graph, rows), np.log(slow_values(block, rows)), atol=1e-9)
        for c in (A, B, *np.unique(block.scope).tolist()):
            rows[::2, c] = np.nan
        np.testing.assert_allclose(log_values(graph, rows), np.log(slow_values(block, rows)), atol=1e-9)
    assert properties(graph).parameters >= block.parameter_count


@every_kind
def test_counts_of_leaves_are_shares_of_rows(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows()
    graph = circuit(block)
    found = Expecter(graph).expectations(graph, rows, np.ones(len(rows)))
    assert len(found.blocks) == len(graph.blocks)
    for own, counts in zip(graph.blocks, found.blocks, strict=True):
        assert len(counts.states) == len(counts.flows) == own.node.size
        refitted = own.refit(counts, rows, SCHEMA, 0.1)
        assert refitted.parameters.shape == own.parameters.shape
        refitted.check(SCHEMA)
        if own.is_fixed:
            np.testing.assert_array_equal(refitted.parameters, own.parameters)
        nothing = LeafCounts(np.zeros_like(counts.states), np.zeros_like(counts.flows))
        np.testing.assert_allclose(own.refit(nothing, rows, SCHEMA, 0.0).parameters, own.parameters)
    with_same = graph.with_parameters(blocks=tuple(b.with_parameters(b.parameters) for b in graph.blocks))
    np.testing.assert_array_equal(log_values(with_same, rows), log_values(graph, rows))


@every_kind
def test_circuits_are_conditioned_and_marginalised_whatever_their_leaves(kind: str) -> None:
    block, rows = KINDS[kind](), some_rows(6)
    graph = circuit(block)
    given = np.flatnonzero(SCHEMA.is_given)
    for row in rows:
        known = row.copy()
        known[[A, B, C, D]] = np.nan
        rest = condition(graph, known)
        own = rest.schema.columns(["a", "b", "c", "d"])
        values = np.full((1, len(rest.schema)), np.nan)
        values[0, own] = row[[A, B, C, D]]
        np.testing.assert_allclose(log_values(rest, values), log_values(graph, row[None]), atol=1e-9)
    keep = sorted({A, C, *given.tolist()})
    part = marginalise(graph, keep)
    hidden = rows.copy()
    hidden[:, [B, D]] = np.nan
    kept = [c for c in range(len(SCHEMA)) if SCHEMA[c].name in part.schema.names]
    np.testing.assert_allclose(log_values(part, rows[:, kept]), log_values(graph, hidden), atol=1e-9)


@every_kind
@pytest.mark.parametrize("suffix", [".tract", ".json", "checkpoint"])
def test_files_and_checkpoints_keep_leaves_of_every_kind(kind: str, suffix: str, tmp_path: Path) -> None:
    graph, rows = circuit(KINDS[kind]()), some_rows()
    path = tmp_path / f"m{suffix}"
    if kind == "network" and suffix == ".json":
        with pytest.raises(ValueError, match="holds no neural networks"):
            write_circuit(Document(graph), path)
        return
    if suffix == "checkpoint":
        back = decode_graph(*encode_graph(graph), SCHEMA)
    else:
        write_circuit(Document(graph), path)
        back = read_circuit(path).graph
    assert sorted(b.name for b in back.blocks) == sorted(b.name for b in graph.blocks)
    np.testing.assert_array_equal(log_values(back, rows), log_values(graph, rows))
    for suffix_of_picture in (".dot", ".svg"):
        write_circuit(Document(graph), tmp_path / f"m{suffix_of_picture}")


@pytest.mark.parametrize("kind", ["gaussian", "joint", "box"])
def test_draws_and_modes_come_from_the_leaves_that_were_chosen(kind: str) -> None:
    graph = circuit(KINDS[kind]())
    row = some_rows(1)[0]
    row[[A, B, C, D]] = np.nan
    drawn = samples(graph, row, 400, 7)
    mine = np.unique(KINDS[kind]().scope)
    assert np.isfinite(drawn[:, mine]).all()
    assert np.isfinite(log_values(graph, drawn)).all()
    best = completions(graph, row[None])
    assert log_values(graph, best)[0] >= np.quantile(log_values(graph, drawn), 0.5)


def test_a_kind_that_only_this_file_knows_is_a_distribution_like_any_other() -> None:
    plain = SCHEMA.select([A, C, D])
    one = marginalise(condition(circuit(boxes()), _only_given()), [0, 2, 3])
    other = product([tr.Circuit(one).condition({"a": "u"}).graph])
    model = tr.Circuit(mixture([one, one], [0.3, 0.7]))
    assert model.schema == plain
    assert "box" in {block.name for block in other.blocks}
    step = 0.0625
    grid = np.arange(-3 + step / 2, 5, step)
    rows = np.stack(np.meshgrid([0.0, 1.0], grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    assert np.exp(model.log_prob(Table(plain, rows))).sum() * step**2 == pytest.approx(1.0, abs=1e-9)
    inside = model.prob({"c": Interval(0.0, 1.0)})
    some = (rows[:, 1] > 0) & (rows[:, 1] < 1)
    assert inside == pytest.approx(np.exp(model.log_prob(Table(plain, rows[some]))).sum() * step**2, abs=1e-9)


def _only_given() -> Floats:
    row = some_rows(1)[0]
    row[[A, B, C, D]] = np.nan
    return row


@every_kind
def test_arrays_that_do_not_fit_together_are_refused(kind: str) -> None:
    block = KINDS[kind]()
    lines = [name for name in block.per_leaf if name != "node"]
    wrong = replace(block, **{lines[0]: getattr(block, lines[0])[:2]})  # type: ignore[type-var]
    with pytest.raises(ValueError, match="do not fit together"):
        wrong.check(SCHEMA)
    graph = circuit(block)
    for moved in (block.renumber(np.array([0, 0, 1])), block.renumber(np.array([0, 1, 40]))):
        with pytest.raises(ValueError, match="are not in ascending order"):
            replace(graph, blocks=(moved, *graph.blocks[1:]))
    assert not isinstance(block, ConstantBlock | FactorBlock) or block.is_fixed
