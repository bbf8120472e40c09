"""The page in a real Chromium, with a real server and a new browser profile per test.

Every warning or error in the console and every failed request fails the test, unless the
test expects it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from helpers.page_logs import train_all
from helpers.servers import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# The timeout is long because the machine can be busy; a test waits this long only if it fails.
MILLISECONDS = 20_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser that ends with the module, because its driver's loop runs in this thread."""
    from playwright.sync_api import expect, sync_playwright

    path = shutil.which("chromium")
    assert path, (
        "Chromium is not installed. `make test` installs it as root; otherwise install it manually."
    )
    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a logdir that contains everything the page can show; a module can override this."""
    folder = tmp_path_factory.mktemp("trained")
    with serve_page(train_all(folder), state=folder / "state") as served:
        yield served


@contextmanager
def serve_page(*args: str | Path, state: Path) -> Iterator[Served]:
    """Run a server that stores saved views in a separate folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with serving(*args) as served:
            yield served


@pytest.fixture(scope="module")
def login(served: Served) -> Any:
    """Return the browser state after following the newest link."""
    with served.browse() as client:
        ((name, value),) = client.get(served.link).cookies.items()
        domain = client.base_url.host
    cookie = {"name": name, "value": value, "domain": domain, "path": "/"}
    return {"cookies": [{**cookie, "httpOnly": True, "sameSite": "Strict"}]}


class Faults(list[str]):
    """Faults in a test's pages, except those whose text contains one of the `foreign` parts."""

    foreign: tuple[str, ...] = ()

    def watch(self, page: Page) -> None:
        """Record warnings and errors in the page's console, and failed requests."""
        page.on("console", self._note_message)
        page.on("pageerror", lambda error: self._note(f"error: {error}"))
        page.on("requestfailed", lambda request: self._fail(request.url, request.failure))

    def forgive(self, part: str) -> None:
        """Remove faults that a test caused; there must be at least one."""
        expected = [fault for fault in self if part in fault]
        assert expected, f"no fault with {part!r} in {list(self)}"
        self[:] = [fault for fault in self if part not in fault]

    def _note_message(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console: {message.text} {message.location.get('url', '')}")

    def _fail(self, url: str, reason: str | None) -> None:
        # The page itself cancels requests that are no longer needed.
        if reason != "net::ERR_ABORTED":
            self._note(f"request: {url} {reason}")

    def _note(self, fault: str) -> None:
        if not any(part in fault for part in self.foreign):
            self.append(fault)


class Shower:
    """Opens views in a browser profile that is logged in."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context, self.url = context, url
        self.faults = Faults()

    def __call__(self, address: str = "", **view: str) -> Page:
        page = self.context.new_page()
        self.faults.watch(page)
        page.goto(address or f"{self.url}/?{urlencode(view)}")
        page.get_by_role("navigation", name="Views").wait_for()
        return page


@pytest.fixture
def show(browser: Browser, served: Served, login: Any) -> Iterator[Shower]:
    """`show(tab="runs", search="seed-1")` returns the page, opened at that view."""
    context = browser.new_context(storage_state=login, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(MILLISECONDS)
    shower = Shower(context, served.page)
    yield shower
    context.close()
    assert shower.faults == []


def read_pixels(canvases: Locator) -> list[dict[str, int]]:
    """Return each canvas's number of pixels per color, such as `rgb(79, 138, 16)`."""
    # Read from a copy, because reading the page's own canvas makes the browser print a warning.
    counts: list[dict[str, int]] = canvases.evaluate_all(
        """all => all.map(canvas => {
          const { width, height } = canvas;
          const copy = new OffscreenCanvas(width, height).getContext("2d");
          copy.drawImage(canvas, 0, 0);
          const data = copy.getImageData(0, 0, width, height).data;
          const found = {};
          for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] === 0) continue;
            const name = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
            found[name] = (found[name] ?? 0) + 1;
          }
          return found;
        })"""
    )
    return counts


def chart(page: Page, tag: str) -> Locator:
    """Return the chart of a tag, once its lines are drawn."""
    section = page.locator("section.chart", has=page.get_by_role("heading", name=tag, exact=True))
    canvas = section.locator("canvas")
    canvas.first.wait_for()
    eventually(page, lambda: sum(map(len, read_pixels(canvas))) > 50)
    return section


def plot(section: Locator) -> Locator:
    """Return the part of a chart that reacts to the pointer."""
    return section.get_by_role("application")


def eventually(page: Page, holds: Callable[[], bool]) -> None:
    """Wait, frame by frame, until a condition in Python holds."""
    for _ in range(MILLISECONDS // 16):
        if holds():
            return
        page.evaluate("() => new Promise(requestAnimationFrame)")
    raise AssertionError("the condition was never met")
