"""The rooms of the house: which may import which, and how large a file may grow."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "tractable"
ROOMS = [
    "arrays", "late", "compiling", "compiled", "threads", "interrupts", "progress", "settings", "data",
    "leaves", "circuit", "generalised", "engine", "networks", "parameters", "statistics", "growing",
    "learners", "conditional", "queries", "formats", "model", "generalised_model", "neural", "approximate",
    "training", "tuning", "reports", "warming", "estimators", "benchmark", "cli",
]  # fmt: skip
FILES = sorted(ROOT.rglob("*.py"))
MOST_LINES = 500


def room_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def rooms_imported_by(file: Path) -> set[str]:
    """The rooms that a file imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports name the whole way from the package"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("tractable.")}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_no_room_imports_a_later_one(file: Path) -> None:
    here = room_of(file)
    if here in ROOMS:
        later = set(ROOMS[ROOMS.index(here) + 1 :])
        assert not rooms_imported_by(file) & later, f"{file} looks up the stairs"


def test_torch_is_imported_by_neural_parts_alone() -> None:
    found = {f for f in FILES if re.search(r"^\s*(import|from) torch\b", f.read_text(), re.MULTILINE)}
    gaclearn = ROOT / "conditional" / "gaclearn"
    assert {f for f in found if f.parent != gaclearn} == {ROOT / "neural.py"}


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {room_of(file) for file in FILES}
    assert rooms - {"__init__", "__main__"} <= set(ROOMS)


def test_no_file_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert not [f for f in ROOT.rglob("*") if f.stem in drawers]


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_no_file_is_too_long_to_read_at_once(file: Path) -> None:
    assert len(file.read_text().splitlines()) <= MOST_LINES
