"""What is written is what is read, in every format."""

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import (
    ABOUT,
    FEATURE_ARRAYS,
    assert_same_graph,
    leaves,
    small_network,
    typed_schema,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import all_rows, log_total, log_values
from random_circuits import random_graph
from strategies import arithmetic_circuits, circuits

from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.formats import FORMATS, Document, read_circuit, write_circuit
from tractable.formats.pictures import svg_text
from tractable.networks.writing import decimal

EXACT = [".tract", ".json"]
many = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def through(document: Document, path: Path) -> Document:
    write_circuit(document, path)
    return read_circuit(path)


def through_or_none(graph: Graph, path: Path, excuse: str) -> Graph | None:
    """The circuit that comes back, or None where the format cannot hold it: e^-800 is no number."""
    try:
        return through(Document(graph), path).graph
    except ValueError as error:
        if re.search(excuse, str(error)):
            return None
        raise


@pytest.mark.parametrize("suffix", EXACT)
@many
@given(graph=circuits(mixed=True, normalised=False, smooth=False))
def test_a_circuit_comes_back_the_same(suffix: str, tmp_path: Path, graph: Graph) -> None:
    back = through(Document(graph, ABOUT), tmp_path / f"c{suffix}")
    assert_same_graph(graph, back.graph)
    assert back.about == ABOUT


@pytest.mark.parametrize("suffix", EXACT)
def test_states_keep_their_types_and_columns_their_roles(suffix: str, tmp_path: Path) -> None:
    schema = Schema(
        (
            Variable("all sorts", "categorical", (True, 0, "1", "tëxt\n\"'", -5, 2.5e-300, 10**20)),
            Variable("", "real", role="input"),
            Variable("n", "count", role="target"),
            Variable("numpy", "categorical", (np.str_("a"), np.float64(0.5))),
        )
    )
    builder = Builder(schema)
    builder.indicator(0, 2)
    back = through(Document(builder.freeze()), tmp_path / f"c{suffix}")
    expected = typed_schema(schema)
    expected[3] = ("numpy", "categorical", "target", [(str, "a"), (float, 0.5)])
    assert typed_schema(back.graph.schema) == expected


@pytest.mark.parametrize("suffix", EXACT)
def test_a_feature_table_comes_back_the_same(suffix: str, tmp_path: Path) -> None:
    graph = small_network()
    assert_same_graph(graph, through(Document(graph), tmp_path / f"c{suffix}").graph)


@pytest.mark.parametrize("suffix", EXACT)
def test_leaf_blocks_keep_extreme_numbers(suffix: str, tmp_path: Path) -> None:
    builder = Builder(discrete_schema([3]))
    leaf = builder.leaf("categorical", 0, [-math.inf, math.log(0.1), math.log(0.9)])
    parts = [builder.product([leaf, builder.constant(x)]) for x in (5e-324, 1e8, -1e8, -math.inf)]
    builder.sum(parts, [0.1 + 0.2, -math.inf, -1e308, -0.0])
    graph = builder.freeze()
    assert_same_graph(graph, through(Document(graph), tmp_path / f"c{suffix}").graph)


@pytest.mark.parametrize("suffix", EXACT)
def test_leaves_without_parameters_come_back(suffix: str, tmp_path: Path) -> None:
    schema = Schema((Variable("x", "categorical", ("a", "b")), Variable("u", "real", role="potential")))
    builder = Builder(schema)
    pair = [builder.indicator(0, 1), builder.leaf("potential", 1, [])]
    builder.product(pair)
    graph = builder.freeze()
    assert_same_graph(graph, through(Document(graph), tmp_path / f"c{suffix}").graph)


def test_a_conditional_circuit_is_judged_by_its_targets(tmp_path: Path) -> None:
    target, given = discrete_schema([2, 2])
    joint, conditional = (
        _product_that_asks_a_column_twice(Schema((target, second)))
        for second in (given, replace(given, role="input"))
    )
    for suffix in EXACT:
        path = tmp_path / f"c{suffix}"
        assert_same_graph(conditional, through(Document(conditional), path).graph)
        with pytest.raises(ValueError, match=r"c\.(tract|json): product 4: .* share column 'x1'"):
            through(Document(joint), path)


def _product_that_asks_a_column_twice(schema: Schema) -> Graph:
    builder = Builder(schema)
    both = [builder.indicator(0, 0), builder.indicator(1, 0)]
    builder.product([builder.product(both), builder.indicator(1, 1)])
    return builder.freeze()


def test_the_role_of_a_target_may_be_called_a_feature_as_in_old_files(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write_circuit(Document(small_network()), path)
    path.write_text(path.read_text().replace('"role": "target"', '"role": "feature"'))
    assert {v.role for v in read_circuit(path).graph.schema} == {"target"}


def test_about_must_be_plain(tmp_path: Path) -> None:
    graph = small_network()
    assert through(Document(graph, {"n": np.int64(3)}), tmp_path / "c.tract").about == {"n": 3}
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        write_circuit(Document(graph, {"rng": object()}), tmp_path / "d.tract")
    assert [p.name for p in tmp_path.iterdir()] == ["c.tract"]


# ---- Libra's formats ----------------------------------------------------------------------------------


@many
@given(graph=arithmetic_circuits())
def test_an_ac_file_has_the_same_value_for_every_row(tmp_path: Path, graph: Graph) -> None:
    back = through_or_none(graph, tmp_path / "c.ac", "cannot be represented in a .ac file")
    if back is None:
        return
    assert [v.cardinality for v in back.schema] == [v.cardinality for v in graph.schema]
    np.testing.assert_allclose(
        log_values(back, all_rows(graph.schema)), log_values(graph, all_rows(graph.schema)), atol=1e-9
    )


def test_an_arithmetic_circuit_keeps_nodes_and_features_in_an_ac_file(tmp_path: Path) -> None:
    graph = through(Document(small_network()), tmp_path / "a.ac").graph
    again = through(Document(graph), tmp_path / "b.ac").graph
    assert graph.features is not None
    assert len(graph.features) == 3  # the feature that cannot hold has no leaf and is not written
    assert again.nodes == graph.nodes
    np.testing.assert_array_equal(again.child, graph.child)
    assert again.features is not None
    for name in FEATURE_ARRAYS:
        np.testing.assert_allclose(getattr(again.features, name), getattr(graph.features, name), rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-5, "1.0e-05"), (1.0, "1.0"), (0.5, "0.5"), (1.5e300, "1.5e+300"), (1e22, "1.0e+22"), (0.0, "0.0")],
)
def test_numbers_of_ac_files_have_a_point_and_all_their_digits(value: float, text: str) -> None:
    assert decimal(value) == text
    assert float(decimal(0.1 + 0.2)) == 0.1 + 0.2


