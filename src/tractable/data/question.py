"""Parsing of queries such as `P(smoker=yes, sex=f | age=40-60)`.

A condition is `name=value` (or `==`), `name!=value`, `name in {a, b}`, `name=[low, high]`, or `<`, `<=`, `>`,
`>=` with a number, a date (`when > 2020-03-01`) or a state of an ordinal column, also as `low <= name <
high`. Names and values with a comma, a bar or an operator must be quoted, with single or double quotes; a
quote inside them is doubled. Several conditions on a column are combined by conjunction.
"""

import re
from math import ceil, floor, inf, isfinite, nextafter

import numpy as np

from tractable.data.evidence import Evidence, Finding, allowed_states, both, evidence_of, mask, one_of, within
from tractable.data.schema import Schema, Variable

_QUOTED = re.compile(r"""(?:^|(?<=[,=<>{\[(|]))(\s*)('(?:[^']|'')*'|"(?:[^"]|"")*")""")
_PRIVATE = range(0xE000, 0xF900)  # characters without a meaning; one that a text lacks can mark a place in it
_OPERATOR = re.compile(r"!=|<=|>=|==|=|<|>|\bin\b(?=\s*[{\[])")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}  # comparisons read from the right
_QUESTION = re.compile(r"\s*[Pp]\s*\((.*)\)\s*", re.DOTALL)


def parse_question(text: str, schema: Schema) -> tuple[Evidence, Evidence]:
    """The query and the evidence in `P(... | ...)`, whose second half may be absent.

    Raises:
        ValueError: naming the invalid part.
    """
    match = _QUESTION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a query of the form P(name=value, ... | name=value, ...)")
    inner, quoted = _hold_quoted(match[1])
    parts = _split(inner, "|")
    if len(parts) > 2:
        raise ValueError(f"{text!r} has more than one bar '|'")
    if not parts[0].strip():
        raise ValueError(f"{text!r} asks for nothing")
    asked, given = (_evidence(part, quoted, schema) for part in (*parts, "")[:2])
    return asked, given


def parse_conditions(text: str, schema: Schema) -> Evidence:
    """The evidence in a list of conditions such as `age=40-60, sex=f`, which may be empty.

    Raises:
        ValueError: naming the invalid part.
    """
    held, quoted = _hold_quoted(text)
    return _evidence(held, quoted, schema)


class _Quoted:
    """The quoted parts of a text, which are replaced by placeholders during parsing."""

    def __init__(self, text: str) -> None:
        used = set(text)
        mark = next((chr(code) for code in _PRIVATE if chr(code) not in used), None)
        if mark is None:
            raise ValueError("a query has too many different private-use characters")
        self._mark = mark
        self._held = re.compile(f"{mark}(\\d+){mark}")
        self._parts: list[str] = []

    def hold(self, match: re.Match[str]) -> str:
        """The placeholder of a quoted part, which is stored without its quotes."""
        quote = match[2][0]
        self._parts.append(match[2][1:-1].replace(quote * 2, quote))
        return f"{match[1]}{self._mark}{len(self._parts) - 1}{self._mark}"

    def restore(self, text: str) -> str:
        """The stripped text with its quoted parts restored."""
        return self._held.sub(lambda match: self._parts[int(match[1])], text.strip())


def _hold_quoted(text: str) -> tuple[str, _Quoted]:
    """The text with each quoted part replaced by a placeholder, and the quoted parts."""
    quoted = _Quoted(text)
    return _QUOTED.sub(quoted.hold, text), quoted


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators outside brackets of any kind."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == separator and depth <= 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _evidence(text: str, quoted: _Quoted, schema: Schema) -> Evidence:
    known: dict[int, Finding] = {}
    for part in _split(text, ",") if text.strip() else []:
        for name, operator, value in _conditions(part, quoted, schema):
            column = schema.column(name)
            finding = _condition(schema[column], operator, value, quoted)
            known[column] = both(schema[column], known[column], finding) if column in known else finding
    return evidence_of(known, schema)


