"""Circuits with provenance that are written to files, and when two are the same."""

from typing import Any

import numpy as np

from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema, discrete_schema
from tractable.networks import FeatureFactor, Network, compile_network

ABOUT = {
    "learner": "learnspn",
    "settings": {"min_rows": 50, "threshold": 0.1, "names": ["a", "b"], "depth": None},
    "seed": 7,
    "frame": "pandas",
}


FEATURE_ARRAYS = ("node", "log_weight", "start", "column", "state", "equals")


def typed_schema(schema: Schema) -> list[Any]:
    return [(v.name, v.kind, v.role, [(type(s), s) for s in v.states]) for v in schema]


def leaves(graph: Graph) -> dict[int, tuple[str, int, list[float]]]:
    return {
        int(node): (block.name, int(column), params.tolist())
        for block in graph.blocks
        if block.section == "leaf"
        for node, column, params in zip(*block.arrays.values(), strict=True)
    }


def assert_same_features(first: FeatureTable | None, second: FeatureTable | None) -> None:
    assert (first is None) == (second is None)
    if first is not None:
        for name in FEATURE_ARRAYS:
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
            assert getattr(first, name).dtype == getattr(second, name).dtype


def assert_same_graph(first: Graph, second: Graph) -> None:
    assert typed_schema(first.schema) == typed_schema(second.schema)
    for name in ("kind", "start", "child", "log_weight"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        assert getattr(first, name).dtype == getattr(second, name).dtype
    assert leaves(first) == leaves(second)
    assert_same_features(first.features, second.features)


def small_network() -> Graph:
    """A compiled Markov network with a feature table, one feature of which has no leaf."""
    some = (
        FeatureFactor((0, 1), (1, 2), (True, False), 0.5),
        FeatureFactor((2,), (0,), (True,), -1.25e-5),
        FeatureFactor((1, 1), (0, 1), (True, True), 2.0),
        FeatureFactor((), (), (), 0.75),
    )
    return compile_network(Network(discrete_schema([2, 3, 2]), some, "markov"))
