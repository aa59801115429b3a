"""Circuits as states of a checkpoint, and back; every digit is kept."""

from dataclasses import fields, replace

from tractable.base.progress import Form, State
from tractable.circuit.features import FeatureTable
from tractable.circuit.graph import GateBlock, Graph, JointBlock, LeafBlock, Members, Shape
from tractable.circuit.leaves import FAMILIES, Family
from tractable.circuit.leaves.multivariate import JOINT_FAMILIES
from tractable.circuit.leaves.output import NetworkOutput, network_from_state, network_state
from tractable.data.schema import Schema

GRAPH = ("kind", "start", "child", "log_weight")
LEAF = ("node", "column", "params")
JOINT = ("node", "columns", "params")


def graph_form(schema: Schema) -> Form[Graph]:
    """How circuits over these columns are saved."""
    return Form(graph_state, lambda state: graph_from_state(state, schema))


def scored_form(schema: Schema) -> Form[tuple[Graph, float]]:
    """How circuits over these columns are saved with a score."""
    return Form(
        lambda found: [graph_state(found[0]), found[1]],
        lambda state: (graph_from_state(state[0], schema), state[1]),
    )


def graph_state(graph: Graph) -> State:
    """A circuit but for its schema."""
    features, families = graph.features, [block.family for block in graph.leaves]
    return {
        "graph": [getattr(graph, name) for name in GRAPH],
        "leaves": [[b.family.name, *(getattr(b, name) for name in LEAF)] for b in graph.leaves],
        "joints": [[b.family.name, *(getattr(b, name) for name in JOINT)] for b in graph.joints],
        "gates": [list(block.arrays) for block in graph.gates],
        "networks": [network_state(f.network) for f in families if isinstance(f, NetworkOutput)],
        "features": None if features is None else [getattr(features, f.name) for f in fields(features)],
        "mixture": _mixture_state(graph.mixture),
    }


def _mixture_state(mixture: Shape | Members | None) -> State:
    if isinstance(mixture, Members):
        return [mixture.end, [_mixture_state(inside) for inside in mixture.mixtures]]
    return None if mixture is None else [mixture.first, mixture.step]


def _mixture_from_state(state: State) -> Shape | Members | None:
    if state is None:
        return None
    first, second = state
    if isinstance(second, list):
        return Members(first, tuple(_mixture_from_state(inside) for inside in second))
    return Shape(first, second)


def graph_from_state(state: State, schema: Schema) -> Graph:
    """The circuit that `graph_state` has described."""
    kind, start, child, log_weight = state["graph"]
    networks = iter(state["networks"])

    def family_of(name: str) -> Family:
        is_output = name == NetworkOutput.name
        return NetworkOutput(network_from_state(next(networks))) if is_output else FAMILIES[name]

    return Graph(
        schema,
        kind,
        start,
        child,
        log_weight,
        tuple(LeafBlock(family_of(name), *arrays) for name, *arrays in state["leaves"]),
        None if state["features"] is None else FeatureTable(*state["features"]),
        tuple(JointBlock(JOINT_FAMILIES[name], *arrays) for name, *arrays in state["joints"]),
        tuple(GateBlock.from_arrays(*arrays) for arrays in state["gates"]),
        _mixture_from_state(state.get("mixture")),
    )


def parameter_state(graph: Graph) -> State:
    """The parameters of a circuit, without its structure."""
    return {
        "log_weight": graph.log_weight,
        "leaves": [block.params for block in graph.leaves],
        "joints": [block.params for block in graph.joints],
    }


def with_parameter_state(graph: Graph, state: State) -> Graph:
    """The structure of a circuit with the parameters that `parameter_state` has described."""
    return graph.with_parameters(
        log_weight=state["log_weight"],
        leaves=tuple(replace(b, params=p) for b, p in zip(graph.leaves, state["leaves"], strict=True)),
        joints=tuple(replace(b, params=p) for b, p in zip(graph.joints, state["joints"], strict=True)),
    )
