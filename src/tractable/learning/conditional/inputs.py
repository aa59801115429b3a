"""Inputs of rows as the numbers that a network is trained on, or that features are made of."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit.leaves.perceptron import Layer, Perceptron, one_hot
from tractable.data import Schema, Table

FAR = 1e3  # standard deviations


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


def scale_inputs(table: Table) -> InputScale:
    """The scale of a table's inputs: numbers have variance one, indicators are just centred.

    The first state of each categorical column is left out.
    """
    moments = _describe(table)
    first = np.concatenate([np.arange(max(k, 1)) == 0 for k in moments.states]) & ~moments.numeric
    kept = _at_least_one(np.flatnonzero(moments.varies & ~first))
    scale = np.where(moments.numeric & (moments.deviation > 0), moments.deviation, 1.0)[kept]
    return InputScale(input_names(table.schema), moments.states, kept, moments.mean[kept], scale)


def plain_inputs(table: Table, *, divide: bool) -> InputScale:
    """The numbers themselves, or divided by their standard deviations, and indicators of all states.

    A column so far from zero that its squares would lose the digits in which its rows differ is centred.
    """
    moments = _describe(table)
    kept = _at_least_one(np.flatnonzero(moments.varies))
    far = np.abs(moments.mean) > FAR * moments.deviation
    scale = np.where(divide & moments.numeric & (moments.deviation > 0), moments.deviation, 1.0)[kept]
    mean = np.where(far, moments.mean, 0.0)[kept]
    return InputScale(input_names(table.schema), moments.states, kept, mean, scale)


class _Inputs(NamedTuple):
    """The numbers, and indicators of states, of all inputs."""

    states: tuple[int, ...]  # of each column, zero for a numeric one
    numeric: Bools  # (numbers,)
    mean: Floats  # (numbers,)
    deviation: Floats  # (numbers,)

    @property
    def varies(self) -> Bools:
        """Which numbers are not the same in all rows. Shape (numbers,)."""
        return self.deviation > 1e-12 * np.maximum(np.abs(self.mean), 1e-300)


def _describe(table: Table) -> _Inputs:
    schema = table.schema
    states = tuple(int(schema[c].cardinality) for c in schema.inputs.tolist())
    coded = one_hot(table.values[:, schema.inputs], states)
    weight = table.row_weights / max(table.total_weight, 1e-300)
    largest = np.abs(coded).max(axis=0, initial=0.0)
    unit = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))  # squares of huge numbers overflow
    mean = weight @ (coded / unit)
    deviation = np.sqrt(weight @ (coded / unit - mean) ** 2)
    mean, deviation = mean * unit, deviation * unit
    return _Inputs(states, np.repeat([k == 0 for k in states], [max(k, 1) for k in states]), mean, deviation)


def _at_least_one(kept: Ints) -> Ints:
    """The places of numbers that are shown; a network has at least one input."""
    return kept if kept.size else np.zeros(1, dtype=np.int64)


def input_names(schema: Schema) -> tuple[str, ...]:
    """The names of the inputs, in order."""
    return tuple(schema[c].name for c in schema.inputs.tolist())
