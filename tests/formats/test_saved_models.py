"""What every learner learns comes back from every format with the same answers, or is refused at once."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.circuit import Builder, Graph
from tractable.circuit.blocks import GateBlock, NetworkBlock
from tractable.circuit.generalised import GeneralisedGraph, generalise
from tractable.circuit.generalised import log_prob as generalised_log_prob
from tractable.circuit.generalised import marginals as generalised_marginals
from tractable.data import Schema, Table, Variable, discrete_schema
from tractable.formats import FORMATS, Document, Format, read_circuit, write_circuit
from tractable.formats.generalised import read_generalised, write_generalised
from tractable.formats.network_files import (
    MARKOV_SUFFIXES,
    NetworkDocument,
    read_network_document,
    write_network_document,
)
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.networks import log_prob_of_rows
from tractable.queries import log_prob, marginals

SECONDS = 0.5  # that a learner may take for one table
BOTH_WAYS = [suffix for suffix, form in FORMATS.items() if form.read and form.write]
WRITERS = {suffix: form.write for suffix, form in FORMATS.items() if form.write}
NAMES = (".tract", ".json")  # formats that keep names and roles
HOLDS = {  # what a format surely holds; another one may hold more
    ".tract": {"numbers", "switches"},
    ".json": {"numbers", "switches"},
    ".ac": {"switches"},
    ".spn": {"switches"},
    ".uai": {"switches"},
    ".mn": {"switches"},
}
KINDS = Schema(
    (
        Variable("colour", states=("red", "green", "blue")),
        Variable("size", "ordinal", ("small", 2, 3.5)),
        Variable("balance", "integer"),
        Variable("visits", "count"),
        Variable("tiny", "real"),
        Variable("height", "real"),
        Variable("huge", "real"),
        Variable("born", "date"),
        Variable("seen", "datetime"),
        Variable("sick", states=(False, True)),
        Variable("ward", states=("a", "b")),
    )
)
SWITCHES = discrete_schema([2, 2, 2, 2])


@cache
def table(what: str, targets: int) -> Table:
    """Rows of a kind of columns, of which the last few are targets and the others inputs; 0: all targets."""
    rng = np.random.default_rng(3)
    if what == "switches":
        first = rng.integers(0, 2, (60, 1))
        values = np.where(rng.random((60, 4)) < 0.2, 1 - first, first).astype(np.float64)
        schema = SWITCHES
    else:
        values, schema = _numbers(rng, 60), KINDS
    if targets:
        schema = schema.with_targets(range(len(schema) - targets, len(schema)))
    values[(rng.random(values.shape) < 0.1) & ~schema.is_given] = np.nan
    return Table(schema, values)


def _numbers(rng: np.random.Generator, rows: int) -> Floats:
    group = rng.integers(0, 2, rows)
    columns = [
        rng.integers(0, 3, rows), rng.integers(0, 2, rows) + group, 10 * group + rng.integers(-4, 9, rows),
        rng.poisson(2 + 4 * group), 1e-9 * rng.normal(group), rng.normal(3 * group), 1e12 * rng.normal(group),
        18_000 + 200 * group + rng.integers(0, 99, rows), 1.6e9 + rng.integers(0, 10**7, rows), group,
        rng.integers(0, 2, rows) ^ group,
    ]  # fmt: skip
    return np.column_stack(columns).astype(np.float64)


@cache
def model(learner: str, what: str) -> Document:
    """What a learner makes of a table within a second."""
    watch, rng = Watch(seconds=SECONDS), np.random.default_rng(0)
    if learner in LEARNERS:
        return Document(LEARNERS[learner]().learn(table(what, 0), rng, watch=watch), {"learner": learner})
    made = CONDITIONAL[learner]()
    graph = made.learn(table(what, 1 if made.single_target else 2), rng, watch=watch)
    return Document(graph, {"learner": learner})


every_model = [(name, what) for name in [*LEARNERS, *CONDITIONAL] for what in ("numbers", "switches")]


def probes(schema: Schema) -> Floats:
    """Rows of the kind that the model was learned from, whole ones and some with missing targets."""
    what = "switches" if schema.names == SWITCHES.names else "numbers"
    rows = table(what, 0).values[:6].copy()
    rows[np.isnan(rows)] = 0.0
    targets = schema.targets
    rows[2:4, targets[::2]] = np.nan
    rows[4:, targets] = np.nan
    return rows


def assert_same_answers(one: Graph, other: Graph) -> None:
    rows = probes(one.schema)
    np.testing.assert_allclose(log_prob(other, rows), log_prob(one, rows), rtol=1e-9, atol=1e-9)
    for mine, theirs in zip(marginals(one, rows), marginals(other, rows), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-9, atol=1e-9)


def refused(save: Callable[[], None], folder: Path) -> bool:
    """Whether a model cannot be saved so, which a line says before there is any file."""
    try:
        save()
    except ValueError as error:
        line = str(error)
    else:
        return False
    assert "\n" not in line
    assert "come back" not in line
    assert not list(folder.iterdir())
    return True


@pytest.mark.parametrize(("learner", "what"), every_model)
def test_what_is_learned_comes_back_from_every_format_that_holds_it(
    learner: str, what: str, tmp_path: Path
) -> None:
    document = model(learner, what)
    for number, suffix in enumerate(BOTH_WAYS):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / f"model{suffix}"
        if refused(lambda path=path: write_circuit(document, path), folder):  # type: ignore[misc]
            inside = bool(document.graph.blocks_of(NetworkBlock))
            gated = bool(document.graph.blocks_of(GateBlock)) and suffix not in NAMES
            assert what not in HOLDS.get(suffix, ()) or inside or gated
            continue
        assert [file.name for file in folder.iterdir()] == [path.name]
        back = read_circuit(path)
        graph = back.graph
        if suffix in NAMES:
            assert back.about == document.about
            assert graph.schema == document.graph.schema
        else:  # which has no room for names and roles
            graph = replace(graph, schema=document.graph.schema)
        assert_same_answers(document.graph, graph)


@pytest.mark.parametrize(("learner", "what"), every_model)
def test_a_generalised_circuit_of_what_is_learned_comes_back(learner: str, what: str, tmp_path: Path) -> None:
    document, path = model(learner, what), tmp_path / "model.gac"

    made: list[GeneralisedGraph] = []

    def save() -> None:
        made.append(generalise(document.graph))
        write_generalised(made[0], document.about, path)

    if refused(save, tmp_path):
        families = {block.name for block in document.graph.blocks}
        assert what == "numbers" or document.graph.blocks_of(GateBlock) or families & {"network-output"}
        return
    graph, about = read_generalised(path)
    assert about == document.about
    assert graph.schema == document.graph.schema
    _assert_same_generalised(made[0], graph)


def _assert_same_generalised(one: GeneralisedGraph, other: GeneralisedGraph) -> None:
    rows = probes(one.schema)
    np.testing.assert_array_equal(generalised_log_prob(one, rows), generalised_log_prob(other, rows))
    theirs = generalised_marginals(other, rows)
    for target, mine in generalised_marginals(one, rows).items():
        np.testing.assert_array_equal(mine, theirs[target])


@pytest.mark.parametrize("suffix", MARKOV_SUFFIXES)
@pytest.mark.parametrize("learner", NETWORK_LEARNERS)
def test_a_network_that_is_learned_comes_back(learner: str, suffix: str, tmp_path: Path) -> None:
    some = table("numbers", 0)
    columns = [i for i, variable in enumerate(some.schema) if variable.is_categorical]
    some = Table(some.schema.select(columns), some.values[:, columns])
    network = NETWORK_LEARNERS[learner]().learn(some, np.random.default_rng(0), watch=Watch(seconds=SECONDS))
    document = NetworkDocument(network, {"learner": learner})
    write_network_document(document, tmp_path / f"model{suffix}")
    back = read_network_document(tmp_path / f"model{suffix}")
    rows = np.nan_to_num(some.values)
    np.testing.assert_allclose(log_prob_of_rows(back.network, rows), log_prob_of_rows(network, rows))
    if suffix == ".mn":
        assert (back.about, back.network.schema) == (document.about, network.schema)


# ---- a new file is read before it takes its place --------------------------------------------------------


def coin() -> Graph:
    builder = Builder(discrete_schema([2]))
    builder.leaf("bernoulli", 0, [0.3])
    return builder.freeze()


def broken(form: Format, spoil: Callable[[Path], None]) -> Format:
    """A format whose writer makes a mistake."""

    def write(document: Document, path: Path) -> None:
        assert form.write is not None
        form.write(document, path)
        spoil(path)

    return replace(form, write=write)


def cut(path: Path) -> None:
    """Lose the second half of a file, or of each file of a folder."""
    for file in path.iterdir() if path.is_dir() else [path]:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def change(path: Path) -> None:
    """Change a parameter, so that all is well but for the answers."""
    other = Builder(discrete_schema([2]))
    other.leaf("bernoulli", 0, [0.4])
    WRITERS[path.suffix](Document(other.freeze(), {"seed": 2}), path)


@pytest.mark.parametrize("suffix", BOTH_WAYS)
@pytest.mark.parametrize("spoil", [cut, change])
def test_a_file_that_does_not_come_back_never_takes_the_place_of_another(
    spoil: Callable[[Path], None], suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"c{suffix}"
    write_circuit(Document(coin(), {"seed": 1}), path)
    before = _contents(tmp_path)
    wrong = broken(FORMATS[suffix], spoil)
    monkeypatch.setitem(FORMATS, suffix, wrong)
    with pytest.raises(ValueError, match=rf"c{suffix}: .*would not be read back") as caught:
        write_circuit(Document(coin(), {"seed": 2}), path)
    assert "\n" not in str(caught.value)
    assert _contents(tmp_path) == before


def _contents(folder: Path) -> dict[str, Any]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_parameters_that_are_no_numbers_are_not_saved(tmp_path: Path) -> None:
    graph = coin()
    block = graph.blocks[0].with_parameters(np.array([[np.nan]]))
    for suffix in BOTH_WAYS:
        with pytest.raises(ValueError, match=rf"c{suffix}: "):
            write_circuit(Document(graph.with_parameters(blocks=(block,))), tmp_path / f"c{suffix}")
    assert not list(tmp_path.iterdir())
