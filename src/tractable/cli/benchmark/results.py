"""Results as lines of JSON: what is measured stays measured, also when a benchmark is cut short."""

import os
from pathlib import Path
from typing import IO

from tractable.cli.benchmark.runs import Run
from tractable.formats.locks import lock
from tractable.formats.places import name_file_in_errors

START = b'{"dataset": '  # of every line


def read_results(path: Path) -> list[Run]:
    """The latest run of each measurement in a file; nothing if there is no file.

    An incomplete last line is ignored.

    Raises:
        ValueError: naming a line that is not a result.
    """
    if not path.exists():
        return []
    runs: dict[str, Run] = {}
    *whole, half = path.read_bytes().split(b"\n")
    if half[: len(START)] != START[: len(half)]:  # a file of something else, which is not ours to cut
        raise ValueError(f"{path}, line {len(whole) + 1}: this is not a result of a benchmark")
    for number, line in enumerate(whole, start=1):
        if line.strip():
            try:
                run = Run.from_json(line.decode("utf-8", "replace"))
            except ValueError as fault:
                raise ValueError(f"{path}, line {number}: {fault}") from None
            runs.pop(run.key, None)
            runs[run.key] = run
    return list(runs.values())


def append_result(path: Path, run: Run) -> None:
    """Add a run to a file, in the place of a last line that was half written; others may do so meanwhile."""
    with name_file_in_errors(path), path.open("ab+") as file:
        lock(file, wait=True)
        _cut_half_a_line(file)
        file.write(run.to_json().encode("utf-8") + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _cut_half_a_line(file: IO[bytes]) -> None:
    """Shorten a file to its last end of a line."""
    start = file.seek(0, os.SEEK_END)
    tail = b""
    while start > 0 and b"\n" not in tail:
        size = min(1 << 16, start)
        start = file.seek(start - size)
        tail = file.read(size)
    file.truncate(start + tail.rfind(b"\n") + 1)
