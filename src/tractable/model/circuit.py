"""The circuit class of users, with its queries, transformations and files."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from tractable import circuit as transforms
from tractable import queries
from tractable.base.arrays import Bools, Floats
from tractable.circuit import Graph, Properties
from tractable.data import (
    Evidence,
    Region,
    Schema,
    State,
    Table,
    Unseen,
    Variable,
    as_table,
    frame_kind,
    parse_conditions,
    parse_evidence,
    to_frame,
    warn_of_unseen,
)
from tractable.data.output import ANY_KIND
from tractable.engine import log_values
from tractable.formats import Document, read_circuit, write_circuit
from tractable.queries import AnswerKind, Column, Columns, RandomState, Rows, seed_of

if TYPE_CHECKING:
    from tractable.queries import ColumnScore, Estimate
    from tractable.queries.information import InformationMethod
    from tractable.queries.mpe import MPEMethod
    from tractable.queries.sampling import Filling

Given: TypeAlias = Mapping[Any, object] | str | None  # {"age": "40-60"} or "age=40-60"


@dataclass(frozen=True, slots=True)
class MPE:
    """A most probable completion, its log-probability, and whether it is proved to be optimal.

    It is a log-density if the row has values of `real` or `datetime` columns.
    """

    row: dict[Any, State | date]
    log_prob: float
    exact: bool
    density_columns: tuple[str, ...] = ()  # the columns of the row whose values have densities

    @property
    def kind(self) -> AnswerKind:
        """The kind of `log_prob`: `"probability"` or `"density"`."""
        return "density" if self.density_columns else "probability"


@dataclass(frozen=True, slots=True, eq=False)
class Completions:
    """Most probable completions of rows as a frame, their log-probabilities, and which are proved optimal."""

    rows: Any
    log_prob: Floats
    exact: Bools
    is_density: Bools  # where `log_prob` is the logarithm of a density, because a value is real


class Circuit:
    """A probability distribution over the columns of a table with exact queries.

    Evidence is a dictionary, such as `{"smoker": "yes", "age": {"40-60", "60+"}, "height": (150, 180)}`, or a
    string, such as `"smoker=yes, height=[150, 180]"`. Rows may be any kind of table.
    """

    def __init__(self, graph: Graph, about: Mapping[str, Any] | None = None) -> None:
        self.graph = graph
        self.about = dict(about or {})

    @property
    def schema(self) -> Schema:
        """The columns, their kinds and states."""
        return self.graph.schema

    @property
    def columns(self) -> tuple[Any, ...]:
        """The column labels: names, or the labels of any type in the training frame."""
        return self.schema.headings

    @property
    def unseen_share(self) -> float | None:
        """The probability reserved for unseen states, or None."""
        share = self.about.get("unseen")
        return float(share) if isinstance(share, int | float) else None

    @property
    def properties(self) -> Properties:
        """Structural properties of the circuit (smooth, decomposable, deterministic, ...) and its size."""
        return transforms.properties(self.graph)

    def log_prob(self, rows: Any) -> Any:
        """log P(row) for each row; missing cells are summed out. Evidence is one row and gives a number.

        For a conditional model it is log P(targets | inputs). For a state that does not occur in the training
        rows, the logarithm of `unseen_share` is added. It may be a log-density: see `density_columns`.
        """
        if rows is None or is_evidence(rows, self.schema):
            evidence = self._evidence(rows)
            return float(queries.log_prob(self.graph, evidence.row[None, :], evidence.regions)[0])
        table = self._table(rows)
        if table.unseen is None:
            return queries.log_prob(self.graph, table.values)
        share = self._require_share()
        warn_of_unseen(table, f"each such cell counts log({share:.3g})")
        return queries.log_prob(self.graph, table.values) + table.unseen_cells * np.log(share)

    def prob(self, query: Given, given: Given = None) -> float:
        """P(query | given); a density if the query fixes a `real` or `datetime` column.

        A density may exceed one and depends on the unit of the column. An interval has a probability.
        """
        return float(np.exp(self.log_prob_of(query, given)))

    def log_prob_of(self, query: Given, given: Given = None) -> float:
        """log P(query | given); a log-density if `prob` is a density."""
        return queries.evidence_log_prob(self.graph, self._evidence(query), self._evidence(given))

    def log_conditional(self, rows: Any, given: Hashable | Iterable[Hashable]) -> Floats:
        """log P(other columns | columns `given`) for each row."""
        return queries.log_conditional(self.graph, self._values(rows), self._columns(given))

    @property
    def density_columns(self) -> tuple[str, ...]:
        """The columns whose values have densities instead of probabilities: `real` and `datetime` columns.

        Log-likelihoods of rows are then log-densities, which are comparable only for equal columns and units.
        """
        return tuple(v.name for v in self.schema if queries.has_density(v))

    def score(self, rows: Any, sample_weight: Any = None) -> float:
        """The mean log-probability (or log-density) of weighted rows, in nats; missing cells are summed out.

        Raises:
            ValueError: if all weights are zero.
        """
        table = _weighed(self._table(rows), sample_weight)
        if not table.total_weight:
            raise ValueError("the rows have no weight")
        return queries.weighted_mean(self.log_prob(table), table.row_weights)

    def column_scores(self, rows: Any, sample_weight: Any = None) -> "dict[str, ColumnScore]":
        """Mean log-probabilities of each column over the rows in which it has a value, in nats.

        `given_rest` is the mean of log P(value | all other columns), whose sum over all columns is the log
        pseudo-likelihood of the rows. `alone` is the mean of log P(value). Their difference is the
        information that the other columns provide about the column.

        Raises:
            ValueError: if a row has probability zero without one of its cells.
        """
        table = _weighed(self._table(rows), sample_weight)
        warn_of_unseen(table, "such a cell counts as missing")
        return queries.column_scores(self.graph, table)

    def marginals(
        self, given: Any = None, rows: Any = None, *, columns: str | Iterable[str] | None = None
    ) -> dict[Any, Any]:
        """The posterior of every column (every target, if there are inputs): `{column: {state: p}}`.

        Computing only some `columns` is faster. A numeric column has `{"mean": ..., "std": ...}` instead; the
        mean of dates is a date, and their standard deviation is in days, that of times in seconds. With rows
        each column has an array (rows, states) or, if it is numeric, (rows, 2) with mean and standard
        deviation.
        """
        given, rows = evidence_or_rows(given, rows, self.schema)
        values, regions = self._coded_rows(given, rows)
        if columns is None:
            chosen = self.schema.targets.tolist()
            every = queries.marginals(self.graph, values, regions)
            posteriors = [every[c] for c in chosen]
        else:
            chosen = self._columns(columns)
            posteriors = queries.some_marginals(self.graph, chosen, values, regions)
        answers = {self.schema[c]: posterior for c, posterior in zip(chosen, posteriors, strict=True)}
        if rows is not None:
            return {variable.heading: posterior for variable, posterior in answers.items()}
        return {
            v.heading: dict(zip(_labels(v), _described(v, posterior[0]), strict=True))
            for v, posterior in answers.items()
        }

    def joint_marginal(
        self, columns: Hashable | Iterable[Hashable], given: Any = None, rows: Any = None
    ) -> Floats:
        """P(columns | given) for every combination of their states, with one axis per column.

        With rows there is one such table for each row, along the first axis.
        """
        given, rows = evidence_or_rows(given, rows, self.schema)
        chosen = self._columns(columns)
        if rows is not None:
            return queries.joint_marginals(self.graph, chosen, self._values(rows))
        return queries.joint_marginal(self.graph, chosen, self._evidence(given))

    def mpe(
        self,
        given: Any = None,
        rows: Any = None,
        *,
        columns: Hashable | Iterable[Hashable] | None = None,
        method: "MPEMethod" = "auto",
        random_state: RandomState = 0,
    ) -> Any:
        """The most probable completion of evidence, its log-probability, and whether it is exact.

        With `columns` only these are completed, and the others are summed out. With rows there is one
        completion per row.
        """
        given, rows = evidence_or_rows(given, rows, self.schema)
        table = None if rows is None else self._known(rows)
        values, regions = self._coded_rows(given, table)
        chosen = None if columns is None else self._columns(columns)
        completion = queries.most_probable(
            self.graph, values, regions, columns=chosen, method=method, seed=seed_of(random_state)
        )
        log_prob = queries.log_prob(self.graph, completion.rows, regions)
        if table is not None:
            is_density: Bools = np.any(~np.isnan(completion.rows) & queries.density_mask(self.schema), axis=1)
            return Completions(
                self._completed(rows, table, completion.rows), log_prob, completion.exact, is_density
            )
        cells = zip(self.schema, completion.rows[0], strict=True)
        row = {v.heading: v.label(x) for v, x in cells if not np.isnan(x)}
        real = queries.density_columns(self.schema, completion.rows)
        return MPE(
            row, float(log_prob[0]), bool(completion.exact[0]), tuple(self.schema[c].name for c in real)
        )

    def sample(
        self, count: int = 1, given: Any = None, rows: Any = None, *, random_state: RandomState = None
    ) -> Any:
        """Rows sampled given evidence, as a frame of the type that the model was fitted on.

        With rows, `count` samples of the missing cells of each, row after row.
        """
        given, rows = evidence_or_rows(given, rows, self.schema)
        if rows is not None:
            drawn = queries.sample_rows(self.graph, self._values(rows), count, seed_of(random_state))
            return self._frame(drawn, rows)
        return self._frame(queries.sample(self.graph, count, self._evidence(given), seed_of(random_state)))

    def impute(self, rows: Any, method: "Filling" = "mpe", *, random_state: RandomState = None) -> Any:
        """The rows with their missing cells imputed by `mpe`, `mean` or `sample`.

        Unknown states and columns, and the order and types of columns, are preserved. New columns come last.
        """
        table = self._known(rows)
        values = queries.impute(self.graph, table.values, method=method, seed=seed_of(random_state))
        return self._completed(rows, table, values)

    def expectation(self, column: Hashable, given: Given = None) -> Any:
        """The mean of a column given evidence; the mean of dates is a date."""
        place = self.schema.column(column)
        mean = queries.moments(self.graph, place, self._evidence(given)).mean
        return self.schema[place].label(mean) if self.schema[place].is_time else mean

    def variance(self, column: Hashable, given: Given = None) -> float:
        """The variance of a column given evidence."""
        return queries.moments(self.graph, self.schema.column(column), self._evidence(given)).variance

    def entropy(
        self,
        columns: Hashable | Iterable[Hashable] | None = None,
        given: Given = None,
        *,
        method: "InformationMethod" = "exact",
        random_state: RandomState = 0,
    ) -> "Estimate":
        """The joint entropy of columns (by default all targets) given evidence, in nats."""
        return self._ask("entropy", given, columns, method, random_state)

    def mutual_information(
        self,
        one: Hashable | Iterable[Hashable],
        other: Hashable | Iterable[Hashable],
        given: Given = None,
        *,
        method: "InformationMethod" = "exact",
        random_state: RandomState = 0,
    ) -> "Estimate":
        """The mutual information of two columns or groups of columns given evidence, in nats."""
        return self._ask("mutual_information", one, other, given, method, random_state)

    def divergence(
        self, other: "Circuit", *, method: "InformationMethod" = "exact", random_state: RandomState = 0
    ) -> "Estimate":
        """The Kullback-Leibler divergence to another circuit over the same columns, in nats."""
        return self._ask("divergence", other, method, random_state)

    def condition(self, given: Given) -> "Circuit":
        """The conditional distribution of the other columns given evidence, as a circuit.

        A conditional model may be conditioned on some of its inputs.
        """
        evidence = self._evidence(given)
        queries.require_inputs(self.graph, evidence.regions)
        far_out = False
        if not np.isnan(evidence.row[self.schema.inputs]).any():
            log_evidence = log_values(self.graph, evidence.row[None, :], evidence.regions)
            queries.require_possible(log_evidence)
            far_out = bool(abs(log_evidence[0]) > queries.FAR_OUT) and not self.schema.is_given.any()
        rest = transforms.condition(self.graph, evidence.row, evidence.regions, normalised=far_out)
        return Circuit(rest, self._inherited_provenance())

    def conditional_on(self, columns: Hashable | Iterable[Hashable]) -> "Circuit":
        """A model of all other columns given these, which become inputs.

        Unlike `condition`, it does not fix their values: each query must provide them.
        """
        schema = self.schema.with_inputs(self._columns(columns))
        return Circuit(replace(self.graph, schema=schema), self.about)

    def marginalise(self, columns: Hashable | Iterable[Hashable]) -> "Circuit":
        """The marginal distribution without some columns, as a circuit."""
        out = set(self._columns(columns))
        keep = [c for c in range(len(self.schema)) if c not in out]
        return Circuit(transforms.marginalise(self.graph, keep), self._inherited_provenance())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the circuit to a file; the suffix selects the format."""
        write_circuit(Document(self.graph, self.about), path)

    def __repr__(self) -> str:
        size = f"{self.graph.nodes:,} nodes, {self.graph.edges:,} edges"
        return f"<Circuit over {len(self.schema)} columns, {size}>"

    def _repr_html_(self) -> str:
        from tractable.formats.pictures import svg_text

        return svg_text(self.graph)

    if not TYPE_CHECKING:  # which would take any name for a query then

        def __getattr__(self, name: str) -> Any:
            """A registered query that has no method written out here."""
            if name not in queries.QUERIES:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            return partial(self._ask, name)

    def _ask(self, query: str, *values: Any, **named: Any) -> Any:
        """The answer of a registered query to what a user wrote."""
        column, several = self.schema.column, self._columns
        coding = {Evidence: self._evidence, Column: column, Columns: several, Rows: self._values}
        return queries.ask(self.graph, query, coding, *values, **named)

    def _evidence(self, given: Given) -> Evidence:
        return as_evidence(given, self.schema)

    def _coded_rows(self, given: Given, rows: Any) -> tuple[Floats, dict[int, Region]]:
        """Coded rows, or a coded row of evidence and the regions of its missing cells."""
        if rows is not None:
            return self._values(rows), {}
        evidence = self._evidence(given)
        return evidence.row[None, :], evidence.regions

    def _columns(self, names: Any) -> list[int]:
        """The distinct positions of columns; a string or any single label stands for one column."""
        if names is None:
            return self.schema.targets.tolist()
        known = isinstance(names, Hashable) and names in self.schema.headings  # a tuple may be a label
        several = isinstance(names, Iterable) and not isinstance(names, str) and not known
        chosen: Iterable[Any] = cast("Iterable[Any]", names) if several else [names]
        return list(dict.fromkeys(self.schema.columns(chosen)))

    def _table(self, rows: Any) -> Table:
        unseen: Unseen = "error" if self.unseen_share is None else "missing"
        return rows_table(rows, self.schema, unseen)

    def _values(self, rows: Any) -> Floats:
        return self._known(rows).values

    def _known(self, rows: Any) -> Table:
        """The rows as a table, in which unknown states are missing."""
        table = self._table(rows)
        warn_of_unseen(table, "such a cell counts as missing")
        return table

    def _require_share(self) -> float:
        if self.unseen_share is None:
            raise ValueError(
                "the table has states that the model does not know, and no probability is reserved for them"
            )
        return self.unseen_share

    def _completed(self, rows: Any, table: Table, values: Floats) -> Any:
        """The original rows, with values in place of their missing cells."""
        from tractable.data import fill_cells  # which a query does not need

        return fill_cells(rows, table, values, self.about.get("frame", ANY_KIND), narrow=True)

    def _frame(self, values: Floats, like: Any = None) -> Any:
        kind = ANY_KIND if like is None else frame_kind(like)
        return to_frame(values, self.schema, like=self.about.get("frame", kind) if kind == ANY_KIND else kind)

    def _inherited_provenance(self) -> dict[str, Any]:
        """The provenance of a circuit derived from this one, without the record of learning."""
        return {key: self.about[key] for key in ("frame", "unseen") if key in self.about}


