"""`python -m fuzz --minutes 20 --seed 0`: all kinds in turn, until the time is over."""

import argparse
import faulthandler
import sys
import time
import warnings
from pathlib import Path

from fuzz.cases import SECONDS_A_CASE, Tally, run_one
from fuzz.kinds import KINDS, SHARES

DESCRIPTION = "Run random cases until the time is over; exit with 1 if one failed."


def main() -> int:
    """The exit code of the driver."""
    options = _options()
    warnings.simplefilter("error", RuntimeWarning)
    warnings.simplefilter("ignore", UserWarning)
    tallies = {kind: Tally(kind) for kind in options.kinds}
    if options.replay:
        kind, seed, number = options.replay.split(":")
        tallies = {kind: Tally(kind)}
        run_one(KINDS[kind], tallies[kind], int(seed), int(number), options.keep)
    else:
        _run_all(tallies, 60 * options.minutes, options.seed, options.keep)
    for tally in tallies.values():
        print(tally)
        for failure in tally.failures:
            print(f"  {failure}/failure.txt: {_last_line(failure)}")
    return int(any(tally.failures for tally in tallies.values()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=DESCRIPTION)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="another one each time, unless given"
    )
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument(
        "--keep", type=Path, default=Path("build/fuzz"), help="where cases that fail are kept"
    )
    parser.add_argument("--replay", metavar="KIND:SEED:NUMBER", help="run one case again")
    options = parser.parse_args()
    options.keep = options.keep.resolve()
    return options


def _run_all(tallies: dict[str, Tally], seconds: float, seed: int, keep: Path) -> None:
    """Run kinds in turn; each gets its share of the time."""
    print(f"seed {seed}", flush=True)
    spent = dict.fromkeys(tallies, 0.0)
    number = dict.fromkeys(tallies, 0)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        kind = min(tallies, key=lambda one: spent[one] / SHARES[one])
        started = time.monotonic()
        faulthandler.dump_traceback_later(2 * SECONDS_A_CASE, exit=True)  # for what no signal interrupts
        before = len(tallies[kind].failures)
        run_one(KINDS[kind], tallies[kind], seed, number[kind], keep)
        if len(tallies[kind].failures) > before:
            print(
                f"failed: {tallies[kind].failures[-1]}: {_last_line(tallies[kind].failures[-1])}", flush=True
            )
        number[kind] += 1
        spent[kind] += time.monotonic() - started
    faulthandler.cancel_dump_traceback_later()


def _last_line(failure: Path) -> str:
    return (failure / "failure.txt").read_text(encoding="utf-8").strip().splitlines()[-1][:200]


if __name__ == "__main__":
    sys.exit(main())
