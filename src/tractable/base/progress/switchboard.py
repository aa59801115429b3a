"""The listening side of a shared watch: a thread waits for other processes, and each of them has one more."""

import secrets
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from tractable.base.progress.codec import State
from tractable.base.progress.watch import Watch

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
