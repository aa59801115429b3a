"""Completes the left half of images given their right half, and saves a picture of it.

    python examples/faces.py                       # the digits that scikit-learn has built in
    python examples/faces.py --data olivettifaces.mat -o faces.png

With the Olivetti faces the test images show people of whom the model has seen no image. The lines of the
picture are the originals, the evidence, the most probable completion and the posterior mean. What is printed
are mean squared errors of the hidden pixels, of brightness from 0 to 1, beside those of two simple ways: the
mean of each pixel, and the hidden half of the training image whose shown half is nearest.
"""

import argparse
from pathlib import Path

import numpy as np

import tractable as tr
from tractable.arrays import Floats
from tractable.data import Schema, Table, Variable, with_grid
from tractable.reports.images import complete_images, completion_sheet, save_sheet

TEST_PEOPLE = 5  # the last ones, of whom there are ten images each
TEST_DIGITS = 200


def faces(path: Path) -> tuple[Table, Table]:
    """The Olivetti faces as tables of training and test rows."""
    from scipy.io import loadmat

    columns = loadmat(path)["faces"] / 255.0  # (pixels, images), pixels from top to bottom, then left to right
    images = columns.reshape(64, 64, -1).transpose(2, 1, 0).reshape(-1, 64 * 64)
    return tables(images, 64, 10 * TEST_PEOPLE)


def digits() -> tuple[Table, Table]:
    """The built-in digits as tables of training and test rows."""
    from sklearn.datasets import load_digits

    return tables(load_digits().data / 16.0, 8, TEST_DIGITS)


def tables(images: Floats, side: int, test: int) -> tuple[Table, Table]:
    """Square images as tables; the last ones are test rows."""
    pixels = Schema(tuple(Variable(f"pixel_{i // side}_{i % side}", "real") for i in range(side * side)))
    schema = with_grid(pixels, (side, side))
    return Table(schema, images[:-test]), Table(schema, images[-test:])


def simple_errors(train: Floats, test: Floats, hidden: np.ndarray) -> dict[str, float]:
    """The errors of the mean of each pixel, and of the nearest training image."""
    seen = ~hidden
    distance = ((test[:, None, seen] - train[:, seen]) ** 2).sum(axis=2)
    nearest = train[distance.argmin(axis=1)]
    guesses = {"mean of each pixel": train.mean(axis=0)[None, :], "nearest training image": nearest}
    return {name: float(((guess - test)[:, hidden] ** 2).mean()) for name, guess in guesses.items()}


def main() -> None:
    """Learn, complete, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="olivettifaces.mat; the built-in digits unless given")
    parser.add_argument("--learner", default="SPNSVD", help="name of an estimator")
    parser.add_argument("--images", type=int, default=10, help="how many images are drawn")
    parser.add_argument("-o", "--output", type=Path, default=Path("faces.png"))
    chosen = parser.parse_args()
    train, test = digits() if chosen.data is None else faces(chosen.data)
    circuit = getattr(tr, chosen.learner)(random_state=0).fit(train).circuit_
    found = complete_images(circuit.graph, test.values, "left")
    hidden = np.isnan(found.evidence[0]).ravel()
    errors = simple_errors(train.values, test.values, hidden)
    errors |= dict(zip(("most probable completion", "posterior mean"), found.squared_errors(), strict=True))
    for name, error in errors.items():
        print(f"{name:25} {error:.4f}")
    every = np.linspace(0, len(test) - 1, chosen.images).astype(int)
    save_sheet(chosen.output, [line[every] for line in completion_sheet(found)], (0.0, 1.0))
    print(f"saved {chosen.output}")


if __name__ == "__main__":
    main()
