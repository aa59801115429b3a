"""Networks as files: read and written as they are, or compiled to a circuit while they are read.

A circuit that was learned as a Markov network is written as its features; any other one as a single table
over all of its columns, if that is not too large. Names of columns and states, and where a network comes
from, stand in a comment behind the network of a `.mn` file; a `.uai` file has no room for them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tractable.base.progress import Watch
from tractable.circuit.check import explain_too_large, is_too_large
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema, discrete_schema
from tractable.formats.atomic import replacing, write_text
from tractable.formats.document import Document
from tractable.formats.header import from_json, plain_schema, schema_from_plain, to_json
from tractable.formats.same import differs, probe_rows, reading_back, require_close, require_same_schema
from tractable.networks import (
    DEFAULT_LIMIT,
    READERS,
    WRITERS,
    Factor,
    FeatureFactor,
    Network,
    TableFactor,
    TooLargeError,
    TreeFactor,
    compile_network,
    log_prob_of_rows,
)

LARGEST_TABLE = 1 << 20  # entries
MARKOV_SUFFIXES = (".mn", ".uai")  # in which a Markov network is written
COMMENT = "# tractable "  # what follows is JSON: the schema, and what is known about the network
LARGER = "; `tractable convert` allows more with --limit and --budget"
SAMPLING = (
    "; approximate answers come by Gibbs sampling: tr.MarkovNetwork.load(...) in Python, or the option"
    " --approximate of `tractable query` and `tractable marginals`"
)


@dataclass(frozen=True, eq=False)
class NetworkDocument:
    """A network, and plain facts about it that a file can carry: learner, settings, seed, ..."""

    network: Network
    about: dict[str, Any] = field(default_factory=dict)


def read_network_document(path: str | PathLike[str]) -> NetworkDocument:
    """The network of a file as it is, not compiled; the suffix says which format it is in.

    Raises:
        ValueError: naming the file and what is wrong with it.
        OSError: if the file cannot be opened.
    """
    where = Path(path)
    if where.suffix.lower() not in READERS:
        raise ValueError(
            f"{where}: a network is read from one of {', '.join(READERS)}; a circuit needs no sampling, its"
            " answers are exact"
        )
    with _name_file(where):
        return _read(where)


@contextmanager
def _name_file(path: Path) -> Iterator[None]:
    """Put the name of the file in front of what is wrong with it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None


def write_network_document(document: NetworkDocument, path: str | PathLike[str]) -> None:
    """Save a Markov network; a file that is already there stays as it was until the new one is whole.

    Raises:
        ValueError: if the suffix is not one of a network, or the format cannot hold this one.
        OSError: if the file cannot be written.
    """
    where = Path(path)
    suffix = where.suffix.lower()
    if suffix not in MARKOV_SUFFIXES:
        raise ValueError(f"{where}: a Markov network is written as {' or '.join(MARKOV_SUFFIXES)}")
    with _name_file(where):
        text = WRITERS[suffix](document.network) + (_comment(document) if suffix == ".mn" else "")
        with replacing(where) as place:
            write_text(place, text)
            with reading_back():
                _compare(document, place)


def require_same_network(document: Document, read: Callable[[Path], Document], path: Path) -> None:
    """Refuse a file that does not hold the network of a circuit; it is read as it is, not compiled.

    Raises:
        ValueError: naming what differs.
    """
    _compare(NetworkDocument(markov_network(document.graph)), path)


def _compare(document: NetworkDocument, path: Path) -> None:
    """Refuse a file that does not hold a network.

    A .mn file keeps its factors, names and facts; a .uai file its values, but for their names.
    """
    back = _read(path)
    if document.network.schema.cardinalities.tolist() != back.network.schema.cardinalities.tolist():
        raise ValueError(differs("the number of states of a column"))
    rows = probe_rows(document.network.schema, (0.0,))
    require_close(*(log_prob_of_rows(each.network, rows) for each in (document, back)))
    if path.suffix.lower() == ".mn":
        require_same_schema(document.network.schema, back.network.schema)
        if to_json(document.about) != to_json(back.about):
            raise ValueError(differs("about"))
        _compare_factors(document.network, back.network)


def _compare_factors(network: Network, back: Network) -> None:
    """Refuse a network with other factors; trees become features in a file, so that they are not compared."""
    if any(isinstance(factor, TreeFactor) for factor in network.factors):
        return
    if len(network.factors) != len(back.factors):
        raise ValueError(differs("the number of factors"))
    for number, (one, other) in enumerate(zip(network.factors, back.factors, strict=True)):
        same = isinstance(one, FeatureFactor) == isinstance(other, FeatureFactor)
        if not (same and one.scope == other.scope and _plain_factor(one) == _plain_factor(other)):
            raise ValueError(differs(f"factor {number}"))


