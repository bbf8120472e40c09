"""The page's layout in windows of different widths."""

import pytest
from helpers.page_logs import RUNS
from helpers.pages import eventually
from playwright.sync_api import expect

HEIGHT = 900


@pytest.mark.parametrize("width", [1440, 1361, 1280, 800, 400])
def test_every_tab_is_visible_without_scrolling(show, width):
    page = show(tab="curves")
    page.set_viewport_size({"width": width, "height": HEIGHT})
    buttons = page.get_by_role("navigation", name="Views").get_by_role("button")
    expect(buttons.last).to_have_text("TensorBoards")
    for button in buttons.all():
        expect(button).to_be_in_viewport(ratio=1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_choosing_a_tab_does_not_move_the_others(show):
    page = show(tab="runs")
    last = page.get_by_role("navigation", name="Views").get_by_role("button").last
    position = last.bounding_box()
    page.get_by_role("button", name="Histograms").click()
    expect(page.get_by_role("button", name="Histograms")).to_have_attribute("aria-current", "page")
    assert last.bounding_box() == position


@pytest.mark.parametrize("width", [1440, 500])
@pytest.mark.parametrize("tab", ["hparams", "histograms"])
def test_text_in_drawings_has_the_same_size_in_every_window(show, tab, width):
    page = show(tab=tab)
    page.set_viewport_size({"width": width, "height": HEIGHT})
    labels = page.locator("main .drawing text")
    expect(labels.first).to_be_visible()
    scales = labels.evaluate_all("all => all.map(label => label.getScreenCTM().a)")
    assert set(scales) == {1}
    right = labels.evaluate_all("all => Math.max(...all.map(i => i.getBoundingClientRect().right))")
    assert right <= width


def test_groups_in_the_list_of_runs_can_be_collapsed(show):
    page = show(tab="curves", by="lr", isFolded="true")
    runs = page.get_by_role("complementary", name="Runs")
    # Two groups with two runs each.
    boxes = runs.get_by_role("listitem").get_by_role("checkbox")
    expect(boxes).to_have_count(6)
    runs.get_by_role("button", name="Show the runs in lr=0.01").click()
    expect(boxes).to_have_count(4)
    expect(runs).not_to_contain_text(RUNS[0])
    expect(runs).to_contain_text("4 of 4 runs")
    eventually(page, lambda: "shut=" in page.url)
    page.reload()
    expect(boxes).to_have_count(4)
    boxes.first.press("ArrowRight")
    expect(boxes).to_have_count(6)
    boxes.first.press("ArrowLeft")
    expect(boxes).to_have_count(4)
    # The heading shows the color of a collapsed group.
    swatches = runs.locator(".heading .swatch")
    expect(swatches).to_have_count(2)
    colors = swatches.evaluate_all("all => all.map(el => getComputedStyle(el).backgroundColor)")
    assert len(set(colors)) == 2
