"""Compiled loops over the factors of networks."""

from tractable.base.arrays import Floats, Int32s
from tractable.base.compiled import njit
from tractable.networks.flat import Features, Rules


@njit(cache=True, nogil=True)
def add_log_values(features: Features, rules: Rules, codes: Int32s, answer: Floats) -> None:
    """Add the logarithm of the product of all factors to `answer` (rows,) for each row of `codes`."""
    for r in range(codes.shape[0]):
        row = codes[r]
        for f in range(features.log_weight.size):
            if feature_holds(features, f, row):
                answer[r] += features.log_weight[f]
        for rule in range(rules.root.size):
            answer[r] += rule_value(rules, rule, row)


@njit(cache=True, nogil=True)
def feature_holds(features: Features, f: int, row: Int32s) -> bool:
    """Whether all conditions of a feature hold of a row."""
    i, end = features.start[f], features.start[f + 1]
    while i < end and (row[features.column[i]] == features.state[i]) == features.equals[i]:
        i += 1
    return i == end


@njit(cache=True, nogil=True)
def rule_value(rules: Rules, rule: int, row: Int32s) -> float:
    """The log-value of a tree or table for a row."""
    node = rules.root[rule]
    while rules.column[node] >= 0:
        holds = row[rules.column[node]] == rules.state[node]
        node = rules.then[node] if holds else rules.otherwise[node]
    at = rules.offset[node]
    for i in range(rules.start[node], rules.start[node + 1]):
        at += row[rules.key[i]] * rules.stride[i]
    return rules.value[at]
