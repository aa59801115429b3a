"""How long work reports its progress, is asked to stop, and keeps checkpoints."""

from tractable.base.progress.checkpoints import (
    Checkpoints,
    CheckpointStore,
    MemoryCheckpoints,
    StoredCheckpoints,
)
from tractable.base.progress.codec import (
    LAYOUT,
    NO_FORMS,
    Form,
    Forms,
    Key,
    State,
    decode,
    encode,
    generator_state,
    restore_generator,
)
from tractable.base.progress.remote import SharedWatch, share
from tractable.base.progress.watch import InnerWatch, Progress, Stopped, Watch
from tractable.base.progress.wish import seconds_in

__all__ = [
    "LAYOUT", "NO_FORMS", "CheckpointStore", "Checkpoints", "Form", "Forms", "InnerWatch", "Key",
    "MemoryCheckpoints", "Progress", "SharedWatch", "State", "Stopped", "StoredCheckpoints", "Watch",
    "decode", "encode", "generator_state", "restore_generator", "seconds_in", "share",
]  # fmt: skip
