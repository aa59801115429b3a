"""Decision trees in Libra's format: tests of any column, and numbers at the leaves.

In a Bayesian network such a tree also tests its child, whereas trees of this package end in distributions of
it.
"""

from dataclasses import dataclass, field

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.data.schema import Schema
from tractable.networks.decimals import normalise_log_table
from tractable.networks.network import FeatureFactor, TreeFactor


@dataclass(slots=True)
class LibraTree:
    """Tests and leaves in the order of the text: root first, branches after their test."""

    column: list[int] = field(default_factory=list)  # -1 at a leaf
    state: list[int] = field(default_factory=list)
    branches: list[list[int]] = field(default_factory=list)  # where to go if the test holds, and if not
    value: list[float] = field(default_factory=list)  # the logarithm at a leaf

    def add(self, column: int, state: int, value: float) -> int:
        """Add a test or a leaf; returns its number."""
        self.column.append(column)
        self.state.append(state)
        self.branches.append([])
        self.value.append(value)
        return len(self.column) - 1


def path_features(tree: LibraTree) -> list[FeatureFactor]:
    """The tree as features, one for each leaf: the conditions of its path and its value."""
    features: list[FeatureFactor] = []
    waiting: list[tuple[int, tuple[tuple[int, int, bool], ...]]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        column, state = tree.column[node], tree.state[node]
        if column < 0:
            columns, states, equals = zip(*path, strict=True) if path else ((), (), ())
            features.append(FeatureFactor(columns, states, equals, tree.value[node]))
            continue
        then, otherwise = tree.branches[node]
        waiting += [(otherwise, (*path, (column, state, False))), (then, (*path, (column, state, True)))]
    return features


def child_tree(tree: LibraTree, child: int, schema: Schema) -> TreeFactor:
    """The tree of a column's conditional distribution, with a number for each state in each leaf.

    Raises:
        ValueError: if the numbers of a leaf are not a distribution.
    """
    lines: list[list[int]] = []  # column, state, then, otherwise
    leaves: list[Floats] = []
    waiting: list[tuple[list[int], dict[int, Bools], tuple[int, int]]] = [
        ([0] * schema[child].cardinality, {}, (0, 2))
    ]
    while waiting:
        at, known, (above, branch) = waiting.pop()
        if lines:
            lines[above][branch] = len(lines)
        at = [_settle(tree, node, known, (child, k)) for k, node in enumerate(at)]
        asking = next((node for node in at if tree.column[node] >= 0), None)
        if asking is None:
            leaves.append(normalise_log_table(np.array([tree.value[node] for node in at])))
            lines.append([-1, 0, 0, 0])
            continue
        column, state = tree.column[asking], tree.state[asking]
        allowed = known.get(column, np.ones(schema[column].cardinality, dtype=np.bool_))
        one = np.arange(allowed.size) == state
        waiting.append((at, {**known, column: allowed & ~one}, (len(lines), 3)))
        waiting.append((at, {**known, column: allowed & one}, (len(lines), 2)))
        leaves.append(np.zeros(schema[child].cardinality))
        lines.append([column, state, 0, 0])
    asked, state_of, then, otherwise = np.array(lines, dtype=np.int64).T.copy()
    return TreeFactor(child, asked, state_of, then, otherwise, np.array(leaves))


def _settle(tree: LibraTree, node: int, known: dict[int, Bools], child: tuple[int, int]) -> int:
    """The next node that is a leaf or tests an unknown column; the state of `child` is known."""
    while (column := tree.column[node]) >= 0:
        state = tree.state[node]
        if column == child[0]:
            holds = state == child[1]
        elif column in known and not known[column][state]:
            holds = False
        elif column in known and known[column].sum() == 1:
            holds = True
        else:
            return node
        node = tree.branches[node][0 if holds else 1]
    return node
