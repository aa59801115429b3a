"""What C code makes of an interrupt still ends as one."""

import os
import signal
import subprocess
import sys

import pytest

PRELUDE = """
import os, signal, sys
from tractable.cli.faults import run_guarded
from tractable.base.interrupts import note_interrupts
note_interrupts()
def interrupted():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("initialization failed") from None
def broken():
    raise ImportError("really missing")
class HalfMade:
    def __del__(self):
        raise AttributeError("half made")
"""


def call(body: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", PRELUDE + body]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")
def test_an_interrupt_that_became_another_error_is_told_as_an_interrupt() -> None:
    done = call("half = HalfMade()\ncode = run_guarded(interrupted)\ndel half\nsys.exit(code)")
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "tractable: interrupted\n"


def test_without_an_interrupt_errors_are_shown() -> None:
    done = call("half = HalfMade()\ndel half\nrun_guarded(broken)")
    assert done.returncode == 1
    assert "half made" in done.stderr
    assert "really missing" in done.stderr
