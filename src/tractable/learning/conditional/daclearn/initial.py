"""The structure that the search begins with: inputs that tell something about single targets, and a tree."""

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.learning.conditional.daclearn.objective import ConditionalLikelihood
from tractable.learning.conditional.daclearn.rows import ConditionalRows
from tractable.learning.statistics.forests import Forest, best_forest

LEAST_GAIN = 2.0  # nats over all rows that a link of the tree must be worth


def mutual_information(rows: ConditionalRows) -> Floats:
    """The mutual information of each target with each input, times the number of rows. (targets, inputs)."""
    singles = rows.all_indicators()
    total = max(rows.total, 1e-9)
    of_inputs = singles @ rows.group_weight
    answer = np.zeros((rows.target_states.size, rows.input_states.size))
    starts = np.cumsum(rows.input_states) - rows.input_states
    for target, states in enumerate(rows.target_states.tolist()):
        for state in range(states):
            counts = rows.counts([(target, state)])
            both, alone = singles @ counts, counts.sum()
            ratio = np.where(both > 0, both * total / np.maximum(alone * of_inputs, 1e-300), 1.0)
            if starts.size:
                answer[target] += np.add.reduceat(both * np.log(ratio), starts)
    return answer


def chosen_inputs(information: Floats, most: int, least: float = LEAST_GAIN) -> list[Ints]:
    """Up to `most` inputs of highest mutual information with each target, above `least`; best first."""
    order = np.argsort(-information, axis=1, kind="stable")[:, :most]
    return [line[information[target, line] > least].astype(np.int64) for target, line in enumerate(order)]


def plant_inputs(objective: ConditionalLikelihood, inputs: list[Ints]) -> None:
    """Split states of each target on its inputs: every state, or the rarer one of two."""
    structure = objective.structure
    for target, chosen in enumerate(inputs):
        for feature in _split_states(objective, target):
            for column in (structure.targets + chosen).tolist():
                structure.split(feature, column)
    objective.add_planted()


def _split_states(objective: ConditionalLikelihood, target: int) -> list[int]:
    """The features of a target's states that are split: with two states, one tells about the other."""
    states = objective.structure.states_of(target)
    features = list(range(states.start, states.stop))
    rarest = states.start + int(objective.sample.frequency[states].argmin())
    return [rarest] if len(features) == 2 else features


def plant_tree(objective: ConditionalLikelihood, forest: Forest) -> None:
    """Split states of each target, as for inputs, on its parent in a tree, far from the root first."""
    structure = objective.structure
    for target in forest.order[::-1].tolist():
        parent = int(forest.parent[target])
        if parent >= 0:
            for feature in _split_states(objective, target):
                structure.split(feature, parent)
    objective.add_planted()


def residual_forest(objective: ConditionalLikelihood) -> Forest:
    """The forest over targets whose links gain most beyond what the model knows already.

    A link gains about half the chi-square statistic of what two targets' states have in common beyond their
    probabilities given the inputs. Without inputs this is much like the mutual information of Chow and Liu.
    """
    rows = objective.sample.rows
    states = int(rows.target_states.sum())
    expected = objective.expectations().expected[:states]
    weight = rows.group_weight
    together = _pair_counts(rows)
    apart = together - (expected * weight) @ expected.T
    variance = expected * (1 - expected)
    spread = (variance * weight) @ variance.T
    gain = apart**2 / (2 * np.maximum(spread, 1.0))
    owner = np.repeat(np.arange(rows.target_states.size), rows.target_states)
    pairs = np.zeros((rows.target_states.size, rows.target_states.size))
    np.add.at(pairs, (owner[:, None], owner[None, :]), gain)
    freedom = np.maximum(np.outer(rows.target_states, rows.target_states), 1.0)
    pairs = pairs / freedom - LEAST_GAIN
    np.fill_diagonal(pairs, 0.0)
    return best_forest(pairs, np.ones(rows.target_states.size, dtype=np.bool_))


def _pair_counts(rows: ConditionalRows) -> Floats:
    """The weight of the rows that have two states of targets. Shape (states, states)."""
    sizes = rows.target_states
    states = np.zeros((len(rows.targets), int(sizes.sum())))
    first = np.cumsum(sizes) - sizes
    np.put_along_axis(states, rows.targets + first, 1.0, axis=1)
    return np.asarray((states * rows.weight[:, None]).T @ states)
