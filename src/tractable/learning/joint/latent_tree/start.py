"""Initial parameters: each hidden node is a noisy copy of its nearest column."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.data import Schema
from tractable.learning.joint.latent_tree.distances import Pairs
from tractable.learning.joint.latent_tree.tree import Tree, paths, root_at_centre
from tractable.learning.statistics.conditionals import forest_tables
from tractable.learning.statistics.encoding import Encoding
from tractable.learning.statistics.forests import Forest

BLUR = 0.1  # share of each distribution that is spread evenly over the states
NOISE = 0.3  # standard deviation of the logarithms of random factors
MOST_STATES = 16  # of a hidden node whose number of states is not set


class RootedTree(NamedTuple):
    """A latent tree with directed edges, from its roots down."""

    forest: Forest  # over columns and hidden nodes
    states: Ints  # (nodes,) zero for numeric columns
    like: Ints  # (nodes,) the column itself, or the one that a hidden node is initialised from
    schema: Schema

    def is_hidden(self, node: int) -> bool:
        """Whether the node is a hidden node."""
        return node >= len(self.schema)


def root_tree(tree: Tree, schema: Schema, states: int | None) -> RootedTree:
    """The tree rooted at its centre; a hidden node has `states` states, or those of the nearest column."""
    away = np.where(schema.cardinalities > 0, paths(tree)[0][:, : tree.columns], np.inf)
    like = np.arange(tree.nodes)
    like[tree.columns :] = away[tree.columns :].argmin(axis=1)
    sizes = schema.cardinalities[like]
    sizes[tree.columns :] = np.minimum(sizes[tree.columns :], MOST_STATES) if states is None else states
    return RootedTree(
        Forest(*root_at_centre(tree, np.flatnonzero(schema.cardinalities == 0))), sizes, like, schema
    )


def initial_tables(
    tree: RootedTree, encoding: Encoding, pairs: Pairs, smoothing: float, rng: np.random.Generator
) -> list[Floats]:
    """For each node a row for each state of its parent: log-probabilities or leaf parameters."""
    position = np.cumsum(tree.schema.cardinalities > 0) - 1  # of a column among the categorical ones
    numbers = _numeric_tables(tree, encoding, smoothing)
    answer = []
    for node, parent in enumerate(tree.forest.parent.tolist()):
        if node in numbers:
            answer.append(numbers[node])
            continue
        above = -1 if parent < 0 else int(position[tree.like[parent]])
        table = _shares(pairs, above, int(position[tree.like[node]]), smoothing)
        lines = 1 if parent < 0 else int(tree.states[parent])
        shape = (lines, int(tree.states[node]))
        if shape != table.shape:
            table = _resize(table, shape, rng)
        if tree.is_hidden(node) or (parent >= 0 and tree.is_hidden(parent)):
            table = (1 - BLUR) * table + BLUR / table.shape[1]
        answer.append(np.log(table))
    return answer


def _numeric_tables(tree: RootedTree, encoding: Encoding, smoothing: float) -> dict[int, Floats]:
    """The leaf parameters of each numeric column in each state of its parent."""
    numbers = np.flatnonzero(tree.schema.cardinalities == 0).tolist()
    if not numbers:
        return {}
    parent = tree.forest.parent[: len(tree.schema)]
    above = np.where((parent >= 0) & (tree.schema.cardinalities == 0), tree.like[parent], -1)
    tables = forest_tables(encoding, Forest(above, np.arange(above.size)), smoothing)
    lines = np.where(parent >= 0, tree.states[parent], 1).tolist()
    return {n: tables[n][np.arange(lines[n]) % len(tables[n])] for n in numbers}


def _shares(pairs: Pairs, above: int, own: int, smoothing: float) -> Floats:
    """The conditional probabilities of a column's states given another, or marginal ones if `above` is -1."""
    counts = np.diag(pairs.table(own, own))
    alone: Floats = (counts + max(smoothing, 1e-9) / counts.size) / (counts.sum() + max(smoothing, 1e-9))
    if above < 0:
        return alone[None, :]
    if above == own:
        return np.eye(counts.size)
    table = pairs.table(above, own) + max(smoothing, 1e-9) * alone
    shares: Floats = table / table.sum(axis=1, keepdims=True)
    return shares


def _resize(table: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """The table resized by cyclic repetition of rows and states, with random factors."""
    wide = table[np.ix_(np.arange(shape[0]) % table.shape[0], np.arange(shape[1]) % table.shape[1])]
    wide = (wide + 1e-9) * np.exp(NOISE * rng.standard_normal(shape))
    resized: Floats = wide / wide.sum(axis=1, keepdims=True)
    return resized
