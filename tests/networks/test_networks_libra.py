"""Libra's network files and those of the UAI competitions: what is written is what is read."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from oracle import all_rows
from random_networks import enumerated, networks

import tractable as tr
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema, Variable, discrete_schema
from tractable.formats import Document, read_circuit, write_circuit
from tractable.formats.network_files import (
    NetworkDocument,
    markov_network,
    read_network_document,
    write_network_document,
)
from tractable.learning.joint.bayesian.network import BayesianNetworkLearner
from tractable.learning.joint.chow_liu import ChowLiuLearner
from tractable.networks import (
    WRITERS,
    FeatureFactor,
    Network,
    TableFactor,
    TreeFactor,
    compile_network,
    libra_text,
    log_prob_of_rows,
    read_libra,
    read_uai,
    uai_text,
)

many = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

BAYES = """2,3,2
BN {
v0 {
tree { (v0_0 -0.5108256237659907 -0.916290731874155) }
}
v1 {
  table {
    -1.6094379124341003 +v1_0 +v0_0
    -1.2039728043259361 +v0_0 +v1_1
    -0.6931471805599453 +v1_2 +v0_0
    -inf +v1_0 +v0_1
    -0.6931471805599453 +v1_1 +v0_1
    -0.6931471805599453 +v1_2 +v0_1
  }
}
v2 { tree {
  (v1_2
    (v2_0 -0.10536051565782628 -2.3025850929940455)
    (v2_0 (v0_1 -0.2231435513142097 -0.6931471805599453)
          (v0_1 -1.6094379124341003 -0.6931471805599453)))
} }
}
"""

MARKOV = """2,3,2
MN {
0.5 +v0_1 -v1_2
-1.0e-05
features {
  1.25 +v2_1
  -2 +v0_0 +v2_0
}
table {
  0.1 +v0_0 +v2_0
  0.2 +v0_1 +v2_0
  0.3 +v0_0 +v2_1
  0.4 +v0_1 +v2_1
}
tree { (v1_0 0.7 (v1_1 -0.2 (v0_0 0.9 0.0))) }
}
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_bayesian_network_of_tables_and_trees_is_read(tmp_path: Path) -> None:
    network = read_libra(written(tmp_path, "a.bn", BAYES))
    assert network.kind == "bayes"
    first = {(0,): 0.6, (1,): 0.4}
    second = {(0, 0): 0.2, (0, 1): 0.3, (0, 2): 0.5, (1, 0): 0.0, (1, 1): 0.5, (1, 2): 0.5}

    def third(a: int, b: int, c: int) -> float:
        zero = 0.9 if b == 2 else 0.8 if a == 1 else 0.5
        return zero if c == 0 else 1 - zero

    for row in all_rows(network.schema):
        a, b, c = map(int, row)
        expected = first[(a,)] * second[(a, b)] * third(a, b, c)
        got = log_prob_of_rows(network, np.array([[a, b, c]], dtype=np.float64))
        assert np.exp(got[0]) == pytest.approx(expected)
    assert isinstance(network.factors[2], TreeFactor)
    assert set(network.factors[2].scope) == {0, 1, 2}


def test_a_markov_network_of_features_tables_and_trees_is_read(tmp_path: Path) -> None:
    network = read_libra(written(tmp_path, "a.mn", MARKOV))
    table = [[0.1, 0.3], [0.2, 0.4]]
    for a, b, c in all_rows(network.schema):
        tree = 0.7 if b == 0 else -0.2 if b == 1 else 0.9 if a == 0 else 0.0
        expected = 0.5 * (a == 1 and b != 2) - 1e-5 + 1.25 * (c == 1) - 2 * (a == 0 and c == 0)
        expected += table[int(a)][int(c)] + tree
        got = log_prob_of_rows(network, np.array([[a, b, c]], dtype=np.float64))
        assert got[0] == pytest.approx(expected)


def test_a_tree_may_ask_about_its_child_first_and_about_a_column_twice(tmp_path: Path) -> None:
    text = """3,2
BN {
v0 { table { -1.0986122886681098 +v0_0 -1.0986122886681098 +v0_1 -1.0986122886681098 +v0_2 } }
v1 { tree { (v1_0 (v0_0 -0.6931471805599453 (v0_1 -0.2231435513142097 -0.10536051565782628))
                  (v0_2 -2.3025850929940455 (v0_1 -1.6094379124341003 -0.6931471805599453))) } }
}
"""
    network = read_libra(written(tmp_path, "a.bn", text))
    for a, zero in enumerate([0.5, 0.8, 0.9]):
        rows = np.array([[a, 0.0], [a, 1.0]])
        np.testing.assert_allclose(np.exp(log_prob_of_rows(network, rows)) * 3, [zero, 1 - zero])


