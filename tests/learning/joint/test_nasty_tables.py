"""Whatever the table, a learner's result is a distribution that takes every training row to be possible."""

from typing import Any

import numpy as np
import pytest
from nasty_tables import NASTY, conditional

from tractable import queries
from tractable.circuit import Graph
from tractable.data import Evidence, Table
from tractable.engine import log_values
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS

pytestmark = pytest.mark.filterwarnings("ignore")  # learners say what they leave out

QUICK: dict[str, dict[str, Any]] = {  # settings with which they take a fraction of a second
    "auto": {"budget": "0.3s"},
    "bayesian-network": {"limit": 20_000},
    "continuous-mixture": {"components": 4, "networks": 1, "points": 4, "patience": 1},
    "gaclearn": {"members": 1, "epochs": 3, "hidden": 5, "dropout": 0.0},
    "hidden-chow-liu": {"trees": 1, "states": (3,), "epochs": 2, "steps": 2},
    "gaussian-mixture": {"components": (1, 3), "steps": 10},
    "mixture-of-trees": {"components": (2,), "restarts": 1, "steps": 10},
    "selective": {"starts": 1, "penalties": (5.0,)},
}
every_table = pytest.mark.parametrize("table", NASTY)


def assert_useful(graph: Graph, table: Table) -> None:
    """Normalised, every row possible, and no answer is NaN."""
    nothing = np.full((1, len(table.schema)), np.nan)
    assert log_values(graph, nothing)[0] == pytest.approx(0.0, abs=1e-9)
    weighs = table.row_weights > 0
    assert np.isfinite(log_values(graph, table.values[weighs])).all()
    half = np.where(np.arange(len(table.schema)) % 2 == 0, np.nan, table.values[weighs])
    for rows in (nothing, half):
        found = np.concatenate(queries.marginals(graph, rows), axis=1)
        assert np.isfinite(found).all()
        assert not np.isnan(queries.expected_cells(graph, rows)).any()
    drawn = queries.sample(graph, 5, Evidence(nothing[0], {}), seed=0)
    assert np.isfinite(drawn).all()
    assert np.isfinite(log_values(graph, drawn)).all()
    best = queries.most_probable(graph, nothing, {}, method="max-product")
    assert np.isfinite(log_values(graph, best.rows)).all()


@every_table
@pytest.mark.parametrize("name", LEARNERS)
def test_every_training_row_is_possible(name: str, table: str) -> None:
    rows = NASTY[table]()
    graph = LEARNERS[name](**QUICK.get(name, {})).learn(rows, np.random.default_rng(0))
    assert graph.schema == rows.schema
    assert_useful(graph, rows)


@every_table
@pytest.mark.parametrize("name", CONDITIONAL)
def test_every_training_row_is_possible_given_its_inputs(name: str, table: str) -> None:
    learner = CONDITIONAL[name]
    rows = conditional(NASTY[table](), numeric_targets=name == "cacmn", single=learner.single_target)
    graph = learner(**QUICK.get(name, {})).learn(rows, np.random.default_rng(0))
    values = rows.values[rows.row_weights > 0]
    assert np.isfinite(queries.log_prob(graph, values)).all()
    inputs_only = values.copy()
    inputs_only[:, rows.schema.targets] = np.nan
    np.testing.assert_allclose(queries.log_prob(graph, inputs_only), 0.0, atol=1e-9)
    found = queries.marginals(graph, inputs_only)
    for column in rows.schema.targets.tolist():
        assert np.isfinite(found[column]).all()
