"""The encoder, compared with protobuf and TensorBoard's own record writer."""

import io
import struct
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_ndarray
from torch.utils.tensorboard import summary as torch_summary

from runfold._core.encoder import FLOAT64_FIELD, EventBuffer, frame

Event, SessionLog = event_pb2.Event, event_pb2.SessionLog
Summary = summary_pb2.Summary

STEPS = st.integers(-(2**63), 2**63 - 1)
TAGS = st.text(max_size=300)
FLOATS = st.floats()


def records(*events):
    """Return the events as written by TensorBoard's own writer."""
    out = io.BytesIO()
    writer = RecordWriter(out)
    for event in events:
        payload = event if isinstance(event, bytes) else event.SerializeToString(deterministic=True)
        writer.write(payload)
    return out.getvalue()


def scalar_event(form, tag, value, step, wall_time):
    return Event(
        wall_time=wall_time, step=step, summary=Summary(value=[scalar_value(form, tag, value)])
    )


def scalar_value(form, tag, value):
    """Return the value that torch writes; "double" also has Runfold's field."""
    is_double = form.startswith("double")
    (stored,) = torch_summary.scalar(
        tag, value, new_style=form.endswith("tensor"), double_precision=is_double
    ).value
    if form == "double":
        # protobuf keeps unknown fields and writes them last.
        stored.MergeFromString(FLOAT64_KEY + struct.pack("<d", value))
    return stored


FLOAT64_KEY = b"\xc1\x42"  # field number 1064, eight bytes
METHODS = {
    "simple": "scalar",
    "double": "scalar_double",
    "tensor": "scalar_tensor",
    "double_tensor": "scalar_double_tensor",
}
every_form = pytest.mark.parametrize("form", list(METHODS))


@every_form
@given(tag=TAGS, value=FLOATS, step=STEPS, wall_time=FLOATS)
def test_any_scalar_is_written_like_torch_and_protobuf(form, tag, value, step, wall_time):
    buffer = EventBuffer()
    getattr(buffer, METHODS[form])(tag, value, step, wall_time)
    assert buffer.getvalue() == records(scalar_event(form, tag, value, step, wall_time))


@every_form
@pytest.mark.parametrize("wall_time", [0.0, -0.0])
def test_zeros_are_omitted_only_where_protobuf_omits_them(form, wall_time):
    buffer = EventBuffer()
    getattr(buffer, METHODS[form])("", 0.0, 0, wall_time)
    assert buffer.getvalue() == records(scalar_event(form, "", 0.0, 0, wall_time))


def test_the_field_number_of_the_float64_matches_the_docs():
    assert FLOAT64_FIELD == 1064


@pytest.mark.parametrize("size", [0, 1, 100, 127, 128, 16_383, 16_384, 2_100_000])
def test_lengths_of_tags_of_any_size_are_encoded_correctly(size):
    tag, buffer = "t" * size, EventBuffer()
    buffer.scalar(tag, 1.5, 7, 2.0)
    assert buffer.getvalue() == records(scalar_event("simple", tag, 1.5, 7, 2.0))


@given(payload=st.binary(max_size=100))
def test_frame_matches_tensorboards_writer(payload):
    assert frame(payload) == records(payload)
    assert frame(memoryview(payload)) == records(payload)


@every_form
def test_scalars_equals_many_calls_to_scalar(form):
    steps = np.array([0, 1, -5, 2**62])
    wall_times = np.array([0.0, 1.5, np.nan, np.inf])
    values = np.array([0.1, -np.inf, np.nan, 1e300])
    bulk, single = EventBuffer(), EventBuffer()
    bulk.file_version(1.0)
    single.file_version(1.0)
    bulk.scalars("loss", steps, wall_times, values, form)
    for point in zip(values, steps, wall_times, strict=True):
        getattr(single, METHODS[form])("loss", *point)
    assert bulk.getvalue() == single.getvalue()


