"""Answers that other tools recorded, asked again through the public face."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tractable as tr
from tractable.base.arrays import Floats
from tractable.networks import Network, TableFactor, read_bif

DATA = Path(os.environ.get("TRACTABLE_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
GOLDEN = DATA.parent / "golden"
NETWORKS = ["asia", "cancer", "survey", "child", "insurance"]
JOINT = ["dna-acmn.ac", "nltcs-acmn.ac", "nltcs-mixture.spn"]

golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden circuits are not there")


def rows(name: str) -> Floats:
    lines = (GOLDEN / name).read_text().split()
    return np.array([[np.nan if cell == "*" else float(cell) for cell in line.split(",")] for line in lines])


@pytest.fixture(scope="module", params=JOINT)
def circuit(request: pytest.FixtureRequest) -> tuple[str, tr.Circuit]:
    return Path(request.param).stem, tr.load(GOLDEN / request.param)


@golden
def test_log_likelihoods_are_those_recorded(circuit: tuple[str, tr.Circuit]) -> None:
    name, model = circuit
    recorded = np.loadtxt(GOLDEN / f"{name}.log_prob.txt")
    np.testing.assert_allclose(model.log_prob(rows(f"{name}.rows.data")), recorded, atol=1e-5)


@golden
def test_marginals_are_those_recorded(circuit: tuple[str, tr.Circuit]) -> None:
    name, model = circuit
    recorded = np.loadtxt(GOLDEN / f"{name}.marginals.txt").reshape(-1, len(model.schema), 2)
    evidence = rows(f"{name}.evidence.data")
    found = np.stack(list(model.marginals(rows=evidence).values()), axis=1)
    np.testing.assert_allclose(found, recorded, atol=1e-6)


@golden
def test_completions_are_at_least_as_probable_as_those_recorded(circuit: tuple[str, tr.Circuit]) -> None:
    name, model = circuit
    evidence, recorded = rows(f"{name}.evidence.data"), rows(f"{name}.mpe.data")
    found = model.mpe(rows=evidence)
    known = ~np.isnan(evidence)
    np.testing.assert_array_equal(np.asarray(found.rows, dtype=float)[known], evidence[known])
    assert (found.log_prob >= model.log_prob(recorded) - 1e-9).all()
    np.testing.assert_allclose(model.log_prob(found.rows), found.log_prob, rtol=1e-9)
    if model.properties.deterministic:
        assert found.exact.all()


@golden
def test_conditional_log_likelihoods_are_those_recorded() -> None:
    model = tr.load(GOLDEN / "nltcs-conditional.ac")
    whole, evidence = rows("nltcs-conditional.rows.data"), rows("nltcs-conditional.evidence.data")
    recorded = np.loadtxt(GOLDEN / "nltcs-conditional.log_prob.txt")
    patterns = np.isnan(evidence)
    found = np.empty(len(whole))
    for pattern in np.unique(patterns, axis=0):
        some = (patterns == pattern).all(axis=1)
        given = [name for name, hidden in zip(model.schema.names, pattern, strict=True) if not hidden]
        found[some] = model.log_conditional(whole[some], given)
    np.testing.assert_allclose(found, recorded, atol=1e-5)


@golden
def test_a_conditional_circuit_is_no_joint_one() -> None:
    model = tr.load(GOLDEN / "nltcs-conditional.ac")
    with pytest.raises(ValueError, match=r"^the circuit is not (smooth|decomposable): (sum|product) \d+"):
        model.log_prob(rows("nltcs-conditional.rows.data"))


# ---- Bayesian networks, against exact inference in another library ------------------------------------


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> tuple[Any, tr.Circuit]:
    file = DATA / "networks" / f"{request.param}.bif"
    if not file.is_file():
        pytest.skip("the networks are not there")
    return other_network(read_bif(file)), tr.load(file)


def other_network(network: Network) -> Any:
    """The network in the other library; its own reader keeps seven digits and refuses states such as `<5`."""
    gum = pytest.importorskip("pyagrum")
    bn = gum.BayesNet()
    for variable in network.schema:
        bn.add(gum.LabelizedVariable(variable.name, "", [str(s) for s in variable.states]))
    names = network.schema.names
    factors = [f for f in network.factors if isinstance(f, TableFactor)]
    for factor in factors:
        for parent in factor.columns[1:]:
            bn.addArc(names[parent], names[factor.columns[0]])
    for factor in factors:
        order = [names[c] for c in factor.columns]
        table = np.exp(factor.log_values)
        cpt = bn.cpt(order[0])
        axes = [order.index(name) for name in reversed(cpt.names)]
        cpt.fillWith(table.transpose(axes).ravel().tolist())
    return bn


def random_evidence(model: tr.Circuit, rng: np.random.Generator, most: int) -> dict[str, str]:
    """A part of a row drawn from the network, so that it is possible."""
    drawn = model.sample(1, random_state=rng).iloc[0].to_dict()
    chosen = rng.permutation(list(drawn))[: rng.integers(0, most + 1)].tolist()
    return {name: drawn[name] for name in chosen}


def test_a_network_agrees_with_exact_inference(network: tuple[Any, tr.Circuit]) -> None:
    gum = pytest.importorskip("pyagrum")
    bn, model = network
    rng = np.random.default_rng(7)
    for _ in range(12):
        evidence = random_evidence(model, rng, 6)
        inference = gum.LazyPropagation(bn)
        inference.setEvidence(evidence)
        inference.makeInference()
        assert model.prob(evidence) == pytest.approx(inference.evidenceProbability(), rel=1e-9)
        found = model.marginals(evidence)
        for name in model.schema.names:
            posterior = inference.posterior(name).toarray()
            states = bn.variable(name).labels()
            got = [found[name][state] for state in states]
            np.testing.assert_allclose(got, posterior, atol=1e-9)


def test_a_network_s_best_completion_is_that_of_exact_inference(network: tuple[Any, tr.Circuit]) -> None:
    gum = pytest.importorskip("pyagrum")
    bn, model = network
    rng = np.random.default_rng(8)
    for _ in range(4):
        evidence = random_evidence(model, rng, 3)
        found = model.mpe(evidence)
        assert found.exact
        assert evidence.items() <= found.row.items()
        assert model.log_prob(found.row) == pytest.approx(found.log_prob, rel=1e-9)
        assert found.log_prob == pytest.approx(math.log(other_best(gum, bn, evidence)), abs=1e-9)


def other_best(gum: Any, bn: Any, evidence: dict[str, str]) -> float:
    """The largest joint probability, by eliminating the variables with the other library's tensors."""
    known = {name: bn.variable(name).index(state) for name, state in evidence.items()}
    factors, best = [], 1.0
    for node in bn.nodes():
        cpt = bn.cpt(node)
        here = {name: index for name, index in known.items() if name in cpt.names}
        if len(here) == len(cpt.names):
            best *= cpt[here]
        else:
            factors.append(cpt.extract(here) if here else cpt)
    left = set(bn.names()) - set(known)
    while left:
        touched = {v: set().union(*(f.names for f in factors if v in f.names)) for v in sorted(left)}
        next_ = min(touched, key=lambda v: math.prod(bn.variable(w).domainSize() for w in touched[v]))
        together = gum.Tensor().fillWith(1.0)
        for factor in [f for f in factors if next_ in f.names]:
            together = together * factor
        factors = [f for f in factors if next_ not in f.names]
        left.remove(next_)
        if len(together.names) > 1:
            factors.append(together.maxOut([next_]))
        else:
            best *= together.max()
    return best
