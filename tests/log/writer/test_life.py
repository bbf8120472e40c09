"""A writer's parts: when and in which order they are called."""

import os
import threading

import pytest
from helpers.log_runs import logged

import runfold as rf
from runfold._log.writer.event_writer import EventWriter
from runfold._log.writer.life import Part


class RecordingPart(Part):
    """A part that records its calls, and whether the event file was open.

    Calls from the background thread, every two seconds, are not recorded.
    """

    def __init__(self, name, calls):
        self.name = name
        self.calls = calls

    def note(self, verb, sink):
        if threading.current_thread() is threading.main_thread():
            self.calls.append((verb, self.name, sink.path is not None and not sink.is_closed))

    def reopen(self, sink):
        self.note("reopen", sink)

    def flush(self, sink):
        self.note("flush", sink)

    def close(self, sink):
        self.note("close", sink)

    def close_later(self, sink):
        self.note("close_later", sink)

    def after_fork(self):
        self.calls.append(("after_fork", self.name, None))


@pytest.fixture
def recorded_writer(tmp_path):
    """A writer with two parts and an upload, and their calls so far."""
    calls: list[tuple[str, str, bool | None]] = []
    writer = EventWriter(
        tmp_path,
        flush_secs=600,
        is_lazy=True,
        reopens=True,
        parts=[RecordingPart("first", calls), RecordingPart("second", calls)],
        uploads=[RecordingPart("upload", calls)],
    )
    yield writer, calls
    writer.close()


def take_calls(calls):
    """Return the calls since the last `take_calls`."""
    recorded_writer = list(calls)
    calls.clear()
    return recorded_writer


OPENED = [("reopen", "upload", True), ("reopen", "second", True), ("reopen", "first", True)]
FLUSHED = [("flush", "first", True), ("flush", "second", True)]
CLOSED = [
    ("close", "first", True),
    ("close", "second", True),
    *FLUSHED,
    ("close", "upload", False),
]


def test_parts_are_called_before_the_file_and_uploads_after_it(recorded_writer):
    writer, calls = recorded_writer
    assert take_calls(calls) == []
    writer.add_scalar("loss", 1.0, 1)
    assert take_calls(calls) == OPENED
    writer.flush()
    assert take_calls(calls) == FLUSHED
    writer.close()
    assert take_calls(calls) == CLOSED
    writer.close()
    assert take_calls(calls) == []
    writer.add_scalar("loss", 2.0, 2)
    assert take_calls(calls) == OPENED
    writer.close()
    assert logged(writer.folder) == {1: 1.0, 2: 2.0}


def test_events_that_a_part_adds_on_close_are_in_the_file(tmp_path):
    class Last(Part):
        def flush(self, sink):
            sink.put("scalar", "flushed", 1.0, 1, 2.0)

        def close(self, sink):
            sink.put("scalar", "closed", 1.0, 1, 2.0)

    with EventWriter(tmp_path, parts=[Last()]) as writer:
        writer.add_scalar("loss", 1.0, 1)
    assert rf.open(tmp_path).tags["scalar"] == ["loss", "closed", "flushed"]


def test_dropping_a_writer_does_not_wait_for_its_upload(tmp_path):
    calls: list[tuple[str, str, bool | None]] = []
    writer = EventWriter(tmp_path, uploads=[RecordingPart("upload", calls)])
    take_calls(calls)
    del writer
    assert calls == [("close_later", "upload", False)]


def test_parts_are_notified_of_a_fork_and_of_the_childs_file(recorded_writer, tmp_path):
    writer, calls = recorded_writer
    writer.add_scalar("loss", 1.0, 1)
    writer.flush()
    take_calls(calls)
    child = os.fork()
    if child == 0:
        forked = [("after_fork", name, None) for name in ("first", "second", "upload")]
        is_notified = take_calls(calls) == forked
        writer.add_scalar("loss", 2.0, 2)
        is_opened = take_calls(calls) == OPENED
        writer.close()
        os._exit(0 if is_notified and is_opened and take_calls(calls) == CLOSED else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert calls == []
    writer.close()
    assert logged(tmp_path) == {1: 1.0, 2: 2.0}


def test_writers_inherit_only_the_methods_for_plain_numbers():
    assert [kind.__name__ for kind in rf.track.__mro__] == [
        "Tracker",
        "SummaryWriter",
        "ScalarMethods",
        "object",
    ]


def test_a_subclass_can_assign_attributes_before_the_constructor_runs(tmp_path):
    class Early(rf.SummaryWriter):
        def __init__(self, folder):
            self.folder = self.purge_step = self.is_closed = self.skipped = "early"  # type: ignore[assignment]
            super().__init__(folder)

    with Early(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 1)
        assert (writer.folder, writer.purge_step) == (str(tmp_path), None)
        assert (writer.is_closed, writer.skipped) == (False, {})
    assert logged(tmp_path) == {1: 1.0}


def test_a_subclass_sees_calls_from_other_methods(tmp_path):
    class Seen(rf.SummaryWriter):
        seen: list[str]

        def add_value(self, tag, message, step=None, walltime=None):
            self.seen.append(tag)
            super().add_value(tag, message, step, walltime)

        def log(self, values, step=None, walltime=None):
            self.seen.extend(values)
            super().log(values, step, walltime)

        def add_scalar(self, tag, *rest):
            self.seen.append(tag)
            super().add_scalar(tag, *rest)

    with Seen(tmp_path) as writer:
        writer.seen = []
        writer.add_text("text", "a", 1)
        writer.add_scalars("main", {"a": 1.0}, 1)
        writer.add_hparams({"lr": 0.1}, {"metric": 1.0})
    assert writer.seen == ["text", "main/a", "metric"]
