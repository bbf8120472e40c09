"""The application's responses to requests made in this process, recorded for a report."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from runfold._humanize import human_bytes
from runfold._serve.http.error_responses import TooLarge
from runfold._serve.page_vocabulary import CHART_ONLY_FIELDS
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.applications import Starlette
    from starlette.types import Message

    # A query's pairs, in order, or a body's fields.
    Content = Sequence[tuple[str, str]] | Mapping[str, Any]

# Browsers still open a file of this size, and most mail programs send it.
LARGEST = 64 << 20


class Recording:
    """The application's responses, by request."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._kept: dict[str, tuple[int, str, bool, str]] = {}
        self._size = 0

    async def fetch(self, path: str, content: Content = ()) -> tuple[str, bytes]:
        """Return a response's media type and bytes; a request with a body is a POST.

        The request goes straight to the routes; the guard applies only to outside clients.
        Raises the route's exceptions.
        """
        query, body = "", b""
        if isinstance(content, Mapping):
            body = json.dumps(content).encode()
        else:
            query = urlencode(content)
        scope = {
            "type": "http",
            "app": self._app,
            "http_version": "1.1",
            "method": "POST" if body else "GET",
            "path": path,
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(b"content-type", b"application/json")],
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self._app.router(scope, receive, send)
        kind = dict(sent[0]["headers"])[b"content-type"].decode()
        return kind, b"".join(message.get("body", b"") for message in sent[1:])

    async def record(
        self, path: str, content: Content = (), sent_content: Content | None = None
    ) -> bytes:
        """Record the response to a request.

        If `sent_content` is given, it is sent instead of `content`. Error responses are
        recorded too, because the page would show them.
        """
        try:
            kind, data = await self.fetch(path, content if sent_content is None else sent_content)
        except RunfoldError as error:
            kind, data = "application/json", json.dumps({"error": str(error)}).encode()
            await self.keep(path, content, kind, data, status=400)
        else:
            await self.keep(path, content, kind, data)
        return data

    async def keep(
        self, path: str, content: Content, kind: str, data: bytes, status: int = 200
    ) -> None:
        """Store a response. Raises TooLarge if all responses together exceed the size limit."""
        # Blobs are compressed already.
        is_packed = path != "/api/blob"
        if is_packed:
            data = await asyncio.to_thread(gzip.compress, data, 6, mtime=0)
        text = base64.b64encode(data).decode()
        self._size += len(text)
        if self._size > LARGEST:
            raise TooLarge(
                f"The report would be larger than {human_bytes(LARGEST)}."
                " Choose fewer runs, or filter the tags."
            )
        self._kept[make_key(path, content)] = (status, kind, is_packed, text)

    def list(self) -> list[tuple[str, int, str, bool, str]]:
        """Return each response as key, status, media type, whether it is compressed, and base64."""
        return [(key, *kept) for key, kept in self._kept.items()]


def make_key(path: str, content: Content) -> str:
    """Return the key by which the page looks up a response (`web/src/data/report.ts`)."""
    if isinstance(content, Mapping):
        fields = sorted(
            (name, value) for name, value in content.items() if name not in CHART_ONLY_FIELDS
        )
        return _spell(["POST", path, fields])
    return _spell(["GET", path, list(content)])


def _spell(value: Any) -> str:
    """Return JSON in the form that a browser produces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
