"""Learners and their settings in words: for the command line and for the reference page."""

import sys
from typing import Any

from tractable.learners import LEARNERS, Learner
from tractable.settings import Between, Choice, Configurable, describe_type, setting_text, settings_of


def learner_list() -> list[dict[str, Any]]:
    """Every learner by name, with its estimator and one line about it."""
    estimators = {name: estimator for estimator, name in LEARNERS.estimators.items()}
    return [
        {"name": name, "estimator": estimators.get(name), "summary": summary(LEARNERS[name])}
        for name in LEARNERS
    ]


def learner_settings(name: str) -> list[dict[str, Any]]:
    """The settings of a learner: default, type, range that a tuner searches, and meaning.

    Raises:
        ValueError: if there is no such learner.
    """
    return [
        {
            "name": one.name,
            "default": setting_text(one.default),
            "type": describe_type(one.type),
            "search": None if one.search is None else describe_choice(one.search),
            "text": one.text,
        }
        for one in settings_of(LEARNERS.find(name))
    ]


def summary(kind: type[Configurable]) -> str:
    """The first sentence of a class's documentation."""
    first = (kind.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split())


def describe_choice(choice: Choice) -> str:
    """The values that a tuner tries, in words."""
    if isinstance(choice, Between):
        scale = ", on a logarithmic scale" if choice.log else ""
        return f"from {setting_text(choice.low)} to {setting_text(choice.high)}{scale}"
    return "one of " + "; ".join(map(setting_text, choice.options))


def reference_page() -> str:
    """The page of the documentation that lists all learners with their settings, as Markdown."""
    return "\n".join([_HEAD, *(reference_entry(name, LEARNERS[name]) for name in LEARNERS)])


def reference_entry(name: str, kind: type[Learner]) -> str:
    """One learner's section of the reference page."""
    estimator = next((e for e, n in LEARNERS.estimators.items() if n == name), None)
    lines = [
        f"## `{name}`",
        "",
        f"{kind.title[0].upper()}{kind.title[1:]}, `tr.{estimator}`. {_description(kind)}",
        "",
        "| Setting | Default | Meaning | Searched by `tune` |",
        "|---|---|---|---|",
    ]
    for one in learner_settings(name):
        cells = (f"`{one['name']}`", f"`{one['default']}`", one["text"], one["search"] or "")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _description(kind: type[Learner]) -> str:
    return " ".join((kind.__doc__ or "").split())


_HEAD = """# Learners and their settings

This page is generated from the declarations in `src/tractable/learners/` by `make reference`; a test holds
it to them. Every setting can be given as `--set name=value` to `tractable learn`, or by name to the
estimator.
"""


if __name__ == "__main__":
    sys.stdout.write(reference_page())