@every_form
def test_table_is_written_row_by_row(form):
    tags = ["loss", "", "größe/∆"]
    steps, wall_times = np.arange(50), np.linspace(1e9, 2e9, 50)
    values = np.random.default_rng(0).normal(size=(50, 3))
    table, single = EventBuffer(), EventBuffer()
    table.table(tags, steps, wall_times, values, form)
    for step, wall_time, row in zip(steps, wall_times, values, strict=True):
        for tag, value in zip(tags, row, strict=True):
            getattr(single, METHODS[form])(tag, value, step, wall_time)
    assert table.getvalue() == single.getvalue()


def test_empty_tables_write_nothing():
    buffer, none, no_rows = EventBuffer(), np.array([], np.int64), np.empty((0, 1))
    buffer.scalars("a", none, none.astype(float), none.astype(float))
    buffer.table(["a"], none, none.astype(float), no_rows)
    buffer.table([], np.arange(2), np.zeros(2), np.empty((2, 0)))
    assert len(buffer) == 0


def test_every_other_event_is_written_like_protobuf():
    values = [Summary.Value(tag="a", simple_value=1.0), Summary.Value(tag="b" * 200)]
    messages = [value.SerializeToString() for value in values]
    metadata = event_pb2.TaggedRunMetadata
    buffer = EventBuffer()
    buffer.file_version(12.5)
    buffer.session_start(-3, 13.0)
    buffer.value(messages[0], 1, 14.0)
    buffer.summary(messages, 2, 15.0)
    buffer.summary([], 2, 15.0)
    buffer.graph(b"graph", 16.0)
    buffer.graph(b"", 0.0)
    buffer.run_metadata("step-1", b"x" * 300, 3, 17.0)
    buffer.run_metadata("", b"", 3, 17.0)
    buffer.event(Event(step=9).SerializeToString())
    buffer.event(b"")
    assert bytes(buffer) == records(
        Event(wall_time=12.5, file_version="brain.Event:2"),
        Event(wall_time=13.0, step=-3, session_log=SessionLog(status=SessionLog.START)),
        Event(wall_time=14.0, step=1, summary=Summary(value=values[:1])),
        Event(wall_time=15.0, step=2, summary=Summary(value=values)),
        Event(wall_time=15.0, step=2, summary=Summary()),
        Event(wall_time=16.0, graph_def=b"graph"),
        Event(graph_def=b""),
        Event(
            wall_time=17.0,
            step=3,
            tagged_run_metadata=metadata(tag="step-1", run_metadata=b"x" * 300),
        ),
        Event(wall_time=17.0, step=3, tagged_run_metadata=metadata()),
        Event(step=9),
        b"",
    )


THREE, PAIR = np.arange(3), np.zeros(2)
WRONG_CALLS = {
    "tag is bytes": (TypeError, lambda b: b.scalar(b"a", 1.0, 1, 1.0)),
    "tag is a lone surrogate": (UnicodeEncodeError, lambda b: b.scalar("\ud800", 1.0, 1, 1.0)),
    "step above int64": (OverflowError, lambda b: b.scalar("a", 1.0, 2**63, 1.0)),
    "step has a fraction": (TypeError, lambda b: b.scalar("a", 1.0, 1.5, 1.0)),
    "step of a summary above int64": (OverflowError, lambda b: b.summary([], -(2**64), 1.0)),
    "value is text": (TypeError, lambda b: b.scalar("a", "1.0", 1, 1.0)),
    "wall time is none": (TypeError, lambda b: b.scalar_double("a", 1.0, 1, None)),
    "message is text": (TypeError, lambda b: b.value("message", 1, 1.0)),
    "one message is text": (TypeError, lambda b: b.summary([b"", "message"], 1, 1.0)),
    "unknown form": (ValueError, lambda b: b.scalars("a", THREE, THREE * 1.0, THREE * 1.0, "tf")),
    "steps are floats": (ValueError, lambda b: b.scalars("a", PAIR, PAIR, PAIR)),
    "lengths differ": (ValueError, lambda b: b.scalars("a", THREE, PAIR, PAIR)),
    "too few tags": (ValueError, lambda b: b.table(["a"], THREE, THREE * 1.0, np.ones((3, 2)))),
    "tags are a str": (TypeError, lambda b: b.table("ab", THREE, THREE * 1.0, np.ones((3, 2)))),
    "one tag is none": (TypeError, lambda b: b.table([None], THREE, THREE * 1.0, np.ones((3, 1)))),
}


