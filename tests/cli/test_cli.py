"""Every command does what its help says, and its JSON is JSON."""

import csv
import io
import json
from math import exp
from pathlib import Path

import numpy as np
import pytest

import tractable as tr
from tractable.circuit import Builder
from tractable.cli import run
from tractable.cli.app import COMMANDS
from tractable.cli.options import duration, names
from tractable.cli.parameters import curve
from tractable.data import Schema, Variable, clinic, to_frame
from tractable.formats import FORMATS
from tractable.formats.features import feature_table
from tractable.learning.joint import LEARNERS
from tractable.learning.parameters import METHODS, Fitted
from tractable.model import Circuit

Shell = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of the clinic and a model that was learned from one of them."""
    place = tmp_path_factory.mktemp("cli")
    for name, rows, seed, missing in (("train", 400, 0, 0.0), ("valid", 100, 1, 0.0), ("gaps", 30, 2, 0.3)):
        frame = to_frame(clinic(rows, seed, missing=missing), like="pandas")
        frame.to_csv(place / f"{name}.csv", index=False)
    files = [str(place / name) for name in ("train.csv", "m.tract")]
    assert run(["learn", "chow-liu", files[0], "-o", files[1], "--quiet"]) == 0
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def told(shell: Shell, *arguments: str) -> str:
    """What a command prints on standard output when all goes well."""
    shell.readouterr()
    code = run(list(arguments))
    out, err = shell.readouterr()
    assert code == 0, err
    return out


def facts(shell: Shell, *arguments: str) -> dict[str, object]:
    """The JSON object that a command prints, and nothing else."""
    shell.readouterr()
    assert run([*arguments, "--json", "--quiet"]) == 0
    out, err = shell.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    answer: dict[str, object] = json.loads(
        out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )
    return answer


CALLS = {
    "demo": ["-o", "shown"],
    "learners": [],
    "schema": ["train.csv", "-o", "columns.json"],
    "learn": ["chow-liu", "train.csv", "-o", "again.tract"],
    "parameters": ["m.tract", "train.csv", "-o", "fitted.tract"],
    "tune": ["chow-liu", "train.csv", "--valid", "valid.csv", "--trials", "2", "-o", "tuned.tract"],
    "stack": ["m.tract", "m.tract", "--valid", "valid.csv", "-o", "both.tract"],
    "score": ["m.tract", "valid.csv"],
    "query": ["m.tract", "P(smoker=yes)"],
    "marginals": ["m.tract"],
    "mpe": ["m.tract"],
    "sample": ["m.tract", "3"],
    "impute": ["m.tract", "gaps.csv"],
    "classify": ["m.tract", "gaps.csv", "--target", "bronchitis"],
    "info": ["m.tract"],
    "check": ["m.tract"],
    "convert": ["m.tract", "m.json"],
    "plot": ["m.tract", "m.svg"],
    "bench": ["--learners", "independent", "--queries", "5"],
    "completion": ["bash"],
    "warm-up": ["--only", ".data"],
}


def test_every_command_is_called_here() -> None:
    assert set(CALLS) == {command.__name__.replace("_", "-") for command in COMMANDS}


@pytest.mark.parametrize("name", CALLS)
def test_json_is_one_object_and_nothing_else(here: Path, capsys: Shell, name: str) -> None:
    assert facts(capsys, name, *CALLS[name])


@pytest.mark.parametrize("name", CALLS)
def test_quiet_says_nothing_beside_the_answer(here: Path, capsys: Shell, name: str) -> None:
    assert run([name, *CALLS[name], "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", CALLS)
def test_every_command_has_help_with_an_example(capsys: Shell, name: str) -> None:
    assert f"Example: tractable {name}" in " ".join(told(capsys, name, "--help").split())


def test_the_version_is_the_packages(capsys: Shell) -> None:
    assert told(capsys, "--version") == f"tractable {tr.__version__}\n"


def test_without_a_command_all_commands_are_listed(capsys: Shell) -> None:
    assert all(name in told(capsys) for name in CALLS)


def test_learn_tells_what_it_learned(here: Path, capsys: Shell) -> None:
    found = facts(
        capsys, "learn", "chow-liu", "train.csv", "--valid", "valid.csv", "-o", "new.tract", "--seed", "3"
    )
    circuit = tr.load("new.tract")
    assert found["algorithm"] == "chow-liu"
    assert (found["rows"], found["variables"], found["seed"]) == (400, 8, 3)
    assert (found["nodes"], found["edges"]) == (circuit.graph.nodes, circuit.graph.edges)
    assert found["train_ll"] == pytest.approx(circuit.log_prob(tr.read("train.csv")).mean())
    assert found["valid_ll"] == pytest.approx(
        circuit.log_prob(tr.read("valid.csv", schema=circuit.schema)).mean()
    )
    assert found["model"] == "new.tract"
    assert isinstance(found["seconds"], float)


def test_a_model_knows_where_it_comes_from(here: Path) -> None:
    about = tr.load("m.tract").about
    assert about["learner"] == "chow-liu"
    assert about["settings"]["smoothing"] == 1.0
    assert (about["seed"], about["rows"], about["version"]) == (0, 400, tr.__version__)


@pytest.mark.parametrize("algorithm", LEARNERS)
def test_every_learner_can_be_called(here: Path, capsys: Shell, algorithm: str) -> None:
    found = facts(capsys, "learn", algorithm, "train.csv", "--jobs", "1", "--budget", "5s", "-o", "any.tract")
    assert found["algorithm"] == algorithm


def test_settings_reach_the_learner(here: Path, capsys: Shell) -> None:
    arguments = ["learn", "chow-liu", "train.csv", "-o", "s.tract", "--set", "smoothing=7"]
    assert facts(capsys, *arguments)["settings"] == tr.load("m.tract").about["settings"] | {"smoothing": 7.0}


def test_a_model_without_a_name_is_called_after_its_table(here: Path, capsys: Shell) -> None:
    assert facts(capsys, "learn", "independent", "train.csv")["model"] == "train.independent.tract"
    assert Path("train.independent.tract").exists()


def test_resume_keeps_a_finished_model_of_the_same_call_only(here: Path, capsys: Shell) -> None:
    call = ["learn", "chow-liu", "train.csv", "-o", "kept.tract"]
    facts(capsys, *call)
    before = Path("kept.tract").stat().st_mtime_ns
    assert facts(capsys, *call, "--resume")["seconds"] == 0.0
    assert Path("kept.tract").stat().st_mtime_ns == before
    facts(capsys, *call, "--resume", "--set", "smoothing=2")
    assert Path("kept.tract").stat().st_mtime_ns != before


def test_weights_count_as_rows(here: Path, capsys: Shell) -> None:
    Path("once.data").write_text("0,1\n0,1\n0,1\n1,1\n1,0\n")
    Path("weighed.data").write_text("3|0,1\n1|1,1\n1|1,0\n")
    Path("weighed.csv").write_text("x0,x1,n\n0,1,3\n1,1,1\n1,0,1\n")
    learned = [
        facts(capsys, "learn", "chow-liu", name, "-o", f"{name}.tract", *more)["train_ll"]
        for name, more in (("once.data", []), ("weighed.data", []), ("weighed.csv", ["--weight", "n"]))
    ]
    assert learned[1:] == pytest.approx([learned[0]] * 2)
    scored = [facts(capsys, "score", "once.data.tract", name) for name in ("once.data", "weighed.data")]
    assert scored[1]["mean_ll"] == pytest.approx(scored[0]["mean_ll"])
    assert scored[1]["std_error"] == pytest.approx(scored[0]["std_error"])
    assert [s["rows"] for s in scored] == [5, 3]


@pytest.mark.parametrize("method", METHODS)
def test_parameters_are_fitted_by_every_method(here: Path, capsys: Shell, method: str) -> None:
    arguments = ["m.tract", "train.csv", "--method", method, "--set", "iterations=3", "--valid", "valid.csv"]
    arguments += ["--targets", "age,smoker"] if method in ("discriminative", "max-margin") else []
    found = facts(capsys, "parameters", *arguments, "-o", "better.tract")
    better = tr.load("better.tract")
    assert found["method"] == better.about["parameters"]["method"] == method
    assert found["train_ll"] == pytest.approx(better.log_prob(tr.read("train.csv")).mean())


IMAGES = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", IMAGES)
def test_the_training_curve_is_drawn(here: Path, capsys: Shell, suffix: str) -> None:
    call = ["parameters", "m.tract", "train.csv", "--set", "iterations=3", "-o", "drawn.tract"]
    assert facts(capsys, *call, "--plot", f"curve{suffix}")["plot"] == f"curve{suffix}"
    assert Path(f"curve{suffix}").read_bytes().startswith(IMAGES[suffix])


def test_the_curve_of_validation_rows_has_its_best_step_marked(here: Path) -> None:
    fitted = Fitted(tr.load("m.tract").graph, [-3.0, -2.0, -1.0], [-3.5, -2.5, -2.75])
    figure = curve(fitted, "concave-convex procedure (EM)")
    training, validation, best = figure.axes[0].lines
    assert np.array_equal(training.get_ydata(), fitted.train)
    assert np.array_equal(validation.get_ydata(), fitted.valid)
    assert np.array_equal(best.get_xydata(), [[1, -2.5]])


def test_score_gives_mean_and_standard_error(here: Path, capsys: Shell) -> None:
    circuit = tr.load("m.tract")
    logs = circuit.log_prob(tr.read("valid.csv", schema=circuit.schema))
    found = facts(capsys, "score", "m.tract", "valid.csv")
    assert found["rows"] == 100
    assert found["mean_ll"] == pytest.approx(logs.mean())
    assert found["std_error"] == pytest.approx(logs.std(ddof=1) / 10)


def test_score_per_row_prints_a_line_a_row(here: Path, capsys: Shell) -> None:
    printed = [float(line) for line in told(capsys, "score", "m.tract", "valid.csv", "--per-row").split()]
    assert facts(capsys, "score", "m.tract", "valid.csv", "--per-row")["log_prob"] == pytest.approx(printed)


def test_score_given_columns_is_conditional(here: Path, capsys: Shell) -> None:
    circuit = tr.load("m.tract")
    logs = circuit.log_conditional(tr.read("valid.csv", schema=circuit.schema), ["age", "smoker"])
    found = facts(capsys, "score", "m.tract", "valid.csv", "--given", "age, smoker")
    assert found["mean_ll"] == pytest.approx(logs.mean())


def test_query_answers_every_question(here: Path, capsys: Shell) -> None:
    questions = ["P(smoker=yes)", "P(lung_cancer=yes | smoker=yes, x_ray=shadow)"]
    answers = facts(capsys, "query", "m.tract", *questions)["answers"]
    circuit = tr.load("m.tract")
    wanted = [circuit.prob("smoker=yes"), circuit.prob("lung_cancer=yes", given="smoker=yes, x_ray=shadow")]
    assert isinstance(answers, list)
    assert [a["question"] for a in answers] == questions
    assert [a["probability"] for a in answers] == pytest.approx(wanted)
    assert [exp(a["log_probability"]) for a in answers] == pytest.approx(wanted)
    assert told(capsys, "query", "m.tract", questions[0]) == f"P(smoker=yes) = {wanted[0]:.6g}\n"


def test_marginals_hold_states_and_numbers(here: Path, capsys: Shell) -> None:
    Path("mixed.csv").write_text("state,size\n" + "".join(f"{'ab'[i % 2]},{i + 0.5}\n" for i in range(60)))
    facts(capsys, "learn", "independent", "mixed.csv", "-o", "mixed.tract")
    found = facts(capsys, "marginals", "mixed.tract", "--given", "state=a")["marginals"]
    assert isinstance(found, dict)
    assert found["state"] == {"states": ["a", "b"], "probabilities": [1.0, 0.0]}
    assert found["size"]["mean"] == pytest.approx(30.0)
    assert "±" in told(capsys, "marginals", "mixed.tract")


def test_mpe_agrees_with_what_is_given(here: Path, capsys: Shell) -> None:
    found = facts(capsys, "mpe", "m.tract", "--given", "cough=heavy", "--method", "exact")
    best = tr.load("m.tract").mpe("cough=heavy")
    assert (found["row"], found["exact"]) == (best.row, True)
    some = facts(capsys, "mpe", "m.tract", "--columns", "age,cough")["row"]
    assert isinstance(some, dict)
    assert set(some) == {"age", "cough"}


def test_samples_are_csv_that_can_be_read_again(here: Path, capsys: Shell) -> None:
    drawn = told(capsys, "sample", "m.tract", "20", "--given", "smoker=yes", "--seed", "5")
    rows = list(csv.DictReader(io.StringIO(drawn)))
    assert [row["smoker"] for row in rows] == ["yes"] * 20
    assert told(capsys, "sample", "m.tract", "20", "--given", "smoker=yes", "--seed", "5") == drawn
    Path("drawn.csv").write_text(drawn)
    assert facts(capsys, "score", "m.tract", "drawn.csv")["rows"] == 20


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_samples_go_to_a_file(here: Path, capsys: Shell, name: str) -> None:
    assert facts(capsys, "sample", "m.tract", "7", "-o", name)["output"] == name
    assert len(tr.read(name, schema=tr.load("m.tract").schema)) == 7


@pytest.mark.parametrize("method", ["mpe", "mean", "sample"])
def test_impute_fills_every_cell_and_changes_none(here: Path, capsys: Shell, method: str) -> None:
    facts(capsys, "impute", "m.tract", "gaps.csv", "--method", method, "-o", "whole.csv")
    schema = tr.load("m.tract").schema
    before, after = (tr.read(name, schema=schema).values for name in ("gaps.csv", "whole.csv"))
    assert not np.isnan(after).any()
    assert (np.isnan(before) | (before == after)).all()


def test_classify_predicts_and_judges_a_column(here: Path, capsys: Shell) -> None:
    circuit = tr.load("m.tract")
    call = ["classify", "m.tract", "valid.csv", "--target", "bronchitis", "--proba"]
    found = facts(capsys, *call)
    table = tr.read("valid.csv", schema=circuit.schema)
    column = circuit.schema.column("bronchitis")
    hidden = table.values.copy()
    hidden[:, column] = np.nan
    posterior = circuit.marginals(rows=tr.Table(circuit.schema, hidden))["bronchitis"]
    np.testing.assert_allclose(np.array(found["probabilities"]), posterior, atol=1e-12)
    assert isinstance(found["predictions"], list)
    truth = [row["bronchitis"] for row in csv.DictReader(io.StringIO(Path("valid.csv").read_text()))]
    assert found["accuracy"] == pytest.approx(
        np.mean([a == b for a, b in zip(found["predictions"], truth, strict=True)])
    )
    states = list(circuit.schema[column].states)
    losses = [-np.log(p[states.index(t)]) for p, t in zip(posterior, truth, strict=True)]
    assert found["log_loss"] == pytest.approx(np.mean(losses))


def test_classify_needs_no_known_class_and_writes_files(here: Path, capsys: Shell) -> None:
    frame = to_frame(clinic(5), like="pandas").drop(columns=["bronchitis", "cough"])
    frame.to_csv("new.csv", index=False)
    call = ["classify", "m.tract", "new.csv", "-t", "bronchitis"]
    assert json.loads(told(capsys, *call, "--json"))["accuracy"] is None
    lines = told(capsys, *call).splitlines()
    assert lines[0] == '"bronchitis"'
    assert len(lines) == 6
    assert "no row has a known bronchitis" in told(capsys, *call, "--proba", "-o", "found.csv")
    rows = list(csv.DictReader(io.StringIO(Path("found.csv").read_text())))
    assert set(rows[0]) == {"bronchitis", "P(bronchitis=no)", "P(bronchitis=yes)"}
    assert json.loads(told(capsys, *call, "-o", "found.parquet", "--json"))["output"] == "found.parquet"
    assert run([*call[:-1], "height"]) == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_given_a_script_that_asks_for_completions(capsys: Shell, shell: str) -> None:
    assert f"_TRACTABLE_COMPLETE=complete_{shell}" in told(capsys, "completion", shell)
    assert run(["completion", "tcsh"]) == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("tractable sco", "score"),
        ("tractable learn chow", "chow-liu"),
        ("tractable score --per-c", "--per-column"),
    ],
)
def test_commands_options_and_learners_are_completed(
    capsys: Shell, monkeypatch: pytest.MonkeyPatch, typed: str, offered: str
) -> None:
    monkeypatch.setenv("_TRACTABLE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit):
        run([])
    assert offered in capsys.readouterr().out.split()


def test_learners_are_listed_one_a_line_and_settings_with_ranges(capsys: Shell) -> None:
    lines = told(capsys, "learners").splitlines()
    assert [line.split()[0] for line in lines[: len(LEARNERS)]] == list(LEARNERS)
    assert "smoothing = 0.1  (a number, at least 0)" in told(capsys, "learners", "naive-bayes")
    settings = facts(capsys, "learners", "naive-bayes")["settings"]
    assert isinstance(settings, list)
    assert {s["name"]: s["range"] for s in settings}["components"] == "at least 1"


def test_info_lists_columns_and_sizes(here: Path, capsys: Shell) -> None:
    found = facts(capsys, "info", "m.tract")
    circuit = tr.load("m.tract")
    assert isinstance(found["columns"], list)
    assert [c["name"] for c in found["columns"]] == list(circuit.schema.names)
    assert (found["nodes"], found["smooth"]) == (circuit.graph.nodes, True)
    assert "chow-liu" in told(capsys, "info", "m.tract")


def test_info_lists_the_features_of_a_markov_network(here: Path, capsys: Shell) -> None:
    schema = Schema(
        (Variable("lamp", "categorical", ("off", "on")), Variable("fuse", "categorical", ("bad", "good")))
    )
    builder = Builder(schema)
    weight = builder.constant(1.5)
    lit = builder.product([weight, builder.indicator(0, 1), builder.indicator(1, 1)])
    dark = builder.product([builder.indicator(0, 0), builder.leaf("bernoulli", 1, [0.0])])
    root = builder.sum([lit, dark], [0.0, 0.0])
    features = feature_table([(weight, 1.5, [(0, 1, True), (1, 0, False)]), (-1, 0.25, [])])
    Circuit(builder.freeze(root, features)).save("lamp.tract")
    assert facts(capsys, "info", "lamp.tract", "--features")["features"] == [
        {"log_weight": 1.5, "conditions": "lamp=on, fuse!=bad"},
        {"log_weight": 0.25, "conditions": "always"},
    ]
    assert "+1.5  lamp=on, fuse!=bad" in told(capsys, "info", "lamp.tract", "--features")


def test_check_is_content_with_a_learned_model(here: Path, capsys: Shell) -> None:
    found = facts(capsys, "check", "m.tract")
    assert (found["valid"], found["fault"]) == (True, None)
    assert found["properties"] == {
        "smooth": True,
        "decomposable": True,
        "deterministic": True,
        "regular selective": False,
    }


@pytest.mark.parametrize("suffix", [s for s, format in FORMATS.items() if format.write])
def test_convert_writes_every_format(here: Path, capsys: Shell, suffix: str) -> None:
    Path("binary.data").write_text("0,1\n0,0\n1,1\n")
    facts(capsys, "learn", "chow-liu", "binary.data", "-o", "binary.tract")
    facts(capsys, "convert", "binary.tract", f"other{suffix}")
    if FORMATS[suffix].read:
        assert tr.load(f"other{suffix}").prob("x0=1") == pytest.approx(tr.load("binary.tract").prob("x0=1"))
    assert Path(f"other{suffix}").stat().st_size > 0


def test_plot_draws_a_picture(here: Path, capsys: Shell) -> None:
    facts(capsys, "plot", "m.tract", "picture.svg")
    assert Path("picture.svg").read_text().startswith("<svg")


def test_the_demo_answers_three_questions_and_draws(here: Path, capsys: Shell) -> None:
    found = facts(capsys, "demo", "-o", "show")
    assert isinstance(found["answers"], list)
    assert isinstance(found["files"], list)
    assert len(found["answers"]) == 3
    assert all(abs(a["probability"] - a["counted"]) < 0.2 for a in found["answers"])
    assert all(Path(file).stat().st_size > 500 for file in found["files"])
    assert {Path(file).suffix for file in found["files"]} >= {".tract", ".svg"}


def test_durations_are_read_in_seconds() -> None:
    assert [duration(text) for text in ("90s", "10m", "1h", "1.5h", "7")] == [90, 600, 3600, 5400, 7]


def test_names_stand_between_commas() -> None:
    assert names(" a, b ,,c") == ["a", "b", "c"]
    assert names(None) == []
