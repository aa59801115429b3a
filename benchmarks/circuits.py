"""The random circuits of the tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from random_circuits import random_graph

__all__ = ["random_graph"]