def test_an_ac_file_is_read_as_the_format_says(tmp_path: Path) -> None:
    nodes = "(2 3)\r\nv 0 1\nn 0.25\nv 1 2\n* 0 1 2\nn 1.0e-05\n+ 3 4\nEOF\n"
    path = tmp_path / "c.ac"
    path.write_text(nodes + "\n1 0.25 +v0_1 -v1_2\n4 0.00001\nEOF\n", encoding="ascii")
    graph = read_circuit(path).graph
    assert graph.schema == discrete_schema([2, 3])
    assert graph.kind.tolist() == [0, 0, 0, 1, 0, 2]
    assert graph.child.tolist() == [0, 1, 2, 3, 4]
    assert leaves(graph) == {
        0: ("indicator", 0, [1.0]),
        1: ("constant", -1, [math.log(0.25)]),
        2: ("indicator", 1, [2.0]),
        4: ("constant", -1, [math.log(1e-5)]),
    }
    assert graph.features is not None
    assert graph.features.equals.tolist() == [True, False]
    assert graph.features.start.tolist() == [0, 2, 2]


@many
@given(graph=circuits(schema=discrete_schema([2, 2, 2]), normalised=False))
def test_a_spn_folder_has_the_same_distribution(tmp_path: Path, graph: Graph) -> None:
    back = through_or_none(graph, tmp_path / "c.spn", "cannot be represented in a .ac file|zero everywhere")
    if back is None:
        return
    rows = all_rows(graph.schema)
    np.testing.assert_allclose(
        log_values(back, rows) - log_total(back), log_values(graph, rows) - log_total(graph), atol=1e-8
    )


def test_the_children_of_the_root_become_the_leaves_of_a_spn(tmp_path: Path) -> None:
    builder = Builder(discrete_schema([2, 2]))
    parts = []
    for p in (0.1, 0.7):
        pair = [builder.leaf("bernoulli", c, [math.log(p / (1 - p))]) for c in (0, 1)]
        parts.append(builder.product(pair))
    builder.sum(parts, np.log([0.4, 0.6]))
    write_circuit(Document(builder.freeze()), tmp_path / "c.spn")
    assert sorted(p.name for p in (tmp_path / "c.spn").iterdir()) == ["spac-1.ac", "spac-2.ac", "spac.m"]
    lines = (tmp_path / "c.spn" / "spac.m").read_text().splitlines()
    assert lines[:4] == ["spac", "3", "n 0 + -1", "1 2"]
    assert lines[5:] == ["0 1", "n 1 ac 0", "0 1", "n 2 ac 0", "0 1"]
    np.testing.assert_allclose(np.exp(np.array(lines[4].split(), dtype=float)), [0.4, 0.6])


