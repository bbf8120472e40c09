"""Forwards requests under /proxy/<id>/ to the instance with this id, and returns its responses.

Requests and responses are streamed at the speed of the slower side; no body is buffered whole.
Secrets are not forwarded: our cookie and token never reach the instance, and its key and cookies
never reach the client.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

import h11

from runfold._serve.tensorboards.key_gate import KEY_HEADER
from runfold._serve.tensorboards.upstream import Upstream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Receive, Scope, Send

    from runfold._serve.tensorboards.process_files import Address
    from runfold._serve.tensorboards.upstream import Headers

_CONNECT_SECONDS = 10.0

_KEY = KEY_HEADER.lower().encode()
# Headers that apply to a single connection (RFC 9110, 7.6.1).
_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
# Headers that this server does not forward, because it uses or sets them itself.
_NOT_UP = _HOP | {b"authorization", b"cookie", b"expect", b"host", _KEY}
_NOT_DOWN = _HOP | {b"date", b"location", b"server", b"set-cookie", _KEY}


class CannotReach(Exception):
    """An instance does not respond, or its response cannot be forwarded."""


@dataclass(frozen=True, slots=True)
class Target:
    """An instance's address, path prefix and key."""

    address: Address
    prefix: str
    key: str


async def forward(target: Target, scope: Scope, receive: Receive, send: Send) -> None:
    """Forward a request, and send the response back.

    If the client disconnects, the request to the instance ends too. Raises CannotReach
    if there is no response. A response that breaks off later is left unfinished, so that
    the server also cuts it off for the client.
    """
    passing = asyncio.ensure_future(_pass(target, scope, client := _Client(scope, receive), send))
    leaving = asyncio.ensure_future(client.disconnected())
    try:
        await asyncio.wait((passing, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not passing.done():
            passing.cancel()
    with suppress(asyncio.CancelledError):
        await passing


async def _pass(target: Target, scope: Scope, client: _Client, send: Send) -> None:
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            upstream = await Upstream.connect(target.address)
    except OSError as error:
        raise CannotReach(str(error)) from None
    sending = None
    try:
        try:
            await upstream.request(scope["method"].encode(), _address(scope), _up(target, scope))
            # Sent in parallel, because an instance can respond before it has read everything.
            sending = asyncio.ensure_future(client.send_body(upstream))
            status, received = await upstream.response()
        except (OSError, h11.ProtocolError) as error:
            raise CannotReach(str(error)) from None
        headers = _down(target, scope, received)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        with suppress(OSError, h11.ProtocolError):
            async for piece in upstream.body():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        upstream.close()
        if sending is not None:
            sending.cancel()


class _Client:
    """The client: the body of its request, and afterwards whether the client is still connected."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    async def send_body(self, upstream: Upstream) -> None:
        """Forward the body. Errors are ignored here: reading the response reports them."""
        try:
            with suppress(OSError, h11.ProtocolError):
                has_more = True
                while has_more:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        return
                    has_more = message.get("more_body", False)
                    if message.get("body"):
                        await upstream.send_body(message["body"])
                await upstream.end_body()
        finally:
            self._is_read.set()

    async def disconnected(self) -> None:
        """Return when the client has disconnected."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _authority(target: Target) -> str:
    host = target.address.host
    return f"[{host}]:{target.address.port}" if ":" in host else f"{host}:{target.address.port}"


def _address(scope: Scope) -> bytes:
    query: bytes = scope["query_string"]
    path: bytes = scope["raw_path"]
    return path + b"?" + query if query else path


def _up(target: Target, scope: Scope) -> Headers:
    """Return the headers for the instance: the client's, except those that are ours."""
    received: Headers = scope["headers"]
    dropped = _NOT_UP | _hops(received)
    is_chunked = any(name == b"transfer-encoding" for name, _ in received)
    return [
        (b"host", _authority(target).encode()),
        (_KEY, target.key.encode()),
        (b"connection", b"close"),
        *([(b"transfer-encoding", b"chunked")] if is_chunked else []),
        *((name, value) for name, value in received if name not in dropped),
    ]


def _down(target: Target, scope: Scope, received: Headers) -> Headers:
    """Return the headers for the client: those of the instance, without its CORS headers."""
    dropped = _NOT_DOWN | _hops(received)
    headers = [
        (name, value)
        for name, value in received
        if name not in dropped and not name.startswith(b"access-control-")
    ]
    for name, value in received:
        if name == b"location":
            url = f"http://{_authority(target)}{scope['raw_path'].decode('latin-1')}"
            headers.append((name, _confine(value.decode("latin-1"), target, url).encode("latin-1")))
    return headers


def _hops(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Return the additional headers that are listed as specific to the connection."""
    listed = [value for name, value in headers if name == b"connection"]
    return frozenset(name.strip().lower() for value in listed for name in value.split(b","))


def _confine(location: str, target: Target, url: str) -> str:
    """Return a redirect's target without the host. Raises CannotReach if it leaves the prefix."""
    try:
        destination = urlsplit(urljoin(url, location))
    except ValueError:
        destination = urlsplit("")
    is_own = destination.netloc == urlsplit(url).netloc and destination.path.startswith(
        f"{target.prefix}/"
    )
    # Parse as browsers do: an escaped dot is a dot, and a backslash is a separator.
    if not is_own or ".." in unquote(destination.path).replace("\\", "/").split("/"):
        raise CannotReach("The instance redirects to another address.")
    return destination._replace(scheme="", netloc="").geturl()
