"""One request to an instance, over a connection of its own: TensorBoard's server keeps none open.

The head and whatever is not counted in bytes are h11's. A body whose length was
announced passes as it was read, without a further copy: at gigabytes a second
each of them is felt.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import h11

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    Headers = Sequence[tuple[bytes, bytes]]

# So much is read ahead of a slow client.
_AHEAD = 1 << 20
_LONGEST_HEAD = 64 << 10


class BrokenOff(ConnectionError):
    """A connection that ended before the answer did."""


class Upstream(asyncio.Protocol):
    """A request and its answer. Raises OSError and h11's ProtocolError where it goes wrong."""

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
    async def connect(cls, port: int) -> Upstream:
        """A connection to a port of this machine."""
        loop = asyncio.get_running_loop()
        _, upstream = await loop.create_connection(cls, "127.0.0.1", port)
        return upstream

    def close(self) -> None:
        """End the connection at once, and with it what is left of the answer."""
        self._transport.abort()

    async def ask(self, method: bytes, target: bytes, headers: Headers) -> None:
        """Send the head of the request."""
        self._method = method
        await self._send(h11.Request(method=method, target=target, headers=list(headers)))

    async def give(self, piece: bytes) -> None:
        """Send a piece of the body, as fast as it is taken."""
        await self._send(h11.Data(data=piece))

    async def end(self) -> None:
        """Say that the body ends here."""
        await self._send(h11.EndOfMessage())

    async def answer(self) -> tuple[int, Headers]:
        """The status and the headers, their names in small letters."""
        event = await self._next()
        while isinstance(event, h11.InformationalResponse):
            event = await self._next()
        if not isinstance(event, h11.Response):
            raise BrokenOff("There was no answer.")
        headers = cast("Headers", list(event.headers))
        has_body = self._method != b"HEAD" and event.status_code not in (204, 304)
        lengths = [value for name, value in headers if name == b"content-length"]
        is_chunked = any(name == b"transfer-encoding" for name, _ in headers)
        if has_body and lengths and not is_chunked:
            self._length = int(lengths[0])
        return event.status_code, headers

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes. Raises BrokenOff where it is not whole."""
        if self._length is None:
            while isinstance(event := await self._next(), h11.Data):
                yield bytes(event.data)
            return
        left = self._length
        begun = self._http.trailing_data[0]
        pieces = [begun] if begun else []
        while left > 0:
            for piece in pieces:
                yield piece if len(piece) <= left else piece[:left]
                left -= len(piece)
            if left > 0 and not (pieces := await self._read()):
                raise BrokenOff(f"{left} bytes of the answer are missing.")

    async def _send(self, event: h11.Event) -> None:
        if self._has_ended:
            raise BrokenOff("The instance does not listen any more.")
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
        """What has come; nothing at the end."""
        while not self._pieces and not self._has_ended:
            self._readable.clear()
            await self._readable.wait()
        pieces, self._pieces, self._size = self._pieces, [], 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return pieces

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Keep what has come, and no more than that while nobody takes it."""
        self._pieces.append(data)
        self._size += len(data)
        self._readable.set()
        if self._size > _AHEAD and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """Note the end."""
        self._end()

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end, in good order or not: what is missing is seen by its length."""
        self._end()

    def pause_writing(self) -> None:
        """Let the sender wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let the sender go on."""
        self._writable.set()

    def _end(self) -> None:
        self._has_ended = True
        self._readable.set()
        self._writable.set()
