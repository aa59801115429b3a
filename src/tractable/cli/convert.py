"""`tractable convert` and `tractable plot`: convert and draw circuits."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tractable.cli import options
from tractable.cli.files import check_model_place, check_place, is_standard_output, print_model
from tractable.cli.output import answer, note
from tractable.cli.output import count as tell_count
from tractable.cli.progress import progress_bar
from tractable.cli.reading import Reading, reads_tables

if TYPE_CHECKING:
    from tractable.model import Circuit

PICTURES = (".svg", ".dot")
IMAGES = ".png"  # of answers, where columns lie in a grid
TEXT = ".json"  # what a model is printed as


def convert(
    source: Annotated[
        Path, typer.Argument(metavar=("IN"), help="File of a circuit or a network.", show_default=False)
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar=("OUT"),
            help="Output file; its suffix selects the format, and - prints .json.",
            show_default=False,
        ),
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            metavar="ENTRIES",
            help=(
                "Maximum number of table entries for compiling a network, about the number of edges of the"
                " circuit; by default 50 million, which take a minute and 4 GB."
            ),
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Time limit for compiling a network: 90s, 10m, 1h."),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option("--inputs", metavar="A,B", help="Columns that are inputs of the conditional circuit."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert a circuit to the format that the suffix selects; networks are compiled to circuits.

    Input formats: .tract .json .ac .spn .bif .uai .bn .mn. Output formats: .tract .json .ac .spn .uai .mn
    .dot .svg; - prints .json. A .ac or .spn file does not record which columns of a conditional circuit are
    inputs: specify them with --inputs.

    Example: tractable convert asia.bif asia.tract
    """
    seconds = None if budget is None else options.duration(budget)
    if is_standard_output(target):
        _refuse_json(as_json)
        print_model(_read(source, limit, seconds, quiet), TEXT)
        return
    check_model_place(target)
    circuit = _read(source, limit, seconds, quiet or as_json)
    if inputs is not None:
        circuit = circuit.conditional_on(options.names(inputs))
    circuit.save(target)
    size = f"{tell_count(circuit.graph.nodes, 'node')}, {tell_count(circuit.graph.edges, 'edge')}"
    facts = {"input": source, "output": target, "nodes": circuit.graph.nodes, "edges": circuit.graph.edges}
    _tell(facts, f"wrote {target}: {size}", as_json, quiet)


def _read(source: Path, limit: int | None, seconds: float | None, quiet: bool) -> "Circuit":
    """The circuit in a file; a progress bar is shown while a network is compiled."""
    from tractable.base.progress import Stopped, Watch
    from tractable.formats.network_files import compile_network_file
    from tractable.model import Circuit, load
    from tractable.networks import DEFAULT_LIMIT, READERS

    if source.suffix.lower() not in READERS:
        return load(source)
    with progress_bar(quiet) as show:
        watch = Watch(show, seconds=seconds)
        try:
            document = compile_network_file(source, DEFAULT_LIMIT if limit is None else limit, watch)
        except Stopped as stop:  # nothing else than an interrupt stops it early
            raise KeyboardInterrupt from stop
    return Circuit(document.graph, document.about)


@reads_tables
def plot(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.Model,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="Output file: .svg, .dot for Graphviz, or .png for images; - prints .svg.",
            show_default=False,
        ),
    ],
    given: options.Given = None,
    rows: Annotated[
        Path | None, typer.Option("--rows", metavar="DATA", help="Table of images to complete.")
    ] = None,
    hide: Annotated[
        Literal["left", "right", "top", "bottom"],
        typer.Option("--hide", help="Half of the images of --rows that is hidden and completed."),
    ] = "left",
    count: Annotated[
        int, typer.Option("--count", min=0, help="Number of samples, or of images of --rows.")
    ] = 8,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: Reading,
) -> None:
    """Draw MODEL: all nodes of a small circuit, or the layer sizes of a large one.

    If the columns are a grid of pixels, a .png file shows images instead: the mean and the most probable
    image given the evidence, and samples. With --rows it shows the images in the rows, their visible halves,
    and two completions: the most probable one and the mean.

    Example: tractable plot clinic.tract clinic.svg
    """
    from tractable.cli.images import Drawing, draw_images
    from tractable.model import load

    if target.suffix.lower() == IMAGES:
        check_place(target)
        lines = draw_images(load(model), target, reading, Drawing(given, rows, hide, count, seed))
        facts = {"model": model, "output": target, "images": lines}
        _tell(facts, f"drew {tell_count(lines, 'image')} in {target}", as_json, quiet)
        return
    if given is not None or rows is not None or reading.grid is not None:
        raise ValueError(f"'{target}': answers are drawn as images, which must have the suffix {IMAGES}")

    if is_standard_output(target):
        _refuse_json(as_json)
        print_model(load(model), PICTURES[0])
        return
    if target.suffix.lower() not in PICTURES:
        raise ValueError(
            f"'{target}': the suffix of a picture must be one of {', '.join((*PICTURES, IMAGES))}"
        )
    check_model_place(target)
    circuit = load(model)
    circuit.save(target)
    facts = {"model": model, "output": target, "nodes": circuit.graph.nodes}
    _tell(facts, f"drew {tell_count(circuit.graph.nodes, 'node')} in {target}", as_json, quiet)


def _refuse_json(as_json: bool) -> None:
    if as_json:
        raise typer.BadParameter("--json cannot be combined with a model on standard output")


def _tell(facts: dict[str, object], words: str, as_json: bool, quiet: bool) -> None:
    if as_json:
        answer(facts, words, as_json)
    else:
        note(words, quiet)
