"""The server on a real socket: streams, half requests, and how it ends with them open."""

import asyncio
import socket
import threading
from contextlib import contextmanager

import httpx
import pytest
from logs import scalars, write
from starlette.responses import StreamingResponse
from starlette.routing import Route

from runfold.serve.access import Access
from runfold.serve.app import make_app
from runfold.serve.limits import STREAM, Limits
from runfold.serve.security import HEADERS
from runfold.serve.server import CannotServe, Server, find_names, listen, make_url
from runfold.serve.source import Source


@pytest.fixture
def serve(tmp_path):
    """A function that serves a log in a thread: gives a client with the token, and the server."""
    write(tmp_path / "a", scalars("loss", (0, 1.0)))

    @contextmanager
    def start(*routes, **limits):
        listening = listen("127.0.0.1", 0)
        access = Access(port=listening.getsockname()[1])
        app = make_app(Source(tmp_path), access, Limits(**limits))
        app.router.routes[:0] = routes
        ready = threading.Event()
        server = Server(app, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert ready.wait(60)
            headers = {"Authorization": f"Bearer {access.token}"}
            url = make_url("127.0.0.1", listening)
            with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                yield client, server
        finally:
            server.handle_exit(0, None)
            thread.join(60)
            assert not thread.is_alive()
            listening.close()

    return start


async def stream(request):
    async def events():
        yield b"data: first\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(events(), media_type="text/event-stream")


EVENTS = Route(STREAM, stream)


def test_streams_end_in_good_order_with_the_server(serve):
    with serve(EVENTS) as (client, server), client.stream("GET", STREAM) as answer:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        chunks = answer.iter_raw()
        assert next(chunks) == b"data: first\n\n"
        server.handle_exit(0, None)
        # A stream that broke off would raise RemoteProtocolError.
        assert list(chunks) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x"},
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_rule_12_a_stream_is_refused_before_it_begins(serve, headers):
    with serve(EVENTS) as (client, _):
        answer = client.get(STREAM, headers=headers)
        assert answer.status_code == 403
        assert "first" not in answer.text


def test_a_client_that_leaves_makes_room_for_another(serve):
    left = threading.Event()

    async def endless(request):
        async def events():
            try:
                while True:
                    yield b"x" * 65536
                    await asyncio.sleep(0)
            finally:
                left.set()

        return StreamingResponse(events())

    with serve(Route(STREAM, endless), streams=1) as (client, _):
        for _ in range(3):
            with client.stream("GET", STREAM) as answer:
                assert answer.status_code == 200
            assert left.wait(60)
            left.clear()


def test_rule_28_endless_headers_are_refused(serve):
    with serve() as (client, _):
        try:
            status = client.get("/api/status", headers={"X-Long": "x" * 200_000}).status_code
        except httpx.TransportError:  # closed before all was sent
            status = 400
        assert status in (400, 431)
        assert client.get("/api/status").status_code == 200


def test_rule_28_connections_have_a_limit(serve):
    with serve(connections=2) as (client, _):
        client.get("/api/status")  # keeps its connection
        assert httpx.get(client.base_url, headers=client.headers).status_code == 503


@pytest.mark.parametrize(
    "said",
    [
        "",
        "GET /api/status HTTP/1.1\r\nHost: loc",
        "POST /api/sql HTTP/1.1\r\nHost: evil\r\nContent-Length: 1000\r\n\r\n{",
        "GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET / HT",
    ],
)
def test_rule_28_connections_without_a_whole_request_end(serve, said):
    with (
        serve(silence=1) as (client, _),
        socket.create_connection(("127.0.0.1", client.base_url.port), 60) as connection,
    ):
        connection.sendall(said.encode())
        heard = b"".join(iter(lambda: connection.recv(65536), b""))
    assert heard == b"" or heard.startswith(b"HTTP/1.1 403")


def test_a_stream_outlasts_the_silence_of_its_reader(serve):
    go = asyncio.Event()

    async def events():
        yield b"first"
        await go.wait()
        yield b"last"

    async def stream(request):
        asyncio.get_running_loop().call_later(2, go.set)
        return StreamingResponse(events())

    with serve(Route(STREAM, stream), silence=1) as (client, _):
        assert client.get(STREAM).text == "firstlast"


def test_answers_do_not_say_what_serves_them(serve):
    with serve() as (client, _):
        assert "server" not in client.get("/api/status").headers


def test_first_free_port_is_taken_where_none_was_asked_for():
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        assert first.getsockname()[1] < second.getsockname()[1]
        with pytest.raises(CannotServe, match="is taken"):
            listen("127.0.0.1", first.getsockname()[1])


def test_every_name_of_the_machine_is_answered_to_where_all_addresses_are_served():
    with listen("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        assert make_url("0.0.0.0", listening) == f"http://{socket.gethostname()}:{port}"
        assert {socket.gethostname().lower(), "127.0.0.1"} <= find_names("0.0.0.0", listening)
