"""Any bytes as the payloads of sound records, and every value in them decoded by its kind.

A kind may refuse a value with ValueError, never with anything else.
"""

from collections.abc import Callable

from engine import instrumented, run

with instrumented():
    import numpy as np

    from runfold.core.decoder import Decoder, State, decode
    from runfold.core.encoder import frame
    from runfold.core.event import Form
    from runfold.core.tags import Tags
    from runfold.events.kinds import (
        audio,
        boxes,
        graph,
        histogram,
        hparams,
        image,
        layout,
        mesh,
        pr_curve,
        run_metadata,
        tensor,
        text,
    )
    from runfold.events.kinds.value import plugin_content, plugin_of
    from runfold.events.wire import NeedMore


def locate(find: Callable[[bytes, int], object], data: bytes) -> None:
    """Find a value's content in as short a prefix as can be: as the whole has it."""
    size = min(len(data), 8)
    while True:
        try:
            found = find(data[:size], len(data))
            break
        except NeedMore as more:
            assert size < more.size <= len(data)
            size = more.size
    assert found == find(data, len(data))


VALUE_KINDS = (
    histogram.decode,
    boxes.decode,
    hparams.decode,
    layout.decode,
    mesh.decode,
    pr_curve.decode,
    run_metadata.decode_value,
    tensor.decode,
    text.decode,
    graph.decode_value,
    lambda data: graph.decode_value(data, "graph_keras_model"),
    lambda data: locate(image.locate, data),
    lambda data: locate(audio.locate, data),
)
EVENT_KINDS = {
    Form.GRAPH: graph.decode,
    Form.META_GRAPH: graph.decode_meta,
    Form.RUN_METADATA: run_metadata.decode,
}


def decode_kinds(form: int, data: bytes, metadata: bytes) -> None:
    """Try every kind on a value, whatever its plugin says: a log may say anything."""
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
    """The first byte says how many payloads there are; they share the rest equally."""
    count = data[0] % 4 + 1 if data else 1
    size = -(-(len(data) - 1) // count) if len(data) > 1 else 0
    file = b"".join(frame(data[1 + i * size : 1 + (i + 1) * size]) for i in range(count))
    decoder = Decoder(Tags())
    decode([decoder], file, np.array([0]), np.array([len(file)]))
    assert (decoder.state, decoder.offset) == (State.AT_END, len(file))
    items = decoder.take()[1]
    for number in range(len(decoder.tags)):
        plugin_of(decoder.tags.metadata(number) or b"")
    for item in items[:50]:
        tag, start, end = item["tag"], item["start"], item["start"] + item["length"]
        metadata = decoder.tags.metadata(tag) if tag >= 0 else None
        decode_kinds(int(item["form"]), file[start:end], metadata or b"")


if __name__ == "__main__":
    run(test_one_input)
