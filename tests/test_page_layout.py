"""What has its place in windows of every width."""

import pytest
from playwright.sync_api import expect

HEIGHT = 900


@pytest.mark.parametrize("width", [1440, 1361, 1280, 800, 400])
def test_every_view_can_be_chosen_without_scrolling(show, width):
    page = show(tab="curves")
    page.set_viewport_size({"width": width, "height": HEIGHT})
    buttons = page.get_by_role("navigation", name="Views").get_by_role("button")
    expect(buttons.last).to_have_text("TensorBoards")
    for button in buttons.all():
        expect(button).to_be_in_viewport(ratio=1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_choosing_a_view_moves_no_other(show):
    page = show(tab="runs")
    last = page.get_by_role("navigation", name="Views").get_by_role("button").last
    place = last.bounding_box()
    page.get_by_role("button", name="Histograms").click()
    expect(page.get_by_role("button", name="Histograms")).to_have_attribute("aria-current", "page")
    assert last.bounding_box() == place
