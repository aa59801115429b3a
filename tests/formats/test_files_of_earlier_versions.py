"""Models that earlier versions saved load, and answer as they did then (see `earlier_models.py`)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from earlier_models import MODELS, answers

import tractable as tr

ANSWERS = sorted((Path(__file__).parent / "golden").glob("*/answers.json"))
FILES = sorted(file for told in ANSWERS for file in told.parent.iterdir() if file != told)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def loaded(file: Path) -> Any:
    return tr.GeneralisedCircuit.load(file) if file.suffix == ".gac" else tr.load(file)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_a_model_of_an_earlier_version_answers_as_it_did(file: Path) -> None:
    recorded = json.loads((file.parent / "answers.json").read_text())[file.stem]
    assert file.suffix in recorded["suffixes"]
    found = answers(loaded(file), recorded["rows"])
    assert_close(found, recorded["answers"], file.stem)


def assert_close(found: Any, recorded: Any, where: str) -> None:
    """Equal up to rounding, number for number, with the same keys and states."""
    if isinstance(recorded, dict):
        assert list(found) == list(recorded), where
        for key in recorded:
            assert_close(found[key], recorded[key], f"{where}: {key}")
    else:
        np.testing.assert_allclose(found, recorded, rtol=1e-12, atol=1e-12, err_msg=where)


def test_every_file_that_was_written_is_there() -> None:
    for told in ANSWERS:
        recorded = json.loads(told.read_text())
        expected = {f"{name}{suffix}" for name in recorded for suffix in recorded[name]["suffixes"]}
        assert {file.name for file in told.parent.iterdir()} == expected | {told.name}
    assert {name for told in ANSWERS for name in json.loads(told.read_text())} == set(MODELS)
