"""`tractable learners`: list learners and their settings."""

from textwrap import indent, wrap
from typing import Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.completion import learner_names
from tractable.cli.output import answer

WIDTH = 100  # characters of a line
CONDITIONAL = "Conditional models, of some columns (--targets) given all others:"
NETWORKS = """\
Markov networks, which in general have no tractable circuit. Where one is too large to be compiled, its
probabilities are estimated by Gibbs sampling (tractable query --approximate, tr.MarkovNetwork)."""


def learners(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Learner whose settings are listed.",
            show_default=False,
            autocompletion=learner_names,
        ),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List all learners with a summary of each, or the settings of one learner with defaults and ranges.

    Learners of joint and conditional circuits, which give exact answers, are followed by learners of
    networks, whose answers are approximate.

    Example: tractable learners learnspn
    """
    from tractable.cli.reports.learners import (
        conditional_learner_list,
        learner_list,
        learner_settings,
        network_learner_list,
    )

    if name is None:
        circuits, conditional, networks = learner_list(), conditional_learner_list(), network_learner_list()
        sections = [_list(circuits), CONDITIONAL, _list(conditional), NETWORKS, _list(networks)]
        facts = {"learners": circuits, "conditional_learners": conditional, "network_learners": networks}
        answer(facts, "\n\n".join(sections), as_json)
    else:
        settings = learner_settings(name)
        answer({"learner": name, "settings": settings}, "\n\n".join(map(_setting_words, settings)), as_json)


def _list(learners: list[dict[str, Any]]) -> str:
    """One line per learner: its name, its estimator and its summary."""
    rows = [(one["name"], _estimator(one), one["summary"]) for one in learners]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(
        f"{name:<{widths[0]}}  {estimator:<{widths[1]}}  {text}" for name, estimator, text in rows
    )


def _estimator(learner: dict[str, Any]) -> str:
    """The Python expression that creates the estimator of a learner."""
    if "estimator" not in learner:
        return "--targets A,B"
    expression = f"tr.{learner['estimator']}"
    return f'{expression}("{learner["name"]}")' if "answers" in learner else expression


def _setting_words(setting: dict[str, Any]) -> str:
    searched = "" if setting["search"] is None else f" The tuner tries values {setting['search']}."
    allowed = "" if setting["range"] is None else f", {setting['range']}"
    head = f"{setting['name']} = {setting['default']}  ({setting['type']}{allowed})"
    return f"{head}\n{_block(setting['text'] + searched)}"


def _block(text: str) -> str:
    return indent("\n".join(wrap(text, WIDTH)), "    ")
