"""`tractable convert` and `tractable plot`: a circuit in another format, and its picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tractable.cli import options
from tractable.cli.files import check_model_place, is_standard_output, print_model
from tractable.cli.output import answer, count, note
from tractable.cli.progress import progress_bar

if TYPE_CHECKING:
    from tractable.model import Circuit

PICTURES = (".svg", ".dot")
TEXT = ".json"  # what a model is printed as


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A circuit or a network.", show_default=False)],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="The suffix chooses; - prints .json.", show_default=False)
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=1,
            metavar="ENTRIES",
            help="Table entries that compiling a network may take, about as many as the circuit gets edges;"
            " 50 million, which take a minute and 4 GB, unless given.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="TIME", help="Give up compiling a network after 90s, 10m, 1h, ..."),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option("--inputs", metavar="A,B", help="Columns that the circuit is conditional on."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the circuit of one file to another; suffixes choose the formats, and networks are compiled.

    Read: .tract .json .ac .spn .bif .uai .bn .mn. Written: .tract .json .ac .spn .uai .mn .dot .svg; - prints
    it as .json. A .ac or .spn file cannot say which columns of a conditional circuit are inputs: --inputs
    says it.

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
    size = f"{count(circuit.graph.nodes, 'node')}, {count(circuit.graph.edges, 'edge')}"
    facts = {"input": source, "output": target, "nodes": circuit.graph.nodes, "edges": circuit.graph.edges}
    _tell(facts, f"wrote {target}: {size}", as_json, quiet)


def _read(source: Path, limit: int | None, seconds: float | None, quiet: bool) -> "Circuit":
    """The circuit of a file; a bar shows how far compiling a network has come."""
    from tractable.formats.network_files import compile_network_file
    from tractable.model import Circuit, load
    from tractable.networks import DEFAULT_LIMIT, READERS
    from tractable.progress import Stopped, Watch

    if source.suffix.lower() not in READERS:
        return load(source)
    with progress_bar(quiet) as show:
        watch = Watch(show, seconds=seconds)
        try:
            document = compile_network_file(source, DEFAULT_LIMIT if limit is None else limit, watch)
        except Stopped as stop:  # nothing else than an interrupt stops it early
            raise KeyboardInterrupt from stop
    return Circuit(document.graph, document.about)


def plot(
    model: options.Model,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="The picture: .svg, or .dot for Graphviz; - prints .svg.", show_default=False
        ),
    ],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw MODEL: node by node when it is small, the sizes of its layers when it is large.

    Example: tractable plot clinic.tract clinic.svg
    """
    from tractable.model import load

    if is_standard_output(target):
        _refuse_json(as_json)
        print_model(load(model), PICTURES[0])
        return
    if target.suffix.lower() not in PICTURES:
        raise ValueError(f"'{target}': a picture is written as one of {', '.join(PICTURES)}")
    check_model_place(target)
    circuit = load(model)
    circuit.save(target)
    facts = {"model": model, "output": target, "nodes": circuit.graph.nodes}
    _tell(facts, f"drew {count(circuit.graph.nodes, 'node')} in {target}", as_json, quiet)


def _refuse_json(as_json: bool) -> None:
    if as_json:
        raise typer.BadParameter("--json and a model on standard output do not go together")


def _tell(facts: dict[str, object], words: str, as_json: bool, quiet: bool) -> None:
    if as_json:
        answer(facts, words, as_json)
    else:
        note(words, quiet)
