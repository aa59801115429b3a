"""Every learner keeps a time budget, on numbers as on states; `make fuzz KINDS=budgets` tries more."""

import numpy as np
import pytest

from fuzz.budgets import KINDS, categorical_table, learn, numeric_table, overshoot
from tractable.base.progress import Watch

BUDGET, GRACE = 0.25, 2.5  # seconds; those beyond the budget are of CPU time
SLOW_TO_START = {"gaclearn"}  # it imports PyTorch


@pytest.mark.parametrize("name", [name for name in KINDS if name not in SLOW_TO_START])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_budget_is_kept(name: str) -> None:
    rng = np.random.default_rng(0)
    taken = 0
    for table in (numeric_table(rng, 1500, 40), categorical_table(rng, 1500, 80)):
        try:
            learn(name, table.take(slice(0, 50)), Watch(seconds=0.1), rng)  # what is compiled and imported
            beyond, told = overshoot(name, table, BUDGET, rng)
        except ValueError:  # a learner of categorical columns only
            continue
        taken += 1
        assert beyond < GRACE, told
    assert taken
