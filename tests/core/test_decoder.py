"""Decoded event files: the collected data, its positions, and how reading continues."""

import numpy as np
from helpers.decoding import PNG, boundaries, codes, collect, every_kind, feed, points, read, value
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import ITEM, Decoder, decode
from runfold._core.encoder import EventBuffer, frame
from runfold._core.event import Form, NoteCode
from runfold._core.record import StopReason
from runfold._core.tag_table import Tags
from runfold._events import value_encoding as values

steps = st.integers(-(2**63), 2**63 - 1)
times = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.floats()
tags = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def test_every_kind_is_collected_in_its_column() -> None:
    records = every_kind()
    data = b"".join(records)
    reading = read(data)
    assert (reading.stop, reading.offset) == (StopReason.AT_END, len(data))
    assert reading.events == len(records)
    assert list(reading.scalars) == ["loss", "accuracy", "lr", "a", "b", ""]
    assert points(reading, "loss") == [(1, 2.0, 0.25), (5, 5.0, 0.125)]
    assert points(reading, "accuracy") == [(1, 2.0, 0.5)]
    assert points(reading, "lr") == [(-1, 2.5, 1e-300)]
    forms = [int(np.frombuffer(item[0], ITEM)["form"][0]) for item in reading.items]
    tensors = [Form.TENSOR] * 4
    assert forms == [
        *(Form.HISTOGRAM, Form.TENSOR, Form.IMAGE, Form.TENSOR, Form.AUDIO, *tensors[:3]),
        *(Form.NOTHING, Form.GRAPH, Form.RUN_METADATA),
    ]
    assert [item[2] for item in reading.items] == [
        *("h", "ht", "i", "it", "s", "st", "t", "x"),
        *("_hparams_/experiment", None, "step 3"),
    ]
    assert reading.notes == [(boundaries(records)[-4], NoteCode.UNKNOWN_WALL_TIME, -1)]
    assert reading.restarts == [(2, 3, dict.fromkeys(range(6), 1))]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["simple", "double", "tensor", "double_tensor"]),
            *(tags, steps, times, numbers),
        )
    )
)
def test_scalars_are_read_as_written(
    rows: list[tuple[str, str, int, float, float]],
) -> None:
    buffer = EventBuffer()
    expected: dict[str, list[tuple[int, float, float]]] = {}
    write = {
        "simple": buffer.scalar,
        "double": buffer.scalar_double,
        "tensor": buffer.scalar_tensor,
        "double_tensor": buffer.scalar_double_tensor,
    }
    for form, tag, step, wall_time, number in rows:
        write[form](tag, number, step, wall_time)
        with np.errstate(over="ignore"):
            stored = number if form.startswith("double") else float(np.float32(number))
        expected.setdefault(tag, []).append((step, wall_time, stored))
    reading = read(buffer.getvalue())
    assert reading.events == len(rows)
    assert not reading.notes
    assert list(reading.scalars) == list(expected)
    for tag, series in expected.items():
        np.testing.assert_array_equal(points(reading, tag), series)


messages = st.one_of(
    st.builds(lambda tag: values.histogram(tag, 0, 1, 2, 3, 4, [1, 2], [1, 1]), tags),
    st.builds(lambda tag, body: values.image(tag, 1, 1, 3, PNG + body), tags, st.binary()),
    st.builds(lambda tag, body: values.audio(tag, 8000, 1, 1, body), tags, st.binary()),
    st.builds(values.text, tags, st.lists(tags, min_size=2)),
    st.builds(
        lambda tag, rank: values.tensor(tag, np.ones((2,) * rank), "x"), tags, st.integers(0, 4)
    ),
    st.builds(
        lambda tag, content: values.metadata_only(tag, "hparams", content), tags, st.binary()
    ),
)


@given(st.lists(st.tuples(messages, steps, times)), st.binary(max_size=50), tags)
def test_items_point_to_the_written_bytes(
    written: list[tuple[bytes, int, float]], graph: bytes, tag: str
) -> None:
    buffer = EventBuffer()
    for message, step, wall_time in written:
        buffer.value(message, step, wall_time)
    buffer.graph(graph, 1.0)
    buffer.run_metadata(tag, graph, 3, 1.0)
    reading = read(buffer.getvalue())
    rows = np.array([np.frombuffer(item[0], ITEM)[0] for item in reading.items], ITEM)
    assert not reading.notes
    assert [item[1] for item in reading.items[:-1]] == [*(row[0] for row in written), graph]
    assert reading.items[-1][1].endswith(graph)
    assert reading.items[-1][2] == tag
    assert rows["step"].tolist() == [*(row[1] for row in written), 0, 3]
    assert rows["wall_time"].tolist() == [*(row[2] for row in written), 1.0, 1.0]


