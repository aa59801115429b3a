"""What users hold: a circuit with its questions, a thin face over the rooms above."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from tractable import circuit as transforms
from tractable import queries
from tractable.arrays import Floats
from tractable.circuit import Graph, Properties
from tractable.data import Evidence, Schema, Table, as_table, parse_conditions, parse_evidence, to_frame
from tractable.data.schema import State
from tractable.formats import Document, read_circuit, svg_text, write_circuit
from tractable.queries import Estimate
from tractable.queries.information import Method as InformationMethod
from tractable.queries.mpe import Method as MPEMethod
from tractable.queries.sampling import Filling

Given: TypeAlias = Mapping[str, object] | str | None  # {"age": "40-60"} or "age=40-60"


@dataclass(frozen=True, slots=True)
class MPE:
    """A most probable completion, the logarithm of its probability, and whether nothing is more probable."""

    row: dict[str, State]
    log_prob: float
    exact: bool


@dataclass(frozen=True, slots=True, eq=False)
class Completions:
    """Most probable completions of many rows: a frame, log-probabilities, and which are proved best."""

    rows: Any
    log_prob: Floats
    exact: np.ndarray[Any, np.dtype[np.bool_]]


class Circuit:
    """A probability distribution over the columns of a table, which answers any question about them exactly.

    Evidence is a dictionary of column names (`{"smoker": "yes", "age": {"40-60", "60+"}, "height": (150, 180)}`) or the
    same as text (`"smoker=yes, height=[150, 180]"`). Rows are anything that a table can be made of.
    """

    def __init__(self, graph: Graph, about: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.about = dict(about or {})

    @property
    def schema(self) -> Schema:
        """The columns, their kinds and states."""
        return self.graph.schema

    @property
    def properties(self) -> Properties:
        """What holds of the circuit (smooth, decomposable, deterministic, ...) and how large it is."""
        return transforms.properties(self.graph)

    def log_prob(self, rows: Any) -> Any:
        """log P(row), one a row; a missing cell is summed out. A dictionary is one row and gives one number."""
        if isinstance(rows, Mapping | str) and not _is_columns(rows):
            evidence = self._evidence(rows)
            return float(queries.log_prob(self.graph, evidence.row[None, :], evidence.regions)[0])
        return queries.log_prob(self.graph, self._values(rows))

    def prob(self, query: Given, given: Given = None) -> float:
        """P(query | given), one number."""
        return float(np.exp(self.log_prob_of(query, given)))

    def log_prob_of(self, query: Given, given: Given = None) -> float:
        """log P(query | given), one number."""
        return queries.evidence_log_prob(self.graph, self._evidence(query), self._evidence(given))

    def log_conditional(self, rows: Any, given: Iterable[str]) -> Floats:
        """log P(other columns | the columns `given`), one a row."""
        return queries.log_conditional(self.graph, self._values(rows), self.schema.columns(given))

    def marginals(self, given: Any = None, rows: Any = None) -> dict[str, Any]:
        """Every column's posterior: `{column: {state: probability}}`, of a number `{"mean": ..., "std": ...}`.

        With rows: one array a column, (rows, states), of a number (rows, 2) with mean and standard deviation.
        """
        if rows is not None:
            found = queries.marginals(self.graph, self._values(rows))
            return {v.name: p if v.is_categorical else _mean_and_std(p) for v, p in zip(self.schema, found, strict=True)}
        evidence = self._evidence(given)
        found = queries.marginals(self.graph, evidence.row[None, :], evidence.regions)
        answer: dict[str, Any] = {}
        for variable, posterior in zip(self.schema, found, strict=True):
            if variable.is_categorical:
                answer[variable.name] = dict(zip(variable.states, posterior[0].tolist(), strict=True))
            else:
                mean, std = _mean_and_std(posterior)[0].tolist()
                answer[variable.name] = {"mean": mean, "std": std}
        return answer

    def joint_marginal(self, columns: Sequence[str], given: Given = None) -> Floats:
        """P(columns | given) for every combination of their states, an axis a column."""
        return queries.joint_marginal(self.graph, self.schema.columns(columns), self._evidence(given))

    def mpe(
        self,
        given: Given = None,
        rows: Any = None,
        *,
        columns: Iterable[str] | None = None,
        method: MPEMethod = "auto",
        random_state: int = 0,
    ) -> Any:
        """The most probable completion of what is given, its log-probability, and whether it is exact.

        With `columns` only those are completed and the others summed out. With rows: one completion a row.
        """
        evidence = self._evidence(given)
        values = evidence.row[None, :] if rows is None else self._values(rows)
        chosen = None if columns is None else self.schema.columns(columns)
        found = queries.most_probable(
            self.graph, values, evidence.regions, columns=chosen, method=method, seed=random_state
        )
        log_prob = found.log_value - queries.log_normaliser(self.graph)
        if rows is not None:
            return Completions(self._frame(found.rows), log_prob, found.exact)
        row = {v.name: v.label(x) for v, x in zip(self.schema, found.rows[0], strict=True) if not np.isnan(x)}
        return MPE(row, float(log_prob[0]), bool(found.exact[0]))

    def sample(self, count: int = 1, given: Given = None, *, random_state: int | None = None) -> Any:
        """Rows drawn given evidence, as a frame of the kind that the model was fitted on."""
        return self._frame(queries.sample(self.graph, count, self._evidence(given), _seed(random_state)))

    def impute(self, rows: Any, method: Filling = "mpe", *, random_state: int | None = None) -> Any:
        """The rows with their missing cells filled: `mpe`, `mean` or `sample`."""
        return self._frame(
            queries.impute(self.graph, self._values(rows), method=method, seed=_seed(random_state)), rows
        )

    def expectation(self, column: str, given: Given = None) -> float:
        """The mean of a column given evidence."""
        return queries.moments(self.graph, self.schema.column(column), self._evidence(given)).mean

    def variance(self, column: str, given: Given = None) -> float:
        """The variance of a column given evidence."""
        return queries.moments(self.graph, self.schema.column(column), self._evidence(given)).variance

    def entropy(
        self,
        columns: Iterable[str] | None = None,
        given: Given = None,
        *,
        method: InformationMethod = "exact",
        random_state: int = 0,
    ) -> Estimate:
        """The entropy of some columns (all, unless named) given evidence, in nats."""
        chosen = range(len(self.schema)) if columns is None else self.schema.columns(columns)
        return queries.entropy(self.graph, self._evidence(given), chosen, method, random_state)

    def mutual_information(
        self,
        one: str | Iterable[str],
        other: str | Iterable[str],
        given: Given = None,
        *,
        method: InformationMethod = "exact",
        random_state: int = 0,
    ) -> Estimate:
        """How much two columns, or groups of columns, tell about each other given evidence, in nats."""
        first, second = (self.schema.columns([x] if isinstance(x, str) else x) for x in (one, other))
        return queries.mutual_information(self.graph, first, second, self._evidence(given), method, random_state)

    def divergence(self, other: "Circuit", *, method: InformationMethod = "exact", random_state: int = 0) -> Estimate:
        """The Kullback-Leibler divergence to another circuit over the same columns, in nats."""
        return queries.divergence(self.graph, other.graph, method, random_state)

    def condition(self, given: Given) -> "Circuit":
        """The distribution of the other columns given evidence, as a circuit."""
        evidence = self._evidence(given)
        return Circuit(transforms.condition(self.graph, evidence.row, evidence.regions), self._heritage())

    def marginalise(self, columns: Iterable[str]) -> "Circuit":
        """The distribution without some columns, as a circuit."""
        out = set(self.schema.columns(columns))
        keep = [c for c in range(len(self.schema)) if c not in out]
        return Circuit(transforms.marginalise(self.graph, keep), self._heritage())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the circuit to a file; the suffix chooses the format."""
        write_circuit(Document(self.graph, self.about), path)

    def __repr__(self) -> str:
        return f"<Circuit over {len(self.schema)} columns, {self.graph.nodes:,} nodes, {self.graph.edges:,} edges>"

    def _repr_html_(self) -> str:
        return svg_text(self.graph)

    def _evidence(self, given: Given) -> Evidence:
        return parse_conditions(given, self.schema) if isinstance(given, str) else parse_evidence(given, self.schema)

    def _values(self, rows: Any) -> Floats:
        return rows_table(rows, self.schema).values

    def _frame(self, values: Floats, like: Any = None) -> Any:
        from tractable.data import frame_kind

        kind = self.about.get("frame", "any") if like is None or isinstance(like, Table) else frame_kind(like)
        return to_frame(values, self.schema, like=kind)

    def _heritage(self) -> dict[str, Any]:
        return {key: self.about[key] for key in ("frame",) if key in self.about}


