"""The login in a real browser: other servers on this machine get nothing they could use."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import httpx
import pytest
from helpers.logs import scalars, write
from helpers.pages import MILLISECONDS, Shower, serve_page
from playwright.sync_api import expect


class StrangeServer(ThreadingHTTPServer):
    """Another user's server on this machine; `seen` lists the requests from browsers."""

    seen: list[tuple[str, dict[str, str]]]


class Stranger(BaseHTTPRequestHandler):
    """Records and answers each request."""

    server: StrangeServer

    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))
        body = b'<!doctype html><a href="/second">continue</a>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


@contextmanager
def strange_server():
    with StrangeServer(("127.0.0.1", 0), Stranger) as server:
        server.seen = []
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def served(tmp_path):
    write(tmp_path / "logs" / "one", scalars("loss", (0, 2.0), (1, 1.0)))
    with serve_page(tmp_path / "logs", state=tmp_path) as served:
        yield served


@pytest.fixture
def context(browser):
    context = browser.new_context()
    context.set_default_timeout(MILLISECONDS)
    yield context
    context.close()


def test_rule_32_another_port_on_this_machine_gets_no_cookie_and_no_name(context, served):
    show = Shower(context, served.page)
    page = show(served.link)
    expect(page.locator("section.chart h3")).to_have_text(["loss"])
    (cookie,) = context.cookies()
    name = urlsplit(served.page).hostname
    assert cookie["domain"] == name
    with strange_server() as stranger:
        for host in ("127.0.0.1", "localhost"):
            # The first request comes from our page, the second from a link on the other
            # server's page.
            page.goto(served.page)
            address = f"http://{host}:{stranger.server_port}/"
            page.evaluate("address => { location.href = address }", address)
            page.get_by_role("link", name="continue").click()
            page.wait_for_url("**/second")
        paths = [path for path, _ in stranger.seen if path != "/favicon.ico"]
        assert paths == ["/", "/second", "/", "/second"]
        assert not [headers for _, headers in stranger.seen if "Cookie" in headers]
        assert name not in str(stranger.seen)
    # Even a leaked cookie is rejected under other host names.
    for host in ("127.0.0.1", "localhost"):
        headers = {"Cookie": f"{cookie['name']}={cookie['value']}", "Host": host}
        assert httpx.get(f"{served.url}/api/status", headers=headers).status_code == 403
    assert show.faults == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_link_opened_under_another_host_name_logs_in(context, served, host):
    show = Shower(context, served.page)
    link = served.link.replace(urlsplit(served.page).hostname, host)
    page = show(link)
    expect(page.locator("section.chart h3")).to_have_text(["loss"])
    assert page.url.startswith(served.page)
    assert show.faults == []


def test_link_on_another_server_s_page_logs_in(context, served):
    # As in an editor that forwards ports.
    show = Shower(context, served.page)
    with strange_server() as stranger:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{stranger.server_port}/")
        link = served.link.replace(urlsplit(served.page).hostname, "127.0.0.1")
        page.evaluate("link => { location.href = link }", link)
        expect(page.locator("section.chart h3")).to_have_text(["loss"])
    assert show.faults == []
