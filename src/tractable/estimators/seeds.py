"""The seed in a `random_state`."""

from numbers import Integral
from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

RandomState: TypeAlias = int | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """The seed that a `random_state` stands for: a whole number is one, as `--seed` is; others draw one.

    Raises:
        ValueError: if it is neither a whole number from 0 up, a RandomState nor None.
    """
    if isinstance(random_state, Integral) and 0 <= random_state < 2**64:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
