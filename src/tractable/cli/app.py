"""The command line application with all commands."""

import signal
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

import tractable
from tractable.base.interrupts import note_interrupts
from tractable.cli.bench import bench
from tractable.cli.classify import classify
from tractable.cli.completion import PROGRAM, VARIABLE, completion, prepare_completion
from tractable.cli.convert import convert, plot
from tractable.cli.demo import demo
from tractable.cli.faults import run_guarded
from tractable.cli.info import check, info
from tractable.cli.learn import learn
from tractable.cli.learners import learners
from tractable.cli.output import prepare_output
from tractable.cli.parameters import parameters
from tractable.cli.posterior import marginals, mpe
from tractable.cli.progress import compile_notice
from tractable.cli.query import query
from tractable.cli.rows import impute, sample
from tractable.cli.schema import schema
from tractable.cli.score import score
from tractable.cli.stack import stack
from tractable.cli.tune import tune
from tractable.cli.warm_up import warm_up

COMMANDS: tuple[Callable[..., Any], ...] = (
    demo, learners, schema, learn, parameters, tune, stack, score, query, marginals, mpe, sample, impute,
    classify, info, check, convert, plot, bench, completion,
    warm_up,
)  # fmt: skip

app = typer.Typer(
    name="tractable",
    help="Learn probability models from tables and query them exactly.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich takes longer than all else that `--help` does
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in COMMANDS:
    app.command(_command.__name__.replace("_", "-"))(_command)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Learn probability models from tables and query them exactly."""
    if version:
        typer.echo(f"tractable {tractable.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> int:
    """The exit code of a command line: 0, 1 for a failed check, 2 for a mistake, 130 if interrupted."""
    prepare_completion()
    call = {"prog_name": PROGRAM, "complete_var": VARIABLE, "standalone_mode": False}
    with compile_notice(sys.argv[1:] if arguments is None else arguments):
        return run_guarded(lambda: app(args=arguments, **call))


def main() -> None:
    """Run the command line of this process."""
    note_interrupts()
    if hasattr(signal, "SIGPIPE"):  # `tractable sample ... | head` ends as quietly as other programs do
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    prepare_output()
    sys.exit(run())
