"""Most probable completions of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tractable.base.arrays import Bools, Floats
from tractable.circuit import Graph, JointBlock, is_deterministic
from tractable.engine import Regions, completions, log_values
from tractable.queries.requirements import fill_certain, require_known, require_possible, require_valid
from tractable.queries.search import Space, branch_and_bound, climb, enumerate_rows

MPEMethod = Literal["auto", "max-product", "search", "exact"]


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Completed rows, their log-values, and whether they are proved to be optimal."""

    rows: Floats  # (rows, columns)
    log_value: Floats  # (rows,) not normalised
    exact: Bools  # (rows,)


def most_probable(
    graph: Graph,
    rows: Floats,
    regions: Regions | None = None,
    *,
    columns: Sequence[int] | None = None,
    method: MPEMethod = "auto",
    seed: int = 0,
) -> Completion:
    """The jointly most probable values of the missing cells of each row.

    With `columns` only these are completed, and other missing cells are summed out.

    `max-product` follows the largest term of every sum, which is exact if the circuit is deterministic and
    all columns are completed, and an approximation otherwise. `search` improves several initial completions
    by coordinate ascent. `exact` proves optimality by branch and bound, which takes long if many cells are
    missing. `auto` uses max-product if that is exact, enumerates all completions if they are few, and
    searches otherwise.

    Inputs are never completed.

    Raises:
        ValueError: if a row has probability zero, a value overflows, or `exact` is used for numeric cells.
    """
    require_known(method, MPEMethod)
    require_valid(graph, np.flatnonzero(np.isnan(rows).any(axis=0)).tolist())
    require_possible(log_values(graph, rows, regions))
    space = Space(graph, regions or {}, _columns_to_complete(graph, columns))
    guess = np.where(space.missing(rows), completions(graph, rows, None, regions), rows)
    guess = np.where(space.missing(rows), fill_certain(graph.schema, guess), guess)
    certain = is_deterministic(graph) and _has_exact_modes(graph)
    sure = certain & ~(np.isnan(guess) & ~graph.schema.is_potential).any(axis=1)
    answer, exact = guess.copy(), np.array(sure, dtype=np.bool_)
    rest = np.flatnonzero(~sure) if method != "max-product" else np.zeros(0, dtype=np.int64)
    if rest.size:
        answer[rest], exact[rest] = _improve(space, rows[rest], guess[rest], method, seed)
    _require_values(graph, answer, space.missing(rows))
    return Completion(answer, space.log_values(answer), exact)


def _require_values(graph: Graph, answer: Floats, missing: Bools) -> None:
    """Refuse a completion whose value could not be represented as a double.

    Raises:
        ValueError: naming the row and a column.
    """
    for row, column in np.argwhere(np.isnan(answer) & missing & ~graph.schema.is_given):
        name = graph.schema[int(column)].name
        raise ValueError(f"row {row}: the most probable value of column '{name}' is too far out for a number")


def _has_exact_modes(graph: Graph) -> bool:
    """Whether the modes of all leaves over several columns are exact; see `GaussianLeaf.complete`."""
    return all(
        block.family.is_straight and not graph.schema.is_whole[block.columns].any()
        for block in graph.blocks_of(JointBlock)
    )


def _improve(space: Space, rows: Floats, guess: Floats, method: MPEMethod, seed: int) -> tuple[Floats, Bools]:
    """Improved completions, and whether they are known to be optimal."""
    if method == "exact":
        best = branch_and_bound(space, rows, climb(space, rows, guess, seed))
        return best, np.ones(len(rows), dtype=np.bool_)
    few = space.is_small(rows) if method == "auto" else np.zeros(len(rows), dtype=np.bool_)
    answer = guess.copy()
    answer[few] = enumerate_rows(space, rows[few])
    answer[~few] = climb(space, rows[~few], guess[~few], seed)
    return answer, few


def _columns_to_complete(graph: Graph, columns: Sequence[int] | None) -> Bools:
    """The columns to complete: those requested, or all targets. Shape (columns,)."""
    if columns is None:
        return ~graph.schema.is_given
    chosen = np.zeros(len(graph.schema), dtype=np.bool_)
    chosen[list(columns)] = True
    fixed = np.flatnonzero(chosen & graph.schema.is_given)
    if fixed.size:
        raise ValueError(
            f"column '{graph.schema[int(fixed[0])].name}' is an input, which must be given and cannot be"
            " completed"
        )
    return chosen
