"""How rows are dealt with together: threads, tiles, stretches, memory; and the kernels as plain Python."""

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from closeness import close
from random_circuits import random_graph

from tractable.base.arrays import Floats
from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.engine import backward, completions, draw, log_values, posterior, posteriors, sweep
from tractable.engine.up import Tile


def _half_missing(rng: np.random.Generator, schema: Schema, count: int) -> Floats:
    rows = np.stack([rng.integers(0, max(v.cardinality, 2), count) for v in schema], axis=1).astype(float)
    return np.where(rng.random(rows.shape) < 0.5, np.nan, rows)


def _mixed_graph(seed: int) -> Graph:
    """A circuit over columns of one to five states, counts and real numbers."""
    rng = np.random.default_rng(seed)
    states = [1, 2, 2, 3, 5, 0, 0]
    builder = Builder(Schema((*discrete_schema(states[:5]), Variable("r", "real"), Variable("c", "count"))))

    def leaf(column: int) -> int:
        if states[column]:
            return builder.leaf("categorical", column, np.log(rng.dirichlet(np.ones(states[column]))))
        if column % 2:
            return builder.leaf("gaussian", column, rng.normal(size=2))
        return builder.leaf("poisson", column, rng.normal(size=1))

    below = [leaf(0) for _ in range(3)]
    for column in range(1, len(states)):
        leaves = [leaf(column) for _ in range(3)]
        products = [builder.product([below[i % 3], leaves[rng.integers(3)]]) for i in range(6)]
        below = [
            builder.sum(list(rng.permutation(products)[:4]), np.log(rng.dirichlet(np.ones(4))))
            for _ in range(3)
        ]
    builder.sum(below, np.log([0.2, 0.3, 0.5]))
    return builder.freeze()


ANSWERS: dict[str, Callable[[Graph, Floats, int], Floats]] = {
    "values": lambda g, rows, threads: log_values(g, rows, threads=threads),
    "largest": lambda g, rows, threads: log_values(g, rows, maximise=True, threads=threads),
    "posteriors": lambda g, rows, threads: posteriors(g, rows, threads=threads),
    "best": lambda g, rows, threads: completions(g, rows, threads=threads),
    "drawn": lambda g, rows, threads: completions(g, rows, 5, threads=threads),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_two_threads_give_the_same_bits_as_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "THREAD_WORK", 1)
    graph = _mixed_graph(1)
    rows = _half_missing(np.random.default_rng(2), graph.schema, 999)
    one, two = (ANSWERS[name](graph, rows, threads) for threads in (1, 2))
    assert np.array_equal(one, two, equal_nan=True)


def test_little_work_is_done_by_one_thread() -> None:
    graph = random_graph(np.random.default_rng(0), 40, 10_000)
    assert sweep.useful_threads(2, graph, 512) == 1
    assert sweep.useful_threads(2, graph, 20_000) == 2
    assert sweep.useful_threads(1, graph, 10**9) == 1


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_threads_answer_for_all_parts_in_their_order(workers: int) -> None:
    assert sweep.map_threads(lambda i: i * i, range(20), workers) == [i * i for i in range(20)]
    assert sweep.map_threads(lambda i: i * i, [], workers) == []


