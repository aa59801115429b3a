"""The search for a model's size: larger and larger, until that no longer helps."""

from collections.abc import Callable, Iterable

import numpy as np

from tractable.circuit import Graph
from tractable.progress import Watch

PATIENCE = 2  # sizes in a row that may be no better before the search ends


def best_size(
    sizes: Iterable[int], scored: Callable[[int], tuple[Graph, float]], watch: Watch, largest: int
) -> Graph:
    """The circuit whose size scores best; sizes beyond the first that reaches `largest` are not tried."""
    best, best_score, worse = None, -np.inf, 0
    order = sorted(set(sizes))
    for done, size in enumerate(order):
        graph, score = scored(size)
        worse = 0 if score > best_score else worse + 1
        if best is None or score > best_score:
            best, best_score = graph, score
        watch.report("number of components", done + 1, len(order), best_score)
        if worse >= PATIENCE or watch.should_stop() or size >= largest:
            break
    assert best is not None
    return best
