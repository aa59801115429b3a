"""What Semantic Versioning covers: the names below are public, and everything else is private."""

import tractable as tr
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS

PUBLIC = {
    "AnomalyScorer", "Circuit", "DSPNSVD", "GeneralisedBuilder", "GeneralisedCircuit", "HSICFeatures",
    "Interval", "MPE", "MarkovNetwork", "Schema", "States", "Table", "TableWarning",
    "TractableClassifier", "TractableImputer", "Tuned", "Variable", "Watch", "__version__", "bag",
    "clinic", "date_parts", "digits", "fit_parameters", "load", "mixture", "product", "read", "stack",
    "to_frame", "tune", "use_threads",
}  # fmt: skip


def test_the_public_names_are_those_that_the_project_stands_by() -> None:
    assert set(dir(tr)) == PUBLIC | set(LEARNERS.estimators) | set(CONDITIONAL.estimators)


def test_every_public_name_is_there() -> None:
    assert all(getattr(tr, name) is not None for name in dir(tr))
