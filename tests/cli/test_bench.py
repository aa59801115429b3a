"""The benchmark: what is measured is true, what is published is as printed, what is cut short goes on."""

import gzip
import json
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from tractable.base.progress import Progress, Watch
from tractable.circuit import Builder, Graph
from tractable.cli import benchmark, run
from tractable.cli.benchmark import DataSet, Job, Run, append_result, compare, find, read_results, run_all
from tractable.cli.benchmark import published as papers
from tractable.cli.benchmark.child import outcome
from tractable.cli.benchmark.children import COMMAND, Children
from tractable.cli.benchmark.contestants import contestant, contestants, published_names
from tractable.cli.benchmark.datasets import Tables
from tractable.cli.benchmark.grid import Grid
from tractable.cli.benchmark.measure import ScoreCurve, measure, new_rows
from tractable.cli.benchmark.picture import picture
from tractable.cli.benchmark.questions import PERCENTAGES, Answers, answer, choose, sampled_answer
from tractable.cli.benchmark.report import (
    answers_grid,
    likelihood_grid,
    runs_grid,
    settings_text,
    times_grid,
    wins_grid,
)
from tractable.cli.benchmark.runs import Measured
from tractable.cli.benchmark.significance import paired_p_value, verdict
from tractable.data import Table, clinic, discrete_schema
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.networks.indicators import conditional_marginal_log_likelihood
from tractable.learning.networks.pseudo_likelihood.scores import mean_log_pseudo_likelihood
from tractable.networks import Network, compile_network
from tractable.networks.gibbs.sampler import GibbsSampler
from tractable.queries import log_conditional, log_prob

Shell = pytest.CaptureFixture[str]
QUICK = ("independent", "chow-liu")


