"""Gibbs chains over the columns of a network: marginals, probabilities of queries, and rows."""

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints, Words
from tractable.data.table import Table
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.networks.features import IMPOSSIBLE, literals_of
from tractable.networks.flat import Rules, flatten_factors, log_prob_of_rows
from tractable.networks.gibbs.kernels import Blankets, Factors, Query, Sums, run_chains, tested_columns
from tractable.networks.network import FeatureFactor, Network

# ---- the trees and tables that contain each column, for chains that change one column at a time ---------


def markov_blankets(scopes: Sequence[tuple[int, ...]], rules: Rules, columns: int) -> Blankets:
    """The trees and tables of each column, and the columns on the path to each leaf."""
    member = np.array([c for scope in scopes for c in scope], dtype=np.int64)
    rule = np.repeat(np.arange(len(scopes)), [len(scope) for scope in scopes]).astype(np.int64)
    order = np.argsort(member, kind="stable")
    first = np.searchsorted(member[order], np.arange(columns + 1))
    tested = tested_columns(rules, columns)
    owner = np.repeat(np.arange(rules.column.size), np.diff(rules.start))
    node, matter = _distinct(np.concatenate([_bits(tested), np.stack([owner, rules.key])], axis=1), columns)
    matter_first = np.searchsorted(node, np.arange(rules.column.size + 1))
    return Blankets(first, rule[order], matter_first, matter, tested)


def _bits(words: Words) -> Ints:
    """The row and the position of each set bit. Shape (2, bits)."""
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.stack(np.nonzero(np.unpackbits(little, axis=1, bitorder="little")))


def _distinct(pairs: Ints, width: int) -> tuple[Ints, Ints]:
    """The distinct pairs in order; the second number of each is below `width`."""
    first, second = np.divmod(np.unique(pairs[0] * width + pairs[1]), width)
    return first, second


ROWS_AT_A_TIME = 64  # that a thread takes


class BatchMeans(NamedTuple):
    """Means over batches of consecutive sweeps, from which standard errors are estimated."""

    marginals: Floats  # (batches, states of all columns)
    query: Floats  # (batches,)
    sizes: Ints  # (batches,) the number of sweeps in each


