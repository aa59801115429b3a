"""Circuits as states of a checkpoint, and back; every digit is kept."""

from tractable.base.progress import Form, Forms, State
from tractable.circuit.codec import decode_graph, encode_graph
from tractable.circuit.graph import Graph
from tractable.data.schema import Schema


def graph_forms(schema: Schema) -> Forms:
    """How circuits over these columns are saved."""
    return {Graph: Form(graph_state, lambda state: graph_from_state(state, schema))}


def parameter_forms(structure: Graph) -> Forms:
    """How circuits that have the structure of another one are saved."""
    return {Graph: Form(parameter_state, lambda state: with_parameter_state(structure, state))}


def graph_state(graph: Graph) -> State:
    """A circuit but for its schema."""
    return list(encode_graph(graph))


def graph_from_state(state: State, schema: Schema) -> Graph:
    """The circuit that `graph_state` has described."""
    facts, arrays = state
    return decode_graph(facts, arrays, schema)


def parameter_state(graph: Graph) -> State:
    """The parameters of a circuit, without its structure."""
    return [graph.log_weight, *(block.parameters for block in graph.blocks)]


def with_parameter_state(graph: Graph, state: State) -> Graph:
    """The structure of a circuit with the parameters that `parameter_state` has described."""
    log_weight, *parameters = state
    blocks = zip(graph.blocks, parameters, strict=True)
    return graph.with_parameters(log_weight, tuple(block.with_parameters(p) for block, p in blocks))
