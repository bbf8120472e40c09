"""Rule 11: a GET request does not change a logdir, a saved view or a later response."""

import pytest
from helpers.filled_requests import filled_shapes
from helpers.logs import scalars, write
from helpers.serving import open_client
from starlette.routing import Route

from runfold._serve.app import gather_routes
from runfold._serve.http.limits import STREAM

# Without /login, because login links work only once.
READING = [
    route.path
    for route in gather_routes()
    if isinstance(route, Route) and "GET" in (route.methods or ()) and route.path != "/login"
]
VIEW = {"name": "mine", "view": "tab=runs"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write(tmp_path / "logs" / "a", scalars("loss", (0, 1.0)))
    return tmp_path


def contents(folder):
    return {
        path: (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def test_rule_11_no_get_changes_anything(folder):
    with open_client(folder / "logs") as client:
        revision = client.get("/api/views").json()["revision"]
        saved = {"views": [VIEW], "queries": [], "revision": revision}
        assert client.put("/api/views", json=saved).status_code == 200
        before, views = contents(folder), client.get("/api/views").json()
        status = client.get("/api/status").json()
        for path in READING:
            if path == STREAM:
                continue
            for text in ("a", "loss"):
                client.get(path.replace("{name}", text))
                for content in filled_shapes("GET", path, text):
                    client.get(path, **content)
        assert contents(folder) == before
        assert client.get("/api/views").json() == views
        assert client.get("/api/status").json() == status
        assert views["views"] == [VIEW]
