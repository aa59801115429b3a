"""Network files are read as they are meant, and faults are named by line."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tractable.engine.sweep import log_values
from tractable.networks import Network, TableFactor, compile_network, read_bif, read_uai

SHARED = Path(os.environ.get("TRACTABLE_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
NETWORKS = sorted((SHARED / "networks").glob("*.bif"))

SMALL_BIF = """
network "two words" { property version = "1, 2" ; }
// a comment
variable "wet grass" { /* one
that takes two lines */ type discrete [ 2 ] { "very wet", dry }; property position = (1, 2); }
variable rain { type discrete[3] { none, <5, >=5/h }; }
probability ( rain ) { table 0.5, 0.25, 0.25; }
probability ( "wet grass" | rain ) {
  property note ;
  default 0.1, 0.9;
  (>=5/h) 0.8, 0.2;
}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def table(network: Network, factor: int) -> Any:
    found = network.factors[factor]
    assert isinstance(found, TableFactor)
    return np.exp(found.log_values)


def test_names_states_comments_and_defaults_of_bif_are_understood(tmp_path: Path) -> None:
    network = read_bif(written(tmp_path, "a.bif", SMALL_BIF))
    assert network.schema.names == ("wet grass", "rain")
    assert network.schema[0].states == ("very wet", "dry")
    assert network.schema[1].states == ("none", "<5", ">=5/h")
    np.testing.assert_allclose(table(network, 0), [[0.1, 0.1, 0.8], [0.9, 0.9, 0.2]])
    np.testing.assert_allclose(table(network, 1), [0.5, 0.25, 0.25])


def test_a_whole_bif_table_has_the_child_as_its_slowest_axis(tmp_path: Path) -> None:
    text = """network n {}
    variable a { type discrete [2] { t, f }; } variable b { type discrete [3] { x y z }; }
    probability ( a ) { table 0.2 0.8; } probability ( b | a ) { table 0.1 0.2 0.3 0.4 0.6 0.4; }"""
    network = read_bif(written(tmp_path, "a.bif", text))
    np.testing.assert_allclose(table(network, 1), [[0.1, 0.2], [0.3, 0.4], [0.6, 0.4]])


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("[3]", "[4]", "line 6: variable 'rain' says it has 4 states and lists 3"),
        ("| rain )", "| snow )", "line 8: there is no variable 'snow'"),
        ("0.8, 0.2;", "0.8, 0.1;", "line 12: variable 'wet grass': probabilities sum to 0.9, not to 1"),
        ("0.8, 0.2;", "0.8, x;", "line 11: 'x' is not a number"),
        ("0.8, 0.2;", "1.8, -0.8;", "is not a probability"),
        ("(>=5/h)", "(much)", "line 11: variable 'rain' has no state 'much'"),
        ("(>=5/h)", "(<5, <5)", "line 11: 2 states are given for the 1 parents of 'wet grass'"),
        ("  default 0.1, 0.9;\n", "", "'wet grass' has no probabilities for rain=none"),
        ("0.5, 0.25, 0.25;", "0.5, 0.5;", "line 7: 3 numbers are expected, not 2"),
        ("variable rain", "variable 'wet grass'", "is expected"),
        ('variable "wet grass" {', "bariable x {", "line 4: 'network', 'variable' or 'probability'"),
        ("}\n", "\n", "expected"),
        ("none, <5", "none, none", "line 6: column 'rain' has the same state twice"),
        ('"very wet"', '"very wet', "line 5: '\"' does not belong here"),
    ],
)
def test_a_fault_in_bif_is_named_with_its_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in SMALL_BIF
    with pytest.raises(ValueError, match=re.escape(fault)):
        read_bif(written(tmp_path, "a.bif", SMALL_BIF.replace(old, new)))


def test_a_bif_file_cut_anywhere_is_refused_with_one_line(tmp_path: Path) -> None:
    whole = SMALL_BIF.rstrip()
    for size in range(0, len(whole), 7):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            read_bif(written(tmp_path, "a.bif", whole[:size]))


UAI = """MARKOV
3
2 2 3
2
2 0 1
2 1 2
4
 1.0 0.0
 2.0 0.5
6
 1 2 3
 4 5 6
"""


def test_a_markov_uai_file_is_its_potentials(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path, "a.uai", UAI))
    assert network.kind == "markov"
    assert [f.scope for f in network.factors] == [(0, 1), (1, 2)]
    np.testing.assert_allclose(table(network, 0), [[1.0, 0.0], [2.0, 0.5]])
    np.testing.assert_allclose(table(network, 1), [[1, 2, 3], [4, 5, 6]])
    total = np.einsum("ab,bc->", table(network, 0), table(network, 1))
    assert log_values(compile_network(network), np.full((1, 3), np.nan))[0] == pytest.approx(np.log(total))


