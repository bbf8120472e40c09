"""Precision-recall curves, meshes, and the empty and loading states of the page."""

import re
import signal

import numpy as np
import pytest
from helpers.logs import values, write
from helpers.page_logs import PICTURE_STEPS, RUNS
from helpers.pages import MILLISECONDS, Shower, eventually, read_pixels, serve_page
from playwright.sync_api import expect

import runfold as rf
from runfold._events.value_encoding import metadata_only, tensor
from runfold._log.writer.event_writer import EventWriter
from runfold._story.story_parts import OUTPUT, encode_story


def test_each_run_has_a_precision_recall_curve(show):
    page = show(tab="more", part="pr_curves")
    drawing = page.get_by_role("img", name=re.compile("Precision-recall curves of pr"))
    expect(drawing.locator("polyline")).to_have_count(len(RUNS))
    rows = page.get_by_role("main").locator("tbody tr")
    expect(rows.get_by_role("rowheader")).to_have_text(RUNS)
    # The scores separate the labels well.
    areas = rows.locator("td:last-child").all_inner_texts()
    assert min(map(float, areas)) > 0.95
    slider = page.get_by_role("slider", name="Step")
    expect(slider).to_have_attribute("max", str(len(PICTURE_STEPS) - 1))
    slider.press("Home")
    expect(rows.locator("td:nth-child(2)")).to_have_text(["0"] * len(RUNS))
    assert rows.locator("td:last-child").all_inner_texts() != areas
    page.get_by_role("checkbox", name=RUNS[0]).uncheck()
    expect(drawing.locator("polyline")).to_have_count(len(RUNS) - 1)


def test_mesh_is_rotated_by_keys_and_the_url_keeps_the_rotation(show):
    page = show(tab="more", part="meshes", search=RUNS[0])
    mesh = page.get_by_role("img", name=f"shape of {RUNS[0]}")
    eventually(page, lambda: mesh.count() > 0 and any(read_pixels(mesh)))
    before = read_pixels(mesh)
    mesh.press("ArrowRight")
    eventually(page, lambda: read_pixels(mesh) != before)
    aside = read_pixels(mesh)
    page.wait_for_url("**turn=*")
    address = page.url
    mesh.press("ArrowUp")
    eventually(page, lambda: read_pixels(mesh) != aside)
    turned = read_pixels(mesh)
    page.wait_for_url(lambda url: url != address)
    page.reload()
    eventually(page, lambda: mesh.count() > 0 and read_pixels(mesh) == turned)
    page.get_by_role("button", name="Reset view").click()
    eventually(page, lambda: read_pixels(mesh) == before)


EMPTY = {
    "curves": "No run has logged scalars yet.",
    "images": "No run has logged images yet.",
    "audio": "No run has logged audio yet.",
    "text": "No run has logged text yet.",
    "histograms": "No run has logged histograms yet.",
    "hparams": "No run has logged scalars yet.",
    "sql": "Write a query, or start from an example.",
}


@pytest.fixture
def empty(browser, tmp_path):
    """Yield a page for an empty logdir, the logdir, and a server that the test may end."""
    context = browser.new_context()
    context.set_default_timeout(MILLISECONDS)
    logdir = tmp_path / "logs"
    logdir.mkdir()
    with serve_page(logdir, state=tmp_path) as served:
        show = Shower(context, served.page)
        yield show(served.link), logdir, served
    context.close()


def test_each_view_has_an_empty_state(empty):
    page, logdir, served = empty
    expect(page.get_by_role("main")).to_contain_text("No runs yet.")
    with rf.SummaryWriter(logdir / "one") as writer:
        writer.add_tensor("weights", np.zeros(3))
        writer.flush()
        expect(page.get_by_role("main")).to_contain_text(EMPTY["curves"])
        for tab, text in EMPTY.items():
            page.goto(f"{served.page}/?tab={tab}")
            expect(page.get_by_role("main")).to_contain_text(text)
        page.goto(served.page)
        writer.add_scalar("loss", 1.0, 1)
        writer.flush()
        expect(page.locator("section.chart h3")).to_have_text(["loss"])


def test_values_from_unknown_plugins_are_listed_with_count_and_size(empty):
    page, logdir, served = empty
    frames = metadata_only("frames", "beholder", bytes(100))
    state = tensor("state", np.zeros(250, np.float32), "my_plugin")
    write(logdir / "one", values(frames, frames, state))
    sizes = f"{2 * len(frames)} bytes", f"{len(state) / 1000:.3g} kB"
    expect(page.get_by_role("main")).to_contain_text(EMPTY["curves"])
    page.goto(f"{served.page}/?tab=run&run=one")
    part = page.locator("details").filter(has_text="Values from unknown plugins")
    expect(part.get_by_role("listitem")).to_have_text(
        [
            f"frames from beholder: 2 values, {sizes[0]}, not decoded",
            f"state from my_plugin: 1 value, {sizes[1]}, listed as tensors",
        ]
    )
    page.goto(f"{served.page}/?tab=more&part=others")
    found = page.get_by_role("list", name="Values from unknown plugins")
    expect(found.get_by_role("listitem")).to_have_text(
        [
            f"beholder: 2 values, {sizes[0]}, not decoded, in 1 tag",
            f"my_plugin: 1 value, {sizes[1]}, listed as tensors, in 1 tag",
        ]
    )


def test_output_grows_live(empty):
    page, logdir, served = empty
    with EventWriter(logdir / "one") as writer:
        for number, line in enumerate(("started\n", "running\n", "done\n")):
            writer.add_value("runfold/output", encode_story(OUTPUT, line), number)
            writer.flush()
            if number == 0:
                page.goto(f"{served.page}/?tab=run&run=one")
            expect(page.get_by_role("main").locator("pre")).to_contain_text(line.strip())
        expect(page.get_by_role("main").locator("pre")).to_have_text("started\nrunning\ndone\n")


def test_page_shows_that_it_is_loading_or_that_the_server_is_down(empty):
    page, logdir, served = empty
    with rf.SummaryWriter(logdir / "one") as writer:
        writer.add_scalar("loss", 1.0, 1)
    held = []
    page.route("**/api/tags", lambda route: held.append(route))
    expect(page.get_by_role("main")).to_contain_text("Loading tags…")
    eventually(page, lambda: bool(held))
    held.pop().continue_()
    expect(page.locator("section.chart h3")).to_have_text(["loss"])
    served.end(signal.SIGKILL)
    page.get_by_role("button", name="Run", exact=True).click()
    alert = page.get_by_role("main").get_by_role("alert")
    expect(alert).to_contain_text("The server is not responding. Is `runfold serve` still running?")
