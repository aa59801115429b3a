"""The search for the number of mixture components, in ascending order."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from tractable.base.progress import Key, Watch
from tractable.circuit import Graph
from tractable.circuit.states import graph_forms
from tractable.learning.statistics.encoding import Encoding

SCORED = Key(__name__, "scored", tuple[Graph, float])

PATIENCE = 2  # early stopping: sizes in a row that may be no better before the search ends


def best_size(
    sizes: Iterable[int],
    score_size: Callable[[int, Watch], tuple[Graph, float]],
    watch: Watch,
    encoding: Encoding,
    rng: np.random.Generator,
) -> Graph:
    """The circuit of the best size; sizes above the first that has one component per row are skipped.

    `rng` is what `score_size` draws from.
    """
    best, best_score, worse = None, -np.inf, 0
    order = sorted(set(sizes))
    for done, size in enumerate(order):
        work = partial(score_size, size)
        graph, score = watch.remember(SCORED.at(size), work, rng, graph_forms(encoding.schema))
        worse = 0 if score > best_score else worse + 1
        if best is None or score > best_score:
            best, best_score = graph, score
        watch.report("number of components", done + 1, len(order), best_score)
        if worse >= PATIENCE or watch.should_stop() or size >= len(encoding.weights):
            break
    assert best is not None
    return best
