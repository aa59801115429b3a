"""Compiled functions: a cache that an older version of the package has left is ignored."""

import os
import subprocess
import sys
from pathlib import Path

from tractable.base.compiled import njit

SOURCE = """
from typing import NamedTuple
from tractable.base.compiled import njit

class {name}(NamedTuple):
    value: int

@njit(cache=True)
def double(pair):
    return 2 * pair.value

print(double({name}(21)))
"""


def run_script(folder: Path, name: str) -> str:
    script = folder / "kernels.py"
    script.write_text(SOURCE.format(name=name))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [folder, *sys.path]))}
    done = subprocess.run(
        [sys.executable, "-c", "import kernels"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_cache_that_names_a_class_that_is_gone_is_compiled_anew(tmp_path: Path) -> None:
    assert run_script(tmp_path, "Pair") == "42"
    assert list((tmp_path / "__pycache__").glob("*.nbi"))
    assert run_script(tmp_path, "Couple") == "42"


def test_all_kernels_use_the_decorator_of_the_package() -> None:
    package = Path(__file__).parents[2] / "src" / "tractable"
    others = [f for f in package.rglob("*.py") if f.name != "compiled.py" and "from numba" in f.read_text()]
    assert not others
    assert njit is not None
