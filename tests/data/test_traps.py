"""Tables and circuits on which other libraries stumble, each through the public face."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tractable as tr
from tractable.circuit import Builder
from tractable.data import discrete_schema

ESTIMATORS = [tr.Independent, tr.ChowLiuTree, tr.NaiveBayesMixture]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)


def coloured(rows: int = 60) -> pd.DataFrame:
    """Two dependent columns of text."""
    rng = np.random.default_rng(0)
    wet = rng.random(rows) < 0.4
    slip = rng.random(rows) < np.where(wet, 0.7, 0.1)
    return pd.DataFrame({"wet": np.where(wet, "yes", "no"), "slip": np.where(slip, "often", "never")})


def fitted(estimator: Any, table: Any, **fit: Any) -> tr.Circuit:
    """The learned circuit, after asking it everything once: no answer may be NaN or infinite."""
    circuit: tr.Circuit = estimator(random_state=0).fit(table, **fit).circuit_
    for name, posterior in circuit.marginals().items():
        assert all(math.isfinite(p) for p in posterior.values()), name
        if "mean" not in posterior:
            assert sum(posterior.values()) == pytest.approx(1.0)
    assert math.isfinite(circuit.mpe().log_prob)
    assert len(circuit.sample(5, random_state=0)) == 5
    return circuit


@every_estimator
def test_a_constant_column_does_not_disturb_the_others(estimator: Any) -> None:
    table = coloured()
    alone = fitted(estimator, table)
    circuit = fitted(estimator, table.assign(constant="same"))
    assert circuit.prob({"constant": "same"}) == pytest.approx(1.0)
    if estimator is not tr.NaiveBayesMixture:  # whose components begin elsewhere
        np.testing.assert_allclose(
            circuit.joint_marginal(["wet", "slip"]), alone.joint_marginal(["wet", "slip"])
        )


@every_estimator
def test_a_column_of_ones_only_is_learned_without_infinities(estimator: Any) -> None:
    table = np.ones((20, 3), dtype=int)
    table[:10, 0] = 0
    circuit = fitted(estimator, table)
    assert np.isfinite(circuit.log_prob(table)).all()
    assert circuit.prob({"x1": 1}) > 0.9


def test_a_leaf_that_is_certain_answers_without_infinities_or_nan() -> None:
    builder = Builder(discrete_schema([2, 2]))
    parts = [
        builder.product([builder.leaf("bernoulli", 0, [odds]), builder.leaf("bernoulli", 1, [math.inf])])
        for odds in (math.inf, -math.inf)
    ]
    circuit = tr.Circuit(builder.freeze(builder.sum(parts, np.log([0.3, 0.7]))))
    assert circuit.prob({"x1": 1}) == pytest.approx(1.0)
    assert circuit.prob({"x0": 1}) == pytest.approx(0.3)
    assert circuit.prob({"x1": 0}) == 0.0
    assert circuit.marginals()["x1"] == {0: 0.0, 1: pytest.approx(1.0)}
    assert circuit.entropy().value == pytest.approx(-0.3 * math.log(0.3) - 0.7 * math.log(0.7))
    assert circuit.mpe().row == {"x0": 0, "x1": 1}


@every_estimator
def test_a_state_seen_only_in_validation_data_counts_its_share_or_is_named(estimator: Any) -> None:
    strange = pd.DataFrame({"wet": ["yes", "damp"], "slip": ["never", "never"]})
    with pytest.raises(ValueError, match="row 1: column 'wet' has no state 'damp'"):
        estimator(unseen="error", random_state=0).fit(coloured(), valid=strange)
    with pytest.warns(tr.TableWarning, match="1 row has states that do not occur in the training rows"):
        circuit = estimator(random_state=0).fit(coloured(), valid=strange).circuit_
    share = 0.5 / (len(coloured()) + 1)
    assert circuit.about["unseen"] == circuit.unseen_share == share
    with pytest.warns(tr.TableWarning, match=r"\(in 'wet'\): each such cell counts log"):
        logs = circuit.log_prob(strange)
    assert logs[1] == pytest.approx(circuit.log_prob({"slip": "never"}) + math.log(share))


@every_estimator
def test_a_declared_state_without_rows_has_a_small_finite_probability(estimator: Any) -> None:
    schema = tr.Schema(
        (
            tr.Variable("wet", "categorical", ("no", "yes", "damp")),
            tr.Variable("slip", "categorical", ("never", "often")),
        )
    )
    circuit = fitted(estimator, coloured(), schema=schema)
    assert 0 < circuit.prob({"wet": "damp"}) < 0.05


@every_estimator
def test_a_column_of_a_thousand_states_is_learned_and_asked(estimator: Any) -> None:
    rng = np.random.default_rng(1)
    code = rng.permutation(np.arange(3000) % 1000)
    table = pd.DataFrame({"town": [f"town {c}" for c in code], "coast": np.where(code < 300, "yes", "no")})
    circuit = fitted(estimator, table)
    assert len(circuit.marginals()["town"]) == 1000
    assert sum(circuit.marginals({"coast": "yes"})["town"].values()) == pytest.approx(1.0)
    assert 0 < circuit.prob({"town": "town 17"}) < 0.01
    towns = {f"town {c}" for c in range(300)}
    assert circuit.prob({"town": towns}) == pytest.approx(0.3, abs=0.02)


@every_estimator
def test_one_row_is_enough(estimator: Any) -> None:
    table = coloured().iloc[:1]
    circuit = fitted(estimator, table)
    assert np.isfinite(circuit.log_prob(table)).all()


@every_estimator
def test_one_column_is_enough(estimator: Any) -> None:
    table = coloured()[["wet"]]
    circuit = fitted(estimator, table)
    share = (table["wet"] == "yes").mean()
    assert circuit.prob({"wet": "yes"}) == pytest.approx(share, abs=0.03)


@every_estimator
def test_a_duplicated_column_is_learned(estimator: Any) -> None:
    table = coloured(200)
    circuit = fitted(estimator, table.assign(again=table["wet"]))
    if estimator is not tr.Independent:
        assert circuit.prob({"again": "yes"}, {"wet": "yes"}) > 0.9
        assert circuit.prob({"again": "yes"}, {"wet": "no"}) < 0.1


def test_two_columns_of_one_name_are_refused() -> None:
    table = pd.concat([coloured(), coloured()[["wet"]]], axis=1)
    with pytest.raises(ValueError, match="wet"):
        tr.Independent().fit(table)


@every_estimator
def test_rows_with_everything_missing_say_nothing(estimator: Any) -> None:
    table = coloured()
    holes = pd.concat([table, pd.DataFrame({"wet": [None] * 5, "slip": [None] * 5})], ignore_index=True)
    circuit = fitted(estimator, holes)
    logs = circuit.log_prob(holes)
    np.testing.assert_allclose(logs[-5:], 0.0, atol=1e-12)
    assert np.isfinite(logs).all()
    assert circuit.impute(holes).notna().all(axis=None)
    np.testing.assert_allclose(
        circuit.marginals(rows=holes.tail(1))["wet"][0], list(circuit.marginals()["wet"].values())
    )


@every_estimator
def test_rows_of_weight_zero_are_as_good_as_absent(estimator: Any) -> None:
    table = coloured()
    weights = np.where(np.arange(len(table)) < 40, 1.0, 0.0)
    weighted = fitted(estimator, table, sample_weight=weights)
    plain = fitted(estimator, table.iloc[:40])
    tolerance = 0.1 if estimator is tr.NaiveBayesMixture else 1e-9
    np.testing.assert_allclose(
        weighted.joint_marginal(["wet", "slip"]), plain.joint_marginal(["wet", "slip"]), atol=tolerance
    )
    with pytest.raises(ValueError, match="weight"):
        estimator().fit(table, sample_weight=np.zeros(len(table)))


def test_text_states_are_kept_letter_by_letter() -> None:
    states = ["0", "1.0", "yes ", "naïve ☂", "", "a,b", "x=y", "1"]
    table = pd.DataFrame({"odd": states * 5, "plain": ["a", "b"] * 20})
    circuit = fitted(tr.Independent, table)
    assert set(circuit.marginals()["odd"]) == set(states)
    for state in states:
        assert circuit.prob({"odd": state}) == pytest.approx(1 / len(states))
    assert circuit.prob("odd='yes '") == pytest.approx(1 / len(states))
    assert circuit.prob("odd='a,b'") == pytest.approx(1 / len(states))
    with pytest.raises(ValueError, match="no state 'yes'"):
        circuit.prob({"odd": "yes"})
    assert set(circuit.sample(200, random_state=0)["odd"]) <= set(states)


def test_integer_codes_need_not_begin_at_zero() -> None:
    table = np.array([[7, -3], [9, -3], [7, 12], [7, -3]] * 5)
    circuit = fitted(tr.ChowLiuTree, table)
    assert set(circuit.marginals()["x0"]) == {7, 9}
    assert circuit.prob({"x0": 7}) == pytest.approx(0.75, abs=0.03)
    assert np.isfinite(circuit.log_prob(table)).all()
    assert set(np.unique(circuit.sample(50, random_state=0))) <= {7, 9, -3, 12}
    with pytest.raises(ValueError, match="no state 8"):
        tr.Circuit(circuit.graph).log_prob(np.array([[8, -3]]))  # a circuit that reserves nothing


def test_booleans_stay_booleans() -> None:
    table = pd.DataFrame({"on": [True, False, True, True], "hot": [False, False, True, True]})
    circuit = fitted(tr.ChowLiuTree, table)
    assert set(circuit.marginals()["on"]) == {True, False}
    assert circuit.prob({"on": True}) == pytest.approx(circuit.prob("on=True"))
    assert circuit.expectation("on") == pytest.approx(circuit.prob({"on": True}))
    assert circuit.sample(4, random_state=0)["on"].dtype == np.bool_
    assert isinstance(circuit.mpe().row["hot"], bool)


def test_categoricals_keep_states_that_no_row_has() -> None:
    wet = pd.Categorical(["yes", "no", "yes"] * 10, categories=["no", "yes", "damp"])
    circuit = fitted(tr.ChowLiuTree, pd.DataFrame({"wet": wet, "slip": ["a", "b", "a"] * 10}))
    assert list(circuit.marginals()["wet"]) == ["no", "yes", "damp"]
    assert circuit.prob({"wet": "damp"}) > 0
    fewer = pd.DataFrame({"wet": pd.Categorical(["yes"]), "slip": pd.Categorical(["a"], ["a", "z", "b"])})
    assert np.isfinite(circuit.log_prob(fewer)).all()


def test_polars_frames_come_and_go() -> None:
    table = pl.DataFrame(coloured().to_dict("list"))
    circuit = fitted(tr.ChowLiuTree, table)
    assert isinstance(circuit.sample(3, random_state=0), pl.DataFrame)
    same = fitted(tr.ChowLiuTree, coloured())
    np.testing.assert_array_equal(circuit.log_prob(table), same.log_prob(coloured()))
    np.testing.assert_array_equal(circuit.log_prob(coloured()), same.log_prob(table))


@every_estimator
def test_columns_may_come_in_another_order(estimator: Any) -> None:
    circuit = fitted(estimator, coloured())
    np.testing.assert_array_equal(circuit.log_prob(coloured()[["slip", "wet"]]), circuit.log_prob(coloured()))


def test_extra_columns_are_ignored_and_missing_ones_summed_out_with_a_warning() -> None:
    circuit = fitted(tr.Independent, coloured())
    with pytest.warns(
        tr.TableWarning, match="column 'more' of the table is not in the schema: it is ignored"
    ):
        same = circuit.log_prob(coloured().assign(more=1))
    np.testing.assert_array_equal(same, circuit.log_prob(coloured()))
    with pytest.warns(tr.TableWarning, match="column 'slip' is missing from the table: it is summed out"):
        part = circuit.log_prob(coloured()[["wet"]])
    np.testing.assert_allclose(part, circuit.marginalise("slip").log_prob(coloured()[["wet"]]))
    with pytest.raises(ValueError, match="the array has 3 columns, but the schema has 2"):
        circuit.log_prob(np.zeros((1, 3)))


def deep_circuit(depth: int) -> tr.Circuit:
    """A chain: each level chooses between two distributions of one column, then goes on."""
    columns = depth // 2
    builder = Builder(discrete_schema([2] * columns))
    node = builder.leaf("bernoulli", 0, [0.3])
    for c in range(1, columns):
        parts = [builder.product([builder.leaf("bernoulli", c, [odds]), node]) for odds in (-0.4, 1.1)]
        node = builder.sum(parts, np.log([0.25, 0.75]))
    return tr.Circuit(builder.freeze(node))


def test_a_circuit_ten_thousand_levels_deep_answers_everything() -> None:
    circuit = deep_circuit(10_000)
    assert circuit.properties.depth >= 9_990
    share = 0.25 / (1 + math.exp(0.4)) + 0.75 / (1 + math.exp(-1.1))
    assert circuit.prob({"x700": 1}) == pytest.approx(share)
    assert circuit.prob({"x700": 1}, {"x4999": 0, "x0": 1}) == pytest.approx(share)
    assert circuit.marginals({"x3": 1})["x4000"][1] == pytest.approx(share)
    one = circuit.log_prob(np.ones((1, len(circuit.schema)), dtype=int))[0]
    assert one == pytest.approx(4_999 * math.log(share) - math.log1p(math.exp(-0.3)))
    assert circuit.sample(2, random_state=0).shape == (2, 5_000)
    best = circuit.mpe(method="max-product")
    assert best.log_prob == pytest.approx(circuit.log_prob(best.row))
    assert circuit.condition({"x1": 0}).prob({"x2": 1}) == pytest.approx(share)


def test_evidence_of_probability_zero_is_refused() -> None:
    builder = Builder(discrete_schema([2, 2]))
    parts = [builder.product([builder.indicator(0, s), builder.indicator(1, s)]) for s in range(2)]
    circuit = tr.Circuit(builder.freeze(builder.sum(parts, np.log([0.5, 0.5]))))
    impossible = {"x0": 0, "x1": 1}
    assert circuit.prob(impossible) == 0.0
    assert circuit.log_prob(impossible) == -math.inf
    asks: list[Any] = [
        lambda: circuit.prob({"x0": 1}, impossible),
        lambda: circuit.marginals(impossible),
        lambda: circuit.marginals(rows=np.array([[0, 0], [0, 1]])),
        lambda: circuit.mpe(impossible),
        lambda: circuit.sample(1, impossible),
        lambda: circuit.expectation("x0", impossible),
        lambda: circuit.entropy(given=impossible),
        lambda: circuit.condition(impossible),
        lambda: circuit.log_conditional(np.array([[0, 1]]), ["x0", "x1"]),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match="the evidence has probability zero"):
            ask()
