"""The circuit as users hold it: everything they type, and everything they mistype."""

import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import oracle
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_circuits import random_graph

import tractable as tr
from tractable.circuit import Builder, Graph

SCHEMA = tr.Schema(
    (
        tr.Variable("smoker", "categorical", ("no", "yes")),
        tr.Variable("age", "categorical", ("-40", "40-60", "60+")),
        tr.Variable("height", "real"),
        tr.Variable("visits", "count"),
    )
)


def clinic(frame: str = "pandas") -> tr.Circuit:
    """A small mixture over columns of every kind; its weights do not add up to one."""
    builder = Builder(SCHEMA)
    parts = []
    for odds, ages, mean, log_rate in (
        (-1.0, [0.5, 0.3, 0.2], 165.0, 0.2),
        (0.8, [0.1, 0.3, 0.6], 178.0, 1.3),
    ):
        parts.append(
            builder.product(
                [
                    builder.leaf("bernoulli", 0, [odds]),
                    builder.leaf("categorical", 1, np.log(ages)),
                    builder.leaf("gaussian", 2, [mean, math.log(8.0)]),
                    builder.leaf("poisson", 3, [log_rate]),
                ]
            )
        )
    return tr.Circuit(
        builder.freeze(builder.sum(parts, np.log([3.0, 5.0]))), {"frame": frame, "note": "kept"}
    )


ROWS: dict[str, list[Any]] = {
    "smoker": ["yes", None, "no"],
    "age": ["60+", "40-60", None],
    "height": [170.5, None, 181.0],
    "visits": [2, None, None],
}


def forms_of_rows() -> dict[str, Any]:
    shuffled = {name: ROWS[name] for name in ("visits", "age", "smoker", "height")}
    listed = [dict(zip(ROWS, cells, strict=True)) for cells in zip(*ROWS.values(), strict=True)]
    frame = pd.DataFrame(ROWS)
    return {
        "pandas": frame,
        "pandas, other order": pd.DataFrame(shuffled),
        "pandas, other index": frame.set_index(pd.Index([7, 7, 3])),
        "pandas categoricals": frame.astype({"smoker": "category", "age": "category"}),
        "polars": pl.DataFrame(ROWS),
        "polars, lazy": pl.LazyFrame(shuffled),
        "pyarrow": pa.table(ROWS),
        "lists by column": shuffled,
        "arrays by column": {name: np.array(cells, dtype=object) for name, cells in ROWS.items()},
        "series by column": {name: pd.Series(cells) for name, cells in shuffled.items()},
        "rows as dictionaries": listed,
        "rows as lists": [list(row.values()) for row in listed],
        "object array": np.array([list(row.values()) for row in listed], dtype=object),
        "coded": tr.Table(
            SCHEMA, np.array([[1, 2, 170.5, 2], [np.nan, 1, np.nan, np.nan], [0, np.nan, 181, np.nan]])
        ),
    }


@pytest.mark.parametrize("form", forms_of_rows())
def test_rows_of_any_form_have_the_same_answers(form: str) -> None:
    rows, circuit = forms_of_rows()[form], clinic()
    expected = [
        circuit.log_prob({"smoker": "yes", "age": "60+", "height": 170.5, "visits": 2}),
        circuit.log_prob("age=40-60"),
        circuit.log_prob({"smoker": "no", "height": 181.0}),
    ]
    np.testing.assert_allclose(circuit.log_prob(rows), expected)
    np.testing.assert_allclose(
        circuit.marginals(rows)["smoker"][1, 1], circuit.prob("smoker=yes", "age=40-60")
    )
    assert circuit.mpe(rows).log_prob.shape == (3,)
    assert len(circuit.impute(rows, "mean")) == 3
    conditional = circuit.log_conditional(rows, ["age"])
    assert conditional[1] == pytest.approx(0.0)


