"""Clients for tests of the server, logged in or not."""

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from runfold.serve.access import Access
from runfold.serve.app import make_app
from runfold.serve.source import Source

HOST = "127.0.0.1:6006"


def open_client(*paths: Path, access: Access | None = None, **options: Any) -> TestClient:
    """A client of a server of some logs, in this process, that has the server's token."""
    access = access or Access(port=6006)
    app = make_app(Source(*paths, **options), access)
    return TestClient(
        app,
        base_url=f"http://{HOST}",
        headers={"Authorization": f"Bearer {access.token}"},
        raise_server_exceptions=False,
        follow_redirects=False,
    )
