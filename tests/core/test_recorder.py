"""The recorder: plain numbers are encoded at once, everything else is passed on."""

import threading

import numpy as np
import pytest

from runfold._core.encoder import EventBuffer
from runfold._core.recorder import ScalarMethods

NUMPY_NUMBERS = [
    *(np.float64, np.float32, np.float16),
    *(np.int64, np.int32, np.int16, np.int8),
    *(np.uint64, np.uint32, np.uint16, np.uint8),
]


class Recording(ScalarMethods):
    """A writer that keeps the calls that its recorder does not accept."""

    def __init__(self) -> None:
        self.handed_on: list[tuple[object, ...]] = []
        self.woken = 0
        self._recorder.is_ready = True

    def record(self, *call: object) -> None:
        self.handed_on.append(call)

    def record_many(self, *call: object) -> None:
        self.handed_on.append(call)

    def wake(self) -> None:
        self.woken += 1


def records(buffer: EventBuffer) -> int:
    """Return the number of records in a buffer, counted by their lengths."""
    data, count = memoryview(bytes(buffer)), 0
    while data:
        data = data[16 + int.from_bytes(data[:8], "little") :]
        count += 1
    return count


def test_a_plain_number_is_encoded_like_in_the_encoder():
    recorder, expected = Recording(), EventBuffer()
    recorder.add_scalar("loss", 0.5, 7)
    encoded = bytes(recorder._recorder.take())
    wall_time = encoded[13:21]
    expected.scalar("loss", 0.5, 7, memoryview(wall_time).cast("d")[0])
    assert encoded == bytes(expected)
    assert recorder.handed_on == []


@pytest.mark.parametrize(
    "call",
    [
        ("loss", None, 7),
        ("loss", True, 7),
        ("loss", "0.5", 7),
        ("loss", 10**400, 7),
        ("loss", np.float32("nan"), 7),
        ("loss", np.array(0.5), 7),
        ("loss", np.longdouble(0.5), 7),
        ("loss", 0.5, None),
        ("loss", 0.5, 7.0),
        ("loss", 0.5, 2**63),
        ("loss", float("nan"), 7),
        (b"loss", 0.5, 7),
        ("loss", 0.5, 7, 1.0),
        ("loss", 0.5, 7, None, True),
        ("loss", 0.5, 7, None, False, True),
        ("loss", 0.5, 7, None, True, True),
        ("loss", 0.5, 7, None, False, False, "Loss"),
    ],
)
def test_anything_else_is_passed_on_unchanged(call):
    recorder = Recording()
    recorder.add_scalar(*call)
    ((tag, value, step, walltime, form, name, description),) = recorder.handed_on
    assert (tag, step, walltime) == (call[0], call[2], call[3] if len(call) > 3 else None)
    assert value is call[1]
    forms = {(True,): "tensor", (False, True): "double", (True, True): "double_tensor"}
    assert form == forms.get(call[4:], "simple")
    assert (name, description) == ("Loss" if len(call) == 7 else "", "")
    assert len(recorder._recorder.take()) == 0


def test_everything_is_passed_on_while_the_recorder_is_not_ready():
    recorder = Recording()
    recorder._recorder.is_ready = False
    recorder.add_scalar("loss", 0.5, 7)
    recorder.log({"loss": 0.5}, 7)
    assert len(recorder.handed_on) == 2
    assert len(recorder._recorder.take()) == 0


def test_several_numbers_are_encoded_or_passed_on_together():
    recorder = Recording()
    recorder.log({"a": 0.5, "b": 1.5}, 3)
    events = recorder._recorder.take()
    assert records(events) == 2
    events.clear()
    for mixed in ({"a": 0.5, "b": None}, {"a": float("nan")}, {"a": 0.5, 1: 0.5}):
        recorder.log(mixed, 3)
    recorder.log({"a": 0.5})
    recorder.log({"a": 0.5}, 2**64)
    recorder.log([("a", 0.5)], 3)
    assert len(recorder.handed_on) == 6
    assert len(recorder._recorder.take()) == 0


