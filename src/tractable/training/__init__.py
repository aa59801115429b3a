"""One way to learn a model, and to record where it comes from."""

from tractable.training.checkpoint import CheckpointFile
from tractable.training.fit import fit_parameters, refit
from tractable.training.provenance import fingerprint, is_finished, provenance
from tractable.training.train import Trained, train

__all__ = [
    "CheckpointFile",
    "Trained",
    "fingerprint",
    "fit_parameters",
    "is_finished",
    "provenance",
    "refit",
    "train",
]
