"""Gibbs sampling: marginals of networks that are too large to compile."""

import numpy as np

from tractable.arrays import Floats, Int32s, Ints, Words
from tractable.data.table import Table
from tractable.engine.sweep import map_threads, threads_or_default
from tractable.networks.flat import Rules, flatten_factors
from tractable.networks.gibbs_kernels import Blankets, run_chains, tested_columns
from tractable.networks.literals import IMPOSSIBLE, literals_of
from tractable.networks.network import FeatureFactor, Network

BATCH = 64  # rows that a thread takes at a time


class GibbsSampler:
    """Chains over the columns of a network, each column drawn in turn given all others.

    Marginals are means of the distributions that columns are drawn from, not of the states drawn: a state
    that is possible never has probability zero. Zeros among the factors may keep a chain in a corner.
    """

    def __init__(self, network: Network) -> None:
        self.schema = network.schema
        self.slots: Ints = np.concatenate([[0], np.cumsum(network.schema.cardinalities)])
        features, rules = flatten_factors(network)
        self._literals = literals_of(features, network.schema.cardinalities)
        self._rules = rules._replace(value=np.maximum(rules.value, IMPOSSIBLE))
        scopes = [f.scope for f in network.factors if not isinstance(f, FeatureFactor)]
        self._blankets = _blankets(scopes, rules, len(network.schema))

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
        """The distribution of every column given what each row holds; NaN is what is asked for.

        Shape (rows, states of all columns): column c's are in `slots[c]:slots[c + 1]`. A column that is held
        has one at its state. The same seed gives the same answer, whatever the number of threads.

        Raises:
            ValueError: if a row holds what is no state.
        """
        missing = Table(self.schema, rows).missing
        codes: Int32s = np.where(missing, -1, rows).astype(np.int32)
        words = np.random.default_rng(seed).integers(0, 2**64, (len(rows), chains), dtype=np.uint64)
        answer = self._held(codes)

        def run(part: slice) -> None:
            run_chains(
                self._literals, self._rules, self._blankets, self.slots, codes[part], words[part],
                (burn_in, samples), answer[part],
            )  # fmt: skip

        parts = [slice(i, i + BATCH) for i in range(0, len(rows), BATCH)]
        map_threads(run, parts, threads_or_default(threads))
        total = np.add.reduceat(answer, self.slots[:-1], axis=1)
        return answer / total.repeat(self.schema.cardinalities, axis=1)

    def _held(self, codes: Int32s) -> Floats:
        """One at the states that are held, zero elsewhere."""
        answer = np.zeros((len(codes), int(self.slots[-1])))
        row, column = np.nonzero(codes >= 0)
        answer[row, self.slots[column] + codes[row, column]] = 1.0
        return answer


def _blankets(scopes: list[tuple[int, ...]], rules: Rules, columns: int) -> Blankets:
    """For each column the trees and tables it is in; for each leaf the columns that lead to it."""
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
    """The line and the place of each bit that is set. Shape (2, bits)."""
    little = words.astype("<u8", copy=False).view(np.uint8)
    return np.stack(np.nonzero(np.unpackbits(little, axis=1, bitorder="little")))


def _distinct(pairs: Ints, width: int) -> tuple[Ints, Ints]:
    """The different pairs in order; the second number of each is below `width`."""
    first, second = np.divmod(np.unique(pairs[0] * width + pairs[1]), width)
    return first, second
