"""The page's files, and the message if they were not built."""

import pytest
from helpers.logs import scalars, write
from helpers.serving import open_client, send_path

from runfold._serve.static_files import MISSING, page_routes


@pytest.fixture
def client_of(tmp_path):
    """Return a function that makes a client for a server whose page is in a given folder."""
    write(tmp_path / "logs" / "a", scalars("loss", (0, 1.0)))

    def make(folder):
        client = open_client(tmp_path / "logs")
        client.app.router.routes[:0] = page_routes(folder)
        return client

    return make


@pytest.fixture
def page(tmp_path):
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "assets" / "index-1a2b.js").write_text("let x")
    (folder / "assets" / "strange.bin").write_text("?")
    (folder / "assets" / "folder").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def test_page_is_not_cached_and_its_assets_are(client_of, page):
    client = client_of(page)
    index = client.get("/")
    assert (index.status_code, index.text) == (200, "<!doctype html>")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert index.headers["cache-control"] == "no-store"
    script = client.get("/assets/index-1a2b.js")
    assert (script.status_code, script.text) == (200, "let x")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["cache-control"] == "private, max-age=31536000, immutable"
    unknown = client.get("/assets/strange.bin")
    assert unknown.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize(
    "name",
    [
        *("nothing.js", "folder", "", ".", "..", "../index.html", "../../secret.txt"),
        *("..%2f..%2fsecret.txt", "%2e%2e/%2e%2e/secret.txt", "..\\..\\secret.txt", "%00"),
        *("index-1a2b.js%00", "/index-1a2b.js", "folder/../index-1a2b.js"),
    ],
)
def test_rule_21_only_listed_names_lead_to_a_file(client_of, page, name):
    status, body = send_path(client_of(page), "GET", f"/assets/{name}")
    assert (status, body) == (404, b'{"error":"There is nothing at this URL."}')


def test_missing_page_is_reported_with_instructions(client_of, tmp_path):
    client = client_of(tmp_path / "nowhere")
    response = client.get("/")
    assert (response.status_code, response.text) == (503, MISSING)
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert client.get("/assets/index.js").status_code == 404
    assert client.get("/api/status").status_code == 200