def as_evidence(given: Given, schema: Schema) -> Evidence:
    """The evidence in a dictionary of columns or in a string; None is no evidence.

    Raises:
        ValueError: naming the part that is invalid.
    """
    if isinstance(given, str):
        return parse_conditions(given, schema)
    if given is None or isinstance(given, Mapping):
        return parse_evidence(given, schema)
    raise ValueError(f"evidence must be a dictionary of columns or a string, not a {type(given).__name__}")


def is_evidence(given: object, schema: Schema) -> bool:
    """Whether an argument is a string or a dictionary of single values, rather than of whole columns."""
    return isinstance(given, str) or (isinstance(given, Mapping) and not _holds_columns(given, schema))


def evidence_or_rows(given: Any, rows: Any, schema: Schema) -> tuple[Given, Any]:
    """The evidence and the rows, one of which is None; rows may be passed in place of evidence.

    Raises:
        ValueError: if both are given.
    """
    if rows is None:
        return (given, None) if given is None or is_evidence(given, schema) else (None, given)
    if given is not None:
        raise ValueError("pass either evidence or rows, not both: the cells of each row are its evidence")
    return None, rows


def rows_table(rows: Any, schema: Schema, unseen: Unseen = "error") -> Table:
    """Rows of any type, coded with a schema; keys that a dictionary of a row lacks are missing cells."""
    if not isinstance(rows, list | tuple):
        return as_table(rows, schema, unseen=unseen)
    if not rows:
        return Table(schema, np.empty((0, len(schema))))
    return as_table(rows, schema, absent="ignore", unseen=unseen)


