"""The recorder: plain numbers are encoded at once, everything else is passed on."""

import threading

import pytest

from runfold._core.encoder import EventBuffer
from runfold._core.recorder import ScalarMethods


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
        ("loss", 1, 7),
        ("loss", None, 7),
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
    for mixed in ({"a": 0.5, "b": 1}, {"a": float("nan")}, {"a": 0.5, 1: 0.5}):
        recorder.log(mixed, 3)
    recorder.log({"a": 0.5})
    recorder.log({"a": 0.5}, 2**64)
    recorder.log([("a", 0.5)], 3)
    assert len(recorder.handed_on) == 6
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
