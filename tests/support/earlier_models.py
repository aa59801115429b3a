"""Small models of every kind, learned and saved with what they answer, for later versions to load.

`python tests/support/earlier_models.py FOLDER` learns them with the installed version. The folders in
`tests/formats/golden` are named by the day of the version that wrote them, and stay as they are:
`tests/formats/test_files_of_earlier_versions.py` requires that their files load and answer as they did.
"""

import json
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import tractable as tr

Model = Any  # a circuit or a generalised circuit
INPUTS = ["height", "sport"]
TARGETS = ["age", "smoker", "ill"]


def patients(count: int, seed: int, *, numeric: bool = True) -> dict[str, list[Any]]:
    """Columns of drawn patients: states and, with `numeric`, numbers and dates; some cells are missing."""
    rng = np.random.default_rng(seed)
    old, smoker = rng.integers(0, 3, count), rng.random(count) < 0.4
    ill = rng.random(count) < 0.1 + 0.2 * old * smoker + 0.1 * smoker
    frame: dict[str, list[Any]] = {
        "age": [("<40", "40-60", "60+")[i] for i in old],
        "smoker": [("no", "yes")[i] for i in smoker.astype(int)],
        "ill": [("no", "yes")[i] for i in ill.astype(int)],
        "sport": [("none", "some", "much")[i] for i in (rng.integers(0, 3, count) - ill).clip(0)],
    }
    if numeric:
        first = date(2024, 1, 1)
        frame["visits"] = (rng.poisson(2 + 6 * ill + rng.integers(0, 30, count))).tolist()
        frame["height"] = np.round(rng.normal(170 + 8 * smoker, 7), 2).tolist()
        frame["weight"] = np.round([0.5 * h - 10 + rng.normal(0, 6) for h in frame["height"]], 2).tolist()
        frame["seen"] = [first + timedelta(days=int(d)) for d in rng.normal(200 - 60 * ill, 40)]
    return {name: [x if rng.random() > 0.05 else None for x in cells] for name, cells in frame.items()}


def complete(count: int, seed: int) -> dict[str, list[Any]]:
    """Targets and inputs of patients without missing cells."""
    frame = patients(count, seed)
    rows = [
        row for row in zip(*(frame[name] for name in (*TARGETS, *INPUTS)), strict=True) if None not in row
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate((*TARGETS, *INPUTS))}


def _joint(estimator: Any, frame: dict[str, list[Any]]) -> Model:
    return estimator.set_params(random_state=0).fit(frame).circuit_


def _conditional(estimator: Any) -> Model:
    frame = complete(260, 3)
    inputs, targets = ({c: frame[c] for c in names} for names in (INPUTS, TARGETS))
    return estimator.set_params(random_state=0).fit(inputs, targets).circuit_


STATES, MIXED = patients(300, 1, numeric=False), patients(300, 2)
FEW = {name: MIXED[name] for name in ("smoker", "ill", "visits", "height")}

MODELS: dict[str, tuple[Callable[[], Model], tuple[str, ...]]] = {
    "independent": (lambda: _joint(tr.Independent(), MIXED), (".tract", ".json")),
    "tree": (lambda: _joint(tr.ChowLiuTree(), MIXED), (".tract", ".json")),
    "states": (lambda: _joint(tr.ACMN(), STATES), (".tract", ".json")),
    "network": (lambda: _joint(tr.BayesianNetwork(), STATES), (".tract", ".json")),
    "selective": (lambda: _joint(tr.SelectiveSPN(), STATES), (".tract", ".json")),
    "clusters": (lambda: _joint(tr.NaiveBayesMixture(components=(3,)), MIXED), (".tract", ".json")),
    "gaussians": (
        lambda: _joint(tr.GaussianMixture(components=(2,), maps="identity"), MIXED), (".tract", ".json"),
    ),
    "mapped": (lambda: _joint(tr.GaussianMixture(components=(2,)), MIXED), (".tract", ".json")),
    "pieces": (lambda: _joint(tr.EACMN(max_edges=1), FEW), (".tract", ".json")),
    "spn": (lambda: _joint(tr.LearnSPN(min_rows=(50,)), STATES), (".tract", ".json")),
    "inputs": (lambda: _conditional(tr.DACLearn()), (".tract", ".json")),
    "gates": (lambda: _conditional(tr.MCTBN(components=2)), (".tract", ".json")),
    "gated-sums": (lambda: _conditional(tr.ConditionalSPN(min_rows=60, depth=1)), (".tract", ".json")),
    "neural": (lambda: _conditional(tr.GACLearn(hidden=4, members=2, epochs=5)), (".tract",)),
    "generalised": (
        lambda: tr.GeneralisedCircuit.from_circuit(_joint(tr.ChowLiuTree(), STATES)), (".gac",),
    ),
}  # fmt: skip


def answers(model: Model, rows: dict[str, list[Any]]) -> dict[str, Any]:
    """What a model answers about rows, as plain numbers."""
    told: dict[str, Any] = {"log_prob": np.asarray(model.log_prob(rows)).tolist()}
    if not isinstance(model, tr.Circuit):
        return told | {"marginals": {c: p.tolist() for c, p in model.marginals(rows).items()}}
    targets = [v.name for v in model.schema if v.role == "target"]
    hidden = {c: [None if c in targets[:2] else x for x in cells] for c, cells in rows.items()}
    told["marginals"] = {c: np.asarray(p).tolist() for c, p in model.marginals(rows=hidden).items()}
    told["mpe"] = np.asarray(model.mpe(rows=hidden).log_prob).tolist()
    if len(targets) == len(model.schema):
        told["joint"] = model.joint_marginal(["smoker", "ill"]).tolist()
        told["prob"] = model.prob("ill=yes", "smoker=yes")
        told["entropy"] = float(model.entropy(["smoker", "ill"]))
    return told


def main(folder: Path) -> None:
    """Write every model and its answers to a folder."""
    folder.mkdir()
    recorded = {}
    for name, (learn, suffixes) in MODELS.items():
        model = learn()
        drawn = complete(14, 4) if {v.role for v in model.schema} > {"target"} else patients(14, 4)
        rows = {name: drawn[name] for name in model.schema.names}
        for suffix in suffixes:
            model.save(folder / f"{name}{suffix}")
        recorded[name] = {"suffixes": suffixes, "rows": rows, "answers": answers(model, rows)}
    text = json.dumps(recorded, default=str)
    (folder / "answers.json").write_text(text.replace('}, "', '},\n"') + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
