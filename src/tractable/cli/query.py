"""`tractable query`: probabilities of events given evidence."""

from collections.abc import Sequence
from math import exp, inf, log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import LARGEST, SAMPLED, amount, answer

if TYPE_CHECKING:
    from tractable.model import Circuit
    from tractable.networks import Network
    from tractable.queries import Estimate
    from tractable.queries.gibbs import Sampling


def query(
    model: options.Model,
    questions: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="Query of the form P(a=x, b>=1 | c in {y, z}).")
    ],
    approximate: options.Approximate = False,
    samples: options.Samples = 1000,
    seed: options.SamplingSeed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print the probability of each QUESTION, or its density if it contains the value of a real column.

    Answers are exact, and networks are compiled for them. For a network that is too large to compile,
    --approximate estimates the answers by Gibbs sampling, each with a standard error.

    Example: tractable query clinic.tract 'P(lung_cancer=yes | smoker=yes, x_ray=shadow)'
    """
    if approximate:
        from tractable.queries.gibbs import Sampling

        answers = estimated_answers(model, questions, Sampling(samples=samples, seed=seed))
        report = [f"{a['question']} ≈ {a['probability']:.6g} ± {a['std_error']:.2g}" for a in answers]
        answer({"answers": answers}, "\n".join([*report, SAMPLED]), as_json)
        return
    answers = exact_answers(model, questions)
    report = [f"{_asked(a)} = {amount(a['log_' + a['kind']], a['kind'])}" for a in answers]
    answer({"answers": answers}, "\n".join(report), as_json)


def _asked(answer: dict[str, Any]) -> str:
    """The query as its answer repeats it; a density is written with a lowercase p."""
    question: str = answer["question"].lstrip()
    is_density = answer["kind"] == "density" and question[:1] == "P"
    return f"p{question[1:]}" if is_density else answer["question"]


def exact_answers(model: Path, questions: Sequence[str]) -> list[dict[str, Any]]:
    """The probability or density of each query."""
    from tractable.model import load

    circuit = load(model)
    return [exact_answer(circuit, question) for question in questions]


def exact_answer(circuit: "Circuit", question: str) -> dict[str, Any]:
    """The answer to a query, with the key `probability` or `density`."""
    from tractable.data import parse_question
    from tractable.queries import answer_kind

    log_prob = log_answer(circuit, question)
    kind = answer_kind(*parse_question(question, circuit.schema), circuit.schema)
    value = exp(log_prob) if log_prob < LARGEST else inf
    return {"question": question, "kind": kind, kind: value, f"log_{kind}": log_prob, "exact": True}


def estimated_answers(model: Path, questions: Sequence[str], sampling: "Sampling") -> list[dict[str, Any]]:
    """An estimate of the probability of each query by Gibbs sampling."""
    from tractable.formats.network_files import read_network_document

    network = read_network_document(model).network
    estimates = [estimated_answer(network, question, sampling) for question in questions]
    return [
        {
            "question": question,
            "kind": "probability",
            "probability": one.value,
            "log_probability": log(one.value) if one.value > 0 else -inf,
            "std_error": one.std_error,
            "exact": one.exact,
        }
        for question, one in zip(questions, estimates, strict=True)
    ]


def estimated_answer(network: "Network", question: str, sampling: "Sampling") -> "Estimate":
    """An estimate of the probability of a query.

    Raises:
        ValueError: if the query is invalid, or no chain satisfies the evidence.
    """
    from tractable.data import parse_question
    from tractable.queries.gibbs import estimate_probability

    asked, given = parse_question(question, network.schema)
    try:
        return estimate_probability(network, asked, given, sampling)
    except ValueError as fault:
        raise ValueError(f"{question}: {fault}") from None


def log_answer(circuit: "Circuit", question: str) -> float:
    """The log-probability of a query.

    Raises:
        ValueError: if the query is invalid, or the evidence has probability zero.
    """
    from tractable.data import parse_question
    from tractable.queries import evidence_log_prob

    asked, given = parse_question(question, circuit.schema)
    try:
        return evidence_log_prob(circuit.graph, asked, given)
    except ValueError as fault:
        raise ValueError(f"{question}: {fault}") from None
