"""Watches: alone, within another one, and shared with other processes."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from multiprocessing.connection import Listener
from pathlib import Path
from typing import Any

import pytest
from joblib import Parallel, delayed

from tractable.base.progress import InnerWatch, Progress, SharedWatch, Watch, share

SOURCE = str(Path(__file__).parents[2] / "src")
ENDLESS = 30.0  # seconds after which a test has failed


def wait_for(happened: Callable[[], object]) -> None:
    end = time.monotonic() + ENDLESS
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


# ---- a watch within another -----------------------------------------------------------------------------


def test_an_inner_watch_stops_with_the_outer_one_and_not_the_other_way_round() -> None:
    outer = Watch()
    inner = InnerWatch(outer)
    innermost = InnerWatch(inner)
    inner.interrupted = True
    assert innermost.interrupted
    assert innermost.should_stop()
    assert not outer.should_stop()
    other = InnerWatch(InnerWatch(outer))
    outer.interrupted = True
    assert other.interrupted
    assert other.should_stop()


def test_the_goal_of_a_part_is_that_of_the_parts_within_it() -> None:
    outer = Watch()
    inner = InnerWatch(outer, goal=-1.0)
    assert (outer.goal, inner.goal, InnerWatch(inner).goal, InnerWatch(inner, goal=-2.0).goal) == (
        -inf,
        -1,
        -1,
        -2,
    )


def test_the_time_of_a_part_is_what_is_left_or_its_own() -> None:
    outer = Watch(seconds=100.0)
    left = InnerWatch(outer).left
    assert left is not None
    assert 99 < left <= 100
    assert InnerWatch(outer, seconds=0.0).out_of_time()
    assert InnerWatch(outer, seconds=inf).left is None
    late = Watch(seconds=0.0)
    assert InnerWatch(late).should_stop()
    assert not InnerWatch(late, seconds=50.0).should_stop()
    assert InnerWatch(Watch()).left is None


def test_reports_of_a_part_go_to_the_outer_watch_or_elsewhere() -> None:
    seen: list[Progress] = []
    mine: list[Progress] = []
    outer = Watch(seen.append)
    InnerWatch(outer).report("step", 1, 2, -3.0)
    InnerWatch(outer, mine.append).report("step", 2)
    assert seen == [("step", 1, 2, -3.0)]
    assert mine == [("step", 2, None, None)]


def test_an_interrupt_in_a_callback_stops_the_parts_that_report_to_it() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    outer = Watch(interrupt)
    inner = InnerWatch(outer)
    inner.report("step", 1)
    assert outer.interrupted
    assert inner.should_stop()


# ---- a watch shared with other processes ----------------------------------------------------------------

CHILD = """
import pickle, sys, time
shared = pickle.load(sys.stdin.buffer)
with shared.connect() as watch:
    watch.report("working", 1, 10, -2.5)
    end = time.monotonic() + 30
    while not watch.should_stop() and time.monotonic() < end:
        time.sleep(0.01)
    print(watch.interrupted, watch.out_of_time())
"""
BUSY = """
import pickle, sys, time
shared = pickle.load(sys.stdin.buffer)
with shared.connect() as watch:
    begin, done = time.monotonic(), 0
    while time.monotonic() < begin + 1.0:
        done += 1
        watch.report("working", done)
    print(done)