def _conditions(part: str, quoted: _Quoted, schema: Schema) -> list[tuple[str, str, str]]:
    """The name, operator and value of each condition: two in `low <= name < high`, otherwise one."""
    operator = _OPERATOR.search(part)
    if operator is None:
        raise ValueError(f"{quoted.restore(part)!r} is not a condition of the form name=value")
    left, right = part[: operator.start()].strip(), part[operator.end() :].strip()
    name = quoted.restore(left)
    if operator[0] not in _TURNED or name in schema.names:
        return [(name, operator[0], right)]
    second = _OPERATOR.search(right)
    middle = right if second is None else right[: second.start()]
    name_after = quoted.restore(middle)
    if name_after not in schema.names or (second is not None and second[0] not in _TURNED):
        return [(name, operator[0], right)]
    first = (name_after, _TURNED[operator[0]], left)
    return [first] if second is None else [first, (name_after, second[0], right[second.end() :].strip())]


def _condition(variable: Variable, operator: str, value: str, quoted: _Quoted) -> Finding:
    if not value:
        raise ValueError(f"the condition on '{variable.name}' has no value")
    if operator == "!=":
        return _differs(variable, _equals(variable, value, quoted))
    if operator in ("=", "==", "in"):
        return _equals(variable, value, quoted)
    return _comparison(variable, operator, quoted.restore(value))


def _equals(variable: Variable, value: str, quoted: _Quoted) -> Finding:
    """The evidence of `name=value`: a state with this text, otherwise a set, an interval or a number."""
    text = quoted.restore(value)
    if text in map(str, variable.states):
        return variable.code(text)
    if value[0] + value[-1] not in ("{}", "[]"):
        return _truth(variable, text)
    items = [quoted.restore(item) for item in _split(value[1:-1], ",")]
    textual = any(isinstance(s, str) for s in variable.states)
    if variable.is_categorical and (value[0] == "{" or textual):
        return one_of(variable, items)
    if value[0] == "{" or len(items) != 2:
        raise ValueError(f"column '{variable.name}': {text!r} is not an interval [low, high]")
    return within(variable, items[0] or None, items[1] or None)


def _truth(variable: Variable, text: str) -> float:
    """The code of a value; Booleans may be written in any case."""
    capital = text.capitalize()
    return variable.code(
        capital if set(variable.states) == {False, True} and capital in ("True", "False") else text
    )


def _differs(variable: Variable, finding: Finding) -> Finding:
    if not variable.is_categorical:
        raise ValueError(f"column '{variable.name}' is {variable.kind}: '!=' does not apply to it")
    return allowed_states(variable, ~mask(variable, finding))


def _comparison(variable: Variable, operator: str, text: str) -> Finding:
    if variable.kind == "ordinal" and variable.has_text_states:
        return _state_comparison(variable, operator, variable.code(text))
    try:
        bound = variable.bound(text)
    except ValueError as fault:
        if variable.is_time:
            raise
        raise ValueError(f"column '{variable.name}': {text!r} after '{operator}' is not a number") from fault
    if operator[0] == ">":
        return within(variable, bound if operator == ">=" else _next(variable, bound, inf), None)
    return within(variable, None, bound if operator == "<=" else _next(variable, bound, -inf))


def _state_comparison(variable: Variable, operator: str, code: float) -> Finding:
    """The evidence of a comparison with a state in the order of the states."""
    codes = np.arange(variable.cardinality)
    allowed = codes > code if operator[0] == ">" else codes < code
    return allowed_states(variable, allowed | (codes == code) if operator[1:] else allowed)


def _next(variable: Variable, bound: float, towards: float) -> float:
    """The nearest value beyond an excluded bound; bounds of real intervals have probability zero anyway."""
    if variable.is_categorical:
        return nextafter(bound, towards)
    if not variable.is_whole:
        return bound
    return bound if not isfinite(bound) else floor(bound) + 1.0 if towards > 0 else ceil(bound) - 1.0
