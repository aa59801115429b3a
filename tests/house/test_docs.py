"""The documents name everything there is, and their code runs."""

import re
import runpy
from pathlib import Path

import pytest
from rooms import PACKAGES

import tractable as tr
from tractable.circuit.leaves import FAMILIES
from tractable.cli.app import COMMANDS
from tractable.cli.reports.learners import reference_page
from tractable.cli.reports.stubs import stub_text
from tractable.formats import FORMATS
from tractable.learning.joint import LEARNERS
from tractable.learning.parameters import METHODS
from tractable.queries import QUERIES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
WRITTEN_OUT = [name for name in vars(tr.Circuit) if not name.startswith("_") and name != "schema"]
QUESTIONS = sorted({*WRITTEN_OUT, *QUERIES})
RUNNABLE = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "docs" / "selective.md",
    ROOT / "docs" / "generalised.md",
    *sorted((ROOT / "docs" / "adding").glob("*.md")),
]


def code_of(page: Path) -> str:
    """All Python blocks of a page, in order."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))


@pytest.mark.parametrize("command", [command.__name__.replace("_", "-") for command in COMMANDS])
def test_every_command_is_documented(command: str) -> None:
    assert f"tractable {command} " in README.replace("\n", " ")
    assert f"`tractable {command}" in REFERENCE


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_is_in_the_readmes_table(learner: str) -> None:
    assert f"| `{learner}` |" in README


@pytest.mark.parametrize("estimator", LEARNERS.estimators)
def test_every_estimator_is_in_the_readmes_table(estimator: str) -> None:
    assert f"| `{estimator}` |" in README


def test_the_readme_promises_no_learner_that_there_is_not() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \|", README, re.MULTILINE)) == set(LEARNERS)


def test_the_page_of_learners_is_what_they_declare() -> None:
    assert (ROOT / "docs" / "learners.md").read_text() == reference_page(), "run `make reference`"


def test_the_stub_of_the_estimators_is_what_their_learners_declare() -> None:
    stub = ROOT / "src" / "tractable" / "estimators" / "generated.pyi"
    assert stub.read_text() == stub_text(), "run `make reference`"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_parameter_learning_is_documented(method: str) -> None:
    assert f"| `{method}` |" in REFERENCE


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_leaves_is_documented(family: str) -> None:
    assert f"| `{family}` |" in REFERENCE


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_to_a_circuit_is_documented(question: str) -> None:
    assert re.search(rf"`{question}[(`]", REFERENCE)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_documented_as_it_is(suffix: str) -> None:
    line = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{suffix}` |"))
    read, written = (cell.strip() == "yes" for cell in line.split("|")[3:5])
    assert (read, written) == (FORMATS[suffix].read is not None, FORMATS[suffix].write is not None)


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert code_of(page)
    script = tmp_path / f"{page.stem}.py"  # a file of its own, as compiled functions are cached beside theirs
    script.write_text(code_of(page))
    runpy.run_path(str(script), run_name=page.stem)


def test_the_architecture_page_names_what_there_is() -> None:
    text = " ".join((ROOT / "docs" / "architecture.md").read_text().split())
    source = ROOT / "src" / "tractable"
    named = re.findall(r"`([A-Za-z_.]+)` \(`([a-z_/]+\.py)`", text)
    assert len(named) > 20
    for name, file in named:
        assert re.search(rf"\b{name.split('.')[-1]}\b", (source / file).read_text()), f"{name} in {file}"
    for room in PACKAGES:
        assert re.search(
            rf"^\| `{room}(\.py|/)`", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE
        )
        assert f"`{room}" in (ROOT / "CONTRIBUTING.md").read_text(), room


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_decision_is_listed_and_has_its_three_parts() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "index.md").read_text()
    for page in sorted(folder.glob("0*.md")):
        assert page.name in listed
        assert all(f"**{part}.**" in page.read_text() for part in ("Context", "Choice", "Price"))