def load(path: str | PathLike[str]) -> Circuit:
    """The circuit in a file, whose suffix determines the format. Loading never runs code."""
    document = read_circuit(path)
    return Circuit(document.graph, document.about)


def mixture(circuits: Sequence[Circuit], weights: Sequence[float] | None = None) -> Circuit:
    """A weighted mixture of circuits over the same columns; by default with equal weights."""
    graphs = [circuit.graph for circuit in circuits]
    return Circuit(transforms.mixture(graphs, weights), circuits[0]._inherited_provenance())


def product(circuits: Sequence[Circuit]) -> Circuit:
    """The product of circuits over different columns, which are independent in it."""
    return Circuit(transforms.product([c.graph for c in circuits]), circuits[0]._inherited_provenance())


def _holds_columns(given: Mapping[Any, object], schema: Schema) -> bool:
    """Whether a dictionary holds whole columns: arrays, series, or lists of equal length for all columns."""
    cells = list(given.values())
    if any(hasattr(x, "__array__") and np.ndim(x) == 1 for x in cells):
        return True
    lengths = {len(x) if isinstance(x, list) else -1 for x in cells}
    return len(lengths) == 1 and -1 not in lengths and set(map(str, given)) == set(schema.names)


def _labels(variable: Variable) -> tuple[State, ...]:
    """The labels of the numbers that describe the distribution of a column."""
    return variable.states if variable.is_categorical else ("mean", "std")


def _described(variable: Variable, posterior: Floats) -> list[Any]:
    """The numbers that describe the distribution of a column; the mean of dates as a date."""
    numbers: list[Any] = posterior.tolist()
    return [variable.label(numbers[0]), numbers[1]] if variable.is_time else numbers


def _weighed(table: Table, sample_weight: Any) -> Table:
    return table if sample_weight is None else replace(table, weights=np.asarray(sample_weight, np.float64))
