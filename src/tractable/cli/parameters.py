"""`tractable parameters`: fit the parameters of a model with a given structure."""

import time
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tractable.cli import options, training
from tractable.cli.files import check_model_place, check_place
from tractable.cli.output import INTERRUPTED, answer, lines, note
from tractable.cli.progress import progress_bar
from tractable.cli.reading import Reading, reads_tables
from tractable.cli.summary import summary_watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tractable.learning.parameters import Fitted


# ---- a plot of the log-likelihood during parameter learning, drawn with matplotlib ----------------------


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


@reads_tables
def parameters(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.Model,
    train: Annotated[Path, typer.Argument(metavar="TRAIN", help="Table to learn from.", show_default=False)],
    method: Annotated[
        str, typer.Option("--method", help="Parameter method, such as cccp, online-em or hard-em.")
    ] = ("cccp"),
    targets: options.Targets = None,
    valid: options.Valid = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="File of the new model; by default MODEL."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Plot the training curve to this .svg, .png or .pdf file."
        ),
    ] = None,
    settings: options.Settings = None,
    weight: options.Weight = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    budget: options.Budget = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Fit the parameters of MODEL to TRAIN and save it. Ctrl-C saves the best model so far.

    Example: tractable parameters clinic.tract train.csv --method cccp --valid valid.csv -o better.tract
    """
    from tractable.base.progress import Watch
    from tractable.cli.reports import fitting_summary
    from tractable.data import useful_validation
    from tractable.formats.atomic import save_or_rescue
    from tractable.learning.parameters import METHODS
    from tractable.learning.training import refit
    from tractable.model import load

    chosen = [] if targets is None else [f"targets={targets}"]
    fitting = METHODS.make(method, [*(settings or []), *chosen])
    seconds = None if budget is None else options.duration(budget)
    place = output or model
    check_model_place(place)
    if plot is not None:
        check_curve_place(plot)
    before = load(model)
    table = reading.rows_for(before, train, weight)
    held_out = useful_validation(None if valid is None else reading.rows_for(before, valid, weight))
    started = time.perf_counter()
    with training.cores(jobs), progress_bar(quiet) as tell:
        watch = Watch(tell, seconds=seconds)
        circuit, fitted = refit(before, table, held_out, fitting, seed, watch)
    took = time.perf_counter() - started
    if watch.interrupted:
        note(INTERRUPTED, quiet)
    save_or_rescue(circuit.save, place)
    note(f"model written to {place}", quiet)
    if plot is not None:
        save_curve(fitted, fitting.title, plot)
    run = {"steps": len(fitted.train), "seconds": took, "model": place, "plot": plot}
    with summary_watch(None, interrupted=watch.interrupted) as rest:
        facts = fitting_summary(circuit, fitting, table, held_out, rest) | run
    answer(facts, lines([(name.replace("_", " "), x) for name, x in facts.items() if x is not None]), as_json)
