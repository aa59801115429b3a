"""Multilayer perceptrons over columns of a table as plain arrays, evaluated by numpy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tractable.base.arrays import Floats, Ints
from tractable.base.named_arrays import NamedArrays, require_array, require_names, split_below, with_prefix
from tractable.data.schema import Schema

OPERATORS = ("sigmoid", "exp", "softplus", "relu", "tanh", "log")
BIASED_SIGMOID = "biased-sigmoid"
BIAS = 1e-3  # of the biased sigmoid: what keeps its value, a potential, above zero
COS = "cos"  # of random Fourier features; a generalised circuit has no such operator
LAYER_OPERATORS = ("identity", *OPERATORS, BIASED_SIGMOID, COS)


@dataclass(frozen=True, eq=False)
class Layer:
    """An affine map and an operator on each of its results."""

    weight: Floats  # (outputs, inputs)
    bias: Floats  # (outputs,)
    operator: str = "identity"

    def __post_init__(self) -> None:
        if self.operator not in LAYER_OPERATORS:
            raise ValueError(f"there is no operator '{self.operator}' of a layer")
        if self.weight.ndim != 2 or self.bias.shape != self.weight.shape[:1]:
            raise ValueError(
                f"a layer with weights of shape {self.weight.shape} has biases of shape {self.bias.shape}"
            )
        if not (np.isfinite(self.weight).all() and np.isfinite(self.bias).all()):
            raise ValueError("a weight or a bias of a layer is not finite")


@dataclass(frozen=True, eq=False)
class Perceptron:
    """Layers over some columns of a table; a categorical column enters as one indicator for each state."""

    columns: tuple[str, ...]  # the names of the columns that it reads
    states: tuple[int, ...]  # the number of states of each, zero for a numeric column
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        width = self.width
        for number, layer in enumerate(self.layers):
            if layer.weight.shape[1] != width:
                raise ValueError(f"layer {number} expects {layer.weight.shape[1]} inputs, not {width}")
            width = len(layer.bias)
        if not self.layers or len(self.columns) != len(self.states):
            raise ValueError("a perceptron must have at least one layer, and states for each column")

    @property
    def width(self) -> int:
        """How many numbers the first layer takes."""
        return sum(max(k, 1) for k in self.states)

    @property
    def outputs(self) -> int:
        """How many numbers the last layer gives."""
        return len(self.layers[-1].bias)

    @cached_property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return sum(layer.weight.size + layer.bias.size for layer in self.layers)

    def __call__(self, cells: Floats) -> Floats:
        """The outputs for the cells of its columns, coded as in a table. (rows, outputs)."""
        return evaluate_layers(self.layers, one_hot(cells, self.states))

    def places(self, schema: Schema) -> Ints:
        """Where its columns are in a schema."""
        return np.array(schema.columns(self.columns), dtype=np.int64)

    @property
    def plain(self) -> dict[str, Any]:
        """Everything but the weights and biases, as plain values."""
        operators = [layer.operator for layer in self.layers]
        return {"columns": list(self.columns), "states": list(self.states), "operators": operators}

    @property
    def arrays(self) -> NamedArrays:
        """The weights and biases by name."""
        names = ("weight", "bias")
        return {f"{k}.{name}": getattr(layer, name) for k, layer in enumerate(self.layers) for name in names}

    @classmethod
    def decode(cls, plain: Mapping[str, Any], arrays: NamedArrays) -> Self:
        """The perceptron that `plain` and `arrays` have described.

        Raises:
            ValueError: naming the array that is wrong.
        """
        operators = plain["operators"]
        require_names(arrays, {f"{k}.{name}" for k in range(len(operators)) for name in ("weight", "bias")})
        layers = tuple(
            Layer(
                require_array(arrays, f"{k}.weight", np.float64, 2),
                require_array(arrays, f"{k}.bias", np.float64, 1),
                operator,
            )
            for k, operator in enumerate(operators)
        )
        return cls(tuple(plain["columns"]), tuple(plain["states"]), layers)


@dataclass(frozen=True, eq=False)
class Committee:
    """Perceptrons over common columns, whose outputs are averaged geometrically."""

    kind: ClassVar[str] = "committee"
    members: tuple[Perceptron, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("a committee must have at least one member")
        kinds = {
            (m.columns, m.states, m.outputs, tuple(la.operator for la in m.layers)) for m in self.members
        }
        if len(kinds) > 1:
            raise ValueError("the members of a committee have different columns, outputs or operators")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""
        return self.members[0].columns

    @property
    def states(self) -> tuple[int, ...]:
        """The number of states of each column, zero for a numeric one."""
        return self.members[0].states

    @property
    def outputs(self) -> int:
        """How many numbers it gives."""
        return self.members[0].outputs

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return sum(member.parameters for member in self.members)

    def log_outputs(self, cells: Floats) -> Floats:
        """The logarithms of the outputs for the cells of its columns. Shape (rows, outputs).

        Raises:
            ValueError: if an output is negative, or too large for a number.
        """
        x = one_hot(cells, self.states)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [np.log(evaluate_layers(member.layers, x)) for member in self.members]
        mean = np.asarray(np.mean(logs, axis=0))
        for row, output in np.argwhere(~(mean < np.inf)).tolist():
            raise ValueError(f"row {row}: output {output} of a network is negative or too large for a number")
        return mean

    def encode(self) -> tuple[dict[str, Any], NamedArrays]:
        """The committee as plain values and arrays."""
        arrays: NamedArrays = {}
        for number, member in enumerate(self.members):
            arrays |= with_prefix(f"{number}.", member.arrays)
        return self.members[0].plain | {"members": len(self.members)}, arrays

    @classmethod
    def decode(cls, plain: Mapping[str, Any], arrays: NamedArrays) -> Self:
        """The committee that `encode` has described.

        Raises:
            ValueError: naming the array that is wrong.
        """
        members, rest = split_below(arrays, [f"{number}." for number in range(plain["members"])])
        require_names(rest, set())
        return cls(tuple(Perceptron.decode(plain, inside) for inside in members))


def one_hot(cells: Floats, states: Sequence[int]) -> Floats:
    """Numbers as they are, and an indicator for each state of a categorical column. (rows, width)."""
    parts = [
        cells[:, [i]] if not k else (cells[:, [i]] == np.arange(k)).astype(np.float64)
        for i, k in enumerate(states)
    ]
    return np.concatenate([np.zeros((len(cells), 0)), *parts], axis=1)


def evaluate_layers(layers: Sequence[Layer], x: Floats) -> Floats:
    """The outputs of layers for rows of numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in layers:
            x = apply_operator(layer.operator, x @ layer.weight.T + layer.bias)
    return x


