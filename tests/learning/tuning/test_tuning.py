"""A search over settings finds the best on validation rows, and goes on where it was ended."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, log
from multiprocessing import current_process
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from joblib import parallel_config

import tractable as tr
from tractable.base.progress import Progress, Watch, seconds_in
from tractable.base.settings import Between, Home, OneOf, Space, draw_settings, setting
from tractable.base.threads import default_threads
from tractable.circuit import Builder, Graph
from tractable.data import Table, TableWarning, clinic, discrete_schema, to_frame
from tractable.formats.atomic import lock
from tractable.learning.joint import LEARNERS, Learned, Learner
from tractable.learning.statistics.stack_weights import mean_log_prob
from tractable.learning.tuning import SAMPLERS, Trial, table_text
from tractable.learning.tuning.trial import TimeBudget

TRAIN, VALID = clinic(200), clinic(100, random_state=1)
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


def tuned(algorithm: str = "chow-liu", **options: Any) -> tr.Tuned:
    return tr.tune(algorithm, TRAIN, VALID, **{"trials": 5} | options)


def told(found: tr.Tuned) -> list[tuple[int, dict[str, Any], float]]:
    """What must be the same of the same search."""
    return [(trial.number, dict(trial.settings), trial.score) for trial in found.trials]


def _only_the_first_states(table: Table) -> Graph:
    builder = Builder(table.schema)
    builder.product([builder.indicator(column, 0) for column in range(len(table.schema))])
    return builder.freeze()


@dataclass(frozen=True, kw_only=True)
class Odd(Learner):
    """Independent columns; from the call `after` on it does something else first."""

    name: ClassVar[str] = "odd"
    title: ClassVar[str] = "a learner to watch"
    calls: ClassVar[list[float]] = []

    smoothing: float = setting(1.0, "Pseudo-counts.", at_least=0, search=Between(0.1, 10, log=True))
    sizes: tuple[int, ...] = setting((1, 2), "Sizes.", search=OneOf((1, 2), (3,)))
    after: int = setting(1000, "Calls after which it stumbles.")
    then: str = setting("", "How it stumbles.")

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        self.calls.append(self.smoothing)
        watch.report("looking", 1)
        if self.then == "deny":
            return Learned(_only_the_first_states(table))
        if len(self.calls) > self.after:
            self._stumble(watch)
        independent = LEARNERS.make_with("independent", {"smoothing": self.smoothing})
        return Learned(independent.learn(table, rng))

    def _stumble(self, watch: Watch) -> None:
        if self.then == "wait":
            while not watch.should_stop():
                time.sleep(0.001)
        elif self.then == "take time":
            end = time.monotonic() + 0.2
            while time.monotonic() < end and not watch.should_stop():
                time.sleep(0.001)
        elif self.then == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            assert watch.should_stop()
        elif self.then == "die" and current_process().name != "MainProcess":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.then == "refuse":
            raise ValueError("these settings\ndo not suit")
        else:
            raise RuntimeError("the light went out")


@pytest.fixture
def odd() -> Iterator[list[float]]:
    """What the odd learner was called with."""
    LEARNERS.register("odd", Home(__name__, "Odd"))
    Odd.calls.clear()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield Odd.calls
    LEARNERS.unregister("odd")
    signal.signal(signal.SIGINT, before)


# The search


@every_sampler
def test_the_first_trial_has_the_defaults_and_the_best_one_wins(sampler: str) -> None:
    found = tuned("learnspn", sampler=sampler)
    default = LEARNERS["learnspn"]()
    assert all(getattr(default, name) == value for name, value in found.trials[0].settings.items())
    graph = default.learn(TRAIN, np.random.default_rng(0), valid=VALID)
    assert found.trials[0].score == mean_log_prob(graph, VALID)
    assert [trial.number for trial in found.trials] == list(range(5))
    assert found.best.score == max(trial.score for trial in found.trials)
    assert found.circuit.log_prob(VALID).mean() == pytest.approx(found.best.score)
    assert found.settings["clusters"] == found.best.settings["clusters"]
    assert found.circuit.about["settings"] == found.settings
    assert found.best.edges == found.circuit.graph.edges


def test_the_same_model_can_be_learned_by_its_settings() -> None:
    found = tuned("naive-bayes", trials=3, random_state=4)
    again = LEARNERS["naive-bayes"](**found.settings).learn(TRAIN, np.random.default_rng(4), valid=VALID)
    assert mean_log_prob(again, VALID) == found.best.score


@every_sampler
def test_the_seed_decides_everything(sampler: str) -> None:
    one, same, other = (tuned(sampler=sampler, random_state=seed) for seed in (3, 3, 4))
    assert told(one) == told(same)
    assert [t.settings for t in one.trials[1:]] != [t.settings for t in other.trials[1:]]


@every_sampler
def test_trials_side_by_side_are_the_trials_one_after_the_other(sampler: str, tmp_path: Path) -> None:
    found = tuned(sampler=sampler, trials=4, jobs=2, storage=tmp_path / "s")
    assert told(found) == told(tuned(sampler=sampler, trials=4))  # tpe begins with ten at random
    assert told(found) == told(tuned(sampler=sampler, trials=4, jobs=2))
    assert sorted(json.loads(line)["number"] for line in lines(tmp_path / "s")[1:]) == [0, 1, 2, 3]
    assert found.circuit.log_prob(VALID).mean() == pytest.approx(found.best.score)


def test_fixed_settings_are_not_searched(odd: list[float]) -> None:
    found = tuned("odd", settings={"smoothing": 2.5})
    assert odd == [2.5] * 5
    assert {tuple(trial.settings) for trial in found.trials} == {("sizes",)}
    assert (found.settings["smoothing"], found.settings["sizes"]) == (2.5, [1, 2])


def test_a_frame_of_any_kind_is_taken_and_given() -> None:
    train, valid = (to_frame(table, like="pandas") for table in (TRAIN, VALID))
    found = tr.tune("chow-liu", train, valid, trials=2)
    assert type(found.circuit.sample(2)) is type(train)
    assert found.trials[0].score == pytest.approx(tuned(trials=1).trials[0].score)


@pytest.mark.parametrize("algorithm", LEARNERS)
def test_every_learner_can_be_tuned(algorithm: str) -> None:
    found = tuned(algorithm, trials=3, budget=0.6)
    assert found.trials
    assert np.isfinite(found.best.score)


@pytest.mark.parametrize("columns", [[2], [1], [2, 1, 3]])
@pytest.mark.parametrize("rows", [1, 4])
def test_small_and_constant_tables_can_be_tuned(columns: list[int], rows: int) -> None:
    values = np.zeros((rows, len(columns)))
    values[:1, -1] = np.nan
    table = Table(discrete_schema(columns), values)
    assert len(tr.tune("chow-liu", table, table, trials=3).trials) == 3


@every_sampler
def test_impossible_validation_rows_are_no_end(odd: list[float], sampler: str, tmp_path: Path) -> None:
    options = {"settings": {"then": "deny"}, "storage": tmp_path / "s", "sampler": sampler, "trials": 12}
    found = tuned("odd", **options)
    assert [trial.score for trial in found.trials] == [-inf] * 12
    assert found.best.number == 0
    assert told(tuned("odd", **options)) == told(found)
    assert "Infinity" not in (tmp_path / "s").read_text()
    assert len(odd) == 12


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("no learner 'chowliu'; did you mean 'chow-liu'", {"algorithm": "chowliu"}),
        (r"no learner 'zzz' \(learners: independent, ", {"algorithm": "zzz"}),
        ("chow-liu has no setting 'soothing'", {"settings": {"soothing": 1.0}}),
        ("setting smoothing of chow-liu must be at least 0, not -1", {"settings": {"smoothing": -1.0}}),
        ("there is nothing to search", {"settings": {"smoothing": 1.0, "link_cost": 1.0}}),
        (r"no sampler 'grid' \(random, tpe\)", {"sampler": "grid"}),
        ("at least 1, not 0", {"trials": 0}),
        ("'soon' is not a duration", {"budget": "soon"}),
    ],
)
def test_mistakes_are_named(words: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=words):
        tuned(**options)


def test_validation_rows_must_fit_and_weigh_something() -> None:
    with pytest.raises(ValueError, match="column"):
        tr.tune("chow-liu", TRAIN, {"other": ["a", "b"]})
    with pytest.raises(ValueError, match="weights of the validation table are all zero"):
        tr.tune("chow-liu", TRAIN, Table(VALID.schema, VALID.values, np.zeros(len(VALID))))
    with pytest.warns(TableWarning, match="all trials have the same score"):
        tr.tune("chow-liu", TRAIN, Table(VALID.schema, np.full_like(VALID.values, np.nan)), trials=1)


def test_progress_tells_of_the_trial_and_of_all_trials() -> None:
    seen: list[Progress] = []
    found = tuned("naive-bayes", trials=3, tell=seen.append)
    assert [p.done for p in seen if p.stage == "trials"] == [1, 2, 3]
    assert seen[-1] == ("trials", 3, 3, found.best.score)
    assert any(p.stage.startswith("trial 2: ") for p in seen)


def test_progress_of_trials_in_other_processes_arrives() -> None:
    seen: list[Progress] = []
    found = tuned("naive-bayes", trials=3, jobs=2, tell=seen.append)
    assert {p.stage.partition(":")[0] for p in seen} == {"trial 0", "trial 1", "trial 2", "trials"}
    assert [p.done for p in seen if p.stage == "trials"] == [1, 2, 3]
    assert seen[-1] == ("trials", 3, 3, found.best.score)


def test_trials_run_where_joblib_is_told_to_run_them(odd: list[float]) -> None:
    seen: list[Progress] = []
    before = default_threads()
    with parallel_config(backend="threading"):
        found = tuned("odd", jobs=2, tell=seen.append)
    assert told(found) == told(tuned("odd"))
    assert len(odd) == 10  # all of them in this process
    assert sum(p.stage.endswith(": looking") for p in seen) == 5
    assert default_threads() == before


# Trials that go wrong, and time


def test_settings_that_do_not_suit_cost_their_trial_only(odd: list[float], tmp_path: Path) -> None:
    options = {"settings": {"after": 2, "then": "refuse"}, "storage": tmp_path / "s"}
    found = tuned("odd", **options)
    assert [bool(trial.fault) for trial in found.trials] == [False, False, True, True, True]
    assert found.trials[3].score == -inf
    assert "these settings do not suit" in str(found)
    assert told(tuned("odd", **options)) == told(found)
    assert len(odd) == 5


def test_defaults_that_do_not_suit_are_told(odd: list[float]) -> None:
    with pytest.raises(ValueError, match="do not suit"):
        tuned("odd", settings={"after": 0, "then": "refuse"})


def test_a_trial_is_stopped_after_its_share_and_still_counts(odd: list[float]) -> None:
    started = time.monotonic()
    found = tuned("odd", trials=3, budget=0.6, settings={"after": 0, "then": "wait"})
    assert 0.4 < time.monotonic() - started < 3
    assert [trial.finished for trial in found.trials] == [False] * len(found.trials)
    assert len(found.trials) in (2, 3)  # the last may have had no time left
    assert all(np.isfinite(trial.score) for trial in found.trials)
    assert found.circuit.about["finished"] is False


def test_without_any_time_there_still_is_a_model(odd: list[float]) -> None:
    assert len(tuned("odd", budget=1e-9).trials) == 1


def test_time_that_is_left_goes_to_later_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("tractable.learning.tuning.trial.time.monotonic", lambda: now[0])
    budget = TimeBudget(60.0, jobs=2)
    assert budget.for_defaults(6) == 30.0
    assert budget.for_defaults(1) == 60.0
    assert budget.share(6, None) == 20.0
    assert budget.share(5, 2.0) == 20.0  # three waves of two
    assert budget.share(6, 14.0) == 28.0  # ample time compared with the defaults
    now[0] += 30
    assert budget.share(2, 14.0) == 30.0
    assert budget.share(2, 40.0) == 30.0  # as long as there is any
    now[0] += 40
    assert budget.share(1, 14.0) == 0.0
    assert TimeBudget(None, 1).share(3, 1.0) is None
    assert TimeBudget(None, 1).for_defaults(3) is None


def test_many_trials_in_little_time_are_fewer_and_not_cut_short(odd: list[float]) -> None:
    """An equal part for each of a thousand trials would not be enough for any."""
    found = tuned("odd", trials=1000, budget=1.5, settings={"after": 0, "then": "take time"})
    assert 1 < len(found.trials) < 20
    assert all(trial.finished for trial in found.trials[:-1])


def test_durations_are_texts_or_seconds(odd: list[float]) -> None:
    assert [seconds_in(text) for text in ("90s", "1.5m", "7")] == [90.0, 90.0, 7.0]
    assert len(tuned("odd", budget="1h").trials) == 5


def test_an_interrupt_ends_the_search_and_its_trial_is_done_again(odd: list[float], tmp_path: Path) -> None:
    options = {"settings": {"after": 2, "then": "interrupt"}, "storage": tmp_path / "s"}
    found = tuned("odd", **options)
    assert [trial.number for trial in found.trials] == [0, 1]
    odd.clear()
    again = tuned("odd", trials=4, **options)
    assert [trial.number for trial in again.trials] == [0, 1, 2, 3]
    assert told(again)[:2] == told(found)


def test_an_interrupt_of_the_first_trial_leaves_its_model(odd: list[float], tmp_path: Path) -> None:
    found = tuned("odd", settings={"after": 0, "then": "interrupt"}, storage=tmp_path / "s")
    assert [trial.finished for trial in found.trials] == [False]
    assert len(lines(tmp_path / "s")) == 1
    assert tr.load(tmp_path / "s.tract").about["finished"] is False


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_an_interrupt_reaches_trials_that_run_side_by_side(odd: list[float], backend: str) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.stage.startswith("trial "):
            raise KeyboardInterrupt

    started = time.monotonic()
    with parallel_config(backend=backend):
        found = tuned("odd", jobs=2, settings={"after": 0, "then": "wait"}, tell=interrupt)
    assert time.monotonic() - started < 60  # the trials themselves would wait for ever
    assert [trial.finished for trial in found.trials] == [False]


def test_the_budget_is_kept_by_trials_in_other_processes(odd: list[float]) -> None:
    found = tuned("odd", trials=4, jobs=2, budget=4.0, settings={"after": 0, "then": "wait"})
    assert found.trials
    assert not any(trial.finished for trial in found.trials)


def test_the_death_of_a_process_ends_the_search(odd: list[float]) -> None:
    with pytest.raises(MemoryError, match="fewer jobs need less"):
        tuned("odd", jobs=2, settings={"after": 0, "then": "die"})


# The file of trials


def lines(path: Path) -> list[bytes]:
    text = path.read_bytes()
    assert text.endswith(b"\n")
    return text.splitlines()


@every_sampler
def test_a_search_goes_on_as_if_it_had_never_ended(sampler: str, tmp_path: Path) -> None:
    whole = tuned(sampler=sampler, trials=13)
    for trials in (4, 11, 13):
        found = tuned(sampler=sampler, trials=trials, storage=tmp_path / "s")
        assert told(found) == told(whole)[:trials]
    assert found.circuit.log_prob(VALID).mean() == pytest.approx(whole.best.score)


def test_finished_trials_and_the_best_model_are_not_learned_again(odd: list[float], tmp_path: Path) -> None:
    first = tuned("odd", trials=3, storage=tmp_path / "s")
    assert len(odd) == 3
    again = tuned("odd", trials=3, storage=tmp_path / "s")
    fewer = tuned("odd", trials=1, storage=tmp_path / "s")
    assert len(odd) == 3
    assert again.trials == first.trials == fewer.trials
    assert len(tuned("odd", trials=5, storage=tmp_path / "s").trials) == 5
    assert len(odd) == 5


@pytest.mark.parametrize("spoil", ["remove", "damage", "replace"])
def test_a_lost_model_is_learned_again(odd: list[float], tmp_path: Path, spoil: str) -> None:
    model = tmp_path / "m.tract"
    first = tuned("odd", trials=3, storage=tmp_path / "s", output=model)
    if spoil == "remove":
        model.unlink()
    elif spoil == "damage":
        model.write_bytes(model.read_bytes()[:100])
    else:
        tuned("chow-liu", trials=1, output=model)
    again = tuned("odd", trials=3, storage=tmp_path / "s", output=model)
    assert odd == [*odd[:3], first.best.settings["smoothing"]]
    assert tr.load(model).about == again.circuit.about == first.circuit.about


def test_what_is_found_is_safe_at_once(odd: list[float], tmp_path: Path) -> None:
    options = {"settings": {"after": 3, "then": "crash"}, "storage": tmp_path / "s"}
    with pytest.raises(RuntimeError, match="light"):
        tuned("odd", **options)
    kept = [json.loads(line) for line in lines(tmp_path / "s")[1:]]
    assert [trial["number"] for trial in kept] == [0, 1, 2]
    best = max(kept, key=lambda trial: trial["score"])
    assert tr.load(tmp_path / "s.tract").about["tuning"]["trial"] == best["number"]


def test_a_line_cut_short_anywhere_does_not_count_and_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "s"
    whole = tuned(trials=4, storage=path)
    text = path.read_bytes()
    last = lines(path)[-1]
    for cut in range(1, len(last) + 2, 12):
        path.write_bytes(text[:-cut])
        assert told(tuned(trials=4, storage=path)) == told(whole)
        assert [json.loads(line).get("number") for line in lines(path)] == [None, 0, 1, 2, 3]


def test_an_empty_file_is_a_new_study(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    assert len(tuned(trials=2, storage=tmp_path / "s").trials) == 2
    assert len(lines(tmp_path / "s")) == 3


@pytest.mark.parametrize("text", [b"a,b\n1,2\n", b"a,b", b"\n", b"[1]\n", b"SQLite format 3\x00\xff"])
def test_a_file_that_is_no_study_is_refused_and_left_alone(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "s").write_bytes(text)
    with pytest.raises(ValueError, match="is not a study"):
        tuned(storage=tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == text


@pytest.mark.parametrize("line", [b"{}", b'{"number": 1, "sett', b"", b"7"])
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "s"
    tuned(trials=3, storage=path)
    found = lines(path)
    path.write_bytes(b"\n".join([*found[:2], line, *found[3:], b""]))
    with pytest.raises(ValueError, match="line 3: this is not a trial"):
        tuned(trials=3, storage=path)


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (r"another algorithm \(chow-liu, not independent\)", {"algorithm": "independent"}),
        (r"another seed \(0, not 1\)", {"random_state": 1}),
        (r"another sampler \(random, not tpe\)", {"sampler": "tpe"}),
        ("other fixed settings", {"settings": {"smoothing": 1.0}}),
        ("other training rows", {"train": clinic(200, random_state=5)}),
        ("other training rows", {"train": Table(TRAIN.schema, TRAIN.values, np.full(200, 2.0))}),
        ("other validation rows", {"valid": clinic(99, random_state=1)}),
    ],
)
def test_the_study_of_another_search_is_refused(tmp_path: Path, words: str, other: dict[str, Any]) -> None:
    options = {
        "algorithm": "chow-liu",
        "train": TRAIN,
        "valid": VALID,
        "trials": 1,
        "storage": tmp_path / "s",
    }
    again: Any = tr.tune
    again(**options)
    before = (tmp_path / "s").read_bytes()
    with pytest.raises(ValueError, match=words):
        again(**options | other)
    assert (tmp_path / "s").read_bytes() == before


def test_a_study_that_is_in_use_is_refused(tmp_path: Path) -> None:
    tuned(trials=1, storage=tmp_path / "s")
    with (tmp_path / "s").open("rb") as file:
        assert lock(file, wait=False)
        with pytest.raises(ValueError, match="in use"):
            tuned(storage=tmp_path / "s")
    assert len(tuned(trials=2, storage=tmp_path / "s").trials) == 2


# Spaces, samplers and the table


def test_numbers_are_drawn_evenly_within_their_range() -> None:
    rng = np.random.default_rng(0)
    plain = np.array([Between(2, 10).draw(rng) for _ in range(2000)])
    wide = np.array([Between(0.01, 100, log=True).draw(rng) for _ in range(2000)])
    whole = [Between(2, 5, whole=True).draw(rng) for _ in range(2000)]
    steps = [Between(1, 64, log=True, whole=True).draw(rng) for _ in range(500)]
    assert plain.min() >= 2
    assert plain.max() <= 10
    assert plain.mean() == pytest.approx(6, abs=0.2)
    assert np.log(wide).mean() == pytest.approx(0, abs=0.2)
    assert np.log(wide).std() == pytest.approx(log(1e4) / 12**0.5, rel=0.05)
    assert np.bincount(whole)[2:] == pytest.approx([500] * 4, abs=80)
    assert all(type(step) is int for step in whole + steps)
    assert {1, 64} <= set(steps)
    assert all(float(f"{x:.4g}") == x for x in wide)


def test_a_choice_draws_every_option() -> None:
    rng = np.random.default_rng(0)
    options = OneOf(None, (1, 2), "em")
    assert {options.draw(rng) for _ in range(50)} == {None, (1, 2), "em"}
    assert options.holds((1, 2))
    assert not options.holds((1,))


def test_spaces_that_make_no_sense_are_refused() -> None:
    for wrong in (OneOf, lambda: OneOf(1), lambda: Between(2, 2), lambda: Between(0, 1, log=True)):
        with pytest.raises(ValueError, match=r"a (choice|range)"):
            wrong()


def test_tpe_comes_near_what_was_good() -> None:
    space: Space = {"x": Between(0, 1), "n": Between(1, 20, whole=True), "kind": OneOf((), (1,), (2,))}
    rng = np.random.default_rng(0)
    settings = [draw_settings(space, rng) for _ in range(40)]
    scores = [-abs(s["x"] - 0.3) - (s["kind"] != (1,)) - abs(s["n"] - 7) / 20 for s in settings]
    earlier = [
        Trial(number=i, settings=s, score=x, seconds=1, edges=1, finished=True)
        for i, (s, x) in enumerate(zip(settings, scores, strict=True))
    ]
    defaults = {"x": 0.9, "n": 1, "kind": ()}
    asked, drawn_anew = (
        [SAMPLERS[name].settings(space, defaults, 0, number, earlier) for number in range(40, 60)]
        for name in ("tpe", "random")
    )
    assert all(choice.holds(s[name]) for s in asked for name, choice in space.items())
    assert np.mean([abs(s["x"] - 0.3) for s in asked]) < np.mean([abs(s["x"] - 0.3) for s in drawn_anew])
    assert sum(s["kind"] == (1,) for s in asked) > 10
    assert SAMPLERS["tpe"].settings(space, defaults, 0, 40, earlier) == asked[0]


def test_random_settings_keep_about_half_of_the_defaults_but_never_all() -> None:
    space: Space = {name: Between(0, 1) for name in "abcd"}
    defaults = dict.fromkeys(space, 2.0)
    found = [SAMPLERS["random"].settings(space, defaults, 0, number, []) for number in range(1, 200)]
    kept = np.array([[settings[name] == 2.0 for name in space] for settings in found])
    assert not kept.all(axis=1).any()
    assert ((kept.mean(axis=0) > 0.25) & (kept.mean(axis=0) < 0.55)).all()
    alone = SAMPLERS["random"].settings({"a": Between(0, 1)}, {"a": 2.0}, 0, 1, [])
    assert alone["a"] <= 1


def test_tpe_without_optuna_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ValueError, match=r"tractable\[tune\]"):
        tuned(sampler="tpe")
    assert len(tuned(trials=2).trials) == 2


def test_tpe_says_nothing_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    tuned(sampler="tpe", trials=3)
    assert capfd.readouterr() == ("", "")


def test_the_table_shows_each_trial_and_marks_the_best() -> None:
    facts: dict[str, Any] = {"seconds": 0.5, "edges": 1200, "finished": True}
    trials = [
        Trial(number=0, settings={"rate": 0.5, "sizes": (), "on": True}, score=-2.5, **facts),
        Trial(number=1, settings={"rate": 10.0, "sizes": (1, 2), "on": False}, score=-2.25, **facts),
        Trial(
            number=2,
            settings={"rate": 1e-5, "sizes": (3,), "on": None},
            score=-3,
            **facts | {"finished": False},
        ),
    ]
    assert table_text(trials).splitlines() == [
        "   trial     score  seconds  edges   rate  sizes     on",
        "       0  -2.50000     0.50  1,200    0.5     ()   true",
        "*      1  -2.25000     0.50  1,200     10    1,2  false",
        "       2  -3.00000     0.50  1,200  1e-05      3   none  stopped early",
    ]


def test_conditional_models_are_compared_by_their_targets() -> None:
    found = tr.tune("mctbn", TRAIN, VALID, trials=2, targets=["cough"])
    assert told(tr.tune("mctbn", TRAIN, VALID, trials=2, targets="cough")) == told(found)
    with pytest.raises(ValueError, match="'caugh'"):
        tr.tune("mctbn", TRAIN, VALID, trials=2, targets="caugh")
    rows = found.circuit.log_prob(VALID)
    assert found.best.score == pytest.approx(float(rows.mean()))
    assert len(found.circuit.schema.targets) == 1
    with pytest.raises(ValueError, match="targets do not apply"):
        tuned(targets=["cough"])
    with pytest.raises(ValueError, match="no column has the role 'input'"):
        tuned("mctbn")
