"""What `tractable learn` and its kin do between reading their options and printing their answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tractable.cli.options import hint

if TYPE_CHECKING:
    from tractable.data import Table
    from tractable.learners import Learner, Watch
    from tractable.model import Circuit

SEAL = 16  # bytes that say which call a checkpoint belongs to, and that nothing of it is missing


def learner_named(algorithm: str, settings: Sequence[str]) -> "Learner":
    """The learner of a name, with settings as texts `name=value`.

    Raises:
        ValueError: naming the algorithm or the setting that is unknown, with the nearest one that is not.
    """
    from tractable.learners import LEARNERS

    learner: Learner = made(LEARNERS, algorithm, "algorithm", settings)
    return learner


def made(kinds: Mapping[str, type[Any]], name: str, noun: str, settings: Sequence[str]) -> Any:
    """What a table holds under a name, made with settings as texts `name=value`.

    Raises:
        ValueError: naming what is unknown, with the nearest that is not.
    """
    from tractable.learners import settings_from_text

    if name not in kinds:
        near = hint(name, kinds) or f" ({noun}s: {', '.join(kinds)})"
        raise ValueError(f"there is no {noun} '{name}'{near}")
    known = [field.name for field in fields(kinds[name])]
    for setting in (text.partition("=")[0].strip() for text in settings if "=" in text):
        if setting not in known and (near := hint(setting, known)):
            raise ValueError(f"{name} has no setting '{setting}'{near}")
    return kinds[name](**settings_from_text(kinds[name], settings))


def plain_settings(maker: Any) -> dict[str, Any]:
    """The settings of a learner or method as a file can hold them."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(maker).items()}


def default_place(train: Path, algorithm: str) -> Path:
    """Where a model goes when nobody says so: in this folder, named after its table and its learner."""
    stem = train.name.removesuffix(".gz")
    return Path(f"{Path(stem).stem}.{algorithm}.tract")


def heritage(learner: "Learner", seed: int, table: "Table", valid: "Table | None") -> dict[str, Any]:
    """What a model's file tells about how it was learned; the same call on the same tables tells the same."""
    from tractable import __version__
    from tractable.data import frame_kind

    return {
        "learner": learner.name,
        "settings": plain_settings(learner),
        "seed": seed,
        "version": __version__,
        "frame": frame_kind(table),
        "rows": len(table),
        "table": _digest(table),
        "valid": None if valid is None else _digest(valid),
    }


def _digest(table: "Table") -> str:
    """A short text that two tables share only when they hold the same rows."""
    digest = blake2b(table.values.tobytes(), digest_size=8)
    digest.update(table.row_weights.tobytes())
    return digest.hexdigest()


def finished(model: Path, about: dict[str, Any]) -> "Circuit | None":
    """The model of a file that the same call has written to its end; None when there is no such file."""
    from tractable.model import load

    if not model.exists():
        return None
    circuit = load(model)
    return circuit if circuit.about == about | {"finished": True} else None


class CheckpointFile:
    """A file beside the model's, from which the same call goes on; the file of another call is ignored."""

    def __init__(self, model: Path, about: dict[str, Any]) -> None:
        self._place = model.with_name(f"{model.name}.checkpoint")
        self._call = json.dumps(about, sort_keys=True).encode()

    def read(self) -> bytes | None:
        """The last checkpoint of the same call, if it is complete."""
        if not self._place.exists():
            return None
        data = self._place.read_bytes()
        seal, checkpoint = data[:SEAL], data[SEAL:]
        return checkpoint if seal == self._seal(checkpoint) else None

    def write(self, checkpoint: bytes) -> None:
        """Replace the last checkpoint."""
        from tractable.formats.atomic import write_bytes

        write_bytes(self._place, self._seal(checkpoint) + checkpoint)

    def remove(self) -> None:
        """Remove the file: the work is done."""
        self._place.unlink(missing_ok=True)

    def _seal(self, checkpoint: bytes) -> bytes:
        return blake2b(self._call + checkpoint, digest_size=SEAL).digest()


@contextmanager
def cores(jobs: int | None) -> Iterator[None]:
    """Use `jobs` cores (None: all) for sweeps over circuits and for learners' own parallel work."""
    from joblib import parallel_config

    from tractable.threads import use_threads

    with use_threads(jobs), parallel_config(n_jobs=-1 if jobs is None else jobs):
        yield


def learned(
    learner: "Learner", table: "Table", valid: "Table | None", about: dict[str, Any], watch: "Watch"
) -> "Circuit":
    """The circuit, knowing where it comes from and whether its learner was let finish."""
    import numpy as np

    from tractable.model import Circuit

    graph = learner.learn(table, np.random.default_rng(about["seed"]), valid=valid, watch=watch)
    return Circuit(graph, about | {"finished": not watch.should_stop()})


def facts(circuit: "Circuit", table: "Table", valid: "Table | None") -> dict[str, Any]:
    """What there is to tell about a learned model."""
    return {
        "algorithm": circuit.about["learner"],
        "rows": len(table),
        "variables": len(table.schema),
        "nodes": circuit.graph.nodes,
        "edges": circuit.graph.edges,
        "train_ll": mean_log_likelihood(circuit, table),
        "valid_ll": None if valid is None else mean_log_likelihood(circuit, valid),
        "seed": circuit.about["seed"],
        "settings": circuit.about["settings"],
        "finished": circuit.about["finished"],
    }


def mean_log_likelihood(circuit: "Circuit", table: "Table") -> float:
    """The mean log-likelihood of a table's rows as they weigh, in nats."""
    from tractable.cli.score import summary

    mean: float = summary(circuit.log_prob(table), table.row_weights)["mean_ll"]
    return mean
