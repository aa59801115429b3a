"""Conversion of text in any encoding to UTF-8.

The encoding is detected by a byte-order mark or the zero bytes of UTF-16. Other text that is not UTF-8 is
read as Windows-1252 or Latin-1 with a warning, unless it seems to be damaged UTF-8.
"""

import codecs

import numpy as np

from tractable.data.problems import caution

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # which begins like the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 1 << 16
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\x0b\x0c\r\x1a"))  # no table has them


def as_utf8(raw: bytes, name: str, encoding: str | None = None) -> bytes:
    """The text in UTF-8 without a byte-order mark, from bytes in a given or detected encoding.

    Raises:
        ValueError: if the bytes are not text in that encoding.
    """
    if encoding is not None:
        return _recoded(raw, name, _checked(encoding)).removeprefix(codecs.BOM_UTF8)
    for mark, marked in _MARKS:
        if raw.startswith(mark):
            return _recoded(raw[len(mark) :], name, marked)
    detected = _encoding_of_zeros(raw)
    if detected is not None:
        return _recoded(raw, name, detected)
    if not _is_utf8(raw):
        raw = _from_eight_bits(raw, name)
    if b"\0" in raw:
        raise ValueError(f"{name}: byte {raw.index(0):,} is zero: the file is damaged or is not text")
    return raw


def _checked(encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError):  # a name with a zero is a ValueError
        raise ValueError(
            f"there is no encoding {encoding!r}; write, for example, utf-8, latin-1 or utf-16"
        ) from None
    if not codec._is_text_encoding:
        raise ValueError(
            f"{encoding!r} is not an encoding of text; write, for example, utf-8, latin-1 or utf-16"
        )
    return codec.name


def _recoded(raw: bytes, name: str, encoding: str) -> bytes:
    try:
        text = raw.decode(encoding)
        if "\0" in text:
            raise ValueError(
                f"{name}: character {text.index(chr(0)):,} is zero: the file is not text in {encoding}"
            )
        return text.encode()
    except UnicodeDecodeError as fault:
        words = f"byte {fault.start:,} is not text in {encoding}"
        raise ValueError(
            f"{name}: {words}; specify the encoding of the file (encoding=, --encoding)"
        ) from None
    except UnicodeEncodeError:  # half of a pair
        raise ValueError(f"{name}: the file is not text in {encoding}") from None


def _encoding_of_zeros(raw: bytes) -> str | None:
    """The variant of UTF-16 according to its zero bytes, since most characters of a table are ASCII."""
    sample = np.frombuffer(raw[: min(len(raw) // 2 * 2, _SAMPLE)], dtype=np.uint8)
    if not sample.size:
        return None
    even, odd = ((sample[start::2] == 0).mean() for start in (0, 1))
    if even == 0 and odd > 0.4:
        return "utf-16-le"
    return "utf-16-be" if odd == 0 and even > 0.4 else None


def _is_utf8(raw: bytes) -> bool:
    if raw.isascii():
        return True
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, len(raw)], dtype=np.int64))
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(raw)])
    try:
        text.validate(full=True)  # without a copy of the whole file
    except pa.ArrowInvalid:
        return False
    return True


def _from_eight_bits(raw: bytes, name: str) -> bytes:
    """Text that is not UTF-8, read as Windows-1252 or, for bytes that it lacks, Latin-1.

    Raises:
        ValueError: if it seems to be damaged UTF-8, or not to be text.
    """
    try:
        raw.decode()
        start = 0
    except UnicodeDecodeError as fault:
        start = fault.start
    lenient = raw.decode(errors="replace")
    broken = lenient.count("\ufffd")
    plain = len(lenient.encode("ascii", "ignore"))
    is_damaged = len(lenient) - broken - plain > broken  # letters of several bytes that are whole
    if is_damaged or len(raw.translate(None, _CONTROLS)) < len(raw):
        advice = "the file is damaged" if is_damaged else "if it is text, specify its encoding (--encoding)"
        raise ValueError(f"{name}: byte {start:,} is not valid UTF-8: {advice}")
    try:
        text, encoding = raw.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        text, encoding = raw.decode("latin-1"), "Latin-1"
    caution(
        f"{name}: byte {start:,} is not valid UTF-8: the file is read as {encoding}; if letters look wrong,"
        " specify its encoding (encoding=, --encoding)"
    )
    return text.encode()
