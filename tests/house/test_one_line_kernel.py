"""A new compiled sweep is one file: the example of its page agrees with its slow twin, also interpreted."""

import importlib
import os
import subprocess
import sys
from math import exp
from pathlib import Path
from types import ModuleType

import numpy as np
import oracle
import pytest
from one_line import example_of
from random_circuits import random_graph

import tractable as tr
from tractable.circuit import Graph
from tractable.data import clinic

PRINT = "from random_circuits import random_graph\nimport example_kernel, numpy\n"
CALL = "example_kernel.log_trees(random_graph(numpy.random.default_rng({}), 4, 40))"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "example_kernel.py").write_text(example_of("kernel.md"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "example_kernel", raising=False)
    return importlib.import_module("example_kernel")


def small_graphs() -> list[Graph]:
    return [
        *(random_graph(np.random.default_rng(seed), 3, 20) for seed in range(4)),
        tr.ChowLiuTree().fit(clinic(300)).circuit_.graph,
    ]


def test_it_agrees_with_enumeration_and_has_one_signature(example: ModuleType) -> None:
    for graph in small_graphs():
        expected = len(oracle.induced_trees(graph))
        assert exp(example.log_trees(graph)) == pytest.approx(expected, rel=1e-9)
    assert len(example.count_trees.signatures) == 1


def test_interpreted_it_says_the_same(example: ModuleType) -> None:
    calls = [CALL.format(seed) for seed in range(3)]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    program = f"{PRINT}print(*[{', '.join(calls)}])"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    compiled = [example.log_trees(random_graph(np.random.default_rng(seed), 4, 40)) for seed in range(3)]
    assert [float(text) for text in done.stdout.split()] == pytest.approx(compiled, rel=1e-12)
