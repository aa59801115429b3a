"""What holds for every registered query, also for those that will be added."""

import pickle
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import tractable as tr
from tractable.base.threads import use_threads
from tractable.circuit import Builder, Graph
from tractable.circuit.states import graph_state
from tractable.data import Evidence, clinic
from tractable.queries import QUERIES, Column, Columns, Rows

every_query = pytest.mark.parametrize("name", QUERIES)
GROUPS = {"other": ["smoker"]}  # the columns of a second group


@pytest.fixture(scope="module")
def circuit() -> tr.Circuit:
    return tr.ChowLiuTree().fit(clinic(200)).circuit_


def function_of(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(QUERIES[name]), name)
    return function


def arguments(name: str, circuit: tr.Circuit) -> dict[str, Any]:
    """What a user may write for the parameters of a query that have no default."""
    examples = {
        Evidence: "lung_cancer=no",
        Column: "bronchitis",
        Columns: ["bronchitis", "x_ray"],
        Rows: clinic(5, random_state=1),
        Graph: tr.Independent().fit(clinic(200)).circuit_,
    }
    hints = get_type_hints(function_of(name), include_extras=True)
    asked = list(signature(function_of(name)).parameters.values())[1:]
    needed = [p.name for p in asked if p.default is Parameter.empty]
    return {p: GROUPS[p] if p in GROUPS and hints[p] == Columns else examples[hints[p]] for p in needed}


def answer(circuit: tr.Circuit, name: str, **changed: Any) -> bytes:
    return pickle.dumps(getattr(circuit, name)(**{**arguments(name, circuit), **changed}))


@every_query
def test_it_answers_the_same_for_a_saved_circuit_and_any_number_of_threads(
    name: str, circuit: tr.Circuit, tmp_path: Path
) -> None:
    expected = answer(circuit, name)
    circuit.save(tmp_path / "c.tract")
    assert answer(tr.load(tmp_path / "c.tract"), name) == expected
    assert answer(pickle.loads(pickle.dumps(circuit)), name) == expected
    for threads in (1, 3):
        with use_threads(threads):
            assert answer(circuit, name) == expected


@every_query
def test_it_leaves_the_circuit_as_it_is(name: str, circuit: tr.Circuit) -> None:
    before = pickle.dumps(graph_state(circuit.graph))
    answer(circuit, name)
    assert pickle.dumps(graph_state(circuit.graph)) == before


@every_query
def test_it_names_a_column_that_there_is_not_and_evidence_that_is_impossible(
    name: str, circuit: tr.Circuit
) -> None:
    builder = Builder(circuit.schema)
    builder.product([builder.indicator(column, 0) for column in range(len(circuit.schema))])
    certain = tr.Circuit(builder.freeze())
    mistakes = {Column: "nobody", Columns: ["nobody"], Evidence: "nobody=1"}
    for parameter, kind in get_type_hints(function_of(name), include_extras=True).items():
        if kind in mistakes:
            with pytest.raises(ValueError, match=r"\Athere is no column 'nobody'.*\Z"):
                answer(circuit, name, **{parameter: mistakes[kind]})
        if kind is Evidence:
            with pytest.raises(ValueError, match=r"\A.*probability zero.*\Z"):
                answer(certain, name, **{parameter: "lung_cancer=yes"})


@every_query
def test_it_refuses_a_circuit_that_is_not_valid(name: str, circuit: tr.Circuit) -> None:
    builder = Builder(circuit.schema)
    rest = [builder.indicator(column, 0) for column in range(2, len(circuit.schema))]
    uneven = builder.sum([builder.indicator(0, 0), builder.indicator(1, 0)], np.log([0.5, 0.5]))
    broken = tr.Circuit(builder.freeze(builder.product([uneven, *rest])))
    with pytest.raises(ValueError, match=r"over column 'smoker'.* is not"):
        answer(broken, name)


@every_query
def test_it_has_a_docstring(name: str) -> None:
    assert getdoc(function_of(name))