def test_a_list_of_dictionaries_says_what_is_known_of_each_row() -> None:
    circuit = clinic()
    rows: list[dict[str, Any]] = [{"age": "60+"}, {}, {"visits": 2, "smoker": "no"}]
    np.testing.assert_allclose(circuit.log_prob(rows), [circuit.log_prob(row) for row in rows])
    with pytest.raises(ValueError, match="'weight'"):
        circuit.log_prob([{"weight": 70}])


def empty_forms() -> list[Any]:
    frame = pd.DataFrame(ROWS)
    return [
        frame.iloc[:0],
        pl.DataFrame(ROWS).clear(),
        np.empty((0, 4)),
        [],
        {n: [] for n in ROWS},
        frame[:0].to_dict("list"),
    ]


@pytest.mark.parametrize("rows", empty_forms(), ids=lambda x: type(x).__name__)
def test_no_rows_have_empty_answers(rows: Any) -> None:
    circuit = clinic()
    assert circuit.log_prob(rows).shape == (0,)
    assert circuit.log_conditional(rows, "age").shape == (0,)
    assert {n: x.shape for n, x in circuit.marginals(rows=rows).items()}["age"] == (0, 3)
    assert circuit.mpe(rows=rows).log_prob.shape == (0,)
    for method in ("mpe", "mean", "sample"):
        assert len(circuit.impute(rows, method)) == 0
    assert len(circuit.sample(0)) == 0


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c.prob({"smokes": "yes"}), "there is no column 'smokes'"),
        (lambda c: c.prob({"smoker": "maybe"}), "column 'smoker' has no state 'maybe'"),
        (lambda c: c.prob("smoker=maybe"), "column 'smoker' has no state 'maybe'"),
        (lambda c: c.prob("smoker"), "not a condition of the form name=value"),
        (lambda c: c.prob({"height": "tall"}), "column 'height' is real: 'tall' is not a number"),
        (lambda c: c.prob({"height": (3, 2)}), "the interval from 3 to 2 is empty"),
        (lambda c: c.prob({"visits": 1.5}), "column 'visits' holds counts"),
        (lambda c: c.prob({"age": set()}), "column 'age' has no possible state left"),
        (lambda c: c.prob(5), "evidence must be a dictionary of columns or a string, not a int"),
        (lambda c: c.prob(pd.Series({"smoker": "yes"})), "a dictionary of columns or a string, not a Series"),
        (lambda c: c.log_prob(np.zeros((2, 3))), "the array has 3 columns, but the schema has 4"),
        (lambda c: c.log_prob(np.zeros(4)), "two dimensions"),
        (lambda c: c.log_prob([["yes", "60+", 170.0]]), "the array has 3 columns, but the schema has 4"),
        (lambda c: c.log_prob(pd.DataFrame({"extra": [1]})), "the table has none of the columns"),
        (lambda c: c.log_prob({**ROWS, "age": ["60+", "60+", "?"]}), "column 'age' has no state '?'"),
        (lambda c: c.log_prob(pd.DataFrame({**ROWS, "visits": [1, 2, -1]})),
            "row 2: column 'visits' holds counts"
        ),
        (lambda c: c.log_prob(object()), "not a table"),
        (lambda c: c.log_conditional(pd.DataFrame(ROWS), ["weight"]), "there is no column 'weight'"),
        (lambda c: c.joint_marginal(["smoker", "height"]), "column 'height' is real: it has no table"),
        (lambda c: c.mpe(columns=["weight"]), "there is no column 'weight'"),
        (lambda c: c.mpe({"smoker": "yes"}, pd.DataFrame(ROWS)), "pass either evidence or rows, not both"),
        (lambda c: c.mpe(method="best"), "there is no method 'best'"),
        (lambda c: c.mpe(method="exact"), "column 'height' is real"),
        (lambda c: c.sample(-1), "the number of rows must be at least 0, not -1"),
        (lambda c: c.sample(2, {"age": "50"}), "column 'age' has no state '50'"),
        (lambda c: c.impute(pd.DataFrame(ROWS), "median"), "there is no method 'median'"),
        (lambda c: c.expectation("age"), "column 'age' has text states"),
        (lambda c: c.entropy(), "method='sample' estimates it"),
        (lambda c: c.entropy(method="guess"), "there is no method 'guess'"),
        (lambda c: c.mutual_information("age", ["age", "smoker"]),
            "column 'age' is in both groups of columns"
        ),
        (lambda c: c.condition({"smoker": "maybe"}), "no state 'maybe'"),
        (lambda c: c.condition({"height": (170.0, 170.0)}), "probability zero"),
        (lambda c: c.marginalise(["weight"]), "there is no column 'weight'"),
        (lambda c: tr.mixture([]), "a mixture needs at least one circuit"),
        (lambda c: tr.mixture([c, c.marginalise("age")]), "column 'age' is not the same"),
        (lambda c: tr.mixture([c, c], [1.0, -1.0]), "weights of a mixture"),
        (lambda c: tr.product([]), "a product needs at least one circuit"),
        (lambda c: tr.product([c, c]), "two columns are called 'smoker'"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_in_one_line(ask: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        ask(clinic())
    assert "\n" not in str(caught.value)


def test_evidence_in_words_and_in_a_dictionary_is_the_same() -> None:
    circuit = clinic()
    pairs: list[tuple[str, dict[str, Any]]] = [
        ("age in {40-60, 60+}", {"age": {"40-60", "60+"}}),
        ("age != -40", {"age": ["40-60", "60+"]}),
        ("height=[160, 170], smoker=yes", {"height": (160, 170), "smoker": "yes"}),
        ("height >= 160", {"height": slice(160, None)}),
        ("visits <= 3", {"visits": (None, 3)}),
        ("", {}),
    ]
    for text, mapping in pairs:
        assert circuit.prob(text) == pytest.approx(circuit.prob(mapping))
        assert circuit.log_prob(text) == pytest.approx(math.log(circuit.prob(mapping)))
        assert circuit.expectation("visits", text) == pytest.approx(circuit.expectation("visits", mapping))


def test_nothing_known_is_certain_and_contradictions_are_impossible() -> None:
    circuit = clinic()
    assert circuit.prob({}) == circuit.prob(None) == pytest.approx(1.0)
    assert circuit.prob({"smoker": None, "height": float("nan")}) == pytest.approx(1.0)
    assert circuit.prob({"smoker": "yes"}, {"smoker": "no"}) == 0.0
    assert circuit.log_prob_of({"height": (0, 10)}, {"height": (20, 300)}) == -math.inf
    assert circuit.prob({"age": {"-40", "60+"}}, {"age": {"60+", "40-60"}}) == pytest.approx(
        circuit.prob({"age": "60+"}) / circuit.prob({"age": {"60+", "40-60"}})
    )
    assert circuit.prob({"height": (160, 200)}, {"height": 170.0}) == pytest.approx(1.0)


def test_posteriors_of_numbers_have_a_mean_and_a_spread() -> None:
    circuit = clinic()
    found = circuit.marginals({"smoker": "yes", "height": (150, 180)})
    assert found["smoker"] == {"no": 0.0, "yes": 1.0}
    assert sum(found["age"].values()) == pytest.approx(1.0)
    assert found["height"]["mean"] == pytest.approx(
        circuit.expectation("height", "smoker=yes, height=[150, 180]")
    )
    assert found["visits"]["std"] ** 2 == pytest.approx(
        circuit.variance("visits", "smoker=yes, height=[150, 180]")
    )
    assert circuit.marginals()["height"]["mean"] == pytest.approx((3 * 165 + 5 * 178) / 8)


def test_a_spread_keeps_its_digits_far_from_zero() -> None:
    builder = Builder(tr.Schema((tr.Variable("second", "real"),)))
    builder.leaf("gaussian", 0, [1.7e9, math.log(2.7)])
    circuit = tr.Circuit(builder.freeze())
    assert circuit.variance("second") == pytest.approx(2.7**2)
    assert circuit.marginals()["second"] == pytest.approx({"mean": 1.7e9, "std": 2.7})
    assert circuit.marginals(rows=[{"second": None}])["second"] == pytest.approx(np.array([[1.7e9, 2.7]]))


@pytest.mark.parametrize(
    ("frame", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table), ("numpy", np.ndarray)],
)
def test_draws_come_as_the_kind_of_frame_that_was_fitted(frame: str, kind: Any) -> None:
    circuit = clinic(frame)
    frames: list[Any] = [
        circuit.sample(3, random_state=1),
        tr.mixture([circuit, circuit]).sample(3),
        circuit.condition({"smoker": "yes"}).sample(3),
        circuit.marginalise("age").sample(3),
        circuit.mpe(rows=list(map(list, zip(*ROWS.values(), strict=True)))).rows,
    ]
    for made in frames:
        assert isinstance(made, kind)
        assert len(made) == 3


def test_imputed_rows_come_as_the_kind_of_frame_that_was_asked() -> None:
    circuit = clinic("pandas")
    filled = circuit.impute(pl.DataFrame(ROWS), "mpe")
    assert isinstance(filled, pl.DataFrame)
    assert filled.null_count().sum_horizontal().item() == 0
    assert filled["smoker"][0] == "yes"
    assert isinstance(circuit.mpe(rows=pl.DataFrame(ROWS)).rows, pl.DataFrame)


def test_draws_are_reproducible() -> None:
    circuit = clinic()
    pd.testing.assert_frame_equal(circuit.sample(20, random_state=3), circuit.sample(20, random_state=3))
    assert not circuit.sample(20, random_state=3).equals(circuit.sample(20, random_state=4))
    assert not circuit.sample(20).equals(circuit.sample(20))
    drawn = circuit.sample(50, {"age": {"60+", "-40"}, "visits": (1, 2)}, random_state=0)
    assert set(drawn["age"]) == {"60+", "-40"}
    assert set(drawn["visits"]) == {1, 2}


def test_a_most_probable_completion_names_its_states() -> None:
    circuit = clinic()
    found = circuit.mpe({"smoker": "yes", "visits": (3, 4)})
    assert found.row["smoker"] == "yes"
    assert found.row["visits"] in (3, 4)
    assert isinstance(found.row["visits"], int)
    assert found.log_prob == pytest.approx(circuit.log_prob(found.row))
    some = circuit.mpe({"height": (150, 160)}, columns="age")
    assert set(some.row) == {"age"}
    assert some.log_prob == pytest.approx(circuit.log_prob({"height": (150, 160), **some.row}))
    assert some.exact


def test_a_text_stands_for_one_column() -> None:
    circuit = clinic()
    assert circuit.entropy("age").value == pytest.approx(circuit.entropy(["age"]).value)
    assert circuit.marginalise("age").schema.names == ("smoker", "height", "visits")
    assert circuit.joint_marginal("age").sum() == pytest.approx(1.0)
    assert circuit.entropy(["age", "age"]).value == pytest.approx(circuit.entropy("age").value)
    both = circuit.mutual_information("age", "smoker").value
    assert both == pytest.approx(
        circuit.entropy("age").value
        + circuit.entropy("smoker").value
        - circuit.entropy(["age", "smoker"]).value
    )


@given(strategies.circuits(mixed=True, normalised=False), st.data())
def test_conditioned_and_marginalised_circuits_agree_with_queries(graph: Graph, data: st.DataObject) -> None:
    row, regions = data.draw(strategies.evidence(graph.schema))
    assume(oracle.log_value(graph, row, regions) > -600)
    circuit = tr.Circuit(graph)
    given_ = {graph.schema[c].name: graph.schema[c].label(x) for c, x in enumerate(row) if not math.isnan(x)}
    evidence: dict[str, Any] = {**given_, **{graph.schema[c].name: r for c, r in regions.items()}}
    rest = circuit.condition(evidence)
    everything = data.draw(strategies.rows(graph.schema, missing=False))
    query = {
        v.name: v.label(x)
        for v, x in zip(graph.schema, everything, strict=True)
        if v.name in rest.schema.names
    }
    expected = circuit.log_prob_of(query, evidence)
    assert rest.log_prob(query) == pytest.approx(expected, rel=1e-7, abs=1e-7)
    part = dict(list(query.items())[::2])
    gone = [name for name in graph.schema.names if name not in part]
    assert circuit.marginalise(gone).log_prob(part) == pytest.approx(
        circuit.log_prob(part), rel=1e-7, abs=1e-7
    )


@settings(max_examples=30)
@given(strategies.arithmetic_circuits(), st.data())
def test_mixtures_and_products_are_sums_and_products_of_probabilities(
    graph: Graph, data: st.DataObject
) -> None:
    other = data.draw(strategies.circuits(schema=graph.schema, normalised=False))
    one, two = tr.Circuit(graph), tr.Circuit(other)
    row = data.draw(strategies.rows(graph.schema))
    evidence = {v.name: v.label(x) for v, x in zip(graph.schema, row, strict=True) if not math.isnan(x)}
    mixed = tr.mixture([one, two], [1.0, 3.0])
    assert mixed.prob(evidence) == pytest.approx(0.25 * one.prob(evidence) + 0.75 * two.prob(evidence))
    renamed = tr.Schema(tuple(tr.Variable(f"{v.name}'", v.kind, v.states) for v in graph.schema))
    twin = tr.Circuit(Graph(renamed, other.kind, other.start, other.child, other.log_weight, other.blocks))
    both = tr.product([one, twin])
    primed = {f"{name}'": state for name, state in evidence.items()}
    assert both.prob({**evidence, **primed}) == pytest.approx(one.prob(evidence) * two.prob(evidence))


def test_all_columns_may_be_conditioned_or_summed_away() -> None:
    circuit = clinic()
    row = {"smoker": "yes", "age": "60+", "height": 170.0, "visits": 2}
    for bare in (circuit.condition(row), circuit.marginalise(list(circuit.schema.names))):
        assert len(bare.schema) == 0
        assert bare.prob({}) == pytest.approx(1.0)
        assert bare.marginals() == {}
        assert bare.mpe().row == {}


def test_many_threads_may_ask_the_same_fresh_circuit() -> None:
    graph = random_graph(np.random.default_rng(0), 20, 2000, states=3)
    alone = tr.Circuit(graph)
    expected = (
        alone.prob({"x1": 1}, {"x2": {0, 2}}),
        alone.marginals({"x3": 2})["x4"],
        alone.mpe({"x0": 1}).log_prob,
    )
    for _ in range(5):
        fresh = tr.Circuit(
            Graph(graph.schema, graph.kind, graph.start, graph.child, graph.log_weight, graph.blocks)
        )

        def ask(_: int, circuit: tr.Circuit = fresh) -> Any:
            return (
                circuit.prob({"x1": 1}, {"x2": {0, 2}}),
                circuit.marginals({"x3": 2})["x4"],
                circuit.mpe({"x0": 1}).log_prob,
            )

        with ThreadPoolExecutor(4) as pool:
            assert all(answer == expected for answer in pool.map(ask, range(8)))


def test_a_saved_circuit_answers_the_same(tmp_path: Any) -> None:
    circuit = clinic()
    circuit.save(tmp_path / "m.tract")
    again = tr.load(tmp_path / "m.tract")
    assert again.about["note"] == "kept"
    np.testing.assert_array_equal(again.log_prob(pd.DataFrame(ROWS)), circuit.log_prob(pd.DataFrame(ROWS)))


def test_a_circuit_says_what_it_is() -> None:
    circuit = clinic()
    assert repr(circuit) == "<Circuit over 4 columns, 11 nodes, 10 edges>"
    assert "<svg" in circuit._repr_html_()
    assert circuit.properties.smooth
