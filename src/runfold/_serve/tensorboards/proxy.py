"""Requests below /proxy/<id>/ handed on to that instance, and its answers handed back.

Both ways pass piece by piece, as fast as the slower side takes them; no body is
ever held whole. What is secret on one side never reaches the other: our cookie
and token stay here, and so do the instance's key and cookies.
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

    from runfold._serve.tensorboards.upstream import Headers

_CONNECT_SECONDS = 10.0

_KEY = KEY_HEADER.lower().encode()
# They speak of one connection, not of what passes through it (RFC 9110, 7.6.1).
_HOP = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
        *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
# What is ours, or is said anew.
_NOT_UP = _HOP | {b"authorization", b"cookie", b"expect", b"host", _KEY}
_NOT_DOWN = _HOP | {b"date", b"location", b"server", b"set-cookie", _KEY}


class CannotReach(Exception):
    """An instance that does not answer, or not in a way that may be handed on."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an instance listens, below which path, and the key that it asks for."""

    port: int
    prefix: str
    key: str


async def forward(target: Target, scope: Scope, receive: Receive, send: Send) -> None:
    """Hand a request on, and its answer back.

    A client that goes away ends the request at the instance too. Raises
    CannotReach while nothing was answered. An answer that breaks off later is left
    without its end, by which the server breaks it off for the client too.
    """
    passing = asyncio.ensure_future(_pass(target, scope, client := _Client(scope, receive), send))
    leaving = asyncio.ensure_future(client.left())
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
            upstream = await Upstream.connect(target.port)
    except OSError as error:
        raise CannotReach(str(error)) from None
    giving = None
    try:
        try:
            await upstream.ask(scope["method"].encode(), _address(scope), _up(target, scope))
            # At the same time: an instance may answer before it has read all.
            giving = asyncio.ensure_future(client.give(upstream))
            status, said = await upstream.answer()
        except (OSError, h11.ProtocolError) as error:
            raise CannotReach(str(error)) from None
        headers = _down(target, scope, said)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        with suppress(OSError, h11.ProtocolError):
            async for piece in upstream.body():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        upstream.close()
        if giving is not None:
            giving.cancel()


class _Client:
    """Who asks: the body of the request, and after it whether somebody still waits."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    async def give(self, upstream: Upstream) -> None:
        """Hand the body on; what goes wrong at the instance is seen by its answer."""
        try:
            with suppress(OSError, h11.ProtocolError):
                has_more = True
                while has_more:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        return
                    has_more = message.get("more_body", False)
                    if message.get("body"):
                        await upstream.give(message["body"])
                await upstream.end()
        finally:
            self._is_read.set()

    async def left(self) -> None:
        """Return when the client has gone away."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _address(scope: Scope) -> bytes:
    query: bytes = scope["query_string"]
    path: bytes = scope["raw_path"]
    return path + b"?" + query if query else path


def _up(target: Target, scope: Scope) -> Headers:
    """What the instance is told: as the client said it, but for what is ours."""
    said: Headers = scope["headers"]
    dropped = _NOT_UP | _hops(said)
    is_chunked = any(name == b"transfer-encoding" for name, _ in said)
    return [
        (b"host", b"127.0.0.1:%d" % target.port),
        (_KEY, target.key.encode()),
        (b"connection", b"close"),
        *([(b"transfer-encoding", b"chunked")] if is_chunked else []),
        *((name, value) for name, value in said if name not in dropped),
    ]


def _down(target: Target, scope: Scope, said: Headers) -> Headers:
    """What the client is told: as the instance said it, and whom it is for is said by us."""
    dropped = _NOT_DOWN | _hops(said)
    headers = [
        (name, value)
        for name, value in said
        if name not in dropped and not name.startswith(b"access-control-")
    ]
    for name, value in said:
        if name == b"location":
            url = f"http://127.0.0.1:{target.port}{scope['raw_path'].decode('latin-1')}"
            headers.append((name, _confine(value.decode("latin-1"), target, url).encode("latin-1")))
    return headers


def _hops(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """The further headers that are said to be of one connection."""
    listed = [value for name, value in headers if name == b"connection"]
    return frozenset(one.strip().lower() for value in listed for one in value.split(b","))


def _confine(location: str, target: Target, url: str) -> str:
    """Where a redirect leads to, without a host. Raises CannotReach where it leads elsewhere."""
    try:
        leads = urlsplit(urljoin(url, location))
    except ValueError:
        leads = urlsplit("")
    is_own = leads.netloc == urlsplit(url).netloc and leads.path.startswith(f"{target.prefix}/")
    # As a browser reads it: an escaped dot is one, and a backslash divides.
    if not is_own or ".." in unquote(leads.path).replace("\\", "/").split("/"):
        raise CannotReach("It redirects elsewhere.")
    return leads._replace(scheme="", netloc="").geturl()
