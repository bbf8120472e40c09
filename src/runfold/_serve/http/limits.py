"""Limits on what a client can use: body size, URL length, time and concurrent requests."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._humanize import human_bytes
from runfold._serve.http.error_responses import TooLarge, error_response
from runfold._serve.http.security import PROXY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Path of the streams. Each stays open until its page is closed.
STREAM = "/api/events"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server.

    Attributes:
        body: bytes of a request body; enough for the names of 20,000 runs.
        address: bytes of path and query.
        requests: concurrent requests. One page sends dozens, and several can be open.
        streams: concurrent streams, one per open page.
        proxied: concurrent requests to instances, without limits on size or time.
        seconds: time for a request, from its first byte to the last byte of the response.
        strangers: concurrent connections that have not logged in.
        connections: concurrent connections that have logged in. Together with `strangers`
            they must fit within the 1,024 open files that most systems allow.
        silence: seconds after which a connection without a complete request is closed.
    """

    body: int = 4 << 20
    address: int = 32 << 10
    requests: int = 512
    streams: int = 100
    proxied: int = 500
    seconds: float = 60.0
    strangers: int = 256
    connections: int = 700
    silence: int = 30


class Limiter:
    """Rejects requests beyond the limits, at almost no cost."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._open = {"request": 0, "stream": 0, "proxied request": 0}
        self._most = {
            "request": limits.requests,
            "stream": limits.streams,
            "proxied request": limits.proxied,
        }
        self._streams: set[asyncio.Timeout] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request within the limits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limits = self._limits
        address = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        if address > limits.address:
            refusal = f"The URL is longer than {human_bytes(limits.address)}."
            await error_response(refusal, 414)(scope, receive, send)
            return
        is_stream = scope["path"] == STREAM
        is_proxied = scope["path"].startswith(PROXY)
        kind = "stream" if is_stream else "proxied request" if is_proxied else "request"
        if self._open[kind] >= self._most[kind]:
            busy = error_response(
                f"Too many open {kind}s. Try again in a moment.", 429, {"Retry-After": "1"}
            )
            await busy(scope, receive, send)
            return
        with self._counted(kind):
            if is_proxied:
                await self._app(scope, receive, send)
            else:
                await self._serve(scope, receive, send, is_stream)

    def end_streams(self) -> None:
        """End all streams now, each with a proper last chunk."""
        for clock in self._streams:
            clock.reschedule(0)

    @contextmanager
    def _counted(self, kind: str) -> Iterator[None]:
        self._open[kind] += 1
        try:
            yield
        finally:
            self._open[kind] -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send, is_stream: bool) -> None:
        clock = asyncio.timeout(None if is_stream else self._limits.seconds)
        has_begun = False

        async def send_on(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            async with clock:
                if is_stream:
                    self._streams.add(clock)
                await self._app(scope, self._capped(receive), send_on)
        except TimeoutError:
            if not clock.expired():
                raise
            if is_stream and has_begun:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            elif not has_begun:
                late = "The request took too long and was cancelled."
                await error_response(late, 503)(scope, receive, send)
            # Any other response is cut off, so that the client does not treat it as complete.
        finally:
            self._streams.discard(clock)

    def _capped(self, receive: Receive) -> Receive:
        """Wrap `receive` to raise TooLarge for a body over the limit, whatever its headers say."""
        taken = 0

        async def receive_some() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._limits.body:
                raise TooLarge(f"The body is larger than {human_bytes(self._limits.body)}.")
            return message

        return receive_some
