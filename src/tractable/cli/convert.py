"""`tractable convert` and `tractable plot`: a circuit in another format, and its picture."""

from pathlib import Path
from typing import Annotated

import typer

from tractable.cli import options
from tractable.cli.files import check_model_place
from tractable.cli.output import answer, count, note

PICTURES = (".svg", ".dot")


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A circuit or a network.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The suffix chooses.", show_default=False)],
    inputs: Annotated[
        str | None,
        typer.Option("--inputs", metavar="A,B", help="Columns that the circuit is conditional on."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the circuit of one file to another; suffixes choose the formats, and networks are compiled.

    Read: .tract .json .ac .spn .bif .uai .bn .mn. Written: .tract .json .ac .spn .uai .mn .dot .svg. A .ac or
    .spn file cannot say which columns of a conditional circuit are inputs: --inputs says it.

    Example: tractable convert asia.bif asia.tract
    """
    from tractable.model import load

    check_model_place(target)
    circuit = load(source)
    if inputs is not None:
        circuit = circuit.conditional_on(options.names(inputs))
    circuit.save(target)
    size = f"{count(circuit.graph.nodes, 'node')}, {count(circuit.graph.edges, 'edge')}"
    facts = {"input": source, "output": target, "nodes": circuit.graph.nodes, "edges": circuit.graph.edges}
    _tell(facts, f"wrote {target}: {size}", as_json, quiet)


def plot(
    model: options.Model,
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="The picture: .svg, or .dot for Graphviz.", show_default=False),
    ],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw MODEL: node by node when it is small, the sizes of its layers when it is large.

    Example: tractable plot clinic.tract clinic.svg
    """
    from tractable.model import load

    if target.suffix.lower() not in PICTURES:
        raise ValueError(f"'{target}': a picture is written as one of {', '.join(PICTURES)}")
    check_model_place(target)
    circuit = load(model)
    circuit.save(target)
    facts = {"model": model, "output": target, "nodes": circuit.graph.nodes}
    _tell(facts, f"drew {count(circuit.graph.nodes, 'node')} in {target}", as_json, quiet)


def _tell(facts: dict[str, object], words: str, as_json: bool, quiet: bool) -> None:
    if as_json:
        answer(facts, words, as_json)
    else:
        note(words, quiet)
