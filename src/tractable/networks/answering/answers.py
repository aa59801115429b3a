"""Answers of a Bayesian network to single queries, each computed in the relevant part of the network."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.facts import NETWORK, remembered
from tractable.circuit.graph import Graph
from tractable.data.evidence import Region, States
from tractable.networks.answering.factors import Tables, flat_tables

if TYPE_CHECKING:
    from tractable.networks.answering.factors import Known


class Posterior(NamedTuple):
    """The distribution of a column given evidence."""

    probabilities: Floats  # (states,)
    possible: bool  # whether what is known is; if not, the probabilities mean nothing
    spent: float  # how many numbers the tables had that were made for it


class NetworkAnswers:
    """A Bayesian network that answers queries by variable elimination on tables.

    It has no mutable state, so it may be used by several threads at the same time.
    """

    def __init__(self, tables: Tables) -> None:
        from tractable.networks.answering.factors import Known

        self.tables = tables
        columns, states = tables.states.size, int(tables.states.sum())
        self._first = np.cumsum([0, *tables.states[:-1].tolist()])
        self._nothing = Known(
            np.full(columns, -1, dtype=np.int64),
            np.zeros(columns, dtype=np.bool_),
            self._first,
            np.ones(states),
        )

    def posterior(
        self, target: int, row: Floats, regions: Mapping[int, Region], most: float
    ) -> Posterior | None:
        """The distribution of a column that is not in the row.

        None if the tables would have more than `most` entries, or an entry might underflow.
        """
        posterior = np.empty(self.tables.states[target])
        log_total, spent = self._ask(target, row, regions, most, posterior)
        return None if np.isnan(log_total) else Posterior(posterior, log_total > -np.inf, spent)

    def posteriors(self, row: Floats, regions: Mapping[int, Region], most: float) -> list[Floats] | None:
        """The distributions of all columns; NaN if the evidence is impossible. None as in `posterior`."""
        from tractable.networks.answering.propagation import answer_all

        known = self._known(row, regions)
        every = np.zeros(known.possible.size)
        log_total = answer_all(self.tables, known, most, every)
        if np.isnan(log_total):
            return None
        seen = np.flatnonzero(known.state >= 0)
        every[self._first[seen] + known.state[seen]] = 1.0
        return np.split(every if log_total > -np.inf else np.full(every.size, np.nan), self._first[1:])

    def log_prob(self, row: Floats, regions: Mapping[int, Region], most: float) -> float | None:
        """The log-probability of the evidence; None as in `posterior`."""
        log_prob = self._ask(-1, row, regions, most, np.empty(0))[0]
        return None if np.isnan(log_prob) else log_prob

    def _ask(
        self, target: int, row: Floats, regions: Mapping[int, Region], most: float, posterior: Floats
    ) -> tuple[float, float]:
        from tractable.networks.answering.elimination import answer

        result: tuple[float, float] = answer(self.tables, self._known(row, regions), target, most, posterior)
        return result

    def _known(self, row: Floats, regions: Mapping[int, Region]) -> "Known":
        known = self._nothing._replace(state=np.where(np.isnan(row), -1.0, row).astype(np.int64))
        if not regions:
            return known
        limited, possible = known.limited.copy(), known.possible.copy()
        for column, region in regions.items():
            assert isinstance(region, States)  # the columns of a network are categorical
            limited[column] = True
            first = self._first[column]
            possible[first : first + region.allowed.size] = region.allowed
        return known._replace(limited=limited, possible=possible)


@remembered
def network_answers(graph: Graph) -> NetworkAnswers | None:
    """The network that answers in place of a circuit, or None if it was not compiled from one."""
    source = graph.facts.get(NETWORK)
    tables = None if source is None else flat_tables(source)
    return None if tables is None else NetworkAnswers(tables)
