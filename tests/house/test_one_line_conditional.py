"""A new conditional learner is one file and one line: the example of its page passes the contract tests."""

from pathlib import Path

from one_line import TESTS, example_of, line_of, passed_with

CONTRACTS = TESTS / "learning" / "conditional" / "test_conditional_learners.py"


def test_the_contract_tests_pick_up_the_example_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "logistic.py").write_text(example_of("conditional-learner.md"))
    line = line_of("conditional-learner.md").replace("tractable.learning.conditional.logistic", "logistic")
    name, home = line.split(": ", 1)
    plugin = (
        "from tractable.base.settings import Home\nfrom tractable.learning.conditional import CONDITIONAL\n"
        f"CONDITIONAL.register({name}, {home})\n"
    )
    assert passed_with(tmp_path, plugin, [CONTRACTS], "logistic") >= 5
