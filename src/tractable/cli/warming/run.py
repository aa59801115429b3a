"""The run of a warm-up, and what it found."""

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from joblib import parallel_config

from tractable.base.compiled import cache_folder, compile_at_once
from tractable.base.compiling import on_compile
from tractable.base.progress import Watch
from tractable.cli.warming.parts import Part


class WarmUp(NamedTuple):
    """What was compiled, and where it is kept."""

    parts: int  # that were used
    functions: int  # that were compiled; the others were in the cache already
    seconds: float
    cache: Path | None  # the folder of the cache; None if there is none that can be written


def warm_up(parts: Sequence[Part], watch: Watch | None = None) -> WarmUp:
    """Use parts of the package once each, so that later processes find everything they need compiled."""
    compiled: list[str] = []
    began = time.perf_counter()
    compile_at_once()
    done = 0
    with (
        watch or Watch() as watching,
        on_compile(lambda name: None if name is None else compiled.append(name)),
        parallel_config(n_jobs=1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # about the small tables
        for part in parts:
            watching.report(f"{part.group}: {part.name}", done, len(parts))
            if watching.should_stop():
                break
            part.run()
            done += 1
    return WarmUp(done, len(compiled), time.perf_counter() - began, cache_folder())
