"""Take screenshots of the page for the README and the guides, with the runs from `runfold demo`.

`make screenshots` runs this; it writes docs/pictures/page-*.png.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
RUNFOLD = [sys.executable, "-m", "runfold"]
COLUMNS = ["status", "duration", "lr", "seed", "val/loss", "val/accuracy"]
VIEWS = {
    "curves": {"by": "lr", "isFolded": "true", "tags": "loss|accuracy"},
    "runs": {"tab": "runs", "by": "lr", "sort": "val/loss", "columns": json.dumps(COLUMNS)},
    "hparams": {"tab": "hparams", "by": "lr", "colors": "group"},
    "compare": {"tab": "compare", "by": "lr"},
    "images": {"tab": "images", "by": "lr"},
}
# Starts a TensorBoard as the page's buttons do.
START = """async (request) => {
  const headers = { "Content-Type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(request) };
  return (await fetch("/api/tensorboards", options)).json();
}"""
# Whether the page shows content, is not waiting for data, and has loaded every picture in view.
IS_DRAWN = """() => {
  const isWaiting = document.querySelector(".state[role=status], .chart-wait");
  const pictures = [...document.querySelectorAll("main img")];
  const inView = pictures.filter((img) => img.getBoundingClientRect().top < innerHeight);
  return !isWaiting && document.querySelector("main canvas, main table, main svg, main img")
    && inView.every((img) => img.complete && img.naturalWidth > 0);
}"""
# A screenshot of a chart without lines is smaller than this.
LINES_BYTES = 10_000
# Lets Debian's Chromium run as root, without background network requests.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    """Train the demo runs, serve them and take the screenshots."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs = str(Path(folder, "demo-runs"))
        subprocess.run([*RUNFOLD, "demo", runs], check=True, stdout=subprocess.DEVNULL)
        command = [*RUNFOLD, "serve", runs, "--no-browser", "--port", "0"]
        # The server's TensorBoards are separate from others and end with it.
        environment = {**os.environ, "XDG_STATE_HOME": folder}
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            link = find_link(server)
            browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            page = browser.new_page(
                viewport={"width": 1280, "height": 900}, color_scheme="light", locale="en-GB"
            )
            page.goto(link)
            address = page.url.partition("?")[0]
            for name, view in VIEWS.items():
                page.goto(f"{address}?{urlencode(view)}")
                page.get_by_role("navigation").wait_for()
                page.wait_for_function(IS_DRAWN)
                take_screenshot(page, name)
            started = page.evaluate(START, {"experiments": ["lr-0.1"]})
            page.goto(f"{address}?{urlencode({'tab': 'boards', 'board': started['id']})}")
            frame = page.frame_locator("iframe")
            # Skip the images, which come first, and close the settings.
            frame.get_by_text("Scalars", exact=True).first.click()
            frame.get_by_role("button", name="Settings").last.click()
            charts = frame.locator("scalar-card .chart-container")
            charts.first.wait_for()
            for chart in charts.all():
                await_lines(chart)
            take_screenshot(page, "tensorboard")
            browser.close()
        finally:
            server.terminate()
            server.wait(60)


def await_lines(chart: Locator) -> None:
    """Wait until a TensorBoard chart has lines. A worker draws them and sends no event."""
    while len(chart.screenshot()) < LINES_BYTES:
        chart.page.wait_for_timeout(100)


def take_screenshot(page: Page, name: str) -> None:
    """Take a screenshot after the page has been drawn."""
    # The latest changes are drawn in the next frame.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")
    page.screenshot(path=FOLDER / f"page-{name}.png")
    print(FOLDER / f"page-{name}.png")


def find_link(server: subprocess.Popen[str]) -> str:
    """Return the login link from the file whose path the server prints."""
    assert server.stderr is not None
    for line in server.stderr:
        match = re.search("^The login link is in (.*), which only you can read", line)
        if match:
            return Path(match[1]).read_text().strip()
    sys.exit("The server exited before it printed its login link.")


if __name__ == "__main__":
    main()
