"""Settings of a learner as text, the way a command line has them."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def settings_from_text(learner: type[Any], texts: Iterable[str]) -> dict[str, Any]:
    """The settings that lines such as `smoothing=0.1` or `components=2,4,8` stand for.

    Raises:
        ValueError: if a line has no `=`, names no setting of this learner, or has a value of another type.
    """
    types = get_type_hints(learner)
    known = [field.name for field in fields(learner)]
    answer: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise ValueError(f"'{text}' is no setting: write name=value")
        if name not in known:
            raise ValueError(f"{learner.name} has no setting '{name}' (its settings: {', '.join(known)})")
        try:
            answer[name] = _value(value, types[name])
        except ValueError:
            raise ValueError(f"setting {name}: '{value}' is not {_words(types[name])}") from None
    return answer


def _value(text: str, kind: Any) -> Any:
    """The value of type `kind` that a text stands for."""
    if kind in _PLAIN:
        return _PLAIN[kind][1](text)
    options = get_args(kind)
    if get_origin(kind) is Literal:
        return options[[str(option) for option in options].index(text)]
    if get_origin(kind) is tuple:
        return tuple(_value(part.strip(), options[0]) for part in text.strip("()").split(",") if part.strip())
    return None if text.lower() == "none" else _value(text, _without_none(kind))


def _words(kind: Any) -> str:
    """What a value of the type is, in words."""
    if kind in _PLAIN:
        return _PLAIN[kind][0]
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if get_origin(kind) is tuple:
        return f"a list (a,b,c), each {_words(get_args(kind)[0])}"
    return f"{_words(_without_none(kind))} or none"


def _without_none(kind: Any) -> Any:
    assert get_origin(kind) in (Union, UnionType), f"no text stands for a {kind}"
    return next(option for option in get_args(kind) if option is not NoneType)


def _truth(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


_PLAIN: dict[Any, tuple[str, Callable[[str], Any]]] = {
    int: ("a whole number", int),
    float: ("a number", float),
    bool: ("true or false", _truth),
    str: ("a text", str),
}
