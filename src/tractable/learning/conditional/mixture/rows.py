"""Rows as conditional random fields and gates see them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tractable.base.arrays import Floats
from tractable.circuit.leaves.logistic import InputFeatures
from tractable.data import Table
from tractable.learning.conditional.daclearn.rows import ConditionalRows, conditional_rows

LEAST_SHARE = 1e-3  # of a row that is looked at in a component


@dataclass(frozen=True, slots=True, eq=False)
class GatedRows:
    """Coded rows, and the features of each group's inputs. Rows of one group have the same numbers, too."""

    rows: ConditionalRows
    x: Floats  # (groups, features + 1) the last is always one

    def part(self, share: Floats) -> ConditionalRows:
        """The rows of a component, by the share of each row, (rows,); tiny shares are left out."""
        rows, some = self.rows, share >= LEAST_SHARE
        used, group = np.unique(rows.group[some], return_inverse=True)
        weight = rows.weight[some] * share[some]
        return replace(
            rows,
            targets=rows.targets[some],
            weight=weight,
            group=group,
            inputs=rows.inputs[used],
            group_weight=np.bincount(group, weight, used.size).astype(np.float64),
        )


def gated_rows(table: Table, cuts: Sequence[Floats], features: InputFeatures) -> GatedRows:
    """The rows of a table without missing cells. `cuts` are those of `conditional_rows`."""
    kept = table.take(table.row_weights > 0)
    rows = conditional_rows(kept, cuts)
    cells = kept.values[:, table.schema.inputs]
    _, first, group = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    weight = np.bincount(group, rows.weight, first.size).astype(np.float64)
    coded = rows.inputs[rows.group[first]]
    finer = replace(rows, group=group, inputs=coded, group_weight=weight)
    return GatedRows(finer, features.encode(kept.values[first]))
