"""Slow and obvious twins of what the search for selective trees counts incrementally."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Any, TypeAlias

import numpy as np

from tractable.base.arrays import Ints
from tractable.data import Table, discrete_schema
from tractable.learning.joint.selective.candidates import Candidates
from tractable.learning.joint.selective.corrections import decision_correction, marginal_correction
from tractable.learning.joint.selective.kernels import Slots
from tractable.learning.joint.selective.nodes import Decision, Inner, Marginal, Node, Product, Reach
from tractable.learning.joint.selective.rows import CodedRows, coded_rows
from tractable.learning.joint.selective.smoothing import all_ways
from tractable.learning.joint.selective.tree import SelectiveTree, states_below

Form: TypeAlias = tuple[Any, ...]  # the structure of a tree: equal forms are equal trees


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes and everything below them, parents first."""
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(() if isinstance(node, Marginal) else reversed(node.children))


def make_tree(states: list[int], values: Any, weights: Any = None, valid: Any = None) -> SelectiveTree:
    """The product of marginals over some rows."""
    held_out = np.zeros((0, len(states))) if valid is None else valid
    some, other = (
        coded_rows(Table(discrete_schema(states), np.asarray(x, dtype=np.float64), w))
        for x, w in ((values, weights), (held_out, None))
    )
    return SelectiveTree(some, other, all_ways([0.5], [0.0, 2.0]))


def log_likelihood(node: Node, rows: CodedRows) -> float:
    """The log-likelihood of all rows at maximum likelihood, by passing one row after another down."""
    tally: dict[int, dict[int, float]] = {}
    for r in range(rows.weights.size):
        waiting: list[Node] = [node]
        while waiting:
            here = waiting.pop()
            if isinstance(here, Product):
                waiting.extend(here.children)
                continue
            state = int(rows.codes[here.column, r])
            (edge,) = [i for i, part in enumerate(here.parts) if state in part]
            edges = tally.setdefault(id(here), {})
            edges[edge] = edges.get(edge, 0.0) + float(rows.weights[r])
            if isinstance(here, Decision):
                waiting.append(here.children[edge])
    return sum(
        n * math.log(n / sum(edges.values())) for edges in tally.values() for n in edges.values() if n > 0
    )


def cost_and_edges(root: Node) -> tuple[int, int]:
    """The inference cost and the number of edges, counted one by one."""
    sums = products = 0
    for node in walk([root]):
        if isinstance(node, Product):
            products += len(node.children)
        elif len(node.parts) > 1:
            sums += len(node.parts)
    return 2 * sums + products, sums + products


def corrections(decision: Decision, slots: Slots) -> Ints:
    """What `Decision.correction` is, from all sums from the decision down."""
    answer = np.zeros(slots.column.size, dtype=np.int64)
    for node in walk([decision]):
        if not isinstance(node, Product):
            states = slots.state[slots.of(node.column)]
            if isinstance(node, Marginal):
                own = marginal_correction(node.states, states)
            else:
                own = decision_correction(node, states)
            answer[slots.of(node.column)] += own
    return answer


def is_reduced(root: Node) -> bool:
    """Whether no node has a single child or a child that should be joined to it."""
    for node in walk([root]):
        if isinstance(node, Marginal):
            continue
        joined = any(
            isinstance(child, Product)
            if isinstance(node, Product)
            else isinstance(child, Decision) and child.column == node.column
            for child in node.children
        )
        if len(node.children) < 2 or joined or any(child.parent is not node for child in node.children):
            return False
    return root.parent is None


def moves(tree: SelectiveTree) -> Iterator[tuple[Any, ...]]:
    """The arguments of all splits and merges, whether they gain or not."""
    for node in walk([tree.root]):
        if isinstance(node, Product):
            for first, second in product(node.children, repeat=2):
                if first is not second:
                    for column in range(tree.forming.states.size):
                        states = states_below(first, column, int(tree.forming.states[column]))
                        if len(states) > 1:
                            yield from ((node, first, second, column, k) for k in states)
        elif isinstance(node, Decision):
            below = walk(node.children)
            if not any(isinstance(n, Decision) and n.column == node.column for n in below):
                yield from (
                    (node, i, j)
                    for i in range(len(node.children))
                    for j in range(len(node.children))
                    if i != j
                )


def make_move(tree: SelectiveTree, move: tuple[Any, ...]) -> None:
    """Split or merge."""
    if len(move) == 5:
        tree.split(*move)
    else:
        tree.merge(*move)


def gains(candidates: Candidates) -> dict[Inner, float]:
    """What the best change of each node gains."""
    inner = [node for node in walk([candidates.tree.root]) if not isinstance(node, Marginal)]
    return {node: found.score for node in inner if (found := candidates.best_of(node)[0])}


def form_of(node: Node) -> Form:
    """The structure of a tree without any order."""
    if isinstance(node, Marginal):
        return ("marginal", node.column, node.states)
    if isinstance(node, Product):
        return ("product", frozenset(form_of(child) for child in node.children))
    edges = ((part, form_of(child)) for part, child in zip(node.parts, node.children, strict=True))
    return ("decision", node.column, frozenset(edges))


def tree_of(form: Form, states: list[int]) -> SelectiveTree:
    """A tree of that structure without any rows."""
    tree = make_tree(states, np.zeros((0, len(states))))
    empty = Reach(*np.zeros((2, 0), dtype=np.int32))

    def build(part: Form) -> Any:
        if part[0] == "marginal":
            return tree.forming.marginal(part[1], part[2], empty)
        if part[0] == "product":
            return tree.forming.product([build(child) for child in part[1]])
        parts, children = zip(*part[2], strict=True)
        return tree.forming.decision(part[1], [build(child) for child in children], parts, None)

    tree.root = build(form)
    if isinstance(tree.root, Decision):
        tree.forming.settle(tree.root)
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
