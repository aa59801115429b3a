"""Damaged files of every reader: refused in one line that names the file, or read as something that works."""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fuzz.cases import Case, memory_limit
from fuzz.models import EVERY, GENERALISED, READABLE, graph, save_generalised, save_model
from fuzz.mutations import damage, damage_json, few
from fuzz.proper import check_answers, check_generalised
from fuzz.sealed import damage_sealed
from fuzz.table_files import TABLE_FILES
from tractable.cli.benchmark import append_result, read_results
from tractable.cli.benchmark.runs import Measured, Run
from tractable.data import Table, clinic, read, read_schema, to_frame
from tractable.formats import Document, read_circuit
from tractable.formats.generalised import read_generalised
from tractable.formats.same import require_same_circuit
from tractable.learning.training import CheckpointFile
from tractable.learning.tuning.journal import Journal
from tractable.learning.tuning.trial import best_of

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

Check = Callable[[Case, Path, bool], str]  # the case, the file, and whether its checksum was made to fit
Parts = dict[str, bytes]  # the files of a folder by name; one file has no name


def run_damage(case: Case) -> str:
    """One file of a random format, damaged, and read."""
    names = list(MAKERS)
    name = names[case.rng.choice(len(names), p=CHANCES)]
    path = case.folder / name
    makers, check = MAKERS[name]
    parts = dict(_whole(name, int(case.rng.integers(len(makers)))))
    part = sorted(parts)[case.rng.integers(len(parts))]
    parts[part], fits = _damaged(case.rng, path, parts[part])
    _put(path, parts)
    kind = "".join(path.suffixes)
    try:
        with memory_limit():
            return f"{kind} {check(case, path, fits)}"
    except ValueError as fault:
        line = str(fault)
    assert name in line, f"the message does not name the file: {line}"
    assert "\n" not in line, f"the message has several lines: {line}"
    assert "codec can't" not in line, f"the message is Python's own: {line}"
    return f"{kind} refused"


def _damaged(rng: np.random.Generator, path: Path, whole: bytes) -> tuple[bytes, bool]:
    """A file with one to three things wrong, and whether it has a checksum that was made to fit."""
    if path.suffix in (".tract", ".gac"):
        return damage_sealed(rng, whole)
    if path.suffix == ".json" and rng.random() < 0.7:
        value = json.loads(whole)
        for _ in range(few(rng, 2) - 1):
            damage_json(rng, value)
        return damage_json(rng, value).encode("utf-8", "surrogatepass"), False
    for _ in range(few(rng, 3)):
        whole = damage(rng, whole)
    return whole, False


@cache
def _whole(name: str, which: int) -> Parts:
    """A file as it should be."""
    with TemporaryDirectory(prefix="fuzz-whole-") as folder:
        path = Path(folder) / name
        MAKERS[name][0][which](path)
        if path.is_dir():
            return {file.name: file.read_bytes() for file in path.iterdir()}
        return {"": path.read_bytes()}


def _put(path: Path, parts: Parts) -> None:
    if "" in parts:
        path.write_bytes(parts[""])
        return
    path.mkdir()
    for name, data in parts.items():
        (path / name).write_bytes(data)


# ---- what readers make of it ---------------------------------------------------------------------------


def _check_circuit(case: Case, path: Path, fits: bool) -> str:
    """A circuit that is read has proper answers; one whose checksum does not fit is the one written."""
    document = read_circuit(path)
    if path.suffix == ".tract" and not fits:
        _require_written(document)
        return "read whole"
    return check_answers(case.rng, document.graph)


def _require_written(document: Document) -> None:
    for name in EVERY:
        try:
            require_same_circuit(Document(graph(name), {"seed": 1}), lambda _: document, Path())
        except ValueError:
            continue
        return
    raise AssertionError("a file whose checksum does not fit was read as another circuit")


def _check_generalised(case: Case, path: Path, fits: bool) -> str:
    return check_generalised(case.rng, read_generalised(path)[0])


def _plain(check: Callable[[Path], object]) -> Check:
    """A check of a file that needs nothing but the file."""

    def run(case: Case, path: Path, fits: bool) -> str:
        check(path)
        return "read"

    return run


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
Maker = Callable[[Path], Any]


def _models(names: tuple[str, ...], save: Callable[[str, Path], None] = save_model) -> list[Maker]:
    return [lambda path, name=name: save(name, path) for name in names]  # type: ignore[misc]


MAKERS: dict[str, tuple[list[Maker], Check]] = {
    "circuit.tract": (_models(EVERY), _check_circuit),
    "circuit.json": (_models(READABLE), _check_circuit),
    "circuit.ac": (_models(("features", "binary", "shape")), _check_circuit),
    "circuit.spn": (_models(("binary",)), _check_circuit),
    "circuit.gac": (_models(tuple(GENERALISED), save_generalised), _check_generalised),
    "network.bif": ([_text(BIF)], _check_circuit),
    "network.bn": ([_text(BN)], _check_circuit),
    "network.uai": ([_text(UAI)], _check_circuit),
    "network.mn": (_models(("features", "shape")), _check_circuit),
    "table.csv": ([_text(_frame())], _plain(check_table_file)),
    "table.tsv": ([_text(_frame().replace(",", "\t"))], _plain(check_table_file)),
    "table.txt": ([_text(_frame().replace(",", ";"))], _plain(check_table_file)),
    "table.jsonl": ([_text(JSONL)], _plain(check_table_file)),
    "table.data": ([_text(DATA), _text(WEIGHTED)], _plain(check_table_file)),
    "table.csv.gz": ([_write_packed(_frame())], _plain(check_table_file)),
    "table.data.gz": ([_write_packed(DATA)], _plain(check_table_file)),
    "table.parquet": ([_write_arrow], _plain(check_table_file)),
    "table.feather": ([_write_arrow], _plain(check_table_file)),
    **{name: ([make], _plain(check_table_file)) for name, make in TABLE_FILES.items()},
    "schema.json": ([_text(SCHEMA)], _plain(read_schema)),
    "study.db": ([_write_study], _plain(_check_study)),
    "model.tract.checkpoint": (
        [lambda path: CheckpointFile(path.with_name("model.tract"), {"seed": 0}).write(b"where we are" * 9)],
        _plain(_check_checkpoint),
    ),
    "results.jsonl": ([lambda path: append_result(path, RESULT)], _plain(read_results)),
}
MODELS = 9  # the first so many are models, which are damaged in more ways than others
OFTEN = {"circuit.tract": 8.0, "circuit.json": 6.0, "circuit.gac": 3.0}
_WEIGHTS = [OFTEN.get(name, 2.0 if i < MODELS else 0.5) for i, name in enumerate(MAKERS)]
CHANCES = [weight / sum(_WEIGHTS) for weight in _WEIGHTS]