def test_formats_refuse_columns_that_they_do_not_have(tmp_path: Path) -> None:
    builder = Builder(Schema((Variable("height", "real"),)))
    builder.leaf("gaussian", 0, [0.0, 0.0])
    document = Document(builder.freeze())
    with pytest.raises(ValueError, match=r"c\.ac: .* column 'height' is real"):
        write_circuit(document, tmp_path / "c.ac")
    with pytest.raises(ValueError, match=r"c\.spn: .* column 'height' is not binary"):
        write_circuit(document, tmp_path / "c.spn")
    assert list(tmp_path.iterdir()) == []


# ---- pictures -----------------------------------------------------------------------------------------


@many
@given(graph=circuits(mixed=True, normalised=False))
def test_pictures_of_circuits_are_well_formed(tmp_path: Path, graph: Graph) -> None:
    write_circuit(Document(graph), tmp_path / "c.svg")
    shapes = [e.tag.split("}")[1] for e in ET.parse(tmp_path / "c.svg").getroot()]
    assert shapes.count("line") == graph.edges
    assert shapes.count("rect") - 1 + shapes.count("circle") == graph.nodes
    write_circuit(Document(graph), tmp_path / "c.dot")
    text = (tmp_path / "c.dot").read_text(encoding="utf-8")
    assert text.count(" -> ") == graph.edges
    assert text.count("shape=") == graph.nodes


def test_names_are_escaped_in_pictures(tmp_path: Path) -> None:
    builder = Builder(Schema((Variable('<a & "b">\x00\\', "categorical", ("x<y", "\n")),)))
    builder.indicator(0, 0)
    document = Document(builder.freeze())
    root = ET.fromstring(svg_text(document.graph))
    assert any('<a & "b">' in (e.text or "") for e in root.iter())
    write_circuit(document, tmp_path / "c.dot")
    assert '\\"b\\"' in (tmp_path / "c.dot").read_text(encoding="utf-8")


def test_a_large_circuit_is_drawn_as_a_summary() -> None:
    graph = random_graph(np.random.default_rng(0), 16, 5000)
    picture = svg_text(graph)
    ET.fromstring(picture)
    assert f"{graph.nodes:,} nodes, {graph.edges:,} edges" in picture
    assert len(picture) < 30_000


# ---- the table ----------------------------------------------------------------------------------------


def test_the_suffix_chooses_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    document = Document(small_network())
    with pytest.raises(ValueError, match=r"model\.pkl: the suffix '\.pkl' is unknown"):
        write_circuit(document, tmp_path / "model.pkl")
    with pytest.raises(ValueError, match=r"can be written but not read"):
        read_circuit(tmp_path / "model.svg")
    with pytest.raises(ValueError, match=r"can be read but not written"):
        write_circuit(document, tmp_path / "model.bif")
    with pytest.raises(FileNotFoundError):
        read_circuit(tmp_path / "missing.tract")
    assert_same_graph(document.graph, through(document, tmp_path / "MODEL.TRACT").graph)


@pytest.mark.parametrize("suffix", [s for s, f in FORMATS.items() if f.write is not None])
def test_every_format_replaces_what_stands_there_and_leaves_nothing_else(suffix: str, tmp_path: Path) -> None:
    builder = Builder(discrete_schema([2]))
    builder.leaf("bernoulli", 0, [0.3])
    for _ in range(2):
        write_circuit(Document(builder.freeze()), tmp_path / f"c{suffix}")
        assert [p.name for p in tmp_path.iterdir()] == [f"c{suffix}"]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    graph=circuits(mixed=True), about=st.dictionaries(st.text(), st.integers() | st.text() | st.booleans())
)
def test_json_files_are_json_with_a_node_a_line(tmp_path: Path, graph: Graph, about: dict[str, Any]) -> None:
    path = tmp_path / "c.json"
    write_circuit(Document(graph, about), path)
    text = path.read_text(encoding="utf-8")
    nodes = text.split('"nodes": [\n')[1].split("\n]")[0].split(",\n")
    assert len(nodes) == graph.nodes
    assert json.loads(text)["about"] == about
