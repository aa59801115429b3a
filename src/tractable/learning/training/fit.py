"""Fitting of the parameters of a circuit by a named method."""

from typing import Any

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import plain_settings
from tractable.data import Table, as_table, warn_of_unseen
from tractable.learning.parameters import METHODS, Fitted, Method, fit
from tractable.model import Circuit


def fit_parameters(
    circuit: Circuit,
    table: Any,
    method: str = "cccp",
    *,
    valid: Any = None,
    random_state: int | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> Circuit:
    """The circuit with parameters fitted to a table by a named method with the given settings.

    Raises:
        ValueError: if there is no such method or setting, or the tables do not fit the circuit.
    """
    chosen_method = METHODS.make_with(method, settings)
    train = rows_for(circuit, table)
    held_out = None if valid is None else rows_for(circuit, valid)
    seed = int(np.random.default_rng().integers(2**31)) if random_state is None else random_state
    return refit(circuit, train, held_out, chosen_method, seed, watch or Watch())[0]


def rows_for(circuit: Circuit, rows: Any) -> Table:
    """Rows coded for a circuit; unknown states are missing if it reserves a probability for them."""
    table = as_table(rows, circuit.schema, unseen="error" if circuit.unseen_share is None else "missing")
    warn_of_unseen(table, "such a cell counts as missing")
    return table


def refit(
    circuit: Circuit, table: Table, valid: Table | None, method: Method, seed: int, watch: Watch
) -> tuple[Circuit, Fitted]:
    """The circuit with fitted parameters and updated provenance, and the course of the scores."""
    fitted = fit(circuit.graph, table, method, np.random.default_rng(seed), valid=valid, watch=watch)
    record = _record(method, seed, table, watch)
    if (remark := method.remark(fitted.graph)) is not None:
        record["parameters"]["fitted"] = remark
    return Circuit(fitted.graph, {**circuit.about, **record}), fitted


def _record(method: Method, seed: int, table: Table, watch: Watch) -> dict[str, Any]:
    record = {"method": method.name, "settings": plain_settings(method), "seed": seed, "rows": len(table)}
    return {"parameters": record, "finished": not watch.should_stop()}
