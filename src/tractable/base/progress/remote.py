"""A watch that work in other processes reports to and is stopped by.

    with share(watch) as shared:
        Parallel(n_jobs=2)(delayed(work)(part, shared) for part in parts)

    def work(part, shared):
        with shared.connect() as watch:
            ...

The processes talk through sockets or pipes of this machine. No process is started for that.
"""

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from tractable.base.progress.checkpoints import Checkpoints, Place, Saved, join_path
from tractable.base.progress.codec import State
from tractable.base.progress.watch import InnerWatch, Progress, Watch
from tractable.base.progress.wish import StopWish

# ---- The listening side of a shared watch: a thread waits for other processes, and each of them has one
#      more.


Address: TypeAlias = str | tuple[str, int]

INTERRUPT = "interrupt"  # what processes are told when the work is interrupted
POLL_SECONDS = 0.05  # that pass between two looks at whether it is
JOIN_SECONDS = 1.0  # that threads have to end
BACKLOG = 64  # processes that may call at the same moment


class SavedPart(NamedTuple):
    """What another process saved of a part of the work."""

    path: str
    state: State
    finished: bool


class Switchboard:
    """Passes reports of other processes on to a watch, and its interrupts to them, while it is entered."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._threads: list[threading.Thread] = []
        self._closing = False
        self._fault: Exception | None = None  # the first that a report led to
        self.key = secrets.token_bytes(32)
        self._listener: Listener | None = None
        with suppress(OSError):  # where nothing can be listened to, others work without reports
            self._listener = Listener(backlog=BACKLOG, authkey=self.key)
        self.address: Address | None = None if self._listener is None else self._listener.address

    def __enter__(self) -> Self:
        if self._listener is not None:
            self._start(self._answer_calls, self._listener)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        if self._listener is not None:
            with suppress(OSError):  # a call without a word wakes the thread that waits for one
                Client(self._listener.address).close()
            self._join()
            self._listener.close()
        if fault is None and self._fault is not None:
            raise self._fault

    def _start(self, work: Callable[[Any], None], argument: Listener | Connection) -> None:
        thread = threading.Thread(target=work, args=(argument,), daemon=True)
        thread.start()
        self._threads.append(thread)

    def _join(self) -> None:
        """Wait until everything that was sent has been passed on, but not for a callback that hangs."""
        end = time.monotonic() + JOIN_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _answer_calls(self, listener: Listener) -> None:
        """Start a thread for each process that calls; if this one ended early, callers would wait in vain."""
        _block_broken_pipe_signal()
        while not self._closing:
            try:
                self._start(self._serve, listener.accept())
            except Exception:  # a process that ended while it called, or has no business here
                if not self._closing:
                    time.sleep(POLL_SECONDS)

    def _serve(self, connection: Connection) -> None:
        """Forward the reports of one process until it ends or the connection is closed."""
        _block_broken_pipe_signal()
        told = False
        with suppress(OSError, EOFError), connection:
            while True:
                if connection.poll(POLL_SECONDS):
                    self._take(connection.recv())
                elif self._closing:
                    return
                if not told and (self._watch.interrupted or self._fault is not None):
                    connection.send(INTERRUPT)
                    told = True

    def _take(self, message: Any) -> None:
        """Pass on a report, or what was saved of a part."""
        try:
            if not isinstance(message, SavedPart):
                self._watch.report(*message)
            elif self._watch.place.checkpoints is not None:
                self._watch.place.checkpoints.put(message.path, message.state, finished=message.finished)
        except Exception as fault:  # it belongs to the thread that shares the watch
            self._fault = self._fault or fault


def _block_broken_pipe_signal() -> None:
    """Have a broken pipe raise an error in this thread, also where the program has it end the process."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})


REPORT_SECONDS = 0.1  # that pass between two reports of a process, at least
LISTEN_SECONDS = 0.05  # that pass between two looks at what the parent says

_own: dict[bytes, tuple[int, Watch]] = {}  # the watches that are shared, by their key, each with its process


