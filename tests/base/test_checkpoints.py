"""Every learner that was killed goes on to the very model of an uninterrupted run, and stops soon at Ctrl-C.

The tests run for every learner of both tables of learners, also for those that will be added.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import save
from small_settings import SMALL
from small_tables import categorical_table, is_normalised, mixed_table

import tractable.learning
from tractable.base.arrays import AnyArray, Bools, Ints
from tractable.base.compiled import Trial
from tractable.base.compiling import on_compile
from tractable.base.interrupts import note_interrupts, raise_if_interrupted
from tractable.base.progress import Key, StoredCheckpoints, Watch, generator_state, restore_generator, share
from tractable.base.progress.codec import decode, encode, state_from_bytes, state_to_bytes
from tractable.base.threads import use_threads
from tractable.circuit import Graph
from tractable.circuit.states import graph_from_state, graph_state
from tractable.data import Table, discrete_schema
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.joint.idspn.learner import IDSPNLearner
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.networks import Network

QUICK = {"independent", "chow-liu"}  # learners that go through the rows once and need no checkpoints
MOST_RUNS = 40  # that a learner may need that was killed about eight times
STOP_SECONDS = 3.0  # of the process's own time, from Ctrl-C to the model
PART, STEP, OTHER = Key(__name__, "part", list[int]), Key(__name__, "step", int), Key(__name__, "other", int)
every_learner = pytest.mark.parametrize("name", [*LEARNERS, *CONDITIONAL, *NETWORK_LEARNERS])


# ---- states ---------------------------------------------------------------------------------------------

some_arrays = st.sampled_from(("float64", "float32", "int64", "int32", "uint8", "bool")).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=3))
)
some_states = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | some_arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def assert_same_state(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same_state(one[key], other[key])
    elif isinstance(one, list):
        for mine, theirs in zip(one, other, strict=True):
            assert_same_state(mine, theirs)
    else:
        assert one == other


@given(some_states)
def test_a_state_is_read_as_it_was_written(state: Any) -> None:
    assert_same_state(state_from_bytes(state_to_bytes(state)), state)
    assert_same_state(decode(Any, state_from_bytes(state_to_bytes(encode(state)))), state)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="the state is damaged"):
        state_from_bytes(data)


@settings(max_examples=10)
@given(st.integers(0, 100), st.integers(0, 50))
def test_a_generator_goes_on_where_another_one_was(seed: int, drawn: int) -> None:
    rng, other = np.random.default_rng(seed), np.random.default_rng(0)
    rng.integers(0, 10, drawn, dtype=np.uint32)
    restore_generator(other, state_from_bytes(state_to_bytes(generator_state(rng))))
    np.testing.assert_array_equal(other.random(5), rng.random(5))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_circuit_is_read_as_it_was_written(name: str) -> None:
    graph = LEARNERS[name](**SMALL.get(name, {})).learn(mixed_table(60), np.random.default_rng(0))
    state = state_from_bytes(state_to_bytes(graph_state(graph)))
    assert same_model(graph_from_state(state, graph.schema), graph)


class Kind(Enum):
    """What a value of several names may be."""

    RED, BLUE = "red", "blue"


class Point(NamedTuple):
    """A named tuple."""

    place: tuple[int, float]
    label: Literal["a", "b"]


@dataclass(frozen=True, eq=False)
class Shape:
    """A dataclass with everything that states are made of."""

    corners: list[Point]
    bits: Bools
    counts: Ints
    far: AnyArray
    names: dict[str, tuple[str, ...]]
    inner: "Shape | Point | None" = None
    kind: Kind = Kind.RED
    size: float = field(default=0.0, init=False)


points = st.builds(Point, st.tuples(st.integers(), st.floats(allow_nan=False)), st.sampled_from("ab"))
shapes = st.builds(
    Shape,
    st.lists(points, max_size=2),
    arrays.arrays(np.bool_, arrays.array_shapes(min_dims=0, min_side=0, max_side=3)),
    arrays.arrays(np.int64, arrays.array_shapes(min_dims=0, min_side=0, max_side=3)),
    some_arrays,
    st.dictionaries(st.text(), st.tuples(st.text()), max_size=2),
    st.none() | st.builds(Point, st.just((1, 2.0)), st.just("b")),
    st.sampled_from(Kind),
)  # fmt: skip


@given(shapes, st.booleans())
def test_a_value_is_read_by_its_type_as_it_was_written(shape: Shape, is_nested: bool) -> None:
    shape = replace(shape, inner=shape) if is_nested else shape
    state = encode(shape)
    again = decode(Shape, state_from_bytes(state_to_bytes(state)))
    assert repr(again) == repr(shape)
    for name in ("bits", "counts", "far"):
        assert_same_state(getattr(again, name), getattr(shape, name))
        assert not np.shares_memory(state[name], getattr(shape, name))
        assert not np.shares_memory(getattr(decode(Shape, state), name), state[name])
    assert_same_state(encode(again), state)


def test_whole_numbers_and_bits_take_little_room() -> None:
    labels, mask = np.arange(10_000) % 200, np.arange(10_000) % 2 == 0
    assert len(state_to_bytes(encode([labels, mask]))) < 12_000


@dataclass
class Later:
    """A dataclass of a later version."""

    corners: list[Point]
    colour: str


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Later, Point((1, 2.0), "a")),
        (Point, ((1, 2.0), "a")),
        (Kind, "green"),
        (Literal["a"], "b"),
        (tuple[int, int], (1, 2, 3)),
        (list[int], ["a"]),
        (Ints, [1, 2]),
        (int | None, "a"),
        (dict[str, int], [1]),
    ],
)
def test_a_state_that_describes_something_else_is_refused_in_one_line(kind: Any, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^the checkpoint was written by another version.*$"):
        decode(kind, encode(value))


def test_a_checkpoint_of_another_layout_is_refused() -> None:
    """As the version before wrote it: without the version of its layout."""
    data = save({}, metadata={"state": "[{}, {}]"})
    with pytest.raises(ValueError, match="another version of this library: remove it to begin"):
        Watch(checkpoints=StoredCheckpoints(_Bytes(data)))


# ---- parts ----------------------------------------------------------------------------------------------


@dataclass
class _Bytes:
    """A checkpoint that was written before."""

    data: bytes

    def read(self) -> bytes:
        return self.data

    def write(self, checkpoint: bytes) -> None:
        raise AssertionError("nothing is written")


class Killed(BaseException):
    """Stands in for a signal that nobody can catch."""


class EverySeventh(StoredCheckpoints):
    """Checkpoints of the first state that is offered, and of every seventh after it: all would take long."""

    offered = 0

    def save_state(self, path: str, make: Callable[[], Any]) -> None:
        if self.offered % 7 == 0:
            super().save_state(path, make)
        self.offered += 1


class Memory:
    """A checkpoint in memory; the work is killed after so many writes."""

    def __init__(self) -> None:
        self.data: bytes | None = None
        self.writes = 0
        self.kill_after: int | None = None

    def read(self) -> bytes | None:
        return self.data

    def write(self, checkpoint: bytes) -> None:
        self.data = checkpoint
        self.writes += 1
        if self.kill_after is not None and self.writes >= self.kill_after:
            raise Killed

    def watch(self, kill_after: int | None = None) -> Watch:
        """The watch of a new run."""
        self.writes, self.kill_after = 0, kill_after
        return Watch(checkpoints=EverySeventh(self, 0.0))


def test_a_finished_part_is_not_worked_on_again_and_leaves_nothing_but_its_result() -> None:
    memory, worked = Memory(), []

    def work(part: Watch, rng: np.random.Generator) -> list[int]:
        rng.random(3)
        worked.append(part.checkpoint(STEP))
        part.save_checkpoint(STEP, lambda: len(worked))
        part.remember(OTHER, lambda _: 1)
        return [2]

    def draws() -> float:
        rng = np.random.default_rng(0)
        assert memory.watch().remember(PART, lambda part: work(part, rng), rng) == [2]
        return float(rng.random())

    assert draws() == draws()
    assert worked == [None]
    assert memory.data is not None
    states, results = state_from_bytes(memory.data)
    assert not states
    assert list(results) == [PART.path]


def test_parts_of_one_name_in_different_modules_do_not_share_results_or_states() -> None:
    memory = Memory()
    one, other = Key("module a", "fit", int), Key("module b", "fit", list[int])

    def work(part: Watch) -> int:
        part.save_checkpoint(one, lambda: 5)
        assert part.checkpoint(other) is None
        assert part.checkpoint(one) == 5
        return 1

    for _ in range(2):
        watch = memory.watch()
        assert watch.remember(one, work) == 1
        assert watch.remember(other, lambda _: [2]) == [2]
        assert watch.remember(one.at(1), lambda _: 3) == 3


def test_every_key_is_of_the_module_that_defines_it_and_no_two_are_alike() -> None:
    modules = [info.name for info in walk_packages(tractable.learning.__path__, "tractable.learning.")]
    values = [(name, value) for name in modules for value in vars(import_module(name)).values()]
    paths = [value.path for name, value in values if isinstance(value, Key) and value.module == name]
    assert len(paths) > 30
    assert len(paths) == len(set(paths))


def test_a_part_that_was_told_to_stop_is_not_finished() -> None:
    memory = Memory()
    watch = memory.watch()

    def work(part: Watch) -> int:
        part.save_checkpoint(STEP, lambda: 5)
        watch.interrupted = True
        return 1

    assert watch.remember(OTHER, work) == 1
    assert memory.watch().remember(OTHER, lambda part: part.checkpoint(STEP) or 0) == 5


def test_checkpoints_are_written_no_more_often_than_they_are_due() -> None:
    memory = Memory()
    watch = Watch(checkpoints=StoredCheckpoints(memory, 0.2))
    made = []
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        watch.save_checkpoint(STEP, lambda: made.append(1) or 1)  # type: ignore[func-returns-value]
        watch.should_stop()
    assert 2 <= memory.writes <= 5
    assert len(made) <= 5


def test_a_result_is_written_later_when_a_watch_is_asked_whether_to_stop() -> None:
    memory = Memory()
    watch = Watch(checkpoints=StoredCheckpoints(memory, 0.2))
    watch.remember(OTHER, lambda _: 1)
    assert memory.writes == 0
    time.sleep(0.25)
    assert not watch.should_stop()
    assert memory.writes == 1


# ---- killed and resumed ---------------------------------------------------------------------------------


def same_model(one: Graph | Network, other: Graph | Network) -> bool:
    if isinstance(one, Graph) and isinstance(other, Graph):
        return state_to_bytes(graph_state(one)) == state_to_bytes(graph_state(other))
    return one.schema == other.schema and repr(one) == repr(other)


def conditional_table(name: str, rows: int, seed: int = 0) -> Table:
    table = categorical_table(rows, seed=seed)
    targets = [0] if CONDITIONAL[name].single_target else [0, 1]
    return Table(table.schema.with_targets(targets), table.values, table.weights)


def learn(name: str, watch: Watch | None, valid: bool, **choices: Any) -> Graph | Network:
    rng = np.random.default_rng(7)
    choices = {**SMALL.get(name, {}), **choices}
    if name in NETWORK_LEARNERS:
        held_out = categorical_table(100, seed=5) if valid else None
        return NETWORK_LEARNERS[name](**choices).learn(
            categorical_table(300), rng, valid=held_out, watch=watch
        )
    if name in CONDITIONAL:
        held_out = conditional_table(name, 60, seed=5) if valid else None
        table = conditional_table(name, 200)
        return CONDITIONAL[name](**choices).learn(table, rng, valid=held_out, watch=watch)
    held_out = mixed_table(40, seed=5) if valid else None
    return LEARNERS[name](**choices).learn(mixed_table(80), rng, valid=held_out, watch=watch)


def resumed(run: Callable[[Watch], Graph | Network], memory: Memory, writes: int) -> Graph | Network:
    """The model after the work was killed again and again, after so many writes each time."""
    for _ in range(MOST_RUNS):
        try:
            return run(memory.watch(kill_after=writes))
        except Killed:
            continue
    raise AssertionError("it goes on, but does not get any further")


@every_learner
@pytest.mark.parametrize("valid", [True, False], ids=["valid", "alone"])
def test_a_learner_that_was_killed_goes_on_to_the_same_model(name: str, valid: bool) -> None:
    memory = Memory()
    whole = learn(name, None, valid)
    assert same_model(learn(name, memory.watch(), valid), whole)
    writes = memory.writes
    assert (writes > 0) == (name not in QUICK), "it has checkpoints, unless it is quick"
    for parts in ((3, 8) if valid else (5,)) if writes else ():
        killed = resumed(lambda watch: learn(name, watch, valid), Memory(), 1 + writes // parts)
        assert same_model(killed, whole)


def test_circuits_learned_in_other_processes_are_kept() -> None:
    memory, table = Memory(), clustered_table(400, 8)

    def run(watch: Watch | None) -> Graph:
        how = IDSPNLearner(jobs=2, min_max_edges=60, max_edges=60)
        return how.learn(table, np.random.default_rng(7), watch=watch)

    whole = run(None)
    assert same_model(run(memory.watch()), whole)
    assert memory.data is not None
    seen = [
        path
        for path in state_from_bytes(memory.data)[1]
        if path.startswith("extension 1/") and ":circuit" in path
    ]
    assert len(seen) > 1
    assert same_model(run(memory.watch()), whole)  # from what the other processes have sent


def test_what_another_process_would_need_is_sent_there_and_no_more() -> None:
    memory = Memory()
    watch = memory.watch()
    for name in ("a", "b"):
        watch.remember(OTHER.at(name), lambda _: 1)
    with share(watch) as shared:
        assert shared.saved is not None
        only = shared.part_only(OTHER.at("a").path).saved
    assert only is not None
    assert list(only.results) == [OTHER.at("a").path]


# ---- Ctrl-C ---------------------------------------------------------------------------------------------


def clustered_table(rows: int, columns: int, seed: int = 0) -> Table:
    """Binary columns of rows in several groups, with links between neighbours."""
    rng = np.random.default_rng(seed)
    share = rng.random((6, columns))[rng.integers(0, 6, rows)]
    values = rng.random((rows, columns)) < share
    values[:, 1:] ^= values[:, :-1] & (rng.random((rows, columns - 1)) < 0.3)
    return Table(discrete_schema([2] * columns), values.astype(np.float64))


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[list[float]]:
    """Sends SIGINT some time after the block began; the process's time then is the list's only entry."""
    sent: list[float] = []
    over = threading.Event()

    def send() -> None:
        if not over.wait(seconds):
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()


def compile_everything(learn: Callable[[Table], object], *tables: Table) -> None:
    """Learn from a table, in limited time, until nothing is compiled any more; then from the next one.

    Larger tables need kernels that smaller ones do not; if all of the first ones were there, these are, too.
    """
    for table in tables:
        rounds = 1
        while _compiles(partial(learn, table)) and rounds < 20:
            rounds += 1
        if rounds == 1:
            return


def _compiles(work: Callable[[], object]) -> bool:
    """Do some work; whether anything was compiled for it."""
    compiled: list[str | None] = []
    with on_compile(compiled.append):
        work()
    return bool(compiled)


@every_learner
@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_ctrl_c_stops_every_learner_soon_with_a_model(
    name: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trial, "at_once", True)  # nothing is compiled after Ctrl-C, which cannot stop that
    learners: Any = next(known for known in (NETWORK_LEARNERS, CONDITIONAL, LEARNERS) if name in known)
    tables = [clustered_table(6000, 60), clustered_table(1500, 60, seed=1), clustered_table(60, 60)]
    if name in CONDITIONAL:
        targets = [0] if CONDITIONAL[name].single_target else [0, 1, 2]
        tables = [Table(t.schema.with_targets(targets), t.values) for t in tables]
    table, valid, small = tables
    rng = np.random.default_rng(0)
    compile_everything(
        lambda some: learners[name]().learn(some, rng, valid=small, watch=Watch(seconds=2.0)), small, valid
    )
    watch = Watch()
    with use_threads(1), watch, ctrl_c_after(seconds) as sent:
        model = learners[name]().learn(table, rng, valid=valid, watch=watch)
        took = time.process_time() - sent[0] if sent else 0.0
    assert watch.interrupted == bool(sent)
    assert took < STOP_SECONDS
    assert isinstance(model, Network) or name in CONDITIONAL or is_normalised(model)


def test_ctrl_c_that_was_dropped_is_raised_when_a_watch_is_entered() -> None:
    before = signal.getsignal(signal.SIGINT)
    note_interrupts()
    try:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)  # which somebody catches who should not
        with pytest.raises(KeyboardInterrupt), Watch():
            pytest.fail("the work has begun")
        with Watch() as watch:  # it was told
            os.kill(os.getpid(), signal.SIGINT)
        assert watch.interrupted
        raise_if_interrupted()  # as that one was heard
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
