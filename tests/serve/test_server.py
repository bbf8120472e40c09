"""The server on a real socket: streams, partial requests, and shutdown with both open."""

import asyncio
import contextlib
import http.client
import resource
import socket
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
from helpers.logs import scalars, write
from helpers.servers import serving
from starlette.responses import StreamingResponse
from starlette.routing import Route

from runfold._serve.app import make_app
from runfold._serve.http.access import Access
from runfold._serve.http.limits import STREAM, Limits
from runfold._serve.http.security import HEADERS
from runfold._serve.run_source import Source
from runfold._serve.server import CannotServe, Server, find_names, listen, make_url


@pytest.fixture
def serve(tmp_path):
    """Return a function that serves a log and yields an authorized client and the server."""
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


def time_requests(send, count=30):
    """Return the seconds that a number of requests take."""
    began = time.perf_counter()
    for _ in range(count):
        assert send("/api/status").status_code == 200
    return time.perf_counter() - began


def test_a_reused_connection_is_not_slower_than_new_ones(serve):
    with serve() as (client, _):
        new = {"headers": {"Connection": "close"}}
        # A body that waits for the client to acknowledge the headers takes 40 times as long.
        ratios = [
            time_requests(client.get) / time_requests(lambda path: client.get(path, **new))
            for _ in range(5)
        ]
        assert min(ratios) < 4


def test_streams_end_properly_with_the_server(serve):
    with serve(EVENTS) as (client, server), client.stream("GET", STREAM) as answer:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        chunks = answer.iter_raw()
        assert next(chunks) == b"data: first\n\n"
        server.handle_exit(0, None)
        # A truncated stream would raise RemoteProtocolError.
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


def test_a_client_that_disconnects_makes_room_for_another(serve):
    disconnected = threading.Event()

    async def endless(request):
        async def events():
            try:
                while True:
                    yield b"x" * 65536
                    await asyncio.sleep(0)
            finally:
                disconnected.set()

        return StreamingResponse(events())

    with serve(Route(STREAM, endless), streams=1) as (client, _):
        for _ in range(3):
            with client.stream("GET", STREAM) as answer:
                assert answer.status_code == 200
            assert disconnected.wait(60)
            disconnected.clear()


def test_rule_28_endless_headers_are_refused(serve):
    with serve() as (client, _):
        try:
            status = client.get("/api/status", headers={"X-Long": "x" * 200_000}).status_code
        except httpx.TransportError:  # closed before everything was sent
            status = 400
        assert status in (400, 431)
        assert client.get("/api/status").status_code == 200


def send_request(client, path="/api/status", headers=()):
    """Return an open connection on which a request was sent."""
    connection = socket.create_connection(("127.0.0.1", client.base_url.port), 60)
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    connection.sendall("\r\n".join(lines).encode())
    return connection


def test_rule_28_connections_have_a_limit(serve):
    with serve(connections=2) as (client, _), contextlib.ExitStack() as ending:
        connections: list[http.client.HTTPConnection] = []
        for number in (0, 1, 2, 1):
            if number == len(connections):
                connection = http.client.HTTPConnection(
                    "127.0.0.1", client.base_url.port, timeout=60
                )
                connections.append(ending.enter_context(contextlib.closing(connection)))
                connection.connect()
                connection.auto_open = 0
            connections[number].request("GET", "/api/status", headers=dict(client.headers))
            response = connections[number].getresponse()
            assert (response.status, len(response.read()) > 0) == (200, True)
        # The oldest connection was closed.
        assert read_to_end(connections[0].sock) == b""


def read_to_end(connection):
    with contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


def test_rule_35_strangers_displace_only_each_other_even_during_a_response(serve):
    begun = threading.Semaphore(0)

    async def endless(request):
        begun.release()
        await asyncio.Event().wait()

    with serve(Route("/login", endless), strangers=2, connections=1) as (client, _):
        assert client.get("/api/status").status_code == 200  # keeps its connection
        with send_request(client, "/login") as first, send_request(client, "/login") as second:
            assert begun.acquire(timeout=60)
            assert begun.acquire(timeout=60)
            # An idle connection is closed before one with a request in progress.
            with socket.create_connection(("127.0.0.1", client.base_url.port), 60) as third:
                assert read_to_end(first) == b""
                with send_request(client, "/login") as fourth:
                    assert begun.acquire(timeout=60)
                    assert read_to_end(third) == b""
                    assert client.get("/api/status").status_code == 200
                    assert fourth.fileno() > 0
                    assert second.fileno() > 0


@pytest.fixture
def many_files():
    """Allow thousands of sockets in this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[1], 4096), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_rule_35_no_number_of_strangers_locks_the_owner_out(tmp_path, many_files):
    write(tmp_path / "logs" / "a", scalars("loss", (0, 1.0)))
    with (
        serving(tmp_path / "logs", "--token-file", tmp_path / "token") as served,
        contextlib.ExitStack() as ending,
        served.browse() as browser,
    ):
        assert browser.get(served.link).status_code == 303
        assert browser.get("/api/status").status_code == 200  # keeps its connection
        headers = {"Authorization": f"Bearer {(tmp_path / 'token').read_text()}"}
        strangers = []
        for _ in range(4):
            for _ in range(400):
                half = served.connect("GET /api/status HTTP/1.1\r\nHost: localhost\r\nX: ")
                strangers.append(ending.enter_context(half))
            assert browser.get("/api/status").status_code == 200
            newcomer = httpx.get(f"{served.url}/api/status", headers=headers, timeout=60)
            assert newcomer.status_code == 200
            with served.browse() as other:
                assert other.get(served.link).status_code == 303
                assert other.get("/api/status").status_code == 200
        assert read_to_end(strangers[0]) == b""


@pytest.mark.parametrize(
    "data",
    [
        "",
        "GET /api/status HTTP/1.1\r\nHost: loc",
        "POST /api/sql HTTP/1.1\r\nHost: evil\r\nContent-Length: 1000\r\n\r\n{",
        "GET / HTTP/1.1\r\nHost: evil\r\n\r\nGET / HT",
    ],
)
def test_rule_28_connections_without_a_complete_request_end(serve, data):
    with (
        serve(silence=1) as (client, _),
        socket.create_connection(("127.0.0.1", client.base_url.port), 60) as connection,
    ):
        connection.sendall(data.encode())
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received == b"" or received.startswith(b"HTTP/1.1 403")


def test_a_stream_outlasts_the_keep_alive_timeout(serve):
    resume = asyncio.Event()

    async def events():
        yield b"first"
        await resume.wait()
        yield b"last"

    async def stream(request):
        asyncio.get_running_loop().call_later(2, resume.set)
        return StreamingResponse(events())

    with serve(Route(STREAM, stream), silence=1) as (client, _):
        assert client.get(STREAM).text == "firstlast"


def test_responses_do_not_name_the_server_software(serve):
    with serve() as (client, _):
        assert "server" not in client.get("/api/status").headers


def test_first_free_port_is_used_by_default():
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        assert first.getsockname()[1] < second.getsockname()[1]
        with pytest.raises(CannotServe, match="is in use"):
            listen("127.0.0.1", first.getsockname()[1])


def test_server_on_all_addresses_accepts_every_name_of_the_machine():
    with listen("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        assert make_url("0.0.0.0", listening) == f"http://{socket.gethostname()}:{port}"
        assert {socket.gethostname().lower(), "127.0.0.1"} <= find_names("0.0.0.0", listening)
