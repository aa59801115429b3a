"""Reproducible random numbers from words: the mixing of bits that all draws share."""

import numpy as np

from tractable.base.arrays import Floats, Words


def mix_bits(word: Words) -> Words:
    """Words whose bits are mixed (the finaliser of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def as_uniform(word: Words) -> Floats:
    """Numbers in [0, 1) from the upper 53 bits of words."""
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53
