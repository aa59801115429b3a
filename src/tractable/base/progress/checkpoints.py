"""What was saved of some work: the states of its unfinished parts and the results of its finished ones."""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tractable.base.progress.codec import Key, State, state_from_bytes, state_to_bytes

CHECKPOINT_SECONDS = 20.0  # that pass between two states of a part, and between two writes, at least
MOST_SECONDS = 30.0  # that pass at most where saving takes long ...
SHARE = 0.01  # ... so that it takes about this part of the time


class CheckpointStore(Protocol):
    """A place that holds the last checkpoint of long work, from which a later run goes on."""

    def read(self) -> bytes | None:
        """The last checkpoint; None if there is none."""

    def write(self, checkpoint: bytes) -> None:
        """Replace the last checkpoint."""


class Saved(NamedTuple):
    """States and results by the path of their part, such as `tree 2/online EM`."""

    states: dict[str, State]
    results: dict[str, State]

    def below(self, path: str) -> "Saved":
        """What was saved of a part and of the parts within it."""
        return Saved(*({p: s for p, s in some.items() if _is_below(p, path)} for some in self))


class Checkpoints:
    """What was saved of some work, by the path of each part. Threads may use it at the same time."""

    def __init__(self, saved: Saved, seconds: float | None) -> None:
        self._saved = saved
        self._least = CHECKPOINT_SECONDS if seconds is None else seconds
        self._pause = self._least
        self._made_at: dict[str, float] = {}  # when the state of a part was made last, or first asked for
        self._lock = threading.RLock()

    def find(self, path: str, *, finished: bool) -> State | None:
        """The result of a finished part, or the last state of an unfinished one; None if there is none."""
        return (self._saved.results if finished else self._saved.states).get(path)

    def below(self, path: str) -> Saved:
        """What was saved of a part and of the parts within it."""
        with self._lock:
            return self._saved.below(path)

    def save_state(self, path: str, make: Callable[[], State]) -> None:
        """Save the state of a part that `make` returns, if the last one is old enough."""
        now = time.monotonic()
        if now - self._made_at.setdefault(path, now) >= self._pause:
            state = make()
            self._made_at[path] = time.monotonic()
            self.put(path, state, finished=False)

    def put(self, path: str, state: State, *, finished: bool) -> None:
        """Save a state or a result; a finished part needs no states, nor results of parts within it."""
        with self._lock:
            if finished:
                for some in self._saved:
                    for old in [p for p in some if _is_below(p, path)]:
                        del some[old]
            (self._saved.results if finished else self._saved.states)[path] = state
            self._changed(path, state, finished)
        self.write_if_due()

    def _changed(self, path: str, state: State, finished: bool) -> None:
        """Take note that something was saved."""

    def write_if_due(self) -> None:
        """Write what was saved, if anything was and the last write is old enough."""


class MemoryCheckpoints(Checkpoints):
    """Checkpoints that are written nowhere: work that was stopped goes on from them in the same process."""

    def __init__(self) -> None:
        super().__init__(Saved({}, {}), None)


class StoredCheckpoints(Checkpoints):
    """Checkpoints that are written to a store.

    `seconds` pass between two writes at least, and as many between two states of one part.
    """

    def __init__(self, store: CheckpointStore, seconds: float | None = None) -> None:
        data = store.read()
        super().__init__(Saved({}, {}) if data is None else Saved(*state_from_bytes(data)), seconds)
        self._store = store
        self._written_at = time.monotonic()
        self._is_dirty = False

    def _changed(self, path: str, state: State, finished: bool) -> None:
        self._is_dirty = True

    def write_if_due(self) -> None:
        """Write what was saved, if anything was and the last write is old enough."""
        if not self._is_dirty or time.monotonic() - self._written_at < self._pause:
            return
        with self._lock:
            if self._is_dirty:
                begin = time.monotonic()
                self._is_dirty = False
                self._store.write(state_to_bytes(self._saved))
                self._written_at = time.monotonic()
                self._pause = max(self._least, min(MOST_SECONDS, (self._written_at - begin) / SHARE))
                self._pause = self._pause if self._least else 0.0


class Place(NamedTuple):
    """Where the checkpoints of a part of some work are; nowhere without any."""

    checkpoints: Checkpoints | None
    path: str = ""

    def part(self, name: str) -> "Place":
        """The place of a part within this one."""
        return self._replace(path=join_path(self.path, name))

    @property
    def saved(self) -> Saved | None:
        """What was saved of this part; None without checkpoints."""
        return None if self.checkpoints is None else self.checkpoints.below(self.path)

    def find(self, key: Key[Any], *, finished: bool) -> State | None:
        """What was saved under a key, as a result or as a state."""
        path = self.part(key.path).path
        return None if self.checkpoints is None else self.checkpoints.find(path, finished=finished)

    def write_if_due(self) -> None:
        """Write what was saved, if anything was and the last write is old enough."""
        if self.checkpoints is not None:
            self.checkpoints.write_if_due()


def join_path(path: str, name: str) -> str:
    """The path of a part within another."""
    return f"{path}/{name}" if path else name


def _is_below(path: str, part: str) -> bool:
    return not part or path == part or path.startswith(part + "/")
