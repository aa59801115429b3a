"""A few random cases of each kind; `make fuzz` runs more."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from fuzz.cases import Case, Tally, run_one
from fuzz.kinds import KINDS, SHARES

CASES = {"damage": 300, "answers": 50, "commands": 15, "kills": 1, "interrupts": 1, "budgets": 1}
SEED = int(os.environ.get("FUZZ_SEED", "0"))


@pytest.mark.parametrize("kind", KINDS)
def test_random_cases_end_well(kind: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tally = Tally(kind)
        for number in range(CASES[kind]):
            run_one(KINDS[kind], tally, SEED, number, tmp_path)
    print(tally)
    told = [(failure / "failure.txt").read_text(encoding="utf-8") for failure in tally.failures]
    assert not told, "\n".join(told)


def test_what_make_runs_starts() -> None:
    root = Path(__file__).parents[2]
    printed = subprocess.run(["make", "-n", "fuzz"], cwd=root, capture_output=True, text=True, check=True)
    (path,) = re.findall(r"PYTHONPATH=(\S+)", printed.stdout)
    source = os.pathsep.join([path, *(p for p in sys.path if not Path(p).is_relative_to(root / "tests"))])
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--minutes", "0", "--seed", "0"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "seed 0"


def test_every_kind_has_a_share_of_the_time() -> None:
    assert set(KINDS) == set(SHARES) == set(CASES)
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_a_case_that_fails_is_kept_and_can_be_run_again(tmp_path: Path) -> None:
    def fail(case: Case) -> str:
        number = int(case.rng.integers(1 << 30))
        (case.folder / "made.txt").write_text(str(number))
        raise AssertionError(f"drew {number}")

    tally = Tally("fails")
    for _ in range(2):
        run_one(fail, tally, 3, 5, tmp_path)
    first, second = tally.failures
    assert first == second == tmp_path / "fails-3-5"
    drawn = (first / "made.txt").read_text()
    told = (first / "failure.txt").read_text()
    assert told.startswith("make fuzz REPLAY=fails:3:5\n")
    assert f"drew {drawn}" in told
    assert "2 failed" in str(tally)
