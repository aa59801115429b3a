"""A damaged file is refused with one line that names it, and never runs anything."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import ABOUT, assert_same_graph, small_network
from mixtures import mixture
from safetensors import safe_open
from safetensors.numpy import save_file

from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import discrete_schema
from tractable.formats import Document, read_circuit, write_circuit


def refused_or_same(path: Path, graph: Graph | None) -> bool:
    """Whether a file is refused as it should be; else it must hold `graph`."""
    try:
        document = read_circuit(path)
    except ValueError as error:
        message = str(error)
    else:
        if graph is not None:
            assert_same_graph(graph, document.graph)
            assert document.about == ABOUT
        return False
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return True


@pytest.mark.parametrize("suffix", [".tract", ".json", ".ac"])
@pytest.mark.parametrize("make", [mixture, small_network])
def test_a_file_cut_short_is_refused(suffix: str, make: Callable[[], Graph], tmp_path: Path) -> None:
    path = tmp_path / f"c{suffix}"
    write_circuit(Document(make(), ABOUT), path)
    whole = path.read_bytes()
    last = len(whole.rstrip())
    for size in [*range(0, last, 37), last - 1]:
        path.write_bytes(whole[:size])
        assert refused_or_same(path, None) or (suffix == ".ac" and whole[:size].rstrip().endswith(b"EOF"))


def test_a_flipped_bit_in_a_tract_file_never_changes_the_circuit(tmp_path: Path) -> None:
    path = tmp_path / "c.tract"
    graph = small_network()
    write_circuit(Document(graph, ABOUT), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        refused_or_same(path, graph)


@pytest.mark.parametrize("suffix", [".json", ".ac"])
def test_wrong_bytes_in_text_give_no_other_error(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"c{suffix}"
    write_circuit(Document(small_network(), ABOUT), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in range(0, len(whole), 2):
        damaged = bytearray(whole)
        damaged[at] = int(rng.integers(256)) if at % 4 else int(rng.choice(list(b'0123456789"[]{}-+*v nE.,')))
        path.write_bytes(damaged)
        refused_or_same(path, None)


def test_a_million_brackets_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    for text in ("[" * 10**6, '{"a":' * 10**6, '{"format": "tractable circuit", "nodes": ' + "[" * 10**6):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"c\.json: the JSON is nested too deeply"):
            read_circuit(path)


def test_a_deep_circuit_is_no_deep_file(tmp_path: Path) -> None:
    builder = Builder(discrete_schema([2]))
    node = builder.leaf("bernoulli", 0, [0.0])
    for _ in range(20_000):
        node = builder.sum([node], [0.0])
    graph = builder.freeze()
    for suffix in (".tract", ".json", ".ac"):
        write_circuit(Document(graph), tmp_path / f"c{suffix}")
        assert read_circuit(tmp_path / f"c{suffix}").graph.edges >= 20_000


Tensors = dict[str, Any]


def tampered(path: Path, change: Callable[[Tensors, dict[str, Any]], None]) -> None:
    """Change the arrays and the header of a .tract file."""
    with safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = file.metadata()
    header = json.loads(metadata["circuit"])
    change(tensors, header)
    metadata["circuit"] = json.dumps(header)
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, path, metadata)


def set_item(name: str, at: int, value: float) -> Callable[[Tensors, dict[str, Any]], None]:
    def change(tensors: Tensors, header: dict[str, Any]) -> None:
        tensors[name][at] = value

    return change


def set_tensor(name: str, make: Callable[[Any], Any]) -> Callable[[Tensors, dict[str, Any]], None]:
    def change(tensors: Tensors, header: dict[str, Any]) -> None:
        tensors[name] = make(tensors[name])

    return change


def set_header(**entries: Any) -> Callable[[Tensors, dict[str, Any]], None]:
    return lambda tensors, header: header.update(entries)


def set_column(**entries: Any) -> Callable[[Tensors, dict[str, Any]], None]:
    return lambda tensors, header: header["schema"][1].update(entries)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (set_item("child", 0, 6), "node 2 has child 6"),
        (set_item("child", 0, 2), "node 2 has child 2"),
        (set_item("child", 0, -1), "node 2 has child -1"),
        (set_item("child", 0, 10**12), "node 2 has child 1000000000000"),
        (set_item("log_weight", 4, np.nan), "log weight of node 6 to its child is nan"),
        (set_item("log_weight", 0, -1.0), "product 2 has a weighted edge"),
        (set_item("leaf.0.column", 1, 0), "product 2: its children 0 and 1 share column 'x0'"),
        (set_item("leaf.0.column", 1, 9), "leaf 1 is over column 9"),
        (set_item("kind", 0, 7), "node 0 has an unknown kind"),
        (set_item("start", 1, 3), "not divided among the nodes in order"),
        (set_tensor("child", lambda a: a[:-1]), "do not fit together"),
        (set_tensor("child", lambda a: a.astype(np.int32)), "the array 'child' holds int32, not int64"),
        (set_tensor("kind", lambda a: a[:, None]), "the array 'kind' has 2 dimensions, not 1"),
        (set_tensor("kind", lambda a: a[:0]), "at least one node"),
        (lambda tensors, _: tensors.pop("start"), "the array 'start' is missing"),
        (lambda tensors, _: tensors.update(extra=np.zeros(1)), "the array 'extra' does not belong here"),
        (set_header(families=["pickle"]), "no family of leaves called 'pickle'"),
        (set_header(families=["gaussian"]), "a gaussian leaf cannot stand over the categorical column 'x0'"),
        (set_header(families=None), "the families of the leaves are not a list"),
        (set_header(version=2), "format version 2"),
        (set_header(format="picture"), "not a tractable circuit"),
        (set_header(schema={}), "the schema is not a list"),
        (set_header(about=[]), "not a dictionary"),
        (set_column(states=[]), "column 'x1' is categorical and has no states"),
        (set_column(states=["a", "a"]), "column 'x1' has the same state twice"),
        (set_column(states=[None]), "states of column 'x1'"),
        (set_column(kind="wooden"), "column 'x1' is of the unknown kind 'wooden'"),
        (set_column(kind=[]), "unknown kind []"),
        (set_column(role="boss"), "unknown role 'boss'"),
        (set_column(name="x0"), "two columns are called 'x0'"),
        (set_column(name=3), "the name of column 1 is not text"),
        (set_item("leaf.0.params", 0, 1.25), "the file is damaged: its contents do not match its checksum"),
        (set_header(seed=8), "do not match its checksum"),
    ],
)
def test_every_fault_of_a_tract_file_is_named(
    change: Callable[[Tensors, dict[str, Any]], None], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.tract"
    write_circuit(Document(mixture(), ABOUT), path)
    tampered(path, change)
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        read_circuit(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (set_item("feature.node", 1, 9999), "feature 1 is carried by node 9999, which is not a constant"),
        (set_item("feature.column", 1, 7), "feature 0 refers to a column or state that does not exist"),
        (set_item("feature.state", 2, -1), "feature 1 refers to a column or state that does not exist"),
        (set_item("feature.start", 1, 9), "the conditions are not divided among the features"),
        (set_item("feature.log_weight", 1, np.inf), "a feature's log weight is not finite"),
        (set_tensor("feature.state", lambda a: a[1:]), "the array 'feature.state' has 4 entries, not 5"),
    ],
)
def test_every_fault_of_a_feature_table_is_named(
    change: Callable[[Tensors, dict[str, Any]], None], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.tract"
    write_circuit(Document(small_network()), path)
    tampered(path, change)
    with pytest.raises(ValueError, match=re.escape(fault)):
        read_circuit(path)


AC = "(2 2)\nv 0 1\nn 0.5\n* 0 1\nv 1 0\n* 2 3\nEOF\n\n1 0.5 +v0_1\nEOF\n"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("(2 2)", "2 2", "line 1: the numbers of states are expected in brackets"),
        ("(2 2)", "(2 x)", "line 1: 'x' is not a number of states"),
        ("(2 2)", "(2 0)", "line 1: '0' is not a number of states"),
        ("v 0 1", "w 0 1", "line 2: a node starts with v, n, * or +"),
        ("v 0 1", "v 0 2", "line 2: there is no variable 0 or it lacks that state"),
        ("v 1 0", "v 5 0", "line 5: there is no variable 5 or it lacks that state"),
        ("v 0 1", "v 0", "line 2: 2 numbers are expected, not 1"),
        ("n 0.5", "n -0.5", "line 3: '-0.5' is not a finite number from 0 up"),
        ("n 0.5", "n 1e999", "line 3: '1e999' is not a finite number from 0 up"),
        ("n 0.5", "n nan", "line 3: 'n' is not part of a number"),
        ("n 0.5", "n 1.2.3", "line 3: '1.2.3' is not a finite number from 0 up"),
        ("* 0 1", "*0 1", "line 4: a node starts with"),
        ("* 0 1", "*", "line 4: 1 numbers are expected, not 0"),
        ("* 0 1", "* ", "line 4: 1 numbers are expected, not 0"),
        ("* 0 1", "* 0 -1", "line 4: '-' is not part of a number"),
        ("* 0 1", "* 0 2", "node 2 has child 2"),
        ("* 0 1", "* 0 9999999999999999999999", "line 4: a number is too large"),
        ("* 0 1", "", "line 4: a node starts with"),
        ("EOF\n\n1", "1", "a node starts with"),
        ("+v0_1\nEOF", "+v0_1", "there is no EOF after the features"),
        ("1 0.5 +v0_1", "0 0.5 +v0_1", "feature 0 is carried by node 0, which is not a constant"),
        ("1 0.5 +v0_1", "1 0.5 v0_1", "line 9: 'v0_1' is not a condition like +v3_1"),
        ("1 0.5 +v0_1", "1 0.5 +v0_3", "feature 0 refers to a column or state"),
        ("1 0.5 +v0_1", "1 half", "line 9: 'half' is not a finite number"),
        ("1 0.5 +v0_1", "x", "line 9: a feature is the number of a node"),
        (AC, "", "line 1"),
        (AC, "(2 2)\nEOF\n", "line 2: the circuit has no nodes"),
    ],
)
def test_every_fault_of_an_ac_file_is_named(old: str, new: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "c.ac"
    assert old in AC
    path.write_text(AC.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        read_circuit(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("spac\n", "spoc\n", "spac.m, line 1: spac.m must start with the word spac"),
        ("\n3\n", "\n4\n", "spac.m, line 10: the file ends too early"),
        ("\n3\n", "\nx\n", "spac.m, line 2: whole numbers are expected"),
        ("n 1 ac 0", "n 1 xx 0", "spac.m, line 7: node 1 is expected as"),
        ("1 2\n", "1 7\n", "node 0 has child 7"),
        ("1 2\n", "1 1\n", "a node has two parents"),
        ("1 2\n", "1 0\n", "a node has two parents"),
        ("n 2 ac 0\n0 1\n", "n 2 ac 0\n0\n", "spac-2.ac has 2 columns; spac.m says 1"),
        ("n 2 ac 0\n0 1\n", "n 2 ac 0\n0 999999999\n", "column 2 is not in any scope, but later columns are"),
        ("n 2 ac 0\n0 1\n", "n 2 null 0\n", "node 2 has nothing below it"),
        ("n 0 +", "n 0 *", "spac.m, line 5"),
    ],
)
def test_every_fault_of_a_spn_folder_is_named(old: str, new: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "c.spn"
    write_circuit(Document(mixture()), path)
    tree = (path / "spac.m").read_text()
    assert old in tree
    (path / "spac.m").write_text(tree.replace(old, new, 1))
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        read_circuit(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_part_of_a_spn_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.spn"
    write_circuit(Document(mixture()), path)
    (path / "spac-2.ac").unlink()
    with pytest.raises(ValueError, match=r"there is no spac-2\.ac in the folder"):
        read_circuit(path)
    (path / "spac.m").unlink()
    with pytest.raises(ValueError, match=r"there is no spac\.m in the folder"):
        read_circuit(path)
