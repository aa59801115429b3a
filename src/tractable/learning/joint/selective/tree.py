"""A regular selective sum-product tree that is changed by splits and merges."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tractable.base.arrays import Bools, Floats, Ints
from tractable.learning.joint.selective.copying import Plan, Revision, copy_nodes, link_children, start_node
from tractable.learning.joint.selective.filling import (
    add_corrections,
    add_gains,
    add_up,
    correct_sums,
    count_edges,
    fill_lines,
    pass_rows,
    score_copies,
    update_above,
)
from tractable.learning.joint.selective.nodes import (
    Numbers,
    Ranges,
    indices,
    list_nodes,
    mark_scope,
    new_arrays,
)
from tractable.learning.joint.selective.rows import NOTHING, CodedRows, Codes, list_cells
from tractable.learning.joint.selective.smoothing import Smoothing, log_likelihood


class Change(NamedTuple):
    """Nodes with the same parent that a new node has replaced. What is below them can still be looked at."""

    parent: int  # -1 above the root
    old: list[int]
    new: int
    before: Ints  # the old nodes and everything below them
    after: Ints  # the new node and everything below it
    removed: Ints  # from the tree


class Branch(NamedTuple):
    """What some states of a new decision lead to: a node that is there, or copies, whose product it is."""

    states: Ints
    child: int | list[tuple[int, Revision]]


class Basis(NamedTuple):
    """What new nodes take over."""

    rows: int  # of this node
    parent: int  # of this node, which does not know it yet
    model: Floats | None  # (ways, states) that a new decision is shrunk towards
    inherits: bool  # whether copies are shrunk towards the weights of their origins, not only to their priors


class SelectiveTree:
    """A tree over the columns of complete rows; it begins as the product of all marginals.

    No node has a single child, no product has a product as a child, and no decision a decision of the same
    column: after each change such nodes are joined (ReduceNetwork, algorithm 3 of Peharz, Gens and Domingos).
    """

    def __init__(self, rows: CodedRows, valid: CodedRows, smoothing: Smoothing) -> None:
        self.states, self.smoothing = rows.schema.cardinalities, smoothing
        self.training_weight, self.held_out_weight = float(rows.weights.sum()), float(valid.weights.sum())
        cells = list_cells(rows, valid)
        self.arrays = arrays = new_arrays(cells, smoothing.ways)
        self.nodes, self.conditions = arrays.nodes, cells.conditions
        self._numbers = Numbers(arrays.nodes, arrays.held_out)
        self._lines, self._totals = Numbers(arrays.gain), Numbers(arrays.correction)
        self._edges = Ranges(self.nodes, "first_edge", "edges", arrays.child, arrays.counts, arrays.held)
        self._states = Ranges(self.nodes, "first_state", "states", arrays.branch, arrays.prior, arrays.own)
        self._rows = Ranges(self.nodes, "first_row", "all_rows", arrays.row)
        self._orders: dict[int, Ints] = {}  # see `conditions_of`
        self._before: list[tuple[int, Ints]] = []  # since the last commit: nodes, and the children they had
        self._removed: list[Ints] = []  # since the last commit
        self.root = self._start()

    def split(self, product: int, first: int, second: int, column: int, state: int) -> Change:
        """Join two factors of a product below a decision whether a column of the first has a state.

        Algorithm 4 of Peharz, Gens and Domingos.

        Raises:
            ValueError: if the first factor has no such state, or no other.
        """
        states, parent = self.states_below(first, column), int(self.nodes["parent"][product])
        parts = [states[states == state], states[states != state]]
        if not parts[0].size or not parts[1].size:
            raise ValueError(f"state {state} of column {column} does not divide the factor")
        nothing = self._marked(column, [])
        kept = [Revision(column, self._marked(column, part), nothing) for part in parts]
        every = Revision(-1, nothing[:0], nothing[:0])
        sides = [Branch(part, [(first, k), (second, every)]) for part, k in zip(parts, kept, strict=True)]
        replaced, place = [first, second], product
        if self.nodes["edges"][product] == 2:
            replaced, place = [product], parent
            if parent >= 0 and self.nodes["column"][parent] == column:
                return self._widen(parent, product, sides, inherits=True)
        model = self._prior(first) if self.nodes["column"][first] == column else None
        new = self._decide(column, sides, Basis(product, place, model, inherits=True))
        return self._put(place, replaced, new)

    def merge(self, decision: int, kept: int, dropped: int) -> Change:
        """Give the rows and states of one child of a decision to another child.

        Algorithm 5 of Peharz, Gens and Domingos.

        Raises:
            ValueError: if a decision below decides the same column.
        """
        nodes, one = self.nodes, self.children(decision)[kept]
        column, parent, place = nodes[["column", "parent", "edge"]][decision].item()
        below = list_nodes(self.arrays, decision)[1:]
        if (nodes["nodes"][below[nodes["column"][below] == column]] > 1).any():
            raise ValueError("a decision below decides the same column")
        branches = self.branches(decision)
        states = [branches[kept].states, branches[dropped].states]
        copy = [(one, Revision(column, ~self._marked(column, []), self._marked(column, states[1])))]
        rest = [branch for edge, branch in enumerate(branches) if edge not in (kept, dropped)]
        basis = Basis(decision, parent, self._prior(decision), inherits=False)
        if rest:
            joint = Branch(np.sort(np.concatenate(states)), copy)
            return self._put(parent, [decision], self._decide(column, [joint, *rest], basis))
        if parent >= 0 and nodes["column"][parent] == nodes["column"][one] >= 0:
            side = Branch(self.branches(parent)[place].states, copy)
            return self._widen(parent, decision, [side], inherits=False)
        plan = self._plan([one], 0)
        made = copy_nodes(self.arrays, one, -1, copy[0][1], plan, 0, self._states.used)
        return self._put(parent, [decision], self._finish(plan, *made, [], basis))

    # ---- looking at nodes --------------------------------------------------------------------------

    @property
    def held_out(self) -> Floats:
        """The log-likelihood of the validation rows in each way to smooth."""
        return self.arrays.held_out[self.root]

    def children(self, node: int) -> list[int]:
        """The children of a node."""
        edges = int(self.nodes["edges"][node]) if self.nodes["nodes"][node] > 1 else 0
        children: list[int] = self.arrays.child[self.nodes["first_edge"][node] :][:edges].tolist()
        return children

    def inner_children(self, node: int) -> list[int]:
        """The children of a product or decision other than marginals."""
        first, edges = self.nodes["first_edge"][node], self.nodes["edges"][node]
        children = self.arrays.child[first : first + edges]
        inner: list[int] = children[self.nodes["nodes"][children] > 1].tolist()
        return inner

    def branches(self, decision: int) -> list[Branch]:
        """The states and the child of each edge of a decision."""
        branch = self._branch(decision)
        return [Branch(np.flatnonzero(branch == e), child) for e, child in enumerate(self.children(decision))]

    def states_below(self, node: int, column: int) -> Ints:
        """The states of a column that some marginal below a node has."""
        below = list_nodes(self.arrays, node)
        below = below[self.nodes["column"][below] == column]
        first = self.nodes["first_state"][below[self.nodes["nodes"][below] == 1]]
        branch = self.arrays.branch[first[:, None] + np.arange(self.states[column])]
        return np.flatnonzero((branch >= 0).any(axis=0))

    def rows_of(self, node: int) -> Codes:
        """The training rows that reach a node."""
        return self.arrays.row[self.nodes["first_row"][node] :][: self.nodes["rows"][node]]

    def conditions_of(self, node: int) -> Ints:
        """The conditions of the columns in the scope of a node.

        Of equally good splits the first one is made, so their order matters: below a decision that a split
        made it is that of the factors, and everywhere else that of the columns.
        """
        if node in self._orders:
            return self._orders[node]
        columns = np.zeros(self.states.size, dtype=np.bool_)
        mark_scope(self.arrays, node, columns)
        return np.flatnonzero(columns[self.conditions.column])

    def know_correction(self, node: int) -> None:
        """Add up the corrections of a decision; from now on, they are kept up to date."""
        if self.nodes["nodes"][node] > 1 and not self.nodes["total"][node]:
            self.nodes["total"][node] = line = int(self._totals.take(1)[0])
            self.arrays.correction[line] = 0
            add_corrections(self.arrays, list_nodes(self.arrays, node), 1, self.arrays.correction[line])

    def _branch(self, node: int) -> Codes:
        return self.arrays.branch[self.nodes["first_state"][node] :][: self.nodes["states"][node]]

    def _prior(self, node: int) -> Floats:
        """What the weights of a sum are shrunk towards. Shape (ways, states)."""
        return self.arrays.prior[self.nodes["first_state"][node] :][: self.nodes["states"][node]].T.copy()

    def _marked(self, column: int, states: Sequence[int] | Ints) -> Bools:
        marked = np.zeros(self.states[column], dtype=np.bool_)
        marked[states] = True
        return marked

    # ---- making nodes ------------------------------------------------------------------------------

    def _start(self) -> int:
        """Make the product of all marginals, or the only one."""
        columns, used = self.states.size, 0
        plan, several = self._plan([], columns + 1), columns > 1
        top = int(plan.node[0])
        self._edges.make_room(int(self.states.sum()) + columns)
        self._states.make_room(int(self.states.sum()))
        if several:
            start_node(self.arrays, top, -1, -1, 0, 0)
        for column, states in enumerate(self.states.tolist()):
            node = int(plan.node[several + column])
            used = start_node(self.arrays, node, top if several else -1, column, states, used)
            self._branch(node)[:] = np.arange(states)
            self.nodes["edges"][node] = states if states > 1 else 0
        every = self.arrays.cells.weight.size
        self._rows.make_room(every)
        self.arrays.row[:every], self._rows.used = np.arange(every), every
        self.nodes["first_row"][top], self.nodes["all_rows"][top] = 0, every
        self.nodes["rows"][top] = self.arrays.cells.training
        return self._finish(plan, columns + several, used, [], Basis(top, -1, None, inherits=False))

    def _decide(self, column: int, branches: Sequence[Branch], basis: Basis) -> int:
        """A new decision."""
        nodes, copied = self.nodes, [b.child for b in branches if not isinstance(b.child, int)]
        plan = self._plan([node for copies in copied for node, _ in copies], 1 + len(copied))
        made, top, adopted, products = 1, int(plan.node[0]), [], []
        used = start_node(self.arrays, top, -1, column, self.states[column], self._states.used)
        for states, child in branches:
            self._branch(top)[states] = nodes["edges"][top]
            if isinstance(child, int):
                adopted.append(child)
                nodes["parent"][child], nodes["edge"][child] = top, nodes["edges"][top]
                nodes["edges"][top] += 1
                continue
            above = top
            if len(child) > 1:
                above = int(plan.node[made])
                products.append(above)
                made, used = made + 1, start_node(self.arrays, above, top, -1, 0, used)
            for node, revision in child:
                made, used = copy_nodes(self.arrays, node, above, revision, plan, made, used)
        self._finish(plan, made, used, adopted, basis)
        for product in products:
            order = [self.conditions_of(factor) for factor in self.children(product)]
            self._orders[product] = np.concatenate(order)
        if (first := self.children(top)[0]) in self._orders:
            self._orders[top] = self._orders[first]
        return top

    def _plan(self, copied: Sequence[int], more: int) -> Plan:
        """Room for copies of some nodes with everything below them, and for more nodes above them."""
        listed = np.concatenate([NOTHING, *(list_nodes(self.arrays, node) for node in copied)])
        states = int(self.nodes["states"][listed].sum() + self.states.max())
        self._states.make_room(states)
        self._edges.make_room(states + int(self.nodes["edges"][listed].sum()) + 2 * more)
        new = self._numbers.take(listed.size + more)
        return Plan(new, np.full(new.size, -1))

    def _finish(self, plan: Plan, made: int, states: int, adopted: Sequence[int], basis: Basis) -> int:
        """Compute the statistics of new nodes; the first one adopts some existing nodes."""
        arrays, nodes, top = self.arrays, self.nodes, int(plan.node[0])
        self._numbers.give_back(plan.node[made:])
        plan = Plan(plan.node[:made], plan.origin[:made])
        self._states.used = states
        self._edges.used = link_children(arrays, plan.node, self._edges.used)
        for child in adopted:
            arrays.child[nodes["first_edge"][top] + nodes["edge"][child]] = child
            nodes["nodes"][top] += nodes["nodes"][child]
        nodes["parent"][top] = basis.parent
        self._pass_rows(plan.node, basis.rows)
        count_edges(arrays, plan.node)
        score_copies(arrays, plan, basis.inherits, self.smoothing)
        columns, edges = nodes["column"][plan.node], nodes["edges"][plan.node]
        for node in plan.node[(plan.origin < 0) & (columns >= 0)].tolist():
            self._score_weights(node, basis.model)
        add_up(arrays, plan)
        sums = plan.node[(columns >= 0) & (edges > 0)]
        nodes["line"][sums] = self._lines.take(sums.size)
        fill_lines(arrays, plan)
        correct_sums(arrays, plan.node)
        return top

    def _pass_rows(self, made: Ints, like: int) -> None:
        """Pass the rows of a node down to new ones, of which the first has the same rows."""
        nodes, used, room = self.nodes, -1, 64
        while used < 0:
            nodes["all_rows"][made[1:]] = 0
            room = 2 * room + 2 * int(nodes["all_rows"][like])
            self._rows.make_room(room)
            for field in ("first_row", "rows", "all_rows"):
                nodes[field][made[0]] = nodes[field][like]
            used = pass_rows(self.arrays, made, self._rows.used)
        self._rows.used = used

    def _score_weights(self, node: int, model: Floats | None) -> None:
        """The prior of a sum that is not a copy, and its terms of both log-likelihoods."""
        arrays, edges, first = self.arrays, int(self.nodes["edges"][node]), self.nodes["first_edge"][node]
        parts = [np.flatnonzero(self._branch(node) == e) for e in range(max(edges, 1))]
        states = int(self.nodes["states"][node])
        prior = self.smoothing.prior_mean(np.concatenate(parts), model, states)
        arrays.prior[self.nodes["first_state"][node] :][:states] = prior.T
        if edges > 0:
            counts, held = arrays.counts[first:][:edges].copy(), arrays.held[first:][:edges].copy()
            self.nodes["log_likelihood"][node] = log_likelihood(counts)
            if held.any():
                arrays.held_out[node] = np.log(self.smoothing.weights(counts, prior, parts)) @ held

    # ---- replacing nodes ---------------------------------------------------------------------------

    def commit(self) -> None:
        """Forget how to undo changes."""
        removed = np.concatenate([NOTHING, *self._removed])
        self.nodes["edges"][removed], self.nodes["states"][removed] = 0, 0  # they own nothing any more
        self._numbers.give_back(removed)
        self._before.clear()
        self._removed.clear()

    def undo(self) -> None:
        """Return to the structure of the last commit. Afterwards the tree cannot be changed any more."""
        nodes = self.nodes
        for node, children in reversed(self._before):
            if node < 0:
                self.root = int(children[0])
            else:
                self._set_children(node, children)
        if self._before:
            nodes["nodes"][self.root] = self._numbers.used  # at most
        listed = list_nodes(self.arrays, self.root)
        inner = listed[nodes["nodes"][listed] > 1]
        edge = indices(nodes["first_edge"][inner], nodes["edges"][inner])
        first = np.repeat(nodes["first_edge"][inner], nodes["edges"][inner])
        nodes["edge"][self.arrays.child[edge]] = edge - first
        nodes["parent"][self.arrays.child[edge]] = np.repeat(inner, nodes["edges"][inner])

    def _widen(self, decision: int, child: int, sides: Sequence[Branch], *, inherits: bool) -> Change:
        """Let other branches take the place of one child of a decision, in a new decision."""
        column, parent = self.nodes[["column", "parent"]][decision].item()
        branches, place = self.branches(decision), self.nodes["edge"][child]
        branches[place : place + 1] = sides
        basis = Basis(decision, parent, self._prior(decision), inherits)
        return self._put(parent, [decision], self._decide(column, branches, basis))

    def _put(self, parent: int, old: list[int], new: int) -> Change:
        """Put a node in the place of others with the same parent."""
        arrays, nodes = self.arrays, self.nodes
        after = list_nodes(arrays, new)
        before = np.concatenate([list_nodes(arrays, node) for node in old])
        has_stayed = np.zeros(self._numbers.used, dtype=np.bool_)
        has_stayed[after] = True
        removed = before[~has_stayed[before]]
        if parent < 0:
            self._before.append((-1, np.array([self.root])))
            self.root = new
        else:
            children = self.children(parent)
            self._before.append((parent, np.array(children)))
            if nodes["column"][parent] >= 0:
                children[nodes["edge"][old[0]]] = new
            elif nodes["column"][new] >= 0:
                children = [child for child in children if child not in old] + [new]
            else:  # the factors of a product take its place
                children = [child for child in children if child not in old] + self.children(new)
                removed = np.append(removed, new)
            self._set_children(parent, np.array(children))
        change = Change(parent, old, new, before, after, removed)
        self._update_above(change)
        self._release(removed)
        return change

    def _set_children(self, node: int, children: Ints) -> None:
        nodes = self.nodes
        if children.size > nodes["edges"][node]:
            self._edges.make_room(children.size)
            nodes["first_edge"][node] = self._edges.used
            self._edges.used += children.size
        nodes["edges"][node] = children.size
        self.arrays.child[nodes["first_edge"][node] :][: children.size] = children
        nodes["parent"][children], nodes["edge"][children] = node, np.arange(children.size)

    def _update_above(self, change: Change) -> None:
        """Bring up to date what is known of the nodes above a change."""
        arrays, known, old, new = self.arrays, self.nodes["log_likelihood"], change.old, change.new
        gain, former = np.zeros((2, self.conditions.column.size))
        correction = np.zeros(gain.size, dtype=np.int64)
        add_gains(arrays, new, gain)
        for node in old:
            add_gains(arrays, node, former)
        add_corrections(arrays, change.after, 1, correction)
        add_corrections(arrays, change.before, -1, correction)
        held_out = arrays.held_out[new] - sum(arrays.held_out[node] for node in old)
        log_likelihood = float(known[new] - sum(known[node] for node in old))
        update_above(arrays, change.parent, log_likelihood, held_out, gain - former, correction)

    def _release(self, removed: Ints) -> None:
        """Give back what removed nodes do not need to come back."""
        for numbers, field in ((self._lines, "line"), (self._totals, "total")):
            lines = self.nodes[field][removed]
            numbers.give_back(lines[lines > 0])
        self.nodes["all_rows"][removed] = 0
        for node in removed.tolist():
            self._orders.pop(node, None)
        self._removed.append(removed)
