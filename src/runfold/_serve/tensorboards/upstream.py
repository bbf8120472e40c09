"""One request to an instance, on its own connection: TensorBoard keeps no connection open.

h11 handles heads, and bodies without a length. A body with a length is forwarded as it
was read: at gigabytes per second, an extra copy would be noticeable.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import h11

from runfold._serve.http.pinned_tls import make_client_context

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from runfold._serve.tensorboards.process_files import Address

    Headers = Sequence[tuple[bytes, bytes]]

# How many bytes to read ahead of a slow client.
_AHEAD = 1 << 20
_LONGEST_HEAD = 64 << 10


class ConnectionCut(ConnectionError):
    """The connection ended before the response was complete."""


class Upstream(asyncio.Protocol):
    """A request and its response. Raises OSError and h11's ProtocolError."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)
        self._pieces: list[bytes] = []
        self._size = 0
        self._has_ended = self._is_paused = False
        self._readable = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._length: int | None = None

    @classmethod
    async def connect(cls, address: Address) -> Upstream:
        """Connect to an instance."""
        loop = asyncio.get_running_loop()
        context = make_client_context(address.certificate) if address.certificate else None
        _, upstream = await loop.create_connection(cls, address.host, address.port, ssl=context)
        return upstream

    def close(self) -> None:
        """Close the connection at once, and drop the rest of the response."""
        self._transport.abort()

    async def request(self, method: bytes, target: bytes, headers: Headers) -> None:
        """Send the head of the request."""
        self._method = method
        await self._send(h11.Request(method=method, target=target, headers=list(headers)))

    async def send_body(self, piece: bytes) -> None:
        """Send a piece of the body, as fast as the instance receives it."""
        await self._send(h11.Data(data=piece))

    async def end_body(self) -> None:
        """Mark the end of the body."""
        await self._send(h11.EndOfMessage())

    async def response(self) -> tuple[int, Headers]:
        """Return the status and the headers, with lowercase names."""
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise ConnectionCut("There was no response.")
        headers = cast("Headers", list(event.headers))
        has_body = self._method != b"HEAD" and event.status_code not in (204, 304)
        lengths = [value for name, value in headers if name == b"content-length"]
        is_chunked = any(name == b"transfer-encoding" for name, _ in headers)
        if has_body and lengths and not is_chunked:
            self._length = int(lengths[0])
        return event.status_code, headers

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises ConnectionCut if it is incomplete."""
        if self._length is None:
            while isinstance(event := await self._next(), h11.Data):
                yield bytes(event.data)
            return
        remaining = self._length
        first = self._http.trailing_data[0]
        pieces = [first] if first else []
        while remaining > 0:
            for piece in pieces:
                yield piece if len(piece) <= remaining else piece[:remaining]
                remaining -= len(piece)
            if remaining > 0 and not (pieces := await self._read()):
                raise ConnectionCut(f"{remaining} bytes of the response are missing.")

    async def _send(self, event: h11.Event) -> None:
        if self._has_ended:
            raise ConnectionCut("The instance has closed the connection.")
        data = self._http.send(event)
        if data:
            self._transport.write(data)
        await self._writable.wait()

    async def _next(self) -> object:
        event = self._http.next_event()
        while event is h11.NEED_DATA:
            pieces = await self._read()
            self._http.receive_data(b"".join(pieces))
            event = self._http.next_event()
        return event

    async def _read(self) -> list[bytes]:
        """Return the received data; an empty list at the end."""
        while not self._pieces and not self._has_ended:
            self._readable.clear()
            await self._readable.wait()
        pieces, self._pieces, self._size = self._pieces, [], 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return pieces

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Buffer received data; pause reading if too much is buffered."""
        self._pieces.append(data)
        self._size += len(data)
        self._readable.set()
        if self._size > _AHEAD and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """Record the end."""
        self._end()

    def connection_lost(self, error: Exception | None) -> None:
        """Record the end of the connection. An incomplete response is detected by its length."""
        self._end()

    def pause_writing(self) -> None:
        """Make the sender wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let the sender continue."""
        self._writable.set()

    def _end(self) -> None:
        self._has_ended = True
        self._readable.set()
        self._writable.set()
