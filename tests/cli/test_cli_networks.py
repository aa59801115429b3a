"""Networks without a circuit on the command line: learned, listed, and answered approximately."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import tractable as tr
from tractable.cli import run
from tractable.cli.reports.learners import reference_page
from tractable.data import clinic, to_frame
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.networks import TooLargeError

Shell = pytest.CaptureFixture[str]
QUICK = {"l1-markov": [], "gssl": ["--set", "candidates=500"]}
every_learner = pytest.mark.parametrize("learner", NETWORK_LEARNERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of the clinic, a network and a circuit that were learned from them."""
    place = tmp_path_factory.mktemp("cli")
    for name, rows, seed in (("train", 300, 0), ("valid", 100, 1)):
        to_frame(clinic(rows, seed), like="pandas").to_csv(place / f"{name}.csv", index=False)
    for algorithm, name in (("l1-markov", "m.mn"), ("chow-liu", "m.tract")):
        assert run(["learn", algorithm, str(place / "train.csv"), "-o", str(place / name), "--quiet"]) == 0
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def facts(shell: Shell, *arguments: str) -> Any:
    """The JSON object that a command prints."""
    shell.readouterr()
    assert run([*arguments, "--json", "--quiet"]) == 0
    out, err = shell.readouterr()
    assert (err, out.count("\n")) == ("", 1)
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def told(shell: Shell, *arguments: str) -> str:
    """What a command prints on standard output when all goes well."""
    shell.readouterr()
    assert run(list(arguments)) == 0
    return shell.readouterr().out


def fault(shell: Shell, *arguments: str) -> str:
    """The one line that a command prints when the user made a mistake."""
    shell.readouterr()
    assert run(list(arguments)) == 2
    out, err = shell.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


@every_learner
def test_a_network_is_learned_and_saved(here: Path, capsys: Shell, learner: str) -> None:
    call = ["learn", learner, "train.csv", "--valid", "valid.csv", "--seed", "3", *QUICK[learner]]
    found = facts(capsys, *call)
    assert {"algorithm", "seconds", "settings", "seed", "finished"} <= set(found)
    assert (found["algorithm"], found["model"], found["finished"]) == (learner, f"train.{learner}.mn", True)
    assert (found["rows"], found["variables"], found["seed"]) == (300, 8, 3)
    model = tr.MarkovNetwork.load(f"train.{learner}.mn")
    assert found["features"] == len(model.network_.factors)
    assert found["train_pll"] == pytest.approx(model.score(tr.read("train.csv")))
    assert found["valid_pll"] == pytest.approx(model.score(tr.read("valid.csv", schema=model.schema_)))
    assert not {"train_ll", "valid_ll", "edges"} & set(found)
    assert model.about_["settings"] == found["settings"]


def test_scores_are_labelled_as_pseudo_likelihoods_and_answers_as_approximate(
    here: Path, capsys: Shell
) -> None:
    assert run(["learn", "l1-markov", "train.csv", "-o", "told.mn"]) == 0
    out, err = capsys.readouterr()
    assert "train log pseudo-likelihood" in out
    assert "log-likelihood" not in out
    assert "its answers are approximate, by Gibbs sampling" in err


def test_a_network_may_be_saved_as_uai_and_not_as_a_circuit(here: Path, capsys: Shell) -> None:
    assert facts(capsys, "learn", "l1-markov", "train.csv", "-o", "m.uai")["model"] == "m.uai"
    for name in ("no.tract", "no.ac", "no.bn"):
        assert (
            "l1-markov learns a Markov network without a circuit, which is written as .mn or .uai"
            in fault(capsys, "learn", "l1-markov", "train.csv", "-o", name)
        )
        assert not Path(name).exists()


def test_a_finished_network_is_not_learned_again(here: Path, capsys: Shell) -> None:
    call = ["learn", "l1-markov", "train.csv", "-o", "kept.mn"]
    facts(capsys, *call)
    before = Path("kept.mn").stat().st_mtime_ns
    assert facts(capsys, *call, "--resume")["seconds"] == 0.0
    assert Path("kept.mn").stat().st_mtime_ns == before
    assert facts(capsys, *call, "--resume", "--set", "penalty=3")["seconds"] > 0


@pytest.mark.parametrize(("typed", "meant"), [("l1-marov", "l1-markov"), ("gsll", "gssl"), ("acnm", "acmn")])
def test_a_mistyped_learner_of_either_kind_is_recognised(
    here: Path, capsys: Shell, typed: str, meant: str
) -> None:
    for call in (["learn", typed, "train.csv"], ["learners", typed]):
        assert f"there is no learner '{typed}'; did you mean '{meant}'?" in fault(capsys, *call)
    assert "gssl" in fault(capsys, "learn", "zzzz", "train.csv")


@every_learner
def test_networks_are_not_tuned(here: Path, capsys: Shell, learner: str) -> None:
    line = fault(capsys, "tune", learner, "train.csv", "--valid", "valid.csv", "-o", "tuned.mn")
    assert f"{learner} learns a Markov network, whose log-likelihood is intractable" in line
    with pytest.raises(ValueError, match="log-likelihood is intractable"):
        tr.tune(learner, clinic(20), clinic(20), trials=1)


def test_numeric_columns_are_refused_by_name(here: Path, capsys: Shell) -> None:
    Path("sizes.csv").write_text("kind,size\na,1.5\nb,2.25\na,3.75\n")
    assert "column 'size' is real: gssl supports only categorical columns" in fault(
        capsys, "learn", "gssl", "sizes.csv"
    )
    assert not Path("sizes.gssl.mn").exists()


