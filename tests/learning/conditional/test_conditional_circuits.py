"""Conditional circuits against enumeration: every question about targets, for every row of inputs."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import conditional_circuits

from tractable import Circuit, load, mixture, queries
from tractable.base.arrays import Floats
from tractable.circuit import Builder, Graph, is_decomposable, is_smooth, is_valid_over
from tractable.data import Schema, TableWarning, Variable
from tractable.formats import Document, read_circuit, write_circuit

many = settings(max_examples=40)


class Given(NamedTuple):
    """A row of inputs, and all rows that have it with their probabilities."""

    row: Floats  # (columns,) NaN at the targets
    rows: Floats  # (completions, columns)
    probs: Floats  # (completions,); empty if the inputs are impossible

    @property
    def is_possible(self) -> bool:
        return self.probs.size > 0


def every_input(graph: Graph) -> Iterator[Given]:
    schema = graph.schema
    for values in itertools.product(*(range(schema[c].cardinality) for c in schema.inputs)):
        row = np.full(len(schema), np.nan)
        row[schema.inputs] = values
        rows = np.array([r for r in oracle.all_rows(schema) if (np.array(r)[schema.inputs] == values).all()])
        logs = [oracle.log_value(graph, r) for r in rows]
        total = oracle.log_sum(logs)
        yield Given(row, rows, np.exp(np.array(logs) - total) if total > -math.inf else np.zeros(0))


def possible(graph: Graph) -> list[Given]:
    return [one for one in every_input(graph) if one.is_possible]


@given(conditional_circuits())
@many
def test_log_probabilities_are_of_targets_given_inputs(graph: Graph) -> None:
    assert is_valid_over(graph, graph.schema.targets)
    for one in every_input(graph):
        if not one.is_possible:
            with pytest.raises(ValueError, match="probability zero"):
                queries.log_prob(graph, one.rows)
            continue
        np.testing.assert_allclose(np.exp(queries.log_prob(graph, one.rows)), one.probs, atol=1e-9)
    some = possible(graph)
    if some:  # all rows in one call, each divided by its own partition function
        rows = np.concatenate([one.rows for one in some])
        logs = queries.log_prob(graph, rows)
        np.testing.assert_allclose(np.exp(logs), np.concatenate([one.probs for one in some]), atol=1e-9)


@given(conditional_circuits(), st.data())
@many
def test_missing_targets_are_summed_out(graph: Graph, data: st.DataObject) -> None:
    hidden = data.draw(st.sets(st.sampled_from(graph.schema.targets.tolist())))
    for one in possible(graph):
        rows = one.rows.copy()
        rows[:, list(hidden)] = np.nan
        same = [(np.isnan(r) | (one.rows == r)).all(axis=1) for r in rows]
        expected = [one.probs[alike].sum() for alike in same]
        np.testing.assert_allclose(np.exp(queries.log_prob(graph, rows)), expected, atol=1e-9)


@given(conditional_circuits())
@many
def test_marginals_of_many_rows_of_inputs_at_once(graph: Graph) -> None:
    some = possible(graph)
    if not some:
        return
    circuit = Circuit(graph, {"frame": "numpy"})
    found = circuit.marginals(rows=np.array([one.row for one in some]))
    assert list(found) == [graph.schema[int(c)].name for c in graph.schema.targets]
    for c in graph.schema.targets.tolist():
        states = graph.schema[c].cardinality
        expected = [[one.probs[one.rows[:, c] == k].sum() for k in range(states)] for one in some]
        np.testing.assert_allclose(found[graph.schema[c].name], expected, atol=1e-9)


@given(conditional_circuits(), st.data())
@many
def test_joint_marginals_of_targets_also_given_some_of_them(graph: Graph, data: st.DataObject) -> None:
    some = possible(graph)
    if not some:
        return
    targets = graph.schema.targets.tolist()
    columns = data.draw(st.permutations(targets))[: data.draw(st.integers(0, len(targets)))]
    names = [graph.schema[c].name for c in columns]
    rows, expected = [], []
    for one in some:
        row = one.row.copy()
        seen = one.rows[int(one.probs.argmax())]
        for c in data.draw(st.sets(st.sampled_from(targets))):
            row[c] = seen[c]
        agree = (np.isnan(row) | (one.rows == row)).all(axis=1)
        table = np.zeros([graph.schema[c].cardinality for c in columns])
        for r, p in zip(one.rows[agree], one.probs[agree], strict=True):
            table[tuple(int(r[c]) for c in columns)] += p
        rows.append(row)
        expected.append(table / table.sum())
    circuit = Circuit(graph, {"frame": "numpy"})
    np.testing.assert_allclose(circuit.joint_marginal(names, rows=np.array(rows)), expected, atol=1e-9)
    evidence = {graph.schema[c].name: int(x) for c, x in enumerate(rows[0]) if not np.isnan(x)}
    np.testing.assert_allclose(circuit.joint_marginal(names, evidence), expected[0], atol=1e-9)
    if columns:
        terms = [p * math.log(p) for p in np.ravel(expected[0]) if p > 0]
        assert circuit.entropy(names, evidence).value == pytest.approx(-sum(terms), abs=1e-9)


@given(conditional_circuits())
@many
def test_the_most_probable_targets_are_found_for_each_row(graph: Graph) -> None:
    some = possible(graph)
    if not some:
        return
    for method in ("auto", "exact"):
        found = queries.most_probable(graph, np.array([one.row for one in some]), method=method)
        assert found.exact.all()
        best = np.exp(queries.log_prob(graph, found.rows))
        np.testing.assert_allclose(best, [one.probs.max() for one in some], atol=1e-9)
    guess = queries.most_probable(graph, np.array([one.row for one in some]), method="max-product")
    proved = np.exp(queries.log_prob(graph, guess.rows))[guess.exact]
    expected = np.array([one.probs.max() for one in some])[guess.exact]
    np.testing.assert_allclose(proved, expected, atol=1e-9)


@given(conditional_circuits())
@many
def test_conditioning_on_all_inputs_gives_an_ordinary_circuit(graph: Graph) -> None:
    circuit = Circuit(graph)
    for one in possible(graph)[:4]:
        inputs = {graph.schema[int(c)].name: int(one.row[c]) for c in graph.schema.inputs}
        ordinary = circuit.condition(inputs)
        assert {v.role for v in ordinary.schema} <= {"target"}
        assert is_smooth(ordinary.graph)
        assert is_decomposable(ordinary.graph)
        logs = ordinary.log_prob(one.rows[:, graph.schema.targets])
        np.testing.assert_allclose(np.exp(logs), one.probs, atol=1e-9)


@given(conditional_circuits(), st.data())
@many
def test_conditioning_on_a_target_leaves_a_conditional_circuit(graph: Graph, data: st.DataObject) -> None:
    if graph.schema.targets.size < 2:
        return
    target = data.draw(st.sampled_from(graph.schema.targets.tolist()))
    rest = [c for c in range(len(graph.schema)) if c != target]
    part = Circuit(graph).condition({graph.schema[target].name: 0}).graph
    for one in possible(graph)[:4]:
        agree = one.rows[:, target] == 0
        total = one.probs[agree].sum()
        if total > 1e-12:
            logs = queries.log_prob(part, one.rows[agree][:, rest])
            np.testing.assert_allclose(np.exp(logs), one.probs[agree] / total, atol=1e-9)


@given(conditional_circuits())
@settings(max_examples=6)
def test_draws_for_rows_of_inputs_follow_their_distributions(graph: Graph) -> None:
    some = possible(graph)[:2]
    if not some:
        return
    count = 3000
    rows = queries.sample_rows(graph, np.array([one.row for one in some]), count, seed=1)
    for i, one in enumerate(some):
        mine = rows[i * count : (i + 1) * count]
        shares = np.array([(mine == r).all(axis=1).mean() for r in one.rows])
        assert np.abs(shares - one.probs).max() < 0.05


@given(conditional_circuits(zeros=False, regressions=False))  # a .ac file cannot hold e^-800
@settings(max_examples=20)
def test_files_keep_conditional_circuits_or_warn_that_roles_are_lost(graph: Graph) -> None:
    rows = np.concatenate([one.rows for one in possible(graph)] or [np.zeros((0, len(graph.schema)))])
    expected = queries.log_prob(graph, rows) if len(rows) else np.zeros(0)
    with _scratch() as folder:
        for suffix in (".tract", ".json"):
            write_circuit(Document(graph), folder / f"c{suffix}")
            back = read_circuit(folder / f"c{suffix}").graph
            assert back.schema == graph.schema
            np.testing.assert_array_equal(queries.log_prob(back, rows) if len(rows) else expected, expected)
        with pytest.warns(TableWarning, match="does not record that 'x"):
            write_circuit(Document(graph), folder / "c.ac")
        plain = load(folder / "c.ac")
        again = plain.conditional_on([f"x{c}" for c in graph.schema.inputs])
        if len(rows):
            np.testing.assert_allclose(queries.log_prob(again.graph, rows), expected, atol=1e-9)
        for suffix in (".dot", ".svg"):
            write_circuit(Document(graph), folder / f"c{suffix}")
            assert (folder / f"c{suffix}").stat().st_size


def _scratch() -> Any:
    from contextlib import contextmanager
    from tempfile import TemporaryDirectory

    @contextmanager
    def folder() -> Iterator[Path]:
        with TemporaryDirectory() as name:
            yield Path(name)

    return folder()


# ---- figure 4.2 -----------------------------------------------------------------------------------------

WEIGHTS = dict(zip(("f1", "f2", "f3", "f4", "f5"), (0.7, -0.4, 1.1, -0.9, 0.6), strict=True))


def figure() -> Graph:
    """Rooshenas 2017, figure 4.2: two targets, two inputs and five features, two sums over y1 below one."""
    names = ("x1", "x2", "y1", "y2")
    schema = Schema(tuple(Variable(n, states=(0, 1), role="input" if n < "y" else "target") for n in names))
    b = Builder(schema)
    theta = {name: b.constant(weight) for name, weight in WEIGHTS.items()}
    given = b.sum(  # the features f3 and f4 of y1 and y2, chosen by x1 without a copy of anything
        [b.product([b.indicator(0, 1), theta["f3"]]), b.product([b.indicator(0, 0), theta["f4"]])], [0, 0]
    )
    both = b.product([b.indicator(2, 1), theta["f1"], given])
    first = b.product([b.indicator(3, 1), theta["f2"], b.sum([both, b.indicator(2, 0)], [0, 0])])
    holds = b.product([b.indicator(0, 1), b.indicator(1, 1), theta["f5"]])
    fails = [b.indicator(0, 0), b.product([b.indicator(0, 1), b.indicator(1, 0)])]
    second = b.product(
        [
            b.indicator(3, 0),
            b.sum([holds, *fails], [0, 0, 0]),
            b.sum([b.indicator(2, 1), b.indicator(2, 0)], [0, 0]),
        ]
    )
    return b.freeze(b.sum([first, second], [0, 0]))


def random_field(x1: int, x2: int) -> Floats:
    """P(y1, y2 | x1, x2) from the features themselves."""
    logs = np.zeros((2, 2))
    for y1, y2 in itertools.product(range(2), repeat=2):
        holds = {
            "f1": y1 and y2,
            "f2": y2,
            "f3": y1 and y2 and x1,
            "f4": y1 and y2 and not x1,
            "f5": not y2 and x1 and x2,
        }
        logs[y1, y2] = sum(WEIGHTS[name] for name, held in holds.items() if held)
    return np.exp(logs) / np.exp(logs).sum()


def test_figure_4_2_is_the_conditional_random_field_of_its_features() -> None:
    graph = figure()
    assert is_valid_over(graph, [2, 3])
    assert not is_smooth(graph)
    circuit = Circuit(graph, {"frame": "numpy"})
    for x1, x2 in itertools.product(range(2), repeat=2):
        found = circuit.joint_marginal(["y1", "y2"], {"x1": x1, "x2": x2})
        np.testing.assert_allclose(found, random_field(x1, x2), atol=1e-12)
    assert circuit.properties.conditionally_valid
    assert "conditionally valid" in repr(circuit.properties)


# ---- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.prob({"x1": 1}),
        lambda c: c.prob({"x1": 1}, {"x2": 0}),
        lambda c: c.expectation("x1", {"x1": 1, "x2": 0}),
        lambda c: c.joint_marginal(["x1", "y1"], {"x1": 1, "x2": 0}),
        lambda c: c.entropy(["x1"], {"x1": 1, "x2": 0}),
        lambda c: c.mutual_information("y1", "x1", {"x1": 1, "x2": 0}),
        lambda c: c.divergence(c),
    ],
)
def test_questions_about_the_distribution_of_inputs_are_refused(ask: Any) -> None:
    with pytest.raises(ValueError, match="column 'x1' is an input of the circuit and has no distribution"):
        ask(Circuit(figure()))


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.prob({"y1": 1}, {"x2": 1}),
        lambda c: c.prob({"y1": 1}, {"x2": 1, "x1": {0, 1}}),
        lambda c: c.sample(2),
        lambda c: c.sample(2, rows=[{"x2": 1}]),
        lambda c: c.marginals(rows=[{"x2": 1, "y1": 0}]),
        lambda c: c.joint_marginal(["y1"], rows=[{"x2": 1}]),
        lambda c: c.score([{"x2": 1, "y1": 0, "y2": 1}]),
        lambda c: c.entropy(given={"x2": 1}),
    ],
)
def test_an_input_without_a_value_is_named(ask: Any) -> None:
    with pytest.raises(ValueError, match="column 'x1' is an input of the circuit: it must have a value"):
        ask(Circuit(figure(), {"frame": "numpy"}))


def test_inputs_are_neither_summed_out_nor_mixed() -> None:
    circuit = Circuit(figure())
    with pytest.raises(ValueError, match="column 'x2' is an input of the circuit and cannot be summed out"):
        circuit.marginalise(["x2"])
    with pytest.raises(ValueError, match="conditional circuits cannot be mixed"):
        mixture([circuit, circuit])


def test_a_joint_circuit_becomes_conditional() -> None:
    b = Builder(Schema((Variable("x", states=(0, 1)), Variable("y", states=(0, 1)))))
    parts = [b.product([b.indicator(0, s), b.leaf("bernoulli", 1, [o])]) for s, o in ((0, -2.0), (1, 1.0))]
    joint = Circuit(b.freeze(b.sum(parts, np.log([0.3, 0.7]))))
    conditional = joint.conditional_on("x")
    assert conditional.prob({"y": 1}, {"x": 1}) == pytest.approx(joint.prob({"y": 1}, {"x": 1}))
    assert conditional.log_prob({"x": 1, "y": 1}) == pytest.approx(joint.log_prob_of({"y": 1}, {"x": 1}))
    with pytest.raises(ValueError, match="'x' is an input"):
        conditional.prob({"y": 1})


def test_the_entropy_of_many_targets_given_inputs_is_exact_if_the_circuit_is_deterministic() -> None:
    variables = [Variable("x", states=(0, 1), role="input")]
    b = Builder(Schema((*variables, *(Variable(f"y{i}", states=(0, 1)) for i in range(24)))))
    odds = {0: 0.5, 1: -1.5}
    parts = [
        b.product([b.indicator(0, s), *(b.leaf("bernoulli", c, [odds[s]]) for c in range(1, 25))])
        for s in (0, 1)
    ]
    circuit = Circuit(b.freeze(b.sum(parts, [0.3, 2.0])))
    for state, odd in odds.items():
        p = 1 / (1 + math.exp(-odd))
        expected = -24 * (p * math.log(p) + (1 - p) * math.log(1 - p))
        assert circuit.entropy(given={"x": state}).value == pytest.approx(expected)


def test_states_that_an_input_never_had_are_refused_by_name() -> None:
    circuit = Circuit(figure(), {"frame": "numpy", "unseen": 0.01})
    with pytest.raises(
        ValueError, match="column 'x1', row 1: this state does not occur in the training rows"
    ):
        circuit.log_prob([{"x1": 0, "x2": 1, "y1": 1}, {"x1": 7, "x2": 1, "y1": 1}])
