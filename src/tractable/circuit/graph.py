"""The frozen form of a circuit: flat arrays with one invariant."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tractable.base.arrays import Bytes, Floats, Ints
from tractable.circuit.blocks import Block
from tractable.circuit.features import FeatureTable
from tractable.data.schema import Schema

B = TypeVar("B", bound=Block)

LEAF, PRODUCT, SUM = 0, 1, 2  # the kinds of nodes, everywhere


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The common structure of the components of a mixture: node t of component k is `first[t] + step[t] * k`.

    A node that all components share has the step zero.
    """

    first: Ints  # (nodes of a component,) ascending
    step: Ints  # (nodes of a component,)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The circuits of a mixture, whose nodes are numbered consecutively."""

    end: Ints  # (members,) the first node after those of each
    mixtures: tuple["Shape | Members | None", ...]  # what each is a mixture of, by its own node numbers


@dataclass(frozen=True, eq=False)
class Graph:
    """A rooted graph of sums, products and leaves, stored as flat arrays.

    Nodes are numbered so that children come before their parents and the root is last: one loop upwards
    evaluates the circuit, one loop downwards differentiates it. Nothing is changed in place.
    """

    schema: Schema
    kind: Bytes  # (nodes,) LEAF, PRODUCT or SUM
    start: Ints  # (nodes + 1,) node i's edges are start[i]:start[i + 1]
    child: Ints  # (edges,) the node below each edge
    log_weight: Floats  # (edges,) zero below a product
    blocks: tuple[Block, ...]  # the leaves, block by block
    features: FeatureTable | None = None  # the Markov network that the circuit was learned as
    mixture: Shape | Members | None = None  # what its builder knows to be mixed below the root
    facts: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)  # see `remembered`

    def __post_init__(self) -> None:
        from tractable.circuit.check import check_graph

        check_graph(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied: everything but the facts, which can be computed again."""
        return {**self.__dict__, "facts": {}}

    def with_parameters(
        self, log_weight: Floats | None = None, blocks: tuple[Block, ...] | None = None
    ) -> "Graph":
        """The circuit with other weights or other parameters of the leaves.

        Only shapes are checked, so that learning need not check the whole graph at each step; `check_graph`
        checks the final one.

        Raises:
            ValueError: if the shapes are not those of this graph.
        """
        weight = self.log_weight if log_weight is None else log_weight
        others = self.blocks if blocks is None else blocks
        shapes, own = ([b.parameters.shape for b in some] for some in (others, self.blocks))
        if weight.shape != self.log_weight.shape or shapes != own:
            raise ValueError("the number of parameters differs from that of the circuit")
        twin = copy(self)
        object.__setattr__(twin, "log_weight", weight)
        object.__setattr__(twin, "blocks", others)
        return twin

    def blocks_of(self, kind: type[B]) -> list[B]:
        """The blocks of one kind of leaves."""
        return [block for block in self.blocks if isinstance(block, kind)]

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.kind.size

    @property
    def edges(self) -> int:
        """The number of edges."""
        return self.child.size

    @property
    def root(self) -> int:
        """The last node."""
        return self.kind.size - 1

    @property
    def parent(self) -> Ints:
        """The node above each edge. Shape (edges,)."""
        return np.repeat(np.arange(self.nodes), np.diff(self.start))
