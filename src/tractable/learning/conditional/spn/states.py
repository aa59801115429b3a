"""Parts as the states that checkpoints hold."""

from tractable.base.progress import Form, State
from tractable.learning.conditional.spn.parts import GatedSum, Leaf, Part, Product
from tractable.learning.conditional.trees.tree import ConditionalTree, Prior


def _state(part: Part | None) -> State:
    if part is None:
        return None
    if isinstance(part, Leaf):
        prior = part.prior
        factors = None if prior.factors is None else list(prior.factors)
        tree = [part.tree.parent, list(part.tree.beta)]
        return ["leaf", part.targets, tree, [prior.l2, list(prior.means), factors]]
    below = [_state(each) for each in part.parts]
    return ["product", below] if isinstance(part, Product) else ["sum", part.gate, part.penalty, below]


def _from_state(state: State) -> Part | None:
    if state is None:
        return None
    if state[0] == "leaf":
        (parent, beta), (l2, means, factors) = state[2:]
        prior = Prior(l2, tuple(means), None if factors is None else tuple(factors))
        return Leaf(state[1], ConditionalTree(parent, tuple(beta)), prior)
    below = tuple(_part_from(each) for each in state[-1])
    return Product(below) if state[0] == "product" else GatedSum(state[1], state[2], below)


def _part_from(state: State) -> Part:
    part = _from_state(state)
    assert part is not None
    return part


def _sum_from(state: State) -> GatedSum | None:
    part = _from_state(state)
    assert part is None or isinstance(part, GatedSum)
    return part


def _leaf_from(state: State) -> Leaf:
    part = _from_state(state)
    assert isinstance(part, Leaf)
    return part


LEAF: Form[Leaf] = Form(_state, _leaf_from)
SUM: Form[GatedSum | None] = Form(_state, _sum_from)