def rows_table(rows: Any, schema: Schema) -> Table:
    """Rows of any form, coded against a model's schema."""
    return as_table(rows, schema)


def load(path: str | PathLike[str]) -> Circuit:
    """The circuit of a file; the suffix says what it holds. Loading never runs code and checks everything."""
    document = read_circuit(path)
    return Circuit(document.graph, document.about)


def mixture(circuits: Sequence[Circuit], weights: Sequence[float] | None = None) -> Circuit:
    """A weighted mixture of circuits over the same columns; even weights unless given."""
    return Circuit(transforms.mixture([c.graph for c in circuits], weights), circuits[0]._heritage() if circuits else {})


def product(circuits: Sequence[Circuit]) -> Circuit:
    """Circuits over different columns as one, in which they are independent."""
    return Circuit(transforms.product([c.graph for c in circuits]), circuits[0]._heritage() if circuits else {})


def _is_columns(rows: Any) -> bool:
    """Whether a dictionary holds whole columns rather than one row's values."""
    return isinstance(rows, Mapping) and any(isinstance(v, np.ndarray) and v.ndim == 1 for v in rows.values())


def _mean_and_std(posterior: Floats) -> Floats:
    """Means and standard deviations from the expectations of values and of their squares. Shape (rows, 2)."""
    spread = np.sqrt(np.maximum(posterior[:, 1] - posterior[:, 0] ** 2, 0.0))
    return np.stack([posterior[:, 0], spread], axis=1)


def _seed(random_state: int | None) -> int:
    return int(np.random.default_rng(random_state).integers(2**63))
