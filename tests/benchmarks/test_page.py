"""The benchmark of the page on tiny logs: the displayed data is compared."""

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import browser
from benchmarks.browser import Waits
from benchmarks.contest import Disagreement
from benchmarks.logs import Log, generate
from benchmarks.sites import serve_without_login
from benchmarks.targets import page_targets

FEW = Log("few", runs=2, tags=8, steps=40)


def test_all_waiting_times_are_measured(tmp_path: Path):
    waits = browser.measure_page(FEW, FEW, tmp_path, repeat=1)
    assert {name: len(times) for name, times in asdict(waits).items()} == {
        "opened": 1,
        "hovered": 2 * browser.MOVES,
        "zoomed": 2 * browser.ZOOMS,
        "refined": 2 * browser.ZOOMS,
        "frames": len(browser.FRAMES_A_NOTCH),
    }
    assert all(time > 0 for times in asdict(waits).values() for time in times)
    assert all(len(target.measured) > 3 for target in page_targets(waits))


def test_a_chart_that_shows_other_points_is_a_disagreement(tmp_path: Path):
    from playwright.sync_api import sync_playwright

    folder, other = generate(FEW, tmp_path), generate(Log("other", 2, 8, 40), tmp_path)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=browser.ARGUMENTS
        )
        with serve_without_login(folder) as url, browser.opening(chromium, url) as page:
            chart = page.locator(".chart").first
            browser.zoom(page, chart)
            browser.compare(page, chart, folder)
            with pytest.raises(Disagreement, match="lr_0 from 1"):
                browser.compare(page, chart, other)
        chromium.close()


@pytest.mark.parametrize(("times", "is_met"), [([40.0, 45.0, 90.0], True), ([50.0], False)])
def test_the_median_decides_and_the_worst_is_reported(times: list[float], is_met: bool):
    waits = Waits(opened=times, hovered=times, zoomed=times, refined=times, frames=times)
    hover = page_targets(waits)[1]
    assert hover.is_met is is_met
    assert hover.measured.endswith(f", worst {max(times):.0f}")