class GibbsSampler:
    """Markov chains over the columns of a network, which sample each column in turn given all others.

    Marginals are means of the conditional distributions, not of the sampled states, so possible states never
    have probability zero. Zeros in the factors may prevent a chain from reaching all states.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.schema = network.schema
        self.slots: Ints = np.concatenate([[0], np.cumsum(network.schema.cardinalities)])
        features, rules = flatten_factors(network)
        self._has_zeros = bool(np.isneginf(features.log_weight).any() or np.isneginf(rules.value).any())
        scopes = [f.scope for f in network.factors if not isinstance(f, FeatureFactor)]
        self._factors = Factors(
            literals_of(features, network.schema.cardinalities),
            rules._replace(value=np.maximum(rules.value, IMPOSSIBLE)),
            markov_blankets(scopes, rules, len(network.schema)),
            self.slots,
        )

    def marginals(
        self,
        rows: Floats,
        *,
        burn_in: int = 100,
        samples: int = 1000,
        chains: int = 1,
        seed: int = 0,
        threads: int | None = None,
    ) -> Floats:
        """The distribution of every column given the known cells of each row; NaN cells are sampled.

        Shape (rows, states of all columns): those of column c are in `slots[c]:slots[c + 1]`. A known column
        has probability one at its state. The answer depends on the seed but not on the number of threads.

        Raises:
            ValueError: if a row has an invalid state, or none of its chains finds a possible state.
        """
        codes, words = self._codes(rows), _random_words(seed, (len(rows), chains))
        sums = self._run(codes, words, (burn_in, samples), self._query({}), 1, threads, ROWS_AT_A_TIME)
        answer = self._indicators(self._codes(rows)) + sums.marginal[:, 0]
        total = np.add.reduceat(answer, self.slots[:-1], axis=1)
        return answer / total.repeat(self.schema.cardinalities, axis=1)

    def batch_means(
        self,
        row: Floats,
        query: Mapping[int, Bools],
        *,
        burn_in: int = 100,
        samples: int = 1000,
        chains: int = 1,
        seed: int = 0,
    ) -> BatchMeans:
        """Batch means of the distribution of every column and of the probability of a query.

        `row` holds the evidence, NaN elsewhere. `query` has, for some of the free columns, the states that
        satisfy it.

        Raises:
            ValueError: if the row has an invalid state, or no chain finds a possible state.
        """
        evidence, batches = self._codes(row[None, :]), isqrt(samples)
        codes, words = evidence.repeat(chains, axis=0), _random_words(seed, (chains, 1))
        sums = self._run(codes, words, (burn_in, samples), self._query(query), batches, None, 1)
        ends = -(-np.arange(batches + 1) * samples // batches)
        sizes: Ints = np.tile(np.diff(ends), chains)
        marginals = sums.marginal.reshape(len(sizes), -1) / sizes[:, None] + self._indicators(evidence)
        return BatchMeans(marginals, sums.query.ravel() / sizes, sizes)

    def draw(self, row: Floats, count: int, *, burn_in: int = 100, seed: int = 0) -> Floats:
        """Samples given a row, each the final state of a separate chain. Shape (count, columns).

        Samples are independent of each other; their distribution is that of the network as far as the chains
        have converged.

        Raises:
            ValueError: if the row has an invalid state, or a chain finds no possible state.
        """
        codes, words = self._codes(row[None, :]).repeat(count, axis=0), _random_words(seed, (count, 1))
        self._run(codes, words, (burn_in, 0), self._query({}), 0, None, ROWS_AT_A_TIME)
        return codes.astype(np.float64)

    def _run(
        self,
        codes: Int32s,
        words: Words,
        length: tuple[int, int],
        query: Query,
        batches: int,
        threads: int | None,
        rows_at_a_time: int,
    ) -> Sums:
        """The accumulated sums of the chains of all rows; final states are stored in `codes`."""
        sums = Sums(np.zeros((len(codes), batches, int(self.slots[-1]))), np.zeros((len(codes), batches)))

        def run(part: slice) -> None:
            own = Sums(sums.marginal[part], sums.query[part])
            run_chains(self._factors, codes[part], words[part], length, query, own)

        parts = [slice(i, i + rows_at_a_time) for i in range(0, len(codes), rows_at_a_time)]
        map_threads(run, parts, threads_or_default(threads))
        self._require_possible(codes)
        return sums

    def _codes(self, rows: Floats) -> Int32s:
        missing = Table(self.schema, rows).missing
        return np.where(missing, -1, rows).astype(np.int32)

    def _query(self, query: Mapping[int, Bools]) -> Query:
        allowed: Bools = np.zeros(int(self.slots[-1]), dtype=np.bool_)
        for column, states in query.items():
            allowed[self.slots[column] : self.slots[column + 1]] = states
        return Query(np.array(sorted(query), dtype=np.int64), allowed)

    def _indicators(self, codes: Int32s) -> Floats:
        """One-hot vectors of known states, zero elsewhere."""
        answer = np.zeros((len(codes), int(self.slots[-1])))
        row, column = np.nonzero(codes >= 0)
        answer[row, self.slots[column] + codes[row, column]] = 1.0
        return answer

    def _require_possible(self, codes: Int32s) -> None:
        """Refuse to answer from chains that never reached a row of positive probability."""
        if not self._has_zeros:
            return
        stuck = np.isneginf(log_prob_of_rows(self.network, codes.astype(np.float64)))
        if stuck.any():
            raise ValueError(
                "Gibbs sampling found no row of positive probability that agrees with the evidence: the"
                " evidence has probability zero, or zeros among the factors kept a chain from getting there"
            )


def _random_words(seed: int, shape: tuple[int, int]) -> Words:
    """The initial state of each chain's random number generator."""
    return np.random.default_rng(seed).integers(0, 2**64, shape, dtype=np.uint64)
