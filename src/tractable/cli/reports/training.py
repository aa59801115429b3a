"""What there is to tell about a model that was just learned or fitted."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tractable.base.progress import Watch
from tractable.cli.reports.metrics import density_facts, mean_log_likelihood
from tractable.data import Table
from tractable.formats.network_files import NetworkDocument
from tractable.learning.networks.pseudo_likelihood.scores import (
    log_pseudo_likelihoods,
    mean_log_pseudo_likelihood,
)
from tractable.learning.parameters import Method, weighted_rows
from tractable.learning.statistics.stack_weights import Estimate, estimate_mean, shared_time
from tractable.learning.training.provenance import FOUND
from tractable.model import Circuit


def learning_summary(
    circuit: Circuit, table: Table, valid: Table | None, watch: Watch | None = None
) -> dict[str, Any]:
    """How a model was learned, its size, and its scores on the training and validation rows.

    Where the watch leaves too little time to score all rows, a mean is that of a sample of them, and the
    number of rows and the standard error of the mean are told as well.
    """
    about = circuit.about
    return {
        "algorithm": about["learner"],
        **_size(circuit, table),
        **_scores(_log_likelihoods(circuit, table, valid, watch or Watch())),
        **density_facts(table),
        "seed": about["seed"],
        "settings": about["settings"],
        "finished": about["finished"],
        **{name: about[name] for name in FOUND if name in about},
    }


def network_summary(
    document: NetworkDocument, table: Table, valid: Table | None, watch: Watch | None = None
) -> dict[str, Any]:
    """How a network was learned, its size, and its mean log pseudo-likelihoods (no log-likelihoods).

    Where time is short they are those of samples, as `learning_summary` has them.
    """
    about, network = document.about, document.network

    def estimate(rows: Table, part: Watch) -> Estimate:
        whole = partial(mean_log_pseudo_likelihood, network, rows)
        return estimate_mean(partial(log_pseudo_likelihoods, network), whole, rows, part)

    return {
        "algorithm": about["learner"],
        "rows": len(table),
        "variables": len(table.schema),
        "features": len(network.factors),
        **_scores(_of_both("pll", table, valid, watch or Watch(), estimate)),
        "seed": about["seed"],
        "settings": about["settings"],
        "finished": about["finished"],
    }


def fitting_summary(
    circuit: Circuit, method: Method, table: Table, valid: Table | None, watch: Watch | None = None
) -> dict[str, Any]:
    """How the parameters of a model were fitted, its size, and its scores.

    A method that fits a conditional distribution, or predictions, is judged by its own score in addition.
    Where time is short scores are those of samples, as `learning_summary` has them.
    """
    likelihoods = _log_likelihoods(circuit, table, valid, watch or Watch())
    judged: dict[str, Any] = {}
    if method.remark(circuit.graph) is not None:
        for name, likelihood in likelihoods.items():
            rows = None if likelihood is None or not len(likelihood.rows) else weighted_rows(likelihood.rows)
            own = f"{name.removesuffix('_ll')}_{method.score_name}"
            judged[own] = None if rows is None else method.score(circuit.graph, rows)
    return {
        "method": circuit.about["parameters"]["method"],
        **_size(circuit, table),
        **_scores(likelihoods),
        **density_facts(table),
        **judged,
        "finished": circuit.about["finished"],
    }


def _log_likelihoods(
    circuit: Circuit, table: Table, valid: Table | None, watch: Watch
) -> dict[str, Estimate | None]:
    def estimate(rows: Table, part: Watch) -> Estimate:
        return estimate_mean(circuit.log_prob, partial(mean_log_likelihood, circuit, rows), rows, part)

    return _of_both("ll", table, valid, watch, estimate)


def _of_both(
    name: str,
    table: Table,
    valid: Table | None,
    watch: Watch,
    estimate: Callable[[Table, Watch], Estimate],
) -> dict[str, Estimate | None]:
    """The scores of the training rows, in half of the time if there are others, and of validation rows."""
    train = estimate(table, shared_time(watch, 1 if valid is None else 2))
    held_out = None if valid is None else estimate(valid, watch)
    return {f"train_{name}": train, f"valid_{name}": held_out}


def _scores(estimates: Mapping[str, Estimate | None]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, estimate in estimates.items():
        facts |= {name: None} if estimate is None else estimate.facts(name)
    return facts


def _size(circuit: Circuit, table: Table) -> dict[str, Any]:
    return {
        "rows": len(table),
        "variables": len(table.schema),
        "nodes": circuit.graph.nodes,
        "edges": circuit.graph.edges,
    }
