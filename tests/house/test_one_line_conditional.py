"""A new conditional learner is one file and one line: the example of its page passes the contract tests."""

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "adding" / "conditional-learner.md"
CONTRACTS = TESTS / "learning" / "conditional" / "test_conditional_learners.py"


def test_the_contract_tests_pick_up_the_example_of_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text()
    (module, *_) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (line,) = re.findall(r"```py\n(.*?),\n```", text, re.DOTALL)
    (tmp_path / "logistic.py").write_text(module)
    name, home = line.replace("tractable.learning.conditional.logistic", "logistic").split(": ", 1)
    (tmp_path / "logistic_plugin.py").write_text(
        "from tractable.base.settings import Home\nfrom tractable.learning.conditional import CONDITIONAL\n"
        f"CONDITIONAL.register({name}, {home})\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(TESTS), *sys.path])}
    command = [sys.executable, "-m", "pytest", "-p", "logistic_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(CONTRACTS), "-k", "logistic"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split(" passed")[0].split()[-1]) >= 5
