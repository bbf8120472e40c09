"""Rule 28: what one client may take of the server."""

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
    """A function that serves endpoints beside those of the server, under some limits."""
    write(tmp_path / "a", scalars("loss", (0, 1.0)))

    def serve(*routes, **limits):
        client = open_client(tmp_path, limits=Limits(**limits))
        client.app.router.routes[:0] = routes
        return client

    return serve


async def measure(request):
    return JSONResponse({"size": len(await request.body())})


class Held:
    """An endpoint that answers when it is let go."""

    def __init__(self):
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()

    async def __call__(self, request):
        self.begun.release()
        await asyncio.to_thread(self.go_on.wait, 30)
        return JSONResponse({})


def in_thread(function, *args):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*args)))
    thread.start()
    return lambda: (thread.join(), results[0])[1]


def test_body_up_to_the_limit_is_taken_and_one_beyond_is_not(served):
    client = served(Route("/measure", measure, methods=["POST"]), body=1000)
    headers = {"Content-Type": "application/json"}
    taken = client.post("/measure", content=b"x" * 1000, headers=headers)
    assert taken.json() == {"size": 1000}
    refused = client.post("/measure", content=b"x" * 1001, headers=headers)
    assert refused.status_code == 413
    assert refused.json() == {"error": "The body is larger than 1.0 kB."}


def test_body_that_does_not_say_how_long_it_is_has_the_same_limit(served):
    client = served(Route("/measure", measure, methods=["POST"]), body=1000)
    chunks = iter([b"x" * 600] * 2)
    headers = {"Content-Type": "application/json"}
    assert client.post("/measure", content=chunks, headers=headers).status_code == 413


def test_long_address_is_refused(served):
    client = served(address=100)
    assert client.get("/api/status", params={"x": "y" * 80}).status_code != 414
    refused = client.get("/api/status", params={"x": "y" * 100})
    assert refused.status_code == 414
    assert refused.json() == {"error": "The address is longer than 100 B."}


def test_more_requests_than_allowed_are_asked_to_come_back(served):
    held = Held()
    with served(Route("/held", held.__call__), requests=2) as client:
        waiting = [in_thread(client.get, "/held") for _ in range(2)]
        for _ in waiting:
            assert held.begun.acquire(timeout=30)
        refused = client.get("/api/status")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        held.go_on.set()
        assert [answer().status_code for answer in waiting] == [200, 200]
        assert client.get("/api/status").status_code == 200


def test_request_that_takes_too_long_is_given_up(served):
    async def never(request):
        await asyncio.Event().wait()

    client = served(Route("/never", never), seconds=0.05)
    answer = client.get("/never")
    assert answer.status_code == 503
    assert answer.json() == {"error": "This took too long and was given up."}


def test_timeout_of_a_route_s_own_is_no_limit_of_the_server(served):
    async def late(request):
        raise TimeoutError("of its own")

    assert served(Route("/late", late)).get("/late").status_code == 500


def test_streams_have_a_limit_of_their_own_and_end_when_told(served):
    begun = threading.Semaphore(0)

    async def events():
        yield b"first\n"
        begun.release()
        await asyncio.Event().wait()

    async def stream(request):
        return StreamingResponse(events())

    with served(Route(STREAM, stream), streams=1, requests=1, seconds=0.05) as client:
        streaming = in_thread(client.get, STREAM)
        assert begun.acquire(timeout=30)
        assert client.get(STREAM).status_code == 429
        assert client.get("/api/status").status_code == 200
        client.portal.call(client.app.end_streams)
        assert streaming().text == "first\n"
