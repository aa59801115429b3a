"""Random queries about random circuits, against brute force."""

from math import exp, fsum, inf, isnan

import numpy as np

from fuzz.brute_force import MOST_TREES, BruteForce
from fuzz.cases import Case
from fuzz.circuits import random_circuit, random_schema
from tractable import queries
from tractable.base.arrays import Floats
from tractable.circuit import Graph, condition, marginalise
from tractable.circuit.blocks import JointBlock
from tractable.data import Evidence, Interval, Region, States
from tractable.data.evidence import join_evidence
from tractable.data.schema import Schema, Variable
from tractable.formats import Document, read_circuit, write_circuit

CLOSE = 1e-8  # relative; logarithms of 1e5 and more keep ten digits


def run_answers(case: Case) -> str:
    """One circuit, some evidence, and every query about them."""
    rng = case.rng
    discrete = rng.random() < 0.5
    schema = random_schema(rng, ("categorical", "ordinal")) if discrete else random_schema(rng)
    graph = random_circuit(rng, schema)
    write_circuit(Document(graph), case.folder / "circuit.json")  # for whoever looks into a failure
    force = BruteForce(graph)
    if len(force.trees) > MOST_TREES:
        return "too large"
    given = _evidence_for(rng, schema, force)
    if force.log_value(nothing(schema)) == -inf:
        _must_refuse(graph, nothing(schema))
        return "zero everywhere"
    if force.log_value(given) == -inf:
        _must_refuse(graph, given)
        return "impossible evidence"
    asked = join_evidence(_evidence_for(rng, schema, force), given, schema)
    if asked is not None:
        compare_probability(graph, force, asked, given)
    compare_marginals(graph, force, given)
    check_samples(graph, force, given, int(rng.integers(1 << 30)))
    check_completion(graph, force, given)
    compare_transforms(rng, graph, force, given)
    compare_files(rng, graph, case)
    if discrete:
        compare_information(rng, graph, force, given)
        return "discrete"
    return "mixed, joint leaves" if graph.blocks_of(JointBlock) else "mixed"


def nothing(schema: Schema) -> Evidence:
    """No evidence."""
    return Evidence(np.full(len(schema), np.nan), {})


def random_evidence(rng: np.random.Generator, schema: Schema) -> Evidence:
    """Values, regions or nothing about each column; at times far out."""
    row = np.full(len(schema), np.nan)
    regions: dict[int, Region] = {}
    for c, variable in enumerate(schema):
        choice = rng.random()
        if choice < 0.3:
            row[c] = _value(rng, variable)
        elif choice < 0.5 and variable.is_categorical:
            allowed = rng.random(variable.cardinality) < 0.6
            allowed[rng.integers(variable.cardinality)] = True
            if allowed.sum() > 1:
                regions[c] = States(allowed)
        elif choice < 0.5:
            ends = sorted([_value(rng, variable), _value(rng, variable)])
            ends[0] = -inf if rng.random() < 0.2 else ends[0]
            ends[1] = inf if rng.random() < 0.2 else ends[1]
            if ends[0] < ends[1]:
                regions[c] = Interval(*ends)
    return Evidence(row, regions)


def _evidence_for(rng: np.random.Generator, schema: Schema, force: BruteForce) -> Evidence:
    """Random evidence; of columns in joint leaves brute force knows values alone, and no intervals."""
    evidence = random_evidence(rng, schema)
    kept = {c: r for c, r in evidence.regions.items() if schema[c].name not in force.joint_names}
    return Evidence(evidence.row, kept)


def _value(rng: np.random.Generator, variable: Variable) -> float:
    if variable.is_categorical:
        return float(rng.integers(variable.cardinality))
    value = float(rng.normal(scale=rng.choice([1.0, 5.0, 5.0, 1e3])))
    if variable.kind == "count":
        value = abs(value)
    return float(np.rint(value)) if variable.is_whole else value


def _must_refuse(graph: Graph, given: Evidence) -> None:
    try:
        found = queries.marginals(graph, given.row[None, :], given.regions)
    except ValueError:
        return
    raise AssertionError(f"impossible evidence was answered: {found}")


def assert_close(found: float, expected: float, what: str) -> None:
    """Two numbers agree to the digits that there are; NaN agrees with nothing."""
    same = found == expected or abs(found - expected) <= CLOSE * (1.0 + abs(expected))
    if not same:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def assert_same_log(found: float, expected: float, what: str) -> None:
    """Two log-probabilities agree; those of what hardly ever happens may both be lost in a mean."""
    if not (found < -700 and expected < -700):
        assert_close(found, expected, what)


def compare_probability(graph: Graph, force: BruteForce, asked: Evidence, given: Evidence) -> None:
    """P(asked), and P(asked | given)."""
    total = nothing(graph.schema)
    assert_close(
        float(queries.log_prob(graph, asked.row[None, :], asked.regions)[0]),
        force.log_prob(asked, total),
        "P(asked)",
    )
    assert_close(
        queries.evidence_log_prob(graph, asked, given), force.log_prob(asked, given), "P(asked | given)"
    )


def compare_marginals(graph: Graph, force: BruteForce, given: Evidence) -> None:
    """The posterior of every column."""
    found = queries.marginals(graph, given.row[None, :], given.regions)
    for c, variable in enumerate(graph.schema):
        if variable.is_categorical:
            for (state,), log in force.states(given, [c]).items():
                assert_close(float(found[c][0, int(state)]), exp(log), f"P({variable.name}={state})")
        else:
            mean = force.mean(c, given)
            assert abs(float(found[c][0, 0]) - mean) <= 1e-6 * (1 + abs(mean)), f"mean of {variable.name}"
            assert found[c][0, 1] >= 0


