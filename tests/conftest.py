"""What all tests share: what a learner needs that not every machine has, and how much `auto` tries."""

import os
import signal

import pytest

# Tests run side by side: threads of matrix products would wait for each other's cores. It is read when numpy
# is imported.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell starts what runs in its background with interrupts ignored, and tests interrupt themselves.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NEEDS_TORCH = "gaclearn"
AUTO = {"auto", "AutoTractable"}  # as a learner and as an estimator


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a case of a learner that needs PyTorch, if there is none."""
    if NEEDS_TORCH in names_in(item):
        pytest.importorskip("torch")


def names_in(item: pytest.Item) -> set[str]:
    """The names of learners and estimators among the parameters of a case."""
    call = getattr(item, "callspec", None)
    values = call.params.values() if call is not None else ()
    return {v if isinstance(v, str) else getattr(v, "__name__", type(v).__name__) for v in values}


@pytest.fixture(autouse=True)
def auto_tries_little(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where `auto` is tested as one of many learners, it tries two others, once each: its promises stay.

    What it tries is tested in `test_auto.py`.
    """
    if names_in(request.node) & AUTO:
        from tractable.learning.ensembles.auto import candidates, search

        monkeypatch.setattr(search, "kinds_for", lambda facts: candidates.kinds_for(facts)[:2])
        monkeypatch.setattr(
            search, "candidates_for", lambda kind, facts: candidates.candidates_for(kind, facts)[:1]
        )