def write_part(folder: Path, name: str, part: str, text: str, *, zipped: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if zipped:
        (folder / f"{name}.{part}.data.gz").write_bytes(gzip.compress(text.encode()))
    else:
        (folder / f"{name}.{part}.data").write_text(text)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of two data sets of three columns that hang together: one plain, one under `binary`."""
    rng = np.random.default_rng(0)
    for name, folder in (("nltcs", tmp_path / "data"), ("own", tmp_path / "data" / "binary")):
        for part, rows in (("train", 120), ("valid", 40), ("test", 50)):
            first = rng.integers(2, size=rows)
            cells = np.stack([first, first ^ (rng.random(rows) < 0.1), rng.integers(2, size=rows)], axis=1)
            write_part(
                folder, name, part, "\n".join(",".join(map(str, row)) for row in cells.tolist()) + "\n"
            )
    return tmp_path / "data"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without a child process each, which would take seconds."""
    monkeypatch.setattr(benchmark, "run_all", partial(run_all, runner=outcome))


def fake(learner: str, dataset: str = "nltcs", log_prob: list[float] | None = None, **more: object) -> Run:
    """A run that nobody has run; validation rows are as probable as test rows."""
    logs = [-1.0, -2.0] if log_prob is None else log_prob
    answers = [Answers(percent, logs, 2.0, 1.0) for percent in PERCENTAGES]
    measured = Measured(
        finished=True, variables=3, train_rows=9, nodes=4, edges=5, cpu_seconds=1.5, seconds=1.6,
        peak_mb=300.0, valid_ll=float(np.mean(logs)), log_prob=logs, answers=answers,
    )  # fmt: skip
    run = Run(dataset, "digest", learner, {learner: {}}, 0, None, 1000, "0", measured)
    return replace(run, **more)  # type: ignore[arg-type]


def fake_network(
    learner: str, dataset: str = "nltcs", logs: tuple[float, ...] = (-0.4, -0.6), **more: object
) -> Run:
    """A run of a learner of networks that nobody has run."""
    run = fake(learner, dataset, list(logs), **more)
    assert run.measured is not None
    measured = replace(
        run.measured, nodes=None, edges=None, valid_ll=None, log_prob=[], features=1234, valid_pll=sum(logs)
    )
    return replace(run, measured=measured)


def test_rows_that_were_not_seen_in_training_are_told_from_others() -> None:
    schema = discrete_schema([2, 2])
    seen = np.array([[0, 0], [0, 1], [0, 1]], dtype=np.float64)
    test = np.array([[0, 1], [1, 1], [0, 0], [1, 0], [1, 1]], dtype=np.float64)
    tables = Tables(Table(schema, seen), Table(schema, seen), Table(schema, test))
    np.testing.assert_array_equal(new_rows(tables), [False, True, False, True, True])
    whole = Tables(tables.train, tables.valid, tables.train)
    assert not new_rows(whole).any()


@pytest.mark.parametrize(("rows", "value"), [(3, -2.5), (3, -np.inf), (0, None), (None, None)])
def test_figures_of_new_rows_are_kept(rows: int | None, value: float | None) -> None:
    run = fake("acmn")
    assert run.measured is not None
    run = replace(run, measured=replace(run.measured, new_test_rows=rows, new_test_ll=value))
    assert Run.from_json(run.to_json()) == run


def test_the_curve_tells_when_the_score_was_near_its_last() -> None:
    curve = ScoreCurve()
    assert curve.settled_seconds is None
    for score in (-200.0, None, -120.0, -100.4, -110.0, -100.0):
        curve(Progress("learning", 1, None, score))
        curve._begin -= 10.0  # ten seconds pass
    settled = curve.settled_seconds
    assert settled is not None
    assert 30 <= settled < 40


# ---- significance -------------------------------------------------------------------------------------


@given(st.integers(2, 40), st.integers(0, 2**32), st.floats(-1, 1))
def test_the_paired_test_is_scipys(rows: int, seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(size=rows), rng.normal(size=rows) + shift
    expected = ttest_rel(ours, theirs).pvalue
    assert paired_p_value(ours, theirs) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    word = "better" if ours.mean() > theirs.mean() else "worse"
    assert verdict(ours, theirs) == (word if expected < 0.05 else "")


def test_the_same_difference_in_every_row_is_significant_and_none_is_not() -> None:
    rows = np.array([-1.0, -2.0, -4.0])
    assert verdict(rows + 0.5, rows) == "better"
    assert verdict(rows - 0.5, rows) == "worse"
    assert verdict(rows, rows) == ""
    assert verdict(rows[:1] + 1, rows[:1]) == ""


def test_who_alone_finds_a_row_impossible_is_worse() -> None:
    rows, broken = np.array([-9.0, -9.0]), np.array([-0.1, -np.inf])
    assert (verdict(broken, rows), verdict(rows, broken), verdict(broken, broken)) == ("worse", "better", "")


# ---- published figures --------------------------------------------------------------------------------


def test_published_figures_are_as_printed() -> None:
    known = papers.log_likelihoods()
    assert known["nltcs", "ID-SPN"].mean == -6.02
    assert known["ad", "LearnSPN+CCCP"].mean == -27.202
    assert known["jester", "SPN-SVD"].mean == -41.11
    assert known["dna", "best tractable"].mean == -79.05
    assert ("tmovie", "LTM") not in known
    assert papers.conditionals()["pumsb_star", "WinMine", 90] == -0.7654
    assert papers.conditionals()["nltcs", "ID-SPN", 10] == -0.3082
    assert papers.query_times()["WinMine", 90] == (2021, 11102)
    assert len(papers.titles()) == 20
    assert len(papers.conditionals()) == 200


def test_published_answers_are_mended_where_one_variable_fewer_was_asked_about() -> None:
    printed, mended = papers.conditionals(), papers.conditionals_a_cell()
    assert mended["jester", "ID-SPN", 10] == pytest.approx(printed["jester", "ID-SPN", 10] * 10 / 9)
    assert mended["nltcs", "ID-SPN", 50] == pytest.approx(printed["nltcs", "ID-SPN", 50] * 8 / 7)
    assert ("nltcs", "ID-SPN", 30) not in mended  # 30 percent of 16 is no whole number
    rising = [mended["jester", "ID-SPN", percent] for percent in (30, 50, 70, 90)]
    assert rising == sorted(rising, reverse=True)  # less is given, so less is known


def test_published_marks_agree_with_the_published_count_of_wins() -> None:
    for method in ("ACMN", "MT", "WinMine", "LearnSPN", "LTM"):
        marks = [
            figure.against_reference for (_, m), figure in papers.log_likelihoods().items() if m == method
        ]
        assert marks.count("better") == papers.wins()[method, papers.REFERENCE]
        assert marks.count("worse") == papers.wins()[papers.REFERENCE, method]


def test_every_published_figure_is_of_a_known_method_and_data_set() -> None:
    assert {m for _, m in papers.log_likelihoods()} == set(papers.methods())
    assert {d for d, _ in papers.log_likelihoods()} == set(papers.titles())
    assert {m for _, m, _ in papers.conditionals()} <= set(papers.methods())
    assert {m for pair in papers.wins() for m in pair} <= set(papers.methods())
    assert all(papers.methods().values())
    assert {"acmn", "learnspn", "learnspn+cccp"} <= set(published_names())
    assert {"selective", "selective:tuning=grid:starts=1:max_edges=100000"} <= set(published_names())
    assert all(name.split("+")[0].split(":")[0] in LEARNERS for name in published_names())


def test_a_name_may_hold_settings_which_go_before_those_that_are_given() -> None:
    one = contestant("selective:tuning=grid:starts=1", ["selective.starts=2", "selective.patience=7"])
    assert one.name == "selective:tuning=grid:starts=1"
    learner = one.settings["selective"]
    assert (learner["tuning"], learner["starts"], learner["patience"]) == ("grid", 1, 7)
    assert contestant("learnspn+cccp:smoothing=3").settings["cccp"]["smoothing"] == 3
    with pytest.raises(ValueError, match="no_such"):
        contestant("selective:no_such=1")
    with pytest.raises(ValueError, match="name=value"):
        contestant("selective:tuning")


# ---- data sets and contestants ------------------------------------------------------------------------


def test_data_sets_are_found_beside_and_below_with_published_ones_first(data: Path) -> None:
    write_part(data, "early", "train", "0,1\n", zipped=False)
    write_part(data, "early", "valid", "0,1\n", zipped=False)
    write_part(data, "early", "test", "0,1\n")
    assert [one.name for one in find(data)] == ["nltcs", "early", "own"]
    assert [one.name for one in find(data, ["own", "nltcs"])] == ["own", "nltcs"]
    assert len(find(data, ["early"])[0].tables().test) == 1


def test_a_state_of_one_part_is_a_state_of_all_and_cells_may_be_missing(tmp_path: Path) -> None:
    for part, text in (("train", "0,1\n1,*\n"), ("valid", "2,0\n"), ("test", "0,4\n*,*\n")):
        write_part(tmp_path, "odd", part, text)
    tables = find(tmp_path)[0].tables()
    assert [table.schema.cardinalities.tolist() for table in tables] == [[3, 5]] * 3
    assert tables.test.missing.tolist() == [[False, False], [True, True]]


@pytest.mark.parametrize(
    ("part", "text", "fault"),
    [("valid", "0,1,1\n", "3 columns"), ("test", "2|0,1\n", "weights"), ("test", "a,1\n", "line 1")],
)
def test_tables_that_cannot_be_measured_are_refused(tmp_path: Path, part: str, text: str, fault: str) -> None:
    for name in ("train", "valid", "test"):
        write_part(tmp_path, "bad", name, text if name == part else "0,1\n1,0\n")
    with pytest.raises(ValueError, match=fault):
        find(tmp_path)[0].tables()


def test_a_folder_without_what_is_asked_for_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder"):
        find(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no data set"):
        find(tmp_path)
    with pytest.raises(ValueError, match=r"'plants'.*nltcs"):
        find(data, ["plants"])
    (data / "nltcs.test.data.gz").unlink()
    assert [one.name for one in find(data, ["own"])] == ["own"]
    with pytest.raises(ValueError, match=r"nltcs\.test"):
        find(data, ["nltcs"])


def test_a_digest_tells_tables_of_one_name_apart(data: Path) -> None:
    (before,) = find(data, ["own"])
    digest = before.digest()
    assert digest == before.digest()
    write_part(data / "binary", "own", "test", "0,0,0\n")
    assert before.digest() != digest


def test_settings_go_to_the_part_they_name() -> None:
    settings = ["learnspn.clusters=3", "cccp.iterations=7", "chow-liu.smoothing=0.5"]
    tree, both = contestants(["chow-liu", "learnspn+cccp"], settings)
    assert tree.settings["chow-liu"]["smoothing"] == 0.5
    assert both.settings["learnspn"]["clusters"] == 3
    assert both.settings["cccp"]["iterations"] == 7
    assert both.settings["learnspn"]["threshold"] == list(LEARNERS.make("learnspn").threshold)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("names", "settings", "fault"),
    [
        (["chow-lui"], [], "did you mean 'chow-liu'"),
        (["chow-liu+ccp"], [], "did you mean 'cccp'"),
        (["chow-liu"], ["smoothing=1"], r"learner\.name=value"),
        (["chow-liu"], ["acmn.smoothing=1"], "'acmn' is not among"),
        (["chow-liu"], ["chow-liu.smothing=1"], "no setting 'smothing'"),
        (["l1-marov"], [], "did you mean 'l1-markov'"),
        (["gssl"], ["gssl.candidate=1"], "gssl has no setting 'candidate'; did you mean 'candidates'"),
        (["gssl+cccp"], [], "'gssl\\+cccp': gssl learns a network without a circuit, which cccp cannot fit"),
    ],
)
def test_what_is_unknown_is_refused_by_name(names: list[str], settings: list[str], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        contestants(names, settings)


# ---- measuring ----------------------------------------------------------------------------------------


def test_questions_ask_about_the_right_number_of_cells_and_are_the_same_for_all() -> None:
    table = clinic(30)
    for percent, cells in zip(PERCENTAGES, (1, 2, 4, 6, 7), strict=True):
        rows, asked = choose(table, 20, percent, 3)
        assert (asked.sum(axis=1) == cells).all()
        assert len({tuple(row) for row in asked.tolist()}) > 1
        again = choose(table, 20, percent, 3)
        assert np.array_equal(rows, again[0])
        assert np.array_equal(asked, again[1])
    assert len(choose(table, 1000, 50, 0)[0]) == 30


def test_an_answer_is_the_conditional_log_likelihood_a_cell() -> None:
    table = clinic(40)
    graph = LEARNERS["chow-liu"]().learn(table, np.random.default_rng(0))
    rows, asked = choose(table, 10, 30, 0)
    rows[0, asked[0].argmax()] = np.nan  # a cell asked about of which nobody knows the answer
    expected = [
        log_conditional(graph, row[None, :], np.flatnonzero(~hidden).tolist())[0]
        / (hidden & ~np.isnan(row)).sum()
        for row, hidden in zip(rows, asked, strict=True)
    ]
    assert answer(graph, rows, asked) == pytest.approx(expected)


def test_an_answer_to_an_impossible_question_is_impossible() -> None:
    builder = Builder(discrete_schema([2, 2]))
    graph = builder.freeze(builder.product([builder.indicator(0, 0), builder.leaf("bernoulli", 1, [0.0])]))
    found = answer(graph, np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[False, True]] * 2))
    assert found.tolist() == [-np.inf, pytest.approx(np.log(0.5))]


@pytest.mark.parametrize("learner", ["chow-liu", "learnspn+cccp"])
def test_a_run_measures_what_the_learner_learns(data: Path, learner: str) -> None:
    (dataset,) = find(data, ["own"])
    job = Job(dataset, learner, ("cccp.iterations=3",), seed=4, queries=6)
    found, tables = measure(job), dataset.tables()
    maker = contestant(learner, job.settings)
    graph = maker.learn(tables, np.random.default_rng(4), Watch())
    assert isinstance(graph, Graph)
    assert found.log_prob == pytest.approx(log_prob(graph, tables.test.values).tolist())
    assert found.valid_ll == pytest.approx(log_prob(graph, tables.valid.values).mean())
    assert (found.nodes, found.edges, found.variables) == (graph.nodes, graph.edges, 3)
    assert found.finished
    assert [one.percent for one in found.answers] == list(PERCENTAGES)
    assert all(len(one.log_prob) == 6 and one.alone_ms > 0 for one in found.answers)
    assert found.peak_mb > 20


@pytest.mark.parametrize("learner", NETWORK_LEARNERS)
def test_a_network_is_measured_by_its_pseudo_likelihood_and_its_sampled_answers(
    data: Path, learner: str
) -> None:
    (dataset,) = find(data, ["own"])
    settings = {"gssl": ("gssl.candidates=300",), "l1-markov": ("l1-markov.penalty=10",)}[learner]
    job = Job(dataset, learner, settings, seed=4, queries=6)
    found, tables = measure(job), dataset.tables()
    network = contestant(learner, settings).learn(tables, np.random.default_rng(4), Watch())
    assert isinstance(network, Network)
    assert found.is_network
    assert (found.nodes, found.edges, found.valid_ll, found.test_ll, found.log_prob) == (None,) * 4 + ([],)
    assert found.features == len(network.factors)
    assert found.valid_pll == found.valid_score == mean_log_pseudo_likelihood(network, tables.valid)
    assert [one.percent for one in found.answers] == list(PERCENTAGES)
    rows, asked = choose(tables.test, 6, 90, 4)
    sampled = conditional_marginal_log_likelihood(GibbsSampler(network), rows, asked, seed=4)
    assert found.answers[-1].log_prob == pytest.approx((sampled / asked.sum(axis=1)).tolist())
    run = Run.from_json(job.result(found).to_json())
    assert run.measured is not None
    assert run.measured.is_network
    assert run.measured.valid_ll is None


def test_a_sampled_answer_is_the_mean_over_cells_of_exact_conditionals_where_one_is_free(data: Path) -> None:
    (dataset,) = find(data, ["own"])
    tables = dataset.tables()
    network = contestant("l1-markov").learn(tables, np.random.default_rng(0), Watch())
    assert isinstance(network, Network)
    rows, asked = choose(tables.test, 20, 10, 0)  # one cell of each row
    exact = answer(compile_network(network), rows, asked)
    np.testing.assert_allclose(sampled_answer(GibbsSampler(network), rows, asked, 0), exact, atol=1e-9)
    rows[0, asked[0]] = np.nan
    assert sampled_answer(GibbsSampler(network), rows, asked, 0)[0] == 0.0


def test_a_budget_that_ends_learning_is_told(data: Path) -> None:
    (dataset,) = find(data, ["own"])
    assert not measure(Job(dataset, "mixture-of-trees", budget=1e-9, queries=0)).finished


def test_peak_memory_counts_what_was_held_and_given_back() -> None:
    program = """if True:
        import numpy as np
        from tractable.cli.benchmark.memory import peak_memory
        before = peak_memory()
        held = np.ones(int(before) // 8 + 10**7)
        del held
        print(peak_memory() - before)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 5e7


# ---- results ------------------------------------------------------------------------------------------


def test_a_run_is_the_same_after_its_line_is_read_again() -> None:
    run = fake("acmn", log_prob=[-1.25, -np.inf], budget=90.0)
    line = run.to_json()
    assert "Infinity" not in line
    assert Run.from_json(line) == run
    failed = replace(run, measured=None, reason="out of memory")
    assert Run.from_json(failed.to_json()) == failed


def test_a_run_of_a_network_is_the_same_after_its_line_is_read_again() -> None:
    for one in (fake_network("gssl"), fake_network("gssl", logs=(-0.5, -np.inf))):
        line = one.to_json()
        assert "Infinity" not in line
        assert Run.from_json(line) == one


def test_lines_from_before_networks_were_measured_are_read() -> None:
    old = json.loads(fake("acmn").to_json())
    del old["measured"]["features"], old["measured"]["valid_pll"]
    assert Run.from_json(json.dumps(old)) == fake("acmn")


def test_log_likelihoods_are_kept_to_a_millionth() -> None:
    run = Run.from_json(fake("acmn", log_prob=[-1.00000001, -2.0]).to_json())
    assert run.measured is not None
    assert run.measured.log_prob == [-1.0, -2.0]


def test_half_a_line_is_ignored_and_then_replaced(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    append_result(file, fake("acmn"))
    whole = file.read_bytes()
    half = fake("learnspn", log_prob=[-1.5] * 30_000).to_json().encode()[:-9]
    for cut in (1, 20, len(half)):
        file.write_bytes(whole + half[:cut])
        assert [run.learner for run in read_results(file)] == ["acmn"]
        append_result(file, fake("eacmn"))
        assert [run.learner for run in read_results(file)] == ["acmn", "eacmn"]
        assert file.read_bytes().count(b"\n") == 2
    file.write_bytes(half)
    append_result(file, fake("eacmn"))
    assert [run.learner for run in read_results(file)] == ["eacmn"]


def test_of_the_same_run_twice_the_last_counts(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    for line in (fake("acmn", measured=None, reason="crashed"), fake("eacmn"), fake("acmn")):
        append_result(file, line)
    assert [(line.learner, line.reason) for line in read_results(file)] == [("eacmn", None), ("acmn", None)]


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "hello", '{"dataset": "x"}\n', "\udcff"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match="line 1: this is not a result"):
        read_results(file)


# ---- child processes ----------------------------------------------------------------------------------


def test_a_child_measures_what_this_process_would(data: Path) -> None:
    job = Job(find(data, ["own"])[0], "chow-liu", ("chow-liu.smoothing=0.5",), queries=5)
    run, here = Children().run(job), outcome(job)
    assert run.key == here.key
    assert run.measured is not None
    assert here.measured is not None
    assert run.measured.test_ll == pytest.approx(here.measured.test_ll, abs=1e-6)
    assert 20 < run.measured.peak_mb < 2000


def test_a_child_ends_with_its_parent() -> None:
    job = Job(DataSet("clinic"), "learnspn")
    done = subprocess.run(COMMAND, input=job.to_json() + "\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import os; os.kill(os.getpid(), 9)", "want of memory"),
        ("import os; os.kill(os.getpid(), 11)", "crashed (SIGSEGV)"),
        ("import sys; sys.stdin.readline(); sys.exit('all is lost')", "exit code 1: all is lost"),
        ("raise SystemExit(3)", "exit code 3: no word"),
    ],
)
def test_how_a_child_dies_is_a_result(script: str, reason: str) -> None:
    run = Children((sys.executable, "-c", script)).run(Job(DataSet("clinic"), "chow-liu"))
    assert run.measured is None
    assert run.reason is not None
    assert reason in run.reason
    assert run.key == Job(DataSet("clinic"), "chow-liu").result(None).key


def test_a_child_that_ends_before_it_is_told_its_job_is_a_result_too(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Children._start

    def ended(children: Children, errors: IO[str]) -> "subprocess.Popen[str]":
        process = start(children, errors)
        process.wait()
        return process

    monkeypatch.setattr(Children, "_start", ended)
    run = Children((sys.executable, "-c", "raise SystemExit(3)")).run(Job(DataSet("clinic"), "chow-liu"))
    assert run.reason == "ended with exit code 3: no word"


def test_children_are_ended_when_nobody_waits_for_them() -> None:
    children = Children((sys.executable, "-c", "import time; time.sleep(60)"))
    jobs = [Job(DataSet("clinic"), "chow-liu", seed=seed) for seed in range(3)]
    started = time.monotonic()

    def runner(job: Job) -> Run:
        if job.seed == 0:
            return job.result(None, "at once")
        return children.run(job)

    running = run_all(jobs, 2, runner)
    assert next(running)[1].reason == "at once"
    children.stop()
    running.close()
    assert time.monotonic() - started < 30
    with pytest.raises(KeyboardInterrupt):
        children.run(jobs[0])


def test_a_learner_that_fails_does_not_end_the_benchmark(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    job = Job(find(data, ["own"])[0], "chow-liu", queries=0)
    monkeypatch.setattr(LEARNERS["chow-liu"], "_learn", fails)
    assert outcome(job).reason == "out of memory"
    monkeypatch.setattr(LEARNERS["chow-liu"], "_learn", lambda *_: 1 / 0)
    assert outcome(job).reason == "ZeroDivisionError: division by zero"


# ---- comparing ----------------------------------------------------------------------------------------


def test_of_several_runs_the_best_on_validation_rows_stands() -> None:
    runs = [
        fake("acmn", log_prob=[-3.0, -3.0]),
        fake("acmn", seed=1),
        fake("acmn", seed=2, log_prob=[-9.0] * 2),
    ]
    assert compare(runs, "idspn").chosen["nltcs"]["acmn"].seed == 1


def test_tables_of_one_name_with_other_rows_are_not_compared() -> None:
    found = compare([fake("acmn"), fake("idspn", data="other", log_prob=[-5.0, -6.0])], "idspn")
    assert found.datasets == ["nltcs (digest)", "nltcs (other)"]
    assert found.wins("acmn", "idspn") == 0


def test_the_tables_count_wins_and_show_published_figures_beside() -> None:
    better, worse = [-1.0, -2.0, -3.0], [-1.5, -2.6, -3.4]
    runs = [fake("idspn", log_prob=better), fake("acmn", log_prob=worse), fake("own", "own")]
    found = compare([*runs, fake("acmn", "own", measured=None, reason="crashed")], "idspn")
    likelihoods = likelihood_grid(found, ["ID-SPN", "ACMN"])
    assert likelihoods.header == ("data set", "idspn", "acmn", "own", "ID-SPN*", "ACMN*")
    assert likelihoods.lines == (
        ("nltcs", "-2.000", "◦ -2.500", "", "-6.02", "• -6.00"),
        ("own", "", "failed", "-1.500", "", ""),
        ("better / worse", "", "0 / 1", "0 / 0", "", "3 / 17"),
    )
    assert wins_grid(found).lines[:2] == (("idspn", "—", "1 (17)", "0"), ("acmn", "0 (3)", "—", "0"))
    answers = answers_grid(found).lines
    assert answers[:2] == (
        ("nltcs", "idspn", *["-2.0000"] * 5),
        ("nltcs", "acmn", *["◦ -2.5000"] * 5),
    )
    assert ("nltcs", "ID-SPN*", "-0.3082", "-0.3138", "-0.2881", "-0.3393", "-0.3622") in answers
    assert times_grid(found).lines[0] == ("idspn", "alone", *["2 / 2"] * 5)
    told = ("ID-SPN*", "", "159 / 286", "164 / 310", "162 / 312", "168 / 319", "171 / 319")
    assert told in times_grid(found).lines
    assert [line[1:4] for line in runs_grid(found).lines[2:]] == [
        ("own", "", "✓"),
        ("acmn", "", "failed: crashed"),
    ]


def test_answers_to_other_questions_are_not_compared() -> None:
    runs = [fake("idspn", log_prob=[-1.0, -2.0, -3.0]), fake("acmn", log_prob=[-1.5, -2.6, -3.4], queries=5)]
    found = compare(runs, "idspn")
    assert found.verdict("nltcs", "acmn") == "worse"
    assert found.answer_verdict("nltcs", "acmn", 10) == ""


def test_an_impossible_row_makes_the_mean_minus_infinity_and_a_loss() -> None:
    found = compare([fake("idspn"), fake("acmn", log_prob=[-0.1, -np.inf])], "idspn")
    assert likelihood_grid(found, []).lines[0][2] == "◦ -∞"


def test_networks_have_empty_likelihoods_marked_answers_and_a_legend_for_both() -> None:
    better, worse = [-1.0, -2.0, -3.0], [-1.5, -2.6, -3.4]
    runs = [fake("idspn", log_prob=better), fake("acmn", log_prob=worse), fake_network("l1-markov")]
    found = compare(runs, "idspn")
    likelihoods = likelihood_grid(found, [])
    assert likelihoods.lines == (("nltcs", "-2.000", "◦ -2.500", ""), ("better / worse", "", "0 / 1", ""))
    assert "l1-markov: no figures" in likelihoods.note
    assert "intractable" in likelihoods.note
    assert wins_grid(found).header == ("", "idspn", "acmn")
    answers = answers_grid(found)
    assert ("nltcs", "l1-markov", *["≈ -0.5000"] * 5) in answers.lines
    assert "by Gibbs sampling: the sum over cells of log marginals" in answers.note
    assert "not the joint conditional log-likelihood" in answers.note
    assert ("l1-markov", "alone", *["2 / 2"] * 5) in times_grid(found).lines
    assert "l1-markov: by Gibbs sampling" in times_grid(found).note
    (line,) = [line for line in runs_grid(found).lines if line[1] == "l1-markov"]
    assert line[3:7] == ("✓ network of 1,234 features, valid PLL -1.000", "", "", "")
    assert "pseudo-likelihood" in runs_grid(found).note
    assert b"<svg" in picture(found)


def test_without_networks_no_table_speaks_of_sampling() -> None:
    found = compare([fake("idspn"), fake("acmn")], "idspn")
    for grid in benchmark.grids(found, []):
        assert "Gibbs" not in grid.text()
        assert "network" not in grid.text()


def test_networks_are_compared_with_each_other_and_not_with_circuits() -> None:
    runs = [
        fake_network("l1-markov", logs=(-1.0, -2.0, -3.0)),
        fake_network("gssl", logs=(-1.5, -2.6, -3.4)),
        fake("idspn", log_prob=[-5.0, -6.1, -7.0]),
    ]
    found = compare(runs, "l1-markov")
    assert found.answer_verdict("nltcs", "gssl", 10) == "worse"
    assert found.answer_verdict("nltcs", "idspn", 10) == ""
    assert {found.verdict("nltcs", name) for name in ("gssl", "idspn", "l1-markov")} == {""}
    likelihoods = likelihood_grid(found, [])
    assert "l1-markov has no log-likelihood to compare with" in likelihoods.note
    assert likelihoods.lines[1] == ("better / worse", "", "", "")
    assert wins_grid(found).lines == ()


def test_of_several_runs_of_a_network_the_best_pseudo_likelihood_stands() -> None:
    runs = [fake_network("gssl"), fake_network("gssl", logs=(-0.1, -0.2), seed=1)]
    assert compare(runs, "idspn").chosen["nltcs"]["gssl"].seed == 1


def test_only_settings_that_are_not_the_default_are_told() -> None:
    job = Job(DataSet("clinic"), "chow-liu", ("chow-liu.smoothing=0.5",), seed=3, budget=90.0)
    assert settings_text(job.result(None)) == "chow-liu.smoothing=0.5 seed=3 budget=90s"
    assert settings_text(Job(DataSet("clinic"), "chow-liu").result(None)) == ""
    assert settings_text(fake("gone", settings={"gone": {"a": [1, 2]}})) == "gone.a=1,2"


def test_a_grid_is_aligned_on_a_screen_and_escaped_in_markdown() -> None:
    grid = Grid("Title", ("name", "x"), (("a|b", "1.25"), ("c", "")), "note")
    assert grid.text() == "Title\nname     x\na|b   1.25\nc\nnote"
    assert "| a\\|b | 1.25 |" in grid.markdown()
    assert "| --- | ---: |" in grid.markdown()


# ---- the command --------------------------------------------------------------------------------------


def bench(folder: Path, *more: str) -> list[str]:
    return ["bench", "--results", str(folder / "r.jsonl"), "--queries", "4", "--against", "chow-liu", *more]


class Recorder:
    """Runs jobs in this process, remembers them, and is interrupted after so many."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int = 100) -> None:
        self.ran: list[tuple[str, str]] = []
        self.most = most
        monkeypatch.setattr(benchmark, "run_all", partial(run_all, runner=self.run))

    def run(self, job: Job) -> Run:
        if len(self.ran) == self.most:
            raise KeyboardInterrupt
        self.ran.append((job.dataset.name, job.learner))
        return outcome(job)


def test_a_benchmark_goes_on_where_it_was_interrupted(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shell
) -> None:
    call = bench(tmp_path, "--data", str(data), "--learners", ",".join(QUICK))
    first = Recorder(monkeypatch, most=2)
    assert run(call) == 130
    assert len(read_results(tmp_path / "r.jsonl")) == 2
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"dataset": "own", "da')
    second = Recorder(monkeypatch)
    assert run([*call, "--quiet"]) == 0
    every = [(name, learner) for name in ("nltcs", "own") for learner in QUICK]
    assert sorted(first.ran + second.ran) == sorted(every)
    third = Recorder(monkeypatch)
    assert run([*call, "--quiet"]) == 0
    assert third.ran == []
    for change in (
        ["--seed", "1"],
        ["--budget", "1h"],
        ["--queries", "3"],
        ["--set", "chow-liu.smoothing=9"],
    ):
        changed = Recorder(monkeypatch)
        assert run([*call, "--quiet", "--datasets", "own", "--learners", "chow-liu", *change]) == 0
        assert changed.ran == [("own", "chow-liu")]


def test_what_failed_runs_again_only_when_asked(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shell
) -> None:
    call = bench(tmp_path, "--data", str(data), "--datasets", "own", "--learners", "chow-liu")
    job = Job(find(data, ["own"])[0], "chow-liu", queries=4)
    append_result(tmp_path / "r.jsonl", job.result(None, "crashed"))
    recorder = Recorder(monkeypatch)
    assert run(call) == 0
    assert recorder.ran == []
    assert "failed: crashed" in capsys.readouterr().out
    assert run([*call, "--retry"]) == 0
    assert recorder.ran == [("own", "chow-liu")]
    assert "crashed" not in capsys.readouterr().out


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("place", ["shown", "page.md"])
def test_a_report_mentions_every_run_and_has_a_picture(data: Path, tmp_path: Path, place: str) -> None:
    append_result(tmp_path / "r.jsonl", fake("idspn", "plants", measured=None, reason="killed"))
    learners = ",".join([*QUICK, "learnspn+cccp"])
    call = bench(
        tmp_path, "--data", str(data), "--learners", learners, "--set", "cccp.iterations=2", "--quiet"
    )
    assert run([*call, "--report", str(tmp_path / place)]) == 0
    page = tmp_path / place / "bench.md" if place == "shown" else tmp_path / place
    text = page.read_text()
    for learner in learners.split(","):
        for name in ("nltcs", "own"):
            assert f"| {name} | {learner} | " in text
    assert "| learnspn+cccp | cccp.iterations=2 |" in text
    assert "| plants | idspn |  | failed: killed |" in text
    assert all(source in text for source in papers.methods().values())
    assert page.with_suffix(".svg").name in text
    assert "<svg" in page.with_suffix(".svg").read_text()


@pytest.mark.usefixtures("in_process")
def test_json_tells_the_figures_of_each_run_and_the_verdict(
    data: Path, tmp_path: Path, capsys: Shell
) -> None:
    call = bench(tmp_path, "--data", str(data), "--learners", ",".join(QUICK), "--datasets", "own", "--json")
    assert run(call) == 0
    told = json.loads(capsys.readouterr().out)
    alone, tree = sorted(told["runs"], key=lambda one: str(one["learner"]), reverse=True)
    assert (alone["learner"], alone["verdict"], tree["verdict"]) == ("independent", "worse", None)
    assert alone["test_ll"] < tree["test_ll"]
    assert (tree["test_rows"], tree["variables"], tree["chosen"]) == (50, 3, True)
    assert [one["percent"] for one in tree["questions"]] == list(PERCENTAGES)
    assert {"edges", "cpu_seconds", "peak_mb", "settings", "seed"} <= set(tree)


@pytest.mark.usefixtures("in_process")
def test_networks_run_beside_circuits_in_every_output(data: Path, tmp_path: Path, capsys: Shell) -> None:
    learners = ["--learners", "chow-liu,l1-markov,gssl", "--set", "gssl.candidates=200"]
    call = bench(tmp_path, "--data", str(data), "--datasets", "own", *learners)
    assert run([*call, "--report", str(tmp_path / "page.md")]) == 0
    shown = capsys.readouterr()
    assert "≈ approximate, by Gibbs sampling" in shown.out
    assert "features, approximate answers" in shown.err
    assert "| own | gssl | gssl.candidates=200 | ✓ network of" in (tmp_path / "page.md").read_text()
    assert run([*call, "--json", "--quiet"]) == 0
    told = {one["learner"]: one for one in json.loads(capsys.readouterr().out)["runs"]}
    assert (told["gssl"]["test_ll"], told["gssl"]["test_rows"], told["gssl"]["verdict"]) == (None, None, None)
    assert {one["exact"] for one in told["gssl"]["questions"]} == {False}
    assert {one["exact"] for one in told["chow-liu"]["questions"]} == {True}
    assert told["l1-markov"]["valid_pll"] < 0
    assert told["l1-markov"]["questions"][0]["log_prob"] < 0


def test_results_can_be_shown_without_running(tmp_path: Path, capsys: Shell) -> None:
    assert run(bench(tmp_path, "--show")) == 0
    assert capsys.readouterr().out == "no runs\n"
    assert not (tmp_path / "r.jsonl").exists()
    append_result(tmp_path / "r.jsonl", fake("acmn"))
    assert run(bench(tmp_path, "--show", "--report", str(tmp_path / "all.md"))) == 0
    assert "No run of chow-liu to compare with" in capsys.readouterr().out


def test_a_report_of_nothing_is_a_page_without_tables(tmp_path: Path) -> None:
    assert run(bench(tmp_path, "--show", "--quiet", "--report", str(tmp_path / "none.md"))) == 0
    assert "## Runs" not in (tmp_path / "none.md").read_text()


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (["--learners", "chow-lui"], "did you mean 'chow-liu'"),
        (["--datasets", "plants"], "without --data, the only data set is clinic"),
        (["--data", "nowhere"], "no folder 'nowhere'"),
        (["--budget", "soon"], "not a duration"),
        (["--set", "smoothing=1"], "learner.name=value"),
        (["--report", "missing/page.md"], "no folder 'missing'"),
        (["--report", "note.txt"], "a report must be a folder"),
        (["--results", "missing/r.jsonl"], "no folder 'missing'"),
    ],
)
def test_a_mistake_is_told_in_one_line_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Shell, call: list[str], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("note.txt").touch()
    recorder = Recorder(monkeypatch)
    assert run(["bench", *call]) == 2
    told = capsys.readouterr()
    assert fault in told.err
    assert (told.out, told.err.count("\n"), recorder.ran) == ("", 1, [])
