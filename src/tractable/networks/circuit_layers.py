"""The circuit while columns are eliminated: layers of products and sums, each added as a whole."""

import numpy as np

from tractable.arrays import Bytes, Floats, Ints
from tractable.circuit.assemble import Edges, assemble, concatenate_edges, state_leaves
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, SUM, Graph
from tractable.data.schema import Schema
from tractable.networks.diagram import distinct_terms
from tractable.networks.terms import NOUGHT, PAD, NumberTable, trim_terms


class CircuitLayers:
    """Nodes, children before parents: indicators of all states, given constants, then the layers added."""

    def __init__(self, schema: Schema, log_constants: Floats, numbers: NumberTable) -> None:
        self.schema = schema
        self.numbers = numbers
        self._first = np.concatenate([[0], np.cumsum(schema.cardinalities)])  # each column's first indicator
        self._leaves = state_leaves(schema.cardinalities, log_constants)
        self.constants: Ints = self._first[-1] + np.arange(log_constants.size)
        self.nodes = int(self._first[-1]) + log_constants.size
        self._kinds: list[Bytes] = [np.full(self.nodes, LEAF, dtype=np.uint8)]
        self._edges: list[Edges] = []

    def sum_out(self, column: int, lines: Ints, terms: Ints) -> Ints:
        """For each line, the term of a sum over the states of `column` of indicator times the line's term.

        `lines` is (sums, states) and holds numbers of `terms`; the answer is (sums, 1).
        """
        states = lines.shape[1]
        pairs, index = np.unique(lines * states + np.arange(states), return_inverse=True)
        used, state = terms[pairs // states], pairs % states
        product = self._products(used, self._first[column] + state)
        live = (used[:, 0] != NOUGHT)[index].reshape(lines.shape)
        some = live.any(axis=1)
        answer = np.full((len(lines), 1), NOUGHT)
        answer[some, 0] = self._new(SUM, int(some.sum()))
        parent = np.broadcast_to(answer, lines.shape)[live]
        index = index.reshape(lines.shape)[live]
        self._edges.append(Edges(parent, product[index], self.numbers.logs(used)[index]))
        return answer

    def graph(self, term: Ints, features: FeatureTable | None) -> Graph:
        """The circuit of a whole term.

        Raises:
            ValueError: if it is zero.
        """
        if term[0] == NOUGHT:
            raise ValueError("every combination of states has probability zero")
        nodes = term[(term >= 0) & (term != PAD)]
        root = int(self._products(nodes[None, 1:], nodes[:1])[0])
        log_value = self.numbers.logs(term[None, :])
        if log_value[0] != 0:
            child, root = root, int(self._new(SUM, 1)[0])
            self._edges.append(Edges(np.array([root]), np.array([child]), log_value))
        kind = np.concatenate(self._kinds).astype(np.int64)
        return assemble(self.schema, kind, concatenate_edges(self._edges), self._leaves, root, features)

    def _products(self, terms: Ints, node: Ints) -> Ints:
        """The nodes of each term, multiplied by one node more; equal ones are made once. Shape (terms,)."""
        parts = np.where(terms < 0, PAD, terms)
        parts = trim_terms(np.sort(np.concatenate([node[:, None], parts], axis=1), axis=1))
        lines, number = distinct_terms(parts)
        factors = (lines < NOUGHT).sum(axis=1)
        # A product that is zero gets no parent: let it stand for its first factor.
        inner = (factors > 1) & (lines != NOUGHT).all(axis=1)
        made = lines[:, 0].copy()
        made[inner] = self._new(PRODUCT, int(inner.sum()))
        child = lines[inner][lines[inner] != PAD]
        self._edges.append(Edges(np.repeat(made[inner], factors[inner]), child, np.zeros(child.size)))
        return made[number]

    def _new(self, kind: int, count: int) -> Ints:
        """The numbers of new nodes."""
        self._kinds.append(np.full(count, kind, dtype=np.uint8))
        self.nodes += count
        return np.arange(self.nodes - count, self.nodes)
