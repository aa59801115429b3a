"""What all tests share: those of learners that need an extra are skipped where it is not installed."""

import pytest

NEEDS_TORCH = "gaclearn"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a case of a learner that needs PyTorch, if there is none."""
    call = getattr(item, "callspec", None)
    if call is not None and any(isinstance(p, str) and p == NEEDS_TORCH for p in call.params.values()):
        pytest.importorskip("torch")
