"""States that training rows did not have count a reserved share of probability, or are an error."""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tractable as tr
from tractable.data import Schema, Table, Variable, as_table, read, unseen_share

TRAIN = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": [1, 2, 3, 1], "c": [0.5, 1.5, 2.5, 4.0]})


@pytest.fixture(scope="module")
def circuit() -> tr.Circuit:
    fitted: tr.Circuit = tr.ChowLiuTree().fit(TRAIN).circuit_
    return fitted


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
def test_a_row_is_its_other_cells_times_the_share(circuit: tr.Circuit) -> None:
    share = 0.5 / 5
    assert circuit.unseen_share == unseen_share(4.0) == share
    rows = pd.DataFrame({"a": ["x", "z", "z"], "b": [1, 2, 9], "c": [1.0, 1.0, None]})
    expected = [
        circuit.log_prob({"a": "x", "b": 1, "c": 1.0}),
        circuit.log_prob({"b": 2, "c": 1.0}) + math.log(share),
        2 * math.log(share),
    ]
    np.testing.assert_allclose(circuit.log_prob(rows), expected)
    known: dict[Any, float] = circuit.marginals()["a"]
    assert sum(known.values()) == pytest.approx(1.0, abs=1e-12)  # the share comes on top


def test_the_number_of_rows_is_told_once(circuit: tr.Circuit) -> None:
    rows = pd.DataFrame({"a": ["x", "z", "w"], "b": [1, 2, 9], "c": [1.0, 1.0, 1.0]})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        circuit.log_prob(rows)
    (one,) = told
    assert str(one.message) == (
        "2 rows have states that do not occur in the training rows (in 'a', 'b'): each such cell counts"
        " log(0.1)"
    )


def test_other_queries_take_it_as_missing(circuit: tr.Circuit) -> None:
    strange, gap = (pd.DataFrame({"a": [a], "b": [1], "c": [1.0]}) for a in ("z", None))
    for ask in (
        lambda rows: circuit.marginals(rows=rows)["a"],
        lambda rows: circuit.mpe(rows=rows).log_prob,
        lambda rows: circuit.log_conditional(rows, ["b"]),
    ):
        with pytest.warns(tr.TableWarning, match="such a cell counts as missing"):
            found = ask(strange)
        np.testing.assert_array_equal(found, ask(gap))


def test_imputation_leaves_an_unknown_state_as_it_is(circuit: tr.Circuit) -> None:
    strange = pd.DataFrame({"a": ["z", None], "b": [1, 1], "c": [1.0, 1.0]})
    with pytest.warns(tr.TableWarning, match="such a cell counts as missing"):
        assert circuit.impute(strange)["a"].tolist() == ["z", "x"]


def test_evidence_with_an_unknown_state_is_an_error(circuit: tr.Circuit) -> None:
    with pytest.raises(ValueError, match=r"column 'a' has no state 'z' \(its states: 'x', 'y'\)"):
        circuit.prob({"a": "z"})
    with pytest.raises(ValueError, match="column 'a' has no state 'z'"):
        circuit.log_prob({"a": "z"})


def test_a_circuit_that_reserves_nothing_refuses(circuit: tr.Circuit) -> None:
    strict = tr.ChowLiuTree(unseen="error").fit(TRAIN)
    assert strict.circuit_.about["unseen"] is None
    strange = TRAIN.assign(a="z")
    for score in (strict.score, strict.circuit_.log_prob, tr.Circuit(circuit.graph).log_prob):
        with pytest.raises(ValueError, match="row 0: column 'a' has no state 'z'"):
            score(strange)
    table = as_table(strange, circuit.schema, unseen="missing")
    with pytest.raises(ValueError, match="no probability is reserved"):
        strict.circuit_.log_prob(table)
    with pytest.raises(ValueError, match="unseen must be 'share' or 'error'"):
        tr.ChowLiuTree(unseen="maybe").fit(TRAIN)