def test_features_may_be_a_distribution(tmp_path: Path) -> None:
    text = """2,2
BN {
v0 { -0.2231435513142097 +v0_0 -1.6094379124341003 +v0_1 }
v1 { features { -0.6931471805599453 +v0_0 -0.10536051565782628 +v0_1 +v1_1 -2.3025850929940455 +v0_1 -v1_1 } }
}
"""
    network = read_libra(written(tmp_path, "a.bn", text))
    got = np.exp(log_prob_of_rows(network, np.array(all_rows(network.schema))))
    np.testing.assert_allclose(got, [0.4, 0.4, 0.02, 0.18])


def assert_same_values(network: Network, back: Network) -> None:
    assert back.kind == network.kind
    assert back.schema.cardinalities.tolist() == network.schema.cardinalities.tolist()
    expected, got = enumerated(network), enumerated(back)
    np.testing.assert_array_equal(np.isneginf(got), np.isneginf(expected))
    some = ~np.isneginf(expected)
    np.testing.assert_allclose(got[some], expected[some], atol=1e-9)


@many
@given(network=networks("markov"))
def test_a_markov_network_comes_back(tmp_path: Path, network: Network) -> None:
    assert_same_values(network, read_libra(written(tmp_path, "a.mn", libra_text(network))))
    assert_same_values(network, read_uai(written(tmp_path, "a.uai", uai_text(network))))


@many
@given(network=networks("bayes"))
def test_a_bayesian_network_comes_back(tmp_path: Path, network: Network) -> None:
    assert_same_values(network, read_libra(written(tmp_path, "a.bn", libra_text(network))))
    assert_same_values(network, read_uai(written(tmp_path, "a.uai", uai_text(network))))


def test_a_learned_network_comes_back_with_all_its_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, [2, 3, 2, 4], (300, 4)).astype(np.float64)
    values[:, 3] = values[:, 0] + values[:, 1]
    table = tr.Table(discrete_schema([2, 3, 2, 4]), values)
    network = BayesianNetworkLearner().learn_with_extras(table, rng)[1]["network"]
    back = read_libra(written(tmp_path, "a.bn", libra_text(network)))
    got, expected = log_prob_of_rows(back, values), log_prob_of_rows(network, values)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert [type(f) for f in back.factors] == [TreeFactor] * 4


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("2,3,2", "2,x,2", "line 1: the first line must be the numbers of states"),
        ("BN {", "DN {", "line 2: a network must start with BN or MN, not 'DN'"),
        ("v2 { tree", "v7 { tree", "line 16: a column like v0 is expected, not 'v7'"),
        ("+v1_0 +v0_0", "+v1_0 +v0_5", "line 8: there is no column 0 with a state 5"),
        ("-inf +v1_0 +v0_1", "-3.0 +v1_0 +v0_1", "line 15: probabilities sum to 1.04979, not to 1"),
        ("    -inf +v1_0 +v0_1\n", "", "a table over 2 columns must have 6 distinct lines"),
        ("-inf +v1_0 +v0_1", "-inf +v1_0 -v0_1", "the lines of a table must name the same columns"),
        ("-inf +v1_0 +v0_1", "nan +v1_0 +v0_1", "line 11: 'nan' is not the logarithm of a finite number"),
        ("(v1_2", "(x1_2", "line 17: a test like v0_1 is expected, not 'x1_2'"),
        ("-2.3025850929940455)", "-2.3025850929940455 0.0)", "line 18: ')' is expected, not '0.0'"),
        ("} }\n}", "} }\n} v2", "line 22: the file goes on after the network"),
        ("v1 {", "v2 {", "line 15: the table of column v2 does not name it"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, fault: str) -> None:
    assert old in BAYES
    with pytest.raises(ValueError, match=re.escape(fault)):
        read_libra(written(tmp_path, "a.bn", BAYES.replace(old, new)))


@pytest.mark.parametrize("text", [BAYES, MARKOV], ids=["bn", "mn"])
def test_a_file_cut_anywhere_is_refused_with_one_line(tmp_path: Path, text: str) -> None:
    whole = text.rstrip()
    for size in range(0, len(whole), 3):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            read_libra(written(tmp_path, "a.bn", whole[:size]))


def feature_circuit() -> Graph:
    some = (
        FeatureFactor((0, 1), (1, 2), (True, False), 0.5),
        FeatureFactor((2,), (0,), (True,), -1.25e-5),
        FeatureFactor((1, 0), (2, 0), (True, True), 2.0),
        FeatureFactor((), (), (), 0.75),
    )
    return compile_network(Network(discrete_schema([2, 3, 2]), some, "markov"))


@pytest.mark.parametrize("suffix", [".mn", ".uai"])
def test_a_circuit_of_features_is_written_as_its_network(tmp_path: Path, suffix: str) -> None:
    graph, path = feature_circuit(), tmp_path / f"m{suffix}"
    tr.Circuit(graph).save(path)
    rows = np.array(all_rows(graph.schema))
    np.testing.assert_allclose(tr.load(path).log_prob(rows), tr.Circuit(graph).log_prob(rows), atol=1e-12)
    if suffix == ".mn":
        features = read_circuit(path).graph.features
        assert features is not None
        assert graph.features is not None
        np.testing.assert_array_equal(features.column, graph.features.column)
        np.testing.assert_array_equal(features.log_weight, graph.features.log_weight)


