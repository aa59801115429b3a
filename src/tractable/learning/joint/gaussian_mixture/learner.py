"""A mixture of multivariate Gaussians in several transformations of the numeric columns."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from tractable.base.arrays import Ints
from tractable.base.progress import Watch
from tractable.base.settings import Between, setting
from tractable.circuit import Builder, Graph
from tractable.circuit.leaves import Gaussian, NegativeBinomial
from tractable.circuit.leaves.poisson import MAX_LOG_RATE
from tractable.data import Schema, Table
from tractable.data.problems import caution
from tractable.learning.joint.gaussian_mixture.background import state_leaves
from tractable.learning.joint.gaussian_mixture.map_fits import centre_and_scale
from tractable.learning.joint.gaussian_mixture.members import EMSettings, Member
from tractable.learning.joint.gaussian_mixture.rows import MixedRows
from tractable.learning.joint.gaussian_mixture.stack import MAP_NAMES, Stack, StackSettings, learn_stack
from tractable.learning.learner import Learned, PoolingLearner
from tractable.learning.statistics.leaf_choice import add_leaf

LARGEST = 1e100  # columns with larger numbers are kept apart from the Gaussians


@final
@dataclass(frozen=True, kw_only=True)
class GaussianMixtureLearner(PoolingLearner):
    """A mixture of multivariate Gaussians with full covariances over the real-valued columns.

    Within a component, categorical and count columns are independent of the Gaussian. Up to three mixtures
    are fitted by EM: to the original columns, to columns after a Yeo-Johnson power transformation, and to
    columns after a piecewise linear transformation to normal scores. Their numbers of components, their
    priors and their weights in the final mixture are selected on the validation rows or on held-out rows;
    then they are refitted to all rows. A background component of independent columns has a small weight, so
    that outliers do not have a density near zero.
    """

    name: ClassVar[str] = "gaussian-mixture"
    title: ClassVar[str] = "Gaussian mixture"

    components: tuple[int, ...] = setting(
        (),
        "Numbers of components to try, in ascending order. The search ends when larger numbers no longer"
        " improve the score. An empty list stands for 1, 2, 3, 4, 6 and 9, and with more than 1,000 rows also"
        " 20 and 30.",
        at_least=1,
        optional=True,
    )
    maps: Literal["all", "identity", "yeo-johnson", "piecewise-linear"] = setting(
        "all",
        "Transformation of the numeric columns inside the leaves. With all, a mixture is fitted with each"
        " transformation and the mixtures are stacked.",
    )
    shrinkage: tuple[float, ...] = setting(
        (5.0, 20.0),
        "Strengths of the covariance prior to try, as a pseudo-count of rows of each component that have the"
        " pooled within-component covariance.",
        at_least=0,
    )
    floor: tuple[float, ...] = setting(
        (1e-3, 1e-4),
        "Values to try for the variance that is added to each standardised column. Values after the first"
        " are tried only with the best number of components.",
        at_least=1e-9,
    )
    smoothing: float = setting(
        1.0,
        "Pseudo-count, in rows, of the count columns of each component, and maximum pseudo-count of its"
        " categorical columns, distributed as in the whole table. Smaller pseudo-counts are used for a"
        " categorical column if they fit the rows of the components better.",
        at_least=0,
        search=Between(0.1, 10, log=True),
    )
    background: float = setting(
        0.002,
        "Minimum weight of a background component in which columns are independent and have one and a half"
        " times their standard deviation.",
        at_least=0,
        at_most=0.5,
        search=Between(0.001, 0.1, log=True),
    )
    held_out: float = setting(
        1 / 6,
        "Fraction of the rows that are held out to select the number of components, the priors and the"
        " weights if there are no validation rows. Small tables use several random divisions.",
        at_least=0.01,
        at_most=0.5,
    )
    steps: int = setting(100, "Maximum number of EM iterations.", at_least=1)
    tolerance: float = setting(
        1e-3,
        "Minimum gain per EM iteration, in nats per row. EM stops when an iteration gains less.",
        at_least=0,
    )

    def _learn(self, table: Table, rng: np.random.Generator, valid: Table | None, watch: Watch) -> Learned:
        maps = MAP_NAMES if self.maps == "all" else (self.maps,)
        em = EMSettings(
            steps=self.steps,
            tolerance=self.tolerance,
            smoothing=self.smoothing,
            background=self.background,
        )
        settings = StackSettings(
            maps=maps, sizes=tuple(sorted(set(self.components))), strengths=self.shrinkage,
            floors=self.floor, held_out=self.held_out, em=em,
        )  # fmt: skip
        with threadpool_limits(1, user_api="blas"):  # so that sums do not depend on the number of threads
            extreme = extreme_columns(table)
            if not extreme.size:
                return Learned(stack_circuit(learn_stack(table, valid, settings, rng, watch), table.schema))
            rest = np.setdiff1d(np.arange(len(table.schema)), extreme)
            if not rest.size:
                return Learned(add_columns(None, table, rest, extreme))
            part = table.select(rest)
            stack = learn_stack(part, None if valid is None else valid.select(rest), settings, rng, watch)
        return Learned(add_columns(stack_circuit(stack, part.schema), table, rest, extreme))


def extreme_columns(table: Table) -> Ints:
    """The numeric columns whose squared values or deviations overflow or underflow."""
    extreme = []
    for column, variable in enumerate(table.schema):
        if variable.is_numeric and variable.kind != "count":
            seen = ~np.isnan(table.values[:, column]) & (table.row_weights > 0)
            x, weight = table.values[seen, column], table.row_weights[seen]
            spread = centre_and_scale(x, weight)[1]
            if np.abs(x).max(initial=0.0) > LARGEST or not 1 / LARGEST <= spread <= LARGEST:
                extreme.append(column)
                caution(
                    f"column '{variable.name}' has values that are too large or too small for covariances:"
                    " it is modelled as independent of all other columns; consider taking its logarithm"
                )
    return np.array(extreme, dtype=np.int64)


def add_columns(graph: Graph | None, table: Table, columns: Ints, extreme: Ints) -> Graph:
    """The product of a circuit over `columns` and one Gaussian leaf for each other column."""
    builder = Builder(table.schema)
    factors = [] if graph is None else [builder.splice(graph, columns)]
    for column in extreme.tolist():
        seen = ~np.isnan(table.values[:, column])
        params = Gaussian().fit(
            table.values[seen, column], table.row_weights[None, seen], table.schema[column], 1.0
        )
        factors.append(builder.leaf(Gaussian.name, column, params[0]))
    builder.product(factors)
    return builder.freeze()


def stack_circuit(stack: Stack, schema: Schema) -> Graph:
    """The circuit: one sum over all components of all members and the background."""
    builder = Builder(schema)
    nodes: list[int] = []
    logs: list[float] = []
    for member, log_weight in zip(stack.members, stack.log_weight[:-1].tolist(), strict=True):
        nodes += component_nodes(builder, schema, member, stack.rows)
        logs += (member.fit.log_weight + log_weight).tolist()
    if stack.log_weight[-1] > -np.inf:
        nodes.append(stack.background.node(builder, schema, stack.rows))
        logs.append(float(stack.log_weight[-1]))
    total = np.logaddexp.reduce(logs)
    builder.sum(nodes, np.array(logs) - total)
    return builder.freeze()


def component_nodes(builder: Builder, schema: Schema, member: Member, rows: MixedRows) -> list[int]:
    """A product of a joint leaf and the leaves of other columns for each component."""
    groups, fit = rows.groups, member.fit
    params = member.view.leaf_params(fit.gaussians)
    rates = np.clip(np.log(fit.rate), -MAX_LOG_RATE, MAX_LOG_RATE)
    nodes = []
    for k in range(len(fit)):
        leaves = state_leaves(builder, schema, rows, fit.log_state[k])
        counts = np.stack([rates[k], fit.log_r[k]], axis=1)
        leaves += [
            add_leaf(builder, NegativeBinomial(), int(c), counts[j]) for j, c in enumerate(groups.counts)
        ]
        if groups.numbers.size:
            leaves.append(builder.joint_leaf(member.view.family, groups.numbers.tolist(), params[k]))
        nodes.append(builder.product(leaves))
    return nodes
