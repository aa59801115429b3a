"""When two numbers, or arrays of them, are equal but for rounding."""

import numpy as np

from tractable.base.arrays import Floats


def close(answer: Floats | float, wanted: Floats | float, tolerance: float = 1e-10) -> bool:
    """Whether numbers agree relative to their size, and where they are infinite or missing."""
    a, b = np.broadcast_arrays(np.asarray(answer, dtype=float), np.asarray(wanted, dtype=float))
    finite = np.isfinite(b)
    if not (np.isfinite(a) == finite).all() or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    return bool((np.abs(a[finite] - b[finite]) <= tolerance * np.maximum(1.0, np.abs(b[finite]))).all())
