"""Waiting times for the page in Chromium: for charts, a hover, a zoom and a scroll.

All times are taken inside the page: from the browser's timestamp of the input to
the frame after the one that shows the result. The displayed data is compared with
the log.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from benchmarks.contest import Disagreement
from benchmarks.logs import Log, generate
from benchmarks.measure import Undone
from benchmarks.sites import serve_without_login

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

# Sixty charts of twenty lines each fill ten screens.
SCROLLED = Log("page", runs=20, tags=60, steps=1_000)
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
# The maximum number of repetitions, each with a new server and a new profile.
TIMES = 3
MOVES = 30
ZOOMS = 3
NOTCH = 100
# One notch of the wheel per frame, or every third frame, like a person who looks at the charts.
FRAMES_A_NOTCH = (1, 3)


@dataclass(slots=True)
class Waits:
    """Waiting times in milliseconds, one per repetition.

    They end when the charts on screen are drawn, when the marker follows the pointer,
    when a zoom is drawn, and when it is drawn with all its points. `frames` has the
    longest frame of each scroll.
    """

    opened: list[float] = field(default_factory=list)
    hovered: list[float] = field(default_factory=list)
    zoomed: list[float] = field(default_factory=list)
    refined: list[float] = field(default_factory=list)
    frames: list[float] = field(default_factory=list)


def measure_page(log: Log, scrolled: Log, root: Path, repeat: int, fresh: bool = False) -> Waits:
    """Return the waiting times for the page of a log, and for scrolling the page of another.

    Raises Undone if there is no Chromium, and Disagreement if the page does not
    show the data of the log.
    """
    path = shutil.which("chromium")
    if path is None:
        raise Undone("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    waits = Waits()
    folder, tall = generate(log, root, fresh), generate(scrolled, root, fresh)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for _ in range(min(repeat, TIMES)):
            with serve_without_login(folder) as url, opening(browser, url) as page:
                waits.opened.append(page.evaluate("waits.opened"))
                use_chart(page, folder, waits)
            with serve_without_login(tall) as url, opening(browser, url) as page:
                waits.frames += [scroll(page, frames) for frames in FRAMES_A_NOTCH]
        browser.close()
    return waits


@contextmanager
def opening(browser: Browser, url: str) -> Iterator[Page]:
    """Open the page in a new profile, and wait until all charts on screen are drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(url)
    page.wait_for_function("() => waits.opened")
    check_drawn(page)
    yield page
    context.close()


def check_drawn(page: Page) -> None:
    """Raise Disagreement if a chart on screen has no line on its canvas."""
    blank = page.evaluate("() => seen().filter((chart) => !inked(chart)).length")
    if blank:
        raise Disagreement(f"{blank} charts on screen are blank")


def use_chart(page: Page, folder: Path, waits: Waits) -> None:
    """Hover over the first chart and zoom into it, among the others and at full size."""
    for is_full in (False, True):
        chart = page.locator(".chart").first
        if is_full:
            chart.get_by_role("button", name="Full size").click()
            page.wait_for_function("() => document.querySelector('.full') && isDrawn()")
            check_drawn(page)
        waits.hovered += hover(page, chart.locator(".u-over"))
        for turn in range(ZOOMS):
            zoomed, refined = zoom(page, chart)
            waits.zoomed.append(zoomed)
            waits.refined.append(refined)
            if turn == 0:
                compare(page, chart, folder)
            page.get_by_role("button", name="Reset zoom").click()
            page.wait_for_function("() => !isBusy()")


def hover(page: Page, over: Locator) -> list[float]:
    """Return the time from each mouse move until the chart shows the value there."""
    box = over.bounding_box()
    assert box
    page.evaluate("() => { waits.hovered = []; }")
    for move in range(MOVES):
        share = (move + 1) / (MOVES + 1)
        page.mouse.move(
            box["x"] + share * box["width"], box["y"] + (0.2 + 0.6 * share) * box["height"]
        )
        page.wait_for_function(f"() => waits.hovered.length > {move}")
        if not page.evaluate("document.querySelector('.hover-table')?.innerText"):
            raise Disagreement("the pointer is over a chart, but no value is shown")
    hovered: list[float] = page.evaluate("waits.hovered")
    return hovered


