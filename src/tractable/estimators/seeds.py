"""Conversion of a `random_state` to a seed."""

from numbers import Integral
from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

RandomState: TypeAlias = int | np.random.RandomState | None


def seed_of(random_state: RandomState) -> int:
    """The seed of a `random_state`: an integer is the seed itself; a generator or None draws one.

    Raises:
        ValueError: if it is not a non-negative integer, a RandomState or None.
    """
    if isinstance(random_state, Integral) and 0 <= random_state < 2**64:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
