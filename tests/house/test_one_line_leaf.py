"""A new leaf family is one file and one line: learners ask it what it can do, and never its name."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tractable as tr
from tractable.circuit import Graph
from tractable.circuit.leaves import FAMILIES, Family
from tractable.data import Schema, Table, Variable
from tractable.learning.joint import LEARNERS
from tractable.learning.parameters import METHODS, fit

TESTS = Path(__file__).parents[1]
LEARNING = TESTS.parent / "src" / "tractable" / "learning"
PAGE = TESTS.parent / "docs" / "adding" / "leaf.md"
PLUGIN = "from tractable.circuit.leaves import FAMILIES\nfrom laplace import Laplace\nold = dict(FAMILIES)\n"
FIRST = "FAMILIES.clear()\nFAMILIES.update({'laplace': Laplace(), **old})\n"
SMALL = {"continuous-mixture": {"components": 4}, "independent": {"numbers": "one-leaf"}}
GAUSSIAN = {
    "gaussian-mixture",
    "idspn",
    "auto",
}  # learners of multivariate Gaussians, beside a few univariate ones


def example() -> str:
    """The module of the page."""
    (module,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return module


@pytest.fixture
def laplace() -> Iterator[Family]:
    """The one line, before those of all other families."""
    names: dict[str, object] = {}
    exec(example(), names)
    kind, old = names["Laplace"], dict(FAMILIES)
    assert isinstance(kind, type)
    FAMILIES.clear()
    FAMILIES.update({"laplace": kind(), **old})
    yield FAMILIES["laplace"]
    FAMILIES.clear()
    FAMILIES.update(old)


def numbers(rows: int = 60) -> Table:
    """Two real columns, one of them with missing cells, told by the states of a column."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, rows)
    values = np.column_stack([group, rng.laplace(6 * group, 1.0), rng.laplace(-3 * group, 2.0)])
    values[rng.random(rows) < 0.2, 2] = np.nan
    return Table(
        Schema((Variable("g", states=("a", "b")), Variable("x", "real"), Variable("y", "real"))), values
    )


def learned(name: str) -> Graph:
    return LEARNERS[name](**SMALL.get(name, {})).learn(numbers(), np.random.default_rng(7))


def families(graph: Graph) -> set[str]:
    """The families of the leaves over real columns."""
    return {b.family.name for b in graph.leaves for c in b.column.tolist() if c > 0}


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


def test_most_learners_of_leaves_over_whole_columns_have_the_family(laplace: Family) -> None:
    names = [
        "independent",
        "naive-bayes",
        "hidden-chow-liu",
        "learnspn",
        "spn-svd",
        "region-grid",
        "continuous-mixture",
    ]
    for name in names:
        assert "laplace" in families(learned(name)), name


@pytest.mark.parametrize("name", METHODS)
def test_parameter_methods_take_the_family(name: str, laplace: Family) -> None:
    graph, table = learned("naive-bayes"), numbers()
    settings = {"targets": ("g",)} if "targets" in METHODS[name].__dataclass_fields__ else {}
    fitted = fit(graph, table, METHODS[name](**settings), np.random.default_rng(1)).graph
    assert "laplace" in families(fitted)
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
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 20


FACTORS = {"constant", "potential", "within"}  # which are no distributions


@pytest.mark.parametrize("file", sorted(LEARNING.rglob("*.py")), ids=lambda f: str(f.relative_to(LEARNING)))
def test_learning_never_asks_a_family_for_its_name(file: Path) -> None:
    source = file.read_text()
    assert not re.findall(r"family\.name (?:[!=]=|in|not in)", source)
    names = "|".join(sorted(FAMILIES.keys() - FACTORS - {"categorical"}))  # which is a kind of column as well
    assert not re.findall(rf"""[!=]= "(?:{names})\"|"(?:{names})" [!=]=""", source)
    assert set(re.findall(r"\bFAMILIES\[\"([\w-]+)", source)) <= FACTORS | {"indicator"}