def _plain_factor(factor: Factor) -> tuple[Any, ...]:
    if isinstance(factor, FeatureFactor):
        return factor.columns, factor.states, factor.equals, float(factor.log_weight)
    assert isinstance(factor, TableFactor)
    return factor.columns, factor.log_values.tolist()


def read_network(path: Path) -> Document:
    """The compiled circuit of a network file; the suffix says which format it is in.

    Raises:
        ValueError: naming the line that is wrong, or how large the circuit would be.
    """
    return _compile(path, DEFAULT_LIMIT, Watch())


def compile_network_file(path: str | PathLike[str], limit: int, watch: Watch) -> Document:
    """The compiled circuit of a network file, within a limit of table entries and the time of a watch.

    Raises:
        ValueError: naming the file and the line that is wrong, or how large the circuit would be.
        OSError: if the file cannot be opened.
    """
    where = Path(path)
    try:
        return _compile(where, limit, watch)
    except ValueError as error:
        raise ValueError(f"{where}: {' '.join(str(error).split())}") from None


def _compile(path: Path, limit: int, watch: Watch) -> Document:
    document = _read(path)
    try:
        graph = compile_network(document.network, limit, watch)
    except TooLargeError as error:
        raise TooLargeError(f"{error}{LARGER}{SAMPLING}") from None
    return Document(graph, {**document.about, "network": document.network.kind})


def write_network(document: Document, path: Path) -> None:
    """Save a circuit as a Markov network; the suffix says in which format.

    Raises:
        ValueError: if a column is not categorical, or if the circuit has no features and many columns.
    """
    write_network_document(NetworkDocument(markov_network(document.graph)), path)


def _read(path: Path) -> NetworkDocument:
    network = READERS[path.suffix.lower()](path)
    _check_magnitudes(network)
    facts = _facts(path) if path.suffix.lower() == ".mn" else {}
    about = facts.get("about", {})
    if not isinstance(about, dict):
        raise ValueError("the metadata of the network in the comment is not a dictionary")
    if "schema" not in facts:
        return NetworkDocument(network, about)
    schema = schema_from_plain(facts["schema"])
    if not np.array_equal(schema.cardinalities, network.schema.cardinalities):
        raise ValueError("the schema in the comment does not fit the numbers of states in the first line")
    return NetworkDocument(replace(network, schema=schema), about)


def _check_magnitudes(network: Network) -> None:
    """Refuse logarithms that are too large to compute with."""
    for number, factor in enumerate(network.factors):
        if isinstance(factor, FeatureFactor):
            logs = np.array([factor.log_weight])
        else:
            logs = factor.log_values if isinstance(factor, TableFactor) else factor.log_prob
        for wrong in logs[is_too_large(logs)].tolist():
            raise ValueError(f"a log value of factor {number} is {explain_too_large(wrong)}")


def _facts(path: Path) -> Mapping[str, Any]:
    """The metadata in the comment of a file, or nothing."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    comment = next((line for line in lines if line.startswith(COMMENT)), None)
    return {} if comment is None else from_json(comment.removeprefix(COMMENT))


def _comment(document: NetworkDocument) -> str:
    """The line that says what the format has no room for; empty where there is nothing to say."""
    schema = document.network.schema
    named = {} if _is_nameless(schema) else {"schema": plain_schema(schema)}
    facts = named | ({"about": document.about} if document.about else {})
    return f"{COMMENT}{to_json(facts)}\n" if facts else ""


def _is_nameless(schema: Schema) -> bool:
    """Whether columns and states have the names that a reader gives them."""
    return schema == discrete_schema(schema.cardinalities.tolist())


def markov_network(graph: Graph) -> Network:
    """The network of a circuit's features, or of its values as one table.

    Raises:
        ValueError: if a column is not categorical, or the table would be too large.
    """
    if graph.features is not None:
        return Network(graph.schema, tuple(_feature_factors(graph.features)), "markov")
    from tractable.engine import log_values

    network = Network(graph.schema, (), "markov")  # which refuses numbers by name
    shape = tuple(graph.schema.cardinalities.tolist())
    if prod(shape) > LARGEST_TABLE:
        raise ValueError(
            "the circuit was not learned as a Markov network: it has no features to write,"
            f" and one table of its values would have {prod(shape):.3g} entries"
        )
    rows = np.indices(shape).reshape(len(shape), -1).T.astype(np.float64)
    table = TableFactor(tuple(range(len(shape))), log_values(graph, rows).reshape(shape))
    return Network(network.schema, (table,), "markov")


def _feature_factors(features: FeatureTable) -> list[FeatureFactor]:
    start = features.start.tolist()
    return [
        FeatureFactor(
            tuple(features.column[start[i] : start[i + 1]].tolist()),
            tuple(features.state[start[i] : start[i + 1]].tolist()),
            tuple(features.equals[start[i] : start[i + 1]].tolist()),
            float(features.log_weight[i]),
        )
        for i in range(len(features))
    ]
