"""Training of models with a record of their provenance."""

from tractable.learning.training.checkpoint import CheckpointFile, CheckpointWarning
from tractable.learning.training.provenance import (
    find_circuit_learner,
    find_learner,
    fingerprint,
    is_finished,
    make_learner,
    provenance,
)
from tractable.learning.training.train import Trained, fit_parameters, refit, train, train_network

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
