"""Mixtures whose components have one shape, as arrays: the shape of the components is stored once.

There are the arrays of a template (see `circuit/shapes.py`), the log-weights of its sums with a column for
each component, and the log-weights of the mixture.
"""

from typing import Any

import numpy as np

from tractable.base.arrays import AnyArray, Floats, Ints
from tractable.base.named_arrays import NamedArrays, require_array, require_names
from tractable.circuit.blocks import Layout, leaf_block
from tractable.circuit.check import is_partition
from tractable.circuit.graph import SUM, Graph, Shape
from tractable.circuit.shapes import Template, root_weights, template
from tractable.data.schema import Schema

SHAPE: Layout = {
    "first": (np.int64, 1), "step": (np.int64, 1), "kind": (np.uint8, 1), "start": (np.int64, 1),
    "child": (np.int64, 1), "block": (np.int64, 1), "column": (np.int64, 1),
    "weight": (np.float64, 2), "root": (np.float64, 1),
}  # fmt: skip


def shape_arrays(graph: Graph, shape: Shape) -> NamedArrays:
    """The arrays of a mixture whose components have one shape."""
    one = template(graph, shape)
    weight = graph.log_weight[one.edges(graph.start)[one.kind[one.parent] == SUM]]
    arrays: NamedArrays = {f"shape.{name}": getattr(one, name) for name in one._fields[1:]}
    arrays |= {"shape.first": shape.first, "shape.step": shape.step}
    arrays |= {"shape.weight": weight, "shape.root": root_weights(graph)}
    return arrays | {f"leaf.{i}.params": block.arrays["params"] for i, block in enumerate(graph.blocks)}


def decode_shape(families: list[Any], stored: NamedArrays, schema: Schema) -> Graph:
    """The circuit whose arrays were stored, with the names of its blocks of leaves.

    Raises:
        ValueError: naming what is wrong.
    """
    names = [f"leaf.{number}.params" for number in range(len(families))]
    require_names(stored, {*(f"shape.{name}" for name in SHAPE), *names})
    arrays = {name: require_array(stored, f"shape.{name}", *kind) for name, kind in SHAPE.items()}
    params = [require_array(stored, name, np.float64, 2) for name in names]
    node, size = _nodes(arrays["first"], arrays["step"], arrays["root"].size)
    one = Template(node, *(arrays[name] for name in Template._fields[1:]))
    weighted = _check_template(one, arrays["weight"])
    degree, kind, block, column = np.full((4, size), -1)
    fields: tuple[AnyArray, ...] = (np.diff(one.start), one.kind, one.block, one.column)
    for array, values in zip((degree, kind, block, column), fields, strict=True):
        array[node] = values[:, None]
    degree[-1], kind[-1] = node.shape[1], SUM
    if (kind < 0).any():
        raise ValueError("the nodes of the shape do not stand for each node once")
    start = np.concatenate([[0], np.cumsum(degree)])
    child, weight = np.zeros(start[-1], dtype=np.int64), np.zeros(start[-1])
    edges = one.edges(start)
    child[edges], weight[edges[weighted]] = node[one.child], arrays["weight"]
    child[start[-2] :], weight[start[-2] :] = node[-1], arrays["root"]
    places = [np.flatnonzero(block == number) for number in range(len(families))]
    lines = zip(families, places, params, strict=True)
    blocks = [leaf_block(name, where, column[where], values) for name, where, values in lines]
    shape = Shape(arrays["first"], arrays["step"])
    return Graph(schema, kind.astype(np.uint8), start, child, weight, tuple(blocks), mixture=shape)


def _nodes(first: Ints, step: Ints, components: int) -> tuple[Ints, int]:
    """The nodes (nodes of the template, components) of a circuit, and how many it has with its root.

    Raises:
        ValueError: if they are out of range.
    """
    if not components or not first.size or first.size != step.size:
        raise ValueError("the shape of the components is empty, or its arrays do not fit together")
    size = int(np.where(step != 0, components, 1).sum()) + 1
    ends = (first, step, first + step * (components - 1))
    if max(end.max() for end in ends) >= size - 1 or min(first.min(), ends[2].min(), step.min() + size) < 0:
        raise ValueError("a node of the shape is out of range")
    return first[:, None] + step[:, None] * np.arange(components), size


def _check_template(one: Template, weight: Floats) -> AnyArray:
    """Which edges of a template are of sums.

    Raises:
        ValueError: if its arrays do not fit together.
    """
    nodes, components = one.node.shape
    for name in ("kind", "block", "column"):
        if getattr(one, name).size != nodes:
            raise ValueError(f"the array 'shape.{name}' has {getattr(one, name).size} entries, not {nodes}")
    if one.start.size != nodes + 1 or not is_partition(one.start, one.child.size):
        raise ValueError("the edges are not divided among the nodes of the shape in order")
    if ((one.child < 0) | (one.child >= one.parent)).any():
        raise ValueError("a child of the shape is not numbered before its parent")
    weighted = one.kind[one.parent] == SUM
    if weight.shape != (int(weighted.sum()), components):
        raise ValueError("the weights of the shape are not as many as its edges")
    return np.asarray(weighted)
