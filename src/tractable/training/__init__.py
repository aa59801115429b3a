"""One way to learn a model, and to record where it comes from."""

from tractable.training.checkpoint import CheckpointFile, CheckpointWarning
from tractable.training.fit import fit_parameters, refit
from tractable.training.lookup import find_circuit_learner, find_learner, make_learner
from tractable.training.provenance import fingerprint, is_finished, provenance
from tractable.training.train import Trained, train, train_network

__all__ = [
    "CheckpointFile",
    "CheckpointWarning",
    "Trained",
    "find_circuit_learner",
    "find_learner",
    "fingerprint",
    "fit_parameters",
    "is_finished",
    "make_learner",
    "provenance",
    "refit",
    "train",
    "train_network",
]