def apply_operator(name: str, x: Floats) -> Floats:
    """The value of an operator for each number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return _FUNCTIONS[name](x)


def _sigmoid(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-x))


_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "sigmoid": _sigmoid,
    "exp": np.exp,
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "log": np.log,
    BIASED_SIGMOID: lambda x: BIAS + _sigmoid(x),
    COS: np.cos,
}


def layers_of(module: Any) -> tuple[Layer, ...]:
    """The layers of a `torch.nn.Sequential` of linear layers and of operators that there are here.

    Dropout, which does nothing once a network is trained, is left out.

    Raises:
        ValueError: naming the first part that is neither.
    """
    known = {
        "Identity": "identity", "Sigmoid": "sigmoid", "Softplus": "softplus", "ReLU": "relu", "Tanh": "tanh",
        "BiasedSigmoid": BIASED_SIGMOID, "Exp": "exp", "Log": "log",
    }  # fmt: skip
    layers: list[Layer] = []
    for part in module:
        name = type(part).__name__
        if name == "Linear":
            weight = part.weight.detach().double().cpu().numpy()
            bias = np.zeros(len(weight)) if part.bias is None else part.bias.detach().double().cpu().numpy()
            layers.append(Layer(weight.copy(), bias.copy()))
        elif name in known and not _has_options(part):
            width = len(layers[-1].bias) if layers else 0
            if not layers or layers[-1].operator != "identity":
                if not width:
                    raise ValueError("the network begins with an operator and not with a linear layer")
                layers.append(Layer(np.eye(width), np.zeros(width)))
            layers[-1] = Layer(layers[-1].weight, layers[-1].bias, known[name])
        elif name != "Dropout":
            raise ValueError(
                f"{part} is not a layer that can be unrolled (supported: Linear, {', '.join(known)} and"
                " Dropout)"
            )
    if not layers:
        raise ValueError("the network has no linear layer")
    return tuple(layers)


def _has_options(part: Any) -> bool:
    """Whether a softplus has another shape than log(1 + exp(x))."""
    return getattr(part, "beta", 1.0) != 1.0
