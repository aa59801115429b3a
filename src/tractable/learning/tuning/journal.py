"""A file of trials from which an interrupted search continues.

The first JSON line describes the search, the others are trials. An incomplete last line is ignored and
overwritten.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from sys import float_info
from types import TracebackType
from typing import Any, Self

from tractable.base.settings import setting_text
from tractable.formats.atomic import lock, name_file_in_errors, write_text
from tractable.learning.tuning.trial import Trial, best_of

FORMAT = "tractable study 1"
DIFFERENCES = {
    "algorithm": "another algorithm ({theirs}, not {mine})",
    "settings": "other fixed settings",
    "space": "another search space",
    "sampler": "another sampler ({theirs}, not {mine})",
    "seed": "another seed ({theirs}, not {mine})",
    "train": "other training rows",
    "valid": "other validation rows",
}

TYPES = {
    "number": int,
    "settings": dict,
    "seconds": int | float,
    "edges": int,
    "finished": bool,
    "fault": str,
}


class Journal:
    """The file of a search, which one process at a time may use.

    Raises:
        ValueError: if the file is not a study, belongs to another search, is damaged or in use.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path
        if not path.exists() or path.stat().st_size == 0:
            write_text(path, _line({"format": FORMAT} | header))
        self._file = path.open("r+b")
        try:
            if not lock(self._file, wait=False):
                raise ValueError(f"study '{path}' is in use by another search")
            self.trials = self._read(header)
        except BaseException:
            self._file.close()
            raise

    def add(self, trial: Trial) -> None:
        """Append a trial to the file, which is on disk when this returns."""
        facts = asdict(trial) | {"score": trial.score if isfinite(trial.score) else None}
        with name_file_in_errors(self._path):
            self._file.write(_line(facts).encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        self.trials.append(trial)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _read(self, header: dict[str, Any]) -> list[Trial]:
        """The trials of the file; the next one is appended after them."""
        *whole, rest = self._file.read().split(b"\n")
        self._check_header(_parse(whole[0] if whole else rest), header)
        trials = []
        for number, line in enumerate(whole[1:], start=2):
            trial = _trial(_parse(line))
            if trial is None:
                raise ValueError(f"study '{self._path}', line {number}: this is not a trial")
            trials.append(trial)
        self._file.seek(-len(rest), os.SEEK_END)
        self._file.truncate()
        return trials

    def _check_header(self, facts: Any, wanted: dict[str, Any]) -> None:
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise ValueError(f"'{self._path}' is not a study of settings")
        for name, words in DIFFERENCES.items():
            theirs, mine = facts.get(name), wanted[name]
            if theirs != mine:
                raise ValueError(f"study '{self._path}' is of {words.format(theirs=theirs, mine=mine)}")


def _line(facts: dict[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False) + "\n"


def _parse(line: bytes) -> Any:
    """The value of a line of JSON, or None if it is invalid."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _trial(facts: Any) -> Trial | None:
    """The trial of a line of the file, or None if it is invalid."""
    if not isinstance(facts, dict) or set(facts) != set(Trial.__dataclass_fields__):
        return None
    if not all(isinstance(facts[name], kind) for name, kind in TYPES.items()):
        return None
    if not _is_number(facts["seconds"]) or not (facts["score"] is None or _is_number(facts["score"])):
        return None
    settings = {name: _as_tuple(value) for name, value in facts["settings"].items()}
    score = -inf if facts["score"] is None else float(facts["score"])
    return Trial(**facts | {"settings": settings, "score": score})


def _is_number(value: Any) -> bool:
    """Whether a value is a number that a double can represent; integers in JSON have any size."""
    return isinstance(value, int | float) and abs(value) <= float_info.max


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


# ---- trials as a table of text --------------------------------------------------------------------------


def table_text(trials: Sequence[Trial]) -> str:
    """One line per trial, the best marked by a star; settings are written as after `--set`."""
    best = best_of(trials)
    names = list(trials[0].settings)
    head = ["", "trial", "score", "seconds", "edges", *names, ""]
    rows = [head, *(_cells(trial, names, trial is best) for trial in trials)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return (
        "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
            + f"  {row[-1]}"
            for row in rows
        )
        .replace("  \n", "\n")
        .rstrip()
    )


def _cells(trial: Trial, names: Sequence[str], is_best: bool) -> list[str]:
    settings = [setting_text(trial.settings[name]) for name in names]
    remark = trial.fault or ("" if trial.finished else "stopped early")
    numbers = [str(trial.number), f"{trial.score:.5f}", f"{trial.seconds:.2f}", f"{trial.edges:,}"]
    return ["*" if is_best else "", *numbers, *settings, " ".join(remark.split())]
