"""Clients for tests of the server, logged in or not."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.testclient import TestClient

from runfold._serve.app import App, make_app
from runfold._serve.http.access import Access
from runfold._serve.http.limits import Limits
from runfold._serve.run_source import Source

HOST = "127.0.0.1:6006"


class Client(TestClient):
    """A client whose application is typed, so that tests can use its routes and its state."""

    app: App


def open_client(
    *paths: Path, access: Access | None = None, limits: Limits | None = None, **options: Any
) -> Client:
    """Return a client, with the server's token, of an in-process server for the given logs."""
    access = access or Access(port=6006)
    app = make_app(Source(*paths, **options), access, limits)
    return Client(
        app,
        base_url=f"http://{HOST}",
        headers={"Authorization": f"Bearer {access.token}"},
        raise_server_exceptions=False,
        follow_redirects=False,
    )


def send_path(client: TestClient, method: str, path: str) -> tuple[int, bytes]:
    """Return the status and body for a raw path, which an HTTP client would normalize."""
    address, _, query = path.partition("?")
    headers = {"host": HOST, "content-type": "application/json", **client.headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(address),
        "raw_path": address.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 6006),
        "client": ("127.0.0.1", 40000),
    }
    sent: list[Any] = []

    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        # Disconnect after the request, because a stream would never end.
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(client.app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)
