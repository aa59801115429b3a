"""`tractable learners`: which learners there are, and their settings."""

from textwrap import indent, wrap
from typing import Annotated, Any

import typer

from tractable.cli import options
from tractable.cli.output import answer

WIDTH = 100  # characters of a line


def learners(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A learner whose settings to list.", show_default=False),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """List all learners with a line about each, or the settings of one with defaults and ranges.

    Example: tractable learners learnspn
    """
    from tractable.reports.learners import learner_list, learner_settings

    if name is None:
        found = learner_list()
        answer({"learners": found}, "\n\n".join(map(_learner_words, found)), as_json)
    else:
        settings = learner_settings(name)
        answer({"learner": name, "settings": settings}, "\n\n".join(map(_setting_words, settings)), as_json)


def _learner_words(learner: dict[str, Any]) -> str:
    return f"{learner['name']}  (tr.{learner['estimator']})\n{_block(learner['summary'])}"


def _setting_words(setting: dict[str, Any]) -> str:
    searched = "" if setting["search"] is None else f" The tuner tries values {setting['search']}."
    head = f"{setting['name']} = {setting['default']}  ({setting['type']})"
    return f"{head}\n{_block(setting['text'] + searched)}"


def _block(text: str) -> str:
    return indent("\n".join(wrap(text, WIDTH)), "    ")