def zoom(page: Page, chart: Locator) -> tuple[float, float]:
    """Return the time from a drag until the chart shows its range, and then all points."""
    box = chart.locator(".u-over").bounding_box()
    assert box
    height = box["y"] + box["height"] / 2
    page.evaluate("() => { waits.zoomed = waits.refined = 0; }")
    page.mouse.move(box["x"] + 0.3 * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], height, steps=3)
    page.mouse.up()
    page.wait_for_function("() => waits.refined")
    zoomed, refined = page.evaluate("[waits.zoomed, waits.refined]")
    return zoomed, refined


def compare(page: Page, chart: Locator, folder: Path) -> None:
    """Raise Disagreement unless a zoomed chart shows exactly the log's points in its range."""
    import runfold as rf

    low, high = json.loads(parse_qs(urlsplit(page.url).query)["range"][0])
    title = chart.locator("h3").inner_text()
    chart.locator("summary").click()
    with page.expect_download() as download:
        chart.get_by_role("button", name="CSV").click()
    with download.value.path().open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    shown = sorted((run, float(step), float(value)) for run, _, step, value in rows)
    logged = sorted(
        (name, float(step), float(value))
        for name, run in rf.open(folder, progress=False).items()
        for step, value in zip(run[title].steps, run[title].values, strict=True)
        if low <= step <= high
    )
    if shown != logged:
        raise Disagreement(
            f"{title} from {low} to {high}: {len(shown)} points shown, {len(logged)} logged"
        )


def scroll(page: Page, frames: int) -> float:
    """Return the longest frame while the wheel scrolls to the end of the page and back."""
    page.mouse.move(900, 500)
    height = page.evaluate("() => main().scrollHeight - main().clientHeight")
    longest = 0.0
    for direction, end in ((1, height), (-1, 0)):
        page.evaluate("() => { waits.frames = []; }")
        for _ in range(math.ceil(height / NOTCH)):
            page.mouse.wheel(0, direction * NOTCH)
            page.evaluate("pass", frames)
        page.wait_for_function("(end) => Math.abs(main().scrollTop - end) <= 1", arg=end)
        page.wait_for_function("isDrawn")
        longest = max(longest, page.evaluate("() => Math.max(...waits.frames.splice(0).slice(1))"))
        check_drawn(page)
    return longest


# Runs in the page. A frame is being displayed when the next one begins.
_WATCH = """
const waits = { opened: 0, hovered: [], zoomed: 0, refined: 0, frames: null };
const main = () => document.querySelector("main");
const pass = async (frames) => {
  for (; frames; frames--) await new Promise(requestAnimationFrame);
};
const seen = () => [...document.querySelectorAll(".chart")].filter((chart) => {
  const { top, bottom } = chart.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
});
const paints = (chart) => Number(chart.querySelector(".lines")?.dataset.painted ?? 0);
const isDrawn = () => seen().length > 0 && seen().every(paints);
const isBusy = () => seen().some((chart) => chart.querySelector("[aria-busy=true], .chart-wait"));
const inked = (chart) => {
  const lines = chart.querySelector(".lines");
  const copy = new OffscreenCanvas(lines.width, lines.height).getContext("2d");
  copy.drawImage(lines, 0, 0);
  return copy.getImageData(0, 0, lines.width, lines.height).data.some(Boolean);
};
const until = (holds, done) => requestAnimationFrame(() => {
  if (holds()) requestAnimationFrame(done);
  else until(holds, done);
});
until(isDrawn, () => { waits.opened = performance.now(); });
addEventListener("mousemove", ({ timeStamp, buttons }) => {
  if (!buttons) until(() => true, () => waits.hovered.push(performance.now() - timeStamp));
}, true);
addEventListener("mouseup", ({ timeStamp, target }) => {
  const chart = target.closest?.(".u-over")?.closest(".chart");
  if (!chart) return;
  const before = paints(chart);
  const isWhole = () => paints(chart) > before + 1 && !isBusy();
  until(() => paints(chart) > before, () => { waits.zoomed = performance.now() - timeStamp; });
  until(isWhole, () => { waits.refined = performance.now() - timeStamp; });
}, true);
let last = 0;
const count = (now) => {
  waits.frames?.push(now - last);
  last = now;
  requestAnimationFrame(count);
};
requestAnimationFrame(count);
Object.assign(window, { waits, main, pass, seen, isDrawn, isBusy, inked });
"""
