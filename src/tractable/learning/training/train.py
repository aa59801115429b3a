"""Training of a model or a network, with its provenance."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import plain_settings
from tractable.data import Table, as_table, warn_of_unseen
from tractable.formats.network_files import NetworkDocument
from tractable.learning.conditional import ConditionalLearner
from tractable.learning.joint import Learner
from tractable.learning.networks import NetworkLearner
from tractable.learning.parameters import METHODS, Fitted, Method, fit
from tractable.model import Circuit


class Trained(NamedTuple):
    """A model, and the additional results of its learner by name."""

    circuit: Circuit
    extras: Mapping[str, Any]


def train(
    learner: Learner | ConditionalLearner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> Trained:
    """The model that a learner learns from a table; `about` is its provenance, whose seed is used.

    The record of the model also states whether the learner finished, or was stopped by a time budget or
    Ctrl-C, and includes the additional results that the learner selects for it.
    """
    rng = np.random.default_rng(about["seed"])
    graph, extras = learner.learn_with_extras(table, rng, valid=valid, watch=watch)
    recorded = {name: extras[name] for name in learner.recorded if name in extras}
    return Trained(Circuit(graph, {**about, "finished": _is_finished(watch), **recorded}), extras)


def train_network(
    learner: NetworkLearner,
    table: Table,
    valid: Table | None,
    about: Mapping[str, Any],
    watch: Watch | None = None,
) -> NetworkDocument:
    """The network that a learner learns from a table, with its provenance."""
    network = learner.learn(table, np.random.default_rng(about["seed"]), valid=valid, watch=watch)
    return NetworkDocument(network, {**about, "finished": _is_finished(watch)})


def _is_finished(watch: Watch | None) -> bool:
    return watch is None or not watch.should_stop()


# ---- fitting of the parameters of a circuit by a named method -------------------------------------------


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
