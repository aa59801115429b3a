"""The kinds of cases there are. To add one: a file with a function, and a line here."""

from fuzz.answers import run_answers
from fuzz.cases import Run
from fuzz.commands import run_commands
from fuzz.damage import run_damage
from fuzz.kills import run_kills

KINDS: dict[str, Run] = {
    "damage": run_damage,
    "answers": run_answers,
    "commands": run_commands,
    "kills": run_kills,
}
SHARES = {"damage": 0.25, "answers": 0.3, "commands": 0.25, "kills": 0.2}  # of the time of a long run
