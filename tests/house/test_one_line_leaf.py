"""A new leaf family is one file and one line: learners ask it what it can do, and never its name."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import Bools, Floats
from tractable.circuit import Builder, Graph, LeafBlock, mixture
from tractable.circuit.leaves import FAMILIES, Family
from tractable.data import Schema, Table, Variable
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS
from tractable.learning.parameters import METHODS, fit
from tractable.learning.statistics.leaf_choice import choose_leaves

TESTS = Path(__file__).parents[1]
LEARNING = TESTS.parent / "src" / "tractable" / "learning"
PAGE = TESTS.parent / "docs" / "adding" / "leaf.md"
PLUGIN = "from tractable.circuit.leaves import FAMILIES\nfrom laplace import Laplace\nold = dict(FAMILIES)\n"
FIRST = "FAMILIES.clear()\nFAMILIES.update({'laplace': Laplace(), **old})\n"
SMALL: dict[str, dict[str, Any]] = {
    "continuous-mixture": {"components": 4},
    "independent": {"numbers": "one-leaf"},
}
# Learners of multivariate Gaussians, which have univariate ones beside them.
GAUSSIAN = {"gaussian-mixture", "idspn", "auto"}
WHOLE = (
    "independent", "naive-bayes", "hidden-chow-liu", "learnspn", "spn-svd", "dennis-ventura", "region-grid",
    "continuous-mixture",
)  # learners whose leaves are over whole columns and not over pieces  # fmt: skip


def example() -> str:
    """The module of the page."""
    (module,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return module


def laplace_class() -> Any:
    names: dict[str, Any] = {}
    exec(example(), names)
    return names["Laplace"]


@contextmanager
def first(family: Family) -> Iterator[Family]:
    """The one line, before those of all other families."""
    old = dict(FAMILIES)
    FAMILIES.clear()
    FAMILIES.update({family.name: family, **old})
    yield family
    FAMILIES.clear()
    FAMILIES.update(old)


@pytest.fixture
def laplace() -> Iterator[Family]:
    with first(laplace_class()()) as family:
        yield family


@pytest.fixture
def either() -> Iterator[Family]:
    """A family that has Gaussians as a special case: only column x needs more."""
    kind = laplace_class()

    class Either(kind):  # type: ignore[misc, valid-type]
        name = "either"
        narrower = FAMILIES["gaussian"]

        def width(self, variable: Variable) -> int:
            return 3

        def check(self, params: Floats, variable: Variable) -> str | None:
            return None if params.shape[1] == 3 and (params[:, 2] == 1).all() else "no wide leaf"

        def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
            return np.pad(super().fit(x, weight, variable, smoothing), ((0, 0), (0, 1)), constant_values=1.0)

        def estimate(
            self, x: Floats, weight: Floats, variable: Variable, smoothing: float, mean: float
        ) -> Floats:
            if variable.name == "x":
                return self.fit(x, weight, variable, smoothing)
            return np.pad(self.narrower.fit(x, weight, variable, smoothing), ((0, 0), (0, 1)))

        def is_narrow(self, params: Floats) -> Bools:
            return params[:, 2] == 0

        def log_prob(self, params: Floats, x: Floats) -> Floats:
            return super().log_prob(params[:, :2], x)

    with first(Either()) as family:
        yield family


def numbers(rows: int = 60) -> Table:
    """Two real columns, one of them with missing cells, told by the states of a column."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, rows)
    values = np.column_stack([group, rng.laplace(6 * group, 1.0), rng.laplace(-3 * group, 2.0)])
    values[rng.random(rows) < 0.2, 2] = np.nan
    schema = Schema((Variable("g", states=("a", "b")), Variable("x", "real"), Variable("y", "real")))
    return Table(schema, values)


def learned(name: str) -> Graph:
    return LEARNERS[name](**SMALL.get(name, {})).learn(numbers(), np.random.default_rng(7))


