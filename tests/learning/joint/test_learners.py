"""What holds of every learner in the table of learners."""

import os
import signal
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import numpy as np
import pytest
from small_settings import SMALL
from small_tables import MIXED, assert_same, categorical_table, every_row, is_normalised, mixed_table

from tractable.base.arrays import Floats
from tractable.base.progress import Progress, Watch
from tractable.base.settings import OneOf, draw_settings, search_space, settings_from_text, settings_of
from tractable.circuit import Graph
from tractable.data import Schema, Table, TableWarning, Variable, discrete_schema
from tractable.engine import log_values
from tractable.learning.joint import LEARNERS, Learned, Learner

every_learner = pytest.mark.parametrize("name", LEARNERS)
dependent_learner = pytest.mark.parametrize("name", [n for n in LEARNERS if n != "independent"])


def learned(
    name: str, table: Table, seed: int = 7, valid: Table | None = None, watch: Watch | None = None
) -> Graph:
    learner = LEARNERS[name](**SMALL.get(name, {}))
    return learner.learn(table, np.random.default_rng(seed), valid=valid, watch=watch)


def assert_close(one: Graph, other: Graph, rows: Floats) -> None:
    np.testing.assert_allclose(log_values(one, rows), log_values(other, rows), rtol=1e-7, atol=1e-7)


@every_learner
def test_the_probabilities_of_all_rows_sum_to_one(name: str) -> None:
    graph = learned(name, categorical_table())
    assert is_normalised(graph)
    assert np.exp(log_values(graph, every_row(graph.schema))).sum() == pytest.approx(1.0)


@every_learner
def test_mixed_columns_with_missing_cells_give_a_distribution(name: str) -> None:
    table = mixed_table()
    graph = learned(name, table)
    assert is_normalised(graph)
    assert graph.schema == table.schema
    assert np.isfinite(log_values(graph, table.values)).all()


@dependent_learner
@pytest.mark.parametrize("table", [categorical_table(), mixed_table()], ids=["categorical", "mixed"])
def test_dependent_columns_are_not_taken_to_be_independent(name: str, table: Table) -> None:
    flat = learned("independent", table)
    assert log_values(learned(name, table), table.values).mean() > log_values(flat, table.values).mean() + 0.1


@every_learner
def test_the_same_seed_gives_the_same_circuit(name: str) -> None:
    assert_same(learned(name, mixed_table()), learned(name, mixed_table()))


@every_learner
def test_weighted_rows_stand_for_repeated_rows(name: str) -> None:
    table = mixed_table()
    times = np.random.default_rng(3).integers(0, 4, len(table))
    weighted = Table(table.schema, table.values, times.astype(np.float64))
    repeated = Table(table.schema, np.repeat(table.values, times, axis=0))
    assert_close(learned(name, weighted), learned(name, repeated), table.values)


@every_learner
def test_a_row_without_any_cell_changes_nothing_but_the_smoothing(name: str) -> None:
    table = categorical_table(2000)
    empty = np.full((1, 4), np.nan)
    more = Table(table.schema, np.concatenate([table.values, empty]))
    logs = [log_values(learned(name, t), table.values).mean() for t in (table, more)]
    assert logs[0] == pytest.approx(logs[1], abs=0.02)


@every_learner
def test_a_table_without_any_cell_gives_a_distribution(name: str) -> None:
    assert is_normalised(learned(name, Table(MIXED, np.full((3, 4), np.nan))))


@every_learner
def test_rows_that_weigh_nothing_give_a_distribution(name: str) -> None:
    table = mixed_table(20)
    assert is_normalised(learned(name, Table(MIXED, table.values, np.zeros(20))))


@every_learner
def test_constant_columns_give_a_distribution(name: str) -> None:
    constant = np.tile([3.5, 1.0, 4.0, 0.0], (50, 1))
    graph = learned(name, Table(MIXED, constant))
    assert is_normalised(graph)
    assert np.isfinite(log_values(graph, constant)).all()


@every_learner
def test_one_row_is_enough(name: str) -> None:
    assert is_normalised(learned(name, mixed_table(1, missing=0)))


@every_learner
@pytest.mark.parametrize("column", range(4))
def test_one_column_is_enough(name: str, column: int) -> None:
    graph = learned(name, mixed_table().select([column]))
    assert is_normalised(graph)


