"""How long work reports its progress, is asked to stop, and keeps checkpoints."""

from tractable.progress.duration import seconds_in
from tractable.progress.inner import InnerWatch
from tractable.progress.remote import SharedWatch, share
from tractable.progress.watch import CheckpointStore, Progress, Watch

__all__ = [
    "CheckpointStore", "InnerWatch", "Progress", "SharedWatch", "Watch", "seconds_in", "share",
]  # fmt: skip
