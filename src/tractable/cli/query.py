"""`tractable query`: probabilities, asked for as one writes them."""

from math import exp
from typing import TYPE_CHECKING, Annotated

import typer

from tractable.cli import options
from tractable.cli.output import answer, probability

if TYPE_CHECKING:
    from tractable.model import Circuit


def query(
    model: options.Model,
    questions: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="Each of the form P(a=x, b>=1 | c in {y, z}).")
    ],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the probability that each QUESTION asks for.

    Example: tractable query clinic.tract 'P(lung_cancer=yes | smoker=yes, x_ray=shadow)'
    """
    from tractable.model import load

    circuit = load(model)
    logs = [log_answer(circuit, question) for question in questions]
    found = [
        {"question": question, "probability": exp(log), "log_probability": log}
        for question, log in zip(questions, logs, strict=True)
    ]
    told = "\n".join(
        f"{question} = {probability(log)}" for question, log in zip(questions, logs, strict=True)
    )
    answer({"answers": found}, told, as_json)


def log_answer(circuit: "Circuit", question: str) -> float:
    """The logarithm of the probability that a question asks for.

    Raises:
        ValueError: if it cannot be understood, or what is given has probability zero.
    """
    from tractable.data import parse_question
    from tractable.queries import evidence_log_prob

    asked, given = parse_question(question, circuit.schema)
    try:
        return evidence_log_prob(circuit.graph, asked, given)
    except ValueError as fault:
        raise ValueError(f"{question}: {fault}") from None
