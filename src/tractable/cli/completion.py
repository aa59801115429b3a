"""`tractable completion`: shell completion of commands, options and learners."""

import os
from typing import Annotated, Literal

import typer

from tractable.cli import options
from tractable.cli.output import answer

VARIABLE = "_TRACTABLE_COMPLETE"  # by which a shell asks for completions; the scripts set it
PROGRAM = "tractable"


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"],
        typer.Argument(help="Shell for which to print the script.", show_default=False),
    ],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Print a script that enables shell completion of commands, options and learners.

    bash: put eval "$(tractable completion bash)" in ~/.bashrc. zsh: put eval "$(tractable completion zsh)" in
    ~/.zshrc, after compinit. fish: tractable completion fish > ~/.config/fish/completions/tractable.fish

    Example: tractable completion bash >> ~/.bashrc
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell)
    answer({"shell": shell, "script": script}, script, as_json)


def prepare_completion() -> None:
    """Enable Typer's completion if a shell requests it; otherwise nothing is imported for it."""
    if os.environ.get(VARIABLE):
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()


def learner_names(incomplete: str) -> list[str]:
    """The names of learners that begin with a prefix."""
    from tractable.learning.conditional import CONDITIONAL
    from tractable.learning.joint import LEARNERS
    from tractable.learning.networks import NETWORK_LEARNERS

    return [name for name in (*LEARNERS, *CONDITIONAL, *NETWORK_LEARNERS) if name.startswith(incomplete)]
