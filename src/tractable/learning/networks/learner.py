"""The base class of learners of networks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from tractable.base.progress import Watch
from tractable.base.settings import Configurable
from tractable.data import Schema, Table, useful_validation
from tractable.learning.learner import check_tables
from tractable.networks import Network


@dataclass(frozen=True, kw_only=True)
class NetworkLearner(Configurable, ABC):
    """A learner of Markov networks. Settings, table and seed determine the network.

    Rows may be weighted and cells may be missing; all columns must be categorical. In general the network has
    no tractable circuit: its partition function, and therefore its log-likelihood, cannot be computed, and
    queries are answered approximately by Gibbs sampling.
    """

    @final
    def learn(
        self,
        table: Table,
        rng: np.random.Generator,
        *,
        valid: Table | None = None,
        watch: Watch | None = None,
    ) -> Network:
        """A network over the table's columns; `valid` are rows on which the penalty is selected.

        A `watch` reports progress and can end learning early with the best network so far.

        Raises:
            ValueError: if the schemas of the tables differ, or a column is not categorical.
        """
        check_tables(table, valid)
        self._check_columns(table.schema)
        valid = useful_validation(valid)
        if watch is None:  # nobody asked for the best network so far: Ctrl-C interrupts as it always does
            return self._learn(table, rng, valid, Watch())
        with watch:
            return self._learn(table, rng, valid, watch)

    @abstractmethod
    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Network:
        """The network, or the best one so far when `watch` says to stop."""

    def _check_columns(self, schema: Schema) -> None:
        for variable in schema:
            if not variable.is_categorical:
                raise ValueError(
                    f"column '{variable.name}' is {variable.kind}:"
                    f" {self.name} supports only categorical columns"
                )
