"""Categorical columns of very many states, with their rarest states pooled.

The memory that a learner needs grows with the states of a column, and with their square where each has a node
of its own. So learners see a limited number of states of a column, and `StatePools.decode` gives the pooled
state's probability to the states that it stands for, in proportion to their frequency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit import Block, Graph, LeafBlock
from tractable.circuit.assemble import assemble, edges_of
from tractable.circuit.leaves import Categorical
from tractable.data import Schema, Table, Variable
from tractable.data.problems import caution

POOLED = "rare states"  # what the pooled state is called


class Pool(NamedTuple):
    """The states of one column, the rarest of which are pooled."""

    kept: Ints  # (states of their own,) ascending
    code: Ints  # (states,) the code of each: its place in `kept`, or one past the last
    log_share: Floats  # (states,) of each state in its code

    @property
    def states(self) -> int:
        """The number of codes."""
        return self.kept.size + 1


@dataclass(frozen=True, eq=False)
class StatePools:
    """A table in which some categorical columns have fewer states."""

    schema: Schema  # of the columns as they are
    pools: Mapping[int, Pool]  # by column

    def code(self, table: Table) -> Table:
        """The table with codes in the place of states."""
        values = table.values.copy()
        for column, pool in self.pools.items():
            seen = ~np.isnan(values[:, column])
            values[seen, column] = pool.code[values[seen, column].astype(np.int64)]
        return Table(self._coded_schema(), values, table.weights)

    def decode(self, graph: Graph) -> Graph:
        """A circuit over codes as one over the states.

        Features of a Markov network, which speak of codes, are left out.
        """
        blocks: list[LeafBlock] = []
        for block in graph.blocks_of(LeafBlock):
            own = np.isin(block.column, list(self.pools))
            blocks.append(block.select(np.flatnonzero(~own)))
            for column in np.unique(block.column[own]).tolist():
                some = block.select(np.flatnonzero(block.column == column))
                blocks += _decoded(some, self.pools[column])
        others = (block for block in graph.blocks if not isinstance(block, LeafBlock))
        whole: list[Block] = [*(b for b in blocks if b.node.size), *others]
        decoded = assemble(self.schema, graph.kind.astype(np.int64), edges_of(graph), whole)
        return replace(decoded, mixture=graph.mixture)

    def _coded_schema(self) -> Schema:
        return Schema(
            tuple(_coded(v, self.pools[c]) if c in self.pools else v for c, v in enumerate(self.schema))
        )


def pool_states(table: Table, most: int) -> StatePools | None:
    """The pools of the columns that have more than `most` states; None if no column has, which is usual.

    The most frequent states keep parameters of their own. A column whose states are pooled is warned about.
    """
    wide = np.flatnonzero(table.schema.cardinalities > most).tolist()
    if not wide:
        return None
    pools = {column: _pool(table, column, most) for column in wide}
    for column, pool in pools.items():
        variable = table.schema[column]
        if variable.states[-1] == POOLED:  # it was pooled, and told, before
            continue
        caution(
            f"column '{variable.name}' has {variable.cardinality:,} states, but max_states is {most:,}: the"
            f" rarest {variable.cardinality - pool.kept.size:,} share parameters, in proportion to their"
            " frequency; a larger max_states (--set max_states=N) takes more memory"
        )
    return StatePools(table.schema, pools)


def _pool(table: Table, column: int, most: int) -> Pool:
    states = table.schema[column].cardinality
    seen = ~table.missing[:, column]
    codes = table.values[seen, column].astype(np.int64)
    weight = np.bincount(codes, table.row_weights[seen], states) + 1 / states  # so that none is impossible
    kept = np.sort(np.argsort(-weight, kind="stable")[: most - 1])
    code = np.full(states, kept.size)
    code[kept] = np.arange(kept.size)
    rare = np.where(code == kept.size, weight, 0.0)
    log_share = np.where(code == kept.size, np.log(weight) - np.log(rare.sum()), 0.0)
    return Pool(kept, code, log_share)


def _coded(variable: Variable, pool: Pool) -> Variable:
    """A column with the pooled state after those that are kept; their order means nothing any more."""
    name = POOLED
    while name in variable.states:
        name += "_"
    return Variable(
        variable.name, "categorical", (*(variable.states[k] for k in pool.kept.tolist()), name), variable.role
    )


def _decoded(block: LeafBlock, pool: Pool) -> list[LeafBlock]:
    """Leaves over the codes of one column as leaves over its states.

    The indicator of a code that stands for one state is the indicator of that state.
    """
    if block.family.is_indicator:
        code = block.params[:, 0].astype(np.int64)
        single = np.flatnonzero(code < pool.kept.size)
        one = block.select(single)
        alone = LeafBlock(
            block.family, one.node, one.column, pool.kept[code[single], None].astype(np.float64)
        )
        return [alone, _categorical(block.select(np.flatnonzero(code == pool.kept.size)), pool)]
    return [_categorical(block, pool)]


def _categorical(block: LeafBlock, pool: Pool) -> LeafBlock:
    params = block.table(pool.states)[:, pool.code] + pool.log_share
    return LeafBlock(Categorical(), block.node, block.column, params)
