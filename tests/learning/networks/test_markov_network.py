"""Markov networks as users hold them: answers close to the truth, their errors told, and said to be so."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marginal_networks import exact_marginals, pairs_network, table_network
from oracle import all_rows
from random_networks import enumerated
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.data import Schema, Table, Variable, clinic, to_frame
from tractable.formats.network_files import NetworkDocument, write_network_document
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.networks.pseudo_likelihood.scores import mean_log_pseudo_likelihood
from tractable.networks import Network, TableFactor
from tractable.queries import Estimate

every_learner = pytest.mark.parametrize("learner", NETWORK_LEARNERS)
Wanted = dict[str, set[int]]  # the states that a column may have


@pytest.fixture(scope="module")
def fitted() -> tr.MarkovNetwork:
    table = clinic(400, missing=0.05)
    return tr.MarkovNetwork(random_state=0).fit(to_frame(table, like="pandas"), schema=table.schema)


def held(network: Network, tmp_path: Path, **settings: Any) -> tr.MarkovNetwork:
    """An estimator that answers for a given network."""
    write_network_document(NetworkDocument(network), tmp_path / "held.mn")
    return tr.MarkovNetwork.load(tmp_path / "held.mn", **settings)


def exact_conditional(network: Network, query: Wanted, given: Wanted) -> float:
    """P(query | given) by enumeration."""
    rows, weight = np.array(all_rows(network.schema)), np.exp(enumerated(network))

    def fits(wanted: Wanted) -> Floats:
        columns = [np.isin(rows[:, network.schema.column(c)], list(states)) for c, states in wanted.items()]
        return np.logical_and.reduce(columns) if columns else np.ones(len(rows))

    return float(weight @ (fits(query) * fits(given)) / (weight @ fits(given)))


QUESTIONS: dict[str, tuple[Wanted, Wanted]] = {
    "one column": ({"x1": {2}}, {}),
    "one column, given another": ({"x1": {2}}, {"x0": {1}}),
    "a set of states": ({"x1": {0, 2}}, {"x2": {0}}),
    "several columns": ({"x0": {1}, "x1": {1}, "x4": {0}}, {}),
    "sets of several columns, given": ({"x1": {0, 1}, "x3": {1, 2}}, {"x0": {1}, "x5": {0}}),
    "given a set of states": ({"x0": {1}}, {"x1": {0, 2}, "x3": {1, 2}}),
    "a state of a given set": ({"x1": {2}, "x0": {0}}, {"x1": {0, 2}}),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("chains", [1, 3])
def test_an_estimate_is_within_its_error_of_enumeration(question: str, chains: int, tmp_path: Path) -> None:
    network = pairs_network()
    model = held(network, tmp_path, samples=12_000, chains=chains, random_state=1)
    query, given = QUESTIONS[question]
    found = model.conditional(query, given)
    assert isinstance(found, Estimate)
    assert not found.exact
    assert 0 < found.std_error < 0.02
    assert abs(found.value - exact_conditional(network, query, given)) < 4 * found.std_error


def test_tables_are_sampled_as_features_are(tmp_path: Path) -> None:
    network = table_network()
    model = held(network, tmp_path, samples=12_000, random_state=0)
    found = model.conditional("x0=2, x3=0", given="x1=1")
    exact = exact_conditional(network, {"x0": {2}, "x3": {0}}, {"x1": {1}})
    assert abs(found.value - exact) < 4 * found.std_error


def test_errors_tell_how_far_off_estimates_are(tmp_path: Path) -> None:
    """Of estimates with different seeds, about the promised share is within two standard errors."""
    network = pairs_network()
    exact = exact_conditional(network, {"x1": {2}, "x0": {1}}, {})
    found = [
        held(network, tmp_path, samples=2000, random_state=seed).conditional("x1=2, x0=1")
        for seed in range(40)
    ]
    within = np.mean([abs(one.value - exact) < 2 * one.std_error for one in found])
    assert 0.8 <= within <= 1.0
    assert np.std([one.value for one in found]) == pytest.approx(
        np.mean([e.std_error for e in found]), rel=0.4
    )


def test_marginals_have_the_shape_of_a_circuits_and_are_close_to_enumeration(tmp_path: Path) -> None:
    network = pairs_network()
    model = held(network, tmp_path, samples=12_000, random_state=0)
    found = model.marginals({"x0": 1})
    row = np.array([1.0, *[np.nan] * 5])
    assert {name: list(p) for name, p in found.items()} == {v.name: list(v.states) for v in network.schema}
    flat = np.concatenate([list(p.values()) for p in found.values()])
    np.testing.assert_allclose(flat, exact_marginals(network, row), atol=0.02)
    model.save(tmp_path / "network.mn")
    exact = tr.load(tmp_path / "network.mn").marginals({"x0": 1})
    assert {name: list(p) for name, p in exact.items()} == {name: list(p) for name, p in found.items()}
    rows = np.array([row, np.full(6, np.nan)])
    by_row = model.marginals(rows=rows)
    assert {name: p.shape for name, p in by_row.items()} == {
        v.name: (2, v.cardinality) for v in network.schema
    }
    for r in range(2):
        flat = np.concatenate([p[r] for p in by_row.values()])
        np.testing.assert_allclose(flat, exact_marginals(network, rows[r]), atol=0.02)
    with pytest.raises(ValueError, match="either evidence or rows, not both"):
        model.marginals({"x0": 1}, rows=rows)


def test_drawn_rows_agree_with_evidence_and_with_enumeration(tmp_path: Path) -> None:
    network = pairs_network()
    model = held(network, tmp_path, random_state=0)
    drawn = model.sample(4000, given={"x0": 1, "x1": {0, 2}})
    assert set(drawn["x0"]) == {1}
    assert set(drawn["x1"]) == {0, 2}
    for column in ("x2", "x5"):
        exact = exact_conditional(network, {column: {1}}, {"x0": {1}, "x1": {0, 2}})
        assert abs((drawn[column] == 1).mean() - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)


def test_no_sampling_is_needed_for_what_is_given_or_excluded(fitted: tr.MarkovNetwork) -> None:
    assert fitted.conditional("smoker=yes", given="smoker=no") == Estimate(0.0)
    assert fitted.conditional("smoker=yes", given="smoker=yes") == Estimate(1.0)
    assert fitted.conditional({"age": {"40-60", "over 60"}}, given={"age": "40-60"}).exact


def test_what_all_samples_agree_on_is_not_said_to_be_certain(tmp_path: Path) -> None:
    values = np.array([[0.0, -9.0], [-9.0, -20.0]])
    network = Network(table_schema(), (TableFactor((0, 1), values),), "markov")
    model = held(network, tmp_path, samples=100, random_state=0)  # of a hundred seeds one has another sample
    for question in ({"x0": 1, "x1": 1}, {"x0": 1}):
        found = model.conditional(question)
        assert found.value < 0.01
        assert found.std_error >= 0.01


def test_what_follows_from_the_evidence_alone_has_no_error(tmp_path: Path) -> None:
    values = np.array([[0.0, 1.0], [2.0, 0.5]])
    model = held(Network(table_schema(), (TableFactor((0, 1), values),), "markov"), tmp_path, samples=100)
    found = model.conditional({"x0": 1}, given={"x1": 0})
    assert found.value == pytest.approx(np.exp(2) / (1 + np.exp(2)))
    assert found.std_error < 1e-9


def table_schema() -> Schema:
    return Schema(tuple(Variable(f"x{i}", "categorical", (0, 1)) for i in range(2)))


def test_evidence_that_no_row_satisfies_is_refused(tmp_path: Path) -> None:
    values = np.array([[0.0, -np.inf], [0.0, -np.inf]])
    model = held(Network(table_schema(), (TableFactor((0, 1), values),), "markov"), tmp_path)
    fault = "found no row of positive probability"
    with pytest.raises(ValueError, match=fault):
        model.conditional("x0=1", given="x1=1")
    with pytest.raises(ValueError, match=fault):
        model.marginals("x1=1")
    with pytest.raises(ValueError, match=fault):
        model.marginals(rows=np.array([[np.nan, 1.0]]))
    with pytest.raises(ValueError, match=fault):
        model.sample(3, given="x1=1")
    assert model.conditional("x0=1", given="x1=0").value == pytest.approx(0.5)


@every_learner
def test_the_same_seed_gives_the_same_network_and_answers(learner: str) -> None:
    settings = {"candidates": 500} if learner == "gssl" else None
    one, other = (
        tr.MarkovNetwork(learner, settings=settings, random_state=3, samples=200).fit(clinic(150))
        for _ in range(2)
    )
    assert one.about_ == other.about_
    np.testing.assert_array_equal(one.score_samples(clinic(20)), other.score_samples(clinic(20)))
    question = {"smoker": "yes", "cough": "some"}
    assert one.conditional(question) == other.conditional(question) == one.conditional(question)
    assert one.marginals("smoker=yes") == other.marginals("smoker=yes")
    pd.testing.assert_frame_equal(one.sample(5), other.sample(5))
    assert one.set_params(random_state=4).conditional(question) != other.conditional(question)


def test_scores_are_pseudo_likelihoods(fitted: tr.MarkovNetwork) -> None:
    table = clinic(60, random_state=1, missing=0.1)
    logs = fitted.score_samples(table)
    assert logs.shape == (60,)
    assert fitted.score(table) == pytest.approx(logs.mean())
    assert fitted.score(table) == pytest.approx(mean_log_pseudo_likelihood(fitted.network_, table))
    weighted = Table(table.schema, table.values, np.arange(60.0))
    assert fitted.score(weighted) == pytest.approx(np.average(logs, weights=np.arange(60.0)))


def test_a_network_knows_where_it_comes_from() -> None:
    table, valid = clinic(200), clinic(80, random_state=1)
    model = tr.MarkovNetwork(settings={"penalty": (5.0, 50.0)}, random_state=0).fit(table, valid=valid)
    about = model.about_
    assert (about["learner"], about["settings"]["penalty"], about["rows"]) == ("l1-markov", [5.0, 50.0], 200)
    assert about["finished"]
    assert about["valid"] is not None
    stopped = tr.MarkovNetwork(random_state=0).fit(table, valid=valid, watch=Watch(seconds=0.0))
    assert not stopped.about_["finished"]


@pytest.mark.parametrize("suffix", [".mn", ".uai"])
def test_a_saved_network_is_the_same_when_it_is_loaded(
    suffix: str, fitted: tr.MarkovNetwork, tmp_path: Path
) -> None:
    path = tmp_path / f"network{suffix}"
    fitted.save(path)
    again = tr.MarkovNetwork.load(path, random_state=0)
    table = clinic(50, random_state=2)
    codes = table if suffix == ".mn" else Table(again.schema_, table.values)
    np.testing.assert_allclose(again.score_samples(codes), fitted.score_samples(table), atol=1e-9)
    if suffix == ".uai":  # which has no room for names
        assert again.schema_.names[:2] == ("x0", "x1")
        assert again.about_ == {}
        return
    assert again.schema_ == fitted.schema_
    assert again.about_ == fitted.about_
    assert again.feature_names_in_.tolist() == list(fitted.schema_.names)
    assert again.conditional("smoker=yes", given="cough=heavy") == fitted.conditional(
        "smoker=yes", given="cough=heavy"
    )
    assert type(again.sample(2)) is type(fitted.sample(2))


def test_a_small_network_can_be_compiled_and_answers_agree(fitted: tr.MarkovNetwork, tmp_path: Path) -> None:
    fitted.save(tmp_path / "network.mn")
    circuit = tr.load(tmp_path / "network.mn")
    question, given = "lung_cancer=yes, x_ray=shadow", "smoker=yes"
    found = tr.MarkovNetwork.load(tmp_path / "network.mn", samples=20_000, random_state=5)
    estimate = found.conditional(question, given)
    assert abs(estimate.value - circuit.prob(question, given)) < 4 * estimate.std_error


@pytest.mark.parametrize("name", ["network.tract", "network.ac", "network.bn"])
def test_a_network_is_not_written_as_what_it_is_not(
    name: str, fitted: tr.MarkovNetwork, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"a Markov network is written as \.mn or \.uai"):
        fitted.save(tmp_path / name)


def test_a_circuit_is_not_loaded_as_a_network(tmp_path: Path) -> None:
    tr.Independent().fit(clinic(20)).circuit_.save(tmp_path / "m.tract")
    with pytest.raises(ValueError, match=r"m\.tract: a network is read from one of .*its answers are exact"):
        tr.MarkovNetwork.load(tmp_path / "m.tract")


@every_learner
def test_numeric_columns_are_refused_by_name(learner: str) -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "height": np.linspace(150.5, 190.2, 40)})
    with pytest.raises(ValueError, match=r"column 'height' is real: .* supports only categorical columns"):
        tr.MarkovNetwork(learner).fit(frame)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"learner": "gsssl"}, "there is no learner 'gsssl'; did you mean 'gssl'?"),
        ({"settings": {"penalti": 1.0}}, "l1-markov has no setting 'penalti'; did you mean 'penalty'"),
        (
            {"settings": {"penalty": -1.0}},
            "setting penalty of l1-markov must be a list of numbers of at least 0, not -1",
        ),
        ({"samples": 0}, "samples must be at least 1, not 0"),
        ({"burn_in": -1}, "burn_in must be at least 0, not -1"),
        ({"chains": 0}, "chains must be at least 1, not 0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        tr.MarkovNetwork(**settings).fit(clinic(20))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_tables_of_any_kind_are_fitted_and_drawn(kind: str) -> None:
    frame = to_frame(clinic(80), like=kind)
    model = tr.MarkovNetwork(random_state=0).fit(frame)
    assert type(model.sample(3)) is type(frame)
    assert np.isfinite(model.score(frame))
    assert model.n_features_in_ == 8
    assert hasattr(model, "feature_names_in_") == (kind != "numpy")


def test_other_named_tables_and_a_given_schema_are_fitted() -> None:
    table = clinic(60)
    columns = to_frame(table, like="pandas").to_dict("list")
    lazy = tr.MarkovNetwork().fit(pl.DataFrame(columns).lazy(), schema=table.schema)
    assert lazy.feature_names_in_.tolist() == list(table.schema.names)
    assert lazy.schema_ == table.schema


def test_it_is_cloned_pickled_and_searched_as_estimators_are() -> None:
    table = clinic(300)
    model = tr.MarkovNetwork("gssl", settings={"candidates": 300}, random_state=0)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "network_")
    again = pickle.loads(pickle.dumps(model.fit(table)))
    assert again.score(table) == model.score(table)
    search = GridSearchCV(
        tr.MarkovNetwork(), {"settings": [{"penalty": 5.0}, {"penalty": 5000.0}]}, cv=3, error_score="raise"
    )
    search.fit(to_frame(table, like="pandas"), schema=table.schema)
    assert search.best_params_ == {"settings": {"penalty": 5.0}}


def test_it_says_plainly_that_its_answers_are_approximate() -> None:
    about = inspect.getdoc(tr.MarkovNetwork)
    assert about is not None
    assert "approximate answers" in about
    assert "partition function" in about
    assert "tr.ACMN" in about
    assert "pseudo-likelihood" in str(inspect.getdoc(tr.MarkovNetwork.score_samples))
    for answer in (tr.MarkovNetwork.conditional, tr.MarkovNetwork.marginals, tr.MarkovNetwork.sample):
        assert "approximate" in str(inspect.getdoc(answer)).lower()
    assert "MarkovNetwork" in dir(tr)
