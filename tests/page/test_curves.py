"""The Curves view: drawing, folding, zooming, filtering, and opening a link."""

import re

import pytest
from helpers.page_logs import RUNS, STEPS
from helpers.pages import chart, plot, read_pixels
from playwright.sync_api import expect

from runfold._serve.page_vocabulary import BANDS, BANDS_AROUND, CENTERS


def test_each_tag_has_a_chart_with_a_line_per_run(show):
    page = show(tags="loss")
    expect(page.locator("section.chart h3")).to_have_text(["train/loss", "val/loss"])
    found = chart(page, "val/loss")
    expect(plot(found)).to_have_attribute("aria-label", re.compile(f"{len(RUNS)} lines"))
    swatches = page.get_by_role("complementary").locator(".swatch")
    colors = swatches.evaluate_all("all => all.map(el => getComputedStyle(el).backgroundColor)")
    drawn = set().union(*read_pixels(found.locator("canvas")))
    assert len(set(colors)) == len(RUNS)
    assert set(colors) <= drawn


def test_runs_are_folded_into_a_line_and_band_per_group(show):
    page = show(tags="val/loss")
    single = chart(page, "val/loss")
    page.get_by_label("Group by").fill("lr")
    page.get_by_role("radio", name="folded").check()
    expect(plot(single)).to_have_attribute("aria-label", re.compile("2 lines"))
    for band in ("minmax", "ci95"):
        page.get_by_label("Band").select_option(band)
        expect(single.locator("[aria-busy=false]")).to_be_attached()
    page.get_by_label("Center").select_option("iqm")
    plot(single).hover()
    expect(page.get_by_role("tooltip")).to_contain_text("lr=0.01")


@pytest.mark.parametrize(
    ("center", "band"), [(center, band) for center in CENTERS for band in BANDS_AROUND[center]]
)
def test_every_center_and_band_is_offered_and_drawn(show, center, band):
    page = show(tags="val/loss", by="lr", isFolded="true", center=center, band=band)
    single = chart(page, "val/loss")
    expect(plot(single)).to_have_attribute("aria-label", re.compile("2 lines"))
    offered = {"Center": CENTERS, "Band": {name: BANDS[name] for name in BANDS_AROUND[center]}}
    for label, names in offered.items():
        options = page.get_by_label(label).locator("option")
        expect(options).to_have_text(list(names.values()))
    expect(page.get_by_label("Center")).to_have_value(center)
    expect(page.get_by_label("Band")).to_have_value(band)


def test_tooltip_shows_the_sorted_values(show):
    page = show(tags="val/loss")
    plot(chart(page, "val/loss")).hover()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("step")
    rows = tip.locator("tr:visible").all_inner_texts()
    assert len(rows) == len(RUNS)
    assert [text for text in rows if RUNS[0] in text or RUNS[1] in text] == rows[:2]


def test_drag_zooms_all_charts_and_the_url_keeps_the_range(show):
    page = show(tags="loss")
    found = chart(page, "train/loss")
    box = found.locator(".u-over").bounding_box()
    across = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.25, across)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, across, steps=5)
    page.mouse.up()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_enabled()
    low, high = page.evaluate("JSON.parse(new URLSearchParams(location.search).get('range'))")
    assert low == pytest.approx(STEPS * 0.25, abs=5)
    assert high == pytest.approx(STEPS * 0.5, abs=5)
    page.get_by_role("button", name="Reset zoom").click()
    page.wait_for_url(lambda url: "range" not in url)


def test_keys_zoom_and_show_values(show):
    page = show(tags="val/loss")
    plot(chart(page, "val/loss")).press("+")
    page.wait_for_url("**range=*")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tooltip")).to_contain_text(RUNS[0])
    page.keyboard.press("0")
    page.wait_for_url(lambda url: "range" not in url)


def test_tag_filter_accepts_text_and_patterns(show):
    page = show()
    tags = page.get_by_label("Filter tags by text or regular expression")
    for text, expected in [("ACC", ["accuracy"]), ("^(train|val)/", ["train/loss", "val/loss"])]:
        tags.fill(text)
        expect(page.locator("section.chart h3")).to_have_text(expected)
    tags.fill("nothing like it")
    expect(page.get_by_role("main")).to_contain_text("No tags match this filter.")


def test_link_shows_the_same_view_in_a_new_page(show):
    page = show(tags="val/loss")
    chart(page, "val/loss")
    page.get_by_label("Group by").fill("lr")
    page.get_by_role("radio", name="folded").check()
    page.get_by_role("checkbox", name="log y").check()
    page.get_by_role("combobox", name="x", exact=True).select_option("relative")
    page.get_by_role("checkbox", name=RUNS[1]).uncheck()
    page.wait_for_url("**relative**")
    other = show(page.url)
    chart(other, "val/loss")
    expect(other.get_by_role("radio", name="folded")).to_be_checked()
    expect(other.get_by_role("checkbox", name="log y")).to_be_checked()
    expect(other.get_by_role("combobox", name="x", exact=True)).to_have_value("relative")
    expect(other.get_by_label("Group by")).to_have_value("lr")
    expect(other.get_by_role("complementary")).to_contain_text("3 of 4 runs")


def test_chart_fills_the_page_until_escape(show):
    page = show(tags="loss")
    chart(page, "val/loss")
    page.get_by_role("button", name="Full size: val/loss").click()
    expect(page.locator("section.chart h3")).to_have_text(["val/loss"])
    page.keyboard.press("Escape")
    expect(page.locator("section.chart")).to_have_count(2)
