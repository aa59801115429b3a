"""A bound on the work of compilation, which refuses networks that would be too large."""

from tractable.base.progress import Watch


class TooLargeError(ValueError):
    """The error that compiling a network exceeds its limit."""


class CompileLimit:
    """Counts the entries that diagrams take, and refuses to go past a limit or a time budget."""

    def __init__(self, limit: int | None, watch: Watch | None = None) -> None:
        self.limit = limit
        self.watch = watch or Watch()
        self.spent = 0

    def spend(self, entries: int) -> None:
        """Count some more entries.

        Raises:
            TooLargeError: when they are more than the limit allows, or time is over.
            Stopped: if the work should stop for another reason.
        """
        self.spent += entries
        if self.limit is not None and self.spent > self.limit:
            raise TooLargeError(
                f"compiling the network takes at least {self.spent:,} entries,"
                f" more than the limit of {self.limit:,}"
            )
        if self.watch.out_of_time():
            raise TooLargeError(
                f"compiling the network is not done within its time budget, after {self.spent:,} entries"
            )
        self.watch.break_off()
