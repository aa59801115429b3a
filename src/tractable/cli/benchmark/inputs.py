"""Which columns are inputs when models of P(targets | inputs) are compared: one choice for each data set."""

import numpy as np

from tractable.base.arrays import Ints
from tractable.cli.benchmark.datasets import Tables
from tractable.data import Table


def input_columns(columns: int, share: float) -> Ints:
    """The input columns, ascending: the first ones of a permutation drawn with seed 0.

    There are `int(share * columns + 0.5)` inputs, which are equal for all methods.
    """
    drawn = np.random.default_rng(0).permutation(columns)
    return np.sort(drawn[: int(share * columns + 0.5)])


def with_inputs(tables: Tables, share: float) -> Tables:
    """The tables with a share of their columns as inputs and the others as targets.

    Raises:
        ValueError: if all columns would be inputs, or none.
    """
    schema = tables.train.schema
    inputs = input_columns(len(schema), share)
    if not 0 < inputs.size < len(schema):
        raise ValueError(
            f"{inputs.size} of {len(schema)} columns are inputs: there must be both inputs and targets"
        )
    roles = schema.with_targets(np.setdiff1d(np.arange(len(schema)), inputs).tolist())
    return Tables(*(Table(roles, part.values, part.weights) for part in tables))
