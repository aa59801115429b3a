"""Time and memory of `tractable learn chow-liu` on a million rows of twenty mixed columns.

    python benchmarks/million_rows.py [rows] [parquet|csv]

The columns are real, whole, counts, dates, times, truth values and text, some with missing cells.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq


def mixed_table(rows: int) -> pa.Table:
    """Columns that depend on three hidden factors."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(3, rows))

    def noisy(i: int, scale: float, noise: float) -> np.ndarray:
        return scale * (factor[i % 3] + noise * rng.normal(size=rows))

    def with_holes(cells: np.ndarray, share: float) -> pa.Array:
        return pa.array(cells, mask=rng.random(rows) < share)

    columns: dict[str, pa.Array] = {}
    for i in range(5):
        columns[f"real {i}"] = with_holes(noisy(i, i + 1.0, 1 / (i + 1)), 0.02 * i)
    for i in range(3):
        columns[f"whole {i}"] = pa.array(np.rint(noisy(i, 600.0 * 10**i, 0.5)).astype(np.int64))
    columns["count"] = pa.array(rng.poisson(np.exp(1 + 0.8 * factor[0])))
    columns["date"] = pa.array((19000 + noisy(1, 300.0, 0.3)).astype(np.int32)).cast(pa.date32())
    columns["time"] = pa.array((1.6e9 + noisy(2, 3e6, 0.3)).astype(np.int64)).cast(pa.timestamp("s"))
    for i in range(2):
        columns[f"flag {i}"] = with_holes(noisy(i, 1.0, 1.0) > 0, 0.05)
    names = np.array([f"level {k}" for k in range(40)])
    for i in range(7):
        codes = np.digitize(noisy(i, 1.0, 0.7), np.linspace(-2, 2, 2 + 3 * i))
        columns[f"state {i}"] = with_holes(names[codes], 0.03)
    return pa.table(columns)


def main() -> None:
    """Write the table, learn, and print what it took."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    suffix = sys.argv[2] if len(sys.argv) > 2 else "parquet"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{suffix}"
        (pc.write_csv if suffix == "csv" else pq.write_table)(mixed_table(rows), path)
        command = [sys.executable, "-m", "tractable", "learn", "chow-liu", str(path), "--json", "--quiet"]
        begun = time.perf_counter()
        answer = subprocess.run(
            [*command, "-o", f"{folder}/m.tract"], check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - begun
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(answer.stdout)
    print(
        f"{rows:,} rows: {seconds:.1f} s, of processors {used.ru_utime + used.ru_stime:.1f} s,"
        f" {used.ru_maxrss / 2**20:.2f} GB; log-likelihood {found['train_ll']:.3f}"
    )


if __name__ == "__main__":
    main()
