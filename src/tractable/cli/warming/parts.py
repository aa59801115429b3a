"""The parts of a warm-up: what is used once, by name."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from joblib import parallel_config

from tractable.base.compiled import cache_folder, compile_at_once
from tractable.base.compiling import on_compile
from tractable.base.progress import Watch
from tractable.cli.warming import tables
from tractable.cli.warming.questions import ask_everything, no_evidence
from tractable.data import Table, collapse, parse_question, read
from tractable.engine.shape_sweep import shape_log_values
from tractable.engine.shape_terms import shape_program
from tractable.formats import FORMATS
from tractable.learning.conditional import CONDITIONAL
from tractable.learning.joint import LEARNERS
from tractable.learning.networks import NETWORK_LEARNERS
from tractable.learning.parameters import METHODS
from tractable.learning.training import fit_parameters
from tractable.model import Circuit, load
from tractable.networks import Network, TableFactor, compile_network, log_prob_of_rows
from tractable.queries.gibbs import Sampling, draw_rows, estimate_marginals, estimate_probability

ASKED = ("naive-bayes", "acmn", "hidden-chow-liu")  # learners whose circuits are of different kinds
DATA = "0, 1\n*, 10\n"  # a `.data` file that only compiled code can read


class Part(NamedTuple):
    """Something that is used once so that it is compiled."""

    group: str  # learners, conditional, methods, formats, questions, networks or tables
    name: str
    run: Callable[[], object]


def _learn(name: str, table: Table, valid: Table | None = None) -> Circuit:
    learner = LEARNERS.make(name)
    return Circuit(learner.learn(table, np.random.default_rng(0), valid=valid))


def _learn_from_all(name: str) -> None:
    """Learn from tables with and without validation rows, missing cells and numeric columns."""
    _learn(name, tables.categorical(), tables.categorical(0.1))
    try:
        _learn(name, tables.mixed())
    except ValueError:  # some learners want categorical columns
        return


def _learn_conditional(name: str) -> None:
    table = tables.categorical()
    learner = CONDITIONAL.make(name)
    rows = Table(table.schema.with_targets([0] if learner.single_target else [0, 1, 2]), table.values)
    try:
        learner.learn(rows, np.random.default_rng(0), valid=rows, watch=Watch(seconds=10.0))
    except ValueError:  # a learner that needs an extra which is not installed
        return


def _ask(name: str, table: Callable[[], Table]) -> None:
    rows = table()
    ask_everything(_learn(name, rows), rows)


def _ask_network() -> None:
    """Ask a circuit that was compiled from a Bayesian network, a chain of columns."""
    table = tables.categorical()
    states = table.schema.cardinalities.tolist()
    scopes = [(c, c - 1)[: c + 1] for c in range(len(states))]
    factors = (TableFactor(s, np.full([states[c] for c in s], -np.log(states[s[0]]))) for s in scopes)
    ask_everything(Circuit(compile_network(Network(table.schema, tuple(factors), "bayes"))), table)


def _score_components() -> None:
    """Score rows with and without missing cells under a mixture of components of one shape."""
    table = tables.categorical(0.1)
    circuit = _learn("continuous-mixture", table)
    program = shape_program(circuit.graph)
    if program is not None:
        shape_log_values(program, table.values, None)


def _fit(method: str) -> None:
    for name in ASKED:
        table = tables.categorical()
        try:
            fit_parameters(_learn(name, table), table, method, valid=table, random_state=0, iterations=2)
        except (ValueError, TypeError):  # a method that cannot work on this circuit, or has no iterations
            continue


def _write_and_read(suffix: str) -> None:
    table = tables.categorical()
    with TemporaryDirectory() as folder:
        for name in ("acmn", "chow-liu"):
            file = Path(folder) / f"{name}{suffix}"
            try:
                _learn(name, table).save(file)
                load(file)
            except ValueError:  # a suffix that can be read only or written only, or cannot hold a circuit
                continue


def _sample_network(name: str) -> None:
    table, sampling = tables.categorical(), Sampling(samples=20, seed=0)
    network = NETWORK_LEARNERS.make(name).learn(table, np.random.default_rng(0), valid=table)
    log_prob_of_rows(network, table.values)
    asked, given = parse_question("P(smoker=yes | age!='over 60')", network.schema)
    estimate_probability(network, asked, given, sampling)
    estimate_marginals(network, no_evidence(table), sampling)
    draw_rows(network, 3, no_evidence(table), sampling)


def _read_data() -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.data"
        file.write_text(DATA)
        read(file)


def _all_parts() -> Iterator[Part]:
    yield Part("tables", "collapse", lambda: collapse(tables.large()))
    yield Part("tables", ".data", _read_data)
    for name in ASKED:
        yield Part("questions", name, partial(_ask, name, tables.categorical))
    yield Part("questions", "numeric columns", partial(_ask, "naive-bayes", tables.mixed))
    yield Part("questions", "compiled network", _ask_network)
    yield Part("questions", "components of one shape", _score_components)
    yield Part("questions", "many columns", partial(_ask, "independent", tables.wide))
    for name in LEARNERS:
        yield Part("learners", name, partial(_learn_from_all, name))
    for name in CONDITIONAL:
        yield Part("conditional", name, partial(_learn_conditional, name))
    for name in METHODS:
        yield Part("methods", name, partial(_fit, name))
    for suffix in FORMATS:
        yield Part("formats", suffix, partial(_write_and_read, suffix))
    for name in NETWORK_LEARNERS:
        yield Part("networks", name, partial(_sample_network, name))


PARTS: tuple[Part, ...] = tuple(_all_parts())


def parts_of(names: list[str]) -> list[Part]:
    """The parts of these groups, or of these names; all parts if there are none.

    Raises:
        ValueError: naming what is unknown.
    """
    known = {word for part in PARTS for word in (part.group, part.name)}
    for name in names:
        if name not in known:
            groups = ", ".join(dict.fromkeys(part.group for part in PARTS))
            raise ValueError(f"there is no group '{name}' to warm up (groups: {groups})")
    return [part for part in PARTS if not names or {part.group, part.name} & set(names)]


# ---- the run of a warm-up, and what it found ------------------------------------------------------------


class WarmUp(NamedTuple):
    """What was compiled, and where it is kept."""

    parts: int  # that were used
    functions: int  # that were compiled; the others were in the cache already
    seconds: float
    cache: Path | None  # the folder of the cache; None if there is none that can be written


def warm_up(parts: Sequence[Part], watch: Watch | None = None) -> WarmUp:
    """Use parts of the package once each, so that later processes find everything they need compiled."""
    compiled: list[str] = []
    began = time.perf_counter()
    compile_at_once()
    done = 0
    with (
        watch or Watch() as watching,
        on_compile(lambda name: None if name is None else compiled.append(name)),
        parallel_config(n_jobs=1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # about the small tables
        for part in parts:
            watching.report(f"{part.group}: {part.name}", done, len(parts))
            if watching.should_stop():
                break
            part.run()
            done += 1
    return WarmUp(done, len(compiled), time.perf_counter() - began, cache_folder())
