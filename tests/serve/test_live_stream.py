"""Server-sent events: every open page receives all changes, merged if it falls behind."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from typing import Any

import pytest
from helpers.event_stream import parse
from helpers.logs import scalars, write
from helpers.servers import serving
from helpers.serving import open_client

from runfold._serve.http.error_responses import TooBusy
from runfold._serve.live_stream import EventStream, Hub, encode_event, merge
from runfold._serve.run_source import Changed, Source

# Writes one point for each line on stdin, and prints the step once it is flushed.
_WRITER = """
import sys
import runfold as rf
with rf.SummaryWriter(sys.argv[1]) as writer:
    for step, _ in enumerate(sys.stdin):
        writer.add_scalar("loss", 1 / (step + 1), step)
        writer.flush()
        print(step, flush=True)
"""


@contextlib.contextmanager
def training(folder):
    """Run a process that logs points; yield a function that logs a point and returns its step."""
    job = [sys.executable, "-c", _WRITER, str(folder)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(job, **pipes) as process:

        def log():
            process.stdin.write("\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield log
        process.stdin.close()
        assert process.wait(60) == 0


@contextlib.contextmanager
def listening(served):
    """Yield the response and the events that a browser receives."""
    with served.browse() as browser:
        browser.get(served.link)
        with browser.stream("GET", "/api/events") as answer:
            assert answer.status_code == 200
            yield answer, parse(answer.iter_lines())


def next_change(events):
    return next(data for name, data in events if name == "change")


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "old", scalars("loss", (0, 1.0)))
    return tmp_path / "logs"


@pytest.mark.parametrize("options", [[], ["--poll", "0.3"]], ids=["watched", "polled"])
def test_a_growing_run_is_announced(logdir, options):
    with serving(logdir, *options) as served, listening(served) as (answer, events):
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Cache-Control"] == "no-store"
        assert next(events) == ("ping", {"generation": 1})
        with training(logdir / "new") as log:
            log()
            first = next_change(events)
            assert first["new"] == ["new"]
            log()
            later = next_change(events)
            assert (later["new"], later["changed"]) == ([], ["new"])
            assert later["generation"] > first["generation"]


def test_server_ends_with_its_streams(logdir):
    with serving(logdir) as served, listening(served) as (_, events):
        assert next(events)[0] == "ping"
        assert served.end(signal.SIGTERM) == (143, "")
        assert list(events) == []


def run_stream(hub, source, steps):
    """Run one of `steps` after each event, then disconnect; return the events sent."""

    async def run():
        stream = EventStream(source, hub)
        chunks: asyncio.Queue[Any] = asyncio.Queue()
        disconnected = asyncio.Event()

        async def receive():
            await disconnected.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            chunks.put_nowait(message.get("body", b""))

        scope = {"type": "http", "asgi": {"spec_version": "2.3"}, "method": "GET"}
        sending = asyncio.create_task(stream(scope, receive, send))
        sent = []
        for step in steps:
            while not (chunk := await chunks.get()):
                pass
            sent.append(chunk.decode())
            step()
        disconnected.set()
        await sending
        return list(parse("".join(sent).splitlines()))

    return asyncio.run(run())


def nothing():
    pass


def test_changes_that_a_page_has_not_received_are_merged(logdir):
    hub, source = Hub(), Source(logdir)

    def publish():
        hub.publish(Changed(2, ["a"], ["old"]))
        hub.publish(Changed(3, ["b"], ["a", "old"]))

    assert run_stream(hub, source, [publish, nothing]) == [
        ("ping", {"generation": 1}),
        ("change", {"generation": 3, "new": ["a", "b"], "changed": ["old"]}),
    ]


def test_an_idle_stream_sends_pings(logdir):
    sent = run_stream(Hub(ping_seconds=0.001), Source(logdir), [nothing] * 4)
    assert sent == [("ping", {"generation": 1})] * 4


def test_a_closed_page_is_removed(logdir):
    hub = Hub()
    run_stream(hub, Source(logdir), [lambda: None])
    assert len(hub) == 0


def test_a_page_that_disconnects_before_its_stream_begins_is_removed(logdir):
    hub = Hub()
    stream = EventStream(Source(logdir), hub)
    assert len(hub) == 1

    async def fail(_):
        raise OSError

    scope = {"type": "http", "asgi": {"spec_version": "2.4"}, "method": "GET"}
    with pytest.raises(Exception):  # noqa: B017, PT011 - Starlette decides what to raise
        asyncio.run(stream(scope, None, fail))
    assert len(hub) == 0


def test_rule_28_the_number_of_pages_is_limited(logdir):
    hub = Hub(most=2)
    first = hub.join()
    hub.join()
    with pytest.raises(TooBusy, match="2 pages are already open"):
        hub.join()
    hub.leave(first)
    hub.join()


def test_a_closed_hub_ends_its_streams_and_accepts_no_more(logdir):
    hub = Hub()
    assert run_stream(hub, Source(logdir), [hub.close]) == [("ping", {"generation": 1})]
    with pytest.raises(TooBusy, match="shutting down"):
        hub.join()


def test_a_run_that_was_new_and_then_grew_is_new():
    both = merge(Changed(2, ["a"], ["x"]), Changed(5, ["b"], ["a", "y", "x"]))
    assert both == Changed(5, ["a", "b"], ["x", "y"])


def test_a_name_cannot_end_its_event():
    event = encode_event("change", {"new": ["a\n\nevent: evil\ndata: 1", "\udc80"]})
    assert event.count(b"\n") == 3


def test_a_head_request_does_not_open_a_stream(logdir):
    answer = open_client(logdir).head("/api/events")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")


def test_a_live_server_reports_that_it_is_live(logdir):
    with open_client(logdir) as client:
        assert client.get("/api/status").json()["isLive"] is True
