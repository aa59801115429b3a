"""The kinds of cases there are. To add one: a file with a function, and a line here."""

from fuzz.answers import run_answers
from fuzz.budgets import run_budgets
from fuzz.cases import Run
from fuzz.commands import run_commands
from fuzz.damage import run_damage
from fuzz.interrupts import run_interrupts
from fuzz.kills import run_kills

KINDS: dict[str, Run] = {
    "damage": run_damage,
    "answers": run_answers,
    "commands": run_commands,
    "kills": run_kills,
    "interrupts": run_interrupts,
    "budgets": run_budgets,
}
# Of the time of a long run.
SHARES = {
    "damage": 0.2, "answers": 0.2, "commands": 0.2, "kills": 0.15, "interrupts": 0.15, "budgets": 0.1,
}  # fmt: skip
