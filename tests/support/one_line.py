"""Proofs that an addition is one file and one line: the example of a page, registered from outside."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).parents[1]
ADDING = TESTS.parent / "docs" / "adding"


def example_of(page: str) -> str:
    """The first Python block of a page of `docs/adding`: the file that it tells to add."""
    return re.findall(r"```python\n(.*?)```", (ADDING / page).read_text(), re.DOTALL)[0]


def line_of(page: str) -> str:
    """The line that a page tells to add to a table."""
    line: str = re.findall(r"```py\n(.*?),\n```", (ADDING / page).read_text(), re.DOTALL)[0]
    return line


def passed_with(folder: Path, plugin: str, contracts: Sequence[Path], keyword: str) -> int:
    """How many contract tests of a name pass in a process that runs a plugin, whose files are in a folder.

    Raises:
        AssertionError: with what pytest printed, if one fails.
    """
    (folder / "registering.py").write_text(plugin)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(TESTS), *sys.path])}
    command = [sys.executable, "-m", "pytest", "-p", "registering", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *map(str, contracts), "-k", keyword],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split(" passed")[0].split()[-1])
