"""Metrics of multi-label predictions, against scikit-learn and brute force."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import tractable as tr
from tractable.cli import run
from tractable.cli.reports import label_metrics, prediction_metrics
from tractable.data import clinic, to_frame


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 5))
def test_metrics_are_those_of_scikit_learn(seed: int, rows: int, targets: int) -> None:
    rng = np.random.default_rng(seed)
    truth, found = rng.integers(0, 2, (2, rows, targets)).astype(np.float64)
    times = rng.integers(1, 4, rows)
    mine = label_metrics(truth, found, times.astype(np.float64), np.ones(targets, dtype=np.bool_))
    true, guess = np.repeat(truth, times, axis=0), np.repeat(found, times, axis=0)
    assert mine["hamming_loss"] == pytest.approx(metrics.hamming_loss(true, guess))
    assert mine["exact_match"] == pytest.approx((true == guess).all(axis=1).mean())
    if targets > 1:
        for name, average in (("f1", "samples"), ("f1_micro", "micro"), ("f1_macro", "macro")):
            expected = metrics.f1_score(true, guess, average=average, zero_division=1.0)
            assert mine[name] == pytest.approx(expected), name
        expected = metrics.jaccard_score(true, guess, average="samples", zero_division=1.0)
        assert mine["jaccard"] == pytest.approx(expected)


def test_targets_with_more_states_count_for_hamming_loss_and_exact_match_only() -> None:
    truth, found = np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    answer = label_metrics(truth, found, np.ones(2), np.zeros(2, dtype=np.bool_))
    assert answer == {"hamming_loss": 0.25, "exact_match": 0.5}
    mixed = label_metrics(truth, found, np.ones(2), np.array([True, False]))
    assert mixed["f1"] == 1.0


def test_predictions_are_best_states_given_the_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = clinic(200)
    to_frame(table, like="pandas").to_csv("t.csv", index=False)
    assert run(["learn", "chow-liu", "t.csv", "-o", "m.tract", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["score", "m.tract", "t.csv", "--given", "age", "--metrics", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    circuit = tr.load("m.tract")
    rows = tr.read("t.csv", schema=circuit.schema)
    column = circuit.schema.column("age")
    targets = [c for c in range(len(circuit.schema)) if c != column and circuit.schema[c].is_categorical]
    whole = rows.take(np.flatnonzero(~rows.missing[:, targets].any(axis=1)))
    right = []
    for row in whole.values:
        label = circuit.schema[column].states[int(row[column])] if not np.isnan(row[column]) else None
        best = circuit.mpe({"age": label} if label is not None else None).row
        right.append(all(best[circuit.schema[c].name] == circuit.schema[c].label(row[c]) for c in targets))
    assert found["rows"] == len(whole)
    assert found["mpe"]["exact_match"] == pytest.approx(np.mean(right))
    assert run(["score", "m.tract", "t.csv", "--given", "age", "--metrics"]) == 0
    assert "hamming_loss" in capsys.readouterr().out
    assert run(["score", "m.tract", "t.csv", "--metrics"]) == 2
    assert "name the columns to predict from" in capsys.readouterr().err


def test_a_target_that_is_missing_leaves_its_row_out() -> None:
    circuit = tr.ChowLiuTree().fit({"a": ["x", "y"] * 10, "b": ["p", "q"] * 10}).circuit_
    rows = tr.Table(circuit.schema, np.array([[0.0, 0.0], [1.0, np.nan], [1.0, 0.0]]))
    found = prediction_metrics(circuit.graph, rows, [0])
    assert (found["rows"], found["targets"]) == (2, 1)
    assert found["marginals"]["hamming_loss"] == 0.5
    with pytest.raises(ValueError, match="has a categorical target"):
        prediction_metrics(circuit.graph, rows.take(np.array([1])), [0])
