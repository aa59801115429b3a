"""The arithmetic circuit of a log-linear model, which grows with every split of its features."""

from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Int32s, Ints, Words
from tractable.circuit import PRODUCT, SUM
from tractable.learning.growing.cost_estimates import (
    ColumnSet,
    PossibleStates,
    count_copied_edges,
    find_possible_states,
)
from tractable.learning.growing.plan import NEVER, SplitPlan, plan_split
from tractable.learning.growing.split import make_split
from tractable.learning.growing.store import (
    EDGES,
    INDICATOR,
    PARAMETER,
    SLOTS,
    Store,
    copy_arrays,
    copy_in_order,
    ensure_room,
    evaluation_order,
    new_store,
    write_nodes,
)
from tractable.learning.growing.walks import Workspace, new_workspace

REORDER_AT = 1.5  # times the slots that were in use when nodes were last put in order


class GrowingCircuit:
    """The arithmetic circuit of a log-linear model of categorical columns, with one parameter per feature.

    Initially there is one feature for each state of each column, so all columns are independent. A split of
    features on a column adds the conjunctions of each feature with each state of the column. After each split
    the circuit is smooth, decomposable and deterministic.
    """

    def __init__(self, states: Ints) -> None:
        self.states = states
        total = int(states.sum())
        self.first_indicator: Ints = 1 + np.cumsum(states) - states  # (columns,) the node of the first state
        self._store = new_store(16 + 8 * total, 16 + 8 * total, max(1, -(-states.size // 64)))
        self._param = np.zeros(0, dtype=np.int32)  # (parameters,) their nodes
        self._workspace: Workspace | None = None
        self._order: Int32s | None = None
        self._possible: PossibleStates | None = None
        self._pending: _PendingSplit | None = None
        self._ordered_slots = 0  # slots that were in use when nodes were last put in order
        self._plant()

    def _plant(self) -> None:
        """Build the product of all columns, each a sum over its states of indicator times parameter."""
        states, total = self.states.tolist(), int(self.states.sum())
        kind, degree = total * [INDICATOR] + total * [PARAMETER], 2 * total * [0]
        child: list[int] = []
        sums: list[int] = []
        indicator, node = 1, 2 * total + 1
        for many in states:
            for state in range(indicator, indicator + many):
                child += state, total + state
            child += range(node, node + many)
            kind += many * [PRODUCT] + [SUM]
            degree += many * [2] + [many]
            indicator, node = indicator + many, node + many + 1
            sums.append(node - 1)
        shape = np.array([*kind, PRODUCT], dtype=np.uint8), np.array([*degree, len(sums)])
        write_nodes(
            self._store, shape[0], self._first_scopes(), shape[1], np.array(child + sums, dtype=np.int32)
        )
        self._param = np.arange(total + 1, 2 * total + 1, dtype=np.int32)

    def _first_scopes(self) -> Words:
        """The scopes of the nodes that `_plant` makes, in their order."""
        states, column = self.states, np.arange(self.states.size)
        bits = np.zeros((column.size, self._store.scope.shape[1]), dtype=np.uint64)
        bits[column, column // 64] = np.uint64(1) << (column % 64).astype(np.uint64)
        leaves = np.repeat(bits, states, axis=0)
        root = np.bitwise_or.reduce(bits, axis=0, keepdims=True)
        return np.concatenate([leaves, np.zeros_like(leaves), np.repeat(bits, states + 1, axis=0), root])

    @property
    def edges(self) -> int:
        """The number of edges."""
        return int(self._store.used[EDGES])

    @property
    def params(self) -> int:
        """The number of parameters."""
        return self._param.size

    def arrays(self) -> tuple[Store, Int32s, Int32s]:
        """The store, the inner nodes in order of evaluation, and the parameters' nodes: for reading only."""
        return self._store, self._evaluation_order(), self._param

    def edge_cost(self, params: Ints, column: int, *, replace: bool = False, limit: int = NEVER - 1) -> int:
        """The exact number of edges that a split would add; NEVER if it exceeds `limit`."""
        edges = self._plan(params, column, replace, limit).edges
        return edges if edges <= limit else NEVER

    def estimate_edge_costs(
        self, params: Ints, columns: Bools | None = None, *, replace: bool = False
    ) -> Floats:
        """Estimates of how many edges splits on some columns, or on all, would add. Shape (columns,)."""
        s, nodes = self._store, self._param[params]
        some = np.ones(self.states.size, dtype=np.bool_) if columns is None else columns
        if self._possible is None:
            self._possible = find_possible_states(s, self._evaluation_order(), self.first_indicator)
        asked = ColumnSet.of(some, words=s.scope.shape[1])
        copied = count_copied_edges(s, self._walks(), nodes, self._possible, asked, self.states.size)
        held = 0 if replace else int(s.refs[nodes].sum())  # products that get one more factor
        return held + np.maximum(self.states - 1.0, 0.0) * copied

    def split(self, params: Ints, column: int, *, replace: bool = False) -> Ints:
        """Split features on a column; returns the new parameters, (params, states).

        None of the features has a condition on the column, and exactly one of them holds at a time. With
        `replace` the new parameters take the place of the old ones, which are then in no product any more. If
        this very split was priced last, its plan is used.
        """
        plan = self._plan(params, column, replace, NEVER - 1)
        many = plan.given.shape[1] * params.size
        self._ensure_room(many + plan.nodes, plan.slots)
        fresh = make_split(self._store, self._walks(), plan, params.size, replace)
        new = self._param.size + np.arange(many).reshape(fresh.shape)
        self._param = np.concatenate([self._param, fresh.ravel()])
        self._order = self._possible = self._pending = None
        self._reorder_nodes()
        return new

    def _plan(self, params: Ints, column: int, replace: bool, limit: int) -> SplitPlan:
        """The plan of a split: the last one, if it is of the same split and can still be carried out."""
        pending, walks = self._pending, self._walks()
        if pending is None or not pending.is_of(params, column, replace, walks):
            first, states = int(self.first_indicator[column]), int(self.states[column])
            indicators = range(first, first + states)
            plan = plan_split(self._store, walks, self._param[params], column, indicators, replace, limit)
            pending = _PendingSplit(params, column, replace, int(walks.round[0]), plan)
            self._pending = pending if plan.edges != NEVER else None
        return pending.plan

    def _evaluation_order(self) -> Int32s:
        if self._order is None:
            self._order = evaluation_order(self._store)
        return self._order

    def _walks(self) -> Workspace:
        if self._workspace is None:
            self._workspace = new_workspace(self._store)
        return self._workspace

    def _ensure_room(self, nodes: int, slots: int) -> None:
        """Enlarge the store if need be, and the workspace with it: its marks belong to the pending plan."""
        store = ensure_room(self._store, nodes, slots)
        if store is not self._store:
            larger = new_workspace(store)
            copy_arrays(self._walks(), larger)
            self._store, self._workspace = store, larger

    def _reorder_nodes(self) -> None:
        """Store nodes in the order of evaluation once many were added: sweeps then read memory in order."""
        old = self._store
        if old.used[SLOTS] < REORDER_AT * self._ordered_slots:
            return
        order, leaves = self._evaluation_order(), 1 + np.arange(self.states.sum(), dtype=np.int32)
        leaves = np.concatenate([leaves, self._param])
        new = new_store(old.kind.size, old.child.size, old.scope.shape[1])
        number = copy_in_order(old, leaves, order, new)
        self._store, self._workspace, self._order = new, None, None
        self._param = number[self._param]
        self._ordered_slots = max(1000, int(new.used[SLOTS]))


class _PendingSplit(NamedTuple):
    """A split that was planned last, and may be carried out while the workspace is in the same round."""

    params: Ints
    column: int
    replace: bool
    round: int
    plan: SplitPlan

    def is_of(self, params: Ints, column: int, replace: bool, workspace: Workspace) -> bool:
        """Whether the plan is of this split, and the workspace was not used since."""
        same = self.column == column and self.replace == replace and self.round == workspace.round[0]
        return same and np.array_equal(self.params, params)
