"""Multi-label prediction: conditional circuits beside independent classifiers and classifier chains.

The folder of the data has `multilabel/yeast-train.arff.gz` and so on. Circuits are judged by both of their
predictions: each label alone (marginals) and all labels together (most probable completion). Needs `neural`.
"""

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tractable.base.arrays import Floats
from tractable.base.settings import settings_from_text
from tractable.cli.reports import label_metrics, prediction_metrics
from tractable.data import Schema, Table, Variable
from tractable.learning.conditional import CONDITIONAL

LABELS = {"yeast": 14, "scene": 6}
SUFFIX = {"yeast": "arff", "scene": "csv"}
CIRCUITS = (
    "gaclearn",
    "gaclearn:loss=hamming",
    "gaclearn:loss=zero-one",
    "daclearn",
    "daclearn:loss=hamming",
)


def read_part(folder: Path, name: str, part: str) -> Table:
    """A table of real inputs and binary targets, from ARFF without a header or CSV."""
    with gzip.open(folder / "multilabel" / f"{name}-{part}.{SUFFIX[name]}.gz", "rt") as lines:
        kept = [line for line in lines if line.strip() and not line.lstrip().startswith(("@", "%"))]
    values = np.loadtxt(kept, delimiter=",")
    inputs = values.shape[1] - LABELS[name]
    columns = [Variable(f"x{i}", "real", role="input") for i in range(inputs)]
    columns += [Variable(f"y{i}", states=(0, 1)) for i in range(LABELS[name])]
    return Table(Schema(tuple(columns)), values)


def with_circuit(name: str, train: Table, test: Table, seed: int) -> dict[str, Any]:
    """The metrics of a conditional learner, whose name may hold settings."""
    learner, *settings = name.split(":")
    kind = CONDITIONAL[learner]
    graph = kind(**settings_from_text(kind, settings)).learn(train, np.random.default_rng(seed))
    found = prediction_metrics(graph, test)
    return {way: found[way] for way in ("marginals", "mpe")}


def with_classifier(make: Callable[[int], Any], train: Table, test: Table, seed: int) -> dict[str, Any]:
    """The metrics of an estimator of scikit-learn."""
    x, y = (train.values[:, columns] for columns in (train.schema.inputs, train.schema.targets))
    predicted = make(seed).fit(x, y).predict(test.values[:, test.schema.inputs])
    truth: Floats = test.values[:, test.schema.targets]
    every = np.ones(truth.shape[1], dtype=np.bool_)
    return {"labels": label_metrics(truth, np.asarray(predicted, dtype=np.float64), test.row_weights, every)}


def logistic(seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000, random_state=seed))


def forest(seed: int) -> Any:
    return RandomForestClassifier(200, random_state=seed)


BASELINES: dict[str, Callable[[int], Any]] = {
    "independent logistic": lambda seed: MultiOutputClassifier(logistic(seed)),
    "chain of logistic": lambda seed: ClassifierChain(logistic(seed), order="random", random_state=seed),
    "independent forests": lambda seed: MultiOutputClassifier(forest(seed)),
    "chain of forests": lambda seed: ClassifierChain(forest(seed), order="random", random_state=seed),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", default="yeast,scene")
    parser.add_argument("--models", default=",".join([*CIRCUITS, *BASELINES]))
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    for name in options.datasets.split(","):
        train, test = (read_part(options.data, name, part) for part in ("train", "test"))
        for model in options.models.split(","):
            for seed in range(options.seeds):
                begun = time.process_time()
                if model in BASELINES:
                    found = with_classifier(BASELINES[model], train, test, seed)
                else:
                    found = with_circuit(model, train, test, seed)
                spent = round(time.process_time() - begun, 1)
                line = {"dataset": name, "model": model, "seed": seed, "cpu_seconds": spent, **found}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
