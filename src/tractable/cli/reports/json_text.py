"""Answers as JSON, for other programs."""

import json
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any


def to_json(facts: dict[str, Any], *, ascii_only: bool = False) -> str:
    """Facts as JSON on one line; a number that JSON lacks (the logarithm of zero) becomes null."""
    return json.dumps(plain(facts), ensure_ascii=ascii_only, allow_nan=False)


def plain(value: Any) -> Any:
    """A value in the types that JSON has."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return plain(value.tolist())
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value
