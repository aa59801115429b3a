"""Parameters of a circuit, fitted by a named method."""

from difflib import get_close_matches
from typing import Any

import numpy as np

from tractable.data import as_table
from tractable.model import Circuit
from tractable.parameters import METHODS, fit


def fit_parameters(
    circuit: Circuit,
    table: Any,
    method: str = "cccp",
    *,
    valid: Any = None,
    random_state: int | None = None,
    **settings: Any,
) -> Circuit:
    """The circuit with parameters fitted to a table by a named method; `settings` are the method's own.

    Raises:
        ValueError: if there is no such method or setting, or the tables do not fit the circuit.
    """
    if method not in METHODS:
        near = get_close_matches(method, METHODS, n=1)
        raise ValueError(
            f"there is no method '{method}'"
            + (f"; did you mean '{near[0]}'?" if near else f" ({', '.join(METHODS)})")
        )
    train = as_table(table, circuit.schema)
    held_out = None if valid is None else as_table(valid, circuit.schema)
    try:
        how = METHODS[method](**settings)
    except TypeError as error:
        raise ValueError(f"method '{method}': {str(error).partition(' ')[2]}") from None
    found = fit(circuit.graph, train, how, np.random.default_rng(random_state), valid=held_out)
    return Circuit(found.graph, circuit.about)
