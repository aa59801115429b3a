"""How well predicted states of several targets agree with the true ones: metrics of multi-label learning."""

from collections.abc import Sequence
from dataclasses import asdict
from math import sqrt
from typing import Any

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.circuit import Graph
from tractable.data import Table
from tractable.model import Circuit
from tractable.queries import density_columns, marginals, most_probable, weighted_mean

# ---- how good predictions of a column are, beside the values that it has --------------------------------


def judge_predictions(logs: Floats, codes: Floats, weights: Floats) -> dict[str, Any]:
    """Accuracy and log-loss of predicted log-probabilities, (rows, states), over the rows with a known state.

    Both are None where no row has one. The log-loss is the mean of -log P(state), in nats.
    """
    known = ~np.isnan(codes) & (weights > 0)
    if not known.any():
        return {"known_rows": 0, "accuracy": None, "log_loss": None}
    states, weight = codes[known].astype(np.int64), weights[known]
    right = logs[known].argmax(axis=1) == states
    return {
        "known_rows": int(known.sum()),
        "accuracy": float(np.average(right, weights=weight)),
        "log_loss": -weighted_mean(logs[known][np.arange(states.size), states], weight),
    }


# ---- how well a model does on rows: the mean log-likelihood and its standard error ----------------------


def score_summary(logs: Floats, weights: Floats) -> dict[str, Any]:
    """The number of rows, their mean log-likelihood, its standard error, and how many rows are impossible.

    Raises:
        ValueError: if all weights are zero.
    """
    total = float(weights.sum())
    if total == 0:
        raise ValueError("the weights of the table are all zero")
    counted = weights > 0
    impossible = int(np.isneginf(logs[counted]).sum())
    facts = {"rows": logs.size, "weight": total, "impossible_rows": impossible}
    if impossible:
        return facts | {"mean_ll": -np.inf, "std_error": None}
    mean = float(np.average(logs[counted], weights=weights[counted]))
    variance = float(np.average((logs[counted] - mean) ** 2, weights=weights[counted]))
    return facts | {"mean_ll": mean, "std_error": sqrt(variance / (total - 1)) if total > 1 else None}


def density_facts(table: Table, given: Sequence[int] = ()) -> dict[str, Any]:
    """Whether a log-likelihood of the rows is that of a density, and of how many real columns.

    Where there are inputs it is that of the targets given them, and their numbers are told as well.
    """
    columns = density_columns(table.schema, table.values, given)
    inputs = table.schema.inputs.size
    conditional = {"targets": table.schema.targets.size, "inputs": inputs} if inputs else {}
    return {"density": bool(columns), "density_columns": len(columns), **conditional}


def column_summary(circuit: Circuit, table: Table) -> list[dict[str, Any]]:
    """The score of each column, given all others and alone."""
    scores = circuit.column_scores(table)
    return [{"column": name, **asdict(score)} for name, score in scores.items()]


def mean_log_likelihood(circuit: Circuit, table: Table) -> float:
    """The weighted mean log-likelihood of a table's rows, in nats."""
    mean: float = score_summary(circuit.log_prob(table), table.row_weights)["mean_ll"]
    return mean


def label_metrics(truth: Floats, predicted: Floats, weights: Floats, is_label: Bools) -> dict[str, float]:
    """Hamming loss, exact match, F1 and Jaccard index of predicted states, (rows, targets).

    `is_label` are the targets with two states, of which the second says that a label is present; F1 and
    Jaccard compare the sets of present labels, and are left out if there are none. Where both sets are empty
    they are one. `f1` and `jaccard` are means over rows, `f1_micro` counts all labels of all rows together,
    and `f1_macro` is the mean over labels. Rows count by `weights`.
    """
    share = weights / weights.sum()
    wrong = truth != predicted
    answer = {
        "hamming_loss": float(share @ wrong.mean(axis=1)),
        "exact_match": float(share @ ~wrong.any(axis=1)),
    }
    if not is_label.any():
        return answer
    true, positive = truth[:, is_label] == 1, predicted[:, is_label] == 1
    both, sizes = true & positive, true.astype(np.float64) + positive
    answer["f1"] = float(share @ _ratio(2.0 * both.sum(axis=1), sizes.sum(axis=1)))
    answer["f1_micro"] = float(_ratio(2.0 * share @ both.sum(axis=1), share @ sizes.sum(axis=1)))
    answer["f1_macro"] = float(_ratio(2.0 * share @ both, share @ sizes).mean())
    answer["jaccard"] = float(share @ _ratio(both.sum(axis=1), (true | positive).sum(axis=1)))
    return answer


def _ratio(part: Any, whole: Any) -> Floats:
    """Parts of wholes; one where there is nothing."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), 1.0)


def prediction_metrics(graph: Graph, table: Table, given: Sequence[int] = ()) -> dict[str, Any]:
    """The metrics of two predictions of the categorical targets from inputs and the columns `given`.

    `marginals` predicts the most probable state of each target by itself, which suits the Hamming loss;
    `mpe` the most probable states of all together, which suits the exact match. Rows in which a target is
    missing are left out.

    Raises:
        ValueError: if nothing is given, nothing is left to predict, or no row has all targets.
    """
    schema = graph.schema
    if not len(given) and not schema.inputs.size:
        raise ValueError("name the columns to predict from with --given a,b: the model has no inputs")
    open_targets = np.setdiff1d(schema.targets, list(given))
    chosen = open_targets[schema.cardinalities[open_targets] > 0]
    whole = ~table.missing[:, chosen].any(axis=1) & (table.row_weights > 0)
    if not chosen.size or not whole.any():
        raise ValueError("no row has a categorical target to predict")
    rows, weights = table.values[whole], table.row_weights[whole]
    free = rows.copy()
    free[:, open_targets] = np.nan
    is_label = schema.cardinalities[chosen] == 2
    alone = most_probable_alone(graph, free, chosen)
    together = most_probable(graph, free)
    return {
        "targets": chosen.size,
        "rows": len(rows),
        "marginals": label_metrics(rows[:, chosen], alone, weights, is_label),
        "mpe": label_metrics(rows[:, chosen], together.rows[:, chosen], weights, is_label),
        "mpe_exact": float(weights @ together.exact / weights.sum()),
    }


def most_probable_alone(graph: Graph, rows: Floats, columns: Ints) -> Floats:
    """The most probable state of each of some columns by itself, given the cells of rows. (rows, columns)."""
    posteriors = marginals(graph, rows)
    return np.stack([posteriors[c].argmax(axis=1) for c in columns.tolist()], axis=1).astype(np.float64)