@dataclass(frozen=True)
class SharedWatch:
    """What another process needs to know of a watch; it is small and can be pickled."""

    address: Address | None  # where its process listens; None if it cannot
    key: bytes = field(repr=False)  # proves that a process was given this
    until: float | None  # the time of day at which the budget is used up
    path: str = ""  # of the part of the work that the watch is of
    saved: Saved | None = field(default=None, repr=False)  # of that part; None without checkpoints

    def part_only(self, name: str) -> "SharedWatch":
        """A copy that holds only what was saved of one part, because the rest need not be sent."""
        if self.saved is None:
            return self
        return replace(self, saved=self.saved.below(join_path(self.path, name)))

    @contextmanager
    def connect(self) -> Iterator[Watch]:
        """A watch for this process that reports to the shared one and is interrupted with it or by Ctrl-C.

        A process that cannot reach the shared watch, or loses it, works on: it still has its deadline.
        """
        process, own = _own.get(self.key, (None, None))
        if own is not None and process == os.getpid():  # a thread, or no parallel work at all
            yield InnerWatch(own)
            return
        left = None if self.until is None else self.until - time.time()
        with closing(_Line(self)) as line, _LineWatch(line, left, self) as watch:
            yield watch


@contextmanager
def share(watch: Watch) -> Iterator[SharedWatch]:
    """Let work in other processes report to a watch while the block runs.

    Whatever `on_progress` of the watch raises when another process reports is raised when the block ends.
    """
    until = None if watch.left is None else time.time() + watch.left
    with Switchboard(watch) as board:
        _own[board.key] = (os.getpid(), watch)
        try:
            yield SharedWatch(board.address, board.key, until, watch.place.path, watch.place.saved)
        finally:
            del _own[board.key]


class _Line:
    """A connection to the process that shares a watch; once it breaks it stays silent.

    Threads of this process may use it at the same time.
    """

    def __init__(self, shared: SharedWatch) -> None:
        self._connection: Connection | None = None
        self._lock = threading.RLock()
        self._reported_at = self._listened_at = -inf
        self._interrupted = False
        if shared.address is not None:
            with suppress(OSError, EOFError, AuthenticationError):
                self._connection = Client(shared.address, authkey=shared.key)

    def report(self, progress: Progress) -> None:
        """Send a report, unless the last one was sent just now."""
        if time.monotonic() - self._reported_at < REPORT_SECONDS:
            return
        with self._open_connection() as connection:
            if connection is not None:
                self._reported_at = time.monotonic()
                connection.send(tuple(progress))

    def save(self, part: SavedPart) -> None:
        """Send what was saved of a part."""
        with self._open_connection() as connection:
            if connection is not None:
                connection.send(part)

    def is_interrupted(self) -> bool:
        """Whether the other process has said that the work was interrupted."""
        if self._interrupted or time.monotonic() - self._listened_at < LISTEN_SECONDS:
            return self._interrupted
        with self._open_connection() as connection:
            if connection is not None and not self._interrupted:  # another thread may have heard it meanwhile
                self._listened_at = time.monotonic()
                self._interrupted = connection.poll() and connection.recv() == INTERRUPT
        return self._interrupted

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _open_connection(self) -> Iterator[Connection | None]:
        """The connection for one thread at a time; None if there is none any more."""
        with self._lock:
            try:
                yield self._connection
            except (OSError, EOFError):
                self.close()


class _LineCheckpoints(Checkpoints):
    """Checkpoints that go to the process that shares a watch as soon as they are made."""

    def __init__(self, line: _Line, saved: Saved) -> None:
        super().__init__(saved, None)
        self._line = line

    def _changed(self, path: str, state: State, finished: bool) -> None:
        self._line.save(SavedPart(path, state, finished))


class _LineWatch(Watch):
    """The watch of a process that works for another one."""

    def __init__(self, line: _Line, seconds: float | None, shared: SharedWatch) -> None:
        super().__init__(line.report)
        self.wish = StopWish(seconds, listen=line.is_interrupted)
        checkpoints = None if shared.saved is None else _LineCheckpoints(line, shared.saved)
        self.place = Place(checkpoints, shared.path)
