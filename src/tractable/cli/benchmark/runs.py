"""One measurement: what is to be measured, what came of it, and both as a line of JSON."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from tractable import __version__
from tractable.cli.benchmark.contestants import any_contestant
from tractable.cli.benchmark.datasets import DataSet
from tractable.cli.benchmark.questions import Answers, Times
from tractable.formats.atomic import lock, name_file_in_errors

# Log-likelihoods are kept to a millionth of a nat: a difference below that is noise of the computation, and a
# paired test would find such noise significant.
DECIMALS = 6


@dataclass(frozen=True)
class Job:
    """What is to be measured, as a child process is told."""

    dataset: DataSet
    learner: str  # such as `idspn` or `learnspn+cccp`
    settings: tuple[str, ...] = ()  # texts `learner.name=value`
    seed: int = 0
    budget: float | None = None  # seconds that learning may take
    queries: int = 1000  # questions of each percentage, at most
    inputs: float | None = None  # the share of the columns that are given; None for joint models
    models: str | None = None  # the folder in which joint models are kept to be asked again

    def to_json(self) -> str:
        """The job on one line."""
        files = [str(file.resolve()) for file in self.dataset.files]
        return json.dumps(asdict(self) | {"dataset": {"name": self.dataset.name, "files": files}})

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """The job that a line tells of."""
        fields = json.loads(text)
        dataset = DataSet(fields["dataset"]["name"], tuple(map(Path, fields["dataset"]["files"])))
        return cls(**(fields | {"dataset": dataset, "settings": tuple(fields["settings"])}))

    def result(self, measured: "Measured | None", reason: str | None = None) -> "Run":
        """The line to keep: what was measured, or why there is nothing."""
        return Run(
            dataset=self.dataset.name,
            data=self.dataset.digest(),
            learner=self.learner,
            settings=any_contestant(self.learner, self.settings, self.inputs is not None).settings,
            seed=self.seed,
            budget=self.budget,
            queries=self.queries,
            version=__version__,
            measured=measured,
            reason=reason,
            inputs=self.inputs,
        )


@dataclass(frozen=True)
class Measured:
    """What came of a run that went well: of a circuit, or of a network that has none.

    The log-likelihoods of a network are intractable; its answers are by Gibbs sampling, a cell at a time.
    """

    finished: bool  # False where the budget ended learning early
    variables: int
    train_rows: int
    nodes: int | None  # of a circuit
    edges: int | None  # of a circuit
    cpu_seconds: float  # of learning, on all cores together
    seconds: float  # of learning, by the clock
    peak_mb: float  # the most memory that the whole process held, with the interpreter and the tables
    valid_ll: float | None  # of a circuit
    log_prob: list[float]  # of each test row; none for a network
    answers: list[Answers]
    features: int | None = None  # of a network
    times: Times | None = None  # where targets were asked for given inputs
    parameters: int | None = None  # where targets were asked for given inputs
    metrics: dict[str, float] | None = None  # of predicted targets, where they were asked for given inputs
    settled_seconds: float | None = None  # until the score was within half a percent of the last one
    new_test_rows: int | None = None  # test rows that do not occur among the training rows
    new_test_ll: float | None = None  # the mean log-likelihood of these
    valid_pll: float | None = None  # the mean log pseudo-likelihood of the validation rows, for a network

    @property
    def is_network(self) -> bool:
        """Whether a network without a circuit was measured, whose answers are approximate."""
        return self.features is not None

    @property
    def valid_score(self) -> float:
        """What says which of several runs of a learner is the best, on the validation rows."""
        score = self.valid_pll if self.is_network else self.valid_ll
        assert score is not None
        return score

    @property
    def test_ll(self) -> float | None:
        """The mean log-likelihood of the test rows; None for a network, where it is intractable."""
        return None if self.is_network else float(np.mean(self.log_prob))


@dataclass(frozen=True)
class Run:
    """A line of results."""

    dataset: str
    data: str  # tells tables of the same name apart
    learner: str
    settings: Mapping[str, Any]
    seed: int
    budget: float | None
    queries: int
    version: str
    measured: Measured | None
    reason: str | None = None  # why nothing was measured
    inputs: float | None = None  # the share of the columns that were given; None for joint models

    @property
    def key(self) -> str:
        """What says that two runs measure the same."""
        whole = (self.dataset, self.data, self.learner, self.settings, self.seed, self.budget, self.queries)
        return json.dumps(whole if self.inputs is None else (*whole, self.inputs), sort_keys=True)

    def to_json(self) -> str:
        """The run on one line; the logarithm of zero is null."""
        fields = asdict(self)
        if self.measured is not None:
            for name in ("valid_ll", "valid_pll", "new_test_ll"):
                value = getattr(self.measured, name)
                fields["measured"][name] = None if value is None else _round_logs([value])[0]
            fields["measured"]["log_prob"] = _round_logs(self.measured.log_prob)
            fields["measured"]["answers"] = [
                asdict(one) | {"log_prob": _round_logs(one.log_prob)} for one in self.measured.answers
            ]
        return json.dumps(fields, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Run":
        """The run that a line tells of.

        Raises:
            ValueError: if it is no such line.
        """
        try:
            run = cls(**json.loads(text))
            return run if run.measured is None else replace(run, measured=_measured(asdict(run)["measured"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise ValueError("this is not a result of a benchmark") from None


def _measured(told: dict[str, Any]) -> Measured:
    answers = [Answers(**(one | {"log_prob": _read_logs(one["log_prob"])})) for one in told["answers"]]
    score = "valid_ll" if told.get("features") is None else "valid_pll"
    logs: dict[str, Any] = {score: _read_logs([told[score]])[0], "log_prob": _read_logs(told["log_prob"])}
    if told.get("new_test_rows"):
        logs["new_test_ll"] = _read_logs([told["new_test_ll"]])[0]
    times = None if told.get("times") is None else Times(**told["times"])
    return Measured(**(told | logs | {"answers": answers, "times": times}))


def _round_logs(logs: list[float]) -> list[float | None]:
    """Logarithms as a file holds them."""
    return [None if x == -np.inf else x for x in np.round(logs, DECIMALS).tolist()]


def _read_logs(logs: list[float | None]) -> list[float]:
    return [-np.inf if x is None else x for x in logs]


# ---- results as lines of JSON: what is measured stays measured, also when a benchmark is cut short ------


START = b'{"dataset": '  # of every line


def read_results(path: Path) -> list[Run]:
    """The latest run of each measurement in a file; nothing if there is no file.

    An incomplete last line is ignored.

    Raises:
        ValueError: naming a line that is not a result.
    """
    if not path.exists():
        return []
    runs: dict[str, Run] = {}
    *whole, half = path.read_bytes().split(b"\n")
    if half[: len(START)] != START[: len(half)]:  # a file of something else, which is not ours to cut
        raise ValueError(f"{path}, line {len(whole) + 1}: this is not a result of a benchmark")
    for number, line in enumerate(whole, start=1):
        if line.strip():
            try:
                run = Run.from_json(line.decode("utf-8", "replace"))
            except ValueError as fault:
                raise ValueError(f"{path}, line {number}: {fault}") from None
            runs.pop(run.key, None)
            runs[run.key] = run
    return list(runs.values())


def append_result(path: Path, run: Run) -> None:
    """Add a run to a file, in the place of a last line that was half written; others may do so meanwhile."""
    with name_file_in_errors(path), path.open("ab+") as file:
        lock(file, wait=True)
        _cut_half_a_line(file)
        file.write(run.to_json().encode("utf-8") + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _cut_half_a_line(file: IO[bytes]) -> None:
    """Shorten a file to its last end of a line."""
    start = file.seek(0, os.SEEK_END)
    tail = b""
    while start > 0 and b"\n" not in tail:
        size = min(1 << 16, start)
        start = file.seek(start - size)
        tail = file.read(size)
    file.truncate(start + tail.rfind(b"\n") + 1)
