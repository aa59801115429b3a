"""What commands print: answers on standard output, notes on standard error."""

import sys
from collections.abc import Sequence
from io import BufferedWriter, RawIOBase, TextIOWrapper
from math import exp, isfinite
from typing import Any

LARGEST = 700.0  # the logarithm of a number that is still printed as one
INTERRUPTED = "tractable: interrupted; this is the best model so far"
SAMPLED = "≈ approximate: estimated by Gibbs sampling, ± one standard error"


def answer(facts: dict[str, Any], text: str, as_json: bool) -> None:
    """Print the answer of a command, as one JSON object or as text."""
    if as_json:
        from tractable.cli.reports.json_text import to_json

        text = to_json(facts)
        if not _is_printable(text):  # JSON has escapes of its own
            text = to_json(facts, ascii_only=True)
    _write(text.rstrip("\n") + "\n")


def prepare_output() -> None:
    """Let standard output print a letter that the terminal's encoding lacks as an escape, `\\xe4`.

    Without a buffer (PYTHONUNBUFFERED) Python does not notice that a full disk took a part of a text only, so
    that it gets one.
    """
    if isinstance(sys.stdout, TextIOWrapper) and isinstance(sys.stdout.buffer, RawIOBase):
        buffer = BufferedWriter(sys.stdout.buffer)
        sys.stdout = TextIOWrapper(buffer, encoding=sys.stdout.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_data(text: str) -> None:
    """Print what another program is to read; in a file or a pipe it is UTF-8 rather than full of escapes."""
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.isatty() and not _is_printable(text):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    else:
        _write(text)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def _is_printable(text: str) -> bool:
    """Whether the encoding of standard output has all letters of a text."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def note(text: str, quiet: bool) -> None:
    """Tell something that is no answer."""
    if not quiet:
        sys.stderr.write(text + "\n")


def lines(rows: Sequence[tuple[str, object]]) -> str:
    """Names and values under each other, the values aligned."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}  {_value_text(value)}" for name, value in rows)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def probability(log_prob: float) -> str:
    """A probability or density in a few digits, also one too small or too large for a number."""
    return (
        f"exp({log_prob:.6g})" if abs(log_prob) > LARGEST and isfinite(log_prob) else f"{exp(log_prob):.6g}"
    )


def amount(log_prob: float, kind: str) -> str:
    """A probability in a few digits; a density is called one, since it may exceed one and has a unit."""
    return probability(log_prob) + (" (density)" if kind == "density" else "")


def likelihood_of(facts: dict[str, Any]) -> str:
    """What a log-likelihood is of, in words: probabilities, or a density in some columns."""
    what = "probabilities"
    if facts["density"]:
        what = f"a density, in {count(facts['density_columns'], 'real column')}"
    if not facts.get("inputs"):
        return what
    return f"{what} of {count(facts['targets'], 'target')} given {count(facts['inputs'], 'input')}"


def count(number: int, noun: str) -> str:
    """A number of things: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
