"""Output of commands: answers on standard output, notes on standard error."""

import sys
from collections.abc import Sequence
from io import BufferedWriter, RawIOBase, TextIOWrapper
from math import exp, isfinite
from typing import Any

LARGEST = 700.0  # the logarithm of a number that is still printed as one
INTERRUPTED = "tractable: interrupted; this is the best model so far"
SAMPLED = "≈ approximate: estimated by Gibbs sampling, ± one standard error"


def answer(facts: dict[str, Any], text: str, as_json: bool) -> None:
    """Print the answer of a command as one JSON object or as text."""
    if as_json:
        from tractable.cli.reports.json_text import to_json

        text = to_json(facts)
        if not _is_printable(text):  # JSON has escapes of its own
            text = to_json(facts, ascii_only=True)
    _write(text.rstrip("\n") + "\n")


def prepare_output() -> None:
    r"""Let standard output print characters that its encoding lacks as escapes such as `\xe4`.

    Unbuffered output (PYTHONUNBUFFERED) gets a buffer, because Python does not notice otherwise that a full
    disk has truncated a text.
    """
    if isinstance(sys.stdout, TextIOWrapper) and isinstance(sys.stdout.buffer, RawIOBase):
        buffer = BufferedWriter(sys.stdout.buffer)
        sys.stdout = TextIOWrapper(buffer, encoding=sys.stdout.encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_data(text: str) -> None:
    """Print output for another program; files and pipes get UTF-8 instead of escapes."""
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
    """Whether the encoding of standard output has all characters of a text."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def note(text: str, quiet: bool) -> None:
    """Print a note on standard error."""
    if not quiet:
        sys.stderr.write(text + "\n")


def lines(rows: Sequence[tuple[str, object]]) -> str:
    """Names and values on separate lines, with the values aligned."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}  {_value_text(value)}" for name, value in rows)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def probability(log_prob: float) -> str:
    """A probability or density with a few digits, also if it overflows or underflows."""
    return (
        f"exp({log_prob:.6g})" if abs(log_prob) > LARGEST and isfinite(log_prob) else f"{exp(log_prob):.6g}"
    )


def amount(log_prob: float, kind: str) -> str:
    """A probability with a few digits; a density is labelled, since it may exceed one and has a unit."""
    return probability(log_prob) + (" (density)" if kind == "density" else "")


def likelihood_of(facts: dict[str, Any]) -> str:
    """The kind of a log-likelihood in words: of probabilities, or of a density over some columns."""
    what = "probabilities"
    if facts["density"]:
        what = f"a density, in {count(facts['density_columns'], 'real column')}"
    if not facts.get("inputs"):
        return what
    return f"{what} of {count(facts['targets'], 'target')} given {count(facts['inputs'], 'input')}"


def count(number: int, noun: str) -> str:
    """A number with a noun: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
