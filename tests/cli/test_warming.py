"""A warm-up uses everything once; afterwards the same things compile nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tractable as tr
from tractable.base.compiled import Trial
from tractable.cli.warming import PARTS, parts_of, warm_up
from tractable.cli.warming.questions import QUESTIONS
from tractable.formats import FORMATS
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.parameters import METHODS

NOT_ASKED = {  # these compute nothing
    "graph", "about", "schema", "columns", "unseen_share", "density_columns", "save", "conditional_on",
}  # fmt: skip


@pytest.fixture(autouse=True)
def trials_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "at_once", False)  # a warm-up ends them; not for the tests that follow


def names(group: str) -> set[str]:
    return {part.name for part in PARTS if part.group == group}


def test_everything_that_is_registered_is_used() -> None:
    assert names("learners") == set(LEARNERS)
    assert names("conditional") == set(CONDITIONAL)
    assert names("methods") == set(METHODS)
    assert names("formats") == set(FORMATS)
    assert names("networks") == set(NETWORK_LEARNERS)


def test_every_question_to_a_circuit_is_asked() -> None:
    asked = {name for name in vars(tr.Circuit) if not name.startswith("_")}
    assert asked - NOT_ASKED == set(QUESTIONS)


def test_parts_are_chosen_by_group_or_name() -> None:
    assert parts_of([]) == list(PARTS)
    assert {part.group for part in parts_of(["formats"])} == {"formats"}
    assert [part.name for part in parts_of(["collapse", ".tract"])] == ["collapse", ".tract"]
    with pytest.raises(ValueError, match="no group 'nonsense'"):
        parts_of(["nonsense"])


def test_a_second_warm_up_compiles_nothing() -> None:
    warm_up(parts_of(["tables"]))
    again = warm_up(parts_of(["tables"]))
    assert (again.parts, again.functions) == (2, 0)
    assert again.cache is not None


def test_a_machine_without_a_cache_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "no_cache.py"
    script.write_text(
        "from numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"  # as if no folder could be written
        "from tractable.cli import run\n"
        "raise SystemExit(run(['warm-up', '--only', 'tables']))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "No folder for compiled functions can be written" in done.stdout
