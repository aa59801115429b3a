"""Sweeps over many rows: batches shared among threads, tiles inside each batch."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import numpy as np

from tractable.base.arrays import Floats
from tractable.base.threads import default_threads
from tractable.circuit.facts import remembered
from tractable.circuit.graph import Graph
from tractable.engine.inputs import Question, Regions, ask, batch, every_column
from tractable.engine.program import ValuePlaces
from tractable.engine.scaling import NO_LINE, join, new_lines
from tractable.engine.up import Span, Tile, sweep_up

TILE = 128  # rows evaluated together: enough to fill vector lanes, few enough to stay in the cache
SMALL_TILE = 8
WIDE_TILE = 512  # rows for which Python is called once, where so few operations still leave room in the cache
WIDE_BYTES = 1 << 19  # that the values of a wide tile may take
TILE_BYTES = 1 << 27  # that the values of one tile may take
BATCH_BYTES = 1 << 24  # that the inputs of one batch may take
SPARE_BYTES = 1 << 26  # that the values of the tiles may take which are kept for the next question
SPARES = 4  # tiles that are kept, those used last
THREAD_WORK = 10_000_000  # edges times rows that another thread is worth: some milliseconds
ACROSS = 64  # lines that are written to columns together
SLICES = 4  # of the rows for each of several threads

P = TypeVar("P")
T = TypeVar("T")


def threads_or_default(threads: int | None) -> int:
    """The number of threads to use: as many as asked for, or else the default of `tractable.base.threads`."""
    return default_threads() if threads is None else max(1, threads)


def useful_threads(threads: int | None, graph: Graph, rows: int) -> int:
    """The number of threads that have enough to do: as many as asked for, and fewer for little work."""
    return min(threads_or_default(threads), 1 + graph.edges * rows // THREAD_WORK)


def log_values(
    graph: Graph,
    rows: Floats,
    regions: Regions | None = None,
    *,
    maximise: bool = False,
    best: frozenset[int] = frozenset(),
    threads: int | None = None,
) -> Floats:
    """The logarithm of the root's value for each row; a NaN is summed out, within its region if it has one.

    Missing cells of the columns `best` take, leaf by leaf, their best value instead: an upper bound on the
    value of any completion. With `maximise` sums, too, take their largest term, and all columns are `best`.
    Shape (rows,).
    """
    question = ask(graph, regions, best=every_column(graph) if maximise else best)
    return question_log_values(question, rows, maximise=maximise, threads=threads)


def question_log_values(question: Question, rows: Floats, *, maximise: bool, threads: int | None) -> Floats:
    """The logarithm of the root's value for each row, for a circuit that was prepared already."""
    code = question.code
    if code.constant or not len(rows):
        return np.full(len(rows), code.log_factor)
    width, ops = tile_width(code.slots, len(rows)), code.program.kind.size
    places = ValuePlaces(code.program.slot, code.program.operand_slot, False)

    def run(part: slice) -> Floats:
        inputs = batch(question, rows[part], width)
        with borrowed_tile(code.slots, width) as tile:
            root = sweep_up(code.program, places, inputs, tile, Span(0, inputs.rows, 0, ops), maximise)
        return join(*root)[: part.stop - part.start]

    return joined(in_parts(run, question, len(rows), width, threads)) + code.log_factor


@remembered
def log_partition_function(graph: Graph) -> float:
    """log Z: the logarithm of a circuit's sum (or integral) over all rows; a potential counts as one.

    It is -inf for a circuit that is zero everywhere. The circuit is taken to be smooth and decomposable. The
    number is computed once and kept with the circuit.
    """
    missing = np.full((1, len(graph.schema)), np.nan)
    return float(log_values(graph, missing)[0])


def tile_width(slots: int, rows: int, widest: int = TILE) -> int:
    """The number of rows to evaluate together: small if there are few rows or if each needs much memory."""
    width = widest
    while width > SMALL_TILE and (width >= 2 * rows or slots * width * 8 > TILE_BYTES):
        width //= 2
    return width


