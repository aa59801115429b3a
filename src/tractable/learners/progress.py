"""Moved to tractable.progress."""

from tractable.progress import Progress, Watch

__all__ = ["Progress", "Watch"]