@pytest.mark.parametrize(("error", "call"), WRONG_CALLS.values(), ids=WRONG_CALLS)
def test_a_wrong_argument_leaves_the_buffer_unchanged(error, call):
    buffer = EventBuffer()
    buffer.file_version(1.0)
    before = buffer.getvalue()
    with pytest.raises(error):
        call(buffer)
    assert buffer.getvalue() == before


def test_a_step_that_writes_to_the_buffer_itself_is_written_after_it():
    class Step:
        def __index__(self):
            for _ in range(1000):
                buffer.file_version(1.0)
            return 5

    buffer = EventBuffer()
    buffer.scalar("a", 1.0, Step(), 1.0)
    version = records(Event(wall_time=1.0, file_version="brain.Event:2"))
    assert buffer.getvalue() == version * 1000 + records(scalar_event("simple", "a", 1.0, 5, 1.0))


def test_the_buffer_cannot_change_during_a_memoryview():
    buffer = EventBuffer()
    with memoryview(buffer) as empty:
        assert empty.nbytes == 0
        with pytest.raises(BufferError):
            buffer.scalars("a", THREE, THREE * 1.0, THREE * 1.0)
    buffer.scalar("a", 1.0, 1, 1.0)
    with memoryview(buffer) as view:
        assert view.readonly
        for change in (
            lambda: buffer.scalar("a", 1.0, 1, 1.0),
            lambda: buffer.scalars("a", THREE, THREE * 1.0, THREE * 1.0),
            lambda: buffer.event(view),
            buffer.clear,
        ):
            with pytest.raises(BufferError):
                change()
        assert view == buffer.getvalue()
    buffer.clear()
    assert len(buffer) == 0
    buffer.scalar("a", 2.0, 1, 1.0)
    assert buffer.getvalue() == records(scalar_event("simple", "a", 2.0, 1, 1.0))


def test_tables_written_from_two_threads_do_not_mix():
    buffer, steps = EventBuffer(), np.arange(2000)
    zeros, rows = np.zeros(2000), np.zeros((2000, 2))

    def write(tag):
        for _ in range(5):
            buffer.table([tag, tag], steps, zeros, rows)

    threads = [threading.Thread(target=write, args=(tag,)) for tag in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    blocks = {}
    for tag in "ab":
        alone = EventBuffer()
        alone.table([tag, tag], steps, zeros, rows)
        blocks[alone.getvalue()] = tag
    (size,) = {len(block) for block in blocks}
    written = buffer.getvalue()
    order = [blocks[written[at : at + size]] for at in range(0, len(written), size)]
    assert sorted(order) == list("aaaaabbbbb")


def test_tensorboard_reads_back_the_same_values(tmp_path):
    steps, wall_times = np.arange(20), 1.7e9 + np.arange(20.0)
    values = np.random.default_rng(1).normal(size=(20, 2))
    buffer = EventBuffer()
    buffer.file_version(1.7e9)
    for form in METHODS:
        buffer.table([f"{form}/a", f"{form}/b"], steps, wall_times, values, form)
    (tmp_path / "events.out.tfevents.1").write_bytes(buffer)
    log = EventAccumulator(str(tmp_path), {"scalars": 0, "tensors": 0}).Reload()
    for form in METHODS:
        for column, name in enumerate("ab"):
            tag = f"{form}/{name}"
            if form in ("simple", "double"):
                read = [(e.step, e.wall_time, e.value) for e in log.Scalars(tag)]
            else:
                read = [
                    (e.step, e.wall_time, make_ndarray(e.tensor_proto)) for e in log.Tensors(tag)
                ]
            dtype = "f8" if form == "double_tensor" else "f4"
            expected = values[:, column].astype(dtype)
            assert read == list(zip(steps, wall_times, expected, strict=True))
