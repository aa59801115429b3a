"""States of long work as bytes: plain values and arrays, which are read without running any code.

A state is made of dictionaries with texts as keys, lists, texts, numbers, None and arrays. In bytes it is a
safetensors file: all arrays of one type are one tensor, and the metadata has everything else as JSON, in
which an array is its type, its first entry in the tensor and its shape.
"""

import json
from typing import Any, TypeAlias

import numpy as np

from tractable.base.arrays import AnyArray

State: TypeAlias = Any

ARRAY = "$array"  # the key that stands for an array in JSON


def state_to_bytes(state: State) -> bytes:
    """A state as the bytes of a safetensors file."""
    from safetensors.numpy import save

    arrays: dict[str, list[AnyArray]] = {}
    sizes: dict[str, int] = {}

    def plain(value: State) -> State:
        if isinstance(value, np.ndarray):
            kind, first = value.dtype.name, sizes.get(value.dtype.name, 0)
            arrays.setdefault(kind, []).append(np.ascontiguousarray(value).ravel())
            sizes[kind] = first + value.size
            return {ARRAY: [kind, first, list(value.shape)]}
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [plain(each) for each in value]
        return value.item() if isinstance(value, np.generic) else value

    text = json.dumps(plain(state))
    return save({kind: np.concatenate(some) for kind, some in arrays.items()}, metadata={"state": text})


def state_from_bytes(data: bytes) -> State:
    """The state that `state_to_bytes` has written; tuples come back as lists.

    Raises:
        ValueError: if it is not well formed.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(data)
        size = int.from_bytes(data[:8], "little")
        state = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["state"])
        return _with_arrays(state, tensors)
    except (SafetensorError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the state is damaged: {error}") from None


def _with_arrays(value: State, tensors: dict[str, AnyArray]) -> State:
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            kind, first, shape = value[ARRAY]
            flat = tensors[kind][first : first + int(np.prod(shape, dtype=np.int64))]
            return flat.reshape(shape).copy()
        return {key: _with_arrays(each, tensors) for key, each in value.items()}
    return [_with_arrays(each, tensors) for each in value] if isinstance(value, list) else value


def copy_state(value: State) -> State:
    """The state with arrays of its own, which may be changed."""
    if isinstance(value, dict):
        return {key: copy_state(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [copy_state(each) for each in value]
    return np.array(value) if isinstance(value, np.ndarray) else value


def generator_state(rng: np.random.Generator) -> State:
    """Where a generator of random numbers is."""
    return copy_state(dict(rng.bit_generator.state))


def restore_generator(rng: np.random.Generator, state: State) -> None:
    """Put a generator of the same kind where another one was."""
    rng.bit_generator.state = state
