"""Docstrings, settings and names use the plain technical English of scikit-learn's documentation."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tractable.base.settings import settings_of
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.parameters import METHODS

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
TREES = {file: ast.parse(file.read_text()) for file in SOURCES}
QUAINT = {
    "an opening that needs another docstring": r"\AThe same\b",
    "a number that is not said": r"\b[Ss]o many\b",
    "a denial that needs a second reading": r"(?<!there )\b(?:is|are) none\b",
    "nobody and somebody": r"\b(?:[Nn]o|[Ss]ome)body\b",
    "a noun that is missing": r"\bwhat from\b|\bthe one that is (?:there|taken)\b",
}
FILLERS = {"found": 50, "part": 230, "one": 118, "own": 122, "how": 6, "told": 8, "made": 34}  # at most


def docstrings() -> Iterator[tuple[str, str]]:
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
                text := ast.get_docstring(node)
            ):
                yield f"{file}: {getattr(node, 'name', '')}", " ".join(text.split())


def messages() -> Iterator[tuple[str, str]]:
    """The constant words of each error and warning."""
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            call = node.exc if isinstance(node, ast.Raise) else node
            if isinstance(call, ast.Call) and (call is not node or ast.unparse(call.func) == "caution"):
                words = [c.value for a in call.args for c in ast.walk(a) if isinstance(c, ast.Constant)]
                yield f"{file}: {call.lineno}", " ".join(w for w in words if isinstance(w, str))


def bound_names() -> Counter[str]:
    """How often each name is assigned to, or is a parameter."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree)]
    stored = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return Counter(stored + [n.arg for n in nodes if isinstance(n, ast.arg)])


@pytest.mark.parametrize("pattern", QUAINT.values(), ids=QUAINT.keys())
def test_docstrings_stand_alone(pattern: str) -> None:
    assert not [f"{place}: {text[:80]}" for place, text in docstrings() if re.search(pattern, text)]


@pytest.mark.parametrize(
    "pattern", [*QUAINT.values(), r"(?<!there )\b(?:is|are) no\b"], ids=[*QUAINT, "is no"]
)
def test_errors_and_warnings_are_sentences_of_today(pattern: str) -> None:
    assert not [f"{place}: {text[:80]}" for place, text in messages() if re.search(pattern, text)]


def test_the_text_of_a_setting_is_made_of_whole_sentences() -> None:
    for kind in (k for t in (LEARNERS, CONDITIONAL, NETWORK_LEARNERS, METHODS) for k in t.values()):
        for name, *_, text, _low, _high, _search in settings_of(kind):
            assert re.fullmatch(r"[A-Z].*[A-Za-z0-9)]\.", text), f"{kind.name}: {name}"
            assert len(text.split()) > 3, f"{kind.name}: {name}"
            assert not [words for words in QUAINT.values() if re.search(words, text)], f"{kind.name}: {name}"


def test_summaries_of_learners_are_whole_sentences() -> None:
    for kind in (kind for table in (LEARNERS, CONDITIONAL, NETWORK_LEARNERS) for kind in table.values()):
        first = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
        assert re.fullmatch(r"An? [^.]*\.|The [^.]*\.|[A-Z].{20,}\.", first), f"{kind.name}: {first}"


def test_names_are_nouns_of_the_field() -> None:
    """A filler such as `found` says nothing of what a variable holds; the limits only ever fall."""
    names = bound_names()
    assert not {name: names[name] for name, most in FILLERS.items() if names[name] > most}
