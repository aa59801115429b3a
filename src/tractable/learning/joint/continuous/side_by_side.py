"""Several works at once, on as many threads as there are."""

from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeVar

from joblib import Parallel, delayed

from tractable.base.progress import InnerWatch, Watch
from tractable.base.threads import default_threads

T = TypeVar("T")


def rounds_of(works: int) -> int:
    """How many works each thread does, one after the other."""
    return ceil(works / default_threads())


def side_by_side(
    works: Sequence[Callable[[Watch], T]], watch: Watch, seconds: float | None = None
) -> list[T]:
    """The result of each work, which has an even share of the time that is left, and at most `seconds`."""
    threads, rounds = default_threads(), rounds_of(len(works))

    def run(place: int) -> T:
        share = watch.left
        if share is not None:
            share /= rounds - place // threads
            share = share if seconds is None else min(share, seconds)
        return works[place](InnerWatch(watch, seconds=share))

    parallel = Parallel(min(threads, max(1, len(works))), prefer="threads")
    return list(parallel(delayed(run)(place) for place in range(len(works))))
