"""How much is compiled before the first answer: few kernels, one signature each, none inside another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

QUESTIONS = {
    "log_prob": "queries.log_prob(graph, row)",
    "marginals": "queries.marginals(graph, row)",
    "sample": "engine.samples(graph, row[0], 3, 0)",
    "most probable": "engine.completions(graph, row)",
    "expected counts": "Expecter(graph).expectations(graph, np.ones((5, 8)), np.ones(5))",
    "hard counts": "Expecter(graph).expectations(graph, np.ones((5, 8)), np.ones(5), hard=True)",
}
MOST = {  # compilations of this package's functions by the first question of a kind, all others asked before
    "log_prob": 10,
    "marginals": 8,
    "sample": 6,
    "most probable": 0,
    "expected counts": 9,
    "hard counts": 3,
}
PROGRAM = f"""
import numpy as np
from numba.core import event
from tractable import engine, queries
from random_circuits import random_graph
from tractable.engine.expectations import Expecter

class Compilations(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, told):
        function = told.data["dispatcher"].py_func
        if function.__module__.startswith("tractable"):
            self.names.append(f"{{function.__module__}}.{{function.__name__}}")
    def on_end(self, told):
        pass

heard = Compilations()
event.register("numba:compile", heard)
graph = random_graph(np.random.default_rng(0), 8, 300)
row = np.full((1, 8), np.nan)
heard.names.clear()
for question in {list(QUESTIONS.values())!r}:
    eval(question)
    print(*heard.names)
    heard.names.clear()
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The functions that each question compiled, in a process whose cache is empty."""
    settings = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings)
    lines = done.stdout.split("\n")
    return {name: line.split() for name, line in zip(QUESTIONS, lines, strict=False)}


def test_no_question_compiles_more_than_it_needs(compiled: dict[str, list[str]]) -> None:
    assert {name: names for name, names in compiled.items() if len(names) > MOST[name]} == {}


def test_every_kernel_is_compiled_once(compiled: dict[str, list[str]]) -> None:
    every = [name for names in compiled.values() for name in names]
    assert len(every) > 5  # something was heard
    assert sorted(every) == sorted(set(every))


@pytest.mark.parametrize("idiom", ["np.sort(", "np.argsort(", "np.lexsort("])
def test_no_kernel_of_the_engine_sorts(idiom: str) -> None:
    folder = Path(__file__).parents[2] / "src" / "tractable" / "engine"
    for file in folder.glob("*.py"):
        text = file.read_text()
        if "@njit" in text or "@merged" in text or "@inlined" in text:
            assert idiom not in text, f"{file.name} sorts in a kernel's file, which takes seconds to compile"
