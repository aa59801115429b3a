"""The search as users call it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias

from joblib import effective_n_jobs

from tractable.base.progress import Progress, Watch, seconds_in
from tractable.data import Names, Table, as_table, caution, frame_kind, warn_of_unseen
from tractable.learning.conditional import ConditionalLearner
from tractable.learning.learner import CircuitLearner
from tractable.learning.tuning.best import Best
from tractable.learning.tuning.journal import Journal
from tractable.learning.tuning.problem import Problem, learner_kind
from tractable.learning.tuning.samplers import sampler_named
from tractable.learning.tuning.search import SearchPlan, TrialSearch
from tractable.learning.tuning.table import table_text
from tractable.learning.tuning.trial import Trial, best_of
from tractable.model import Circuit

File: TypeAlias = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Tuned:
    """The best model, the settings that led to it, and all trials; as text, the table of trials."""

    circuit: Circuit
    settings: dict[str, Any]  # all settings of the learner
    trials: tuple[Trial, ...]  # by number; the first has the learner's defaults
    interrupted: bool = False  # whether Ctrl-C ended the search

    @property
    def best(self) -> Trial:
        """The trial of the best model."""
        best = best_of(self.trials)
        assert best is not None  # the first trial has a model, or nothing was tuned
        return best

    def __str__(self) -> str:
        return table_text(self.trials)


def tune(  # noqa: PLR0913 - a search has as many options as its command
    algorithm: str,
    train: Any,
    valid: Any,
    *,
    trials: int = 20,
    budget: float | str | None = None,
    sampler: str = "random",
    storage: File | None = None,
    output: File | None = None,
    settings: Mapping[str, Any] | None = None,
    targets: str | Sequence[str] | None = None,
    jobs: int = 1,
    unseen: Literal["share", "error"] = "share",
    drop: Names = (),
    random_state: int = 0,
    tell: Callable[[Progress], None] | None = None,
) -> Tuned:
    """The model that scores best on `valid` of several learned from `train` with different settings.

    The first trial has the learner's defaults, the others what the sampler finds in the learner's search
    space. Ctrl-C ends the search with the best model so far; a second one interrupts.

    Parameters
    ----------
    algorithm : str
        The learner, as on the command line.
    train, valid : data frame, array, dictionary of columns or Table
        The rows to learn from, and those that decide.
    trials : int
        How many there are in the end, with those that `storage` holds already.
    budget : float or str, optional
        Seconds, or a text such as "10m". The trial of the defaults may take half of it, any other an equal
        share of what is left, or twice what the defaults took if that is more; one that takes longer is
        stopped and counts with what it has.
    sampler : {"random", "tpe"}
        Settings drawn at random, or by Optuna from what the earlier trials told.
    storage : path, optional
        A file in which each trial is written down as it ends. A search with the same file goes on.
    output : path, optional
        The file of the best model so far; beside `storage` unless given.
    settings : mapping, optional
        Settings that are fixed, not searched.
    targets : str or sequence of str, optional
        For a learner of conditional models: the columns to predict from all others. Its models are compared
        by the log-likelihood of these columns given the others.
    jobs : int
        Trials side by side, each in a process of its own; -1 for as many as there are cores.
    unseen : {"share", "error"}
        What a state that the training rows did not have does, in `valid` and to the model.
    drop : name or list of names
        Columns of both tables to leave out, before anything of them is checked.
    random_state : int
        Where the random numbers of sampler and learner begin.
    tell : callable, optional
        Is told of the progress.

    Raises
    ------
    ValueError
        If the algorithm, a setting or the sampler is unknown, the tables do not fit together, or `storage`
        is the file of another search.
    """
    fixed = dict(settings or {})
    kind = learner_kind(algorithm, fixed)
    sampler_named(sampler)
    plan = SearchPlan(_positive(trials), effective_n_jobs(jobs), _seconds(budget))
    table = _with_roles(kind, as_table(train, drop=drop), targets)
    reserve = unseen == "share"
    held_out = as_table(valid, table.schema, drop=drop, unseen="missing" if reserve else "error")
    warn_of_unseen(held_out, "such a cell counts as missing")
    if not held_out.total_weight:
        raise ValueError("the validation table has no rows that weigh anything")
    if not len(held_out.useful_rows()):
        caution("all trials score the same: no validation row has both a weight and a known target")
    problem = Problem(
        kind=kind,
        fixed=fixed,
        train=table,
        valid=held_out,
        seed=random_state,
        sampler=sampler,
        reserve=reserve,
    )
    with Watch(tell, seconds=plan.seconds) as watch:
        if storage is None:
            return _search(problem, frame_kind(train), _place(output, None), None, watch, plan)
        with Journal(Path(storage), problem.header) as journal:
            return _search(problem, frame_kind(train), _place(output, storage), journal, watch, plan)


def _with_roles(kind: type[CircuitLearner], table: Table, targets: str | Sequence[str] | None) -> Table:
    """The table with the roles that a learner needs: of targets and inputs, or of a joint model.

    Raises:
        ValueError: if targets are named for a learner of joint models.
    """
    if targets is None:
        return table
    if not issubclass(kind, ConditionalLearner):
        raise ValueError(f"{kind.name} learns a joint model of all columns: it takes no targets")
    names = [targets] if isinstance(targets, str) else targets
    return replace(table, schema=table.schema.with_targets(table.schema.columns(names)))


def _search(
    problem: Problem, frame: str, place: Path | None, journal: Journal | None, watch: Watch, plan: SearchPlan
) -> Tuned:
    known = [] if journal is None else journal.trials
    best = Best(problem, frame, place, best_of(known))
    search = TrialSearch(problem, best, journal, watch, plan)
    search.run()
    best.save_again()
    assert best.circuit is not None
    assert best.trial is not None
    return Tuned(best.circuit, best.circuit.about["settings"], tuple(search.trials), watch.interrupted)


def _place(output: File | None, storage: File | None) -> Path | None:
    if output is not None:
        return Path(output)
    return None if storage is None else Path(f"{storage}.tract")


def _positive(trials: int) -> int:
    if trials < 1:
        raise ValueError(f"the number of trials is at least 1, not {trials}")
    return trials


def _seconds(budget: float | str | None) -> float | None:
    return seconds_in(budget) if isinstance(budget, str) else budget