def test_learners_lists_networks_in_a_group_of_their_own(capsys: Shell) -> None:
    printed = told(capsys, "learners")
    circuits, networks = printed.split("Markov networks, which in general have no tractable circuit.")
    assert re.search(r"^idspn +tr\.IDSPN +A sum-product network", circuits, re.MULTILINE)
    assert "approximate" not in circuits
    for learner in NETWORK_LEARNERS:
        assert re.search(
            rf'^{learner} +tr\.MarkovNetwork\("{learner}"\) +A (pairwise )?Markov', networks, re.MULTILINE
        )
    found = facts(capsys, "learners")
    assert [one["name"] for one in found["network_learners"]] == list(NETWORK_LEARNERS)
    assert all("approximate" in one["answers"] for one in found["network_learners"])
    assert not {one["name"] for one in found["learners"]} & set(NETWORK_LEARNERS)


@every_learner
def test_learners_lists_the_settings_of_a_network_learner(capsys: Shell, learner: str) -> None:
    assert "penalty = " in told(capsys, "learners", learner)
    settings = {one["name"]: one for one in facts(capsys, "learners", learner)["settings"]}
    assert "L1 penalty" in settings["penalty"]["text"]
    assert all(one["search"] is None for one in settings.values())  # nobody tunes them


QUESTIONS = ["P(smoker=yes | cough=heavy)", "P(smoker=yes, cough in {some, heavy})"]


def test_query_estimates_with_a_standard_error(here: Path, capsys: Shell) -> None:
    found = facts(capsys, "query", "m.mn", *QUESTIONS, "--approximate", "--samples", "20000")["answers"]
    exact = facts(capsys, "query", "m.mn", *QUESTIONS)["answers"]
    for one, other in zip(found, exact, strict=True):
        assert (one["question"], one["exact"], other["exact"]) == (other["question"], False, True)
        assert 0 < one["std_error"] < 0.01
        assert abs(one["probability"] - other["probability"]) < 4 * one["std_error"]


def test_query_prints_the_sign_of_an_estimate_and_what_it_means(here: Path, capsys: Shell) -> None:
    first, second, legend = told(capsys, "query", "m.mn", *QUESTIONS, "--approximate").splitlines()
    assert first.startswith(f"{QUESTIONS[0]} ≈ 0.")
    assert " ± 0.0" in second
    assert legend == "≈ approximate: estimated by Gibbs sampling, ± one standard error"
    assert "≈" not in told(capsys, "query", "m.mn", *QUESTIONS)


def test_seeds_and_samples_are_the_users(here: Path, capsys: Shell) -> None:
    call = ["query", "m.mn", QUESTIONS[0], "--approximate", "--samples", "50"]
    first, again, other = (told(capsys, *call, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first != other
    assert facts(capsys, *call[:-1], "1")["answers"][0]["std_error"] is None  # of one sample nobody knows it


def test_marginals_are_estimated_with_standard_errors(here: Path, capsys: Shell) -> None:
    call = ["marginals", "m.mn", "--given", "smoker=yes"]
    found, exact = facts(capsys, *call, "--approximate", "--samples", "20000"), facts(capsys, *call)
    assert (found["exact"], exact["exact"]) == (False, True)
    assert found["marginals"].keys() == exact["marginals"].keys()
    for name, posterior in found["marginals"].items():
        assert posterior["states"] == exact["marginals"][name]["states"]
        triples = zip(
            posterior["probabilities"],
            posterior["std_errors"],
            exact["marginals"][name]["probabilities"],
            strict=True,
        )
        assert all(abs(p - q) <= 5 * error + 1e-9 for p, error, q in triples)
    printed = told(capsys, *call, "--approximate")
    assert "yes: ≈ 1.0000 ± 0" in printed
    assert printed.endswith("≈ approximate: estimated by Gibbs sampling, ± one standard error\n")


def test_a_network_too_large_to_compile_is_answered_approximately(
    here: Path, capsys: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(network: object, *_: object) -> None:
        raise TooLargeError("compiling the network takes too much")

    monkeypatch.setattr("tractable.formats.network_files.compile_network", too_large)
    for command in (["query", "m.mn", QUESTIONS[0]], ["marginals", "m.mn"]):
        line = fault(capsys, *command)
        assert "m.mn: compiling the network takes too much" in line
        assert "tr.MarkovNetwork.load" in line
        assert "--approximate" in line
        assert "≈" in told(capsys, *command, "--approximate")


def test_a_circuit_is_not_answered_approximately(here: Path, capsys: Shell) -> None:
    for command in (["query", "m.tract", QUESTIONS[0]], ["marginals", "m.tract"]):
        assert "a circuit needs no sampling, its answers are exact" in fault(
            capsys, *command, "--approximate"
        )


def test_a_question_that_cannot_be_understood_is_refused(here: Path, capsys: Shell) -> None:
    assert "has no state 'maybe'" in fault(capsys, "query", "m.mn", "P(smoker=maybe)", "--approximate")
    assert "there is no column 'smokes'" in fault(
        capsys, "marginals", "m.mn", "--given", "smokes=yes", "--approximate"
    )


def test_the_reference_page_sets_networks_apart() -> None:
    circuits, networks = reference_page().split("## Networks with approximate answers")
    assert "estimate probabilities by Gibbs sampling, each with a standard error" in networks
    for learner in NETWORK_LEARNERS:
        assert f"### `{learner}`" in networks
        assert f"`{learner}`" not in circuits
