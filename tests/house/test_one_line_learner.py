"""A new learner is one file and one line: everything else follows from its declaration."""

import inspect
import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from one_line import TESTS, passed_with
from sklearn.base import clone

import tractable as tr
from tractable.base.progress import Watch
from tractable.base.settings import Between, Home, setting
from tractable.cli import run
from tractable.cli.reports.learners import learner_list, reference_page
from tractable.data import Table, clinic, to_frame
from tractable.learning.joint import LEARNERS, Learned, Learner
from tractable.learning.joint.chow_liu import ChowLiuLearner


@dataclass(frozen=True, kw_only=True)
class ToyLearner(Learner):
    """A Chow-Liu tree under another name, to show what a declaration brings along."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "toy model"

    smoothing: float = setting(
        1.0,
        "Pseudo-counts of each distribution of the toy model.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        watch.report("leaves", 0, 1)
        return Learned(ChowLiuLearner(smoothing=self.smoothing).learn(table, rng))


HOME = Home("test_one_line_learner", "ToyLearner", "ToyModel")


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    """The one line."""
    LEARNERS.register("toy", HOME)
    yield
    LEARNERS.unregister("toy")


def test_it_has_an_estimator_that_scikit_learn_understands() -> None:
    assert "ToyModel" in dir(tr)
    assert list(inspect.signature(tr.ToyModel).parameters) == ["smoothing", "unseen", "random_state"]
    assert "Pseudo-counts of each distribution of the toy model." in str(inspect.getdoc(tr.ToyModel))
    model = clone(tr.ToyModel(smoothing=2.0)).fit(clinic(50))
    assert model.get_params() == {"smoothing": 2.0, "unseen": "share", "random_state": None}
    assert model.circuit_.about["settings"] == {"smoothing": 2.0}
    again = pickle.loads(pickle.dumps(model))
    assert again.score(clinic(20)) == model.score(clinic(20))
    with pytest.raises(TypeError, match="smothing"):
        tr.ToyModel(smothing=1.0)


def test_the_command_line_has_it_with_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    to_frame(clinic(60), like="pandas").to_csv("clinic.csv", index=False)
    assert run(["learn", "toy", "clinic.csv", "--set", "smoothing=3", "-o", "m.tract", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"] == {"smoothing": 3.0}
    assert run(["learn", "toy", "clinic.csv", "--set", "smothing=3"]) == 2
    assert "toy has no setting 'smothing'; did you mean 'smoothing'?" in capsys.readouterr().err
    assert run(["learners", "toy"]) == 0
    assert "Pseudo-counts of each distribution of the toy model." in capsys.readouterr().out


def test_the_tuner_searches_its_space() -> None:
    found = tr.tune("toy", clinic(80), clinic(40, random_state=1), trials=4)
    assert len({trial.settings["smoothing"] for trial in found.trials}) > 1


def test_the_benchmark_takes_it() -> None:
    from tractable.cli.benchmark import contestants

    (one,) = contestants(["toy+cccp"], ["toy.smoothing=2"])
    assert one.settings["toy"] == {"smoothing": 2.0}


def test_the_reference_page_and_the_list_of_learners_tell_of_it() -> None:
    assert "## `toy`" in reference_page()
    assert "Pseudo-counts of each distribution of the toy model." in reference_page()
    assert {"name": "toy", "estimator": "ToyModel"}.items() <= learner_list()[-1].items()


def test_the_contract_tests_pick_it_up(tmp_path: Path) -> None:
    plugin = (
        "from tractable.learning.joint import LEARNERS\nfrom tractable.base.settings import Home\n"
        f"LEARNERS.register('toy', Home{tuple(HOME)!r})\n"
    )
    assert passed_with(tmp_path, plugin, [TESTS / "learning" / "joint" / "test_learners.py"], "toy") >= 25
