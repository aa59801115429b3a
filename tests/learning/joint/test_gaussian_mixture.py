"""The learner of Gaussian mixtures: its circuit is its model, and strange tables are no surprise."""

import numpy as np
import pytest

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.circuit.blocks import JointBlock
from tractable.data import Schema, Table, Variable
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.gaussian_mixture.learner import extreme_columns, stack_circuit
from tractable.learning.joint.gaussian_mixture.members import EMSettings
from tractable.learning.joint.gaussian_mixture.rows import fit_view, mixed_rows
from tractable.learning.joint.gaussian_mixture.selection import split_rows
from tractable.learning.joint.gaussian_mixture.stack import StackSettings, learn_stack
from tractable.learning.statistics.stack_weights import fit_weights

QUICK = {"components": (1, 3), "steps": 20}
MIXED = Schema(
    (
        Variable("length", "real"),
        Variable("kind", "categorical", ("a", "b", "c")),
        Variable("mass", "integer"),
        Variable("n", "count"),
        Variable("day", "date"),
    )
)


def mixed_table(rows: int = 240, seed: int = 0, missing: float = 0.1) -> Table:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, rows)
    length = rng.lognormal(kind, 0.3)
    mass = np.rint(40 * length + rng.normal(0, 5, rows))
    day = np.rint(18_000 + 100 * kind + rng.normal(0, 20, rows))
    values = np.column_stack([length, kind, mass, rng.poisson(2 + 3 * kind), day]).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(MIXED, values)


def learned(table: Table, seed: int = 1, valid: Table | None = None, **settings: object) -> Graph:
    learner = LEARNERS["gaussian-mixture"](**{**QUICK, **settings})
    return learner.learn(table, np.random.default_rng(seed), valid=valid)


def gaussian_log_density(x: Floats, y: Floats) -> float:
    """The mean log-density of `y` under one Gaussian fitted to `x`."""
    mean, covariance = x.mean(axis=0), np.cov(x.T)
    out = y - mean
    square = np.einsum("ni,ij,nj->n", out, np.linalg.inv(covariance), out)
    return float(-0.5 * (square + np.linalg.slogdet(2 * np.pi * covariance)[1]).mean())


def test_the_circuit_has_the_densities_of_the_stack() -> None:
    table = mixed_table()
    how = StackSettings(sizes=(2, 3), em=EMSettings(steps=10))
    stack = learn_stack(table, None, how, np.random.default_rng(0), Watch())
    graph = stack_circuit(stack, table.schema)
    expected = stack.log_density(mixed_rows(table))
    found = log_values(graph, table.values)
    np.testing.assert_allclose(
        found, expected, rtol=5e-3, atol=5e-3
    )  # EM takes densities for masses of cells
    real = [c for c, v in enumerate(table.schema) if not v.is_whole or v.kind == "count"]
    part = table.select(real)
    stack = learn_stack(part, None, how, np.random.default_rng(0), Watch())
    found = log_values(stack_circuit(stack, part.schema), part.values)
    np.testing.assert_allclose(found, stack.log_density(mixed_rows(part)), rtol=1e-8, atol=1e-8)
    assert len(stack.members) >= 2


@pytest.mark.parametrize("maps", ["identity", "yeo-johnson", "piecewise-linear"])
def test_the_density_of_one_map_integrates_to_one(maps: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.lognormal(0, 0.8, (150, 1))
    graph = learned(Table(Schema((Variable("x", "real"),)), values), maps=maps)
    grid = np.linspace(-300, 300, 1_200_001)
    total = np.exp(log_values(graph, grid[:, None])).sum() * (grid[1] - grid[0])
    assert total == pytest.approx(1.0, abs=2e-3)


def test_one_gaussian_is_found_again() -> None:
    rng = np.random.default_rng(4)
    turn = rng.normal(size=(4, 4))
    x, y = (rng.normal(size=(n, 4)) @ turn + 50 for n in (600, 300))
    schema = Schema(tuple(Variable(f"x{i}", "real") for i in range(4)))
    found = log_values(learned(Table(schema, x)), y).mean()
    assert found > gaussian_log_density(x, y) - 0.1


def test_a_strange_row_does_not_cost_a_thousand_nats() -> None:
    rng = np.random.default_rng(5)
    a = rng.normal(size=400)
    values = np.column_stack([a, a + rng.normal(0, 0.01, 400)])
    graph = learned(Table(Schema((Variable("a", "real"), Variable("b", "real"))), values))
    assert log_values(graph, np.array([[2.0, -2.0]]))[0] > -20


def test_whole_numbers_have_probabilities_that_sum_to_about_one() -> None:
    rng = np.random.default_rng(6)
    values = rng.choice([3.0, 4.0, 5.0, 9.0], (200, 1))
    for maps in ("identity", "all"):
        graph = learned(Table(Schema((Variable("n", "integer"),)), values), maps=maps)
        total = np.exp(log_values(graph, np.arange(-200, 200.0)[:, None])).sum()
        assert total == pytest.approx(1.0, abs=0.05)


def test_validation_rows_choose_the_size() -> None:
    rng = np.random.default_rng(7)
    schema = Schema((Variable("x", "real"),))
    train, valid = (Table(schema, rng.normal(10 * rng.integers(0, 3, (n, 1)), 1)) for n in (300, 100))
    graph = learned(train, valid=valid, maps="identity")
    assert sum(block.node.size for block in graph.blocks_of(JointBlock)) == 3


def test_columns_of_extreme_numbers_stay_apart() -> None:
    values = np.column_stack([np.linspace(-1e300, 1e300, 50), np.linspace(0, 1, 50), np.full(50, np.nan)])
    table = Table(Schema(tuple(Variable(c, "real") for c in "abc")), values)
    assert extreme_columns(table).tolist() == [0]
    assert np.isfinite(log_values(learned(table), values)).all()
    only = table.select([0])
    assert np.isfinite(log_values(learned(only), only.values)).all()


def test_rows_are_divided_as_often_as_they_are_written() -> None:
    table = Table(Schema((Variable("x", "real"),)), np.array([[1.0], [2.0]]), np.array([30.0, 90.0]))
    rows = mixed_rows(table)
    pairs = split_rows(rows, 1 / 6, 3, (100, 100), np.random.default_rng(0))
    for fit, held in pairs:
        assert held.weights.sum() == pytest.approx(20)
        assert fit.weights.sum() == pytest.approx(100)


def test_weights_of_a_stack_keep_the_background() -> None:
    logs = np.column_stack([np.zeros(50), np.full(50, -1.0), np.full(50, -30.0)])
    weight = fit_weights(logs, np.ones(50), np.array([0.5, 0.5, 0.0]), last=0.01).weights
    assert weight.sum() == pytest.approx(1.0)
    assert weight[-1] == pytest.approx(0.01)
    assert weight[0] > 0.9


def test_views_of_constant_and_empty_columns_are_finite() -> None:
    values = np.array([[1.0, np.nan], [1.0, np.nan]])
    rows = mixed_rows(Table(Schema((Variable("a", "real"), Variable("b", "real"))), values))
    for name in ("identity", "yeo-johnson", "piecewise-linear"):
        z, slope = fit_view(name, rows, np.zeros(2)).images(rows)
        assert np.isfinite(z).all()
        assert np.isfinite(slope).all()
