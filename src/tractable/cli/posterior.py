"""`tractable marginals` and `tractable mpe`: what a model believes, column by column and all at once."""

from math import exp
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tractable.cli import options
from tractable.cli.output import answer, lines, probability

if TYPE_CHECKING:
    from tractable.data import Variable


def marginals(
    model: options.Model,
    given: options.Given = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the distribution of every column of MODEL, given what is known.

    Example: tractable marginals clinic.tract --given 'cough=heavy'
    """
    from tractable.model import load

    circuit = load(model)
    found = circuit.marginals(given)
    told = lines([(v.name, _words(v, found[v.name])) for v in circuit.schema])
    facts = {"given": given, "marginals": {v.name: _plain(v, found[v.name]) for v in circuit.schema}}
    answer(facts, told, as_json)


def _plain(variable: "Variable", posterior: dict[Any, float]) -> dict[str, Any]:
    """States beside their probabilities, because the names in a JSON object can only be text."""
    if not variable.is_categorical:
        return posterior
    return {"states": list(posterior), "probabilities": list(posterior.values())}


def _words(variable: "Variable", posterior: dict[Any, float]) -> str:
    if not variable.is_categorical:
        return f"{posterior['mean']:.6g} ± {posterior['std']:.4g}"
    return "  ".join(f"{state}: {p:.4f}" for state, p in posterior.items())


def mpe(
    model: options.Model,
    given: options.Given = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B", help="Complete these, sum out the others.")
    ] = None,
    method: Annotated[
        Literal["auto", "max-product", "search", "exact"],
        typer.Option("--method", help="How to look for it."),
    ] = "auto",
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the most probable row of MODEL that agrees with what is known.

    Example: tractable mpe clinic.tract --given 'cough=heavy, smoker=no'
    """
    from tractable.model import load

    best = load(model).mpe(given, columns=options.names(columns) or None, method=method)
    facts = {
        "row": best.row,
        "log_prob": best.log_prob,
        "probability": exp(best.log_prob),
        "exact": best.exact,
    }
    proof = "exact" if best.exact else "a good guess, not proved"
    told = f"{lines(list(best.row.items()))}\n\nprobability {probability(best.log_prob)} ({proof})"
    answer(facts, told, as_json)
