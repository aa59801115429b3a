"""Ways in which bytes, JSON values and arrays can be wrong."""

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tractable.base.arrays import AnyArray

RAW = "@raw@"  # a text that stands for a number that Python would not write
EXTREMES = (
    *(
        "0",
        "-1",
        "1",
        "1e308",
        "-1e308",
        "1e-308",
        "5e-324",
        "1e400",
        "-1e400",
        "1e-400",
        "nan",
        "inf",
        "-inf",
    ),
    *("1e10", "1e16", "1e150", "700", "-800", "9" * 25, "9" * 400, "-0", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "65535", "65536", "100000000"),
    *("0x10", "1_0", "", "null", "true", "[]", "{}", '"1"', "١", "\x00"),
)
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")
WORD = re.compile(rb"[^\s,;:(){}\[\]\"]+")
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        "",
        "x",
        "inf",
        "-inf",
        "nan",
        [],
        [1],
        {},
        {"a": 1},
        [[]],
        [None],
        0,
        1,
        -1,
        2,
        0.5,
    ),
    *(
        -0.5,
        1e308,
        -1e308,
        5e-324,
        1e-300,
        1e16,
        1e200,
        700,
        800,
        2**31,
        2**53 + 1,
        2**62,
        2**63,
        -(2**63) - 1,
    ),
    *(2**64, 10**30, 10**400, np.nan, np.inf, -np.inf, RAW + "1e400", RAW + "-1e400", RAW + "9" * 5000),
)
FLOATS = (
    *(
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        1e308,
        -1e308,
        5e-324,
        1e-300,
        1e-150,
        1e16,
        1e8,
    ),
    *(-1e8, 1e150, -1e150, 700.0, -700.0, 709.8, 800.0, -800.0, 1e300, -1e300, 36.0, 1e5, -1e5),
)
INTS = (0, 1, -1, 2, 3, 7, 100, 2**31, -(2**31), 2**53, 2**62, 2**63 - 1, -(2**63), 255)
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool")

Rng = np.random.Generator


def damage(rng: Rng, data: bytes) -> bytes:
    """The bytes with one thing wrong."""
    return BYTES[rng.integers(len(BYTES))](rng, data)


def _flip(rng: Rng, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4) if data else 0):
        changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(rng: Rng, data: bytes) -> bytes:
    return data[: rng.integers(len(data) + 1)]


def _insert(rng: Rng, data: bytes) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]


def _drop(rng: Rng, data: bytes) -> bytes:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + data[at + int(rng.integers(1, 20)) :]


