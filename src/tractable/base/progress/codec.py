"""Values as states of a checkpoint, states as bytes, and back; nothing that is read runs any code.

A state is made of dictionaries with texts as keys, lists, texts, numbers, None and arrays. A dataclass or a
named tuple becomes a dictionary of its fields with the name of its class, and is read by the types of these
fields: a state in which a name, a field or a type differs was written by another version and is refused.

In bytes a state is a safetensors file: all arrays of one type are one tensor, whole numbers in the smallest
type that holds them, and the metadata has everything else as JSON, in which an array is its type, its shape,
and where it is in which tensor.
"""

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from tractable.base.arrays import AnyArray

State: TypeAlias = Any
T = TypeVar("T")

LAYOUT = 2  # the version of how checkpoints are written; those of another one are refused
ARRAY, CLASS = "$array", "$class"  # keys of what stands for other values
STALE = "the checkpoint was written by another version of this library: remove it to begin anew"


class Form(NamedTuple, Generic[T]):
    """The states of one class that are not simply its fields."""

    to_state: Callable[[T], State]
    from_state: Callable[[State], T]


Forms: TypeAlias = Mapping[type, Form[Any]]  # by class; a form also holds for the classes below
NO_FORMS: Forms = {}


@dataclass(frozen=True)
class Key(Generic[T]):
    """What the states or results of one piece of work are kept under, and the type by which they are read.

    A key is made once, beside the work, with the name of that module: no other work can have it by accident.
    """

    module: str
    name: str
    kind: type[T] | types.UnionType

    def at(self, *labels: object) -> "Key[T]":
        """The key of one of several pieces of work of a kind, such as of one fold."""
        return Key(self.module, " ".join(map(str, (self.name, *labels))), self.kind)

    @property
    def path(self) -> str:
        """The name under which checkpoints keep it, within the path of the work around it."""
        return f"{self.module.removeprefix('tractable.')}:{self.name}"


def encode(value: Any, forms: Forms = NO_FORMS) -> State:
    """A value as a state, with arrays of its own."""
    form = _form_of(type(value), forms)
    if form is not None:
        return encode(form.to_state(value))
    if isinstance(value, np.ndarray):
        return np.array(value)
    if isinstance(value, dict):
        return {key: encode(each, forms) for key, each in value.items()}
    if _has_fields(type(value)):
        return {CLASS: type(value).__name__} | {
            name: encode(getattr(value, name), forms) for name in _field_types(value.__class__)
        }
    if isinstance(value, list | tuple):
        return [encode(each, forms) for each in value]
    if isinstance(value, Enum):
        return value.name
    return value.item() if isinstance(value, np.generic) else value


def decode(kind: Any, state: State, forms: Forms = NO_FORMS) -> Any:
    """The value of some type, as in an annotation, that a state describes, with arrays of its own.

    Raises:
        ValueError: if the state describes something else.
    """
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if isinstance(origin, type) and (form := _form_of(origin, forms)) is not None:
        return form.from_state(encode(state))
    if kind is Any or isinstance(kind, TypeVar):
        return encode(state)
    if origin in (Union, types.UnionType):
        return _decode_union(inner, state, forms)
    if origin is Literal:
        return _expect(state in inner, state, kind)
    if origin in (list, tuple):
        _expect(isinstance(state, list), state, kind)
        if origin is tuple and inner[1:] != (...,):
            _expect(len(inner) == len(state), state, kind)
            return tuple(decode(each, one, forms) for each, one in zip(inner, state, strict=True))
        return origin(decode(inner[0], one, forms) for one in state)
    if origin is dict:
        _expect(isinstance(state, dict), state, kind)
        return {key: decode(inner[1], one, forms) for key, one in state.items()}
    if origin is np.ndarray:
        return np.array(_expect(isinstance(state, np.ndarray), state, kind))
    return _decode_object(origin, state, forms)