def families(graph: Graph) -> set[str]:
    """The families of the leaves over real columns."""
    return {b.family.name for b in graph.blocks_of(LeafBlock) for c in b.column.tolist() if c > 0}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_joint_learner_uses_the_family_that_accepts_real_columns(
    name: str, laplace: Family, tmp_path: Path
) -> None:
    graph = learned(name)
    if name not in GAUSSIAN:
        assert "gaussian" not in families(graph)
    circuit = tr.Circuit(graph)
    rows = numbers()
    assert np.isfinite(circuit.log_prob(rows)).all()
    drawn = circuit.sample(2000, random_state=1)
    for column in ("x", "y"):
        mean, sd = circuit.expectation(column), circuit.variance(column) ** 0.5
        assert np.mean(drawn[column]) == pytest.approx(mean, abs=5 * sd / 2000**0.5)
        below = np.mean(np.asarray(drawn[column], dtype=float) < mean)
        assert circuit.prob(f"{column}<{mean}") == pytest.approx(below, abs=0.06)
    assert circuit.marginals()["g"]["a"] == pytest.approx(np.mean(drawn["g"] == "a"), abs=0.06)
    circuit.save(tmp_path / "model.tract")
    np.testing.assert_array_equal(tr.load(tmp_path / "model.tract").log_prob(rows), circuit.log_prob(rows))


@pytest.mark.parametrize("name", WHOLE)
def test_leaves_over_whole_columns_are_of_the_family(name: str, laplace: Family) -> None:
    assert families(learned(name)) == {"laplace"}


@pytest.mark.parametrize("name", WHOLE)
def test_leaves_that_need_no_more_are_of_the_narrower_family(name: str, either: Family) -> None:
    graph = learned(name)
    over = {(b.family.name, c) for b in graph.blocks_of(LeafBlock) for c in b.column.tolist() if c > 0}
    assert over == {("either", 1), ("gaussian", 2)}
    assert np.isfinite(log_values(graph, numbers().values)).all()


def test_leaves_are_fitted_to_rows_by_their_responsibilities(laplace: Family) -> None:
    table, graphs = numbers(), []
    for c in (1.0, 4.0):
        builder = Builder(table.schema)
        leaves = [("bernoulli", (c,)), ("gaussian", (c, 1.0)), ("gaussian", (-c, 0.5))]
        root = builder.product([builder.leaf(name, i, params) for i, (name, params) in enumerate(leaves)])
        graphs.append(builder.freeze(root))
    after = choose_leaves(mixture(graphs), table, 0.0)
    logs = np.stack([log_values(graph, table.values) for graph in graphs])
    share, x = np.exp(logs - np.logaddexp.reduce(logs, axis=0)), table.values
    (block,) = (b for b in after.blocks_of(LeafBlock) if b.family == laplace)
    for column in (1, 2):
        seen = ~np.isnan(x[:, column])
        fitted = laplace.fit(x[seen, column], share[:, seen], table.schema[column], 0.0)
        np.testing.assert_allclose(block.params[block.column == column], fitted)


@pytest.mark.parametrize("name", METHODS)
def test_parameter_methods_take_the_family(name: str, laplace: Family) -> None:
    graph, table = learned("independent"), numbers()
    table = table.take(np.flatnonzero(~table.missing.any(axis=1)))
    settings: dict[str, Any] = {"targets": ("g",)} if "targets" in METHODS[name].__dataclass_fields__ else {}
    fitted = fit(graph, table, METHODS[name](**settings), np.random.default_rng(1)).graph
    assert families(fitted) == {"laplace"}
    assert np.isfinite(tr.Circuit(fitted).log_prob(table)).all()


def test_the_contract_tests_of_families_pick_it_up(tmp_path: Path) -> None:
    (tmp_path / "laplace.py").write_text(example())
    (tmp_path / "laplace_plugin.py").write_text(PLUGIN + FIRST)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(TESTS), *sys.path])}
    command = [sys.executable, "-m", "pytest", "-p", "laplace_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(TESTS / "circuit" / "test_leaves.py"), "-k", "laplace"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 18


def test_learning_never_asks_a_family_for_its_name() -> None:
    factors = {"constant", "potential", "within"}  # which are no distributions
    names = "|".join(sorted(FAMILIES.keys() - factors - {"categorical"}))  # which is a kind of column as well
    asked = rf"""family\.name (?:[!=]=|in\b|not in)|[!=]= "(?:{names})"|"(?:{names})" [!=]="""
    for file in LEARNING.rglob("*.py"):
        source = file.read_text()
        assert not re.findall(asked, source), file
        assert set(re.findall(r"\bFAMILIES\[\"([\w-]+)", source)) <= factors | {"indicator"}, file
