"""Time and memory of `tractable learn chow-liu` on a million rows of twenty mixed columns.

    python benchmarks/million_rows.py [rows]

Half of the columns are numeric: real, whole and counts. The table is written as Parquet first.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]


def mixed_table(rows: int) -> pa.Table:
    """Columns that depend on three hidden factors."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(3, rows))
    columns: dict[str, object] = {}
    for i in range(5):
        columns[f"real {i}"] = factor[i % 3] * (i + 1) + rng.normal(size=rows)
    for i in range(3):
        columns[f"whole {i}"] = np.rint(4000 + 600 * factor[i] + 300 * rng.normal(size=rows)).astype(np.int64)
    for i in range(2):
        columns[f"count {i}"] = rng.poisson(np.exp(1 + 0.8 * factor[i]))
    for i in range(10):
        noisy = factor[i % 3] + 0.7 * rng.normal(size=rows)
        codes = np.digitize(noisy, [-1.0, 0.0, 1.0][: 1 + i % 3])
        columns[f"state {i}"] = np.array(["a", "b", "c", "d"])[codes]
    return pa.table(columns)


def main() -> None:
    """Write the table, learn, and print what it took."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(mixed_table(rows), path)
        command = [sys.executable, "-m", "tractable", "learn", "chow-liu", str(path), "--json", "--quiet"]
        begun = time.perf_counter()
        answer = subprocess.run(
            [*command, "-o", f"{folder}/m.tract"], check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    found = json.loads(answer.stdout)
    print(f"{rows:,} rows: {seconds:.1f} s, {peak:.2f} GB; log-likelihood {found['train_ll']:.3f}")


if __name__ == "__main__":
    main()
