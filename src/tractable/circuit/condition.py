"""Conditioning and marginalisation of circuits."""

from collections.abc import Iterable, Mapping

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.fold import apply_factor, constants, fold_numbers
from tractable.circuit.graph import Graph
from tractable.circuit.normalise import normalise
from tractable.circuit.properties import explain_validity
from tractable.data.evidence import Region, States
from tractable.data.schema import Variable
from tractable.data.table import Table


def condition(
    graph: Graph, row: Floats, regions: Mapping[int, Region] | None = None, *, normalised: bool = False
) -> Graph:
    """The conditional circuit over the columns without evidence.

    `row` is (columns,) with NaN for unknown values. A column in `regions` counts as evidence and is not a
    column of the result. The value of the result is that of `graph` together with the evidence; if
    `normalised`, the conditional probability given the evidence.

    Raises:
        ValueError: if the evidence is no possible row, or has probability zero and is to be divided by.
    """
    within = dict(regions or {})
    _check_evidence(graph, row, within)
    numbers = constants(graph)
    blocks = [b for block in graph.blocks for b in block.observe(row, within, graph.schema, numbers)]
    still_open = np.isnan(row)
    still_open[list(within)] = False
    answer = apply_factor(fold_numbers(graph, numbers, np.flatnonzero(still_open), blocks))
    return normalise(answer).graph if normalised else answer


def marginalise(graph: Graph, keep: Iterable[int]) -> Graph:
    """The marginal circuit over the columns in `keep`, in the order of the schema.

    Columns of potentials are kept, because they are not random variables.

    Raises:
        ValueError: if the circuit is not smooth and decomposable over the columns that go, or one of
            them is an input.
    """
    stays = graph.schema.is_potential.copy()
    stays[list(keep)] = True
    for column in graph.schema.inputs[~stays[graph.schema.inputs]].tolist():
        raise ValueError(
            f"column '{graph.schema[column].name}' is an input of the circuit and cannot be summed out:"
            " condition on its value"
        )
    fault = explain_validity(graph, np.flatnonzero(~stays))
    if fault is not None:
        raise ValueError(f"columns cannot be summed out: {fault}")
    numbers = constants(graph)
    blocks = [b for block in graph.blocks for b in block.sum_out(stays, graph.schema, numbers)]
    return apply_factor(fold_numbers(graph, numbers, np.flatnonzero(stays), blocks))


def _check_evidence(graph: Graph, row: Floats, within: dict[int, Region]) -> None:
    Table(graph.schema, row[None, :])
    for column, region in within.items():
        variable = graph.schema[column]
        if not np.isnan(row[column]):
            raise ValueError(f"column '{variable.name}' has both a value and a region")
        _check_region(variable, region)
    fault = explain_validity(graph, within) if within else None
    if fault is not None:
        raise ValueError(f"the evidence cannot be summed out: {fault}")


def _check_region(variable: Variable, region: Region) -> None:
    if isinstance(region, States) != variable.is_categorical:
        expected = "some of its states" if variable.is_categorical else "an interval"
        raise ValueError(f"column '{variable.name}' is {variable.kind}: its region must be {expected}")
    if isinstance(region, States) and region.allowed.shape != (variable.cardinality,):
        raise ValueError(
            f"column '{variable.name}' has {variable.cardinality} states, but its region has another number"
        )