def test_features_over_the_same_columns_share_a_table() -> None:
    graph = feature_circuit()
    lines = uai_text(markov_network(graph)).splitlines()
    assert lines[3:7] == ["3", "2 0 1", "1 2", "0"]


@pytest.mark.parametrize("suffix", [".mn", ".uai"])
def test_a_small_circuit_without_features_is_written_as_one_table(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    table = tr.Table(discrete_schema([2, 3, 2]), rng.integers(0, [2, 3, 2], (50, 3)).astype(np.float64))
    graph = ChowLiuLearner().learn(table, rng)
    write_circuit(Document(graph), tmp_path / f"m{suffix}")
    circuit = tr.load(tmp_path / f"m{suffix}")
    rows = np.array(all_rows(graph.schema))
    np.testing.assert_allclose(circuit.log_prob(rows), tr.Circuit(graph).log_prob(rows), atol=1e-9)


def test_what_cannot_be_a_network_is_refused(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 2, (30, 24)).astype(np.float64)
    wide = ChowLiuLearner().learn(tr.Table(discrete_schema([2] * 24), values), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"m\.mn: .* no features to write, and one table .* 1\.68e\+07"):
        write_circuit(Document(wide), tmp_path / "m.mn")
    schema = Schema((Variable("height", "real"),))
    number = ChowLiuLearner().learn(tr.Table(schema, np.zeros((3, 1))), np.random.default_rng(0))
    with pytest.raises(ValueError, match="column 'height' is real"):
        write_circuit(Document(number), tmp_path / "m.uai")
    huge = Network(discrete_schema([2]), (TableFactor((0,), np.array([800.0, 0.0])),), "markov")
    with pytest.raises(ValueError, match="logarithm 800 cannot be represented"):
        WRITERS[".uai"](huge)
    assert list(tmp_path.iterdir()) == []


def test_names_and_provenance_stand_in_a_comment_behind_the_network(tmp_path: Path) -> None:
    schema = Schema(
        (Variable("höhe", "categorical", ("tief", "hoch")), Variable("b", "categorical", (0, 1, 2)))
    )
    features = (FeatureFactor((0, 1), (1, 2), (True, False), 0.5),)
    document = NetworkDocument(Network(schema, features, "markov"), {"learner": "l1-markov", "seed": 3})
    path = tmp_path / "named.mn"
    write_network_document(document, path)
    plain, comment = path.read_text().split("}\n# ")
    assert plain + "}\n" == libra_text(document.network)
    assert comment.startswith('tractable {"schema": [{"name": "höhe"')
    again = read_network_document(path)
    assert again.network.schema == schema
    assert again.about == document.about
    circuit = tr.load(path)
    assert circuit.about == {**document.about, "network": "markov"}
    assert circuit.prob({"höhe": "hoch"}) == pytest.approx((2 * np.exp(0.5) + 1) / (2 * np.exp(0.5) + 4))


def test_a_network_without_names_has_no_comment(tmp_path: Path) -> None:
    network = Network(discrete_schema([2, 2]), (FeatureFactor((0,), (1,), (True,), 0.5),), "markov")
    write_network_document(NetworkDocument(network), tmp_path / "plain.mn")
    assert (tmp_path / "plain.mn").read_text() == libra_text(network)


@pytest.mark.parametrize(
    ("comment", "fault"),
    [
        ("# tractable {", "not well formed"),
        ("# tractable []", "not an object"),
        ('# tractable {"about": 3}', "is not a dictionary"),
        ('# tractable {"schema": 3}', "not a list of columns"),
        ('# tractable {"schema": []}', "does not fit the numbers of states"),
    ],
)
def test_a_damaged_comment_is_refused(tmp_path: Path, comment: str, fault: str) -> None:
    path = tmp_path / "damaged.mn"
    path.write_text(f"{MARKOV}{comment}\n")
    for read in (read_network_document, tr.load):
        with pytest.raises(ValueError, match=rf"damaged\.mn: .*{fault}"):
            read(path)


def test_other_comments_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "noted.mn"
    path.write_text(f"{MARKOV}# made by hand\n")
    assert len(read_network_document(path).network.factors) == len(read_libra(path).factors) > 0


def test_a_network_too_large_to_compile_is_refused_with_the_way_to_approximate_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(network: Network, *_: object) -> Graph:
        return compile_network(network, limit=5)

    monkeypatch.setattr("tractable.formats.network_files.compile_network", too_large)
    (tmp_path / "large.mn").write_text(MARKOV)
    with pytest.raises(ValueError, match=r"large\.mn: compiling .* Gibbs sampling: tr\.MarkovNetwork\.load"):
        tr.load(tmp_path / "large.mn")
    with pytest.raises(ValueError, match="--approximate of `tractable query` and `tractable marginals`"):
        tr.load(tmp_path / "large.mn")
