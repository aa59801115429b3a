"""Circuits that another toolkit wrote, with the answers that it gave."""

import os
from pathlib import Path

import numpy as np
import pytest

from tractable.base.arrays import Floats
from tractable.circuit.blocks import ConstantBlock
from tractable.circuit.graph import Graph
from tractable.engine.sweep import log_values
from tractable.formats import Document, read_circuit, write_circuit

DATA = Path(os.environ.get("TRACTABLE_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
GOLDEN = DATA.parent / "golden"
JOINT = ["dna-acmn.ac", "nltcs-acmn.ac", "nltcs-mixture.spn"]

pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden circuits are not there")


def rows(name: str) -> Floats:
    lines = (GOLDEN / name).read_text().split()
    return np.array([[np.nan if cell == "*" else float(cell) for cell in line.split(",")] for line in lines])


def log_prob(graph: Graph, table: Floats) -> Floats:
    """log P of each row: the circuit's value over its total."""
    return log_values(graph, table) - log_values(graph, np.full((1, len(graph.schema)), np.nan))


@pytest.mark.parametrize("name", JOINT)
def test_log_probabilities_are_those_recorded(name: str) -> None:
    graph = read_circuit(GOLDEN / name).graph
    stem = Path(name).stem
    recorded = np.loadtxt(GOLDEN / f"{stem}.log_prob.txt")
    np.testing.assert_allclose(log_prob(graph, rows(f"{stem}.rows.data")), recorded, atol=1e-5)


@pytest.mark.parametrize("name", JOINT)
def test_marginals_are_those_recorded(name: str) -> None:
    graph = read_circuit(GOLDEN / name).graph
    stem = Path(name).stem
    evidence = rows(f"{stem}.evidence.data")[:5]
    recorded = np.loadtxt(GOLDEN / f"{stem}.marginals.txt").reshape(-1, len(graph.schema), 2)
    for row, expected in zip(evidence, recorded, strict=False):
        asked = np.repeat(row[None, :], len(row), axis=0)
        np.fill_diagonal(asked, np.where(np.isnan(row), 0.0, row))
        share = np.exp(log_values(graph, asked) - log_values(graph, row[None, :]))
        got = np.where(np.isnan(row), share, row == 0)
        np.testing.assert_allclose(got, expected[:, 0], atol=1e-5)


def test_conditional_log_probabilities_are_those_recorded() -> None:
    graph = read_circuit(GOLDEN / "nltcs-conditional.ac").graph
    whole, given = rows("nltcs-conditional.rows.data"), rows("nltcs-conditional.evidence.data")
    recorded = np.loadtxt(GOLDEN / "nltcs-conditional.log_prob.txt")
    np.testing.assert_allclose(log_values(graph, whole) - log_values(graph, given), recorded, atol=1e-5)


@pytest.mark.parametrize("suffix", [".ac", ".spn", ".tract", ".json"])
@pytest.mark.parametrize("name", JOINT)
def test_golden_circuits_go_through_every_format(name: str, suffix: str, tmp_path: Path) -> None:
    graph = read_circuit(GOLDEN / name).graph
    write_circuit(Document(graph), tmp_path / f"c{suffix}")
    back = read_circuit(tmp_path / f"c{suffix}").graph
    table = rows(f"{Path(name).stem}.rows.data")
    np.testing.assert_allclose(log_prob(back, table), log_prob(graph, table), atol=1e-8)


@pytest.mark.parametrize(("name", "features"), [("dna-acmn.ac", 906), ("nltcs-acmn.ac", 170)])
def test_feature_weights_are_those_of_their_leaves(name: str, features: int) -> None:
    graph = read_circuit(GOLDEN / name).graph
    assert graph.features is not None
    assert len(graph.features) == features
    (constants,) = graph.blocks_of(ConstantBlock)
    carried = constants.log_value[np.searchsorted(constants.node, graph.features.node)]
    np.testing.assert_array_equal(carried, graph.features.log_weight)
