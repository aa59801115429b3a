"""A bound on the work of compiling, so that a network that would explode is refused instead."""


class TooLargeError(ValueError):
    """Compiling a network takes more than was allowed."""


class CompileLimit:
    """Counts the entries that diagrams take and refuses to go past a limit, if there is one."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, entries: int) -> None:
        """Count some more entries.

        Raises:
            TooLargeError: when they are more than the limit allows.
        """
        self.spent += entries
        if self.limit is not None and self.spent > self.limit:
            raise TooLargeError(
                f"compiling the network takes at least {self.spent:,} entries,"
                f" more than the limit of {self.limit:,}"
            )