def _decode_object(kind: Any, state: State, forms: Forms) -> Any:
    """A dataclass, a named tuple, or a number, text or None."""
    if _has_fields(kind):
        types_ = _field_types(kind)
        named = isinstance(state, dict) and state.keys() == {CLASS, *types_} and state[CLASS] == kind.__name__
        _expect(named, state, kind)
        return kind(**{name: decode(each, state[name], forms) for name, each in types_.items()})
    if kind is float:
        return float(_expect(isinstance(state, int | float), state, kind))
    if issubclass(kind, Enum):
        _expect(state in kind.__members__, state, kind)
        return kind[state]
    return _expect(type(state) is kind, state, kind)


def _decode_union(kinds: tuple[Any, ...], state: State, forms: Forms) -> Any:
    """The value of the first of several types that the state describes."""
    for kind in sorted(kinds, key=lambda kind: kind is not types.NoneType):
        try:
            return decode(kind, state, forms)
        except ValueError as error:
            refused = error
    raise refused


def _expect(is_right: bool, state: Any, kind: Any) -> Any:
    if not is_right:
        raise ValueError(f"{STALE} (it has no {getattr(kind, '__name__', kind)} where one should be)")
    return state


def _form_of(kind: type, forms: Forms) -> Form[Any] | None:
    return next((forms[base] for base in kind.__mro__ if base in forms), None) if forms else None


def _has_fields(kind: Any) -> bool:
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    """The fields that a class is made from, and their types."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if each.init] if is_dataclass(kind) else kind._fields
    return {name: hints[name] for name in names}


def state_to_bytes(state: State) -> bytes:
    """A state as the bytes of a safetensors file."""
    from safetensors.numpy import save

    arrays: dict[str, list[AnyArray]] = {}
    sizes: dict[str, int] = {}

    def plain(value: State) -> State:
        if isinstance(value, np.ndarray):
            small = _small_array(value)
            kind, first = small.dtype.name, sizes.get(small.dtype.name, 0)
            arrays.setdefault(kind, []).append(np.ascontiguousarray(small).ravel())
            sizes[kind] = first + small.size
            return {ARRAY: [value.dtype.name, list(value.shape), kind, first, small.size]}
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list | tuple) else value

    text = json.dumps({"layout": LAYOUT, "state": plain(state)})
    return save({kind: np.concatenate(some) for kind, some in arrays.items()}, metadata={"state": text})


def _small_array(array: AnyArray) -> AnyArray:
    """An array in the smallest type that holds its whole numbers, or in bits."""
    if array.dtype == np.bool_:
        return np.packbits(array)
    if array.dtype.kind not in "iu" or not array.size:
        return array
    ends = (np.min_scalar_type(int(end)) for end in (array.min(), array.max()))
    small = np.result_type(*ends)
    return array.astype(small) if small.kind in "iu" else array


def state_from_bytes(data: bytes) -> State:
    """The state that `state_to_bytes` has written; tuples come back as lists.

    Raises:
        ValueError: if it is not well formed, or was written by another version.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(data)
        size = int.from_bytes(data[:8], "little")
        text = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["state"])
        is_stale = not isinstance(text, dict) or text.get("layout") != LAYOUT
        state = None if is_stale else _with_arrays(text["state"], tensors)
    except (SafetensorError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the state is damaged: {error}") from None
    if is_stale:
        raise ValueError(STALE)
    return state


def _with_arrays(value: State, tensors: dict[str, AnyArray]) -> State:
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            name, shape, kind, first, size = value[ARRAY]
            small = tensors[kind][first : first + size]
            if name == "bool":
                small = np.unpackbits(small, count=int(np.prod(shape, dtype=np.int64)))
            return small.astype(name).reshape(shape)
        return {key: _with_arrays(each, tensors) for key, each in value.items()}
    return [_with_arrays(each, tensors) for each in value] if isinstance(value, list) else value


def generator_state(rng: np.random.Generator) -> State:
    """Where a generator of random numbers is."""
    return encode(dict(rng.bit_generator.state))


def restore_generator(rng: np.random.Generator, state: State) -> None:
    """Put a generator of the same kind where another one was."""
    rng.bit_generator.state = state
