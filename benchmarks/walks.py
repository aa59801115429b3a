"""The source files that a call passes, for the walks of docs/architecture.md.

`python benchmarks/walks.py query` prints how many there are, and with `--functions` what is called in each.
The call is made twice and only the second is traced: imports and what is computed once are not counted.
"""

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import tractable as tr
from tractable.data import clinic, to_frame

SOURCE = Path(tr.__file__).parent
TARGETS = ["lung_cancer", "bronchitis"]


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """The walks, over files in a folder."""
    from tractable.cli import run

    train, valid = (to_frame(clinic(rows, seed), like="pandas") for rows, seed in ((300, 0), (150, 1)))
    train.to_csv(folder / "train.csv", index=False)
    valid.to_csv(folder / "valid.csv", index=False)
    tr.ChowLiuTree().fit(train).circuit_.save(folder / "m.tract")
    learn = [
        "learn",
        "auto",
        "train.csv",
        "--valid",
        "valid.csv",
        "--budget",
        "90s",
        "--jobs",
        "1",
        "-q",
        "--seed",
    ]
    seeds = iter(range(10))
    return {
        "query": lambda: tr.load(folder / "m.tract").prob("smoker=yes", given="x_ray=shadow"),
        "auto": lambda: run([*learn, str(next(seeds))]),
        "idspn": lambda: tr.IDSPN(jobs=1, random_state=0).fit(train, valid=valid),
        "daclearn": lambda: tr.DACLearn(random_state=0).fit(train.drop(columns=TARGETS), train[TARGETS]),
    }


def passed(work: Callable[[], object]) -> dict[str, list[str]]:
    """The functions that a call passes in this process, by their files, in the order of first calls."""
    found: dict[str, dict[str, None]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and file.is_relative_to(SOURCE):
            found.setdefault(str(file.relative_to(SOURCE)), {})[frame.f_code.co_qualname] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {file: list(names) for file, names in found.items()}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("walk", choices=["query", "auto", "idspn", "daclearn"])
    parser.add_argument("--functions", action="store_true", help="print the functions called in each file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        work = calls(Path(folder))[options.walk]
        work()
        files = passed(work)
        os.chdir(SOURCE)
    print(f"{options.walk}: {len(files)} files")
    for file, names in files.items() if options.functions else ():
        print(f"  {file}: {', '.join(names)}")


if __name__ == "__main__":
    main()
