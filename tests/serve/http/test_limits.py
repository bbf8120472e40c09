"""Rule 28: limits on what one client can use."""

import asyncio
import threading

import pytest
from helpers.logs import scalars, write
from helpers.serving import open_client
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from runfold._serve.http.limits import STREAM, Limits


@pytest.fixture
def served(tmp_path):
    """Return a function that serves additional routes with the given limits."""
    write(tmp_path / "a", scalars("loss", (0, 1.0)))

    def serve(*routes, **limits):
        client = open_client(tmp_path, limits=Limits(**limits))
        client.app.router.routes[:0] = routes
        return client

    return serve


async def measure(request):
    return JSONResponse({"size": len(await request.body())})


class Held:
    """An endpoint that responds when it is released."""

    def __init__(self):
        self.begun, self.release = threading.Semaphore(0), threading.Event()

    async def __call__(self, request):
        self.begun.release()
        await asyncio.to_thread(self.release.wait, 30)
        return JSONResponse({})


def in_thread(function, *args):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    return lambda: (thread.join(), results[0])[1]


def test_body_up_to_the_limit_is_accepted_and_a_larger_one_is_not(served):
    client = served(Route("/measure", measure, methods=["POST"]), body=1000)
    headers = {"Content-Type": "application/json"}
    accepted = client.post("/measure", content=b"x" * 1000, headers=headers)
    assert accepted.json() == {"size": 1000}
    refused = client.post("/measure", content=b"x" * 1001, headers=headers)
    assert refused.status_code == 413
    assert refused.json() == {"error": "The body is larger than 1.0 kB."}


def test_body_without_a_length_has_the_same_limit(served):
    client = served(Route("/measure", measure, methods=["POST"]), body=1000)
    chunks = iter([b"x" * 600] * 2)
    headers = {"Content-Type": "application/json"}
    assert client.post("/measure", content=chunks, headers=headers).status_code == 413


def test_long_url_is_refused(served):
    client = served(address=100)
    assert client.get("/api/status", params={"x": "y" * 80}).status_code != 414
    refused = client.get("/api/status", params={"x": "y" * 100})
    assert refused.status_code == 414
    assert refused.json() == {"error": "The URL is longer than 100 B."}


def test_requests_beyond_the_limit_get_a_retry_after(served):
    held = Held()
    with served(Route("/held", held.__call__), requests=2) as client:
        waiting = [in_thread(client.get, "/held") for _ in range(2)]
        for _ in waiting:
            assert held.begun.acquire(timeout=30)
        refused = client.get("/api/status")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        held.release.set()
        assert [response().status_code for response in waiting] == [200, 200]
        assert client.get("/api/status").status_code == 200


def test_request_that_takes_too_long_is_cancelled(served):
    async def never(request):
        await asyncio.Event().wait()

    client = served(Route("/never", never), seconds=0.05)
    response = client.get("/never")
    assert response.status_code == 503
    assert response.json() == {"error": "The request took too long and was cancelled."}


def test_timeout_raised_by_a_route_is_not_the_servers_limit(served):
    async def late(request):
        raise TimeoutError("raised by the route")

    assert served(Route("/late", late)).get("/late").status_code == 500


def test_a_stream_may_take_longer_than_a_request(served):
    async def events():
        yield b"first\n"
        await asyncio.sleep(0.1)
        yield b"second\n"

    async def stream(request):
        return StreamingResponse(events())

    with served(Route(STREAM, stream), seconds=0.05) as client:
        assert client.get(STREAM).text == "first\nsecond\n"


def test_streams_have_a_separate_limit_and_end_on_request(served):
    begun = threading.Semaphore(0)

    async def events():
        yield b"first\n"
        begun.release()
        await asyncio.Event().wait()

    async def stream(request):
        return StreamingResponse(events())

    with served(Route(STREAM, stream), streams=1, requests=1, seconds=60) as client:
        streaming = in_thread(client.get, STREAM)
        assert begun.acquire(timeout=30)
        assert client.get(STREAM).status_code == 429
        assert client.get("/api/status").status_code == 200
        client.portal.call(client.app.end_streams)
        assert streaming().text == "first\n"
