"""NamedArrays and a header in one safetensors file, with a checksum of both."""

import json
from hashlib import blake2b
from pathlib import Path

from safetensors import safe_open

from tractable.base.named_arrays import NamedArrays


def in_order(data: bytes, metadata: dict[str, str]) -> bytes:
    """The file with sorted metadata, which the safetensors library writes in varying order.

    A safetensors file begins with the size of its header as eight bytes. The header is JSON, and spaces make
    its size a multiple of eight.
    """
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size]) | {"__metadata__": metadata}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


def digest(header: str, tensors: NamedArrays) -> str:
    """A checksum of the header and of every tensor."""
    checksum = blake2b(header.encode("utf-8"), digest_size=16)
    for name in sorted(tensors):
        array = tensors[name]
        checksum.update(f"{name} {array.dtype.str} {array.shape}".encode())
        checksum.update(array.data)
    return checksum.hexdigest()


def open_tensors(path: Path) -> tuple[NamedArrays, dict[str, str]]:
    """The tensors and the metadata of a safetensors file."""
    with path.open("rb"):
        pass  # a file that cannot be opened is the system's error, not a damaged file
    try:
        with safe_open(path, framework="np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except Exception as error:  # the library reports damage by many types of exception
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"the file is damaged or cut short ({reason})") from None
