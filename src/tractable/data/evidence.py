"""Evidence about a row: known values, and regions of unknown values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isnan
from typing import Any, TypeAlias

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.data.schema import Schema, Variable

# ---- evidence weaker than a value: a set of states, or an interval of numbers ---------------------------


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The possible states of a categorical column."""

    allowed: Bools  # (states,)


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of values of a numeric column."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"the interval from {self.low:g} to {self.high:g} is empty")


Region: TypeAlias = States | Interval


Finding: TypeAlias = float | Region | None  # what is known of one column: its code, a region, or nothing


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The coded known values of a row, and the regions of other columns."""

    row: Floats  # (columns,), NaN where the value is not known
    regions: dict[int, Region]  # column -> where its value lies; only columns without a value

    @property
    def columns(self) -> list[int]:
        """The columns with evidence."""
        return sorted({*np.flatnonzero(~np.isnan(self.row)).tolist(), *self.regions})


def parse_evidence(given: Mapping[Any, object] | None, schema: Schema) -> Evidence:
    """The evidence in a dictionary of column names.

    Evidence about a categorical column is a state or a collection of states; about a numeric column a number,
    a pair (low, high) or a slice, with None for an open end. None and NaN stand for no evidence.

    Raises:
        ValueError: if a column or a state is unknown, or the evidence is contradictory.
    """
    known: dict[int, Finding] = {}
    for name, value in (given or {}).items():
        column = schema.column(name)
        known[column] = _finding(schema[column], value)
    return evidence_of(known, schema)


def evidence_of(known: Mapping[int, Finding], schema: Schema) -> Evidence:
    """The evidence composed of findings about columns."""
    row = np.full(len(schema), np.nan)
    regions: dict[int, Region] = {}
    for column, finding in known.items():
        if isinstance(finding, float):
            row[column] = finding
        elif finding is not None:
            regions[column] = finding
    return Evidence(row, regions)


def _finding(variable: Variable, value: Any) -> Finding:
    if _is_unknown(value):
        return None
    if isinstance(value, States | Interval):
        return _checked_region(variable, value)
    if isinstance(value, slice):
        return within(variable, value.start, value.stop)
    if isinstance(value, set | frozenset | list | tuple | range | np.ndarray):
        return one_of(variable, value) if variable.is_categorical else _pair(variable, value)
    return variable.code(value)


def _is_unknown(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and isnan(value))


def _checked_region(variable: Variable, region: Region) -> Finding:
    if isinstance(region, States) != variable.is_categorical:
        raise ValueError(f"column '{variable.name}' is {variable.kind}: {region} does not apply to it")
    if isinstance(region, Interval):
        return region
    if region.allowed.shape != (variable.cardinality,):
        raise ValueError(
            f"column '{variable.name}' has {variable.cardinality} states, but its region has"
            f" {region.allowed.size}"
        )
    return allowed_states(variable, region.allowed)


def one_of(variable: Variable, values: Iterable[object]) -> Finding:
    """The evidence that a categorical column has one of several states."""
    allowed = np.zeros(variable.cardinality, dtype=np.bool_)
    for value in values:
        allowed[int(variable.code(value))] = True
    return allowed_states(variable, allowed)


def allowed_states(variable: Variable, allowed: Bools) -> Finding:
    """The evidence that only some states are possible: a value for a single state, nothing for all states.

    Raises:
        ValueError: if no state is possible.
    """
    if not allowed.any():
        raise ValueError(f"column '{variable.name}' has no possible state left")
    if allowed.all() and variable.cardinality > 1:
        return None
    return float(np.argmax(allowed)) if allowed.sum() == 1 else States(allowed)


def within(variable: Variable, low: object, high: object) -> Finding:
    """The evidence that a value lies in a closed interval, where None is an open end.

    It applies to categorical columns with numeric states and to all ordinal columns.
    """
    if variable.kind == "ordinal" and variable.has_text_states:
        return _between_states(variable, low, high)
    bottom = -inf if low is None else _bound(variable, low)
    top = inf if high is None else _bound(variable, high)
    if variable.is_categorical:
        states = _numeric_states(variable)
        return allowed_states(variable, (bottom <= states) & (states <= top))
    if bottom == -inf and top == inf:
        return None
    if not bottom <= top:
        raise ValueError(f"column '{variable.name}': the interval from {bottom:g} to {top:g} is empty")
    return Interval(bottom, top)


def _between_states(variable: Variable, low: object, high: object) -> Finding:
    codes = np.arange(variable.cardinality)
    first = 0.0 if low is None else variable.code(low)
    last = float(codes[-1]) if high is None else variable.code(high)
    return allowed_states(variable, (first <= codes) & (codes <= last))


def _pair(variable: Variable, values: Any) -> Finding:
    if not isinstance(values, list | tuple | np.ndarray) or len(values) != 2:
        raise ValueError(f"column '{variable.name}' is {variable.kind}: {values!r} is not a pair (low, high)")
    return within(variable, values[0], values[1])


def _bound(variable: Variable, value: Any) -> float:
    try:
        number = variable.bound(value)
    except ValueError as fault:
        if variable.is_time:
            raise
        raise ValueError(f"column '{variable.name}': the bound {value!r} is not a number") from fault
    if isnan(number):
        raise ValueError(f"column '{variable.name}': the bound {value!r} is not a number")
    return number


def _numeric_states(variable: Variable) -> Floats:
    if variable.has_text_states:
        raise ValueError(f"column '{variable.name}' has text states: intervals do not apply to it")
    return np.array(variable.states, dtype=np.float64)


def join_evidence(first: Evidence, second: Evidence, schema: Schema) -> Evidence | None:
    """The conjunction of two pieces of evidence, or None if they are contradictory."""
    known: dict[int, Finding] = {}
    for column in sorted({*first.columns, *second.columns}):
        try:
            known[column] = both(schema[column], finding_about(first, column), finding_about(second, column))
        except ValueError:
            return None
    return evidence_of(known, schema)


def finding_about(evidence: Evidence, column: int) -> Finding:
    """The evidence about a column."""
    value = float(evidence.row[column])
    return evidence.regions.get(column) if isnan(value) else value


def both(variable: Variable, one: Finding, other: Finding) -> Finding:
    """The conjunction of two findings about a column.

    Raises:
        ValueError: if they are contradictory.
    """
    if variable.is_categorical:
        return allowed_states(variable, mask(variable, one) & mask(variable, other))
    (low, high), (bottom, top) = _ends(one), _ends(other)
    low, high = max(low, bottom), min(high, top)
    if isinstance(one, float) or isinstance(other, float):
        if low > high:
            raise ValueError(f"the conditions on column '{variable.name}' contradict each other")
        return low
    return within(variable, low, high)


def _ends(found: Finding) -> tuple[float, float]:
    if isinstance(found, Interval):
        return found.low, found.high
    return (found, found) if isinstance(found, float) else (-inf, inf)


def mask(variable: Variable, finding: Finding) -> Bools:
    """The states that a finding allows. Shape (states,)."""
    if isinstance(finding, States):
        return finding.allowed
    codes = np.arange(variable.cardinality)
    return codes == finding if isinstance(finding, float) else codes >= 0
