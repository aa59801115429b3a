"""All tables of a comparison, published figures beside measured ones."""

from collections.abc import Sequence

from tractable.cli.benchmark import published
from tractable.cli.benchmark.answer_tables import answers_grid, times_grid
from tractable.cli.benchmark.comparison import Comparison
from tractable.cli.benchmark.grid import Grid
from tractable.cli.benchmark.likelihood_tables import likelihood_grid, wins_grid
from tractable.cli.benchmark.run_table import runs_grid


def grids(comparison: Comparison, methods: Sequence[str]) -> list[Grid]:
    """All tables that there is something to put in; `methods` are the published ones to show."""
    every = [
        likelihood_grid(comparison, methods),
        wins_grid(comparison),
        answers_grid(comparison),
        times_grid(comparison),
        runs_grid(comparison),
    ]
    return [grid for grid in every if grid.lines]


def relevant_methods(comparison: Comparison) -> list[str]:
    """The published methods that the learners repeat, what these are compared with, and the best."""
    wanted = {published.REFERENCE, published.BEST}
    wanted |= {
        published.counterparts()[name] for name in comparison.learners if name in published.counterparts()
    }
    return [method for method in published.methods() if method in wanted]
