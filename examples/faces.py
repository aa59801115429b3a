"""Completes the left half of images given their right half, and saves a picture of it.

    python examples/faces.py                       # the digits that scikit-learn has built in
    python examples/faces.py --data olivettifaces.mat -o faces.png

Of the ten images of each person of the Olivetti faces the last three are test images. With --unseen, all
images of the last five people are, of whom the model then has seen none. The lines of the picture are the
originals, the evidence, the most probable completion and the posterior mean. What is printed are mean squared
errors of the hidden pixels, of brightness from 0 to 1, beside those of two simple ways: the mean of each
pixel, and the hidden half of the training image whose shown half is nearest.
"""

import argparse
from pathlib import Path

import numpy as np

import tractable as tr
from tractable.base.arrays import Bools, Floats
from tractable.cli.reports.images import complete_images, completion_sheet, save_sheet
from tractable.data import Schema, Table, Variable, with_grid

TEST_PEOPLE = 5  # the last ones
EACH = 10  # images of a person, which follow each other
TEST_EACH = 3
TEST_DIGITS = 200


def faces(path: Path, unseen: bool) -> tuple[Table, Table]:
    """The Olivetti faces, half as wide and high, as tables of training and test rows."""
    from scipy.io import loadmat

    columns = (
        loadmat(path)["faces"] / 255.0
    )  # (pixels, images), pixels from top to bottom, then left to right
    images = columns.reshape(64, 64, -1).transpose(2, 1, 0)
    small = images.reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4)).reshape(len(images), -1)
    number = np.arange(len(small))
    is_test = number >= len(small) - EACH * TEST_PEOPLE if unseen else number % EACH >= EACH - TEST_EACH
    return tables(small, 32, is_test)


def digits() -> tuple[Table, Table]:
    """The built-in digits as tables of training and test rows."""
    from sklearn.datasets import load_digits

    images = load_digits().data / 16.0
    return tables(images, 8, np.arange(len(images)) >= len(images) - TEST_DIGITS)


def tables(images: Floats, side: int, is_test: Bools) -> tuple[Table, Table]:
    """Square images as tables of training and of test rows."""
    pixels = Schema(tuple(Variable(f"pixel_{i // side}_{i % side}", "real") for i in range(side * side)))
    schema = with_grid(pixels, (side, side))
    return Table(schema, images[~is_test]), Table(schema, images[is_test])


def simple_errors(train: Floats, test: Floats, hidden: Bools) -> dict[str, float]:
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
    parser.add_argument("--unseen", action="store_true", help="test images show other people")
    parser.add_argument("--learner", default="SPNSVD", help="name of an estimator, such as RegionGrid")
    parser.add_argument("--images", type=int, default=10, help="how many images are drawn")
    parser.add_argument("-o", "--output", type=Path, default=Path("faces.png"))
    chosen = parser.parse_args()
    train, test = digits() if chosen.data is None else faces(chosen.data, chosen.unseen)
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
