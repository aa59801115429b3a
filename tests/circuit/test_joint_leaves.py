"""Leaves over several numeric columns together, against integration, enumeration of maps and draws."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

import tractable as tr
from tractable.circuit import Builder, Graph, condition, is_deterministic, marginalise, properties, to_ac
from tractable.circuit.blocks import JointBlock
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES, Box, GaussianLeaf
from tractable.circuit.leaves.multivariate.boxes import box_nodes
from tractable.data.evidence import Interval
from tractable.data.schema import Schema, Variable
from tractable.engine import completions, log_values, posteriors, samples
from tractable.model import Circuit

NAN = np.nan
REAL = Schema(
    (
        Variable("a", "real"),
        Variable("b", "real"),
        Variable("c", "real"),
        Variable("d", "categorical", (0, 1)),
    )
)
MAPS = {
    "multivariate-gaussian": np.zeros((3, 0)),
    "multivariate-gaussian-yeo-johnson": np.array([[0.1, 1.2, 0.4], [-0.3, 0.8, 1.7], [0.0, 2.0, 1.0]]),
    "multivariate-gaussian-piecewise-linear": np.array(
        [[-1.0, 0.0, 2.0, -1.5, 0.0, 1.0], [-0.5, 0.2, 0.4, -1.0, 0.3, 0.6], [-1.0, 0.5, 1.0, -2.0, 0.0, 3.0]]
    ),
}


def small_graph(seed: int, family: str = "multivariate-gaussian", schema: Schema = REAL) -> Graph:
    """A mixture of two joint leaves over three columns, each beside a leaf over a binary column."""
    rng = np.random.default_rng(seed)
    builder = Builder(schema)
    parts = []
    for _ in range(2):
        mixing = rng.normal(size=(3, 3))
        factor = np.linalg.cholesky(mixing @ mixing.T + 0.2 * np.eye(3))
        params = [*rng.normal(size=3), *factor[np.tril_indices(3)], *MAPS[family].ravel()]
        leaf = builder.joint_leaf(family, [0, 2, 1], params)
        parts.append(builder.product([leaf, builder.leaf("bernoulli", 3, [rng.normal()])]))
    return builder.freeze(builder.sum(parts, np.log([0.35, 0.65])))


def components(graph: Graph) -> list[tuple[float, GaussianLeaf, float]]:
    """Weight, leaf and probability of the second state of each part of `small_graph`."""
    odds = graph.blocks[0].parameters[:, 0]
    leaves = graph.blocks_of(JointBlock)[0].leaves(graph.schema)
    return list(zip([0.35, 0.65], leaves, 1 / (1 + np.exp(-odds)), strict=True))


def slow_value(graph: Graph, row: np.ndarray) -> float:
    """The density of a row, one component after another, with scipy's own normal density."""
    total = 0.0
    for weight, leaf, p in components(graph):
        x = row[[0, 2, 1]]
        seen = np.flatnonzero(~np.isnan(x))
        value = weight * (1.0 if np.isnan(row[3]) else (p if row[3] else 1 - p))
        if seen.size:
            z = leaf.map.forward(leaf.maps[seen], x[seen])
            slope = leaf.map.log_slope(leaf.maps[seen], x[seen]).sum()
            own = leaf.covariance[np.ix_(seen, seen)]
            value *= np.exp(slope) * multivariate_normal(leaf.mean[seen], own).pdf(z)
        total += value
    return total


@pytest.mark.parametrize("family", MAPS)
def test_values_for_every_pattern_of_missing_cells(family: str) -> None:
    graph = small_graph(1, family)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(16, 3)), rng.integers(0, 2, 16)])
    rows[np.array(list(product([True, False], repeat=4)))] = NAN
    expected = [slow_value(graph, row) for row in rows]
    np.testing.assert_allclose(np.exp(log_values(graph, rows)), expected, rtol=1e-10)


