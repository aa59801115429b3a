"""The assignment of targets that a circuit finds most probable together with a loss: exact, if deterministic.

Every leaf over a target becomes a sum of the target's states, each with a factor that arrives with the row.
The most probable completion of a row whose factors are the exponentials of a loss is the loss-augmented one.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import LEAF, PRODUCT, SUM, Block, FactorBlock, Graph, LeafBlock
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, edges_of
from tractable.circuit.leaves import FACTORS, Indicator
from tractable.data import Schema, Variable
from tractable.engine import completions, log_values

Loss: TypeAlias = Literal["hamming", "zero-one"]
FORBIDDEN = -1e6  # the logarithm of a factor that is as good as zero


@dataclass(frozen=True, slots=True, eq=False)
class LossAugmented:
    """A circuit with a factor for each state of each target, in columns behind its own."""

    graph: Graph
    targets: Ints  # (targets,)
    states: Ints  # (targets,) their numbers of states

    def worst(self, rows: Floats, loss: Loss) -> Floats:
        """The rows with the targets that maximise log-value plus loss.

        For the Hamming loss, the number of wrong targets, that may be the row itself. For the zero-one loss
        it is the most probable row of all that differ in some target.
        """
        own = rows[:, self.targets].astype(np.int64)
        first = np.cumsum(self.states) - self.states
        if loss == "hamming":
            factors = np.ones((len(rows), int(self.states.sum())))
            np.put_along_axis(factors, own + first, 0.0, axis=1)
            return self._best(rows, factors)[0]
        best, best_log = rows.copy(), np.full(len(rows), -np.inf)
        for target in np.flatnonzero(self.states > 1).tolist():
            factors = np.zeros((len(rows), int(self.states.sum())))
            factors[np.arange(len(rows)), own[:, target] + first[target]] = FORBIDDEN
            worst, logs = self._best(rows, factors)
            better = (logs > best_log) & (worst[:, self.targets[target]] != own[:, target])
            best[better], best_log[better] = worst[better], logs[better]
        return best

    def _best(self, rows: Floats, factors: Floats) -> tuple[Floats, Floats]:
        """The completions of rows under factors of states, and their log-values with these."""
        free = np.concatenate([rows, factors], axis=1)
        free[:, self.targets] = np.nan
        completed = completions(self.graph, free, None)
        return completed[:, : rows.shape[1]], log_values(self.graph, completed)


def augment(graph: Graph, targets: Ints) -> LossAugmented:
    """The circuit with a factor for each state of each target.

    Raises:
        ValueError: if a target is not categorical.
    """
    states = graph.schema.cardinalities[targets]
    for target in targets[states == 0].tolist():
        raise ValueError(
            f"column '{graph.schema[target].name}' is numeric: the loss requires categorical targets"
        )
    many = int(states.sum())
    shift = 3 * many  # indicators, factors, and products of both
    pairs = np.arange(many)
    column, state = np.repeat(targets, states), np.concatenate([np.arange(k) for k in states])
    place = np.zeros((len(graph.schema), int(states.max(initial=0))), dtype=np.int64)
    place[column, state] = 2 * many + pairs
    kind = np.concatenate([np.full(2 * many, LEAF), np.full(many, PRODUCT), graph.kind]).astype(np.int64)
    parent, child, weight = edges_of(graph)
    edges = [
        Edges(2 * many + np.tile(pairs, 2), np.arange(2 * many), np.zeros(2 * many)),
        Edges(parent + shift, child + shift, weight),
    ]
    blocks: list[Block] = [
        LeafBlock(Indicator(), pairs, column, state[:, None].astype(np.float64)),
        FactorBlock(FACTORS["potential"], many + pairs, len(graph.schema) + pairs, np.zeros((many, 0))),
    ]
    for block in graph.blocks:
        moved = block.renumber(block.node + shift)
        if not isinstance(moved, LeafBlock):
            blocks.append(moved)
            continue
        over = np.isin(moved.column, targets)
        blocks.append(moved.select(np.flatnonzero(~over)))
        edges.append(_state_edges(moved.select(np.flatnonzero(over)), graph.schema, place))
        kind[moved.node[over]] = SUM
    factors = (Variable(f"loss of {i}", "real", role="potential") for i in range(many))
    schema = Schema((*graph.schema, *factors))
    joined = assemble(schema, kind, concatenate_edges(edges), blocks, shift + graph.root)
    return LossAugmented(joined, targets, states)


def _state_edges(block: LeafBlock, schema: Schema, place: Ints) -> Edges:
    """Edges from leaves over targets, which become sums, to the states that are possible there.

    `place`, (columns, states), is where the states of targets are.
    """
    edges = [Edges(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))]
    for target in np.unique(block.column).tolist():
        mine = np.flatnonzero(block.column == target)
        logs = block.select(mine).table(schema[target].cardinality)
        leaf, state = np.nonzero(logs > -np.inf)
        edges.append(Edges(block.node[mine][leaf], place[target, state], logs[leaf, state]))
    return concatenate_edges(edges)
