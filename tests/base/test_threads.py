"""The number of threads: an argument, a block around the work, a variable that is only read, or all cores."""

import ast
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tractable.base.threads import available_cores, default_threads, use_threads
from tractable.cli.training import cores
from tractable.engine.sweep import threads_or_default

SOURCES = Path(__file__).parents[2] / "src" / "tractable"


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACTABLE_THREADS", raising=False)


def test_every_core_has_a_thread_unless_somebody_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_threads() == available_cores() >= 1
    monkeypatch.setenv("TRACTABLE_THREADS", "")
    assert default_threads() == available_cores()
    monkeypatch.setenv("TRACTABLE_THREADS", "7")
    assert default_threads() == 7
    with use_threads(3):
        assert default_threads() == threads_or_default(None) == 3
        assert threads_or_default(2) == 2
        with use_threads(5):
            assert default_threads() == 5
            with use_threads(None):
                assert default_threads() == 5
        assert default_threads() == 3
    assert default_threads() == 7
    assert os.environ["TRACTABLE_THREADS"] == "7"


def test_what_was_chosen_is_restored_after_a_fault() -> None:
    before = default_threads()
    with pytest.raises(RuntimeError), use_threads(before + 1):
        raise RuntimeError
    assert default_threads() == before


@pytest.mark.parametrize("count", [0, -3])
def test_there_is_at_least_one_thread(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with use_threads(count):
        assert default_threads() == 1
    monkeypatch.setenv("TRACTABLE_THREADS", str(count))
    assert default_threads() == threads_or_default(count) == 1


def test_a_variable_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACTABLE_THREADS", "many")
    with pytest.raises(ValueError, match="TRACTABLE_THREADS must be a number of threads, not 'many'"):
        default_threads()


def test_cores_are_counted_where_the_system_does_not_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert available_cores() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1


def test_worker_threads_see_the_choice() -> None:
    with use_threads(3), ThreadPoolExecutor(1) as pool:
        assert pool.submit(default_threads).result() == 3


def test_blocks_of_several_threads_that_overlap_leave_nothing_behind() -> None:
    """The first block entered ends before the second one does."""
    before, first_may_end = default_threads(), Event()

    def first() -> None:
        with use_threads(11):
            assert first_may_end.wait(10)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first)
        with use_threads(12):
            first_may_end.set()
            running.result()
            assert default_threads() == 12
    assert default_threads() == before


def test_the_command_line_uses_as_many_cores_as_it_is_told() -> None:
    from joblib import effective_n_jobs

    with cores(3):
        assert (default_threads(), effective_n_jobs(None)) == (3, 3)
    with cores(None):
        assert default_threads() == available_cores()
        assert effective_n_jobs(None) > 1 or available_cores() == 1


def test_no_code_changes_the_environment() -> None:
    methods = {"pop", "update", "setdefault", "clear", "popitem"}
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript | ast.Attribute) and ast.unparse(node.value) == "os.environ":
                assert isinstance(node.ctx, ast.Load), file
                assert not (isinstance(node, ast.Attribute) and node.attr in methods), file