def test_many_files_in_one_call_each_have_their_stretch() -> None:
    buffers = []
    for number in range(20):
        events = EventBuffer()
        events.table(["a", "b"], np.arange(number), np.zeros(number), np.ones((number, 2)))
        buffers.append(events.getvalue())
    ends = np.cumsum([len(data) + 3 for data in buffers])
    starts = ends - [len(data) + 3 for data in buffers]
    decoders = [Decoder(Tags(), offset=100 * i) for i in range(20)]
    # The files are decoded in any order, with a few bytes of the next record after each.
    buffer = b"".join(data + b"\x10\0\0" for data in buffers)
    decode(decoders[::-1], buffer, starts[::-1].copy(), ends[::-1].copy())
    for number, (decoder, data) in enumerate(zip(decoders, buffers, strict=True)):
        assert (decoder.stop, decoder.offset) == (StopReason.IS_TORN, 100 * number + len(data))
        scalars = decoder.take()[0]
        assert [len(points[0]) for points in scalars.values()] == [number] * min(number, 1) * 2


def test_offsets_are_relative_to_the_file_not_the_stretch() -> None:
    data = frame(b"\x08") + frame(b"\x22\x03abc")
    decoder = Decoder(Tags(), offset=1000)
    feed(decoder, data)
    _, items, notes, _ = decoder.take()
    assert notes == [(1000, NoteCode.MALFORMED_EVENT, -1)]
    assert items[["record", "start", "length"]].tolist() == [(1017, 1031, 3)]


def test_taken_data_is_removed_and_outlives_the_decoder() -> None:
    decoder = Decoder(Tags())
    buffer = EventBuffer()
    buffer.scalar("loss", 1.0, 7, 2.0)
    buffer.graph(b"abc", 1.0)
    feed(decoder, buffer.getvalue())
    scalars, items, _, _ = decoder.take()
    assert len(decoder.take()[0]) == 0
    assert len(decoder.take()[1]) == 0
    del decoder
    assert [column.tolist() for column in scalars[0]] == [[7], [2.0], [1.0]]
    assert items["length"].tolist() == [3]


def test_a_restart_lists_the_tags_with_points_since_the_previous_one() -> None:
    buffer = EventBuffer()
    buffer.session_start(0, 1.0)
    buffer.summary([value("a", 1), value("b", 1), value("a", 1)], 1, 1.0)
    buffer.graph(b"", 1.0)
    buffer.session_start(5, 1.0)
    buffer.session_start(4, 1.0)
    buffer.scalar("b", 1, 1, 1.0)
    buffer.session_start(3, 1.0)
    buffer.scalar("b", 1, 1, 1.0)
    decoder = Decoder(Tags())
    feed(decoder, buffer.getvalue())
    expected = [(0, 0, {}), (5, 1, {0: 2, 1: 1}), (4, 1, {}), (3, 1, {1: 2})]
    assert decoder.take()[3] == expected
    # The counts start at zero again after each take.
    feed(decoder, buffer.getvalue())
    assert decoder.take()[3] == expected


def test_tags_and_restarts_take_memory_only_once_each() -> None:
    buffer = EventBuffer()
    buffer.table([str(i) for i in range(5000)], np.arange(1), np.zeros(1), np.zeros((1, 5000)))
    restart = EventBuffer()
    restart.session_start(1, 1.0)
    data = buffer.getvalue() + restart.getvalue() * 5000
    restarts = read(data).restarts
    assert restarts[0] == (1, 0, dict.fromkeys(range(5000), 1))
    assert restarts[1:] == [(1, 0, {})] * 4999


def test_a_malformed_event_does_not_affect_its_tags() -> None:
    message = values.tensor("loss", np.ones(1, np.float32), "audio")
    summary = b"\x0a" + bytes([len(message)]) + message
    malformed = b"\x2a" + bytes([len(summary)]) + summary + b"\x08"
    buffer = EventBuffer()
    buffer.event(malformed)
    buffer.scalar_tensor("loss", 0.5, 1, 1.0)
    decoder = Decoder(Tags())
    feed(decoder, buffer.getvalue())
    assert b"scalars" in (decoder.tags.metadata(0) or b"")
    reading = collect(decoder, buffer.getvalue())
    assert codes(reading) == [NoteCode.MALFORMED_EVENT]
    assert points(reading, "loss") == [(1, 1.0, 0.5)]
    assert not reading.items


def test_first_and_last_wall_time_ignore_events_without_one() -> None:
    decoder = Decoder(Tags())
    assert np.isnan([decoder.first_wall_time, decoder.last_wall_time]).all()
    buffer = EventBuffer()
    for wall_time in (float("nan"), 2.0, 3.0, float("inf")):
        buffer.scalar("loss", 1.0, 1, wall_time)
    feed(decoder, buffer.getvalue())
    assert (decoder.first_wall_time, decoder.last_wall_time) == (2.0, 3.0)
    np.testing.assert_array_equal(decoder.take()[0][0][1], [np.nan, 2.0, 3.0, np.nan])
