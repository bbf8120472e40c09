"""Run metadata: TensorFlow's and torch's record of one execution of a graph."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runfold._events.kinds import stored_value
from runfold._events.kinds.graph import Graph

if TYPE_CHECKING:
    from tensorboard.compat.proto.config_pb2 import RunMetadata as RunMetadataProto

# Fields of RunMetadata, and of its FunctionGraphs.
FUNCTION_GRAPHS = 4
PRE_OPTIMIZATION_GRAPH = 2


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """A serialized RunMetadata message and the tag it was stored under."""

    tag: str
    data: bytes = field(repr=False)

    def graphs(self) -> list[Graph]:
        """Return the graphs of traced functions, as stored by `tf.summary.trace_export`.

        TensorFlow has not optimized these graphs yet.
        """
        functions = stored_value.messages(self.data, FUNCTION_GRAPHS)
        return [
            Graph(graph)
            for function in functions
            for graph in stored_value.messages(function, PRE_OPTIMIZATION_GRAPH)
        ]

    def proto(self) -> "RunMetadataProto":
        """Return the RunMetadata message. Raises ValueError if the bytes are not one."""
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.config_pb2 import RunMetadata as RunMetadataProto

        try:
            return RunMetadataProto.FromString(self.data)
        except DecodeError:
            raise ValueError("the run metadata is not a RunMetadata message") from None


def decode(tagged_run_metadata: bytes) -> RunMetadata:
    """Return the run metadata in an event's `tagged_run_metadata` field."""
    tags = stored_value.messages(tagged_run_metadata, 1)
    data = stored_value.messages(tagged_run_metadata, 2)
    return _checked("".join(map(stored_value.text, tags[-1:])), b"".join(data[-1:]))


def decode_value(value: bytes) -> RunMetadata:
    """Return the run metadata in a summary value, as TensorFlow 2 writes it."""
    parsed = stored_value.parse(value)
    return _checked(parsed.tag, stored_value.string_of(parsed, "run metadata"))


def _checked(tag: str, data: bytes) -> RunMetadata:
    stored_value.messages(data, 1)  # raises ValueError if the data is not a message
    return RunMetadata(tag, data)
