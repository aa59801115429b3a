"""Compiled sweeps over a circuit: upward, downward, maximum and sampling. Values are not normalised."""

from tractable.engine.draw import completions, samples
from tractable.engine.inputs import Regions
from tractable.engine.posterior import first_statistics, posteriors
from tractable.engine.shared import log_values
from tractable.engine.sweep import log_partition_function

__all__ = [
    "Regions",
    "completions",
    "first_statistics",
    "log_partition_function",
    "log_values",
    "posteriors",
    "samples",
]
