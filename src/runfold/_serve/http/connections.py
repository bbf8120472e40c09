"""Open connections. Connections without a login are counted separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

# Key, in a request's state, for the function to call when the client is authenticated.
ADMIT = "runfold.admit"


class Crowd:
    """Up to `most` open connections, in order of arrival.

    A further connection closes the oldest idle one or, if none is idle, the oldest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Add a connection; close another if there are too many."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._open))
            ending = next((idle for idle in self._open if idle.is_waiting), oldest)
            self.remove(ending)
            # `close` is not used: it would wait for a client that does not read.
            ending.transport.abort()
        self._open[connection] = None

    def remove(self, connection: Connection) -> None:
        """Remove a connection."""
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """A connection that closes if no complete request arrives for `timeout_keep_alive` seconds.

    uvicorn's own timer starts with the first response, and any byte stops it, so a
    client without a login could hold all connections forever.

    The connection counts as one of the `strangers` until the guard admits a request on
    it, then as one of the `known`. Strangers can displace only each other.
    """

    _clock: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, strangers: Crowd, known: Crowd, **options: Any) -> None:
        super().__init__(*args, **options)
        self._crowd = strangers
        self._known = known
        self.app_state = {**self.app_state, ADMIT: self._admit}

    @property
    def is_waiting(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._crowd.add(self)
        self._wait()

    def on_response_complete(self) -> None:
        """Start waiting for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
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
        # A request in progress has its own time limit.
        if self.is_waiting:
            self.transport.close()