def _swap_lines(rng: Rng, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _repeat_line(rng: Rng, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i = int(rng.integers(len(lines)))
    return b"\n".join([*lines[:i], *[lines[i]] * int(rng.choice([0, 2, 50])), *lines[i + 1 :]])


def _replace_number(rng: Rng, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    number = found[rng.integers(len(found))]
    choice = rng.random()
    if choice < 0.3:
        other = found[rng.integers(len(found))].group()
    elif choice < 0.5 and len(number.group()) < 300:
        other = repr(_nudged(rng, float(number.group()))).encode()
    elif choice < 0.6 and number.group().isdigit() and len(number.group()) < 9:
        other = str(int(_nudged(rng, int(number.group())))).encode()
    else:
        other = EXTREMES[rng.integers(len(EXTREMES))].encode()
    return data[: number.start()] + other + data[number.end() :]


def _swap_words(rng: Rng, data: bytes) -> bytes:
    """One word in the place of another, or twice, or gone."""
    found = list(WORD.finditer(data))
    if not found:
        return data
    one, other = (found[i] for i in rng.integers(len(found), size=2))
    word = [other.group(), one.group() + b" " + one.group(), b""][rng.integers(3)]
    return data[: one.start()] + word + data[one.end() :]


BYTES = (_flip, _cut, _insert, _drop, _swap_lines, _repeat_line, _swap_words, *[_replace_number] * 5)


# ---- JSON ----------------------------------------------------------------------------------------------


def damage_json(rng: Rng, value: Any) -> str:
    """The text of a JSON value with one thing wrong in it; the value is changed in place."""
    slots = list(_slots(value))
    if slots:
        owner, key = slots[rng.integers(len(slots))]
        JSONS[rng.integers(len(JSONS))](rng, owner, key, slots)
    return json_text(value)


def json_text(value: Any) -> str:
    """The value as JSON, with raw numbers as they are."""
    return re.sub(rf'"{RAW}([^"]*)"', r"\1", json.dumps(value))


def _slots(value: Any) -> "list[tuple[Any, Any]]":
    """Everything that a value holds, by its owner and key."""
    found, waiting = [], [value]
    while waiting:
        owner = waiting.pop()
        if isinstance(owner, dict | list):
            keys = list(owner) if isinstance(owner, dict) else list(range(len(owner)))
            found += [(owner, key) for key in keys]
            waiting += [owner[key] for key in keys]
    return found


def _set_value(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    owner[key] = VALUES[rng.integers(len(VALUES))]


def _set_alike(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    """Another number in the place of a number."""
    if type(owner[key]) in (int, float) and rng.random() < 0.5 and abs(owner[key]) < 1e300:
        number = _nudged(rng, owner[key])
        owner[key] = int(number) if isinstance(owner[key], int) else number
    elif isinstance(owner[key], int | float):
        owner[key] = VALUES[14:][rng.integers(len(VALUES) - 14)]
    else:
        _set_value(rng, owner, key, slots)


def _delete(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    del owner[key]


def _repeat(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    if isinstance(owner, list):
        owner.insert(key, owner[key])
    else:
        owner[str(key) + "2"] = owner[key]


def _copy_other(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    """Another value of the same file."""
    other, place = slots[rng.integers(len(slots))]
    owner[key] = json.loads(json.dumps(other[place]))


def _wrap(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    owner[key] = [owner[key]] if rng.random() < 0.5 else {"x": owner[key]}


def _empty(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    if isinstance(owner[key], dict | list):
        owner[key].clear()
    else:
        owner[key] = ""


def _cut_list(rng: Rng, owner: Any, key: Any, slots: Any) -> None:
    if isinstance(owner, list):
        del owner[key:]


JSONS: tuple[Callable[[Rng, Any, Any, Any], None], ...] = (
    *(
        _set_value,
        _set_value,
        _set_alike,
        _set_alike,
        _set_alike,
        _delete,
        _repeat,
        _copy_other,
        _wrap,
        _empty,
    ),
    _cut_list,
)


# ---- arrays --------------------------------------------------------------------------------------------


def damage_arrays(rng: Rng, arrays: dict[str, AnyArray]) -> None:
    """Change one of some arrays by name, in place."""
    names = sorted(arrays)
    name = names[rng.integers(len(names))]
    if rng.random() < 0.1:
        _move(rng, arrays, name)
    else:
        arrays[name] = ARRAYS[rng.integers(len(ARRAYS))](rng, arrays[name])


def _move(rng: Rng, arrays: dict[str, AnyArray], name: str) -> None:
    """One array gone, or under another name, or in the place of another."""
    other = sorted(arrays)[rng.integers(len(arrays))]
    choice = rng.integers(3)
    if choice == 0:
        del arrays[name]
    elif choice == 1:
        arrays[name + "x"] = arrays[name]
    else:
        arrays[name] = arrays[other].copy()


def _set_cells(rng: Rng, array: AnyArray) -> AnyArray:
    changed = array.copy()
    for _ in range(few(rng, 2) if array.size else 0):
        other = array.flat[rng.integers(array.size)] if rng.random() < 0.4 else _extreme(rng, array)
        changed.flat[rng.integers(array.size)] = other
    return changed


def _nudge_cell(rng: Rng, array: AnyArray) -> AnyArray:
    """A number that is another one, though not by much."""
    changed = array.copy()
    if array.size and array.dtype.kind in "fiu":
        at = int(rng.integers(array.size))
        with np.errstate(all="ignore"):
            changed.flat[at] = np.array(_nudged(rng, changed.flat[at].item())).astype(array.dtype)
    return changed


def _nudged(rng: Rng, number: float) -> float:
    return (number + 1, number - 1, -number, 2 * number, 10 * number, number / 100)[rng.integers(6)]


def few(rng: Rng, most: int) -> int:
    """One, mostly."""
    return 1 if rng.random() < 0.7 else int(rng.integers(1, most + 1))


def _extreme(rng: Rng, array: AnyArray) -> Any:
    if array.dtype.kind == "f":
        return FLOATS[rng.integers(len(FLOATS))]
    with np.errstate(all="ignore"):
        return np.array(INTS[rng.integers(len(INTS))]).astype(array.dtype)


def _fill(rng: Rng, array: AnyArray) -> AnyArray:
    with np.errstate(all="ignore"):
        return np.full_like(array, _extreme(rng, array))


def _scale(rng: Rng, array: AnyArray) -> AnyArray:
    """All numbers larger, smaller or negative."""
    with np.errstate(all="ignore"):
        factor = np.array(rng.choice([1e-300, 1e-8, 1e8, 1e150, 1e300, -1.0, 0.0])).astype(array.dtype)
        return np.asarray(array * factor, dtype=array.dtype)


def _truncate(rng: Rng, array: AnyArray) -> AnyArray:
    axis = int(rng.integers(max(array.ndim, 1)))
    size = array.shape[axis] if array.ndim else 0
    return array.take(range(int(rng.integers(size + 1))), axis=axis) if array.ndim else array


def _double(rng: Rng, array: AnyArray) -> AnyArray:
    return np.concatenate([array, array]) if array.ndim else array


def _reshape(rng: Rng, array: AnyArray) -> AnyArray:
    return [array[None], array[..., None], array.ravel(), array.T.copy()][rng.integers(4)]


def _retype(rng: Rng, array: AnyArray) -> AnyArray:
    with np.errstate(all="ignore"):
        return array.astype(DTYPES[rng.integers(len(DTYPES))])


def _shuffle(rng: Rng, array: AnyArray) -> AnyArray:
    changed = array.copy().ravel()
    rng.shuffle(changed)
    return changed.reshape(array.shape)


ARRAYS = (
    _set_cells,
    _set_cells,
    _set_cells,
    _set_cells,
    _fill,
    _scale,
    _truncate,
    _double,
    _reshape,
    _retype,
    _shuffle,
)
