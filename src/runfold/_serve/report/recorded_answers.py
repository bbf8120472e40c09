"""Answers of the application to requests that are made in this process, kept for a report."""

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

    # Of a query in their order, or of a body.
    Content = Sequence[tuple[str, str]] | Mapping[str, Any]

# A browser still opens it, and a mail program may.
LARGEST = 64 << 20


class Recording:
    """What the application answered, by what was asked."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._kept: dict[str, tuple[int, str, bool, str]] = {}
        self._size = 0

    async def ask(self, path: str, content: Content = ()) -> tuple[str, bytes]:
        """The type and the bytes of an answer; a body makes it a POST. Raises as the route does.

        Straight to the routes: the guard before them is for those who come from outside.
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

    async def record(self, path: str, content: Content = (), ask: Content | None = None) -> bytes:
        """Keep the answer to a request, asked with another content if one is given.

        An answer that says what is wrong is kept too, as the page would show it.
        """
        try:
            kind, data = await self.ask(path, content if ask is None else ask)
        except RunfoldError as error:
            kind, data = "application/json", json.dumps({"error": str(error)}).encode()
            await self.keep(path, content, kind, data, status=400)
        else:
            await self.keep(path, content, kind, data)
        return data

    async def keep(
        self, path: str, content: Content, kind: str, data: bytes, status: int = 200
    ) -> None:
        """Keep an answer. Raises TooLarge where all of them are more than a report may hold."""
        # What is a file of its own is small already.
        is_packed = path != "/api/blob"
        if is_packed:
            data = await asyncio.to_thread(gzip.compress, data, 6, mtime=0)
        text = base64.b64encode(data).decode()
        self._size += len(text)
        if self._size > LARGEST:
            raise TooLarge(
                f"The report would be larger than {human_bytes(LARGEST)}."
                " Choose fewer runs, or fewer tags by a filter."
            )
        self._kept[make_key(path, content)] = (status, kind, is_packed, text)

    def list(self) -> list[tuple[str, int, str, bool, str]]:
        """Each answer: its key, status, type, whether it is compressed, and base64."""
        return [(key, *kept) for key, kept in self._kept.items()]


def make_key(path: str, content: Content) -> str:
    """The name under which the page looks an answer up (`web/src/data/report.ts`)."""
    if isinstance(content, Mapping):
        asked = sorted(
            (name, value) for name, value in content.items() if name not in CHART_ONLY_FIELDS
        )
        return _spell(["POST", path, asked])
    return _spell(["GET", path, list(content)])


def _spell(value: Any) -> str:
    """JSON as a browser spells it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
