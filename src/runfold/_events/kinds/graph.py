"""Graphs: a model's operations, or the layers of a Keras model."""

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from runfold._events.kinds import stored_value

if TYPE_CHECKING:
    from tensorboard.compat.proto.graph_pb2 import GraphDef

KERAS_PLUGIN = "graph_keras_model"


class Node(NamedTuple):
    """One node: its name, its operation and the names of its input nodes."""

    name: str
    op: str
    inputs: tuple[str, ...]


class Graph:
    """The nodes of a graph in stored order; `proto()` returns everything that was stored."""

    __slots__ = ("data", "is_keras", "nodes")

    def __init__(self, data: bytes, keras: bool = False) -> None:
        self.data = data
        self.is_keras = keras
        self.nodes = _keras_layers(data) if keras else _operations(data)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<Graph of {len(self)} nodes>"

    def __eq__(self, other: object) -> bool:
        """Return whether the other graph has the same bytes."""
        if not isinstance(other, Graph):
            return NotImplemented
        return (self.is_keras, self.data) == (other.is_keras, other.data)

    def __hash__(self) -> int:
        return hash(self.data)

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return [node.name for node in self.nodes]

    @property
    def ops(self) -> list[str]:
        """The operations of the nodes; for a Keras model, the classes of its layers."""
        return [node.op for node in self.nodes]

    @property
    def config(self) -> dict[str, Any] | None:
        """The configuration of a Keras model, or None for a graph of operations."""
        return _keras_config(self.data) if self.is_keras else None

    def proto(self) -> "GraphDef":
        """Return the GraphDef message. Raises ValueError if the stored bytes are not a GraphDef."""
        return _keras_graph(self.data) if self.is_keras else _graph_def(self.data)


def decode(graph_def: bytes) -> Graph:
    """Return the graph in an event's `graph_def` field."""
    return Graph(graph_def)


def decode_meta(meta_graph_def: bytes) -> Graph:
    """Return the graph in an event's `meta_graph_def` field."""
    graphs = stored_value.messages(meta_graph_def, 2)
    if not graphs:
        raise ValueError("the meta graph contains no graph")
    return Graph(b"".join(graphs))


def decode_value(value: bytes, plugin: str = "") -> Graph:
    """Return the graph in a summary value: a Keras model as JSON, or a GraphDef.

    `plugin` is the plugin's name from an earlier value of the tag, for writers that
    store metadata only in a tag's first value.
    """
    parsed = stored_value.parse(value)
    keras = (parsed.plugin or plugin) == KERAS_PLUGIN
    return Graph(stored_value.string_of(parsed, "a graph"), keras)


def _operations(data: bytes) -> list[Node]:
    nodes = []
    for raw in stored_value.messages(data, 1):
        name, op = (b"".join(stored_value.messages(raw, number)[-1:]) for number in (1, 2))
        inputs = tuple(map(stored_value.text, stored_value.messages(raw, 3)))
        nodes.append(Node(stored_value.text(name), stored_value.text(op), inputs))
    return nodes


def _keras_layers(data: bytes) -> list[Node]:
    return [
        Node(node.name, stored_value.text(node.attr["keras_class"].s), tuple(node.input))
        for node in _keras_graph(data).node
    ]


def _graph_def(data: bytes) -> "GraphDef":
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    try:
        return GraphDef.FromString(data)
    except DecodeError:
        raise ValueError("the graph is not a GraphDef message") from None


def _keras_config(data: bytes) -> dict[str, Any]:
    try:
        config = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("the Keras model is not JSON") from None
    if isinstance(config, dict):
        return config
    raise ValueError("the Keras model's JSON is not an object")


def _keras_graph(data: bytes) -> "GraphDef":
    from tensorboard.plugins.graph.keras_util import keras_model_to_graph_def

    config = _keras_config(data)
    try:
        graph: GraphDef = keras_model_to_graph_def(config)
    except Exception as error:
        raise ValueError(f"the Keras model's configuration is not supported: {error!r}") from None
    return graph
