"""The user interface of the search."""

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
from tractable.learning.tuning.journal import Journal, table_text
from tractable.learning.tuning.samplers import sampler_named
from tractable.learning.tuning.search import SearchPlan, TrialSearch
from tractable.learning.tuning.trial import Problem, Trial, best_of, learner_kind
from tractable.model import Circuit

File: TypeAlias = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Tuned:
    """The best model, its settings, and all trials; as text, the table of trials."""

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
    """The model with the best score on `valid` of several learned from `train` with different settings.

    The first trial has the default settings; the others are proposed by the sampler within the search space
    of the learner. Ctrl-C ends the search with the best model so far; a second Ctrl-C aborts.

    Parameters ---------- algorithm : str The learner, as on the command line. train, valid : data frame,
    array, dictionary of columns or Table Training rows, and validation rows that score the trials. trials :
    int Total number of trials, including those in `storage`. budget : float or str, optional Time budget in
    seconds, or a string such as "10m". The trial of the defaults may take half of it, any other an equal
    share of the rest, or twice the time of the defaults if that is more. A trial that exceeds its share is
    stopped early. sampler : {"random", "tpe"} Settings drawn at random, or proposed by Optuna based on
    earlier trials. storage : path, optional A file that records the trials. A search with an existing file
    continues it. output : path, optional The file of the best model so far; by default next to `storage`.
    settings : mapping, optional Fixed settings, which are not searched. targets : str or sequence of str,
    optional For a conditional learner: the columns to predict from all others. Models are compared by the
    log-likelihood of these columns given the others. jobs : int Number of parallel trials, each in a separate
    process; -1 for the number of cores. unseen : {"share", "error"} Treatment of states that do not occur in
    the training rows, in `valid` and by the model. drop : name or list of names Columns of both tables to
    leave out before they are checked. random_state : int Seed of sampler and learner. tell : callable,
    optional Receives progress reports.

    Raises ------ ValueError If the algorithm, a setting or the sampler is unknown, the schemas of the tables
    differ, or `storage` belongs to another search.
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
        raise ValueError("the weights of the validation table are all zero")
    if not len(held_out.useful_rows()):
        caution("all trials have the same score: no validation row has both a weight and a known target")
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
    """The table with targets and inputs for a conditional learner, or without roles for a joint one.

    Raises:
        ValueError: if targets are given for a learner of joint models.
    """
    if targets is None:
        return table
    if not issubclass(kind, ConditionalLearner):
        raise ValueError(f"{kind.name} learns a joint model of all columns, so targets do not apply")
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
        raise ValueError(f"the number of trials must be at least 1, not {trials}")
    return trials


def _seconds(budget: float | str | None) -> float | None:
    return seconds_in(budget) if isinstance(budget, str) else budget
