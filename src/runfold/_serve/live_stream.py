"""Server-sent events that report changes to every open page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import TooBusy
from runfold._serve.http.json_response import JsonResponse
from runfold._serve.run_source import Changed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from runfold._serve.run_source import Source

_MOST_CLIENTS = 100
# Proxies close a connection after a minute of silence; the page would have to reconnect.
_PING_SECONDS = 15.0


class Client:
    """One open page. Changes that it has not received yet are merged, so they cannot pile up."""

    def __init__(self) -> None:
        self.is_closed = False
        self._waiting: Changed | None = None
        # The latest event of each name, except changes to runs.
        self._others: dict[str, object] = {}
        self._woken = asyncio.Event()

    def publish(self, changed: Changed) -> None:
        """Queue a change for the page, merged with all changes not yet sent to it."""
        self._waiting = changed if self._waiting is None else merge(self._waiting, changed)
        self._woken.set()

    def announce(self, name: str, data: object) -> None:
        """Queue another event for the page; it replaces an unsent event with the same name."""
        self._others[name] = data
        self._woken.set()

    def take_others(self) -> dict[str, object]:
        """Return the events announced since the last call."""
        others, self._others = self._others, {}
        return others

    def close(self) -> None:
        """End the stream."""
        self.is_closed = True
        self._woken.set()

    async def wait(self, seconds: float) -> Changed | None:
        """Return the next change, or None after `seconds` or when another event is queued."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return None
        self._woken.clear()
        changed, self._waiting = self._waiting, None
        return changed


class Hub:
    """All open pages. Use it only in the server's event loop."""

    def __init__(self, most: int = _MOST_CLIENTS, ping_seconds: float = _PING_SECONDS) -> None:
        self.ping_seconds = ping_seconds
        self._most = most
        self._clients: set[Client] = set()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._clients)

    def join(self) -> Client:
        """Return a new client. Raises TooBusy if too many are open or the server is stopping."""
        if self._is_closed:
            raise TooBusy("The server is shutting down.")
        if len(self._clients) >= self._most:
            raise TooBusy(f"{self._most} pages are already open. Close one and try again.")
        client = Client()
        self._clients.add(client)
        return client

    def leave(self, client: Client) -> None:
        """Remove the client of a closed page."""
        self._clients.discard(client)

    def publish(self, changed: Changed) -> None:
        """Send a change to all pages."""
        for client in self._clients:
            client.publish(changed)

    def announce(self, name: str, data: object) -> None:
        """Send all pages an event that does not concern runs."""
        for client in self._clients:
            client.announce(name, data)

    def close(self) -> None:
        """End all streams. Otherwise the server would wait for their connections forever."""
        self._is_closed = True
        for client in self._clients:
            client.close()


class EventStream(StreamingResponse):
    """A stream of events for one page. The page leaves the hub when the stream ends."""

    media_type = "text/event-stream"

    def __init__(self, source: Source, hub: Hub) -> None:
        self._source = source
        self._hub = hub
        self._client = hub.join()
        super().__init__(self._events())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until either side closes the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave(self._client)

    async def _events(self) -> AsyncIterator[bytes]:
        # Send this at once: a reconnected page checks the generation to see if it missed a change.
        yield encode_event("ping", {"generation": self._source.generation})
        while not self._client.is_closed:
            changed = await self._client.wait(self._hub.ping_seconds)
            others = self._client.take_others()
            for name, data in others.items():
                yield encode_event(name, data)
            if changed is not None:
                yield encode_event(
                    "change",
                    {
                        "generation": changed.generation,
                        "new": changed.new,
                        "changed": changed.changed,
                    },
                )
            elif not others and not self._client.is_closed:
                yield encode_event("ping", {"generation": self._source.generation})


def encode_event(name: str, data: object) -> bytes:
    """Return one encoded event. JSON contains no line break that could end the event early."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), bytes(JsonResponse(data).body))


def merge(before: Changed, after: Changed) -> Changed:
    """Merge two changes. A run that was new and then changed is reported as new."""
    new = list(dict.fromkeys([*before.new, *after.new]))
    is_new = set(new)
    changed = dict.fromkeys([*before.changed, *after.changed])
    return Changed(after.generation, new, [name for name in changed if name not in is_new])


@endpoint("GET /api/events", response=Response)
async def events(request: Request) -> Response:
    """Stream changes as server-sent events, with a periodic ping."""
    if request.method == "HEAD":  # the stream itself would never end
        return Response(media_type=EventStream.media_type)
    return EventStream(request.app.state.source, request.app.state.hub)
