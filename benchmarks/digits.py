"""Handwritten digits: DSPN-SVD as printed, extended, and the same circuits over pixels without HSIC features.

The folder of the data has `digits/usps.npz` and the four files of MNIST (`digits/train-images-idx3-ubyte.gz`
and so on). Test rows are scored once for each method; all settings are fixed here.
"""

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tractable as tr
from tractable.base.arrays import Floats, Ints
from tractable.data import Table
from tractable.engine import log_values
from tractable.engine.feature_circuits import feature_schema
from tractable.learning.joint.rank_one.learner import SPNSVDLearner

GAMMA = 4.0  # of circuits over pixels
PRINTED: dict[str, dict[str, Any]] = {
    "usps": {"n_features": (9, 7), "gamma": (4.0, 20.0)},
    "mnist": {"n_features": 9, "gamma": 20.0},
}
EXTENDED: dict[str, dict[str, Any]] = {
    "usps": {"width": 0.6, "shrinkage": 0.1, "components": 3000},
    "mnist": {"width": 0.8, "shrinkage": 0.01, "components": 6000},
}


class Images(NamedTuple):
    """Brightness from zero to one, and the digits."""

    x: Floats  # (images, pixels)
    digit: Ints  # (images,)


def read_usps(folder: Path) -> tuple[Images, Images]:
    """Training and test images of 16 x 16 pixels."""
    with np.load(folder / "usps.npz") as parts:
        train, test = (
            Images(parts[f"{part}_images"].astype(np.float64), parts[f"{part}_labels"].astype(np.int64))
            for part in ("train", "test")
        )
    return train, test


def read_mnist(folder: Path) -> tuple[Images, Images]:
    """Training and test images of 28 x 28 pixels."""

    def read(part: str) -> Images:
        pixels = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
        digits = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
        x = np.frombuffer(pixels, dtype=np.uint8, offset=16).reshape(-1, 28 * 28)
        return Images(x / 255, np.frombuffer(digits, dtype=np.uint8, offset=8).astype(np.int64))

    return read("train"), read("t10k")


READERS: dict[str, Callable[[Path], tuple[Images, Images]]] = {"usps": read_usps, "mnist": read_mnist}


def as_printed(name: str, train: Images, test: Images) -> Ints:
    """Linear features, and blocks of rank one for each class."""
    model = tr.DSPNSVD(**PRINTED[name], random_state=0).fit(train.x, train.digit)
    return np.asarray(model.predict(test.x))


def extended(name: str, train: Images, test: Images) -> Ints:
    """Whitened features of a Gaussian kernel, and a mixture of Gaussians for each class."""
    more: dict[str, Any] = {"kernel": "rbf", "whiten": True, "density": "gaussian-mixture", "n_features": 9}
    model = tr.DSPNSVD(**more, **EXTENDED[name], random_state=0).fit(train.x, train.digit)
    return np.asarray(model.predict(test.x))


def over_pixels(name: str, train: Images, test: Images) -> Ints:
    """The same circuits of blocks of rank one without features: over all pixels."""
    schema = feature_schema(train.x.shape[1])
    scores = []
    for digit in range(10):
        own = train.x[train.digit == digit]
        learner = SPNSVDLearner(gamma=(GAMMA,), leaf="instances")
        graph = learner.learn(Table(schema, own), np.random.default_rng(0))
        scores.append(log_values(graph, test.x) + np.log(len(own)))
    return np.argmax(scores, axis=0)


METHODS = {"printed": as_printed, "extended": extended, "pixels": over_pixels}


def measure(name: str, method: str, data: Path, rows: int | None, test_rows: int | None) -> dict[str, Any]:
    """The accuracy on test rows, and the seconds of learning and predicting."""
    train, test = READERS[name](data / "digits")
    train = Images(train.x[:rows], train.digit[:rows])
    test = Images(test.x[:test_rows], test.digit[:test_rows])
    cpu, wall = time.process_time(), time.perf_counter()
    right = METHODS[method](name, train, test) == test.digit
    return {
        "data": name, "method": method, "train_rows": len(train.x), "test_rows": len(test.x),
        "accuracy": round(float(right.mean()), 4), "cpu_s": round(time.process_time() - cpu, 1),
        "wall_s": round(time.perf_counter() - wall, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--datasets", default="usps,mnist")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rows", type=int, help="training rows, the first ones (default: all)")
    parser.add_argument("--test-rows", type=int, help="test rows, the first ones (default: all)")
    parser.add_argument("--json", action="store_true", help="one JSON list instead of a line for each")
    how = parser.parse_args()
    found = []
    for name in how.datasets.split(","):
        for method in how.methods.split(","):
            found.append(measure(name, method, how.data, how.rows, how.test_rows))
            if not how.json:
                print(found[-1], flush=True)
    if how.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
