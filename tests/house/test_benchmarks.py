"""The benchmarks run, and what they tell is true."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one small binary table of two clusters."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "binary").mkdir()
    rng = np.random.default_rng(0)
    rows = rng.random((300, 6)) < np.where(rng.integers(2, size=(300, 1)), 0.9, 0.2)
    text = "\n".join(",".join(map(str, row)) for row in rows.astype(int).tolist())
    (folder / "binary" / "small.train.data.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture(scope="module")
def split_data(data: Path) -> Path:
    """The same folder with validation and test rows."""
    text = gzip.decompress((data / "binary" / "small.train.data.gz").read_bytes())
    for part in ("valid", "test"):
        (data / "binary" / f"small.{part}.data.gz").write_bytes(gzip.compress(text))
    return data


def printed(name: str, *arguments: object) -> Any:
    """The JSON object that a benchmark prints."""
    command = [sys.executable, str(BENCHMARKS / name), *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_figure_2_is_drawn_and_its_winner_is_the_highest(data: Path, tmp_path: Path) -> None:
    picture = tmp_path / "figure2.svg"
    found = printed("figure2.py", "--data", data, "--datasets", "small", "--iterations", 5, "--out", picture)
    final = found["small"]["train_ll"]
    assert list(final) == ["pgd", "eg", "sma", "cccp"]
    assert final[found["small"]["wins"]] == max(final.values())
    assert min(final.values()) > found["small"]["start"]
    assert "<svg" in picture.read_text()


def test_an_iteration_of_every_method_is_timed_beside_a_score(data: Path) -> None:
    (costs,) = printed("parameters.py", "--data", data, "--dataset", "small", "--quick").values()
    assert list(costs) == ["score", "cccp", "online-em", "hard-em", "pgd", "eg", "sma", "discriminative"]
    assert costs["score"]["scores"] == 1.0
    assert all(cost["edge_rows"] > 0 for cost in costs.values())


def test_questions_are_answered_by_circuits_and_by_sampled_networks(split_data: Path, tmp_path: Path) -> None:
    picture, methods = tmp_path / "queries.svg", "chow-liu,independent,l1-markov,bayes-gibbs"
    where = ("--data", split_data, "--datasets", "small", "--methods", methods, "--out", picture)
    found = printed("queries.py", *where, "--queries", 20, "--rows", 100)
    assert [(one["method"], one["measure"]) for one in found] == [
        ("chow-liu", "CLL"), ("independent", "CLL"), ("l1-markov", "CMLL"), ("bayes-gibbs", "CMLL"),
    ]  # fmt: skip
    assert all(len(one["likelihood"]) == len(one["seconds"]) == 9 for one in found)
    tree, alone = (np.mean(one["likelihood"][:3]) for one in found[:2])
    assert tree > alone
    assert "<svg" in picture.read_text()


def test_the_growing_circuit_is_timed_and_the_shares_of_a_run_add_up(data: Path) -> None:
    found = printed("growing.py", "--data", data, "--dataset", "small", "--quick", "--seconds", 2)
    *circuits, run = found.values()
    assert [heading.split()[-2] for heading in found][:2] == ["1,000", "5,000"]
    assert all(figure > 0 for circuit in circuits for figure in circuit.values())
    shares = [share for name, share in run.items() if name.startswith("share of ")]
    assert sum(shares) == pytest.approx(1.0)
    assert all(share >= 0 for share in shares[:-1])
    assert run["splits"] > 0
    assert run["edges"] > 0


def test_imputation_is_compared_column_by_column() -> None:
    found = printed("imputation.py", "--tables", "wine", "--learner", "naive-bayes", "--seeds", 1)
    columns = found["tables"]["wine"]["columns"]
    assert len(columns) == found["columns"] == 14
    assert all(list(one) == ["IterativeImputer", "KNNImputer", "tractable"] for one in columns.values())
    assert all(0 < error < 1.5 for one in columns.values() for error in one.values())
    assert 0 <= found["ahead"] <= 14


def test_classification_is_compared_by_log_loss() -> None:
    arguments = ("--tables", "wine", "--learner", "naive-bayes", "--set", "components=1", "--folds", 2)
    found = printed("classification.py", *arguments)["wine"]
    assert list(found) == ["LogisticRegression", "HistGradientBoosting", "TractableClassifier"]
    assert all(one["log_loss"] < 0.3 and one["accuracy"] > 0.9 for one in found.values())


def test_densities_are_compared_with_a_gaussian_mixture_chosen_by_bic() -> None:
    (row,) = printed("densities.py", "--tables", "iris", "--learners", "independent", "--folds", 2).values()
    assert row["rows"] == 150
    assert row["gain"]["independent"][0] < 0  # independent columns cannot win on iris
    assert row["gain"]["best"] == row["gain"]["independent"]


def test_the_start_of_a_command_is_measured_in_an_empty_folder() -> None:
    (cost,) = printed("startup.py", "--only", "help", "--turns", 1).values()
    assert 0 < cost["CPU"] < 30
    assert cost["wall"] > 0


def test_conditional_expectations_are_timed_beside_marginals() -> None:
    (speed,) = printed("conditional.py", "--quick").values()
    assert speed["ratio"] == pytest.approx(speed["expectations"] / speed["marginals of the engine"])
    assert min(speed.values()) > 0
