"""One way to learn a model and to record where it comes from."""

from tractable.training.fit import fit_parameters

__all__ = ["fit_parameters"]