@pytest.mark.parametrize("family", MAPS)
def test_a_joint_leaf_integrates_to_one(family: str) -> None:
    graph = marginalise(small_graph(2, family), [0, 1])
    grid = np.linspace(-40, 40, 2001)
    x, y = np.meshgrid(grid, grid)
    total = (
        np.exp(log_values(graph, np.column_stack([x.ravel(), y.ravel()]))).sum() * (grid[1] - grid[0]) ** 2
    )
    assert total == pytest.approx(1.0, abs=2e-2)


@given(st.integers(0, 10**6), st.sampled_from(sorted(MAPS)), st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_intervals_agree_with_draws_of_the_same_circuit(seed: int, family: str, columns: int) -> None:
    graph = small_graph(seed, family)
    draws = samples(graph, np.full(4, NAN), 40_000, seed)
    low, high = np.quantile(draws[:, :2], [0.2, 0.7], axis=0)
    regions = {c: Interval(float(low[c]), float(high[c])) for c in range(columns)}
    inside = ((draws[:, :2] >= low) & (draws[:, :2] <= high))[:, :columns].all(axis=1)
    empty = np.full((1, 4), NAN)
    assert np.exp(log_values(graph, empty, regions))[0] == pytest.approx(inside.mean(), abs=0.015)
    moments = posteriors(graph, empty, regions)[0]
    sd = draws[inside].std(axis=0)
    assert moments[[0, 2, 4]] == pytest.approx(draws[inside].mean(axis=0)[:3], abs=0.08 * sd.max() + 0.02)
    within = samples(graph, np.full(4, NAN), 2000, seed, regions)
    assert (within[:, :columns] >= low[:columns]).all()
    assert (within[:, :columns] <= high[:columns]).all()


@pytest.mark.parametrize("correlation", [0.0, 0.5, -0.95, 0.9999])
@pytest.mark.parametrize("shift", [0.0, 3.0, -7.0, 20.0])
def test_two_intervals_have_nothing_but_rounding_error(correlation: float, shift: float) -> None:
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    low, high = (
        np.array([shift - 0.3, shift * correlation - 1.0]),
        np.array([shift + 0.4, shift * correlation + 0.7]),
    )
    nodes = box_nodes(np.zeros((1, 2)), covariance, low, high)
    fine = np.linspace(low[0], high[0], 200_001)
    sd = np.sqrt(1 - correlation**2)
    with np.errstate(divide="ignore"):
        inner = np.log(
            norm.cdf((high[1] - correlation * fine) / sd) - norm.cdf((low[1] - correlation * fine) / sd)
        )
    density = norm.logpdf(fine) + inner
    top = density.max()
    reference = top + np.log(np.trapezoid(np.exp(density - top), fine))
    assert nodes.log_mass[0] == pytest.approx(reference, abs=1e-7)


def test_three_intervals_tell_their_error() -> None:
    graph = small_graph(5)
    regions = {0: Interval(-1.0, 0.5), 1: Interval(-0.5, 2.0), 2: Interval(-2.0, 0.0)}
    with pytest.warns(UserWarning, match="relative error"):
        value = np.exp(log_values(graph, np.full((1, 4), NAN), regions))[0]
    expected = sum(
        weight
        * multivariate_normal(leaf.mean, leaf.covariance, allow_singular=False).cdf(
            np.array([0.5, 0.0, 2.0]), lower_limit=np.array([-1.0, -2.0, -0.5])
        )
        for weight, leaf, _ in components(graph)
    )
    assert value == pytest.approx(expected, rel=2e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log_values(graph, np.full((1, 4), NAN), {c: regions[c] for c in (0, 1)})


def test_an_interval_beside_known_cells_is_a_difference_of_normal_tails() -> None:
    graph = small_graph(3)
    row = np.array([[0.4, NAN, -0.2, 1.0]])
    expected = 0.0
    for weight, leaf, p in components(graph):
        known, own = leaf.covariance[:2, :2], leaf.covariance[2, :2]
        gain = np.linalg.solve(known, own)
        mean = leaf.mean[2] + gain @ (np.array([0.4, -0.2]) - leaf.mean[:2])
        sd = np.sqrt(leaf.covariance[2, 2] - gain @ own)
        inside = norm.cdf(0.9, mean, sd) - norm.cdf(-0.1, mean, sd)
        expected += weight * p * inside * multivariate_normal(leaf.mean[:2], known).pdf([0.4, -0.2])
    assert np.exp(log_values(graph, row, {1: Interval(-0.1, 0.9)}))[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("family", MAPS)
def test_posterior_moments_agree_with_integration(family: str) -> None:
    graph = small_graph(7, family)
    row = np.array([[NAN, 0.3, -0.4, NAN]])
    grid = np.linspace(-60, 60, 400_001)
    rows = np.repeat(row, grid.size, axis=0)
    rows[:, 0] = grid
    density = np.exp(log_values(graph, rows))
    density /= density.sum()
    mean = grid @ density
    found = posteriors(graph, row)[0]
    assert found[0] == pytest.approx(mean, abs=2e-3)
    assert found[1] ** 2 == pytest.approx(((grid - mean) ** 2) @ density, rel=5e-3)
    assert found[2:4].tolist() == [0.3, 0.0]


@pytest.mark.parametrize("family", MAPS)
def test_draws_have_the_moments_of_the_circuit(family: str) -> None:
    graph = small_graph(11, family)
    row = np.array([NAN, 0.3, NAN, 1.0])
    draws = samples(graph, row, 50_000, 3)
    moments = posteriors(graph, row[None, :])[0]
    assert draws[:, [0, 2]].mean(axis=0) == pytest.approx(moments[[0, 4]], abs=0.05 + 0.02 * moments[5])
    assert draws[:, [0, 2]].var(axis=0) == pytest.approx(moments[[1, 5]] ** 2, rel=0.1)
    assert (draws[:, 1] == 0.3).all()
    assert (draws == samples(graph, row, 50_000, 3)).all()


def test_a_mode_is_higher_than_what_is_around_it() -> None:
    graph = marginalise(small_graph(13), [0, 1, 2])
    single = Builder(graph.schema)
    single.joint_leaf("multivariate-gaussian", [0, 1, 2], graph.blocks_of(JointBlock)[0].params[0])
    one = single.freeze()
    rng = np.random.default_rng(0)
    for regions in ({}, {0: Interval(2.0, 3.0)}, {0: Interval(2.0, 3.0), 1: Interval(-5.0, -4.0)}):
        best = completions(one, np.full((1, 3), NAN), None, regions)
        value = log_values(one, best)[0]
        around = best + rng.normal(size=(4000, 3)) * 0.2
        for c, region in regions.items():
            assert region.low <= best[0, c] <= region.high
            around[:, c] = np.clip(around[:, c], region.low, region.high)
        assert (log_values(one, around) <= value + 1e-9).all()
    assert Circuit(one).mpe().exact


@pytest.mark.parametrize("family", MAPS)
def test_conditioning_and_summing_out_agree_with_rows(family: str) -> None:
    graph = small_graph(17, family)
    rows = np.array([[0.2, -0.1, 0.3, 1.0], [1.0, -0.1, 0.6, 0.0]])
    rest = condition(graph, np.array([NAN, -0.1, NAN, NAN]))
    np.testing.assert_allclose(log_values(rest, rows[:, [0, 2, 3]]), log_values(graph, rows), rtol=1e-9)
    known = condition(graph, np.array([0.2, NAN, NAN, NAN]), {1: Interval(-1, 1), 2: Interval(0, 1)})
    beside = np.array([[0.2, NAN, NAN, 1.0]])
    expected = log_values(graph, beside, {1: Interval(-1, 1), 2: Interval(0, 1)})
    np.testing.assert_allclose(log_values(known, np.array([[1.0]])), expected, rtol=1e-9)
    part = marginalise(graph, [1, 3])
    some = rows.copy()
    some[:, [0, 2]] = NAN
    np.testing.assert_allclose(log_values(part, rows[:, [1, 3]]), log_values(graph, some), rtol=1e-9)
    with pytest.raises(ValueError, match="interval"):
        condition(graph, np.full(4, NAN), {0: Interval(0, 1)})


def test_joint_tables_beside_intervals_of_linked_columns() -> None:
    circuit = Circuit(small_graph(19))
    given = {"a": (-1.0, 1.0)}
    found = circuit.marginals(given=given)["d"]
    both = circuit.prob({"d": 1, "a": (-1.0, 1.0)}) / circuit.prob(given)
    assert found[1] == pytest.approx(both, rel=1e-9)
    assert circuit.entropy(["d"], given=given).value == pytest.approx(
        -both * np.log(both) - (1 - both) * np.log1p(-both), rel=1e-9
    )


def test_entropy_of_a_leaf_agrees_with_draws() -> None:
    for family in MAPS:
        graph = small_graph(23, family)
        leaf = graph.blocks_of(JointBlock)[0].leaves(graph.schema)[0]
        rng = np.random.default_rng(1)
        box = Box(np.full(3, -np.inf), np.full(3, np.inf))
        draws = leaf.draw(np.full((40_000, 3), NAN), box, rng.random((40_000, 3)))
        assert leaf.entropy == pytest.approx(-leaf.log_value(draws, box)[0].mean(), abs=0.03)


@pytest.mark.parametrize("suffix", [".tract", ".json"])
@pytest.mark.parametrize("family", MAPS)
def test_files_keep_joint_leaves(tmp_path, suffix: str, family: str) -> None:  # type: ignore[no-untyped-def]
    graph = small_graph(29, family)
    path = tmp_path / f"model{suffix}"
    tr.Circuit(graph).save(path)
    again = tr.load(path).graph
    rows = np.array([[0.2, NAN, 0.3, 1.0], [NAN, NAN, NAN, NAN]])
    assert (log_values(again, rows) == log_values(graph, rows)).all()
    assert again.blocks_of(JointBlock)[0].family == graph.blocks_of(JointBlock)[0].family


def test_files_that_cannot_hold_joint_leaves_say_so(tmp_path) -> None:  # type: ignore[no-untyped-def]
    circuit = tr.Circuit(small_graph(31))
    for suffix in (".ac", ".spn"):
        with pytest.raises(ValueError, match="column 'a'"):
            circuit.save(tmp_path / f"model{suffix}")
    with pytest.raises(ValueError, match="column 'a'"):
        to_ac(circuit.graph)
    assert not list(tmp_path.iterdir())
    circuit.save(tmp_path / "model.svg")
    assert "a, c, b" in (tmp_path / "model.svg").read_text()


def test_em_with_missing_cells_never_lowers_the_likelihood() -> None:
    rng = np.random.default_rng(5)
    data = np.column_stack([rng.normal(size=(150, 3)) @ rng.normal(size=(3, 3)), rng.integers(0, 2, 150)])
    data[rng.random(data.shape) < 0.25] = NAN
    graph = small_graph(37)
    from tractable.data.table import Table
    from tractable.learning.parameters import fit
    from tractable.learning.parameters.cccp import CCCP

    table = Table(REAL, data)
    before = log_values(graph, data).mean()
    for _ in range(8):
        how = CCCP(iterations=1, smoothing=0.0, leaf_smoothing=0.0, tolerance=0.0)
        graph = fit(graph, table, how, rng).graph
        after = log_values(graph, data).mean()
        assert after >= before - 1e-6
        before = after


def test_one_leaf_fitted_by_em_has_the_moments_of_complete_rows() -> None:
    rng = np.random.default_rng(5)
    from tractable.data.table import Table
    from tractable.learning.parameters import fit
    from tractable.learning.parameters.cccp import CCCP

    schema = REAL.select([0, 1, 2])
    data = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)) + 5.0
    builder = Builder(schema)
    builder.sum([builder.joint_leaf("multivariate-gaussian", [2, 0, 1], [0, 0, 0, 1, 0, 1, 0, 0, 1])], [0.0])
    how = CCCP(iterations=2, leaf_smoothing=0.0)
    fitted = fit(builder.freeze(), Table(schema, data), how, rng).graph
    leaf = fitted.blocks_of(JointBlock)[0].leaves(schema)[0]
    order = [2, 0, 1]
    np.testing.assert_allclose(leaf.mean, data[:, order].mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(leaf.covariance, np.cov(data[:, order].T, bias=True), rtol=1e-4, atol=1e-4)


def test_whole_numbers_have_probabilities_that_sum_to_one() -> None:
    schema = Schema((Variable("n", "integer"), Variable("m", "integer"), Variable("x", "real"), REAL[3]))
    builder = Builder(schema)
    builder.joint_leaf("multivariate-gaussian", [0, 1, 2], [10, 50, 0, 3, 4, 2, 0.5, 0.1, 1])
    part = marginalise(builder.freeze(), [0, 1])
    n, m = np.meshgrid(np.arange(-10, 31), np.arange(20, 81))
    values = np.exp(log_values(part, np.column_stack([n.ravel(), m.ravel()]).astype(float)))
    assert values.sum() == pytest.approx(1.0, abs=1e-9)
    inside = values[(n.ravel() >= 8) & (n.ravel() <= 12)].sum()
    found = np.exp(log_values(part, np.full((1, 2), NAN), {0: Interval(7.2, 12.9)}))[0]
    assert found == pytest.approx(inside, rel=5e-3)
    draws = samples(part, np.full(2, NAN), 500, 0)
    assert (draws == np.rint(draws)).all()


def test_properties_and_structure() -> None:
    graph = small_graph(41)
    assert properties(graph).parameters == 2 * 9 + 2 + 2
    assert properties(graph).smooth
    assert properties(graph).decomposable
    assert not is_deterministic(graph)
    assert not properties(graph).regular_selective


@pytest.mark.parametrize(
    ("columns", "params", "fault"),
    [
        ([0, 0], [0, 0, 1, 0, 1], "distinct"),
        ([0, 3], [0, 0, 1, 0, 1], "cannot stand over"),
        ([0, 1], [0, 0, 1, 0, 0], "diagonal"),
        ([0, 1], [0, 0, 1, NAN, 1], "finite"),
        ([0, 1], [0, 0, 1], "parameters"),
        ([0, 9], [0, 0, 1, 0, 1], "out of range"),
    ],
)
def test_wrong_joint_leaves_are_refused(columns: list[int], params: list[float], fault: str) -> None:
    builder = Builder(REAL)
    builder.joint_leaf("multivariate-gaussian", columns, params)
    with pytest.raises(ValueError, match=fault):
        builder.freeze()


def test_families_know_their_parameters() -> None:
    for name, family in JOINT_FAMILIES.items():
        graph = small_graph(43, name)
        block = graph.blocks_of(JointBlock)[0]
        for params, leaf in zip(block.params, block.leaves(graph.schema), strict=True):
            np.testing.assert_allclose(family.params(leaf), params)


@pytest.mark.parametrize("family", [f for f in MAPS if f != "multivariate-gaussian"])
def test_mapped_whole_numbers_have_probabilities_that_sum_to_one(family: str) -> None:
    schema = Schema((Variable("n", "integer"), Variable("m", "integer"), REAL[2], REAL[3]))
    maps = MAPS[family].copy()
    width = maps.shape[1] // 2
    if "yeo" in family:
        maps[:, :2] *= 10
    else:
        maps[:, :width] *= 10
    builder = Builder(schema)
    factor = [0.9, 0.3, 0.8, 0.1, 0.2, 1.0]
    builder.joint_leaf(family, [0, 1, 2], [0.1, -0.2, 0.0, *factor, *maps.ravel()])
    part = marginalise(builder.freeze(), [0, 1])
    n, m = np.meshgrid(np.arange(-150, 151), np.arange(-150, 151))
    values = np.exp(log_values(part, np.column_stack([n.ravel(), m.ravel()]).astype(float)))
    assert values.sum() == pytest.approx(1.0, abs=1e-6)  # a little lies beyond
    single = np.exp(log_values(part, np.column_stack([np.arange(-150, 151), np.full(301, NAN)])))
    assert single.sum() == pytest.approx(1.0, abs=1e-6)
    inside = np.exp(log_values(part, np.full((1, 2), NAN), {0: Interval(-3, 4)}))[0]
    assert inside == pytest.approx(single[147:155].sum(), rel=1e-9)
