"""Precision-recall curves, meshes, and what the page says where there is nothing."""

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


def test_precision_is_drawn_over_recall_for_each_run(show):
    page = show(tab="more", part="pr_curves")
    drawing = page.get_by_role("img", name=re.compile("Precision over recall of pr"))
    expect(drawing.locator("polyline")).to_have_count(len(RUNS))
    rows = page.get_by_role("main").locator("tbody tr")
    expect(rows.get_by_role("rowheader")).to_have_text(RUNS)
    # The scores tell the labels apart.
    areas = rows.locator("td:last-child").all_inner_texts()
    assert min(map(float, areas)) > 0.95
    slider = page.get_by_role("slider", name="Step")
    expect(slider).to_have_attribute("max", str(len(PICTURE_STEPS) - 1))
    slider.press("Home")
    expect(rows.locator("td:nth-child(2)")).to_have_text(["0"] * len(RUNS))
    assert rows.locator("td:last-child").all_inner_texts() != areas
    page.get_by_role("checkbox", name=RUNS[0]).uncheck()
    expect(drawing.locator("polyline")).to_have_count(len(RUNS) - 1)


def test_mesh_is_drawn_and_turned_by_keys_as_the_address_tells(show):
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
    page.get_by_role("button", name="As at first").click()
    eventually(page, lambda: read_pixels(mesh) == before)


EMPTY = {
    "curves": "No run has logged a scalar yet.",
    "images": "No run has logged images.",
    "audio": "No run has logged audio.",
    "text": "No run has logged text.",
    "histograms": "No run has logged histograms.",
    "hparams": "No run has scalars to look at.",
    "sql": "Ask something of the log.",
}


@pytest.fixture
def empty(browser, tmp_path):
    """A page of a logdir without a run, and its logdir; its server may be ended."""
    context = browser.new_context()
    context.set_default_timeout(MILLISECONDS)
    logdir = tmp_path / "logs"
    logdir.mkdir()
    with serve_page(logdir, state=tmp_path) as served:
        show = Shower(context, served.page)
        yield show(served.link), logdir, served
    context.close()


def test_each_view_says_what_is_not_there_until_it_is(empty):
    page, logdir, served = empty
    expect(page.get_by_role("main")).to_contain_text("There are no runs yet.")
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


def test_values_of_unknown_plugins_are_named_with_count_and_size(empty):
    page, logdir, served = empty
    frames = metadata_only("frames", "beholder", bytes(100))
    state = tensor("state", np.zeros(250, np.float32), "my_plugin")
    write(logdir / "one", values(frames, frames, state))
    sizes = f"{2 * len(frames)} bytes", f"{len(state) / 1000:.3g} kB"
    expect(page.get_by_role("main")).to_contain_text(EMPTY["curves"])
    page.goto(f"{served.page}/?tab=run&run=one")
    part = page.locator("details").filter(has_text="Values of unknown plugins")
    expect(part.get_by_role("listitem")).to_have_text(
        [
            f"frames of beholder: 2 values, {sizes[0]}, not decoded",
            f"state of my_plugin: 1 value, {sizes[1]}, listed as tensors",
        ]
    )
    page.goto(f"{served.page}/?tab=more&part=others")
    found = page.get_by_role("list", name="Values of unknown plugins")
    expect(found.get_by_role("listitem")).to_have_text(
        [
            f"beholder: 2 values, {sizes[0]}, not decoded, in 1 tag",
            f"my_plugin: 1 value, {sizes[1]}, listed as tensors, in 1 tag",
        ]
    )


def test_output_goes_on_while_one_reads_it(empty):
    page, logdir, served = empty
    with EventWriter(logdir / "one") as writer:
        for number, line in enumerate(("begun\n", "going on\n", "done\n")):
            writer.add_value("runfold/output", encode_story(OUTPUT, line), number)
            writer.flush()
            if number == 0:
                page.goto(f"{served.page}/?tab=run&run=one")
            expect(page.get_by_role("main").locator("pre")).to_contain_text(line.strip())
        expect(page.get_by_role("main").locator("pre")).to_have_text("begun\ngoing on\ndone\n")


def test_page_says_that_it_waits_and_that_nobody_answers(empty):
    page, logdir, served = empty
    with rf.SummaryWriter(logdir / "one") as writer:
        writer.add_scalar("loss", 1.0, 1)
    held = []
    page.route("**/api/tags", lambda route: held.append(route))
    expect(page.get_by_role("main")).to_contain_text("Loading the tags …")
    eventually(page, lambda: bool(held))
    held.pop().continue_()
    expect(page.locator("section.chart h3")).to_have_text(["loss"])
    served.end(signal.SIGKILL)
    page.get_by_role("button", name="Run", exact=True).click()
    said = page.get_by_role("main").get_by_role("alert")
    expect(said).to_contain_text("The server does not answer. Is `runfold serve` still running?")