def test_derived_circuits_and_files_keep_the_share(circuit: tr.Circuit, tmp_path: Any) -> None:
    circuit.save(tmp_path / "m.tract")
    made = (
        tr.load(tmp_path / "m.tract"),
        circuit.condition({"b": 1}),
        circuit.marginalise("b"),
        tr.mixture([circuit]),
    )
    assert [one.unseen_share for one in made] == [0.1] * 4


def test_a_table_knows_its_unseen_cells_through_selections() -> None:
    schema = Schema((Variable("a", "categorical", ("x", "y")), Variable("b", "categorical", (1, 2))))
    table = as_table({"a": ["x", "z", None], "b": [3, 2, 1]}, schema, unseen="missing")
    assert table.unseen_cells.tolist() == [1, 1, 0]
    assert table.missing.tolist() == [[False, True], [True, False], [True, False]]
    assert table.take(np.array([1, 2])).unseen_cells.tolist() == [1, 0]
    assert table.select([0]).unseen_cells.tolist() == [0, 1, 0]
    assert table.reweight(np.ones(3)).unseen_cells.tolist() == [1, 1, 0]
    assert Table(schema, np.zeros((2, 2))).unseen_cells.tolist() == [0, 0]


@given(
    st.lists(st.sampled_from(["x", "y", "z", None]), min_size=1),
    st.sampled_from([("x", "y"), ("y",), ("0", "x")]),
)
def test_lenient_coding_is_strict_coding_cell_by_cell(
    cells: list[str | None], states: tuple[str, ...]
) -> None:
    schema = Schema((Variable("a", "categorical", states),))
    table = as_table({"a": cells}, schema, unseen="missing")
    for cell, code, strange in zip(cells, table.values[:, 0], table.unseen_cells, strict=True):
        assert strange == (cell is not None and cell not in states)
        assert np.isnan(code) if cell not in states else states[int(code)] == cell


def test_numbers_in_files_may_be_unseen(tmp_path: Any) -> None:
    (tmp_path / "train.data").write_text("0,1\n1,0\n")
    (tmp_path / "test.data").write_text("2,1\n1,0\n")
    schema = read(tmp_path / "train.data").schema
    table = read(tmp_path / "test.data", schema=schema, unseen="missing")
    assert table.unseen_cells.tolist() == [1, 0]
    with pytest.raises(ValueError, match="row 0: column 'x0' has no state 2"):
        read(tmp_path / "test.data", schema=schema)


@pytest.mark.filterwarnings("ignore::tractable.data.problems.TableWarning")
def test_tuning_parameters_and_networks_go_on_with_unseen_states(circuit: tr.Circuit) -> None:
    valid = pd.DataFrame({"a": ["x", "z"], "b": [1, 2], "c": [1.0, 1.0]})
    tuned = tr.tune("independent", TRAIN, valid, trials=1)
    assert tuned.circuit.unseen_share == 0.1
    with pytest.raises(ValueError, match="row 1: column 'a' has no state 'z'"):
        tr.tune("independent", TRAIN, valid, trials=1, unseen="error")
    assert tr.tune("independent", TRAIN, TRAIN, trials=1, unseen="error").circuit.unseen_share is None
    assert tr.fit_parameters(circuit, valid, "cccp", valid=valid).unseen_share == 0.1
    names = TRAIN[["a", "b"]].astype(str)
    network = tr.MarkovNetwork(random_state=0).fit(names, valid=names.assign(a="z"))
    assert np.isfinite(network.score(names.assign(a="z")))
    assert network.score(names.assign(a="z")) < network.score(names.assign(a=None))


def test_a_number_that_is_not_whole_is_rounded_with_a_warning() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.integers(50, 200, 120), "kind": rng.choice(["a", "b"], 120)})
    model = tr.ChowLiuTree().fit(frame)
    other = pd.DataFrame({"size": [97.5, 98.0], "kind": ["a", "a"]})
    with pytest.warns(tr.TableWarning, match="'size' held whole numbers.*1 of 2 cells are rounded"):
        scores = model.score_samples(other)
    assert scores[0] == scores[1]
    with pytest.raises(ValueError, match="row 0: column 'size' holds whole numbers"):
        tr.ChowLiuTree(unseen="error").fit(frame).score_samples(other)
