"""Everything is compiled beforehand, by using everything once on small tables: for images and for CI.

A new learner, parameter method or format is used as soon as it is registered. A new question to a circuit
gets a line in `questions.py`; a test fails for one that is missing there.
"""

from tractable.cli.warming.parts import PARTS, Part, WarmUp, parts_of, warm_up

__all__ = ["PARTS", "Part", "WarmUp", "parts_of", "warm_up"]
