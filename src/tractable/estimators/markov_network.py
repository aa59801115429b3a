"""Markov networks as a scikit-learn estimator with approximate answers."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from tractable.base.arrays import Floats
from tractable.base.progress import Watch
from tractable.data import Kind, Names, Schema, frame_kind, to_frame, unseen_share, warn_of_unseen
from tractable.data.output import ANY_KIND
from tractable.estimators.base import RandomState, seed_of
from tractable.estimators.tables import TableInputMixin, mean_score
from tractable.formats.network_files import NetworkDocument, read_network_document, write_network_document
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.networks.pseudo_likelihood.scores import log_pseudo_likelihoods
from tractable.learning.training import provenance, train_network
from tractable.model import Given, as_evidence, evidence_or_rows, rows_table
from tractable.networks import Network
from tractable.queries import Estimate
from tractable.queries.gibbs import (
    Sampling,
    draw_rows,
    estimate_marginals,
    estimate_probability,
    estimate_row_marginals,
    split_by_column,
)


class MarkovNetwork(TableInputMixin, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A Markov network of categorical columns, learned by pseudo-likelihood, with approximate answers.

    Unlike all other estimators of this package it has no circuit: a network with many features generally has
    no tractable circuit, and its partition function cannot be computed. Probabilities are therefore estimated
    by Gibbs sampling, with a standard error, and `score` is a pseudo-likelihood, which is not comparable with
    the log-likelihoods of other estimators. For exact answers learn a Markov network together with its
    circuit (`tr.ACMN` or `tr.EACMN`) or any other model, such as `tr.IDSPN`. A small network can be saved and
    compiled: `tr.load("network.mn")`.

    Parameters ---------- learner : "l1-markov" or "gssl", default "l1-markov" Learning algorithm: pairs of
    states by one L1-regularised logistic regression per column (Ravikumar, Wainwright and Lafferty, 2010), or
    conjunctions drawn from the rows (Van Haaren and Davis, 2012). settings : dict, optional Settings of the
    learner by name, such as `{"penalty": 5.0}`; `tractable learners NAME` lists them. burn_in : int, default
    100 Number of initial sweeps of each Markov chain that are discarded. samples : int, default 1000 Number
    of sweeps of each chain after the burn-in. Four times as many halve the standard error. chains : int,
    default 1 Number of independent chains for each query. unseen : {"share", "error"}, default "share"
    Treatment of states that do not occur in the training rows: with `"share"` they count as missing, with a
    small reserved probability in `score`; with `"error"` they are an error. random_state : int, RandomState
    or None Seed of learning and of the chains. With an integer, answers are reproducible.

    Attributes
    ----------
    network_ : Network
        The learned network: a schema, and features with log weights.
    schema_ : Schema
        The columns and their states.
    about_ : dict
        The provenance of the network: learner, settings, seed, tables, and whether learning finished.
    """

    network_: Network
    about_: dict[str, Any]

    def __init__(
        self,
        learner: str = "l1-markov",
        *,
        settings: Mapping[str, Any] | None = None,
        burn_in: int = 100,
        samples: int = 1000,
        chains: int = 1,
        unseen: str = "share",
        random_state: RandomState = None,
    ) -> None:
        self.learner = learner
        self.settings = settings
        self.burn_in = burn_in
        self.samples = samples
        self.chains = chains
        self.unseen = unseen
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        valid: Any = None,
        sample_weight: Any = None,
        schema: Schema | None = None,
        kinds: Mapping[Any, Kind] | None = None,
        drop: Names = (),
        watch: Watch | None = None,
    ) -> Self:
        """Learn a network from a table of categorical columns.

        Parameters
        ----------
        X : data frame, array, dictionary of columns or Table
            One observation per row. Text states and missing cells are allowed; numeric columns are not.
        y : ignored
        valid : like X, optional
            Validation rows, on which the penalty with the highest pseudo-likelihood is selected.
        sample_weight : array of shape (rows,), optional
            The number of rows that each row represents.
        schema : Schema, optional
            The columns and their states; by default inferred from X.
        kinds : dict, optional
            The kinds of columns by name; those of other columns are inferred.
        drop : name or list of names, optional
            Columns to leave out before they are checked; those of an array are called `"x0"`, `"x1"`, ...
        watch : Watch, optional
            Reports progress, and can end learning early with the best network so far.
        """
        learner = NETWORK_LEARNERS.make_with(self.learner, self.settings or {})
        seed = self._sampling().seed
        table = self._training_table(X, sample_weight, schema, kinds, drop)
        held_out = self._validation_table(valid, table.schema)
        reserve = self._unseen_policy() == "missing"
        about = provenance(learner, table, held_out, seed=seed, frame=frame_kind(X), reserve=reserve)
        self._store(train_network(learner, table, held_out, about, watch))
        return self

    def conditional(self, query: Given, given: Given = None) -> Estimate:
        """An approximate P(query | given), estimated by Gibbs sampling.

        Evidence is a dictionary of columns or a string, as for `tr.Circuit`: states, sets of states, and
        several columns together. The answer has `value`, `std_error` and `exact`, which is False unless the
        query contradicts the evidence or follows from it. The probability of a query about one column is the
        mean of its distribution given all others; for several columns it is a relative frequency.
        """
        check_is_fitted(self)
        asked, known = (as_evidence(part, self.schema_) for part in (query, given))
        return estimate_probability(self.network_, asked, known, self._sampling())

    def marginals(self, given: Any = None, rows: Any = None) -> dict[str, Any]:
        """Approximate posteriors of all columns by Gibbs sampling: `{column: {state: probability}}`.

        With rows, the posteriors of their missing cells: one array per column, of shape (rows, states).
        """
        check_is_fitted(self)
        given, rows = evidence_or_rows(given, rows, self.schema_)
        if rows is not None:
            table = rows_table(rows, self.schema_, self._unseen_policy())
            warn_of_unseen(table, "such a cell counts as missing")
            posteriors = estimate_row_marginals(self.network_, table.values, self._sampling())
            return dict(zip(self.schema_.names, posteriors, strict=True))
        estimates = estimate_marginals(self.network_, as_evidence(given, self.schema_), self._sampling())
        return {
            v.name: dict(zip(v.states, p.tolist(), strict=True))
            for v, p in zip(self.schema_, split_by_column(estimates.probabilities, self.schema_), strict=True)
        }

    def score_samples(self, X: Any) -> Floats:
        """The log pseudo-likelihood of each row. Shape (rows,).

        It is the sum over the row's cells of log P(cell | all other cells). It is exact, but it is not a
        log-likelihood, which would require the partition function. Missing cells and features that refer to
        them are ignored.
        """
        check_is_fitted(self)
        table = self._fitted_table(X)
        logs = log_pseudo_likelihoods(self.network_, table)
        if table.unseen is None:
            return logs
        share = self.about_.get("unseen") or unseen_share(0.0)
        warn_of_unseen(table, f"each such cell counts log({share:.3g})")
        return logs + table.unseen_cells * np.log(share)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log pseudo-likelihood of the rows, in nats.

        Rows are weighted by `sample_weight` or, without it, by the weights of a `Table`. Only scores of
        Markov networks are comparable, not the log-likelihoods of other estimators.
        """
        return mean_score(self.score_samples(X), X, sample_weight)

    def sample(self, n_samples: int = 1, *, given: Given = None, random_state: RandomState = None) -> Any:
        """Approximate samples, as a frame of the type that was fitted.

        Each row is the state of a separate Gibbs chain after `burn_in` sweeps, so rows are independent of
        each other; their distribution is that of the network as far as the chains have converged.
        """
        check_is_fitted(self)
        sampling, evidence = self._sampling(random_state), as_evidence(given, self.schema_)
        rows = draw_rows(self.network_, n_samples, evidence, sampling)
        return to_frame(rows, self.schema_, like=self.about_.get("frame", ANY_KIND))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the network to a `.mn` or `.uai` file.

        A `.mn` file keeps the names of columns and states and the provenance; a `.uai` file does not.
        """
        check_is_fitted(self)
        write_network_document(NetworkDocument(self.network_, self.about_), path)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        burn_in: int = 100,
        samples: int = 1000,
        chains: int = 1,
        random_state: RandomState = None,
    ) -> Self:
        """A fitted estimator from a network file (`.mn`, `.uai`, `.bn` or `.bif`), which is not compiled.

        Raises:
            ValueError: naming the file and what is wrong with it.
        """
        document = read_network_document(path)
        parameters = {key: document.about[key] for key in ("learner", "settings") if key in document.about}
        model = cls(**parameters, burn_in=burn_in, samples=samples, chains=chains, random_state=random_state)
        model._store(document)
        model._remember_columns(document.network.schema, named=True)
        return model

    def _store(self, document: NetworkDocument) -> None:
        self.network_ = document.network
        self.schema_ = document.network.schema
        self.about_ = document.about

    def _sampling(self, random_state: RandomState = None) -> Sampling:
        source = self.random_state if random_state is None else random_state
        seed = seed_of(source)
        return Sampling(burn_in=self.burn_in, samples=self.samples, chains=self.chains, seed=seed)
