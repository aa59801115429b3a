"""A write that fails leaves what was there, and nothing beside it."""

import errno
import os
import resource
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import small_network
from mixtures import mixture

from tractable.circuit.builder import Builder
from tractable.circuit.graph import Graph
from tractable.data.schema import discrete_schema
from tractable.formats import FORMATS, Document, write_circuit
from tractable.formats.atomic import new_folder, write_bytes

WRITTEN = [suffix for suffix, form in FORMATS.items() if form.write is not None]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", [full_disk, interrupted])
@pytest.mark.parametrize("step", ["replace", "fsync", "fdopen"])
def test_a_file_survives_a_failing_write(
    step: str, failure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.tract"
    write_circuit(Document(mixture()), path)
    before = contents(tmp_path)
    monkeypatch.setattr(os, step, failure)
    with pytest.raises(KeyboardInterrupt if failure is interrupted else OSError, match=r"No space|^$"):
        write_circuit(Document(small_network()), path)
    monkeypatch.undo()
    assert contents(tmp_path) == before


@pytest.mark.parametrize("call", [1, 2])
def test_a_folder_survives_a_failing_write(
    call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where folders cannot change places in one step."""
    monkeypatch.setattr("tractable.formats.atomic.swap_in_one_step", lambda *_: False)
    path = tmp_path / "c.spn"
    write_circuit(Document(mixture()), path)
    before = contents(tmp_path)
    rename, calls = os.rename, iter(range(1, 10))

    def fails_once(*names: Any) -> None:
        if next(calls) == call:
            full_disk()
        rename(*names)

    monkeypatch.setattr(os, "rename", fails_once)
    with pytest.raises(OSError, match="No space"):
        write_circuit(Document(mixture()), path)
    monkeypatch.undo()
    assert contents(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.spn"]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_folder_is_replaced_whole(at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not at_once:
        monkeypatch.setattr("tractable.formats.atomic.swap_in_one_step", lambda *_: False)
    wide, narrow = tmp_path / "wide.spn", tmp_path / "narrow.spn"
    write_circuit(Document(wide_mixture()), wide)
    assert (wide / "spac-3.ac").exists()
    write_circuit(Document(mixture()), wide)
    write_circuit(Document(mixture()), narrow)
    assert contents(wide) == contents(narrow)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["narrow.spn", "wide.spn"]


def wide_mixture() -> Graph:
    builder = Builder(discrete_schema([2]))
    builder.sum([builder.leaf("bernoulli", 0, [float(i)]) for i in range(3)], np.log([0.2, 0.3, 0.5]))
    return builder.freeze()


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "c.spn").mkdir()
    (tmp_path / "c.spn" / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"c\.spn.*'thesis\.txt'"):
        write_circuit(Document(mixture()), tmp_path / "c.spn")
    assert contents(tmp_path) == {"c.spn/thesis.txt": b"mine"}
    (tmp_path / "c.spn" / "thesis.txt").unlink()
    write_circuit(Document(mixture()), tmp_path / "c.spn")  # an empty folder is


def make_irregular(kind: str, path: Path) -> None:
    """Something at `path` that is no file; nothing but what a temporary folder may hold."""
    if kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    elif kind == "link to a pipe":
        os.mkfifo(path.with_name("pipe"))
        path.symlink_to("pipe")
    else:
        os.mkfifo(path)


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "socket", "folder"])
@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_is_no_file_is_not_written_over(
    suffix: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (suffix, kind) == (".spn", "folder"):
        return
    monkeypatch.chdir(tmp_path)  # the path of a socket has at most some 100 letters
    path = Path(f"c{suffix}")
    make_irregular(kind, path)
    before = path.lstat()
    with pytest.raises(FileExistsError, match=rf"c{suffix}'? is a"):
        write_circuit(Document(mixture()), path)
    assert (path.lstat().st_mode, path.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert not list(tmp_path.glob(".*"))


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in ("open", "fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, full_disk)
            with pytest.raises(OSError, match="No space") as caught:
                write_bytes(tmp_path / "c.tract", b"x")
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(tmp_path / "c.tract")


def test_a_folder_half_filled_vanishes(tmp_path: Path) -> None:
    def fill_half() -> None:
        with new_folder(tmp_path / "c.spn") as folder:
            (folder / "spac.m").write_text("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fill_half()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_does_not_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "c.spn").write_text("mine")
    with pytest.raises(FileExistsError, match=r"c\.spn is a file"):
        write_circuit(Document(mixture()), tmp_path / "c.spn")
    assert (tmp_path / "c.spn").read_text() == "mine"


SCRIPT = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from mixtures import mixture
from tractable.formats import Document, write_circuit
document = Document(mixture())
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
failed = []
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        write_circuit(document, path)
    except OSError:
        failed.append(path.suffix)
print(*failed)
"""


def test_every_format_survives_a_real_limit_on_file_size(tmp_path: Path) -> None:
    """In another process, since the limit cannot be lifted again."""
    for suffix in WRITTEN:
        write_circuit(Document(mixture()), tmp_path / f"c{suffix}")
    before = contents(tmp_path)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), str(Path(__file__).parents[1] / "support")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # else numba's own cache would meet the limit
    )
    assert sorted(answer.stdout.split()) == sorted(WRITTEN)
    assert contents(tmp_path) == before


def test_permissions_are_those_of_a_usual_file(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_bytes(tmp_path / "ours", b"")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "ours")}
    assert len(modes) == 1


def test_a_link_goes_on_pointing_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
