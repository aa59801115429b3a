"""Hyperparameter search: trials of a learner, scored on validation rows.

To add a sampler: a file with a function, and a line in the table of `samplers.py`.
"""

from tractable.learning.ensembles.bag import bag
from tractable.learning.ensembles.stacking import stack
from tractable.learning.tuning.journal import table_text
from tractable.learning.tuning.samplers import SAMPLERS
from tractable.learning.tuning.trial import Trial
from tractable.learning.tuning.tuned import Tuned, tune

__all__ = ["SAMPLERS", "Trial", "Tuned", "bag", "stack", "table_text", "tune"]
