"""What all tests share: the quick ones, what not every machine has, and how much `auto` tries."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings
from slow import SLOW_LEARNERS, SLOW_TESTS

# Tests run side by side: threads of matrix products would wait for each other's cores. It is read when numpy
# is imported.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# A shell starts what runs in its background with interrupts ignored, and tests interrupt themselves.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
NEEDS_TORCH = "gaclearn"
AUTO = {"auto", "AutoTractable"}  # as a learner and as an estimator


QUICK_EXAMPLES = 15  # of a law that does not say how many it needs


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of `make quick`."""
    parser.addoption("--quick", action="store_true", help="leave out what takes long (tests/support/slow.py)")


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples of each law in a quick run."""
    if config.getoption("quick"):
        settings.register_profile("quick", max_examples=QUICK_EXAMPLES)
        settings.load_profile("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of a quick run what takes long."""
    if config.getoption("quick"):
        slow = slow_names()
        left_out = [item for item in items if is_slow(item, slow)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_slow(item, slow)]


def slow_names() -> set[str]:
    """The names of slow learners and of their estimators."""
    from tractable.learning.conditional import CONDITIONAL
    from tractable.learning.joint import LEARNERS

    known = [
        (registry, name) for registry in (LEARNERS, CONDITIONAL) for name in SLOW_LEARNERS & set(registry)
    ]
    return SLOW_LEARNERS | {registry.estimator_of(name) or name for registry, name in known}


def is_slow(item: pytest.Item, slow: set[str]) -> bool:
    """Whether a case is left out of a quick run."""
    file = item.path.relative_to(TESTS).as_posix()
    name = item.name.partition("[")[0]
    return name in SLOW_TESTS.get(file, ()) or bool(names_in(item) & slow)


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
