"""What macOS or Windows do not have is not needed."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tractable.cli.benchmark import memory
from tractable.cli.benchmark.children import _ending

SOURCES = Path(__file__).parents[2] / "src" / "tractable"
POSIX = {"fcntl", "grp", "posix", "pwd", "resource", "termios"}  # modules that Windows does not have

WITHOUT_POSIX = """
import os, signal, sys
for module in ("fcntl", "resource"):
    sys.modules[module] = None
for module, names in (
    (os, ("sched_getaffinity", "pread", "fchmod", "killpg", "setsid", "getuid")),
    (signal, ("SIGKILL", "SIGPIPE", "pthread_sigmask")),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""
SEARCH = """
import tractable as tr
from tractable.data import clinic
for trials in (2, 3):
    found = tr.tune("chow-liu", clinic(100), clinic(50, random_state=1), trials=trials, storage="study")
print(len(found.trials), len(open("study").readlines()))
"""
APPEND = """
from pathlib import Path
from tractable.cli.benchmark import append_result, read_results
from tractable.cli.benchmark.datasets import DataSet
from tractable.cli.benchmark.memory import peak_memory
from tractable.cli.benchmark.runs import Job
for learner in ("chow-liu", "independent"):
    append_result(Path("results"), Job(DataSet("clinic"), learner).result(None, "crashed"))
    with open("results", "a") as file:
        file.write('{"dataset": "cl')
print(len(read_results(Path("results"))), peak_memory() >= 0)
"""
REMOTE = """
from joblib import Parallel, delayed
from tractable.base.progress import Watch, share
def work(shared):
    with shared.connect() as watch:
        watch.report("working", 1)
seen = []
with share(Watch(seen.append)) as shared:
    Parallel(n_jobs=2, backend="threading")(delayed(work)(shared) for _ in range(2))
print(len(seen))
"""


@pytest.mark.parametrize(
    ("program", "answer"),
    [(SEARCH, "3 4"), (APPEND, "2 True"), (REMOTE, "2")],
    ids=["tune", "bench", "watch"],
)
def test_work_goes_on_without_what_only_posix_has(program: str, answer: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_POSIX + program]
    paths = os.pathsep.join([str(SOURCES.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == (answer, 0), done.stderr


def test_no_file_needs_a_module_that_windows_lacks_to_be_imported() -> None:
    for file in SOURCES.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not POSIX & {name.partition(".")[0] for name in names}, file


def test_memory_is_measured_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "STATUS", Path("/nowhere/status"))
    assert memory.peak_memory() > 0
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory.peak_memory() == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [(-9, "want of memory"), (-11, "SIGSEGV"), (-200, "signal 200"), (3221225477, "no word")],
)
def test_every_exit_code_has_words(code: int, words: str) -> None:
    assert words in _ending(code, "")