@pytest.mark.parametrize(
    "value",
    [-3, 2**80, 0.1, *(kind(3) for kind in NUMPY_NUMBERS), np.float32(0.1), np.uint64(2**64 - 1)],
    ids=repr,
)
def test_ints_and_numpy_scalars_are_encoded_like_floats(value):
    recorder, expected = Recording(), EventBuffer()
    recorder.add_scalar("loss", value, 7)
    recorder.log({"loss": value}, 7)
    encoded = bytes(recorder._recorder.take())
    for wall_time in (encoded[13:21], encoded[len(encoded) // 2 + 13 :][:8]):
        expected.scalar("loss", float(value), 7, memoryview(wall_time).cast("d")[0])
    assert encoded == bytes(expected)
    assert recorder.handed_on == []


def test_plain_numbers_are_logged_with_a_prefix_or_refused_together():
    recorder, expected = Recording(), Recording()
    assert recorder._log_plain({"a": 0.5, "b": 1}, 3, "train/")
    events = bytes(recorder._recorder.take())
    expected.log({"train/a": 0.5, "train/b": 1}, 3)
    assert len(events) == len(expected._recorder.take())
    assert events.index(b"train/a") < events.index(b"train/b")
    recorder._recorder.take().clear()
    refused = [{"a": 0.5, "b": None}, {"a": 0.5, "b": {}}, {"a": 0.5, 1: 0.5}, {"\ud800": 0.5}]
    for values in (*refused, [("a", 0.5)], None):
        assert not recorder._log_plain(values, 3)
    for step in (None, 3.0, 2**63):
        assert not recorder._log_plain({"a": 0.5}, step)
    assert not recorder._log_plain({"a": 0.5}, 3, "\ud800")
    recorder._recorder.is_ready = False
    assert not recorder._log_plain({"a": 0.5}, 3)
    assert recorder.handed_on == []
    assert len(recorder._recorder.take()) == 0


def test_taken_events_do_not_grow():
    recorder = Recording()
    recorder.add_scalar("loss", 0.5, 1)
    first = recorder._recorder.take()
    recorder.add_scalar("loss", 0.5, 2)
    assert records(first) == 1
    first.clear()
    assert records(recorder._recorder.take()) == 1


def test_events_that_were_not_cleared_are_taken_again():
    recorder = Recording()
    recorder.add_scalar("loss", 0.5, 1)
    first = bytes(recorder._recorder.take())
    recorder.add_scalar("loss", 0.5, 2)
    again = recorder._recorder.take()
    assert bytes(again) == first
    again.clear()
    assert records(recorder._recorder.take()) == 1


def test_the_writer_is_woken_again_only_if_it_does_not_respond():
    recorder = Recording()
    recorder._recorder.limit = 1000
    while not recorder.woken:
        recorder.add_scalar("loss", 0.5, 1)
    assert len(recorder._recorder.events) > 1000
    for _ in range(10):
        recorder.add_scalar("loss", 0.5, 1)
    assert recorder.woken == 1
    while len(recorder._recorder.events) <= 16 * 1000:
        recorder.add_scalar("loss", 0.5, 1)
    assert recorder.woken == 2
    recorder._recorder.take().clear()
    while recorder.woken == 2:
        recorder.add_scalar("loss", 0.5, 1)
    assert len(recorder._recorder.events) > 1000


def test_the_largest_step_is_known():
    recorder = Recording()
    recorder.add_scalar("loss", 0.5, 10)
    recorder.add_scalar("loss", 0.5, 3)
    recorder.log({"loss": 0.5}, 12)
    assert recorder.last_step == 12


def test_threads_add_and_take_without_losing_an_event():
    recorder, count = Recording(), 0
    threads = [
        threading.Thread(
            target=lambda: [recorder.add_scalar("loss", 0.5, step) for step in range(2000)]
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        events = recorder._recorder.take()
        count += records(events)
        events.clear()
    for thread in threads:
        thread.join()
    for _ in range(2):
        events = recorder._recorder.take()
        count += records(events)
        events.clear()
    assert count == 6000
