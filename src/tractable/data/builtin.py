"""Built-in tables for examples and tests."""

from collections.abc import Callable

import numpy as np

from tractable.base.arrays import Floats
from tractable.data.grid import with_grid
from tractable.data.schema import Schema, Variable
from tractable.data.states import State
from tractable.data.table import Table


def digits() -> Table:
    """1,797 handwritten digits: 64 binary pixels `pixel_r_c` and the class `digit`."""
    from sklearn.datasets import load_digits

    images, digit = load_digits(return_X_y=True)
    names = [f"pixel_{i // 8}_{i % 8}" for i in range(64)]
    pixels = tuple(Variable(name, "categorical", (0, 1)) for name in names)
    schema = with_grid(Schema((*pixels, Variable("digit", "categorical", tuple(range(10))))), (8, 8))
    return Table(schema, np.column_stack([images > 8, digit]).astype(np.float64))


def breast_cancer() -> Table:
    """569 tumours: thirty real measurements and the `diagnosis`, malignant or benign."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    measured = tuple(Variable(str(name).replace(" ", "_"), "real") for name in data.feature_names)
    states = tuple(str(name) for name in data.target_names)
    schema = Schema((*measured, Variable("diagnosis", "categorical", states)))
    return Table(schema, np.column_stack([data.data, data.target]))


# variable -> (states, parents, a line of probabilities for each setting of the parents, the last fastest)
_Node = tuple[tuple[State, ...], tuple[str, ...], list[list[float]]]
_CLINIC: dict[str, _Node] = {
    "age": (("under 40", "40-60", "over 60"), (), [[0.35, 0.4, 0.25]]),
    "smoker": (("no", "yes"), ("age",), [[0.72, 0.28], [0.76, 0.24], [0.85, 0.15]]),
    "dusty_work": (("no", "yes"), ("age",), [[0.93, 0.07], [0.88, 0.12], [0.82, 0.18]]),
    "bronchitis": (
        ("no", "yes"),
        ("smoker", "dusty_work"),
        [[0.93, 0.07], [0.8, 0.2], [0.68, 0.32], [0.5, 0.5]],
    ),
    "lung_cancer": (
        ("no", "yes"),
        ("age", "smoker"),
        [[0.999, 0.001], [0.99, 0.01], [0.995, 0.005], [0.95, 0.05], [0.985, 0.015], [0.88, 0.12]],
    ),
    "cough": (
        ("none", "some", "heavy"),
        ("bronchitis", "lung_cancer"),
        [[0.8, 0.17, 0.03], [0.3, 0.4, 0.3], [0.15, 0.45, 0.4], [0.05, 0.35, 0.6]],
    ),
    "x_ray": (("clear", "shadow"), ("lung_cancer",), [[0.95, 0.05], [0.08, 0.92]]),
    "short_breath": (
        ("no", "yes"),
        ("bronchitis", "lung_cancer"),
        [[0.9, 0.1], [0.4, 0.6], [0.35, 0.65], [0.12, 0.88]],
    ),
}


def clinic(rows: int = 2000, random_state: int | None = 0, *, missing: float = 0.0) -> Table:
    """Visitors of a fictional lung clinic, sampled from a Bayesian network of eight columns with text states.

    Each cell is missing with probability `missing`.
    """
    rng = np.random.default_rng(random_state)
    schema = Schema(tuple(Variable(name, "categorical", node[0]) for name, node in _CLINIC.items()))
    drawn: dict[str, Floats] = {}
    for name, (_, parents, lines) in _CLINIC.items():
        line = np.zeros(rows, dtype=np.int64)
        for parent in parents:
            line = line * len(_CLINIC[parent][0]) + drawn[parent].astype(np.int64)
        below = np.cumsum(lines, axis=1)[line, :-1]
        drawn[name] = (rng.random((rows, 1)) > below).sum(axis=1).astype(np.float64)
    values = np.column_stack(list(drawn.values()))
    values[rng.random(values.shape) < missing] = np.nan
    return Table(schema, values)


BUILTIN: dict[str, Callable[[], Table]] = {"digits": digits, "breast_cancer": breast_cancer, "clinic": clinic}
