"""Queries by their names, and the coding of what users write into what the parameters of a query take.

A user writes a dictionary or a text for a parameter that is annotated as `Evidence`, labels for `Column` and
`Columns`, a frame for `Rows`, a random state for `Seed`, and another circuit for `Graph`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import Signature, signature
from numbers import Integral
from operator import attrgetter
from typing import Annotated, Any, TypeAlias, get_type_hints

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit import Graph
from tractable.data import Evidence

Column: TypeAlias = Annotated[int, "column"]
Columns: TypeAlias = Annotated[Sequence[int], "columns"]  # all targets, if a user names none
Rows: TypeAlias = Annotated[Floats, "rows"]
Seed: TypeAlias = Annotated[int, "seed"]
RandomState: TypeAlias = int | np.random.Generator | None
Coding: TypeAlias = Mapping[Any, Callable[[Any], Any]]  # by the annotation of a parameter

QUERIES = {  # the module of each
    "divergence": "tractable.queries.comparison",
    "entropy": "tractable.queries.information",
    "mutual_information": "tractable.queries.information",
}


def ask(graph: Graph, query: str, coding: Coding, *values: Any, **named: Any) -> Any:
    """The answer of a registered query to what a user wrote. Evidence that is left out says nothing."""
    function, form, kinds = _parameters(query)
    bound = form.bind_partial(graph, *values, **named)
    left_out = [p for p, kind in kinds.items() if kind in (Evidence, Columns) and p not in bound.arguments]
    bound.arguments |= dict.fromkeys(left_out)
    coding = {Seed: seed_of, Graph: attrgetter("graph"), **coding}
    coded = {
        name: coding[kinds[name]](value) if kinds[name] in coding else value
        for name, value in list(bound.arguments.items())[1:]
    }
    return function(graph, **coded)


def seed_of(random_state: RandomState) -> int:
    """The seed that a `random_state` stands for: a whole number is one, as `--seed` is; others draw one."""
    if isinstance(random_state, Integral) and 0 <= random_state < 2**64:
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**63))


@cache
def _parameters(query: str) -> tuple[Callable[..., Any], Signature, dict[str, Any]]:
    """The function of a query, its parameters, and the annotations of those behind the circuit."""
    function = getattr(import_module(QUERIES[query]), query)
    form, hints = signature(function), get_type_hints(function, include_extras=True)
    return function, form, {name: hints[name] for name in list(form.parameters)[1:]}
