"""The packages of `tractable` and their parts, in the order in which they may import each other."""

PACKAGES = [
    "base", "data", "circuit", "engine", "networks", "queries", "formats", "model", "learning", "estimators",
    "cli",
]  # fmt: skip

# A part imports only parts before it; what is not named here belongs to its package as a whole.
ROOMS = [
    "base.arrays", "base.late", "base.compiling", "base.compiled", "base.threads", "base.interrupts",
    "base.progress", "base.settings", "base", "data", "circuit.leaves", "circuit.blocks",
    "circuit", "circuit.generalised",
    "engine", "networks", "queries", "formats", "model", "learning.parameters", "learning.statistics",
    "learning.growing", "learning.learner", "learning.joint", "learning.conditional", "learning.networks",
    "learning.ensembles.bagging", "learning.training", "learning.ensembles", "learning.tuning", "learning",
    "estimators", "cli.reports", "cli.warming", "cli.benchmark", "cli",
]  # fmt: skip


def room_of(module: str) -> str | None:
    """The part that a module below `tractable` belongs to, by its dotted name; None if it has no place."""
    names = module.split(".")
    for size in range(len(names), 0, -1):
        if ".".join(names[:size]) in ROOMS:
            return ".".join(names[:size])
    return None
