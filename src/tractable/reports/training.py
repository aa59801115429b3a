"""What there is to tell about a model that was just learned or fitted."""

from typing import Any

from tractable.approximate.pseudo_likelihood.scores import mean_log_pseudo_likelihood
from tractable.data import Table
from tractable.formats.network_files import NetworkDocument
from tractable.model import Circuit
from tractable.parameters import Method, weighted_rows
from tractable.reports.scores import density_facts, mean_log_likelihood
from tractable.training.provenance import FOUND


def learning_summary(circuit: Circuit, table: Table, valid: Table | None) -> dict[str, Any]:
    """How a model was learned, its size, and its scores on the training and validation rows."""
    about = circuit.about
    return {
        "algorithm": about["learner"],
        **_size_and_scores(circuit, table, valid),
        "seed": about["seed"],
        "settings": about["settings"],
        "finished": about["finished"],
        **{name: about[name] for name in FOUND if name in about},
    }


def network_summary(document: NetworkDocument, table: Table, valid: Table | None) -> dict[str, Any]:
    """How a network was learned, its size, and its mean log pseudo-likelihoods (no log-likelihoods)."""
    about, network = document.about, document.network
    return {
        "algorithm": about["learner"],
        "rows": len(table),
        "variables": len(table.schema),
        "features": len(network.factors),
        "train_pll": mean_log_pseudo_likelihood(network, table),
        "valid_pll": None if valid is None else mean_log_pseudo_likelihood(network, valid),
        "seed": about["seed"],
        "settings": about["settings"],
        "finished": about["finished"],
    }


def fitting_summary(circuit: Circuit, how: Method, table: Table, valid: Table | None) -> dict[str, Any]:
    """How the parameters of a model were fitted, its size, and its scores.

    A method that fits a conditional distribution, or predictions, is judged by its own score in addition.
    """
    parts = {"train": table, "valid": valid} if how.remark(circuit.graph) is not None else {}
    judged = {f"{part}_{how.score_name}": rows for part, rows in parts.items()}
    return {
        "method": circuit.about["parameters"]["method"],
        **_size_and_scores(circuit, table, valid),
        **{
            name: None if rows is None else how.score(circuit.graph, weighted_rows(rows))
            for name, rows in judged.items()
        },
        "finished": circuit.about["finished"],
    }


def _size_and_scores(circuit: Circuit, table: Table, valid: Table | None) -> dict[str, Any]:
    return {
        "rows": len(table),
        "variables": len(table.schema),
        "nodes": circuit.graph.nodes,
        "edges": circuit.graph.edges,
        "train_ll": mean_log_likelihood(circuit, table),
        "valid_ll": None if valid is None else mean_log_likelihood(circuit, valid),
        **density_facts(table),
    }
