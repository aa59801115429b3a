"""How long work reports its progress, is asked to stop, and keeps checkpoints."""

from tractable.progress.duration import seconds_in
from tractable.progress.watch import CheckpointStore, Progress, Watch

__all__ = ["CheckpointStore", "Progress", "Watch", "seconds_in"]
