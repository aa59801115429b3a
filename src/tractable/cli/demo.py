"""`tractable demo`: learn on a built-in table, answer three queries and draw the model."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tractable.cli import options
from tractable.cli.output import answer, count, note
from tractable.cli.query import log_answer

if TYPE_CHECKING:
    from tractable.data import Table
    from tractable.model import Circuit

ROWS, HELD_OUT = 2000, 1000


class Question(NamedTuple):
    """A query in words and in the syntax of the command line, with the wording of its answer."""

    words: str
    formula: str
    told: Callable[[float], str]


QUESTIONS = (
    Question(
        "How likely is lung cancer in a visitor of whom nothing is known?",
        "P(lung_cancer=yes)",
        lambda p: f"{p:.1%}: about one visitor in {1 / p:.0f}.",
    ),
    Question(
        "And in a smoker with a shadow on the X-ray?",
        "P(lung_cancer=yes | smoker=yes, x_ray=shadow)",
        lambda p: f"{p:.1%}.",
    ),
    Question(
        "How likely are bronchitis and short breath together in somebody under 60 who coughs at all?",
        "P(bronchitis=yes, short_breath=yes | age!='over 60', cough!=none)",
        lambda p: f"{p:.1%}.",
    ),
)


def demo(
    folder: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the model and the pictures.")
    ] = Path("demo"),
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model of the visitors of a fictional lung clinic, answer three queries and draw the model.

    Example: tractable demo
    """
    from tractable.data import clinic

    if folder.exists() and not folder.is_dir():
        raise ValueError(f"'{folder}' is not a folder")
    table, valid, test = clinic(ROWS, 0), clinic(HELD_OUT, 1), clinic(HELD_OUT, 2)
    _learn("naive-bayes", clinic(20), None)  # the first run ever compiles the engine; that is not learning
    started = time.perf_counter()
    circuit = _learn("naive-bayes", table, valid)
    seconds = time.perf_counter() - started
    gain = _gain(circuit, _learn("independent", table, None), test)
    asked = [_answer_question(circuit, table, question) for question in QUESTIONS]
    files = _save(circuit, folder)
    facts = {
        "table": "clinic",
        "rows": len(table),
        "seconds": seconds,
        "gain": gain,
        "nodes": circuit.graph.nodes,
    }
    facts |= {"answers": asked, "files": files}
    answer(facts, "\n\n".join([_about(circuit, facts), *map(_answer_words, QUESTIONS, asked)]), as_json)
    note("\nSaved " + ", ".join(map(str, files)), quiet or as_json)
    note(f"More queries: tractable query {files[0]} '{QUESTIONS[1].formula}'", quiet or as_json)
    note(
        "To learn from another table: tractable learn auto TABLE.csv --budget 1m -o model.tract",
        quiet or as_json,
    )


def _learn(name: str, table: "Table", valid: "Table | None") -> "Circuit":
    from tractable.data import frame_kind
    from tractable.learning.joint import LEARNERS
    from tractable.learning.training import provenance, train

    learner = LEARNERS.make(name)
    about = provenance(learner, table, valid, seed=0, frame=frame_kind(table))
    return train(learner, table, valid, about).circuit


def _gain(circuit: "Circuit", other: "Circuit", test: "Table") -> float:
    """The gain in log-likelihood of one model over another on new rows, in nats per row."""
    from tractable.cli.reports import mean_log_likelihood

    return mean_log_likelihood(circuit, test) - mean_log_likelihood(other, test)


def _answer_question(circuit: "Circuit", table: "Table", question: Question) -> dict[str, Any]:
    """The model's answer and, if there are matching rows, the relative frequency in the table."""
    from math import exp

    matching, among = _count_rows(table, question.formula)
    return {
        "words": question.words,
        "question": question.formula,
        "probability": exp(log_answer(circuit, question.formula)),
        "counted": matching / among if among else None,
        "among": among,
    }


def _count_rows(table: "Table", formula: str) -> tuple[int, int]:
    """The number of rows that satisfy both query and evidence, and the number that satisfy the evidence."""
    import numpy as np

    from tractable.data import parse_question
    from tractable.data.evidence import mask

    asked, given = parse_question(formula, table.schema)
    agree = []
    for evidence in (given, asked):
        fits = np.ones(len(table), dtype=np.bool_)
        for c in evidence.columns:
            allowed = mask(table.schema[c], evidence.regions.get(c, float(evidence.row[c])))
            fits &= allowed[table.values[:, c].astype(np.int64)]
        agree.append(fits)
    return int((agree[0] & agree[1]).sum()), int(agree[0].sum())


def _about(circuit: "Circuit", facts: dict[str, Any]) -> str:
    from math import exp

    return (
        f"Learned how {len(circuit.schema)} columns of {count(facts['rows'], 'row')} hang together"
        f" in {facts['seconds']:.1f} s: a mixture, as a circuit of {count(circuit.graph.nodes, 'node')}.\n"
        f"It finds a visitor it has never seen {exp(facts['gain']):.1f} times as probable"
        " as a model does that takes the columns one by one."
    )


def _answer_words(question: Question, answer: dict[str, Any]) -> str:
    counting = "no row to count" if answer["counted"] is None else f"{answer['counted']:.1%}"
    return (
        f"{question.words}\n  {question.formula}\n  {question.told(answer['probability'])}"
        f" (Counting among {count(answer['among'], 'such row')}: {counting}.)"
    )


def _save(circuit: "Circuit", folder: Path) -> list[Path]:
    """Save the model, its picture and, if matplotlib is installed, a chart of the effect of evidence."""
    from importlib.util import find_spec

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "clinic.tract", folder / "clinic.svg"]
    for file in files:
        circuit.save(file)
    if find_spec("matplotlib"):
        from tractable.cli.chart import save_chart

        files.append(folder / "clinic.png")
        save_chart(circuit, files[-1])
    return files
