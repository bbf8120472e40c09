"""Changes told to every open page, as server-sent events."""

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
# Proxies close what is silent for a minute; a page that hears nothing for so long reconnects.
_PING_SECONDS = 15.0


class Client:
    """One open page. What it was not told yet is put together, so that it cannot pile up."""

    def __init__(self) -> None:
        self.is_closed = False
        self._waiting: Changed | None = None
        # Events of other names; of each only the last counts.
        self._others: dict[str, object] = {}
        self._woken = asyncio.Event()

    def tell(self, changed: Changed) -> None:
        """Let the page know, as soon as it takes more."""
        self._waiting = changed if self._waiting is None else merge(self._waiting, changed)
        self._woken.set()

    def announce(self, name: str, data: object) -> None:
        """Let the page know of something else; what was said under that name before is dropped."""
        self._others[name] = data
        self._woken.set()

    def take_others(self) -> dict[str, object]:
        """What was announced since it was last asked."""
        others, self._others = self._others, {}
        return others

    def close(self) -> None:
        """End the stream."""
        self.is_closed = True
        self._woken.set()

    async def wait(self, seconds: float) -> Changed | None:
        """What changed; None where nothing did for so long, or the stream is to end."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return None
        self._woken.clear()
        changed, self._waiting = self._waiting, None
        return changed


class Hub:
    """All open pages; used in the server's event loop only."""

    def __init__(self, most: int = _MOST_CLIENTS, ping_seconds: float = _PING_SECONDS) -> None:
        self.ping_seconds = ping_seconds
        self._most = most
        self._clients: set[Client] = set()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._clients)

    def join(self) -> Client:
        """A new page. Raises TooBusy if there are too many, or the server is about to end."""
        if self._is_closed:
            raise TooBusy("The server is about to end.")
        if len(self._clients) >= self._most:
            raise TooBusy(f"{self._most} pages are open already. Close one.")
        client = Client()
        self._clients.add(client)
        return client

    def leave(self, client: Client) -> None:
        """Forget a page that was closed."""
        self._clients.discard(client)

    def publish(self, changed: Changed) -> None:
        """Tell all pages."""
        for client in self._clients:
            client.tell(changed)

    def announce(self, name: str, data: object) -> None:
        """Tell all pages of something else than runs."""
        for client in self._clients:
            client.announce(name, data)

    def close(self) -> None:
        """End all streams: a server that waits for its connections would wait for ever."""
        self._is_closed = True
        for client in self._clients:
            client.close()


class EventStream(StreamingResponse):
    """A stream of events for one page, which leaves the hub however the stream ends."""

    media_type = "text/event-stream"

    def __init__(self, source: Source, hub: Hub) -> None:
        self._source = source
        self._hub = hub
        self._client = hub.join()
        super().__init__(self._events())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until either side ends it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave(self._client)

    async def _events(self) -> AsyncIterator[bytes]:
        # At once, so that a page that was away sees by the generation what it missed.
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
    """One event; JSON has no line breaks that could end it."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), bytes(JsonResponse(data).body))


def merge(before: Changed, after: Changed) -> Changed:
    """Two changes as one: a run that was new and then changed is new."""
    new = list(dict.fromkeys([*before.new, *after.new]))
    is_new = set(new)
    changed = dict.fromkeys([*before.changed, *after.changed])
    return Changed(after.generation, new, [name for name in changed if name not in is_new])


@endpoint("GET /api/events", response=Response)
async def events(request: Request) -> Response:
    """Changes as they are found, and a sign of life in between."""
    if request.method == "HEAD":  # has no end to wait for
        return Response(media_type=EventStream.media_type)
    return EventStream(request.app.state.source, request.app.state.hub)
