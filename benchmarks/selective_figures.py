"""Draws the canonical selective networks over three columns that docs/selective.md shows.

Peharz, Gens and Domingos, «Learning Selective Sum-Product Networks», 2014, figures 1 and 2. Each function
builds one circuit; its weights are examples.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tractable.circuit import Builder, Graph
from tractable.data import Schema, Variable
from tractable.formats.pictures import svg_text

X, Y, Z = 0, 1, 2
FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


def schema(x_states: int = 2) -> Schema:
    """Three columns called X, Y and Z."""
    sizes = {"X": x_states, "Y": 2, "Z": 2}
    return Schema(
        tuple(
            Variable(name, "categorical", tuple(f"{name.lower()}{k + 1}" for k in range(size)))
            for name, size in sizes.items()
        )
    )


def mix(builder: Builder, children: Sequence[int], weights: Sequence[float]) -> int:
    """A sum."""
    return builder.sum(children, np.log(weights))


def marginal(builder: Builder, column: int, first: float) -> int:
    """A distribution of a column of two states."""
    return mix(builder, [builder.indicator(column, 0), builder.indicator(column, 1)], [first, 1 - first])


def decide(builder: Builder, column: int, below: Sequence[Sequence[int]], weights: Sequence[float]) -> int:
    """A sum over the states of a column, each with its factors."""
    branches = [builder.product([builder.indicator(column, k), *rest]) for k, rest in enumerate(below)]
    return mix(builder, branches, weights)


def empty_network() -> Graph:
    """Independent columns."""
    b = Builder(schema())
    return b.freeze(b.product([marginal(b, X, 0.3), marginal(b, Y, 0.6), marginal(b, Z, 0.8)]))


def common_parent() -> Graph:
    """X is the parent of Y and of Z, which are independent given X."""
    b = Builder(schema())
    below = [[marginal(b, Y, 0.9), marginal(b, Z, 0.2)], [marginal(b, Y, 0.3), marginal(b, Z, 0.7)]]
    return b.freeze(decide(b, X, below, [0.4, 0.6]))


def chain() -> Graph:
    """X, then Y, then Z: the states of Y with what follows them are shared by both states of X."""
    b = Builder(schema())
    after = [b.product([b.indicator(Y, k), marginal(b, Z, first)]) for k, first in enumerate((0.9, 0.2))]
    below = [[mix(b, after, [0.7, 0.3])], [mix(b, after, [0.1, 0.9])]]
    return b.freeze(decide(b, X, below, [0.4, 0.6]))


def full_network(weights: Sequence[float] = (0.4, 0.7, 0.1, 0.9, 0.2, 0.3, 0.6)) -> Graph:
    """Any distribution: the probabilities of the first states of X, of Y given X, and of Z given both."""
    b = Builder(schema())
    x, y, z = weights[0], weights[1:3], weights[3:]
    below = [
        [decide(b, Y, [[marginal(b, Z, z[2 * i])], [marginal(b, Z, z[2 * i + 1])]], [p, 1 - p])]
        for i, p in enumerate(y)
    ]
    return b.freeze(decide(b, X, below, [x, 1 - x]))


def head_to_head() -> Graph:
    """X and Y are the parents of Z, and independent of each other because two sums have equal weights."""
    return full_network((0.4, 0.7, 0.7, 0.9, 0.2, 0.3, 0.6))


def context_specific() -> Graph:
    """Y is the parent of Z if X has its first state; else they are independent."""
    b = Builder(schema())
    first = decide(b, Y, [[marginal(b, Z, 0.9)], [marginal(b, Z, 0.2)]], [0.7, 0.3])
    return b.freeze(decide(b, X, [[first], [marginal(b, Y, 0.4), marginal(b, Z, 0.5)]], [0.4, 0.6]))


def nested_multi_net() -> Graph:
    """Y is the parent of Z if X has its first state; else Z is the parent of Y."""
    b = Builder(schema())
    first = decide(b, Y, [[marginal(b, Z, 0.9)], [marginal(b, Z, 0.2)]], [0.7, 0.3])
    second = decide(b, Z, [[marginal(b, Y, 0.1)], [marginal(b, Y, 0.8)]], [0.5, 0.5])
    return b.freeze(decide(b, X, [[first], [second]], [0.4, 0.6]))


def state_partitions() -> Graph:
    """The second and the third state of X are told apart only where Y has its second state."""
    b = Builder(schema(3))
    x1, x2, x3 = (b.indicator(X, k) for k in range(3))
    together = b.product([b.indicator(Y, 0), mix(b, [x2, x3], [0.5, 0.5]), marginal(b, Z, 0.3)])
    apart = [b.product([x2, marginal(b, Z, 0.9)]), b.product([x3, marginal(b, Z, 0.1)])]
    second = b.product([b.indicator(Y, 1), mix(b, apart, [0.6, 0.4])])
    first = b.product([x1, marginal(b, Y, 0.2), marginal(b, Z, 0.6)])
    return b.freeze(mix(b, [first, mix(b, [together, second], [0.7, 0.3])], [0.4, 0.6]))


def shared_component() -> Graph:
    """One distribution of Z where X and Y have their first states, and another in all other contexts."""
    b = Builder(schema())
    shared = marginal(b, Z, 0.2)
    first = decide(b, Y, [[marginal(b, Z, 0.9)], [shared]], [0.7, 0.3])
    return b.freeze(decide(b, X, [[first], [marginal(b, Y, 0.4), shared]], [0.4, 0.6]))


FIGURES: dict[str, Callable[[], Graph]] = {
    "empty-network": empty_network,
    "common-parent": common_parent,
    "chain": chain,
    "full-network": full_network,
    "context-specific": context_specific,
    "nested-multi-net": nested_multi_net,
    "state-partitions": state_partitions,
    "shared-component": shared_component,
}


def main() -> None:
    """Write one picture for each circuit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in FIGURES.items():
        (folder / f"selective-{name}.svg").write_text(svg_text(make()), encoding="utf-8")


if __name__ == "__main__":
    main()
