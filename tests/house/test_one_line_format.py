"""A new file format is one file and one line: users, commands and contract tests have it at once."""

from pathlib import Path

import pytest
from one_line import TESTS, example_of, line_of, passed_with

import tractable as tr
from tractable.cli import run
from tractable.data import clinic
from tractable.formats import FORMATS, Document, Format, write_circuit

SUFFIX, LINE = line_of("format.md").split(": ", 1)
PLUGIN = f"""
import example_format
from tractable.formats import FORMATS, Format
from tractable.formats.readable import read_json, write_json

def late(module, name):
    assert module == {SUFFIX.strip('".')!r}
    return getattr(example_format, name)

FORMATS[{SUFFIX}] = {LINE}
FORMATS[".twoway"] = Format("JSON under another name", read_json, write_json)
"""


@pytest.fixture
def edges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the page, and its line of the table."""
    names: dict[str, object] = {}
    exec(example_of("format.md"), names)
    form = eval(LINE, {"Format": Format, "late": lambda _, name: names[name]})
    monkeypatch.setitem(FORMATS, SUFFIX.strip('"'), form)


@pytest.mark.usefixtures("edges")
def test_models_are_saved_and_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    circuit = tr.ChowLiuTree().fit(clinic(100)).circuit_
    circuit.save("m.tract")
    circuit.save("m.edges")
    assert run(["convert", "m.tract", "other.edges"]) == 0
    assert Path("other.edges").read_text() == Path("m.edges").read_text()
    with pytest.raises(ValueError, match=r"m.edges: a .edges file can be written but not read"):
        tr.load("m.edges")


@pytest.mark.usefixtures("edges")
def test_what_it_does_not_hold_is_refused(tmp_path: Path) -> None:
    table = clinic(100)
    inputs = [c for c in table.schema.names if c not in ("bronchitis", "x_ray")]
    names = dict(zip(table.schema.names, table.values.T, strict=True))
    model = tr.MCTBN(components=1).fit(
        {c: names[c] for c in inputs}, {c: names[c] for c in ("bronchitis", "x_ray")}
    )
    with pytest.raises(ValueError, match=r"a .edges file cannot hold regressions on inputs"):
        write_circuit(Document(model.circuit_.graph), tmp_path / "m.edges")


def test_the_contract_tests_pick_it_up(tmp_path: Path) -> None:
    (tmp_path / "example_format.py").write_text(example_of("format.md"))
    passed = passed_with(tmp_path, PLUGIN, [TESTS / "formats", TESTS / "cli" / "test_cli.py"], "[.edges]")
    assert passed >= 2
    assert passed_with(tmp_path, PLUGIN, [TESTS / "formats"], "twoway") >= 4
