"""Inputs of rows as the numbers that a network is trained on, or that features are made of."""

from dataclasses import dataclass

import numpy as np

from tractable.arrays import Floats, Ints
from tractable.data import Schema, Table
from tractable.leaves.perceptron import Layer, Perceptron, one_hot


@dataclass(frozen=True, slots=True, eq=False)
class InputScale:
    """How inputs are shown to a network: each number, or indicator of a state, less its mean, by its scale.

    Constant numbers are left out, and so may be one state of each categorical column, which the others tell.
    """

    columns: tuple[str, ...]
    states: tuple[int, ...]
    kept: Ints  # (shown,) the places among numbers and indicators
    mean: Floats  # (shown,)
    scale: Floats  # (shown,)

    def show(self, table: Table) -> Floats:
        """The inputs of all rows. Shape (rows, shown)."""
        return self.show_cells(table.values[:, table.schema.inputs])

    def show_cells(self, cells: Floats) -> Floats:
        """The inputs of rows that consist of them. Shape (rows, shown)."""
        return (one_hot(cells, self.states)[:, self.kept] - self.mean) / self.scale

    def unscale(self, layers: tuple[Layer, ...]) -> Perceptron:
        """A network over the columns themselves, from one over what was shown."""
        first = layers[0]
        width = sum(max(k, 1) for k in self.states)
        weight = np.zeros((len(first.bias), width))
        weight[:, self.kept] = first.weight / self.scale
        bias = first.bias - weight[:, self.kept] @ self.mean
        return Perceptron(self.columns, self.states, (Layer(weight, bias, first.operator), *layers[1:]))


def scale_inputs(table: Table, *, divide: bool = True, every_state: bool = False) -> InputScale:
    """The scale of a table's inputs: numbers have variance one, indicators are just centred.

    Numbers are just centred, too, unless `divide`; and the first state of each categorical column is left
    out unless `every_state`.
    """
    schema = table.schema
    states = tuple(int(schema[c].cardinality) for c in schema.inputs.tolist())
    coded = one_hot(table.values[:, schema.inputs], states)
    weight = table.row_weights / max(table.total_weight, 1e-300)
    mean = weight @ coded
    deviation = np.sqrt(weight @ (coded - mean) ** 2)
    numeric = np.concatenate([np.full(max(k, 1), k == 0) for k in states])
    is_first = np.concatenate([np.arange(max(k, 1)) == 0 for k in states]) & ~numeric
    kept = np.flatnonzero((every_state | ~is_first) & (deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300)))
    kept = kept if kept.size else np.zeros(1, dtype=np.int64)  # a network has at least one input
    scale = np.where(divide & numeric & (deviation > 0), deviation, 1.0)[kept]
    return InputScale(input_names(schema), states, kept, mean[kept], scale)


def input_names(schema: Schema) -> tuple[str, ...]:
    """The names of the inputs, in order."""
    return tuple(schema[c].name for c in schema.inputs.tolist())
