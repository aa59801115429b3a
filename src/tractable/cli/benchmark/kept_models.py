"""Joint models that are kept on disk, to be asked with other inputs without being learned again."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from tractable.circuit import Graph
from tractable.formats import Document, read_circuit, write_circuit
from tractable.formats.locks import lock

if TYPE_CHECKING:
    from tractable.cli.benchmark.runs import Job


@dataclass(frozen=True)
class LearningCost:
    """What learning a model has taken."""

    finished: bool  # False where the budget ended learning early
    cpu_seconds: float
    seconds: float


def kept_model(
    job: "Job", settings: object, learn: Callable[[], tuple[Graph, LearningCost]]
) -> tuple[Graph, LearningCost]:
    """The model of a job and what it cost: that of an earlier run, or else it is learned and kept.

    Another process that wants the same model waits for it.
    """
    assert job.models is not None
    folder = Path(job.models)
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{job.dataset.name}-{job.learner}-{_digest(job, settings)}.tract"
    with place.with_suffix(".lock").open("ab") as file:
        lock(file, wait=True)
        if place.exists():
            circuit = read_circuit(place)
            return circuit.graph, LearningCost(**circuit.about["learning"])
        graph, cost = learn()
        write_circuit(Document(graph, {"learning": asdict(cost), "learner": job.learner}), place)
    return graph, cost


def _digest(job: "Job", settings: object) -> str:
    """A short text for everything that the model depends on."""
    whole = (job.dataset.name, job.dataset.digest(), job.learner, settings, job.seed, job.budget)
    return blake2b(json.dumps(whole, sort_keys=True).encode(), digest_size=6).hexdigest()
