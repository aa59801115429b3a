"""Slow and obvious twins of what the search for selective trees counts incrementally."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product
from typing import Any, Optional, TypeAlias

import numpy as np

from tractable.data import Table, discrete_schema
from tractable.learning.joint.selective.copying import start_node
from tractable.learning.joint.selective.nodes import SUM_EDGE
from tractable.learning.joint.selective.rows import CodedRows, coded_rows
from tractable.learning.joint.selective.search import Candidates
from tractable.learning.joint.selective.smoothing import all_ways
from tractable.learning.joint.selective.tree import Basis, SelectiveTree

Form: TypeAlias = tuple[Any, ...]  # the structure of a tree: equal forms are equal trees


@dataclass(eq=False)
class Node:
    """A node as an object: a product, a decision or a marginal."""

    kind: str
    number: int  # in the arrays
    column: int  # -1 for a product
    parts: list[tuple[int, ...]]  # the states of each edge of a sum
    children: list["Node"] = field(default_factory=list)
    parent: Optional["Node"] = None


def view(tree: SelectiveTree, number: int | None = None, parent: Node | None = None) -> Node:
    """A node of a tree with everything below it; the root, unless it is given."""
    i = tree.root if number is None else number
    line = tree.nodes[i]
    branch = tree.arrays.branch[line["first_state"] : line["first_state"] + line["states"]].tolist()
    kind = "product" if line["column"] < 0 else "marginal" if line["nodes"] == 1 else "decision"
    edges = sorted(set(branch) - {-1})
    parts = [tuple(s for s, e in enumerate(branch) if e == edge) for edge in edges]
    node = Node(kind, i, int(line["column"]), parts, parent=parent)
    if kind != "marginal":
        first = int(line["first_edge"])
        children = tree.arrays.child[first : first + int(line["edges"])].tolist()
        node.children = [view(tree, child, node) for child in children]
    return node


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes and everything below them, parents first."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def make_tree(states: list[int], values: Any, weights: Any = None, valid: Any = None) -> SelectiveTree:
    """The product of marginals over some rows."""
    held_out = np.zeros((0, len(states))) if valid is None else valid
    some, other = (
        coded_rows(Table(discrete_schema(states), np.asarray(x, dtype=np.float64), w))
        for x, w in ((values, weights), (held_out, None))
    )
    return SelectiveTree(some, other, all_ways([0.5], [0.0, 2.0]))


def rows_of(tree: SelectiveTree) -> tuple[CodedRows, CodedRows]:
    """The training and the validation rows."""
    cells, schema = tree.arrays.cells, discrete_schema(tree.states.tolist())
    parts = slice(0, cells.training), slice(cells.training, None)
    first, second = (CodedRows(schema, cells.codes[:, part], cells.weight[part]) for part in parts)
    return first, second


def log_likelihood(node: Node, rows: CodedRows) -> float:
    """The log-likelihood of all rows at maximum likelihood, by passing one row after another down."""
    tally: dict[int, dict[int, float]] = {}
    for r in range(rows.weights.size):
        waiting: list[Node] = [node]
        while waiting:
            here = waiting.pop()
            if here.kind == "product":
                waiting.extend(here.children)
                continue
            state = int(rows.codes[here.column, r])
            (edge,) = [i for i, part in enumerate(here.parts) if state in part]
            edges = tally.setdefault(id(here), {})
            edges[edge] = edges.get(edge, 0.0) + float(rows.weights[r])
            if here.kind == "decision":
                waiting.append(here.children[edge])
    return sum(
        n * math.log(n / sum(edges.values())) for edges in tally.values() for n in edges.values() if n > 0
    )


def rows_that_reach(tree: SelectiveTree, root: Node) -> dict[int, set[int]]:
    """The training rows that reach each node."""
    codes, answer = tree.arrays.cells.codes, dict[int, set[int]]()

    def go(node: Node, rows: set[int]) -> None:
        answer[node.number] = rows
        for edge, child in enumerate(node.children):
            is_sum = node.kind == "decision"
            go(child, {r for r in rows if codes[node.column, r] in node.parts[edge]} if is_sum else rows)

    go(root, set(range(tree.arrays.cells.training)))
    return answer


def cost_and_edges(root: Node) -> tuple[int, int]:
    """The inference cost and the number of edges, counted one by one."""
    sums = products = 0
    for node in walk([root]):
        if node.kind == "product":
            products += len(node.children)
        elif len(node.parts) > 1:
            sums += len(node.parts)
    return 2 * sums + products, sums + products


def size_of_copy(node: Node, above: int | None, column: int, kept: set[int]) -> int:
    """The packed size of a copy in which a column has some states, below a node about `above`, if any."""
    if node.kind == "marginal":
        states = sum(node.column != column or part[0] in kept for part in node.parts)
        return states * SUM_EDGE if states > 1 else 0
    children = node.children
    if node.column == column:
        children = [c for c, part in zip(node.children, node.parts, strict=True) if kept & set(part)]
    if len(children) == 1:
        return size_of_copy(children[0], above, column, kept)
    edge = 1 if node.column < 0 else SUM_EDGE
    edges = len(children) - (node.column == above)  # joined to the node above, it needs no edge of its own
    return edge * edges + sum(size_of_copy(child, node.column, column, kept) for child in children)


def correction(node: Node, column: int, state: int, states: int) -> int:
    """By how much two copies, with a state and with all others, differ from twice the size."""
    above = None if node.parent is None else node.parent.column
    everything = set(range(states))
    both = [size_of_copy(node, above, column, kept) for kept in ({state}, everything - {state})]
    return sum(both) - 2 * size_of_copy(node, None, column, everything)


def states_below(node: Node, column: int) -> list[int]:
    """The states of a column that some marginal below a node has."""
    marginals = [n for n in walk([node]) if n.kind == "marginal" and n.column == column]
    return sorted({state for marginal in marginals for (state,) in marginal.parts})


def is_reduced(root: Node) -> bool:
    """Whether no node has a single child or a child that should be joined to it."""
    inner = [node for node in walk([root]) if node.kind != "marginal"]
    return all(
        len(node.children) > 1
        and not any((c.kind, c.column) == (node.kind, node.column) for c in node.children)
        for node in inner
    )


def moves(tree: SelectiveTree) -> Iterator[tuple[Any, ...]]:
    """The arguments of all splits and merges, whether they gain or not."""
    for node in walk([view(tree)]):
        if node.kind == "product":
            for first, second in product(node.children, repeat=2):
                if first is not second:
                    for column in range(tree.states.size):
                        states = states_below(first, column)
                        if len(states) > 1:
                            numbers = node.number, first.number, second.number
                            yield from ((*numbers, column, k) for k in states)
        elif node.kind == "decision":
            below = walk(node.children)
            if not any(n.kind == "decision" and n.column == node.column for n in below):
                many = len(node.children)
                yield from ((node.number, i, j) for i in range(many) for j in range(many) if i != j)


def make_move(tree: SelectiveTree, move: tuple[Any, ...]) -> None:
    """Split or merge."""
    if len(move) == 5:
        tree.split(*move)
    else:
        tree.merge(*move)


def gains(candidates: Candidates) -> dict[int, float]:
    """What the best change of each node gains."""
    inner = [node.number for node in walk([view(candidates.tree)]) if node.kind != "marginal"]
    return {node: found.score for node in inner if (found := candidates.best_of(node, candidates.price())[0])}


def form_of(node: Node) -> Form:
    """The structure of a tree without any order."""
    if node.kind == "marginal":
        return ("marginal", node.column, tuple(part[0] for part in node.parts))
    if node.kind == "product":
        return ("product", frozenset(form_of(child) for child in node.children))
    edges = ((part, form_of(child)) for part, child in zip(node.parts, node.children, strict=True))
    return ("decision", node.column, frozenset(edges))


def tree_of(form: Form, states: list[int]) -> SelectiveTree:
    """A tree of that structure without any rows."""
    tree = make_tree(states, np.zeros((0, len(states))))
    plan, made, used = tree._plan([], 100), 0, tree._states.used
    tree._states.make_room(1000)
    tree._edges.make_room(1000)

    def build(part: Form, parent: int) -> None:
        nonlocal made, used
        number, made = int(plan.node[made]), made + 1
        column = -1 if part[0] == "product" else part[1]
        used = start_node(tree.arrays, number, parent, column, 0 if column < 0 else states[column], used)
        branch = tree._branch(number)
        if part[0] == "marginal":
            branch[list(part[2])] = np.arange(len(part[2]))
            tree.nodes["edges"][number] = len(part[2]) if len(part[2]) > 1 else 0
        for edge, child in enumerate(part[-1] if part[0] != "marginal" else ()):
            if part[0] == "decision":
                branch[list(child[0])] = edge
            build(child[1] if part[0] == "decision" else child, number)

    build(form, -1)
    tree.root = tree._finish(plan, made, used, [], Basis(tree.root, -1, None, inherits=False))
    return tree


def all_forms(scope: dict[int, tuple[int, ...]]) -> set[Form]:
    """Every reduced regular selective tree over columns with some states each."""
    return all_sums(scope) | all_products(scope)


def all_sums(scope: dict[int, tuple[int, ...]]) -> set[Form]:
    if len(scope) == 1:
        ((column, states),) = scope.items()
        return {("marginal", column, states)}
    answer: set[Form] = set()
    for column, states in scope.items():
        for parts in partitions(states):
            if len(parts) > 1:
                below = [
                    {f for f in all_forms({**scope, column: part}) if f[:2] != ("decision", column)}
                    for part in parts
                ]
                for children in product(*below):
                    answer.add(("decision", column, frozenset(zip(parts, children, strict=True))))
    return answer


def all_products(scope: dict[int, tuple[int, ...]]) -> set[Form]:
    answer: set[Form] = set()
    for groups in partitions(tuple(scope)):
        if len(groups) > 1:
            below = [all_sums({column: scope[column] for column in group}) for group in groups]
            answer.update(("product", frozenset(children)) for children in product(*below))
    return answer


def classes(forms: set[Form], states: list[int]) -> dict[Form, Form]:
    """One tree for each, the same for all that differ in the numbers of columns and of states only."""
    answer: dict[Form, Form] = {}
    for form in forms:
        if form not in answer:
            answer.update((renumbered(form, *numbers), form) for numbers in numberings(states))
    return answer


def numberings(states: list[int]) -> Iterator[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
    """All ways to number columns, and the states of each, anew."""
    for columns in permutations(range(len(states))):
        if all(states[new] == states[old] for old, new in enumerate(columns)):
            for each in product(*(permutations(range(k)) for k in states)):
                yield columns, each


def renumbered(form: Form, columns: tuple[int, ...], states: tuple[tuple[int, ...], ...]) -> Form:
    """The tree with other numbers of columns, and of the states of each old column."""

    def part(old: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(states[form[1]][state] for state in old))

    if form[0] == "marginal":
        return ("marginal", columns[form[1]], part(form[2]))
    if form[0] == "product":
        return ("product", frozenset(renumbered(child, columns, states) for child in form[1]))
    edges = ((part(old), renumbered(child, columns, states)) for old, child in form[2])
    return ("decision", columns[form[1]], frozenset(edges))


def partitions(items: tuple[int, ...]) -> list[list[tuple[int, ...]]]:
    """All ways to divide items into groups."""
    if not items:
        return [[]]
    first, rest = items[0], items[1:]
    answer = []
    for many in range(len(rest) + 1):
        for others in combinations(rest, many):
            left = tuple(x for x in rest if x not in others)
            answer += [[(first, *others), *groups] for groups in partitions(left)]
    return answer
