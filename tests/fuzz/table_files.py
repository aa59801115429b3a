"""Small tables in files of the formats that other programs write."""

import bz2
import io
import json
import lzma
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

TEXT = "n,c,w,d\n" + "".join(
    f"{i % 7},{'äb'[i % 2]},{i / 3:.4f} kg,2020-01-{i % 28 + 1:02d}\n" for i in range(60)
)
RECORDS = [{"n": i % 7, "c": "äb"[i % 2], "w": i / 3, "d": None if i % 5 else "x"} for i in range(30)]


def _write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", TEXT)


def _write_zstd(path: Path) -> None:
    import pyarrow as pa

    path.write_bytes(bytes(pa.compress(TEXT.encode(), codec="zstd", asbytes=True)))


def _write_workbook(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in [list(RECORDS[0]), *[list(record.values()) for record in RECORDS]]:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    path.write_bytes(buffer.getvalue())


def _write_sqlite(path: Path) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (n INTEGER, c TEXT, w REAL, d TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [tuple(r.values()) for r in RECORDS])
        database.commit()


TABLE_FILES: dict[str, Callable[[Path], object]] = {
    "table.json": lambda path: path.write_text(json.dumps(RECORDS, ensure_ascii=False)),
    "columns.json": lambda path: path.write_text(json.dumps({"a": [1, 2.5, None], "b": ["x", "y", "x"]})),
    "units.csv": lambda path: path.write_text(TEXT),
    "blanks.txt": lambda path: path.write_text(TEXT.replace(" kg", "").replace(",", "   ")),
    "wide.csv": lambda path: path.write_bytes(TEXT.encode("utf-16")),
    "latin.csv": lambda path: path.write_bytes(TEXT.encode("latin-1")),
    "table.csv.bz2": lambda path: path.write_bytes(bz2.compress(TEXT.encode())),
    "table.csv.xz": lambda path: path.write_bytes(lzma.compress(TEXT.encode())),
    "table.csv.zst": _write_zstd,
    "table.zip": _write_zip,
    "table.xlsx": _write_workbook,
    "table.sqlite": _write_sqlite,
}
