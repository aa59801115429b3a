"""`tractable marginals` and `tractable mpe`: posterior distributions of columns, and most probable rows."""

from math import exp, inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tractable.cli import options
from tractable.cli.files import find_table_place, leave_table
from tractable.cli.output import LARGEST, SAMPLED, answer, lines, probability
from tractable.cli.reading import Reading, reads_tables

if TYPE_CHECKING:
    from tractable.data import Table, Variable
    from tractable.model import Circuit
    from tractable.queries.gibbs import Sampling


@reads_tables
def marginals(  # noqa: PLR0913, PLR0917
    model: options.Model,
    given: options.Given = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B",
            help="Compute only the distributions of these columns, which is often much faster.",
        ),
    ] = None,
    rows: options.Rows = None,
    output: options.TableOut = None,
    approximate: options.Approximate = False,
    samples: options.Samples = 1000,
    seed: options.SamplingSeed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Print the distribution of every column of MODEL given evidence, or given each row of a table.

    A conditional model has distributions of its targets, and all inputs must be given. With --rows the answer
    is a table with a column for each state (`cough=heavy`), and the `mean` and `std` of each numeric column.

    Answers are exact, and networks are compiled for them. For a network that is too large to compile,
    --approximate estimates the answers by Gibbs sampling, each with a standard error.

    Example: tractable marginals clinic.tract --given 'cough=heavy'
    """
    names = options.names(columns) or None
    if approximate:
        from tractable.queries.gibbs import Sampling

        estimates = _estimates(model, given, Sampling(samples=samples, seed=seed), names)
        report = lines([(name, _estimate_words(one)) for name, one in estimates.items()])
        answer({"given": given, "marginals": estimates, "exact": False}, f"{report}\n{SAMPLED}", as_json)
        return
    from tractable.model import load

    circuit = load(model)
    if rows is not None:
        if given is not None:
            raise typer.BadParameter(
                "--given cannot be combined with --rows: the cells of each row are its evidence"
            )
        place = find_table_place(output)
        leave_table(_posterior_table(circuit, reading.rows_for(circuit, rows), names), place, as_json, quiet)
        return
    posteriors = circuit.marginals(given, columns=names)
    asked = [circuit.schema[circuit.schema.column(name)] for name in posteriors]
    report = lines([(v.name, _words(v, posteriors[v.name])) for v in asked])
    plain = {v.name: _plain(v, posteriors[v.name]) for v in asked}
    answer({"given": given, "marginals": plain, "exact": True}, report, as_json)


def _posterior_table(circuit: "Circuit", table: "Table", names: list[str] | None) -> Any:
    """An arrow table of the distributions given each row, with a column for each state."""
    import pyarrow

    posteriors = circuit.marginals(rows=table, columns=names)
    parts = {v.name: v.states if v.is_categorical else ("mean", "std") for v in circuit.schema}
    return pyarrow.table(
        {
            f"{name}={part}": posterior[:, i]
            for name, posterior in posteriors.items()
            for i, part in enumerate(parts[name])
        }
    )


def _estimates(
    model: Path, given: str | None, sampling: "Sampling", names: list[str] | None
) -> dict[str, dict[str, list[Any]]]:
    """The states of each column, or of each requested one, with probabilities and standard errors."""
    from tractable.formats.network_files import read_network_document
    from tractable.model import as_evidence
    from tractable.queries.gibbs import estimate_marginals, split_by_column

    network = read_network_document(model).network
    chosen = range(len(network.schema)) if names is None else network.schema.columns(names)
    estimates = estimate_marginals(network, as_evidence(given, network.schema), sampling)
    probabilities, errors = (split_by_column(array, network.schema) for array in estimates)
    return {
        network.schema[c].name: {
            "states": list(network.schema[c].states),
            "probabilities": probabilities[c].tolist(),
            "std_errors": errors[c].tolist(),
        }
        for c in chosen
    }


def _estimate_words(estimate: dict[str, list[Any]]) -> str:
    triples = zip(estimate["states"], estimate["probabilities"], estimate["std_errors"], strict=True)
    return "  ".join(f"{state}: ≈ {p:.4f} ± {error:.2g}" for state, p, error in triples)


def _plain(variable: "Variable", posterior: dict[Any, Any]) -> dict[str, Any]:
    """States with their probabilities in a form that JSON can hold, whose keys must be text."""
    if not variable.is_categorical:
        return posterior
    return {"states": list(posterior), "probabilities": list(posterior.values())}


def _words(variable: "Variable", posterior: dict[Any, Any]) -> str:
    if not variable.is_categorical:
        if variable.is_time:
            unit = "days" if variable.kind == "date" else "seconds"
            return f"{posterior['mean']} ± {posterior['std']:.4g} {unit}"
        return f"{posterior['mean']:.6g} ± {posterior['std']:.4g}"
    return "  ".join(f"{state}: {p:.4f}" for state, p in posterior.items())


def mpe(
    model: options.Model,
    given: options.Given = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B", help="Complete only these columns and sum out the others."),
    ] = None,
    method: Annotated[
        Literal["auto", "max-product", "search", "exact"],
        typer.Option("--method", help="Search method."),
    ] = "auto",
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the most probable row of MODEL that agrees with the evidence, and its probability or density.

    Example: tractable mpe clinic.tract --given 'cough=heavy, smoker=no'
    """
    from tractable.model import load

    best = load(model).mpe(given, columns=options.names(columns) or None, method=method)
    facts = {
        "row": best.row,
        "kind": best.kind,
        "log_prob": best.log_prob,
        best.kind: exp(best.log_prob) if best.log_prob < LARGEST else inf,
        "exact": best.exact,
    }
    proof = "exact" if best.exact else "a good guess, not proved"
    row = lines([(name, _cell(value)) for name, value in best.row.items()])
    answer(facts, f"{row}\n\n{best.kind} {probability(best.log_prob)} ({proof})", as_json)


def _cell(value: object) -> str:
    """A value as in a table: years have no thousands separator, and Booleans are true and false."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