"""


@contextmanager
def child(shared: SharedWatch, program: str = CHILD) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process that was given a shared watch."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": SOURCE},
    )
    assert process.stdin is not None
    try:
        pickle.dump(shared, process.stdin)
        process.stdin.close()
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def answer(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    text = process.stdout.read().decode().strip()
    assert process.wait(ENDLESS) == 0
    return text


def test_reports_arrive_from_another_process_and_an_interrupt_goes_there() -> None:
    seen: list[Progress] = []
    watch = Watch(seen.append)
    with share(watch) as shared, child(shared) as process:
        wait_for(lambda: seen)
        assert seen == [Progress("working", 1, 10, -2.5)]
        assert process.poll() is None
        watch.interrupted = True
        assert answer(process) == "True False"


def test_the_time_budget_holds_in_another_process() -> None:
    with share(Watch(seconds=3.0)) as shared, child(shared) as process:
        assert answer(process) == "False True"


def test_every_one_of_several_processes_is_interrupted() -> None:
    seen: list[Progress] = []
    watch = Watch(seen.append)
    with share(watch) as shared, child(shared) as one, child(shared) as other:
        wait_for(lambda: len(seen) == 2)
        watch.interrupted = True
        assert answer(one) == answer(other) == "True False"


def test_the_death_of_a_process_is_no_trouble_for_the_others() -> None:
    seen: list[Progress] = []
    watch = Watch(seen.append)
    with share(watch) as shared:
        with child(shared) as victim:
            wait_for(lambda: seen)
            victim.kill()
            victim.wait()
        with child(shared) as process:
            wait_for(lambda: len(seen) == 2)
            watch.interrupted = True
            assert answer(process) == "True False"
        begin = time.monotonic()
    assert time.monotonic() - begin < 5


def test_a_process_whose_parent_is_gone_works_on_until_its_time_is_over() -> None:
    seen: list[Progress] = []
    with share(Watch(seen.append, seconds=4.0)) as shared:
        process = child(shared)
        running = process.__enter__()
        wait_for(lambda: seen)
    assert running.poll() is None
    assert answer(running) == "False True"
    process.__exit__(None, None, None)


@pytest.mark.parametrize("address", [None, "/nowhere/at/all", ("localhost", 1)])
def test_a_process_that_reaches_nobody_works_alone(address: str | tuple[str, int] | None) -> None:
    shared = SharedWatch(address, b"key", time.time() + 100)
    with shared.connect() as watch:
        watch.report("working", 1)
        assert not watch.should_stop()
        assert watch.left is not None
        assert 90 < watch.left < 100
    with replace(shared, until=time.time() - 1).connect() as watch:
        assert watch.should_stop()
        assert not watch.interrupted


def test_who_does_not_have_the_key_is_not_heard() -> None:
    seen: list[Progress] = []
    watch = Watch(seen.append)
    with share(watch) as shared:
        with replace(shared, key=b"guessed").connect() as other:
            other.report("forged", 1)
        with child(shared) as process:  # and it does no harm
            wait_for(lambda: seen)
            watch.interrupted = True
            answer(process)
    assert [progress.stage for progress in seen] == ["working"]
    assert str(shared.key) not in repr(shared)


def test_reports_are_few_however_often_a_process_reports() -> None:
    seen: list[Progress] = []
    with share(Watch(seen.append)) as shared, child(shared, BUSY) as process:
        assert int(answer(process)) > 100
    assert 2 <= len(seen) <= 11


def test_an_interrupt_in_a_callback_reaches_the_process_that_reported() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    watch = Watch(interrupt)
    with share(watch) as shared, child(shared) as process:
        assert answer(process) == "True False"
    assert watch.interrupted


def test_a_fault_of_a_callback_stops_the_work_and_is_raised() -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError("the screen is broken")

    with (
        pytest.raises(RuntimeError, match="the screen is broken"),
        share(Watch(fail)) as shared,
        child(shared) as process,
    ):
        assert answer(process) == "True False"
    with pytest.raises(ZeroDivisionError), share(Watch(fail)) as shared, child(shared) as process:
        assert 1 / len(answer(process)[:0])  # a fault of the block itself is not hidden


def test_the_block_may_end_while_a_call_is_being_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    accept = Listener.accept

    def slow(listener: Listener) -> Any:
        connection = accept(listener)
        time.sleep(0.5)
        return connection

    monkeypatch.setattr(Listener, "accept", slow)
    seen: list[Progress] = []
    with share(Watch(seen.append)) as shared, child(shared, CHILD.replace("+ 30", "+ 0.1")) as process:
        answer(process)
    assert len(seen) == 1


def test_in_the_same_process_there_is_nothing_between_the_watches() -> None:
    seen: list[Progress] = []
    watch = Watch(seen.append, seconds=100.0)
    with share(watch) as shared, shared.connect() as same:
        for step in range(50):
            same.report("working", step)
        assert len(seen) == 50
        watch.interrupted = True
        assert same.should_stop()
    assert same.left is not None
    assert 90 < same.left < 100


def test_many_threads_of_another_process_may_ask_whether_to_stop() -> None:
    """Only one of them can hear the interrupt; all of them must know."""
    program = CHILD.replace(
        "    end =", "    from concurrent.futures import ThreadPoolExecutor\n    end ="
    ).replace(
        "    while not watch.should_stop() and time.monotonic() < end:\n        time.sleep(0.01)\n",
        "    def ask(_):\n        while not watch.should_stop() and time.monotonic() < end: pass\n"
        "    with ThreadPoolExecutor(8) as pool:\n        list(pool.map(ask, range(8)))\n",
    )
    seen: list[Progress] = []
    watch = Watch(seen.append)
    with share(watch) as shared, child(shared, program) as process:
        wait_for(lambda: seen)
        watch.interrupted = True
        assert answer(process) == "True False"


def _report(number: int, shared: SharedWatch) -> int:
    with shared.connect() as watch:
        watch.report("working", number)
    return os.getpid()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_of_joblib_report(backend: str) -> None:
    seen: list[Progress] = []
    with share(Watch(seen.append)) as shared:
        where = Parallel(n_jobs=2, backend=backend)(delayed(_report)(number, shared) for number in range(4))
    assert sorted(progress.done for progress in seen) == [0, 1, 2, 3]
    assert (os.getpid() in where) == (backend == "threading")
