"""Durations as users type them."""

import re

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")


def seconds_in(text: str) -> float:
    """The seconds in a text such as `90s`, `10m` or `1.5h`; a bare number counts seconds.

    Raises:
        ValueError: if the text is not such a duration.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None or float(found[1]) == 0:
        raise ValueError(f"'{text}' is no duration such as 90s, 10m or 1h")
    return float(found[1]) * SECONDS[found[2] or "s"]
