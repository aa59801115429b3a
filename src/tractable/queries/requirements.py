"""Checks that circuits and evidence meet the requirements of a query."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.circuit import Graph, explain_decomposable, explain_smooth, explain_validity, remembered
from tractable.circuit.check import LARGEST_LOG, explain_too_large
from tractable.circuit.scopes import root_columns
from tractable.data import Evidence, Schema, Variable
from tractable.engine import log_partition_function

# ---- cells that are known without a query: targets with a single state ----------------------------------
#
# A circuit may have no leaf over such a column.


def fill_certain(schema: Schema, rows: Floats) -> Floats:
    """The rows in which missing cells of columns with a single state are filled."""
    certain = _certain(schema)
    return np.where(np.isnan(rows) & certain, 0.0, rows) if certain.any() else rows


def certain_posteriors(schema: Schema, posteriors: Sequence[Floats]) -> list[Floats]:
    """The posteriors of all columns, with probability one for columns with a single state."""
    pairs = zip(_certain(schema).tolist(), posteriors, strict=True)
    return [np.ones_like(posterior) if certain else posterior for certain, posterior in pairs]


def _certain(schema: Schema) -> Bools:
    answer: Bools = (schema.cardinalities == 1) & ~schema.is_given
    return answer


# ---- whether an answer is a probability or a density ----------------------------------------------------
#
# A single value of a `real` or `datetime` column has a density, which may exceed one and depends on the
# unit of the column. Values of all other columns, including whole numbers, and intervals have
# probabilities.


AnswerKind: TypeAlias = Literal["probability", "density"]


def has_density(variable: Variable) -> bool:
    """Whether single values of a column have a density instead of a probability."""
    return variable.is_numeric and not variable.is_whole


def density_mask(schema: Schema) -> Bools:
    """Which columns have densities and are random variables. Shape (columns,)."""
    return np.array([has_density(v) and v.role == "target" for v in schema], dtype=np.bool_)


def density_columns(schema: Schema, rows: Floats, given: Iterable[int] = ()) -> list[int]:
    """The columns whose density enters the log-probability of some row, except those in `given`."""
    counted = density_mask(schema) & ~np.isnan(rows).all(axis=0)
    counted[list(given)] = False
    return np.flatnonzero(counted).tolist()


def answer_kind(query: Evidence, given: Evidence, schema: Schema) -> AnswerKind:
    """The kind of P(query | given): a density if the query fixes a real number that is not given."""
    fixed = ~np.isnan(query.row) & np.isnan(given.row)
    return "density" if (fixed & density_mask(schema)).any() else "probability"


def require_valid(graph: Graph, columns: Iterable[int] | None = None) -> None:
    """Refuse a circuit that is not smooth and decomposable with respect to some columns.

    The columns are those to be summed out. Inputs are never summed out, even if the circuit would allow it,
    because no distribution over them was learned.

    Raises:
        ValueError: naming the first node or the column at fault.
    """
    if columns is None:
        fault = _fault(graph)
    else:
        if graph.schema.inputs.size:
            columns = list(columns)
            require_inputs(graph, columns)
        fault = _fault(graph) and _partial_fault(graph, {int(c) for c in columns})
    if fault is not None:
        raise ValueError(fault)


def require_inputs(graph: Graph, missing: Iterable[int]) -> None:
    """Refuse a query in which an input has no value.

    Raises:
        ValueError: naming the first such column.
    """
    if not graph.schema.inputs.size:
        return
    for column in sorted(set(missing) & set(graph.schema.inputs.tolist())):
        raise ValueError(
            f"column '{graph.schema[column].name}' is an input of the circuit: it must have a value,"
            " because a conditional model has no distribution over its inputs (a joint model has)"
        )


def require_targets(graph: Graph, columns: Iterable[int]) -> None:
    """Refuse a query about the distribution of an input.

    Raises:
        ValueError: naming the first such column.
    """
    for column in columns:
        variable = graph.schema[int(column)]
        if variable.role != "target":
            kind = "an input" if variable.role == "input" else "a potential"
            raise ValueError(
                f"column '{variable.name}' is {kind} of the circuit and has no distribution: query targets,"
                " given its value"
            )


def require_distribution(graph: Graph) -> None:
    """Refuse a circuit that cannot be normalised.

    Raises:
        ValueError: if the circuit is zero everywhere, its partition function overflows or underflows, or it
            cannot be summed out.
    """
    require_valid(graph)
    total = log_partition_function(graph)
    if total == -np.inf:
        raise ValueError("the circuit is zero for every row")
    if abs(total) > LARGEST_LOG:
        raise ValueError(f"the logarithm of the partition function is {explain_too_large(total)}")


def require_possible(log_evidence: Floats) -> None:
    """Refuse evidence of probability zero.

    Raises:
        ValueError: naming the first row that is impossible.
    """
    impossible = np.flatnonzero(np.isneginf(log_evidence))
    if impossible.size:
        which = f" (row {int(impossible[0])})" if log_evidence.size > 1 else ""
        raise ValueError(f"the evidence has probability zero{which}, so the query is undefined")


def require_known(method: str, methods: Any) -> None:
    """Refuse a method that is not an option of a `Literal` type.

    Raises:
        ValueError: naming it and the known methods.
    """
    known = methods.__args__
    if method not in known:
        raise ValueError(f"there is no method {method!r} (methods: {', '.join(map(repr, known))})")


@remembered
def _fault(graph: Graph) -> str | None:
    """The reason why the circuit cannot be summed out over all columns, or None."""
    faults = {"decomposable": explain_decomposable(graph), "smooth": explain_smooth(graph)}
    for name, fault in faults.items():
        if fault is not None:
            return f"the circuit is not {name}: {fault}"
    return _absence(graph, range(len(graph.schema)))


def _partial_fault(graph: Graph, columns: set[int]) -> str | None:
    """The reason why the circuit cannot be summed out over some columns."""
    targets = graph.schema.targets.tolist()
    if _fault_of_targets(graph) is None:
        return None  # looked at once, not anew for each choice of columns
    return _summing_fault(graph, sorted(columns & set(targets)))


@remembered
def _fault_of_targets(graph: Graph) -> str | None:
    return _summing_fault(graph, graph.schema.targets.tolist())


def _summing_fault(graph: Graph, columns: list[int]) -> str | None:
    fault = explain_validity(graph, columns)
    if fault is not None:
        return f"those columns cannot be summed out of the circuit: {fault}"
    return _absence(graph, columns)


def _absence(graph: Graph, columns: Iterable[int]) -> str | None:
    """The first target with several states that has no leaf in the circuit, in words."""
    present = set(root_columns(graph).tolist())
    for c in columns:
        variable = graph.schema[c]
        if c not in present and variable.role == "target" and variable.cardinality != 1:
            return f"column '{variable.name}' stands nowhere in the circuit"
    return None
