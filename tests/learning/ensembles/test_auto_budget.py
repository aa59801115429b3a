"""Members of `auto` whose rows take long to score do not exceed the time."""

import time

import numpy as np
import pytest

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.data import clinic
from tractable.engine import log_values
from tractable.learning.ensembles.auto import members
from tractable.learning.ensembles.auto.candidates import Candidate
from tractable.learning.ensembles.auto.members import Fold, Task, row_scores
from tractable.learning.joint import LEARNERS


def slow_rows(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let the score of a row take so long, as it does under a large circuit."""

    def slow(graph: Graph, rows: Floats) -> Floats:
        time.sleep(seconds * len(rows))
        return log_values(graph, rows)

    monkeypatch.setattr(members, "log_values", slow)


def test_rows_are_scored_at_once_or_in_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    table = clinic(500, 0)
    graph = LEARNERS["chow-liu"]().learn(table, np.random.default_rng(0))
    expected = log_values(graph, table.values)
    np.testing.assert_array_equal(row_scores(graph, table.values, Watch()), expected)
    slow_rows(monkeypatch, 0.0005)
    monkeypatch.setattr(members, "CHUNK_SECONDS", 0.05)
    np.testing.assert_array_equal(row_scores(graph, table.values, Watch(seconds=100)), expected)


def test_a_member_whose_rows_cannot_be_scored_in_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_rows(monkeypatch, 0.02)
    table = clinic(2000, 0)
    fold = Fold(table, table, table)
    candidate = Candidate("naive-bayes", 1, {})
    task = Task(candidate, LEARNERS["naive-bayes"](), [fold], 0, 1.0)
    begin = time.monotonic()
    member = task.run(Watch(seconds=0.5))
    assert time.monotonic() - begin < 10, "all rows would take forty seconds"
    assert member.graph is None
    assert not member.finished
    assert member.fault == "there was no time to score its rows"


def test_the_models_that_are_always_there_are_scored_however_long_that_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow_rows(monkeypatch, 0.005)
    table = clinic(400, 0)
    task = Task(
        Candidate("independent", 1, {}), LEARNERS["independent"](), [Fold(table, table, table)], 0, None
    )
    assert task.run(Watch(seconds=1e-6)).graph is not None
