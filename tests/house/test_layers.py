"""The packages of the library: which may import which, and how many there are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rooms import PACKAGES, ROOMS, room_of

ROOT = Path(__file__).parents[2] / "src" / "tractable"
FILES = sorted(ROOT.rglob("*.py"))
MOST_ENTRIES = 14  # of the package's own folder
MOST_FILES = 476


def module_of(file: Path) -> str:
    """The dotted name of a file below `tractable`."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def modules_named(file: Path) -> Iterator[str]:
    """The modules below `tractable` that a file imports anywhere, also in functions, or names in a text.

    The lines of a registry (`Home`) are not counted: they are how a table names what is imported late.
    """
    tree = ast.parse(file.read_text())
    homes = {id(text) for call in ast.walk(tree) if is_home(call) for text in ast.walk(call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports name the whole way from the package"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in homes:
            yield from re.findall(r"^tractable\.[a-z_.]+$", node.value)


def is_home(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Home"


def later_parts_imported(file: Path) -> set[str | None]:
    """The parts behind its own that a file imports; the package's own files stand outside the order."""
    here = room_of(module_of(file))
    if here is None:
        return set()
    later = set(ROOMS[ROOMS.index(here) + 1 :])
    named = {m.removeprefix("tractable.") for m in modules_named(file) if m.startswith("tractable.")}
    return {room_of(module) for module in named} & later


def test_no_part_imports_a_later_one() -> None:
    later = {str(file.relative_to(ROOT)): later_parts_imported(file) for file in FILES}
    importing = {file: parts for file, parts in later.items() if parts}
    assert not importing


def test_torch_is_imported_by_neural_parts_alone() -> None:
    importing = {f for f in FILES if re.search(r"^\s*(import|from) torch\b", f.read_text(), re.MULTILINE)}
    conditional = ROOT / "learning" / "conditional"
    outside = {f for f in importing if f.parent != conditional / "networks"}
    assert outside == {ROOT / "model" / "neural.py", conditional / "gaclearn.py"}


def test_a_stranger_sees_few_names() -> None:
    entries = {entry.name for entry in ROOT.iterdir() if entry.name != "__pycache__"}
    assert len(entries) <= MOST_ENTRIES
    assert entries - {"__init__.py", "__main__.py", "py.typed"} == set(PACKAGES)


def test_every_part_has_its_place_in_the_order() -> None:
    assert {room.partition(".")[0] for room in ROOMS} == set(PACKAGES)
    assert [file for file in FILES if room_of(module_of(file)) is None] == [
        ROOT / "__init__.py",
        ROOT / "__main__.py",
    ]


def test_there_are_not_too_many_files() -> None:
    assert len(FILES) <= MOST_FILES


def test_no_file_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    assert not [f for f in ROOT.rglob("*") if f.stem in drawers]


TESTS = sorted((ROOT.parents[1] / "tests").rglob("test_*.py"))


def test_no_test_module_imports_another() -> None:
    assert not [f for f in TESTS if re.search(r"^\s*(from|import) test_", f.read_text(), re.MULTILINE)]
