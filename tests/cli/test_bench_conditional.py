"""`bench --conditional`: the same inputs for every method, joint models asked again, tables and pages."""

import gzip
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tractable import read
from tractable.base.progress import Watch
from tractable.circuit import Graph
from tractable.cli import benchmark, run
from tractable.cli.benchmark import DataSet, Job, Run, compare, conditional_grids, find, run_all
from tractable.cli.benchmark import published as papers
from tractable.cli.benchmark.child import outcome
from tractable.cli.benchmark.conditional_measure import conditional_logs, input_columns, with_inputs
from tractable.cli.benchmark.contestants import (
    conditional_contestant,
    conditional_contestants,
    published_conditional_names,
)
from tractable.cli.benchmark.logistic import STRENGTHS, LogisticContestant
from tractable.cli.benchmark.measure import measure
from tractable.cli.reports import prediction_metrics
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.queries import log_conditional, log_prob

Shell = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one data set of five columns that hang together."""
    rng = np.random.default_rng(0)
    for part, rows in (("train", 300), ("valid", 80), ("test", 60)):
        first = rng.integers(2, size=rows)
        cells = [first ^ (rng.random(rows) < noise) for noise in (0.0, 0.1, 0.2, 0.3, 0.4)]
        lines = [",".join(map(str, row)) for row in np.stack(cells, axis=1).astype(int).tolist()]
        (tmp_path / f"nltcs.{part}.data.gz").write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return tmp_path


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "run_all", partial(run_all, runner=outcome))


def dataset(data: Path) -> DataSet:
    return find(data)[0]


def test_the_choice_of_inputs_is_one_fixed_permutation() -> None:
    assert input_columns(16, 0.5).tolist() == sorted(np.random.default_rng(0).permutation(16)[:8].tolist())
    assert input_columns(69, 0.8).size == 55
    assert input_columns(5, 0.5).size == 3  # halves go up
    assert set(input_columns(100, 0.5)) < set(input_columns(100, 0.8))


def test_there_are_inputs_and_targets(data: Path) -> None:
    tables = dataset(data).tables()
    given = with_inputs(tables, 0.5)
    assert given.test.schema.inputs.tolist() == input_columns(5, 0.5).tolist()
    np.testing.assert_array_equal(given.test.values, tables.test.values)
    for share in (0.01, 0.99):
        with pytest.raises(
            ValueError, match="of 5 columns are inputs: there must be both inputs and targets"
        ):
            with_inputs(tables, share)


def test_joint_and_conditional_models_are_asked_the_same(data: Path) -> None:
    tables = with_inputs(dataset(data).tables(), 0.5)
    joint = ChowLiuLearner().learn(dataset(data).tables().train, np.random.default_rng(0))
    rows, inputs = tables.test.values, tables.test.schema.inputs
    expected = log_conditional(joint, rows, inputs.tolist())
    np.testing.assert_allclose(conditional_logs(joint, rows, inputs), expected, atol=1e-12)
    conditional = conditional_contestant("mctbn").learn(tables, np.random.default_rng(0), Watch())
    assert isinstance(conditional, Graph)
    np.testing.assert_array_equal(conditional_logs(conditional, rows, inputs), log_prob(conditional, rows))


def test_predictions_are_judged_by_the_first_test_rows(data: Path) -> None:
    found = measure(Job(dataset(data), "mctbn", queries=25, inputs=0.5)).metrics
    tables = with_inputs(dataset(data).tables(), 0.5)
    graph = conditional_contestant("mctbn").learn(tables, np.random.default_rng(0), Watch())
    assert isinstance(graph, Graph)
    assert found == pytest.approx(prediction_metrics(graph, tables.test.take(slice(25)))["marginals"])
    assert measure(Job(dataset(data), "mctbn", queries=0, inputs=0.5)).metrics is None


def test_independent_regressions_are_those_of_scikit_learn(data: Path) -> None:
    tables = with_inputs(dataset(data).tables(), 0.5)
    graph = LogisticContestant().learn(tables, np.random.default_rng(0), Watch())
    schema = tables.train.schema
    x = {name: part.values[:, schema.inputs] for name, part in tables._asdict().items()}
    total = np.zeros(len(tables.test))
    for column in schema.targets.tolist():
        y = {name: part.values[:, column].astype(int) for name, part in tables._asdict().items()}
        best, score = np.zeros(0), -np.inf
        for strength in STRENGTHS:
            model = LogisticRegression(C=strength, tol=1e-8, max_iter=1000).fit(x["train"], y["train"])
            valid = model.predict_log_proba(x["valid"])[np.arange(80), y["valid"]].mean()
            if valid > score:
                best, score = model.predict_log_proba(x["test"])[np.arange(60), y["test"]], valid
        total += best
    np.testing.assert_allclose(log_prob(graph, tables.test.values), total, atol=0.02)


def test_a_state_that_was_never_seen_is_no_trouble_for_regressions(data: Path) -> None:
    rows = read(data / "nltcs.train.data.gz").values.copy()
    rows[:, 0] = 0
    text = "\n".join(",".join(str(int(x)) for x in row) for row in rows)
    (data / "nltcs.train.data.gz").write_bytes(gzip.compress((text + "\n").encode()))
    tables = with_inputs(dataset(data).tables(), 0.5)
    assert np.isfinite(log_prob(LogisticContestant().learn(tables, np.random.default_rng(0), Watch()),
                                tables.test.values)).all()  # fmt: skip


def test_a_joint_model_is_learned_once_and_asked_at_every_share(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = []
    whole = ChowLiuLearner._learn

    def count(self: ChowLiuLearner, table: object, *rest: object, **more: object) -> object:
        learned.append(len(table))  # type: ignore[arg-type]
        return whole(self, table, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ChowLiuLearner, "_learn", count)
    job = Job(dataset(data), "chow-liu", queries=10, models=str(tmp_path / "kept"))
    found = [measure(Job(**{**vars(job), "inputs": share})) for share in (0.4, 0.6, 0.4)]
    assert learned.count(300) == 1
    assert found[0].log_prob == found[2].log_prob != found[1].log_prob
    assert len({one.cpu_seconds for one in found}) == 1  # of learning, which was done once
    assert len(list((tmp_path / "kept").glob("nltcs-chow-liu-*.tract"))) == 1
    assert found[0].times is not None
    measure(Job(**{**vars(job), "inputs": 0.4, "seed": 1}))
    assert learned.count(300) == 2  # another seed is another model


def test_runs_of_other_shares_and_of_joint_models_are_kept_apart(data: Path) -> None:
    job = Job(dataset(data), "chow-liu", queries=0)
    runs = [Job(**{**vars(job), "inputs": share}).result(None, "no") for share in (None, 0.5, 0.8)]
    assert len({one.key for one in runs}) == 3
    assert [Run.from_json(one.to_json()) for one in runs] == runs
    assert Job.from_json(Job(**{**vars(job), "inputs": 0.5}).to_json()).inputs == 0.5
    old = json.loads(runs[0].to_json())
    del old["inputs"]  # as older versions wrote it
    assert Run.from_json(json.dumps(old)).key == runs[0].key
    assert len(compare(runs, "idspn").runs) == 1
    assert compare(runs, "idspn", 0.5).runs == (runs[1],)


def test_what_is_no_contestant_is_refused_before_anything_runs() -> None:
    known = ["idspn", "eacmn", "cacmn", "daclearn", "mctbn", "gaclearn", "logistic"]
    assert published_conditional_names() == known
    with pytest.raises(ValueError, match="network without a circuit"):
        conditional_contestant("gssl")
    with pytest.raises(ValueError, match="is not among logistic, mctbn"):
        conditional_contestants(["logistic", "mctbn"], ["daclearn.l1=2"])
    with pytest.raises(
        ValueError, match="learns a conditional model, but the benchmark compares joint models"
    ):
        benchmark.contestants(["mctbn"], [])
    assert conditional_contestant("learnspn+cccp").settings.keys() == {"learnspn", "cccp"}


def test_published_figures_are_as_printed() -> None:
    told = papers.given_inputs()
    assert told["nltcs", "daclearn", 50] == -2.770
    assert told["bbc", "gaclearn", 80] == -43.418
    assert ("ad", "mctbn", 50) not in told
    assert len({dataset for dataset, _, _ in told}) == 20


@pytest.mark.usefixtures("in_process")
def test_the_command_line_compares_conditional_models(data: Path, tmp_path: Path, capsys: Shell) -> None:
    results = str(tmp_path / "r.jsonl")
    names = "chow-liu,independent,mctbn,logistic"
    command = ["bench", "--conditional", "--data", str(data), "--learners", names, "--results", results]
    command += ["--queries", "5", "--against", "mctbn"]
    assert run([*command, "--report", str(tmp_path / "page")]) == 0
    out = capsys.readouterr()
    assert "8 runs to go" in out.err
    assert "Targets given 50 % of the columns" in out.out
    assert "Targets given 80 % of the columns" in out.out
    assert "◦" in out.out  # independent columns are worse than a mixture of trees
    assert "-2.770" in out.out  # published
    assert "with another random choice of inputs" in out.out
    page = (tmp_path / "page" / "bench.md").read_text()
    assert "wins / ties / losses" in page
    assert "Predictions given 80 % of the columns" in page
    assert (tmp_path / "page" / "bench.svg").stat().st_size > 1000
    assert run([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts["runs"]) == 8
    assert {one["inputs"] for one in facts["runs"]} == {0.5, 0.8}
    assert all(one["times"]["alone_ms"] > 0 and one["parameters"] for one in facts["runs"])
    assert run([*command, "--inputs", "60", "--quiet"]) == 0  # the joint models are there already
    assert len(list((tmp_path / "r.jsonl.models").glob("*.tract"))) == 2
    assert run([*command, "--inputs", "0,50", "--quiet"]) == 2
    assert "'0' is not a percentage between 0 and 100" in capsys.readouterr().err
    assert run(["bench", "--show", "--results", results]) == 0
    assert "no runs" in capsys.readouterr().out  # of joint models


def test_without_runs_there_are_no_tables() -> None:
    assert conditional_grids({}) == []
