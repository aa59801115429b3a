"""A plot of the log-likelihood during parameter learning, drawn with matplotlib."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from tractable.cli.files import check_place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tractable.learning.parameters import Fitted

PICTURES = (".svg", ".png", ".pdf")
TRAIN_COLOUR, VALID_COLOUR = "#4c78a8", "#c44e52"


def check_curve_place(path: Path) -> None:
    """Check that a plot can be drawn and written before any work is done.

    Raises:
        ValueError: naming the suffix, the folder or the extra at fault.
    """
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"'{path}': the suffix of a plot must be one of {', '.join(PICTURES)}")
    check_place(path)
    if find_spec("matplotlib") is None:
        raise ValueError("--plot requires matplotlib, which is installed by: pip install 'tractable[plot]'")


def curve(fitted: "Fitted", title: str) -> "Figure":
    """The training curve and, if there are validation rows, their curve with its best step marked."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(fitted.train, ".-", color=TRAIN_COLOUR, label="training rows")
    if fitted.valid:
        axes.plot(fitted.valid, ".-", color=VALID_COLOUR, label="validation rows")
        best = max(range(len(fitted.valid)), key=fitted.valid.__getitem__)
        label = f"best: {fitted.valid[best]:.4f} at step {best}"
        axes.plot([best], [fitted.valid[best]], "o", mfc="none", ms=10, color=VALID_COLOUR, label=label)
    axes.set(title=title, xlabel="step", ylabel="mean log-likelihood, nats")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False)
    return figure


def save_curve(fitted: "Fitted", title: str, path: Path) -> None:
    """Save the plot in the format that the suffix selects."""
    from tractable.formats.atomic import write_bytes

    buffer = BytesIO()
    curve(fitted, title).savefig(buffer, format=path.suffix.lower().removeprefix("."), dpi=150)
    write_bytes(path, buffer.getvalue())