@dependent_learner
def test_a_column_and_its_copy_tell_the_same(name: str) -> None:
    rng = np.random.default_rng(1)
    once = rng.integers(0, 2, (400, 1)).astype(np.float64)
    graph = learned(name, Table(discrete_schema([2, 2, 2]), np.repeat(once, 3, axis=1)))
    unequal = log_values(graph, np.array([[0.0, 1.0, np.nan]]))
    assert np.exp(unequal[0]) < 0.02


@every_learner
def test_a_column_may_have_a_thousand_states(name: str) -> None:
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.integers(0, 1000, 500), rng.integers(0, 2, 500)]).astype(np.float64)
    graph = learned(name, Table(discrete_schema([1000, 2]), values))
    assert np.exp(log_values(graph, every_row(graph.schema))).sum() == pytest.approx(1.0)


@every_learner
def test_validation_rows_are_taken(name: str) -> None:
    graph = learned(name, mixed_table(), valid=mixed_table(50, seed=9))
    assert is_normalised(graph)


@pytest.mark.parametrize("name", ["chow-liu", "naive-bayes", "selective"])
def test_validation_rows_that_tell_nothing_are_not_used(name: str) -> None:
    table = mixed_table()
    nothing = [table.take(slice(0, 0)), table.reweight(np.zeros(len(table)))]
    nothing.append(Table(table.schema, np.full((3, 4), np.nan)))
    for valid in nothing:
        with pytest.warns(TableWarning, match="validation table is not used"):
            graph = learned(name, table, valid=valid)
        assert_same(graph, learned(name, table))


def test_settings_that_are_lists_hold_finite_numbers() -> None:
    for items in ((5.0, np.inf), (np.inf,)):
        with pytest.raises(
            ValueError, match="setting shrinkage of cutset must be a list of finite numbers, not"
        ):
            LEARNERS["cutset"](shrinkage=items)  # type: ignore[call-arg]


@every_learner
def test_validation_rows_of_another_schema_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="schema"):
        learned(name, mixed_table(), valid=categorical_table())


@every_learner
def test_potentials_are_refused_by_name(name: str) -> None:
    schema = Schema((Variable("x", "categorical", (0, 1)), Variable("phi", "real", role="potential")))
    with pytest.raises(ValueError, match="'phi'"):
        learned(name, Table(schema, np.zeros((3, 2))))


@every_learner
def test_inputs_of_a_conditional_model_are_refused_by_name(name: str) -> None:
    schema = Schema((Variable("x", "categorical", (0, 1)), Variable("age", "real", role="input")))
    with pytest.raises(ValueError, match="'age' has the role 'input'"):
        learned(name, Table(schema, np.zeros((3, 2))))


@every_learner
def test_without_time_there_still_is_a_model(name: str) -> None:
    assert is_normalised(learned(name, mixed_table(), watch=Watch(seconds=0.0)))


@every_learner
def test_an_interrupt_inside_a_report_still_leaves_a_model(name: str) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    watch = Watch(interrupt)
    assert is_normalised(learned(name, mixed_table(), watch=watch))
    assert watch.interrupted


@every_learner
def test_reports_tell_stage_and_progress(name: str) -> None:
    told: list[Progress] = []
    learned(name, mixed_table(), watch=Watch(told.append))
    assert told
    assert all(p.stage and p.done >= 0 and (p.total is None or p.done <= p.total) for p in told)


@every_learner
def test_every_setting_has_a_default_and_a_name(name: str) -> None:
    learner = LEARNERS[name]
    assert learner.name == name
    assert learner.title
    settings = settings_from_text(learner, [f"{s.name}={s.default}" for s in settings_of(learner)])
    assert learner(**settings) == learner()


@every_learner
def test_every_setting_is_explained_by_a_whole_sentence(name: str) -> None:
    for one in settings_of(LEARNERS[name]):
        assert one.text[0].isupper(), one.name
        assert one.text.endswith("."), one.name
        assert len(one.text.split()) >= 4, one.name


@every_learner
def test_a_setting_out_of_range_is_named(name: str) -> None:
    settings = settings_from_text(LEARNERS[name], ["smoothing=-1"])
    with pytest.raises(ValueError, match=f"setting smoothing of {name} must be at least 0, not -1"):
        LEARNERS[name](**settings)


