"""Training of models with a record of their provenance."""

from tractable.learning.training.checkpoint import CheckpointFile, CheckpointWarning
from tractable.learning.training.fit import fit_parameters, refit
from tractable.learning.training.lookup import find_circuit_learner, find_learner, make_learner
from tractable.learning.training.provenance import fingerprint, is_finished, provenance
from tractable.learning.training.train import Trained, train, train_network

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
