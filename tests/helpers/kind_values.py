"""Stored values for tests of kinds: written by real writers, read raw from disk."""

from collections.abc import Callable
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.data_compat import migrate_value
from tensorboard.util.tensor_util import make_tensor_proto


def events(folder: Path) -> list[Event]:
    """Return every event below a folder, without TensorBoard's conversion to the new format."""
    return [
        Event.FromString(raw)
        for file in sorted(folder.rglob("*tfevents*"))
        for raw in RawEventFileLoader(str(file)).Load()
    ]


def stored(folder: Path) -> dict[str, list[bytes]]:
    """Return the serialized Summary.Value messages below a folder, by tag."""
    values: dict[str, list[bytes]] = {}
    for event in events(folder):
        for value in event.summary.value:
            values.setdefault(value.tag, []).append(value.SerializeToString())
    return values


def written(writer_class: Callable, folder: Path, write: Callable) -> dict[str, list[bytes]]:
    """Return what torch's or tensorboardX's SummaryWriter stores during `write(writer)`."""
    with writer_class(str(folder)) as writer:
        write(writer)
    return stored(folder)


def new_form(value: bytes) -> bytes:
    """Return the same value as a tensor, converted by TensorBoard."""
    return migrate_value(Summary.Value.FromString(value)).SerializeToString()


def tensor_value(data: object, plugin: str = "", content: bytes = b"", tag: str = "tag") -> bytes:
    """Return a value as TensorFlow 2 writes it."""
    metadata = SummaryMetadata()
    metadata.plugin_data.plugin_name = plugin
    metadata.plugin_data.content = content
    return Summary.Value(
        tag=tag, tensor=make_tensor_proto(data), metadata=metadata
    ).SerializeToString()
