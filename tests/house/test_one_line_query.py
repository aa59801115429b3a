"""A new query is one file and one line: the example of its page is a method and passes the contract tests."""

import sys
from pathlib import Path

import pytest
from one_line import TESTS, example_of, line_of, passed_with

import tractable as tr
from tractable.data import clinic
from tractable.queries import QUERIES

NAME, MODULE = (text.strip('"') for text in line_of("query.md").split(": "))


def test_it_is_a_method_that_takes_what_users_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = tr.ChowLiuTree().fit(clinic(300)).circuit_
    with pytest.raises(AttributeError, match="'Circuit' object has no attribute 'odds'"):
        _ = circuit.odds  # type: ignore[attr-defined]
    (tmp_path / "example_query.py").write_text(example_of("query.md"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(QUERIES, NAME, "example_query")
    ask = getattr(circuit, NAME)
    assert f"tractable.queries.{NAME}" == MODULE
    for given in (None, "smoker=yes", {"smoker": "yes"}):
        p = circuit.prob("bronchitis=yes", given)
        assert ask("bronchitis", given) == pytest.approx(p / (1 - p))
        assert ask(column="bronchitis", given=given) == ask("bronchitis", given)
    with pytest.raises(TypeError, match="column"):
        ask(given="smoker=yes")
    sys.modules.pop("example_query")


def test_the_contract_tests_pick_it_up(tmp_path: Path) -> None:
    (tmp_path / "example_query.py").write_text(example_of("query.md"))
    plugin = f"from tractable.queries import QUERIES\nQUERIES[{NAME!r}] = 'example_query'\n"
    assert passed_with(tmp_path, plugin, [TESTS / "queries" / "test_query_contract.py"], NAME) >= 5
