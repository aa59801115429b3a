"""Writing of Libra's arithmetic circuits (`.ac`).

Weights and leaves that the format does not know become constants and indicators first. Numbers keep all their
digits, which Libra's own writer does not.
"""

from collections.abc import Iterator
from math import exp, inf
from pathlib import Path

import numpy as np

from tractable.circuit.blocks import ConstantBlock, LeafBlock
from tractable.circuit.convert import to_ac
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import LEAF, PRODUCT, Graph
from tractable.circuit.leaves.indicator import Indicator
from tractable.formats.atomic import write_text
from tractable.formats.document import Document
from tractable.formats.roles import warn_of_lost_roles
from tractable.networks.writing import decimal


def write_ac(document: Document, path: Path) -> None:
    """Save a circuit over categorical columns; names of columns and states are lost.

    Raises:
        ValueError: if a column is not categorical, or a number does not fit the format.
    """
    warn_of_lost_roles(document.graph.schema, ".ac")
    write_text(path, ac_text(document.graph))


def ac_text(graph: Graph) -> str:
    """A circuit as the text of a .ac file.

    Raises:
        ValueError: if a column is not categorical, or a number does not fit the format.
    """
    for variable in graph.schema:
        if not variable.is_categorical:
            raise ValueError(
                f"a .ac file supports only categorical columns; column '{variable.name}' is {variable.kind}"
            )
    plain = graph if _is_arithmetic(graph) else to_ac(graph)
    sizes = " ".join(str(v.cardinality) for v in graph.schema)
    lines = [f"({sizes})", *_node_lines(plain), "EOF"]
    if plain.features is not None:
        lines += ["", *_feature_lines(plain.features), "EOF"]
    return "\n".join(lines) + "\n"


def _is_arithmetic(graph: Graph) -> bool:
    """Whether the circuit has unweighted sums, indicators and constants only."""
    plain = (isinstance(b, ConstantBlock) or b.name == Indicator.name for b in graph.blocks)
    return all(plain) and not graph.log_weight.any()


def _raw(log_value: float) -> str:
    """The number itself, which is what the format holds."""
    value = exp(log_value) if log_value < 709 else inf
    if value == inf or (value == 0 and log_value > -inf):
        raise ValueError(f"a constant with logarithm {log_value:g} cannot be represented in a .ac file")
    return decimal(value)


def _node_lines(graph: Graph) -> Iterator[str]:
    leaf = np.full(graph.nodes, "", dtype=object)
    for constants in graph.blocks_of(ConstantBlock):
        leaf[constants.node] = [f"n {_raw(value)}" for value in constants.log_value.tolist()]
    for indicators in graph.blocks_of(LeafBlock):
        cells = zip(indicators.column.tolist(), indicators.params[:, 0].tolist(), strict=True)
        leaf[indicators.node] = [f"v {column} {int(state)}" for column, state in cells]
    start, child = graph.start.tolist(), list(map(str, graph.child.tolist()))
    for node, kind in enumerate(graph.kind.tolist()):
        if kind == LEAF:
            yield leaf[node]
        else:
            yield f"{'*' if kind == PRODUCT else '+'} {' '.join(child[start[node] : start[node + 1]])}"


def _feature_lines(features: FeatureTable) -> Iterator[str]:
    """One line a feature; a feature whose leaf is not in the circuit cannot be said in this format."""
    cells = zip(features.equals.tolist(), features.column.tolist(), features.state.tolist(), strict=True)
    conditions = [f"{'+' if equals else '-'}v{column}_{state}" for equals, column, state in cells]
    start = features.start.tolist()
    for i, node in enumerate(features.node.tolist()):
        if node >= 0:
            yield " ".join([str(node), _raw(features.log_weight[i]), *conditions[start[i] : start[i + 1]]])
