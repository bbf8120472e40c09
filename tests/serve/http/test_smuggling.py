"""Malformed raw requests do not reach an instance or a route without a login."""

import contextlib
import re
import socket

import httpx
import pytest
from helpers.upstreams import proxying

# Sent after a request. It would be a separate request if two servers disagreed on where the
# first one ends.
HIDDEN = "GET /proxy/ID/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
# Headers and bodies of requests that have the token.
FRAMINGS = {
    "length and chunks": ("Content-Length: 6\r\nTransfer-Encoding: chunked", f"0\r\n\r\n{HIDDEN}"),
    "chunks twice": (
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        f"0\r\n\r\n{HIDDEN}",
    ),
    "unknown coding": ("Transfer-Encoding: xchunked", f"0\r\n\r\n{HIDDEN}"),
    "space before the colon": ("Transfer-Encoding : chunked", f"0\r\n\r\n{HIDDEN}"),
    "folded header": ("X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 0", HIDDEN),
    "two lengths": ("Content-Length: 0\r\nContent-Length: 9", HIDDEN),
    "list of lengths": ("Content-Length: 0, 9", HIDDEN),
    "signed length": ("Content-Length: +0", HIDDEN),
    "negative length": ("Content-Length: -1", HIDDEN),
    "hexadecimal length": ("Content-Length: 0x5", HIDDEN),
    "bad size of a chunk": ("Transfer-Encoding: chunked", f"zz\r\n\r\n{HIDDEN}"),
    "huge size of a chunk": ("Transfer-Encoding: chunked", f"{'f' * 40}\r\n{HIDDEN}"),
    "bare line feeds": ("Transfer-Encoding: chunked", f"0;x=y\n\n{HIDDEN}"),
    "key from outside": ("X-Runfold-Key: mine\r\nx_runfold_key: mine\r\nContent-Length: 0", HIDDEN),
    "key as a hop": ("Connection: X-Runfold-Key\r\nContent-Length: 0", HIDDEN),
    "host and length as hops": ("Connection: host, content-length\r\nContent-Length: 0", HIDDEN),
    "coding as a hop": (
        "Connection: transfer-encoding\r\nTransfer-Encoding: chunked",
        f"0\r\n\r\n{HIDDEN}",
    ),
    "web socket": ("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0", HIDDEN),
    "expectation": ("Expect: 100-continue\r\nContent-Length: 0", HIDDEN),
    "huge header": (f"X: {'x' * 70_000}\r\nContent-Length: 0", HIDDEN),
    "many headers": (
        "\r\n".join(f"X-{n}: y" for n in range(2000)) + "\r\nContent-Length: 0",
        HIDDEN,
    ),
    "zero byte": ("X: a\0b\r\nContent-Length: 0", HIDDEN),
}
PATHS = {
    "line breaks": "/proxy/ID/a%0d%0aX-Runfold-Key:%20mine",
    "raw space": "/proxy/ID/a b",
    "above the prefix": "/proxy/ID/../../above",
    "escaped above the prefix": "/proxy/ID/%2e%2e/%2e%2e/above",
}
METHODS = ["HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "CONNECT", "PROPFIND"]


@pytest.fixture
def proxied(tmp_path):
    with proxying(tmp_path, silence=1) as proxied:
        yield proxied


def send(proxied, *requests):
    """Send all requests at once; return the statuses that each connection gets until it ends."""
    port = httpx.URL(proxied.url).port
    statuses = []
    with contextlib.ExitStack() as ending:
        opened = []
        for request in requests:
            connection = socket.create_connection(("127.0.0.1", port), 60)
            opened.append(ending.enter_context(connection))
            with contextlib.suppress(ConnectionError):  # the server may close it early
                # Not just "ID", which can occur in a token.
                request = request.replace("/proxy/ID", f"/proxy/{proxied.instance.id}")
                connection.sendall(request.encode())
        for connection in opened:
            pieces = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    pieces += piece
            # Without status 100, which only asks for the body.
            statuses.append([*map(int, re.findall(rb"HTTP/1\.1 ([2-5]\d+) ", pieces))])
    return statuses


def with_token(proxied, line, headers="", body=""):
    token = f"Authorization: Bearer {proxied.access.token}"
    head = "\r\n".join(filter(None, [f"{line} HTTP/1.1", "Host: localhost", token, headers]))
    return f"{head}\r\n\r\n{body}"


def check_instance(proxied):
    """Check that no hidden request, and no request without its key, reached the instance."""
    for _, path, received in proxied.upstream.seen:
        assert "smuggled" not in path
        headers = {name.lower(): value for name, value in received.items()}
        assert headers["x-runfold-key"] == proxied.instance.key
        assert "authorization" not in headers
    assert proxied.client.get("/api/status").status_code == 200


def test_requests_of_unclear_length_hide_no_other_request(proxied):
    line = "POST /proxy/ID/echo"
    sent = [with_token(proxied, line, *framing) for framing in FRAMINGS.values()]
    statuses = dict(zip(FRAMINGS, send(proxied, *sent), strict=True))
    # Any request after the first response is rejected, because it has no token.
    assert {name: codes for name, codes in statuses.items() if set(codes[1:]) - {400, 403}} == {}
    check_instance(proxied)


def test_odd_paths_and_methods_stay_with_the_instance(proxied):
    lines = [f"GET {path}" for path in PATHS.values()]
    lines += [f"{method} /proxy/ID/echo" for method in METHODS]
    json = "Content-Type: application/json\r\nContent-Length: 0"
    statuses = send(proxied, *(with_token(proxied, line, json, HIDDEN) for line in lines))
    statuses_by_line = dict(zip(lines, statuses, strict=True))
    assert {
        line: codes for line, codes in statuses_by_line.items() if set(codes[1:]) - {400, 403}
    } == {}
    check_instance(proxied)


def test_requests_without_a_token_are_refused_in_any_form(proxied):
    token = f"Authorization: Bearer {proxied.access.token}"
    requests = [
        HIDDEN,
        "GET /api/status HTTP/1.0\r\n\r\n",
        f"GET /api/status HTTP/1.0\r\n{token}\r\n\r\n",
        f"GET /api/status HTTP/1.1\r\n{token}\r\n\r\n",
        f"GET http://localhost/api/status HTTP/1.1\r\nHost: evil.example\r\n{token}\r\n\r\n",
        "GET /api/status HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: GET\r\n\r\n",
        f"GET /api/status?token={proxied.access.token} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"GET /api/status HTTP/1.1\r\nHost: localhost\r\n"
        f"Cookie: {proxied.access.cookie_name}={proxied.access.token}\r\n\r\n",
    ]
    statuses = send(proxied, *requests)
    assert [codes in ([400], [403]) for codes in statuses] == [True] * len(requests), statuses
    # Each of two requests on one connection needs the token.
    first = with_token(proxied, "GET /api/status")
    assert send(proxied, first + HIDDEN) == [[200, 403]]
    assert proxied.upstream.seen == []
