"""How long work reports its progress, is asked to stop, and keeps checkpoints."""

from tractable.base.progress.checkpoints import (
    Checkpoints,
    CheckpointStore,
    MemoryCheckpoints,
    StoredCheckpoints,
)
from tractable.base.progress.duration import seconds_in
from tractable.base.progress.inner import InnerWatch
from tractable.base.progress.remote import SharedWatch, share
from tractable.base.progress.states import State, generator_state, restore_generator
from tractable.base.progress.watch import PLAIN, Form, Progress, Stopped, Watch

__all__ = [
    "PLAIN", "CheckpointStore", "Checkpoints", "Form", "InnerWatch", "MemoryCheckpoints", "Progress",
    "SharedWatch", "State", "Stopped", "StoredCheckpoints", "Watch", "generator_state",
    "restore_generator", "seconds_in", "share",
]  # fmt: skip
