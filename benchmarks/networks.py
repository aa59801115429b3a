"""Compile Bayesian networks to circuits and compare their answers with pyAgrum's, network by network.

    python benchmarks/networks.py FOLDER [NAME ...] [--alone]

FOLDER holds .bif files, such as those of the bnlearn repository or, unpacked, those in the pgmpy package.
Each network is compiled in a process of its own, so that memory can be measured. With --alone, pyAgrum is
not asked. Times are CPU times of one thread.

Two tables are printed. The first is about compiling. The second is about questions with evidence that changes
each time: the distribution of one random column given one or five others, P(state | five others), and the
distributions of all columns given five. Both sides are warm, and times are medians.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
EVIDENCE = 5  # columns that are observed in the second comparison
QUESTIONS = 60  # of each kind, each with evidence of its own
SWEEPS = 4  # questions about all columns
HEADER = (
    "| network | columns | nodes | edges | CPU s | MB | pyAgrum s | marginals differ by | given evidence |"
)
QUESTION_HEADER = (
    "| network | one given 1: ms | pyAgrum ms | one given 5: ms | pyAgrum ms | P(state \\| 5): ms "
    "| differ by | all given 5: ms | pyAgrum ms |"
)


class Asked(NamedTuple):
    """A question about one column."""

    column: str
    state: str
    evidence: dict[str, str]


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
    facts |= measure_questions(circuit, path, alone)
    if not alone:
        theirs, _, facts["peer_seconds"] = peer_marginals(path, {})
        facts["difference"] = largest_difference(ours, theirs)
        theirs, prob, _ = peer_marginals(path, evidence)
        facts["difference_given"] = largest_difference(given, theirs)
        facts["log_evidence"] = [log_prob, prob]
    return facts


def measure_questions(circuit: Any, path: Path, alone: bool) -> dict[str, Any]:
    """Median milliseconds of questions, and the largest difference of two answers."""
    facts: dict[str, Any] = {}
    for observed in (1, EVIDENCE):
        asked = random_questions(circuit, observed, QUESTIONS)
        ours = [timed(partial(circuit.marginals, q.evidence, columns=[q.column])) for q in asked]
        probs = [timed(partial(circuit.prob, {q.column: q.state}, q.evidence)) for q in asked]
        facts[f"one_ms_{observed}"] = milliseconds(ours)
        facts[f"prob_ms_{observed}"] = milliseconds(probs)
        differences = [
            abs(p - m[q.column][q.state]) for q, (m, _), (p, _) in zip(asked, ours, probs, strict=True)
        ]
        if not alone:
            theirs = [
                peer_posteriors(path, asked, method) for method in ("LazyPropagation", "VariableElimination")
            ]
            facts[f"peer_one_ms_{observed}"] = min(map(milliseconds, theirs))
            differences += [
                largest_difference(m, {q.column: p})
                for q, (m, _), (p, _) in zip(asked, ours, theirs[0], strict=True)
            ]
        facts[f"question_difference_{observed}"] = max(differences)
    asked = random_questions(circuit, EVIDENCE, SWEEPS)
    facts["all_ms"] = milliseconds([timed(partial(circuit.marginals, q.evidence)) for q in asked])
    if not alone:
        facts["peer_all_ms"] = milliseconds(peer_posteriors(path, asked, "LazyPropagation", every=True))
    return facts


def milliseconds(answers: Sequence[tuple[object, float]]) -> float:
    """The median time; the first question warms up."""
    return 1000 * median([seconds for _, seconds in answers][1:])


def random_questions(circuit: Any, observed: int, count: int) -> list[Asked]:
    """Questions about random columns, given that random other columns have the states of a random row."""
    import numpy as np

    rng = np.random.default_rng(observed)
    asked = []
    for _, row in circuit.sample(count, random_state=observed).iterrows():
        column, *others = rng.choice(len(row), min(observed + 1, len(row)), replace=False).tolist()
        names = row.index
        asked.append(Asked(names[column], row.iloc[column], {names[c]: row.iloc[c] for c in others}))
    return asked


def peer_posteriors(
    path: Path, asked: Sequence[Asked], method: str, every: bool = False
) -> list[tuple[dict[str, float], float]]:
    """pyAgrum's distribution of each column asked about, and its CPU seconds; one engine answers them all."""
    import pyagrum

    gum: Any = pyagrum
    network = peer_network(path)
    engine = getattr(gum, method)(network)
    engine.setNumberOfThreads(1)
    answers = []
    for question in asked:
        begin = time.process_time()
        engine.eraseAllEvidence()
        engine.eraseAllTargets()
        engine.setEvidence(question.evidence)
        if every:
            engine.addAllTargets()
        else:
            engine.addTarget(question.column)
        engine.makeInference()
        for node in network.names() if every else ():
            engine.posterior(node).tolist()
        found = engine.posterior(question.column).tolist()
        seconds = time.process_time() - begin
        labels = network.variable(question.column).labels()
        answers.append((dict(zip(labels, found, strict=True)), seconds))
    return answers


