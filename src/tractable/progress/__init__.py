"""How long work reports its progress, is asked to stop, and keeps checkpoints."""

from tractable.progress.duration import seconds_in
from tractable.progress.watch import Notebook, Progress, Watch

__all__ = ["Notebook", "Progress", "Watch", "seconds_in"]
