"""Descriptions of learners and their settings for the command line and the reference page."""

import sys
from typing import Any

from tractable.base.settings import (
    Between,
    Choice,
    Configurable,
    Setting,
    describe_type,
    setting_text,
    settings_of,
)
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.training import find_learner


def learner_list() -> list[dict[str, Any]]:
    """The name, estimator and summary of each learner of circuits."""
    return [
        {"name": name, "estimator": LEARNERS.estimator_of(name), "summary": summary(LEARNERS[name])}
        for name in LEARNERS
    ]


def conditional_learner_list() -> list[dict[str, Any]]:
    """The name, estimator and summary of each learner of conditional models."""
    return [
        {"name": name, "estimator": CONDITIONAL.estimator_of(name), "summary": summary(CONDITIONAL[name])}
        for name in CONDITIONAL
    ]


def network_learner_list() -> list[dict[str, Any]]:
    """The name and summary of each learner of networks, whose answers are approximate."""
    return [
        {
            "name": name,
            "estimator": "MarkovNetwork",
            "answers": "approximate, by Gibbs sampling",
            "summary": summary(NETWORK_LEARNERS[name]),
        }
        for name in NETWORK_LEARNERS
    ]


def learner_settings(name: str) -> list[dict[str, Any]]:
    """The settings of a learner: default, type, valid range, search space of the tuner, and description.

    Raises:
        ValueError: if there is no such learner.
    """
    return [
        {
            "name": one.name,
            "default": setting_text(one.default),
            "type": describe_type(one.type),
            "range": describe_range(one),
            "search": None if one.search is None else describe_choice(one.search),
            "text": one.text,
        }
        for one in settings_of(find_learner(name))
    ]


def summary(kind: type[Configurable]) -> str:
    """The first sentence of a class's documentation."""
    first = (kind.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split())


def describe_range(setting: Setting) -> str | None:
    """The valid range of a setting in words, or None if it is unbounded."""
    low, high = setting.at_least, setting.at_most
    if low is not None and high is not None:
        return f"from {low:g} to {high:g}"
    if low is None:
        return None if high is None else f"at most {high:g}"
    return f"at least {low:g}"


def describe_choice(choice: Choice) -> str:
    """The search space of a setting in words."""
    if isinstance(choice, Between):
        scale = ", on a logarithmic scale" if choice.log else ""
        return f"from {setting_text(choice.low)} to {setting_text(choice.high)}{scale}"
    return "one of " + "; ".join(map(setting_text, choice.options))


def reference_page() -> str:
    """The page of the documentation that lists all learners with their settings, as Markdown."""
    circuits = (circuit_entry(name, LEARNERS[name]) for name in LEARNERS)
    conditional = (conditional_entry(name, CONDITIONAL[name]) for name in CONDITIONAL)
    networks = (network_entry(name, NETWORK_LEARNERS[name]) for name in NETWORK_LEARNERS)
    return "\n".join([_HEAD, *circuits, _CONDITIONAL, *conditional, _NETWORKS, *networks])


def circuit_entry(name: str, kind: type[Configurable]) -> str:
    """The section of the reference page about a learner of circuits."""
    rows = [
        (f"`{one['name']}`", f"`{one['default']}`", one["text"], one["search"] or "")
        for one in learner_settings(name)
    ]
    header = ("Setting", "Default", "Meaning", "Searched by `tune`")
    return _entry(f"## `{name}`", kind, f"`tr.{LEARNERS.estimator_of(name)}`", [header, *rows])


def conditional_entry(name: str, kind: type[Configurable]) -> str:
    """The section of the reference page about a learner of conditional models."""
    rows = [(f"`{one['name']}`", f"`{one['default']}`", one["text"]) for one in learner_settings(name)]
    header = ("Setting", "Default", "Meaning")
    return _entry(f"### `{name}`", kind, f"`tr.{CONDITIONAL.estimator_of(name)}`", [header, *rows])


def network_entry(name: str, kind: type[Configurable]) -> str:
    """The section of the reference page about a learner of networks."""
    rows = [(f"`{one['name']}`", f"`{one['default']}`", one["text"]) for one in learner_settings(name)]
    return _entry(
        f"### `{name}`", kind, f'`tr.MarkovNetwork("{name}")`', [("Setting", "Default", "Meaning"), *rows]
    )


def _entry(heading: str, kind: type[Configurable], estimator: str, table: list[tuple[str, ...]]) -> str:
    """The heading, description and table of settings of a learner."""
    title = f"{kind.title[0].upper()}{kind.title[1:]}, {estimator}. {_description(kind)}"
    header, *rows = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table)
    rule = "|" + "---|" * len(table[0])
    return "\n".join([heading, "", title, "", header, rule, *rows, ""])


def _description(kind: type[Configurable]) -> str:
    return " ".join((kind.__doc__ or "").split())


_HEAD = """# Learners and their settings

This page is generated from the declarations in `src/tractable/learning/` by `make reference`, and a test
checks that it is up to date. Every setting can be passed as `--set name=value` to `tractable learn`, or by
name to the estimator.
"""

_CONDITIONAL = """## Conditional models

These learn P(targets | inputs) without a distribution over the inputs: `tractable learn cacmn train.csv
--targets a,b` uses all other columns as inputs. Targets may be missing in the training rows, but inputs must
not be.
"""

_NETWORKS = """## Networks with approximate answers

These learn a Markov network, which in general has no tractable circuit, so its partition function cannot be
computed. `tractable learn` writes it to a `.mn` or `.uai` file and scores it by pseudo-likelihood, which is
not a likelihood. `tr.MarkovNetwork`, `tractable query --approximate` and `tractable marginals --approximate`
estimate probabilities by Gibbs sampling, each with a standard error. `tractable tune` does not accept them:
they select their penalty on the validation rows themselves. `acmn` and `eacmn` learn Markov networks with a
circuit, which give exact answers.
"""

if __name__ == "__main__":
    sys.stdout.write(reference_page())
