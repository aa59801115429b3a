"""`tractable learners`: which learners there are, and their settings."""

from textwrap import indent, wrap
from typing import Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer

WIDTH = 100  # characters of a line
NETWORKS = """\
Markov networks, which in general have no tractable circuit. Where one is too large to be compiled, its
probabilities are estimated by Gibbs sampling (tractable query --approximate, tr.MarkovNetwork)."""


def learners(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A learner whose settings to list.", show_default=False),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List all learners with a line about each, or the settings of one with defaults and ranges.

    Learners of circuits come first, whose answers are exact; then those of networks, whose answers are
    approximate.

    Example: tractable learners learnspn
    """
    from tractable.reports.learners import learner_list, learner_settings, network_learner_list

    if name is None:
        circuits, networks = learner_list(), network_learner_list()
        told = [*map(_learner_words, circuits), NETWORKS, *map(_network_words, networks)]
        answer({"learners": circuits, "network_learners": networks}, "\n\n".join(told), as_json)
    else:
        settings = learner_settings(name)
        answer({"learner": name, "settings": settings}, "\n\n".join(map(_setting_words, settings)), as_json)


def _learner_words(learner: dict[str, Any]) -> str:
    return f"{learner['name']}  (tr.{learner['estimator']})\n{_block(learner['summary'])}"


def _network_words(learner: dict[str, Any]) -> str:
    made = f'tr.MarkovNetwork("{learner["name"]}")'
    return f"{learner['name']}  ({made}; network, approximate answers)\n{_block(learner['summary'])}"


def _setting_words(setting: dict[str, Any]) -> str:
    searched = "" if setting["search"] is None else f" The tuner tries values {setting['search']}."
    head = f"{setting['name']} = {setting['default']}  ({setting['type']})"
    return f"{head}\n{_block(setting['text'] + searched)}"


def _block(text: str) -> str:
    return indent("\n".join(wrap(text, WIDTH)), "    ")
