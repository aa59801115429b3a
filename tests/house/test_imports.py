"""What is imported: a first query needs the model's rooms, and no learner, data frame or scikit-learn."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tractable as tr
from tractable.data import clinic

MOST_MODULES = 140
HEAVY = ("sklearn", "joblib", "pandas", "polars", "matplotlib", "typer", "rich", "optuna", "torch")
SLOW = ("scipy.optimize", "scipy.stats", "scipy.cluster")
UNNEEDED_ROOMS = ("learning", "estimators", "cli")


def modules_after(code: str) -> list[str]:
    """The modules that a fresh interpreter has loaded after running some code."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "clinic.tract"
    tr.Independent().fit(clinic(50)).circuit_.save(path)
    return path


def test_importing_the_package_imports_nothing_else() -> None:
    assert [m for m in modules_after("import tractable") if m.startswith("tractable")] == ["tractable"]


def test_a_first_query_imports_only_what_it_needs(model: Path) -> None:
    found = modules_after(f"import tractable as tr\ntr.load({str(model)!r}).prob('smoker=yes')")
    own = [m for m in found if m.startswith("tractable.")]
    assert len(own) <= MOST_MODULES
    assert not [m for m in own if m.split(".")[1] in UNNEEDED_ROOMS]
    assert not [m for m in found if m.split(".")[0] in HEAVY or m in SLOW]


@pytest.mark.parametrize(
    "room",
    [
        "learning.statistics", "learning.growing", "learning.parameters", "learning.joint",
        "learning.joint.idspn.learner",
    ],
)  # fmt: skip
def test_learning_imports_neither_formats_nor_queries(room: str) -> None:
    found = modules_after(f"import tractable.{room}")
    assert not [
        m for m in found if m.startswith(("tractable.formats", "tractable.queries", "tractable.model"))
    ]


def test_naming_a_learner_does_not_import_it() -> None:
    code = "from tractable.learning.joint import LEARNERS\nassert 'idspn' in LEARNERS"
    assert "tractable.learning.joint.idspn.learner" not in modules_after(code)


def test_the_command_line_starts_without_numbers() -> None:
    found = modules_after("import tractable.cli")
    assert not {"numpy", "numba", "scipy", *HEAVY} & {m.split(".")[0] for m in found} - {"typer", "rich"}
