"""Open connections: strangers are counted apart from those who have logged in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

# In the state of a request: what to call when the request comes from a known client.
ADMIT = "runfold.admit"


class Crowd:
    """Up to `most` open connections, in the order of their arrival.

    A further one ends the oldest that waits for a request, or else the oldest of all.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Count a connection, and make room for it."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._open))
            ending = next((one for one in self._open if one.is_waiting), oldest)
            self.remove(ending)
            # Not `close`, which waits for a client that does not read.
            ending.transport.abort()
        self._open[connection] = None

    def remove(self, connection: Connection) -> None:
        """Count a connection no more."""
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """A connection that ends when no whole request came on it for `timeout_keep_alive` seconds.

    uvicorn's own clock begins with the first answer only, and any byte stops it: a
    stranger could hold all the connections there may be, for ever.

    It is one of the `strangers` until the guard admits a request on it, and from then
    on one of the `known`. However many strangers there are, they end only each other.
    """

    _clock: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, strangers: Crowd, known: Crowd, **options: Any) -> None:
        super().__init__(*args, **options)
        self._crowd = strangers
        self._known = known
        self.app_state = {**self.app_state, ADMIT: self._admit}

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._crowd.add(self)
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._crowd.remove(self)
        if self._clock is not None:
            self._clock.cancel()

    def _admit(self) -> None:
        if self._crowd is not self._known and not self.transport.is_closing():
            self._crowd.remove(self)
            self._crowd = self._known
            self._crowd.add(self)

    def _wait(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = self.loop.call_later(self.timeout_keep_alive, self._end_silence)

    def _end_silence(self) -> None:
        # One that is being answered has limits of its own.
        if self.is_waiting:
            self.transport.close()
