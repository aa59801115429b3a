"""`tractable classify`: predict one column from the others."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.files import find_table_place, put_table
from tractable.cli.output import answer, count, note
from tractable.cli.reading import Reading, reads_tables

if TYPE_CHECKING:
    from tractable.base.arrays import Floats
    from tractable.data import Variable


@reads_tables
def classify(  # noqa: PLR0913
    model: options.Model,
    data: options.Data,
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="NAME", help="Column to predict.", show_default=False)
    ],
    proba: Annotated[bool, typer.Option("--proba", help="Also print the probability of each state.")] = False,
    weight: options.Weight = None,
    output: options.TableOut = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print the most probable state of a column for each row of DATA, given all other columns.

    Predicted probabilities are exact conditional probabilities under MODEL, and missing cells are summed out.
    If DATA has the column itself, it is used only to evaluate the predictions by accuracy and log-loss.

    Example: tractable classify clinic.tract patients.csv --target bronchitis --proba -o predicted.csv
    """
    from tractable.cli.reports.metrics import judge_predictions
    from tractable.model import load
    from tractable.queries import state_log_probs

    place = find_table_place(output)
    circuit = load(model)
    column = circuit.schema.column(target)
    table = reading.rows_for(circuit, data, weight)
    logs = state_log_probs(circuit.graph, table.values, column)
    facts: dict[str, Any] = {"target": target, "rows": len(table), "output": place}
    facts |= judge_predictions(logs, table.values[:, column], table.row_weights)
    if as_json and place is None:
        facts |= _as_lists(circuit.schema[column], logs, proba)
    elif place is not None or not as_json:
        put_table(_as_table(circuit.schema[column], logs, proba), place)
    if as_json or place is not None:
        answer(facts, _words(facts), as_json)
        note(f"wrote {count(len(table), 'row')} to {place}", quiet or as_json)
    else:  # the predictions are the answer
        note(_words(facts), quiet)


def _as_lists(target: "Variable", logs: "Floats", proba: bool) -> dict[str, Any]:
    import numpy as np

    lists = {"classes": list(target.states), "predictions": _states(target, logs)}
    return lists | ({"probabilities": np.exp(logs)} if proba else {})


def _as_table(target: "Variable", logs: "Floats", proba: bool) -> Any:
    """The predictions and, optionally, one column of probabilities for each state."""
    import numpy as np
    import pyarrow as pa

    columns: dict[str, Any] = {target.name: _states(target, logs)}
    if proba:
        columns |= {f"P({target.name}={s})": np.exp(p) for s, p in zip(target.states, logs.T, strict=True)}
    return pa.table(columns)


def _states(target: "Variable", logs: "Floats") -> list[Any]:
    return [target.states[code] for code in logs.argmax(axis=1).tolist()]


def _words(facts: dict[str, Any]) -> str:
    if not facts["known_rows"]:
        return f"no row has a known {facts['target']} to compare with"
    return (
        f"accuracy {facts['accuracy']:.4f}, log-loss {facts['log_loss']:.4f} nats"
        f" ({count(facts['known_rows'], 'row')} with a known {facts['target']})"
    )