def wide_tile_width(slots: int, rows: int, widest: int = TILE) -> int:
    """The tile width if every tile is a call from Python: larger for many rows of a small circuit."""
    width = WIDE_TILE
    while width > widest and (4 * width > rows or slots * width * 8 > WIDE_BYTES):
        width //= 2
    return width if width > widest else tile_width(slots, rows, widest)


def new_tile(slots: int, width: int, flows: int = 0) -> Tile:
    """Memory for the values of a tile, whose exponents may also be shared by a number of flows."""
    value = np.empty((slots + 1, width))  # unlike np.zeros, in large pages
    value[-1] = 1.0
    return Tile(value, np.full(slots, NO_LINE), new_lines(slots + flows + 2, width))


_spares: list[Tile] = []  # tiles that no thread uses: fresh memory costs as much as some sweeps
_lock = Lock()


@contextmanager
def borrowed_tile(slots: int, width: int, flows: int = 0) -> Iterator[Tile]:
    """Room for the values of a tile, if possible that of an earlier question, its values still there."""
    shape, least = (slots + 1, width), slots + flows
    with _lock:
        fitting = [
            i for i, t in enumerate(_spares) if t.value.shape == shape and t.lines.holders.size > least
        ]
        tile = _spares.pop(fitting[-1]) if fitting else new_tile(slots, width, flows)
    yield tile
    with _lock:
        _spares.append(tile)
        while len(_spares) > SPARES or sum(spare.value.nbytes for spare in _spares) > SPARE_BYTES:
            del _spares[0]


def write_across(lines: Floats, rows: Floats) -> None:
    """Write lines, each of which has a number for every row, to the columns of rows.

    A few lines at a time, so that what is read and what is written stay in the cache.
    """
    for i in range(0, len(lines), ACROSS):
        rows[:, i : i + ACROSS] = lines[i : i + ACROSS].T


def in_parts(
    run: Callable[[slice], T],
    question: Question,
    rows: int,
    width: int,
    threads: int | None,
    batch_bytes: int = BATCH_BYTES,
) -> list[T]:
    """The results of `run` for consecutive slices of the rows, computed by several threads.

    `batch_bytes` is what the inputs of a slice should take, if it is four tiles long or longer.
    """
    workers = useful_threads(threads, question.graph, rows)
    each = (question.code.dense_node.size * 3 + len(question.graph.schema) * 2) * 8 + 1
    tile = each * width
    most = min(BATCH_BYTES // tile, max(batch_bytes // tile, 4))
    size = slice_tiles(-(-rows // width), max(most, 1), workers) * width
    return map_threads(run, [slice(i, min(i + size, rows)) for i in range(0, rows, size)], workers)


def slice_tiles(tiles: int, most: int, workers: int) -> int:
    """The number of tiles in a slice: at most a given number, with equally many slices for all workers.

    Several workers take several slices each, so that one on a busy core does not hold up the others.
    """
    each = 1 if workers == 1 else max(1, min(SLICES, tiles // (4 * workers)))
    each = max(each, -(-tiles // (most * workers)))
    return -(-tiles // min(each * workers, tiles))


def joined(parts: list[Floats]) -> Floats:
    """The parts one after another; a single one is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def map_threads(run: Callable[[P], T], parts: Sequence[P], workers: int) -> list[T]:
    """The results of `run` for all parts, in order, computed by several threads."""
    workers = min(workers, len(parts))
    if workers <= 1:
        return [run(part) for part in parts]
    found: dict[int, T] = {}
    todo = deque(enumerate(parts))  # which several threads may take from

    def work() -> None:
        try:
            while todo:
                try:
                    i, part = todo.popleft()
                except IndexError:  # another thread was faster
                    return
                found[i] = run(part)
        except BaseException:
            todo.clear()  # nothing more is begun
            raise

    with ThreadPoolExecutor(workers - 1) as pool:
        others = [pool.submit(work) for _ in range(workers - 1)]
        work()  # this thread would have nothing to do
        for other in others:
            other.result()
    return [found[i] for i in range(len(parts))]
