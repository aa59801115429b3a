"""How long work reports its progress, is asked to stop, and keeps checkpoints."""

from tractable.progress.checkpoints import Checkpoints, CheckpointStore, StoredCheckpoints
from tractable.progress.duration import seconds_in
from tractable.progress.inner import InnerWatch
from tractable.progress.interrupts import note_interrupts, raise_if_interrupted
from tractable.progress.remote import SharedWatch, share
from tractable.progress.states import State, generator_state, restore_generator
from tractable.progress.watch import Form, Progress, Stopped, Watch

__all__ = [
    "CheckpointStore", "Checkpoints", "Form", "InnerWatch", "Progress", "SharedWatch", "State",
    "Stopped", "StoredCheckpoints", "Watch", "generator_state", "note_interrupts",
    "raise_if_interrupted", "restore_generator", "seconds_in", "share",
]  # fmt: skip
