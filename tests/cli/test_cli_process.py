"""The command line as a process of its own: ways in, pipes that close, disks that are full."""

import ast
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tractable as tr
from tractable.cli import run

CLI = Path(__file__).parents[2] / "src" / "tractable" / "cli"
COMMAND = [sys.executable, "-m", "tractable"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("process")
    (place / "lamps.csv").write_text("left,right\noff,on\non,on\non,off\n")
    assert run(["learn", "chow-liu", str(place / "lamps.csv"), "-o", str(place / "m.tract"), "-q"]) == 0
    assert run(["convert", str(place / "m.tract"), str(place / "m.json"), "-q"]) == 0
    assert run(["sample", str(place / "m.tract"), "1", "-o", str(place / "one.csv"), "-q"]) == 0
    return place / "m.tract"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tractable {tr.__version__}\n"


def test_a_pipe_that_closes_ends_a_sample_quietly(model: Path) -> None:
    call = [*COMMAND, "sample", str(model), "200000"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b'"left","right"\n'
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


def test_a_full_disk_leaves_the_old_model_as_it_was(model: Path) -> None:
    target = model.with_name("m.json")
    before = target.read_bytes()
    done = subprocess.run(
        [*COMMAND, "convert", str(model), str(target)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "too large" in done.stderr
    assert target.read_bytes() == before
    assert not list(model.parent.glob(".*"))


LIGHT = ("tractable.cli", "tractable.base.compiling", "tractable.base.interrupts")  # rooms that import little
HEAVY = {"numpy", "scipy", "numba", "sklearn", "pyarrow", "joblib", "matplotlib", "rich"}


@pytest.mark.parametrize("file", sorted(CLI.glob("*.py")), ids=lambda f: f.name)
def test_commands_import_what_is_heavy_only_when_they_run(file: Path) -> None:
    imported: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert not {name.split(".")[0] for name in imported} & HEAVY
    assert all(name.startswith(LIGHT) for name in imported if name.startswith("tractable."))