@pytest.mark.parametrize("error", [ValueError, IndexError])
@pytest.mark.parametrize("bad", [0, 1, 5, 19])
def test_what_a_part_raises_is_raised_whichever_thread_it_ran_in(bad: int, error: type[Exception]) -> None:
    def run(i: int) -> int:
        if i == bad:
            raise error("a bad part")
        return i

    for workers in (1, 2, 3):
        with pytest.raises(error, match="a bad part"):
            sweep.map_threads(run, range(20), workers)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_slices_are_small_enough_and_threads_have_as_many_tiles_each(most: int, workers: int) -> None:
    for tiles in range(1, 60):
        size = sweep.slice_tiles(tiles, most, workers)
        slices = -(-tiles // size)
        assert 1 <= size <= most
        longest = -(-slices // workers) * size  # tiles that the busiest thread has to do
        assert longest <= -(-tiles // workers) + -(-slices // workers)


@pytest.mark.parametrize("name", ["values", "largest", "posteriors", "best"])
def test_a_row_alone_has_the_answer_it_has_among_others(name: str) -> None:
    graph = _mixed_graph(3)
    rows = _half_missing(np.random.default_rng(4), graph.schema, 150)
    together = ANSWERS[name](graph, rows, 1)
    for i in (0, 70, 149):
        assert close(ANSWERS[name](graph, rows[i : i + 1], 1)[0], together[i], 1e-12)


@pytest.mark.parametrize("width", [8, 16, 32, 64, 128, 512])
def test_the_width_of_a_tile_changes_no_answer(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _mixed_graph(5)
    rows = _half_missing(np.random.default_rng(6), graph.schema, 130)
    usual = [answer(graph, rows, 1) for answer in ANSWERS.values()]
    monkeypatch.setattr(sweep, "tile_width", lambda slots, rows: width)
    for module in (posterior, draw):
        monkeypatch.setattr(module, "wide_tile_width", lambda slots, rows, widest=128: width)
    for before, answer in zip(usual, ANSWERS.values(), strict=True):
        assert close(answer(graph, rows, 1), before, 1e-12)


def test_a_tile_is_lent_to_one_at_a_time_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Tile] = []
    monkeypatch.setattr(sweep, "_spares", kept)
    with sweep.borrowed_tile(5, 8) as one, sweep.borrowed_tile(5, 8) as two:
        assert one.value is not two.value
        one.value[:-1] = np.nan
    with sweep.borrowed_tile(5, 16) as other:
        assert other.value.shape == (6, 16)
    with sweep.borrowed_tile(5, 8) as again:
        assert again.value is one.value
        assert (again.value[-1] == 1.0).all()
    for slots in range(10):
        with sweep.borrowed_tile(slots, 8):
            pass
    assert len(kept) == sweep.SPARES
    monkeypatch.setattr(sweep, "SPARE_BYTES", 0)
    with sweep.borrowed_tile(77, 8):
        pass
    assert all(tile.value.shape[0] != 78 for tile in kept)


@pytest.mark.parametrize("name", ["posteriors", "best", "drawn"])
def test_what_a_tile_held_before_changes_no_answer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = _mixed_graph(9)
    rows = _half_missing(np.random.default_rng(10), graph.schema, 200)
    monkeypatch.setattr(sweep, "_spares", [])
    fresh = ANSWERS[name](graph, rows, 1)
    for tile in sweep._spares:
        tile.value[:-1], tile.line[:], tile.lines.exponent[:] = np.nan, 0, np.nan
    assert sweep._spares
    assert np.array_equal(ANSWERS[name](graph, rows, 1), fresh, equal_nan=True)


def test_tiles_are_wide_for_many_rows_of_a_small_circuit_alone() -> None:
    assert sweep.wide_tile_width(100, 4000) == 512
    assert sweep.wide_tile_width(100, 1500) == 256
    assert sweep.wide_tile_width(100, 600) == sweep.wide_tile_width(10_000, 4000) == 128
    assert sweep.wide_tile_width(100, 1) == sweep.tile_width(100, 1)


@pytest.mark.parametrize("stretch", [1, 2, 7, 30])
def test_posteriors_do_not_depend_on_where_a_program_is_cut(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _half_missing(np.random.default_rng(8), _mixed_graph(7).schema, 130)
    whole = posteriors(_mixed_graph(7), rows)
    monkeypatch.setattr(backward, "WHOLE", 0)
    monkeypatch.setattr(backward, "STRETCH", stretch)
    assert close(posteriors(_mixed_graph(7), rows), whole, 1e-13)
    monkeypatch.setattr(posterior, "STRETCH_TILE", 64)  # from which on cut programs take wider tiles
    assert close(posteriors(_mixed_graph(7), rows), whole, 1e-13)


def test_the_statistics_of_a_missing_column_add_up_to_one() -> None:
    graph = random_graph(np.random.default_rng(0), 40, 5000, states=3)
    rows = _half_missing(np.random.default_rng(1), graph.schema, 300)
    answer = posteriors(graph, rows).reshape(300, 40, 3)
    assert np.allclose(answer.sum(axis=2), 1.0, rtol=0, atol=1e-10)


# ---- the kernels as plain Python ----------------------------------------------------------------------

PLAIN_PYTHON = """
import numpy as np
from random_circuits import random_graph
from tractable.engine import completions, log_values, posteriors
graph = random_graph(np.random.default_rng(0), 4, 60, states=3)
rows = np.array([[0, 1, np.nan, 2], [np.nan] * 4, [2, 2, 1, 0]], dtype=float)
answers = [log_values(graph, rows), posteriors(graph, rows)]
answers += [completions(graph, rows), completions(graph, rows, 1)]
print(*np.concatenate([answer.ravel() for answer in answers]).tolist())
"""


def test_the_kernels_mean_the_same_when_they_are_not_compiled() -> None:
    answers = [_run(PLAIN_PYTHON, NUMBA_DISABLE_JIT=flag) for flag in ("0", "1")]
    compiled, plain = (np.array(answer.split(), dtype=float) for answer in answers)
    assert close(plain, compiled, 1e-12)


# ---- memory -------------------------------------------------------------------------------------------

MEMORY = """
import resource
import numpy as np
from random_circuits import random_graph
from tractable.engine import log_values, posteriors
rng = np.random.default_rng(0)
graph = random_graph(rng, 50, 20_000)
rows = rng.integers(0, 2, (20_000, 50)).astype(float)
log_values(graph, rows[:1000]), posteriors(graph, rows[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
log_values(graph, rows)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_number_of_values() -> None:
    """All 20,000 x 7,500 values would take more than a gigabyte."""
    assert int(_run(MEMORY)) < 100_000


def _run(program: str, **environment: str) -> str:
    command = [sys.executable, "-c", program]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=settings).stdout
