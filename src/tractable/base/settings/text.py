"""Settings as text, the way a command line has them."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def settings_from_text(kind: type[Any], texts: Iterable[str]) -> dict[str, Any]:
    """The settings that lines such as `smoothing=0.1` or `components=2,4,8` stand for.

    Raises:
        ValueError: if a line has no `=`, names no setting of this class, or has a value of another type.
    """
    types = get_type_hints(kind)
    answer: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise ValueError(f"'{text}' is not a setting of the form name=value")
        check_setting_name(kind, name)
        try:
            answer[name] = _value(value, types[name])
        except ValueError:
            raise ValueError(f"setting {name}: '{value}' is not {_words(types[name])}") from None
    return answer


def check_setting_name(kind: type[Any], name: str) -> None:
    """Refuse a name that is not a setting of the class.

    Raises:
        ValueError: naming it, with the nearest setting or, if none is near, all of them.
    """
    known = [field.name for field in fields(kind)]
    if name not in known:
        near = did_you_mean(name, known) or f" (its settings: {', '.join(known)})"
        raise ValueError(f"{kind.name} has no setting '{name}'{near}")


def setting_text(value: Any) -> str:
    """A value as the text that stands for it after `--set name=`."""
    if isinstance(value, tuple):
        return ",".join(map(setting_text, value)) or "()"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question to put behind an error: the known word nearest to a mistyped one; empty if none is near."""
    near = get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def describe_type(kind: Any) -> str:
    """What the values of a setting are, in words."""
    return _words(kind)


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
        return f"a list (a,b,c) whose items are each {_words(get_args(kind)[0])}"
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
    str: ("text", str),
}
