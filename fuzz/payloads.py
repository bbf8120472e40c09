"""Reads arbitrary bytes as payloads of valid records, and decodes every value by its kind.

A kind can reject a value with ValueError, but must not raise any other exception.
"""

from collections.abc import Callable
from functools import partial

from engine import instrumented, run

with instrumented():
    import numpy as np

    from runfold._core.decoder import Decoder, decode
    from runfold._core.encoder import frame
    from runfold._core.event import Form
    from runfold._core.record import StopReason
    from runfold._core.tag_table import Tags
    from runfold._events.kinds import KINDS, SCALAR, Kind, graph, histogram, mesh
    from runfold._events.kinds.stored_value import plugin_content, plugin_of
    from runfold._events.wire import NeedMore

    STORED_KINDS = [
        kind for kind in KINDS.values() if kind.is_in_event_files and kind.name != SCALAR
    ]
    MODULES = {kind.name: kind.module for kind in STORED_KINDS}


def locate(find: Callable[[bytes, int], object], data: bytes) -> None:
    """Check that locating a value's content in the shortest prefix works as in the whole value."""
    size = min(len(data), 8)
    while True:
        try:
            located = find(data[:size], len(data))
            break
        except NeedMore as more:
            assert size < more.size <= len(data)
            size = more.size
    assert located == find(data, len(data))


def value_decoder(kind: Kind) -> Callable[[bytes], object]:
    """Return the function with which a kind decodes a summary value."""
    module = MODULES[kind.name]
    if hasattr(module, "locate"):
        return partial(locate, module.locate)
    return module.decode_value if kind.is_in_events else module.decode


VALUE_KINDS = (
    *map(value_decoder, STORED_KINDS),
    lambda data: graph.decode_value(data, "graph_keras_model"),
)
EVENT_KINDS = {
    form: MODULES[kind.name].decode
    for kind in STORED_KINDS
    for form in kind.forms
    if kind.is_in_events
} | {Form.META_GRAPH: graph.decode_meta}


def decode_kinds(form: int, data: bytes, metadata: bytes) -> None:
    """Try every kind on a value, whatever its plugin, because a log can claim anything."""
    kinds = VALUE_KINDS if form not in EVENT_KINDS else (EVENT_KINDS[Form(form)],)
    for kind in kinds:
        try:
            kind(data)
        except ValueError as error:
            assert str(error)
    if form not in EVENT_KINDS:
        histogram.decode_many([data])
        try:
            mesh.decode(data, plugin_content(metadata))
        except ValueError as error:
            assert str(error)


def test_one_input(data: bytes) -> None:
    """The first byte gives the number of payloads; they share the rest equally."""
    count = data[0] % 4 + 1 if data else 1
    size = -(-(len(data) - 1) // count) if len(data) > 1 else 0
    file = b"".join(frame(data[1 + i * size : 1 + (i + 1) * size]) for i in range(count))
    decoder = Decoder(Tags())
    decode([decoder], file, np.array([0]), np.array([len(file)]))
    assert (decoder.stop, decoder.offset) == (StopReason.AT_END, len(file))
    items = decoder.take()[1]
    for number in range(len(decoder.tags)):
        plugin_of(decoder.tags.metadata(number) or b"")
    for item in items[:50]:
        tag, start, end = item["tag"], item["start"], item["start"] + item["length"]
        metadata = decoder.tags.metadata(tag) if tag >= 0 else None
        decode_kinds(int(item["form"]), file[start:end], metadata or b"")


if __name__ == "__main__":
    run(test_one_input)
