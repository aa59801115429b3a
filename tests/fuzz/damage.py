"""Damaged files of every reader: refused in one line that names the file, or read as something that works."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fuzz.cases import Case
from fuzz.table_files import TABLE_FILES
from tractable import queries
from tractable.benchmark import append_result, read_results
from tractable.benchmark.runs import Measured, Run
from tractable.circuit import Builder, Graph
from tractable.circuit.features import FeatureTable
from tractable.data import Table, clinic, discrete_schema, read, read_schema, to_frame
from tractable.data.schema import Schema, Variable
from tractable.formats import Document, read_circuit, write_circuit
from tractable.training import CheckpointFile
from tractable.tuning.journal import Journal
from tractable.tuning.trial import best_of

EXTREMES = (
    *(
        "0",
        "-1",
        "1",
        "1e308",
        "-1e308",
        "1e-308",
        "1e400",
        "-1e400",
        "1e-400",
        "nan",
        "inf",
        "-inf",
        "1e10",
        "1e16",
    ),
    *("9" * 25, "9" * 400, "-0", "2147483648", "9223372036854775808", "0x10", "1_0", "", "null", "١", "\x00"),
)
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
BIF = """network n { }
variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 3 ] { p, q, r }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (x) 0.1, 0.2, 0.7; (y) 0.5, 0.25, 0.25; }
"""
BN = (
    "2,2\nBN {\nv0 {\ntable {\n-1.0 +v0_0\n-0.4586751 +v0_1\n}\n}\n"
    "v1 {\ntree { (v0_0 (v1_0 -0.3 -1.35) (v1_0 -1.0 -0.4586751)) }\n}\n}\n"
)
UAI = "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n\n2\n 0.25 0.75\n\n4\n 0.1 0.9 0.5 0.5\n"
STUDY = {
    "algorithm": "a",
    "settings": {},
    "space": {},
    "sampler": "random",
    "seed": 0,
    "train": "t",
    "valid": "v",
}
TRIAL = (
    '{"number": NUMBER, "settings": {"x": 1, "y": [2, 3]}, "score": -1.5, "seconds": 0.1, "edges": 7,'
    ' "finished": true, "fault": ""}\n'
)

Reader = Callable[[Path], object]


def run_damage(case: Case) -> str:
    """One file of a random format, damaged, and read."""
    names = list(MAKERS)
    name = names[case.rng.integers(len(names))]
    path = case.folder / name
    make, check = MAKERS[name]
    make(path)
    file = path
    if path.is_dir():
        parts = sorted(path.iterdir())
        file = parts[case.rng.integers(len(parts))]
    whole = file.read_bytes()
    damaged = whole
    for _ in range(case.rng.integers(1, 4)):
        damaged = damage(case.rng, damaged)
    file.write_bytes(damaged)
    kind = "".join(path.suffixes)
    try:
        check(path)
    except ValueError as fault:
        line = str(fault)
        assert name in line, f"the message does not name the file: {line}"
        assert "\n" not in line, f"the message has several lines: {line}"
        assert "codec can't" not in line, f"the message is Python's own: {line}"
        return f"{kind} refused"
    return f"{kind} read"


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """The bytes with one thing wrong."""
    return DAMAGES[rng.integers(len(DAMAGES))](rng, data)


def _flip(rng: np.random.Generator, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4) if data else 0):
        changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(rng: np.random.Generator, data: bytes) -> bytes:
    return data[: rng.integers(len(data) + 1)]


def _insert(rng: np.random.Generator, data: bytes) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]


def _drop(rng: np.random.Generator, data: bytes) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + data[at + int(rng.integers(1, 20)) :]


def _swap_lines(rng: np.random.Generator, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _repeat_line(rng: np.random.Generator, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i = int(rng.integers(len(lines)))
    return b"\n".join([*lines[:i], *[lines[i]] * int(rng.choice([0, 2, 50])), *lines[i + 1 :]])


def _replace_number(rng: np.random.Generator, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    number = found[rng.integers(len(found))]
    other = EXTREMES[rng.integers(len(EXTREMES))].encode()
    return data[: number.start()] + other + data[number.end() :]


DAMAGES = (_flip, _cut, _insert, _drop, _swap_lines, _repeat_line, *[_replace_number] * 4)


# ---- what readers make of it ---------------------------------------------------------------------------


def check_circuit_file(path: Path) -> None:
    """A circuit that is read answers, without NaN; one with a checksum is the one that was written."""
    graph = read_circuit(path).graph
    if path.suffix == ".tract":
        rows = np.full((1, len(graph.schema)), np.nan)
        np.testing.assert_array_equal(queries.log_prob(graph, rows), queries.log_prob(_mixture(), rows))
    row = np.full((1, len(graph.schema)), np.nan)
    try:
        logs = queries.log_prob(graph, row)
        found = queries.marginals(graph, row)
    except ValueError:
        return  # it is no distribution
    assert not np.isnan(logs).any(), "log P is NaN"
    assert not any(np.isnan(one).any() for one in found), "a marginal is NaN"


def check_table_file(path: Path) -> None:
    """A table that is read has finite numbers, and states that its schema has."""
    table: Table = read(path)
    assert not np.isinf(table.values).any()
    for variable, values in zip(table.schema, table.values.T, strict=True):
        seen = values[~np.isnan(values)]
        if variable.is_categorical and seen.size:
            assert (seen.min(), seen.max()) >= (0, 0)
            assert seen.max() < variable.cardinality


def _check_checkpoint(path: Path) -> None:
    """A checkpoint that is not as it was written is none."""
    model = path.with_name(path.name.removesuffix(".checkpoint"))
    assert CheckpointFile(model, {"seed": 0}).read() in (None, b"where we are" * 9)


def _check_study(path: Path) -> None:
    with Journal(path, STUDY) as journal:
        best = best_of(journal.trials)
        assert best is None or np.isfinite(best.score)


# ---- files as they should be ---------------------------------------------------------------------------


def _mixture() -> Graph:
    schema = Schema((Variable("a", states=("x", "y")), Variable("n", "real"), Variable("k", "count")))
    builder = Builder(schema)
    parts = [
        builder.product(
            [
                builder.leaf("bernoulli", 0, [0.5 * i]),
                builder.leaf("gaussian", 1, [1.0 * i, 0.25]),
                builder.leaf("poisson", 2, [0.5]),
            ]
        )
        for i in (0, 1)
    ]
    builder.sum(parts, np.log([0.4, 0.6]))
    return builder.freeze()


def _binary(features: bool = False) -> Graph:
    builder = Builder(discrete_schema([2, 2]))
    ones = [builder.constant(0.5 * i) for i in range(2)]
    parts = [
        builder.product([builder.indicator(0, i), builder.indicator(1, 1 - i), ones[i]]) for i in range(2)
    ]
    root = builder.sum(parts, [0.0, 0.0])
    table = FeatureTable(
        np.array(ones),
        np.array([0.0, 0.5]),
        np.array([0, 1, 2]),
        np.array([0, 1]),
        np.array([1, 0]),
        np.array([True, True]),
    )
    return builder.freeze(root, table if features else None)


def _writer(make: Callable[[], Graph]) -> Callable[[Path], None]:
    return lambda path: write_circuit(Document(make(), {"seed": 1}), path)


def _text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def _frame() -> str:
    rows = [f"{i % 7},{'ab'[i % 2]},{i / 3:.4f},2020-01-{i % 28 + 1:02d}" for i in range(60)]
    return "n,c,w,d\n" + "\n".join(rows) + "\n"


def _write_arrow(path: Path) -> None:
    from pyarrow import feather, parquet

    frame = to_frame(clinic(30), like="pyarrow")
    if path.suffix == ".parquet":
        parquet.write_table(frame, path)
    else:
        feather.write_feather(frame, str(path), compression="uncompressed")


def _write_study(path: Path) -> None:
    import json

    path.write_text(json.dumps({"format": "tractable study 1", **STUDY}) + "\n")
    with path.open("a") as file:
        file.writelines(TRIAL.replace("NUMBER", str(number)) for number in range(3))


def _write_packed(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(gzip.compress(text.encode(), mtime=0))


SCHEMA = """{"columns": [
{"name": "n", "kind": "integer"},
{"name": "c", "kind": "ordinal", "states": ["a", 1, 2.5]}
]}
"""
DATA = "0,1,2\n1,*,0\n" * 20
WEIGHTED = "2.5|0,1\n1|1,0\n" * 20
JSONL = '{"a": 1, "b": "x"}\n{"a": 2.5, "b": null}\n' * 10
RESULT = Run(
    "nltcs",
    "d",
    "acmn",
    {"x": 1},
    0,
    60.0,
    5,
    "1",
    Measured(True, 2, 9, 3, 2, 1.5, 1.5, 80.0, -1.0, [-1.0], []),
)
MAKERS: dict[str, tuple[Callable[[Path], object], Reader]] = {
    "circuit.tract": (_writer(_mixture), check_circuit_file),
    "circuit.json": (_writer(_mixture), check_circuit_file),
    "features.json": (_writer(lambda: _binary(True)), check_circuit_file),
    "circuit.ac": (_writer(lambda: _binary(True)), check_circuit_file),
    "circuit.spn": (_writer(_binary), check_circuit_file),
    "network.bif": (_text(BIF), check_circuit_file),
    "network.bn": (_text(BN), check_circuit_file),
    "network.uai": (_text(UAI), check_circuit_file),
    "network.mn": (_writer(lambda: _binary(True)), check_circuit_file),
    "table.csv": (_text(_frame()), check_table_file),
    "table.tsv": (_text(_frame().replace(",", "\t")), check_table_file),
    "table.txt": (_text(_frame().replace(",", ";")), check_table_file),
    "table.jsonl": (_text(JSONL), check_table_file),
    "table.data": (_text(DATA), check_table_file),
    "weighted.data": (_text(WEIGHTED), check_table_file),
    "table.csv.gz": (_write_packed(_frame()), check_table_file),
    "table.data.gz": (_write_packed(DATA), check_table_file),
    "table.parquet": (_write_arrow, check_table_file),
    "table.feather": (_write_arrow, check_table_file),
    **{name: (make, check_table_file) for name, make in TABLE_FILES.items()},
    "schema.json": (_text(SCHEMA), read_schema),
    "study.db": (_write_study, _check_study),
    "model.tract.checkpoint": (
        lambda path: CheckpointFile(path.with_name("model.tract"), {"seed": 0}).write(b"where we are" * 9),
        _check_checkpoint,
    ),
    "results.jsonl": (lambda path: append_result(path, RESULT), read_results),
}
