"""TensorBoard's own page in a real browser: it reloads automatically and shows that it is open."""

import mimetypes
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.boards import Child, serving, until, write_losses
from playwright.sync_api import expect

from runfold._serve.tensorboards.instance_runs import Sources

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Child]:
    write_losses(tmp_path / "logs" / "it's größe, 1", 0, 1, 2)
    with serving(tmp_path / "state", Sources((str(tmp_path / "logs"),))) as child:
        until(lambda: child.tags())
        yield child


@pytest.fixture
def address(board: Child) -> Iterator[str]:
    """The URL of a server that adds the key to every request, even those of a closing page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.removeprefix(board.prefix)
            headers = {"X-Runfold-Key": board.key, "Accept-Encoding": "identity"}
            status, body = board.ask(path, self.command, **headers)
            self.send_response(status)
            kind = mimetypes.guess_type(path.partition("?")[0])[0] or "text/html"
            self.send_header("Content-Type", "application/json" if "/data/" in path else kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}{board.prefix}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_a_page_shows_the_run_reloads_and_keeps_the_instance_from_being_idle(
    board: Child, page: "Page", address: str
) -> None:
    page.goto(address)
    expect(page.get_by_text("it's größe, 1").first).to_be_visible()
    kept = "JSON.parse(localStorage.getItem('_tb_global_settings'))"
    assert page.evaluate(f"{kept}.autoReload") is True
    until(lambda: board.health()["open_pages"] == 1)
    assert board.health()["idle"] == 0.0
    # The user's choice is not overwritten.
    page.evaluate(
        f"localStorage.setItem('_tb_global_settings', JSON.stringify("
        f"{{...{kept}, autoReload: false, theme: 'dark'}}))"
    )
    page.reload()
    expect(page.get_by_text("it's größe, 1").first).to_be_visible()
    assert page.evaluate(f"{kept}.autoReload") is False
    assert page.evaluate(f"{kept}.theme") == "dark"
    until(lambda: board.health()["open_pages"] == 1)
    page.goto("about:blank")
    until(lambda: board.health()["open_pages"] == 0)
