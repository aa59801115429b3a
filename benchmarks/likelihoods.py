"""Test log-likelihoods of every learner on small benchmark sets, to the last digit, to compare two versions.

    python benchmarks/likelihoods.py FOLDER --out after.json [--beside before.json] [--datasets nltcs,dna]
    PYTHONPATH=OTHER/src python benchmarks/likelihoods.py FOLDER --out before.json

FOLDER holds the sets as `NAME.train.data.gz`, `NAME.valid.data.gz` and `NAME.test.data.gz`. Each learner runs
with its defaults, one thread and the seed of --seed; conditional learners predict the last fifth of the
columns. With --beside, every figure that differs from the other file is printed, and the exit code is 1 if
there is one.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATASETS = {  # those on which a learner takes less than about a minute
    "nltcs": "independent chow-liu naive-bayes mixture-of-trees latent-tree hidden-chow-liu learnspn spn-svd "
    "dennis-ventura continuous-mixture cutset bayesian-network acbn acmn eacmn selective idspn",
    "dna": "independent chow-liu naive-bayes mixture-of-trees learnspn spn-svd dennis-ventura cutset "
    "bayesian-network acbn acmn eacmn",
    "tretail": "chow-liu naive-bayes mixture-of-trees learnspn cutset bayesian-network acbn acmn",
    "plants": "chow-liu naive-bayes learnspn bayesian-network cutset",
}
CONDITIONAL = {"nltcs": "daclearn cacmn mctbn conditional-spn conditional-mixture", "dna": "daclearn mctbn"}
TARGETS = 0.2  # share of the columns that conditional learners predict


def main() -> None:
    """Learn everything, write the figures, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    done: dict[str, Any] = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    for name, seconds, score in measure(chosen, done):
        done[name] = {"score": score, "seconds": round(seconds, 2)}
        chosen.out.write_text(json.dumps(done, indent=1))
        print(f"{name}: {score!r} in {seconds:.1f} CPU s", flush=True)
    if chosen.beside is not None:
        sys.exit(compare(json.loads(chosen.beside.read_text()), done))


def measure(chosen: argparse.Namespace, done: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Data set and learner, CPU seconds and test log-likelihood of all that is not done yet."""
    for dataset in chosen.datasets.split(","):
        parts = [chosen.folder / f"{dataset}.{part}.data.gz" for part in ("train", "valid", "test")]
        for learner in [*DATASETS.get(dataset, "").split(), *CONDITIONAL.get(dataset, "").split()]:
            if f"{dataset}/{learner}" not in done:
                begin = time.process_time()
                score = learned_score(learner, parts, chosen.seed)
                yield f"{dataset}/{learner}", time.process_time() - begin, score


def learned_score(learner: str, parts: list[Path], seed: int) -> float:
    """The mean test log-likelihood of one learner's model."""
    import tractable as tr

    tables = [tr.read(path) for path in parts]
    made = estimator(learner)(random_state=seed)
    if not is_conditional(learner):
        return float(made.fit(tables[0], valid=tables[1]).score(tables[2]))
    frames = [table.values for table in tables]
    first = int(frames[0].shape[1] * (1 - TARGETS))
    (x, y), valid, (a, b) = [(f[:, :first].astype(int).astype(str), f[:, first:].astype(int)) for f in frames]
    return float(made.fit(x, y, valid=valid).score(a, b))


def is_conditional(learner: str) -> bool:
    """Whether a learner is one of targets given inputs."""
    return any(learner in line.split() for line in CONDITIONAL.values())


def estimator(learner: str) -> Any:
    """The estimator class of a learner, by the learner's name."""
    import tractable as tr

    if is_conditional(learner):
        names = {"daclearn": "DACLearn", "cacmn": "CACMN", "mctbn": "MCTBN"}
        named = {"conditional-spn": "ConditionalSPN", "conditional-mixture": "ConditionalMixture"}
        return getattr(tr, (names | named)[learner])
    from tractable.learning.joint import LEARNERS

    return getattr(tr, str(LEARNERS.estimator_of(learner)))


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; 1 if anything does, and 0 otherwise."""
    differing = [
        name for name in sorted(before.keys() & after.keys()) if before[name]["score"] != after[name]["score"]
    ]
    for name in differing:
        print(f"{name}: {before[name]['score']!r} before, {after[name]['score']!r} after")
    print(f"{len(before.keys() & after.keys())} figures compared, {len(differing)} differ")
    return int(bool(differing))


if __name__ == "__main__":
    main()
