"""The frozen form of a circuit: flat arrays with one invariant."""

from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tractable.base.arrays import AnyArray, Bytes, Floats, Ints
from tractable.circuit.features import FeatureTable
from tractable.circuit.leaves.family import Family
from tractable.circuit.leaves.logistic import InputFeatures, SoftmaxRegressions
from tractable.circuit.leaves.multivariate import MultivariateGaussian
from tractable.data.schema import Schema

LEAF, PRODUCT, SUM = 0, 1, 2  # the kinds of nodes, everywhere


@dataclass(frozen=True, slots=True, eq=False)
class LeafBlock:
    """All leaves of one family and width."""

    family: Family
    node: Ints  # (leaves,) the node that each leaf is, ascending
    column: Ints  # (leaves,) the column it is over; -1 for a constant
    params: Floats  # (leaves, width)

    def renumber(self, node: Ints) -> "LeafBlock":
        """The same leaves as other nodes, which ascend in the same order."""
        return LeafBlock(self.family, node, self.column, self.params)


@dataclass(frozen=True, slots=True, eq=False)
class JointBlock:
    """All leaves of one family over equally many numeric columns together."""

    family: MultivariateGaussian
    node: Ints  # (leaves,) the node that each leaf is, ascending
    columns: Ints  # (leaves, columns) the columns it is over, in the order of its parameters
    params: Floats  # (leaves, width)

    def renumber(self, node: Ints) -> "JointBlock":
        """The same leaves as other nodes, which ascend in the same order."""
        return JointBlock(self.family, node, self.columns, self.params)


@dataclass(frozen=True, slots=True, eq=False)
class GateBlock:
    """Leaves that are the probabilities of outcomes of regressions on inputs.

    They stand over no random variable: to a circuit of targets they are factors that depend on the row.
    """

    name: ClassVar[str] = "gate"  # in the place of a family's

    regressions: SoftmaxRegressions
    node: Ints  # (leaves,) the node that each leaf is, ascending
    regression: Ints  # (leaves,) the regression behind each leaf
    outcome: Ints  # (leaves,) the outcome whose probability it is

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """The block as arrays: node, regression, outcome, weights, and those of the features."""
        features = self.regressions.features
        own = (self.node, self.regression, self.outcome, self.regressions.weights)
        return (*own, features.column, features.state, features.shift, features.scale)

    @classmethod
    def from_arrays(cls, *arrays: AnyArray) -> "GateBlock":
        """The block that `arrays` has described."""
        node, regression, outcome, weights, *features = arrays
        return cls(SoftmaxRegressions(InputFeatures(*features), weights), node, regression, outcome)

    def renumber(self, node: Ints) -> "GateBlock":
        """The same leaves as other nodes, which ascend in the same order."""
        return GateBlock(self.regressions, node, self.regression, self.outcome)

    def over(self, place: Ints) -> "GateBlock":
        """The same leaves where column j is called `place[j]`."""
        return GateBlock(self.regressions.over(place), self.node, self.regression, self.outcome)

    def select(self, which: Ints, node: Ints) -> "GateBlock":
        """Some of the leaves as other nodes, with the regressions that they need."""
        used, regression = np.unique(self.regression[which], return_inverse=True)
        return GateBlock(self.regressions.select(used), node, regression, self.outcome[which])

    def log_values(self, rows: Floats) -> Floats:
        """The leaves' log-values for each row. Shape (leaves, rows)."""
        return self.regressions.log_probs(rows)[self.regression, self.outcome]


Block: TypeAlias = LeafBlock | JointBlock | GateBlock


def block_name(block: Block) -> str:
    """What the leaves of a block are called."""
    return block.name if isinstance(block, GateBlock) else block.family.name


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The shape that all components of a mixture have: node t of component k is `first[t] + step[t] * k`.

    A node that all components share has the step zero.
    """

    first: Ints  # (nodes of a component,) ascending
    step: Ints  # (nodes of a component,)


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The circuits of a mixture, whose nodes are numbered one circuit after the other."""

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
    leaves: tuple[LeafBlock, ...]  # the leaves over one column, or none
    features: FeatureTable | None = None  # the Markov network that the circuit was learned as
    joints: tuple[JointBlock, ...] = ()  # the leaves over several columns together
    gates: tuple[GateBlock, ...] = ()  # the leaves that are regressions on inputs
    mixture: Shape | Members | None = None  # what its builder knows to be mixed below the root
    facts: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # see `remember`

    def __post_init__(self) -> None:
        from tractable.circuit.check import check_graph

        check_graph(self)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied: everything but the facts, which can be computed again."""
        return {**self.__dict__, "facts": {}}

    def with_parameters(
        self,
        log_weight: Floats | None = None,
        leaves: tuple[LeafBlock, ...] | None = None,
        joints: tuple[JointBlock, ...] | None = None,
    ) -> "Graph":
        """The same structure with other weights or other parameters of the leaves.

        Only the shapes are compared, so that learning can take many steps without checking the whole graph
        at each; `check_graph` checks the last one.

        Raises:
            ValueError: if the shapes are not those of this graph.
        """
        weight = self.log_weight if log_weight is None else log_weight
        blocks = self.leaves if leaves is None else leaves
        together = self.joints if joints is None else joints
        shapes = [*(b.params.shape for b in blocks), *(b.params.shape for b in together)]
        own = [*(b.params.shape for b in self.leaves), *(b.params.shape for b in self.joints)]
        if weight.shape != self.log_weight.shape or shapes != own:
            raise ValueError("the parameters are not as many as those of the circuit")
        twin = copy(self)
        object.__setattr__(twin, "log_weight", weight)
        object.__setattr__(twin, "leaves", blocks)
        object.__setattr__(twin, "joints", together)
        return twin

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All leaves: those over one column first, then gates, then those over several columns."""
        return (*self.leaves, *self.gates, *self.joints)

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
