"""The search for settings: trials of a learner, judged by their models' scores on validation rows.

Several models become one by stacking and bagging.

To add a sampler: a file with a function, and a line in the table of `samplers.py`.
"""

from tractable.tuning.bagging import bag
from tractable.tuning.samplers import SAMPLERS
from tractable.tuning.stacking import stack
from tractable.tuning.table import table_text
from tractable.tuning.trial import Trial
from tractable.tuning.tuned import Tuned, tune

__all__ = ["SAMPLERS", "Trial", "Tuned", "bag", "stack", "table_text", "tune"]