@every_learner
def test_a_space_of_settings_is_declared_and_holds_the_defaults(name: str) -> None:
    learner = LEARNERS[name]
    space = search_space(learner)
    assert space
    default = learner()
    assert all(choice.holds(getattr(default, setting)) for setting, choice in space.items())


@every_learner
def test_settings_drawn_from_the_space_are_valid_and_told_by_the_seed(name: str) -> None:
    space = search_space(LEARNERS[name])
    draws, again = (
        [draw_settings(space, np.random.default_rng([seed, 5])) for seed in range(50)] for _ in range(2)
    )
    assert draws == again
    assert all(choice.holds(draw[setting]) for draw in draws for setting, choice in space.items())
    for setting in space:
        assert len({draw[setting] for draw in draws}) > 1
    for draw in draws:
        learner = LEARNERS[name](**draw)
        assert {setting: getattr(learner, setting) for setting in draw} == draw


@every_learner
def test_every_option_of_the_space_is_a_value_of_its_settings_type(name: str) -> None:
    learner = LEARNERS[name]
    for setting, choice in search_space(learner).items():
        ends = choice.options if isinstance(choice, OneOf) else (choice.low, choice.high)
        for value in ends:
            text = str(value).strip("()").rstrip(",")
            assert settings_from_text(learner, [f"{setting}={text}"]) == {setting: value}


@every_learner
def test_huge_and_tiny_numbers_give_a_distribution(name: str) -> None:
    values = np.array([[1e308, 0, 1e12, 0], [-1e308, 1, 0, 1], [1e-300, 2, 3, 1], [5.0, 0, 2, 0]])
    graph = learned(name, Table(MIXED, np.repeat(values, 5, axis=0)))
    assert is_normalised(graph)
    assert not np.isnan(log_values(graph, values)).any()


def test_ctrl_c_without_a_watch_interrupts() -> None:
    class Impatient(Learner):
        name = "impatient"

        def _learn(
            self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch
        ) -> Learned:
            os.kill(os.getpid(), signal.SIGINT)
            return Learned(learned("independent", table))

    table = categorical_table()
    with pytest.raises(KeyboardInterrupt):
        Impatient().learn(table, np.random.default_rng(0))
    watch = Watch()
    assert is_normalised(Impatient().learn(table, np.random.default_rng(0), watch=watch))
    assert watch.interrupted


def test_ctrl_c_asks_a_watch_to_stop_and_the_second_one_interrupts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Watch() as watch, watch:
        os.kill(os.getpid(), signal.SIGINT)
        assert watch.should_stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Stands in for a learner: the settings of every type."""

    name: ClassVar[str] = "example"

    size: int = 1
    rate: float = 0.5
    fast: bool = False
    kind: Literal["gini", "entropy"] = "gini"
    sizes: tuple[int, ...] = ()
    limit: float | None = None
    label: str = ""


def read_settings(*texts: str) -> dict[str, object]:
    learner: type[Learner] = Settings  # type: ignore[assignment]
    return settings_from_text(learner, texts)


def test_settings_are_read_from_text() -> None:
    texts = ["size=3", "rate = 1e-3", "fast=yes", "kind=entropy", "sizes=2,4", "limit=none", "label=a=b"]
    found = read_settings(*texts)
    values = [3, 1e-3, True, "entropy", (2, 4), None, "a=b"]
    assert found == dict(zip([f.name for f in fields(Settings)], values, strict=True))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "sise=3",
            "example has no setting 'sise'; did you mean 'size'?",
        ),
        ("size=3.5", "setting size: '3.5' is not a whole number"),
        ("rate=fast", "setting rate: 'fast' is not a number"),
        ("fast=perhaps", "setting fast: 'perhaps' is not true or false"),
        ("kind=x", "setting kind: 'x' is not one of gini, entropy"),
        ("sizes=1,b", "setting sizes: '1,b' is not a list (a,b,c) whose items are each a whole number"),
        ("limit=x", "setting limit: 'x' is not a number or none"),
        ("size", "'size' is not a setting of the form name=value"),
    ],
)
def test_a_bad_setting_is_named_in_one_line(text: str, words: str) -> None:
    with pytest.raises(ValueError, match="setting") as fault:
        read_settings(text)
    assert str(fault.value) == words