def test_the_last_variable_of_a_bayes_uai_factor_is_the_child(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path, "a.uai", "BAYES 2 2 2 2 1 0 2 0 1 2 0.4 0.6 4 0.1 0.9 0.7 0.3"))
    assert network.kind == "bayes"
    assert network.factors[1].scope == (1, 0)
    np.testing.assert_allclose(table(network, 1), [[0.1, 0.7], [0.9, 0.3]])


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("MARKOV", "MARK", "line 1: the file must start with MARKOV or BAYES"),
        ("2 2 3", "2 0 3", "line 3: a whole number from 1 up is expected, not '0'"),
        ("2 1 2", "2 1 7", "line 6: there is no variable 7"),
        ("2 1 2", "2 1 1", "line 6: a factor names a variable twice"),
        ("4\n", "5\n", "line 7: a table over 2 variables has 4 entries, not 5"),
        ("2.0 0.5", "2.0 -0.5", "line 9: '-0.5' is not a finite number from 0 up"),
        ("2.0 0.5", "2.0 half", "line 9: 'half' is not a finite number from 0 up"),
        (" 4 5 6", " 4 5", "line 12: the file ends too early"),
        (" 4 5 6", " 4 5 6 7", "line 12: the file goes on after the last table"),
    ],
)
def test_a_fault_in_uai_is_named_with_its_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in UAI
    with pytest.raises(ValueError, match=re.escape(fault)):
        read_uai(written(tmp_path, "a.uai", UAI.replace(old, new, 1)))


@pytest.mark.parametrize(("read", "whole"), [(read_bif, SMALL_BIF), (read_uai, UAI)])
def test_wrong_letters_give_no_other_error_than_a_line_of_words(
    read: Callable[[Path], Network], whole: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for at in range(len(whole)):
        letter = str(rng.choice(list('{}()[]|;,"/*019.- x\n\x00é')))
        path = written(tmp_path, "a", whole[:at] + letter + whole[at + 1 :])
        try:
            read(path)
        except ValueError as error:
            message = str(error)
        else:
            message = ""
        assert "\n" not in message


def test_a_table_beyond_all_bounds_is_refused_before_it_is_made(tmp_path: Path) -> None:
    names = [f"v{i}" for i in range(60)]
    variables = "".join(f"variable {n} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for n in names)
    text = f"{variables}probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}"
    with pytest.raises(ValueError, match=r"line 61: the table of 'v0' has 1\.15e\+18 entries"):
        read_bif(written(tmp_path, "a.bif", text))


def reference_network(network: Network) -> Any:
    """The network as pyagrum holds it."""
    gum = pytest.importorskip("pyagrum")
    reference = gum.BayesNet()
    names = network.schema.names
    for variable in network.schema:
        reference.add(gum.LabelizedVariable(variable.name, "", list(map(str, variable.states))))
    for factor in network.factors:
        for parent in factor.scope[1:]:
            reference.addArc(names[parent], names[factor.scope[0]])
    for factor in network.factors:
        assert isinstance(factor, TableFactor)
        cpt = reference.cpt(names[factor.columns[0]])
        axes = [factor.columns.index(network.schema.column(name)) for name in reversed(cpt.names)]
        cpt.fillWith(np.exp(factor.log_values).transpose(axes).ravel().tolist())
    return reference


@pytest.mark.skipif(not NETWORKS, reason="the shared networks are not there")
@pytest.mark.parametrize("path", [p for p in NETWORKS if p.stem != "child"], ids=lambda p: p.stem)
def test_pyagrum_reads_the_same_numbers_from_the_same_file(path: Path) -> None:
    """Its numbers are in single precision, and it does not take the slash in the states of `child`."""
    gum = pytest.importorskip("pyagrum")
    theirs, ours = gum.loadBN(str(path)), reference_network(read_bif(path))
    for name in theirs.names():
        assert set(theirs.cpt(name).names) == set(ours.cpt(name).names)
        aligned = ours.cpt(name).reorganize(theirs.cpt(name).names)
        np.testing.assert_allclose(theirs.cpt(name).toarray(), aligned.toarray(), atol=2e-7)


@pytest.mark.skipif(not NETWORKS, reason="the shared networks are not there")
@pytest.mark.parametrize("path", NETWORKS, ids=lambda p: p.stem)
def test_real_networks_agree_with_exact_inference_under_random_evidence(path: Path) -> None:
    gum = pytest.importorskip("pyagrum")
    network = read_bif(path)
    graph = compile_network(network)
    inference = gum.LazyPropagation(reference_network(network))
    rng = np.random.default_rng(1)
    for _ in range(12):
        chosen = rng.choice(len(network.schema), size=rng.integers(1, 5), replace=False)
        row = np.full((1, len(network.schema)), np.nan)
        row[0, chosen] = [rng.integers(network.schema[int(c)].cardinality) for c in chosen]
        evidence = {network.schema[int(c)].name: int(row[0, c]) for c in chosen}
        inference.setEvidence(evidence)
        try:
            expected = inference.evidenceProbability()
        except gum.IncompatibleEvidence:
            expected = 0.0
        assert np.exp(log_values(graph, row)[0]) == pytest.approx(expected, rel=1e-9, abs=1e-15)
