"""The project holds to its own rules."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import median

import pytest
from slow import SLOW_LEARNERS, SLOW_TESTS

import tractable as tr
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MOST_LINES = 500  # of a file
LONGEST = 60  # lines of a function, its docstring not counted
MEDIAN_FILE, MEDIAN_BODY = 145, 6  # lines, at most
MARKERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]) + r")\b")


def functions(file: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_the_version_is_stated_once() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert tr.__version__ == version("tractable")


def test_the_changelog_tells_of_this_version() -> None:
    assert f"## [{tr.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_files_and_functions_are_short() -> None:
    lines = {str(file): len(file.read_text().splitlines()) for file in SOURCES}
    bodies = {f"{file}: {f.name}": body_lines(f) for file in SOURCES for f in functions(file)}
    assert not {file: count for file, count in lines.items() if count > MOST_LINES}
    assert not {function: count for function, count in bodies.items() if count > LONGEST}
    assert median(lines.values()) <= MEDIAN_FILE
    assert median(bodies.values()) <= MEDIAN_BODY


def test_nothing_is_left_for_later_in_a_comment() -> None:
    assert not [file for file in SOURCES if MARKERS.search(file.read_text())]


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "src" / "tractable" / "py.typed").exists()


def test_the_licence_is_the_one_that_is_declared() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_installing_everything_installs_every_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(re.findall(r"[a-z]+", extras["all"][0].partition("[")[2])) == set(extras) - {"all"}


def test_continuous_integration_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert "make test" in script.read_text()


def test_what_a_quick_run_leaves_out_is_there() -> None:
    assert set(LEARNERS) | set(CONDITIONAL) > SLOW_LEARNERS
    for file, names in SLOW_TESTS.items():
        text = (ROOT / "tests" / file).read_text()
        assert not [name for name in names if f"def {name}(" not in text], file


@pytest.mark.parametrize(
    "target", ["demo", "test", "quick", "install", "check", "bench", "docs", "fuzz", "reference"]
)
def test_every_target_is_one_that_make_knows(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
