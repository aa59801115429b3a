"""Arrays by name, as in files and checkpoints."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from tractable.base.arrays import AnyArray

NamedArrays: TypeAlias = dict[str, AnyArray]


def below(arrays: NamedArrays, prefix: str) -> NamedArrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def with_prefix(prefix: str, arrays: NamedArrays) -> NamedArrays:
    """The arrays with a prefix before their names."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def split_below(arrays: NamedArrays, prefixes: Iterable[str]) -> tuple[list[NamedArrays], NamedArrays]:
    """The arrays below each of some prefixes, and those below none."""
    parts, rest = [below(arrays, prefix) for prefix in prefixes], dict(arrays)
    for prefix, part in zip(prefixes, parts, strict=True):
        for name in part:
            rest.pop(prefix + name, None)
    return parts, rest


def require_names(arrays: NamedArrays, wanted: set[str]) -> None:
    """Refuse arrays of other names.

    Raises:
        ValueError: naming the first that is missing or does not belong there.
    """
    for name in sorted(wanted ^ set(arrays)):
        raise ValueError(f"the array '{name}' {'is missing' if name in wanted else 'does not belong here'}")


def require_array(arrays: NamedArrays, name: str, dtype: Any, dimensions: int) -> AnyArray:
    """The array of a name.

    Raises:
        ValueError: if it is of another type, or has another number of dimensions.
    """
    array = arrays[name]
    if array.dtype != dtype:
        raise ValueError(f"the array '{name}' holds {array.dtype}, not {np.dtype(dtype)}")
    if array.ndim != dimensions:
        raise ValueError(f"the array '{name}' has {array.ndim} dimensions, not {dimensions}")
    return array
