"""Compile Bayesian networks to circuits and compare all marginals with pyAgrum's, network by network.

    python benchmarks/networks.py FOLDER [NAME ...] [--alone]

FOLDER holds .bif files, such as those of the bnlearn repository. Each network is compiled in a process of its
own, so that memory can be measured. With --alone, pyAgrum is not asked. Times are CPU seconds of one thread.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
EVIDENCE = 5  # columns that are observed in the second comparison
HEADER = (
    "| network | columns | nodes | edges | CPU s | MB | pyAgrum s | marginals differ by | given evidence |"
)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What `work` returns, and its CPU seconds."""
    before = time.process_time()
    answer = work()
    return answer, time.process_time() - before


def peak_megabytes() -> int:
    """The largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure(path: Path, alone: bool) -> dict[str, Any]:
    """The facts about one network."""
    import tractable as tr

    circuit, seconds = timed(lambda: tr.load(path))
    facts: dict[str, Any] = {
        "network": path.stem,
        "columns": len(circuit.schema),
        "nodes": circuit.graph.nodes,
        "edges": circuit.graph.edges,
        "seconds": seconds,
        "megabytes": peak_megabytes(),
    }
    row = circuit.sample(1, random_state=0).iloc[0].to_dict()
    evidence = dict(list(row.items())[:: max(len(row) // EVIDENCE, 1)][:EVIDENCE])
    ours, facts["marginal_seconds"] = timed(circuit.marginals)
    given = circuit.marginals(given=evidence)
    log_prob = circuit.log_prob_of(evidence)
    facts["query_megabytes"] = peak_megabytes()
    if not alone:
        theirs, _, facts["peer_seconds"] = peer_marginals(path, {})
        facts["difference"] = largest_difference(ours, theirs)
        theirs, prob, _ = peer_marginals(path, evidence)
        facts["difference_given"] = largest_difference(given, theirs)
        facts["log_evidence"] = [log_prob, prob]
    return facts


def peer_marginals(
    path: Path, evidence: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], float, float]:
    """pyAgrum's marginals, its logarithm of the probability of the evidence, and its CPU seconds."""
    import numpy as np
    import pyagrum

    gum: Any = pyagrum  # which has no types
    network, reading = timed(lambda: gum.loadBN(str(path)))
    give_exact_tables(network, path)
    begin = time.process_time()
    engine = gum.LazyPropagation(network)
    engine.setNumberOfThreads(1)
    engine.setEvidence(dict(evidence))
    engine.makeInference()
    found = {}
    for node in network.nodes():
        variable = network.variable(node)
        found[variable.name()] = dict(
            zip(variable.labels(), engine.posterior(node).toarray().ravel().tolist(), strict=True)
        )
    log_prob = float(np.log(engine.evidenceProbability())) if evidence else 0.0
    return found, log_prob, reading + time.process_time() - begin


def give_exact_tables(network: Any, path: Path) -> None:
    """Replace the tables of pyAgrum's network, which its reader rounds to 32 bits, by those of our reader."""
    import numpy as np

    from tractable.networks import TableFactor, read_bif

    ours = read_bif(path)
    for factor in ours.factors:
        assert isinstance(factor, TableFactor)
        names = [ours.schema[c].name for c in factor.columns]
        table = network.cpt(names[0])
        values = np.exp(factor.log_values.transpose([names.index(n) for n in reversed(table.names)]))
        assert np.allclose(values, table.toarray(), rtol=0, atol=0.02)  # files round, and we normalise
        table[:] = np.ascontiguousarray(values)


def largest_difference(ours: Mapping[Any, Any], theirs: Mapping[str, Mapping[str, float]]) -> float:
    """The largest difference of two probabilities of the same state."""
    return max(abs(p - ours[name][state]) for name, states in theirs.items() for state, p in states.items())


def line_of(facts: Mapping[str, Any]) -> str:
    """A line of the table."""
    peer = ["-", "-", "-"]
    if "difference" in facts:
        peer = [
            f"{facts['peer_seconds']:.1f}", f"{facts['difference']:.0e}", f"{facts['difference_given']:.0e}"
        ]  # fmt: skip
    own = [facts["network"], str(facts["columns"]), f"{facts['nodes']:,}", f"{facts['edges']:,}"]
    own += [f"{facts['seconds']:.1f}", str(facts["megabytes"])]
    return f"| {' | '.join([*own, *peer])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.one:
        print(json.dumps(measure(options.folder, options.alone)))
        return
    print(HEADER, "|---|" + "--:|" * 8, sep="\n")
    environment = {**os.environ, "TRACTABLE_THREADS": "1"}
    for name in options.names or sorted(p.stem for p in options.folder.glob("*.bif")):
        call = [sys.executable, __file__, str(options.folder / f"{name}.bif"), "--one"]
        done = subprocess.run(
            call + ["--alone"] * options.alone, env=environment, capture_output=True, text=True, check=False
        )
        facts = json.loads(done.stdout) if done.returncode == 0 else None
        print(
            f"| {name} | {done.stderr.strip().splitlines()[-1]} |" if facts is None else line_of(facts),
            flush=True,
        )
        print(json.dumps(facts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
