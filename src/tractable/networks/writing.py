"""Writing of networks in Libra's format (`.bn`, `.mn`) and in that of the UAI competitions (`.uai`).

Columns and states are numbered, since these formats have no names. Numbers are written with full precision.
"""

import re
from collections.abc import Iterator

import numpy as np

from tractable.data.schema import Schema
from tractable.networks.network import FeatureFactor, Network, TableFactor, TreeFactor
from tractable.networks.tables import feature_table, tree_table
from tractable.networks.tokens import exp_text

_BARE_EXPONENT = re.compile(r"^(-?\d+)(?=e)")


def libra_text(network: Network) -> str:
    """A network as the text of a .bn or .mn file."""
    lines = [",".join(str(v.cardinality) for v in network.schema)]
    if network.kind == "markov":
        body = [line for factor in network.factors for line in _libra_lines(factor, network.schema)]
        return "\n".join([*lines, "MN {", *body, "}", ""])
    lines.append("BN {")
    for factor in network.factors:
        lines += [f"v{factor.scope[0]} {{", *_libra_lines(factor, network.schema), "}"]
    return "\n".join([*lines, "}", ""])


def uai_text(network: Network) -> str:
    """A network as the text of a .uai file; features over equal columns share a table.

    Raises:
        ValueError: if a table would be huge.
    """
    bayes = network.kind == "bayes"
    tables = list(_tables(network))
    # A factor's child stands first with us and last in the file.
    columns = [(*t.columns[1:], t.columns[0]) if bayes else t.columns for t in tables]
    values = [np.moveaxis(t.log_values, 0, -1) if bayes else t.log_values for t in tables]
    sizes = [str(v.cardinality) for v in network.schema]
    lines = ["BAYES" if bayes else "MARKOV", str(len(sizes)), " ".join(sizes), str(len(tables))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope in columns]
    for table in values:
        if table.max() > 709:
            raise ValueError(f"a number with logarithm {table.max():g} cannot be represented in a .uai file")
        lines += ["", str(table.size), " ".join(_number(x) for x in table.ravel().tolist())]
    return "\n".join([*lines, ""])


def _tables(network: Network) -> Iterator[TableFactor]:
    """The factors as tables, features last."""
    together: dict[tuple[int, ...], list[FeatureFactor]] = {}
    for factor in network.factors:
        if isinstance(factor, FeatureFactor):
            together.setdefault(tuple(sorted(factor.scope)), []).append(factor)
        else:
            yield tree_table(factor, network.schema) if isinstance(factor, TreeFactor) else factor
    for scope, features in together.items():
        yield feature_table(features, scope, network.schema)


def _libra_lines(factor: TableFactor | FeatureFactor | TreeFactor, schema: Schema) -> Iterator[str]:
    if isinstance(factor, FeatureFactor):
        cells = zip(factor.equals, factor.columns, factor.states, strict=True)
        conditions = [f"{'+' if equals else '-'}v{column}_{state}" for equals, column, state in cells]
        yield " ".join([decimal(factor.log_weight), *conditions])
    elif isinstance(factor, TreeFactor):
        yield f"tree {{ {_tree_text(factor, schema)} }}"
    else:
        yield "table {"
        for states, value in np.ndenumerate(factor.log_values):
            entry = [f"+v{column}_{state}" for column, state in zip(factor.columns, states, strict=True)]
            yield " ".join([decimal(value), *entry])
        yield "}"


def _tree_text(tree: TreeFactor, schema: Schema) -> str:
    """The tree in brackets, in which a leaf tests the child until its state is known."""
    text = [""] * tree.column.size
    for node in range(len(text) - 1, -1, -1):  # branches lead to later nodes
        if tree.column[node] >= 0:
            then, otherwise = text[tree.then[node]], text[tree.otherwise[node]]
            text[node] = f"(v{tree.column[node]}_{tree.state[node]} {then} {otherwise})"
        else:
            *others, text[node] = [decimal(x) for x in tree.log_prob[node].tolist()]
            for state in range(len(others) - 1, -1, -1):
                text[node] = f"(v{tree.child}_{state} {others[state]} {text[node]})"
    return text[0]


def _number(log: float) -> str:
    """The number given by its logarithm, as `decimal` writes it."""
    return _BARE_EXPONENT.sub(r"\1.0", exp_text(log))


def decimal(value: float) -> str:
    """A number with full precision and a decimal point, which Libra requires before an exponent."""
    return _BARE_EXPONENT.sub(r"\1.0", repr(float(value)))
