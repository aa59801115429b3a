"""Methods that follow the gradient of the log-likelihood, each step of which is shrunk until it helps."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.progress import Watch
from tractable.base.settings import setting
from tractable.circuit import LEAF, SUM, Block, Graph, LeafBlock, normalise
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.circuit.leaves import Indicator, state_family
from tractable.data import Table
from tractable.engine.expectations import Expecter
from tractable.learning.parameters.method import Method, Step, WeightedRows
from tractable.learning.parameters.updates import sum_edges

# ---- Leaves over categorical columns as sums over indicators, which leaves weights as the only
#      parameters.


def expand_states(graph: Graph) -> Graph:
    """The circuit with every Bernoulli and categorical leaf as a weighted sum over shared indicators."""
    states = graph.schema.cardinalities
    first = np.cumsum(states) - states  # the indicators are numbered first, column by column
    shift = int(states.sum())
    old = edges_of(graph)
    kind = np.concatenate([np.full(shift, LEAF), graph.kind]).astype(np.int64)
    groups = [Edges(old.parent + shift, old.child + shift, old.log_weight)]
    blocks: list[Block] = []
    for block in graph.blocks:
        if isinstance(block, LeafBlock) and block.family.over_states:
            kind[block.node + shift] = SUM
            groups.append(_state_edges(block, block.node + shift, first, states))
        else:
            blocks.append(block.renumber(block.node + shift))
    column = np.repeat(np.arange(states.size), states)
    state = (np.arange(shift) - first[column]).astype(np.float64)
    blocks.append(LeafBlock(Indicator(), np.arange(shift), column, state[:, None]))
    return assemble(graph.schema, kind, concatenate_edges(groups), blocks)


def _state_edges(block: LeafBlock, node: Ints, first: Ints, states: Ints) -> Edges:
    """The edges from the sums that leaves were turned into, `node`, to the indicators of their states."""
    size = states[block.column]
    parent = np.repeat(node, size)
    state = np.arange(parent.size) - np.repeat(np.cumsum(size) - size, size)
    log_weight = np.empty(parent.size)
    for k in np.unique(size):
        some = np.flatnonzero(size == k)
        where = np.flatnonzero(np.repeat(size == k, size))
        log_weight[where] = block.select(some).table(int(k)).ravel()
    return Edges(parent, np.repeat(first[block.column], size) + state, log_weight)


class _Simple(NamedTuple):
    """The sums whose children are all indicators of one column."""

    node: Ints
    column: Ints


def contract_states(graph: Graph) -> Graph:
    """The circuit with every sum over indicators of one column as a Bernoulli or categorical leaf.

    The weights of such sums add up to one.
    """
    simple = _simple_sums(graph)
    is_simple = np.zeros(graph.nodes, dtype=np.bool_)
    is_simple[simple.node] = True
    kind = np.where(is_simple, LEAF, graph.kind).astype(np.int64)
    edges = edges_of(graph).select(~is_simple[graph.parent])
    table = _tables(graph, simple)
    blocks = list(graph.blocks)
    for k in np.unique(graph.schema.cardinalities[simple.column]):
        some = np.flatnonzero(graph.schema.cardinalities[simple.column] == k)
        family = state_family(k)
        with np.errstate(invalid="ignore"):
            params = family.from_log_states(table[some, :k])
        blocks.append(LeafBlock(family, simple.node[some], simple.column[some], params))
    return assemble(graph.schema, kind, edges, blocks)


def _simple_sums(graph: Graph) -> _Simple:
    column = np.full(graph.nodes, -1, dtype=np.int64)
    for block in graph.blocks_of(LeafBlock):
        if block.family.is_indicator:
            column[block.node] = block.column
    below = column[graph.child]
    low = np.full(graph.nodes, np.iinfo(np.int64).max)
    high = np.full(graph.nodes, -1)
    np.minimum.at(low, graph.parent, below)
    np.maximum.at(high, graph.parent, below)
    node = np.flatnonzero((graph.kind == SUM) & (low == high) & (low >= 0))
    return _Simple(node, low[node])


def _tables(graph: Graph, simple: _Simple) -> Floats:
    """The log-probabilities of the states of each simple sum, -inf where it has none. (sums, most states)."""
    state = np.zeros(graph.nodes, dtype=np.int64)
    for block in graph.blocks_of(LeafBlock):
        if block.family.is_indicator:
            state[block.node] = block.params[:, 0].astype(np.int64)
    number = np.full(graph.nodes, -1, dtype=np.int64)
    number[simple.node] = np.arange(simple.node.size)
    line = number[graph.parent]
    mine = line >= 0
    table = np.full((simple.node.size, int(graph.schema.cardinalities.max(initial=1))), -np.inf)
    np.logaddexp.at(table, (line[mine], state[graph.child[mine]]), graph.log_weight[mine])
    return table


LARGEST_CHANGE = 50.0  # of a log weight in one trial step, so that exponentials do not overflow


@dataclass(frozen=True, kw_only=True)
class GradientMethod(Method):
    """Moves all weights at once along the gradient of the mean of log f(row) - log Z.

    See Zhao, Poupart and Gordon, NIPS 2016, section 4.2. The weights need not be normalised on the way.
    Leaves over categorical columns take part as sums over indicators.
    """

    first_step: float = setting(
        1.0, "Step size with which the line search of each iteration starts.", at_least=0
    )
    shrink: float = setting(
        0.8,
        "Factor by which the line search reduces the step size until the log-likelihood increases.",
        at_least=0,
        at_most=1,
    )
    trials: int = setting(60, "Maximum number of step sizes that the line search tries.", at_least=1)

    def prepare(self, graph: Graph, table: Table) -> Graph:
        """The circuit locally normalised, with leaves over categorical columns as sums."""
        return expand_states(normalise(graph).graph)

    def finish(self, graph: Graph) -> Graph:
        """The circuit locally normalised, with sums over indicators as leaves again."""
        return contract_states(normalise(graph).graph)

    @abstractmethod
    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step; `gradient` is with respect to the weights, not their logarithms."""

    def steps(
        self, graph: Graph, rows: WeightedRows, rng: np.random.Generator, watch: Watch, after: Step | None
    ) -> Iterator[Step]:
        """Circuits after one accepted step each; when no step helps, the same circuit again and again."""
        graph = graph if after is None else after.graph
        expecter, edges = Expecter(graph), sum_edges(graph)
        missing = np.full((1, rows.values.shape[1]), np.nan)
        while True:
            expected = expecter.expectations(graph, rows.values, rows.weights)
            free = expecter.expectations(graph, missing, np.ones(1))
            score = rows.mean(expected.log_value) - float(free.log_value[0])
            yield Step(graph, score)
            slope = (expected.edge / rows.total - free.edge)[edges] * np.exp(-graph.log_weight[edges])
            graph = self._line_search(expecter, graph, rows, slope, score)

    def _line_search(
        self, expecter: Expecter, graph: Graph, rows: WeightedRows, slope: Floats, score: float
    ) -> Graph:
        """The circuit after the first trial step that raises the log-likelihood, or the same if none does."""
        edges = sum_edges(graph)
        step = self.first_step
        for _ in range(self.trials):
            log_weight = graph.log_weight.copy()
            new = self.move_weights(log_weight[edges], slope, step)
            log_weight[edges] = np.clip(
                new, log_weight[edges] - LARGEST_CHANGE, log_weight[edges] + LARGEST_CHANGE
            )
            tried = graph.with_parameters(log_weight)
            if rows.mean_log_likelihood(partial(expecter.log_values, tried)) > score:
                return tried
            step *= self.shrink
        return graph


@final
@dataclass(frozen=True, kw_only=True)
class PGD(GradientMethod):
    """Every step moves the weights along the gradient and keeps them above a margin."""

    name: ClassVar[str] = "pgd"
    title: ClassVar[str] = "projected gradient"

    margin: float = setting(0.01, "Minimum value of each weight after a step.", at_least=0)

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return np.log(np.maximum(self.margin, np.exp(log_weight) + step * gradient))


@final
@dataclass(frozen=True, kw_only=True)
class EG(GradientMethod):
    """Every step multiplies each weight by the exponential of its gradient."""

    name: ClassVar[str] = "eg"
    title: ClassVar[str] = "exponentiated gradient"

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return log_weight + step * gradient


@final
@dataclass(frozen=True, kw_only=True)
class SMA(GradientMethod):
    """Every step moves the log weights along their own gradient."""

    name: ClassVar[str] = "sma"
    title: ClassVar[str] = "sequential monomial approximation"

    def move_weights(self, log_weight: Floats, gradient: Floats, step: float) -> Floats:
        """The log weights after a step of a given length."""
        return log_weight + step * np.exp(log_weight) * gradient
