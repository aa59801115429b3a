"""Who listens is told what is compiled, and a terminal says so in one line."""

import io
import sys
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from tractable.base.compiled import Trial, inner, kernel
from tractable.base.compiling import announce, on_compile
from tractable.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def line_after(
    monkeypatch: pytest.MonkeyPatch, seconds: Sequence[float], arguments: Sequence[str], stderr: io.StringIO
) -> str:
    """What is written while functions are compiled that take so many seconds each."""
    clock = iter(np.repeat(np.cumsum([0.0, *seconds]), 2)[1:].tolist())
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr("tractable.cli.progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress.compile_notice(arguments):
        for _ in seconds:
            announce("upward")
            announce(None)
    return stderr.getvalue()


def test_a_long_compilation_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert line_after(monkeypatch, [0.3, 0.3, 0.3, 2.0], ["query"], Terminal()) == progress.LINE


def test_a_moment_is_not_worth_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert line_after(monkeypatch, [0.2, 0.2], ["query"], Terminal()) == ""


@pytest.mark.parametrize("option", ["--json", "--quiet", "-q"])
def test_who_wants_silence_gets_it(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    assert line_after(monkeypatch, [9.0], ["query", option], Terminal()) == ""


def test_a_file_gets_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert line_after(monkeypatch, [9.0], ["query"], io.StringIO()) == ""


def test_functions_that_are_compiled_are_told_by_name_and_their_end_by_none() -> None:
    @inner
    def below(x: int) -> int:
        return x + 1

    @kernel
    def above(x: int) -> int:
        return 2 * below(x)

    told: list[str | None] = []
    with on_compile(told.append):
        assert above(1) == above(1) == 4
    assert told in (["above", "below", None], [])  # nothing if compilation is switched off
    with on_compile(told.append):
        assert above(3) == 8
    assert told.count("above") <= 1


def test_a_trial_interprets_a_kernel_and_then_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "at_once", False)  # which a warm-up before this test may have left
    trial = Trial(uncached=10.0, cached=10.0)

    @trial.kernel
    def doubled(x: int) -> int:
        return 2 * x

    told: list[str | None] = []
    with on_compile(told.append):
        assert doubled(4) == 8
        assert not told
        trial.spent = 11.0
        assert doubled(4) == 8
    assert told in (["doubled", None], [])