def peer_marginals(
    path: Path, evidence: Mapping[str, str]
) -> tuple[dict[str, dict[str, float]], float, float]:
    """pyAgrum's marginals, its logarithm of the probability of the evidence, and its CPU seconds."""
    import numpy as np
    import pyagrum

    gum: Any = pyagrum  # which has no types
    network, reading = peer_network(path), seconds_to_read(path)
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


def peer_network(path: Path) -> Any:
    """The network in pyAgrum, with the numbers of our reader: its own rounds to 32 bits."""
    import numpy as np
    import pyagrum

    from tractable.networks import TableFactor, read_bif

    gum: Any = pyagrum  # which has no types
    ours = read_bif(path)
    network: Any = gum.BayesNet()
    for variable in ours.schema:
        network.add(gum.LabelizedVariable(variable.name, "", list(map(str, variable.states))))
    for factor in ours.factors:
        for parent in factor.scope[1:]:
            network.addArc(*(ours.schema[c].name for c in (parent, factor.scope[0])))
    for factor in ours.factors:
        assert isinstance(factor, TableFactor)
        names = [ours.schema[c].name for c in factor.columns]
        table = network.cpt(names[0])
        values = np.exp(factor.log_values.transpose([names.index(n) for n in reversed(table.names)]))
        table[:] = np.ascontiguousarray(values)
    return network


def seconds_to_read(path: Path) -> float:
    """The CPU seconds in which pyAgrum reads a file; zero for one that it does not understand."""
    import pyagrum

    gum: Any = pyagrum  # which has no types
    try:
        return timed(lambda: gum.loadBN(str(path)))[1]
    except gum.GumException:
        return 0.0


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


def question_line(facts: Mapping[str, Any]) -> str:
    """A line of the second table."""
    names = (
        "one_ms_1",
        "peer_one_ms_1",
        f"one_ms_{EVIDENCE}",
        f"peer_one_ms_{EVIDENCE}",
        f"prob_ms_{EVIDENCE}",
    )
    times = [f"{facts[name]:.2f}" if name in facts else "-" for name in names]
    differ = max(facts["question_difference_1"], facts[f"question_difference_{EVIDENCE}"])
    every = [f"{facts[name]:.1f}" if name in facts else "-" for name in ("all_ms", "peer_all_ms")]
    return f"| {' | '.join([facts['network'], *times, f'{differ:.0e}', *every])} |"


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
    lines = []
    for name in options.names or sorted(p.stem for p in options.folder.glob("*.bif")):
        call = [sys.executable, __file__, str(options.folder / f"{name}.bif"), "--one"]
        done = subprocess.run(
            call + ["--alone"] * options.alone, env=environment, capture_output=True, text=True, check=False
        )
        facts = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
        print(
            f"| {name} | {done.stderr.strip().splitlines()[-1]} |" if facts is None else line_of(facts),
            flush=True,
        )
        print(json.dumps(facts), file=sys.stderr, flush=True)
        lines += [] if facts is None else [question_line(facts)]
    print("", QUESTION_HEADER, "|---|" + "--:|" * 8, *lines, sep="\n")


if __name__ == "__main__":
    main()
