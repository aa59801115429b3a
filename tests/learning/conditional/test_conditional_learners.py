"""What holds of every learner in the table of conditional learners."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.base.settings import search_space, settings_of
from tractable.circuit import Graph, is_valid_over
from tractable.cli import run
from tractable.data import Schema, Table, TableWarning, Variable
from tractable.learning.conditional import CONDITIONAL
from tractable.queries import log_prob, marginals

every_learner = pytest.mark.parametrize("name", list(CONDITIONAL))

QUICK: dict[str, dict[str, Any]] = {  # settings that are quick enough for many small tables
    "gaclearn": {"members": 2, "epochs": 30, "learning_rate": 0.02, "hidden": 20, "dropout": 0.0}
}

SCHEMA = Schema(
    (
        Variable("a", states=("no", "yes"), role="input"),
        Variable("b", states=("no", "yes"), role="input"),
        Variable("c", states=("x", "y", "z"), role="input"),
        Variable("u", states=("no", "yes")),
        Variable("v", states=("low", "mid", "high")),
        Variable("w", states=("no", "yes")),
    )
)


def schema_of(name: str) -> Schema:
    """All columns, or those without the targets u and w if a learner learns a single one."""
    kept = [0, 1, 2, 4] if CONDITIONAL[name].single_target else range(6)
    return Schema(tuple(SCHEMA[column] for column in kept))


def table(name: str, rows: int = 300, *, seed: int = 0, missing: float = 0.0) -> Table:
    """u copies a, v copies c, and w is u unless b; each mostly. Targets may be missing."""
    draw = np.random.default_rng(seed)
    a, b = draw.integers(2, size=(2, rows))
    c = draw.integers(3, size=rows)
    noise = draw.random((3, rows)) < 0.1
    u = np.where(noise[0], 1 - a, a)
    v = np.where(noise[1], draw.integers(3, size=rows), c)
    w = np.where(noise[2], draw.integers(2, size=rows), u ^ b)
    values = np.stack([a, b, c, u, v, w], axis=1).astype(np.float64)
    values[:, 3:][draw.random((rows, 3)) < missing] = np.nan
    schema = schema_of(name)
    return Table(schema, values[:, [SCHEMA.column(column) for column in schema.names]])


def learned(name: str, some: Table, valid: Table | None = None, watch: Watch | None = None) -> Graph:
    return CONDITIONAL[name](**QUICK.get(name, {})).learn(
        some, np.random.default_rng(0), valid=valid, watch=watch
    )


def mean(graph: Graph, some: Table) -> float:
    return float(log_prob(graph, some.values) @ some.row_weights / some.total_weight)


def every_input(schema: Schema) -> Floats:
    free = [np.nan] * schema.targets.size
    rows = [[a, b, c, *free] for a in range(2) for b in range(2) for c in range(3)]
    return np.array(rows, dtype=np.float64)


def assert_conditional(name: str, graph: Graph) -> None:
    schema = schema_of(name)
    assert graph.schema == schema
    assert is_valid_over(graph, schema.targets)
    found = marginals(graph, every_input(schema))
    for column in schema.targets.tolist():
        np.testing.assert_allclose(found[column].sum(axis=1), 1.0, atol=1e-9)


@every_learner
def test_the_result_is_a_conditional_distribution(name: str) -> None:
    assert_conditional(name, learned(name, table(name)))


@every_learner
def test_inputs_tell_more_than_the_targets_alone(name: str) -> None:
    train, test = table(name), table(name, 200, seed=5)
    alone = 0.0
    for column in train.schema.targets.tolist():
        shares = np.bincount(train.values[:, column].astype(int)) / len(train)
        alone += float(np.log(shares[test.values[:, column].astype(int)]).mean())
    assert mean(learned(name, train), test) > alone + (0.3 if len(train.schema.targets) == 1 else 0.8)


@every_learner
def test_the_same_seed_gives_the_same_circuit(name: str) -> None:
    one, other = learned(name, table(name)), learned(name, table(name))
    np.testing.assert_array_equal(one.child, other.child)
    np.testing.assert_array_equal(log_prob(one, table(name).values), log_prob(other, table(name).values))


@every_learner
def test_weighted_rows_stand_for_repeated_rows(name: str) -> None:
    some = table(name, 120)
    times = np.random.default_rng(3).integers(0, 4, len(some))
    weighted = Table(schema_of(name), some.values, times.astype(np.float64))
    repeated = Table(schema_of(name), np.repeat(some.values, times, axis=0))
    one, other = learned(name, weighted), learned(name, repeated)
    np.testing.assert_allclose(log_prob(one, some.values), log_prob(other, some.values), atol=1e-4)


@every_learner
def test_missing_targets_are_summed_out(name: str) -> None:
    graph = learned(name, table(name, missing=0.2))
    assert_conditional(name, graph)
    assert mean(graph, table(name, 200, seed=5)) > (-0.8 if len(graph.schema.targets) == 1 else -2.2)


@every_learner
def test_validation_rows_are_taken(name: str) -> None:
    assert_conditional(name, learned(name, table(name), valid=table(name, 60, seed=4)))


@every_learner
def test_validation_rows_without_any_target_are_not_used(name: str) -> None:
    inputs_only = table(name, 40, seed=4, missing=1.0)
    with pytest.warns(TableWarning, match="both a weight and a known target"):
        graph = learned(name, table(name), valid=inputs_only)
    assert mean(graph, table(name)) == mean(learned(name, table(name)), table(name))


@every_learner
def test_missing_inputs_are_refused_by_name(name: str) -> None:
    values = table(name).values.copy()
    values[7, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"column 'b', row 7 of the training table is missing.*joint learner"
    ):
        learned(name, Table(schema_of(name), values))
    with pytest.raises(ValueError, match="column 'b', row 7 of the validation table is missing"):
        learned(name, table(name), valid=Table(schema_of(name), values))


@every_learner
def test_tables_without_targets_or_inputs_are_refused(name: str) -> None:
    some = table(name)
    for columns, role in ((range(len(some.schema)), "input"), ((), "target")):
        with pytest.raises(ValueError, match=f"no column has the role '{role}'"):
            learned(name, Table(some.schema.with_targets(columns), some.values))
    with pytest.raises(ValueError, match="schema"):
        learned(name, some, valid=Table(some.schema.with_targets([2]), some.values))


@every_learner
def test_rows_that_weigh_nothing_and_a_single_row_give_a_distribution(name: str) -> None:
    assert_conditional(name, learned(name, Table(schema_of(name), table(name, 20).values, np.zeros(20))))
    assert_conditional(name, learned(name, table(name, 1)))


@every_learner
def test_without_time_there_still_is_a_model(name: str) -> None:
    assert_conditional(name, learned(name, table(name), watch=Watch(seconds=0.0)))


@every_learner
def test_reports_tell_stage_and_progress(name: str) -> None:
    told: list[Progress] = []
    learned(name, table(name), watch=Watch(told.append))
    assert told
    assert all(p.stage and p.done >= 0 and (p.total is None or p.done <= p.total) for p in told)


@every_learner
def test_settings_are_explained_and_some_are_searched(name: str) -> None:
    assert CONDITIONAL[name].name == name
    assert CONDITIONAL[name].title
    assert search_space(CONDITIONAL[name])
    for one in settings_of(CONDITIONAL[name]):
        assert one.text[0].isupper(), one.name
        assert one.text.endswith("."), one.name


@every_learner
def test_the_command_line_learns_conditional_models(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = schema_of(name)
    for file, some in (("train.csv", table(name, 150)), ("valid.csv", table(name, 60, seed=4))):
        cells = [[schema[c].states[int(x)] for c, x in enumerate(row)] for row in some.values]
        lines = [",".join(schema.names), *(",".join(map(str, row)) for row in cells)]
        Path(file).write_text("\n".join(lines) + "\n")
    targets = [schema[c].name for c in schema.targets.tolist()]
    command = ["learn", name, "train.csv", "--valid", "valid.csv", "--budget", "5m", "-o", "m.tract"]
    command += [f"--set={key}={value}" for key, value in QUICK.get(name, {}).items()]
    assert run([*command, "--targets", ",".join(targets), "--json", "--quiet"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["algorithm"], facts["targets"], facts["inputs"]) == (name, len(targets), 3)
    circuit = tr.load("m.tract")
    assert [v.name for v in circuit.schema if v.role == "input"] == ["a", "b", "c"]
    assert circuit.score(tr.read("valid.csv", schema=circuit.schema)) == pytest.approx(facts["valid_ll"])
    assert run([*command, "--quiet"]) == 2
    assert "name the columns to predict with --targets" in capsys.readouterr().err
    assert run(["learn", "chow-liu", "train.csv", "--targets", "v", "--quiet"]) == 2
    assert "--targets does not apply" in capsys.readouterr().err
    assert run(["learners", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["conditional_learners"]
    assert name in [one["name"] for one in listed]
