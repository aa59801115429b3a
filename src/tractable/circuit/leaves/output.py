"""A factor that a network computes from the inputs of a row."""

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Protocol, final

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.circuit.leaves.factor import Factor
from tractable.circuit.leaves.perceptron import Committee
from tractable.data.regions import Region
from tractable.data.schema import Schema, Variable

if TYPE_CHECKING:
    from tractable.base.progress import State

# The kinds of networks that files and checkpoints keep, and where they are defined. They are imported when
# they are met: a network may itself be made of circuits, which this room knows nothing about.
KINDS = {
    Committee.kind: ("tractable.circuit.leaves.perceptron", "Committee"),
    "feature-circuits": ("tractable.engine.feature_circuits", "FeatureCircuits"),
}


class Network(Protocol):
    """Numbers above zero from the inputs of a row: a `Committee` of perceptrons, or what is like one."""

    kind: ClassVar[str]  # its name in `KINDS`, or another one if it cannot be saved

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""

    @property
    def states(self) -> tuple[int, ...]:
        """The number of states of each column, zero for a numeric one."""

    @property
    def outputs(self) -> int:
        """How many numbers it gives."""

    @property
    def parameters(self) -> int:
        """The number of its parameters."""

    def places(self, schema: Schema) -> Ints:
        """Where its columns are in a schema."""

    def log_outputs(self, cells: Floats) -> Floats:
        """The logarithms of the outputs for the cells of its columns. Shape (rows, outputs)."""

    def state(self) -> "State":
        """What checkpoints keep of it.

        Raises:
            ValueError: if it cannot be written down.
        """


def network_state(network: Network) -> "State":
    """A network as a state of a checkpoint.

    Raises:
        ValueError: if it cannot be written down.
    """
    return [network.kind, network.state()]


def network_from_state(state: "State") -> Network:
    """The network that `network_state` has described."""
    kind, inner = state
    module, class_name = KINDS[kind]
    network: Network = getattr(import_module(module), class_name).from_state(inner)
    return network


@final
class NetworkOutput(Factor):
    """An output of a network, above zero; the parameter says which. All leaves of a block share the network.

    The network reads several inputs. A leaf counts for the first of them.
    """

    name: ClassVar[str] = "network-output"
    arrives_with_row: ClassVar[bool] = True
    reads_row: ClassVar[bool] = True

    def __init__(self, network: Network) -> None:
        self.network = network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetworkOutput) and self.network is other.network

    def __hash__(self) -> int:
        return id(self.network)

    def accepts(self, variable: Variable) -> bool:
        """Whether the column is the first that the network reads, and an input."""
        return variable.role == "input" and variable.name == self.network.columns[0]

    def width(self, variable: Variable) -> int:
        """One: the number of the output."""
        return 1

    def check(self, params: Floats, variable: Variable) -> str | None:
        """A complaint unless each parameter is the number of an output."""
        if params.shape[1] != 1:
            return f"{params.shape[1]} parameters, not the number of an output"
        fine = (params >= 0) & (params < self.network.outputs) & (params == np.floor(params))
        return None if fine.all() else f"the network has {self.network.outputs} outputs"

    def check_schema(self, schema: Schema) -> str | None:
        """A complaint unless the columns that the network reads are inputs with as many states."""
        for name, states in zip(self.network.columns, self.network.states, strict=True):
            if name not in schema.names:
                return f"the network reads column '{name}', which the circuit does not have"
            variable = schema[schema.column(name)]
            if variable.role != "input" or variable.cardinality != states:
                return f"the network reads column '{name}' as an input of {states} states, which it is not"
        return None

    def fit(self, x: Floats, weight: Floats, variable: Variable, smoothing: float) -> Floats:
        """The first output: which one it is does not depend on data."""
        return np.zeros((len(weight), 1))

    def committee(self) -> Committee:
        """The network as plain layers.

        Raises:
            ValueError: if it is none of those that are known here.
        """
        if not isinstance(self.network, Committee):
            raise ValueError(
                f"the circuit has a network of the kind {self.network.kind}, which cannot be written down as"
                " plain layers"
            )
        return self.network

    def describe(self, params: list[float], variable: Variable) -> str:
        """The number of the output."""
        return f"network output {int(params[0])}"

    def row_log_values(self, params: Floats, rows: Floats, schema: Schema) -> Floats:
        """The logarithm of each leaf's value for whole rows. Shape (leaves, rows)."""
        outputs = self.network.log_outputs(rows[:, self.network.places(schema)])
        return np.ascontiguousarray(outputs.T[params[:, 0].astype(np.int64)])

    def log_prob(self, params: Floats, x: Floats) -> Floats:
        """Never asked: one cell says too little.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("a network reads whole rows: see row_log_values")

    def log_mass(self, params: Floats, region: Region) -> Floats:
        """Zero: a factor of one, for an input is no random variable."""
        return np.zeros(len(params))
