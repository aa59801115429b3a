"""Markov networks as a scikit-learn estimator, whose answers are approximate."""

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
from tractable.estimators.seeds import RandomState, seed_of
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
    """A Markov network of categorical columns, learned by pseudo-likelihood. Its answers are approximate.

    Unlike all other estimators of this package it has no circuit: a network of many features has no tractable
    one, and nobody can compute the partition function of its distribution. Probabilities are therefore
    estimated by Gibbs sampling, with a standard error, and `score` is a pseudo-likelihood, which cannot be
    compared with the log-likelihoods of other estimators. For exact answers learn a Markov network together
    with its circuit, `tr.ACMN` or `tr.EACMN`, or any other model, such as `tr.IDSPN`; a network that is small
    enough can be saved and compiled: `tr.load("network.mn")`.

    Parameters
    ----------
    learner : "l1-markov" or "gssl", default "l1-markov"
        How the network is learned: pairs of states by one L1-regularised logistic regression a column
        (Ravikumar, Wainwright and Lafferty, 2010), or conjunctions drawn from the rows (Van Haaren and Davis,
        2012).
    settings : dict, optional
        Settings of the learner by name, such as `{"penalty": 5.0}`; `tractable learners NAME` lists them.
    burn_in : int, default 100
        Number of sweeps of each Markov chain before any is counted.
    samples : int, default 1000
        Number of sweeps of each chain that are counted. Four times as many halve the standard error.
    chains : int, default 1
        Number of independent chains for each question.
    unseen : {"share", "error"}, default "share"
        What a state that the training rows did not have does: it counts as missing, with a small share of
        probability in `score`, or it is an error.
    random_state : int, RandomState or None
        Seed of learning and of the chains. With an integer the same question has the same answer each time.

    Attributes
    ----------
    network_ : Network
        The learned network: a schema, and features with log weights.
    schema_ : Schema
        The columns and their states.
    about_ : dict
        Where the network comes from: learner, settings, seed, tables, and whether learning finished.
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
            One row an observation. Text states and missing cells are welcome; numeric columns are refused.
        y : ignored
        valid : anything that X may be, optional
            Held-out rows, on which the penalty with the highest pseudo-likelihood is chosen.
        sample_weight : array of shape (rows,), optional
            How many rows each row stands for.
        schema : Schema, optional
            The columns and their states, when they are not to be inferred from X.
        kinds : dict, optional
            The kinds of columns by name, where the inferred ones are not meant.
        drop : name or list of names, optional
            Columns to leave out, before anything of them is checked; of an array `"x0"`, `"x1"`, ...
        watch : Watch, optional
            Follows the work, and ends it early with the best network so far.
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

        Evidence is a dictionary of columns or a text, as `tr.Circuit` takes it: states, sets of states, and
        several columns together. The answer has `value`, `std_error` and `exact`, which is False unless the
        query contradicts what is given or says nothing beyond it. The probability of a query of one column is
        a mean of its distribution given all others; of several columns, samples are counted.
        """
        check_is_fitted(self)
        asked, known = (as_evidence(part, self.schema_) for part in (query, given))
        return estimate_probability(self.network_, asked, known, self._sampling())

    def marginals(self, given: Any = None, rows: Any = None) -> dict[str, Any]:
        """Every column's approximate posterior by Gibbs sampling: `{column: {state: probability}}`.

        With rows, whose missing cells are asked about: one array a column, of shape (rows, states).
        """
        check_is_fitted(self)
        given, rows = evidence_or_rows(given, rows, self.schema_)
        if rows is not None:
            table = rows_table(rows, self.schema_, self._unseen_policy())
            warn_of_unseen(table, "such a cell counts as missing")
            posteriors = estimate_row_marginals(self.network_, table.values, self._sampling())
            return dict(zip(self.schema_.names, posteriors, strict=True))
        found = estimate_marginals(self.network_, as_evidence(given, self.schema_), self._sampling())
        return {
            v.name: dict(zip(v.states, p.tolist(), strict=True))
            for v, p in zip(self.schema_, split_by_column(found.probabilities, self.schema_), strict=True)
        }

    def score_samples(self, X: Any) -> Floats:
        """The log pseudo-likelihood of each row. Shape (rows,).

        It is the sum over the row's cells of log P(cell | all other cells). That is exact, but it is no
        log-likelihood, which would need the partition function. A missing cell adds nothing, and features
        that ask about it are left out.
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

        Rows count by `sample_weight` or, without it, by the weights of a `Table`.
        It compares Markov networks with each other, not with the log-likelihoods of other estimators.
        """
        return mean_score(self.score_samples(X), X, sample_weight)

    def sample(self, n_samples: int = 1, *, given: Given = None, random_state: RandomState = None) -> Any:
        """Rows drawn approximately, as a frame of the kind that was fitted on.

        Each row is where a Gibbs chain of its own stands after `burn_in` sweeps, so that rows are independent
        of each other and come from the network's distribution as far as a chain gets in that time.
        """
        check_is_fitted(self)
        how, evidence = self._sampling(random_state), as_evidence(given, self.schema_)
        rows = draw_rows(self.network_, n_samples, evidence, how)
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
        made = {key: document.about[key] for key in ("learner", "settings") if key in document.about}
        model = cls(**made, burn_in=burn_in, samples=samples, chains=chains, random_state=random_state)
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
