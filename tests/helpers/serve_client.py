"""A client of the server's routes, without access checks, for tests of the responses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from starlette.applications import Starlette
from starlette.testclient import TestClient

from runfold._serve.app import gather_routes
from runfold._serve.http.error_responses import HANDLERS
from runfold._serve.run_source import Source


class Client:
    """Requests JSON or Arrow, and returns the parsed body."""

    def __init__(self, *paths: Path, **options: Any) -> None:
        self.source = Source(*paths, **options)
        app = Starlette(routes=gather_routes(), exception_handlers=HANDLERS)
        app.state.source = self.source
        self.http = TestClient(app, raise_server_exceptions=False)

    def get(self, path: str, **query: Any) -> Any:
        return _read(self.http.get(path, params=query))

    def post(self, path: str, **body: Any) -> Any:
        return _read(self.http.post(path, json=body))

    def refused(self, path: str, **body: Any) -> tuple[int, str]:
        """Return the status and message of a request that fails."""
        answer = self.http.post(path, json=body)
        return answer.status_code, answer.json()["error"]


def read_metadata(table: pa.Table, name: str = "series") -> Any:
    """Return the JSON metadata stored under a name in a table."""
    return json.loads(table.schema.metadata[name.encode()])


def _read(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"] == "application/vnd.apache.arrow.stream":
        return pa.ipc.open_stream(answer.content).read_all()
    return answer.json()
