"""The light and dark themes: set by the system or the user; drawings follow the theme."""

import pytest
from helpers.pages import chart, eventually, read_pixels
from playwright.sync_api import expect

# Background and grid colors of both themes.
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 29)"}
GRID = {"light": "rgb(221, 225, 230)", "dark": "rgb(51, 58, 68)"}
QUERY = "select step, value from scalars where tag = 'val/loss' order by step limit 50"


def is_drawn(canvases, scheme):
    """Return whether the grid has this theme's color and not the other's."""
    other = {"light": "dark", "dark": "light"}[scheme]
    colors = set().union(*read_pixels(canvases))
    return GRID[scheme] in colors and GRID[other] not in colors


def expect_scheme(page, scheme):
    expect(page.locator("body")).to_have_css("background-color", PAPER[scheme])
    canvases = page.get_by_role("main").locator("canvas")
    eventually(page, lambda: is_drawn(canvases, scheme))


@pytest.mark.parametrize("view", [{"tags": "val/loss"}, {"tab": "sql", "query": QUERY}])
def test_page_and_drawings_follow_the_system_or_the_chosen_theme(show, view):
    page = show(**view, isDrawn="true")
    expect_scheme(page, "light")
    page.emulate_media(color_scheme="dark")
    expect_scheme(page, "dark")
    choice = page.get_by_label("Theme")
    choice.select_option("light")
    expect_scheme(page, "light")
    choice.select_option("system")
    expect_scheme(page, "dark")
    page.emulate_media(color_scheme="light")
    choice.select_option("dark")
    expect_scheme(page, "dark")
    page.reload()
    expect_scheme(page, "dark")


def test_lines_are_visible_in_the_dark_theme(show):
    page = show(tags="val/loss")
    page.get_by_label("Theme").select_option("dark")
    lines = read_pixels(chart(page, "val/loss").locator("canvas.lines"))[0]
    brightest = {max(map(int, color[4:-1].split(","))) for color in lines}
    assert max(brightest) > 120