def _agrees(row: Floats, given: Evidence) -> bool:
    for c, value in enumerate(row):
        region = given.regions.get(c)
        if not isnan(given.row[c]) and value != given.row[c]:
            return False
        if isinstance(region, States) and not region.allowed[int(value)]:
            return False
        if isinstance(region, Interval) and not region.low <= value <= region.high:
            return False
    return True


def check_samples(graph: Graph, force: BruteForce, given: Evidence, seed: int) -> None:
    """Drawn rows agree with the evidence and are possible."""
    for row in queries.sample(graph, 20, given, seed):
        assert not np.isnan(row).any(), f"a drawn row lacks a value: {row}"
        assert _agrees(row, given), f"the drawn row {row} contradicts the evidence"
        assert force.log_value(Evidence(row, {})) > -inf, f"the drawn row {row} is impossible"


def check_completion(graph: Graph, force: BruteForce, given: Evidence) -> None:
    """A completion agrees with the evidence, and none is better if it says so."""
    found = queries.most_probable(graph, given.row[None, :], given.regions)
    row = found.rows[0]
    assert _agrees(row, given), f"the completion {row} contradicts the evidence"
    log = force.log_value(Evidence(row, {}))
    if all(v.is_categorical for v in graph.schema):
        logs = [
            force.log_value(Evidence(np.array(full), {}))
            for full in force.states(nothing(graph.schema), list(range(len(graph.schema))))
            if _agrees(np.array(full), given)
        ]
        best = max(logs)
        assert log <= best + CLOSE * (1 + abs(best))
        if found.exact[0]:
            assert_close(log, best, "the most probable completion")
    elif found.exact[0]:
        for drawn in queries.sample(graph, 20, given, 0):
            other = force.log_value(Evidence(drawn, {}))
            assert other <= log + CLOSE * (1 + abs(log)), f"{drawn} is more probable than {row}"


def compare_transforms(rng: np.random.Generator, graph: Graph, force: BruteForce, given: Evidence) -> None:
    """Circuits of what is left after evidence, and after summing out."""
    schema = graph.schema
    values = Evidence(given.row, {})
    rest = condition(graph, values.row, normalised=True)
    kept = schema.columns(rest.schema.names)
    asked = _evidence_for(rng, rest.schema, force)
    whole = Evidence(values.row.copy(), {kept[c]: r for c, r in asked.regions.items()})
    whole.row[kept] = asked.row
    expected = force.log_prob(whole, values)
    found = float(queries.log_prob(rest, asked.row[None, :], asked.regions)[0])
    assert_same_log(found, expected, "after conditioning")
    keep = [c for c in range(len(schema)) if rng.random() < 0.6]
    part = marginalise(graph, keep)
    asked = _evidence_for(rng, part.schema, force)
    whole = Evidence(np.full(len(schema), np.nan), {keep[c]: r for c, r in asked.regions.items()})
    whole.row[keep] = asked.row
    if len(part.schema):
        found = float(queries.log_prob(part, asked.row[None, :], asked.regions)[0])
        assert_same_log(found, force.log_prob(whole, nothing(schema)), "after summing out")


def compare_files(rng: np.random.Generator, graph: Graph, case: Case) -> None:
    """The circuit comes back from a file as it was."""
    suffix = str(rng.choice([".tract", ".json"]))
    write_circuit(Document(graph), case.folder / f"again{suffix}")
    back = read_circuit(case.folder / f"again{suffix}").graph
    assert back.schema == graph.schema
    rows = np.array([random_evidence(rng, graph.schema).row for _ in range(5)])
    np.testing.assert_array_equal(queries.log_prob(back, rows), queries.log_prob(graph, rows))


def compare_information(rng: np.random.Generator, graph: Graph, force: BruteForce, given: Evidence) -> None:
    """Entropy, mutual information and divergence."""
    everything = list(range(len(graph.schema)))
    logs = force.states(given, everything)
    expected = -fsum(exp(log) * log for log in logs.values() if log > -inf)
    assert_close(queries.entropy(graph, given, everything).value, expected, "entropy")
    if len(everything) > 1:
        one, other = everything[:1], everything[1:]
        first, second = force.states(given, one), force.states(given, other)
        shared = fsum(
            exp(log) * (log - first[key[:1]] - second[key[1:]]) for key, log in logs.items() if log > -inf
        )
        found = queries.mutual_information(graph, one, other, given).value
        assert_close(found, max(0.0, shared), "mutual information")
    twin = random_circuit(rng, graph.schema)
    enemy = BruteForce(twin)
    if len(enemy.trees) <= MOST_TREES and enemy.log_value(nothing(graph.schema)) > -inf:
        _compare_divergence(graph, twin, force, enemy)


def _compare_divergence(graph: Graph, twin: Graph, force: BruteForce, enemy: BruteForce) -> None:
    everything = list(range(len(graph.schema)))
    p, q = (one.states(nothing(graph.schema), everything) for one in (force, enemy))
    seen = [key for key, log in p.items() if log > -inf]
    impossible = any(q[key] == -inf for key in seen)
    expected = inf if impossible else max(0.0, fsum(exp(p[key]) * (p[key] - q[key]) for key in seen))
    assert_close(queries.divergence(graph, twin).value, expected, "divergence")
