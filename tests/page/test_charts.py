"""Charts in the page: axes, marks, several tags in one chart, and downloads."""

import csv
import io
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.logs import scalars, values, write
from helpers.pages import chart, plot, serve_page
from PIL import Image
from playwright.sync_api import expect

import runfold as rf
from runfold._plot.smoothing import smooth
from runfold._story.story_parts import MARK, encode_story

STEPS = range(1, 101)
MARKED = 40
WEIGHT = 0.9


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("charts")
    for number, name in enumerate(("a", "b")):
        mark = [values(encode_story(MARK, "halved <b>"), step=MARKED)] if name == "a" else []
        write(
            folder / name,
            scalars("fall", *((step, 1000 * math.exp(-step / 10) + number) for step in STEPS)),
            scalars("spiky", *((step, 1e6 if step == 50 else step % 7) for step in STEPS)),
            scalars("samples", *((step, 32 * step) for step in STEPS)),
            scalars(
                "below", *((step, 1.0 if name == "a" and step > 90 else -1.0) for step in STEPS)
            ),
            scalars("lost", *((step, math.nan) for step in STEPS)),
            *mark,
        )
    restarted = write(
        folder / "c",
        scalars("restarted", (0, 1.0), (1, 1.0), (2, 1.0)),
        lambda buffer: buffer.session_start(1, 20.0),
        scalars("restarted", (1, 2.0), (2, 2.0), (3, 2.0)),
    )
    data = bytearray(restarted.read_bytes())
    data[-6] ^= 1  # in the last record, before its checksum
    restarted.write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def served(logdir, tmp_path_factory):
    with serve_page(logdir, state=tmp_path_factory.mktemp("state")) as served:
        yield served


def save(page, found, kind):
    """Return the bytes of a download from a chart, once the chart is loaded."""
    expect(found.locator("[aria-busy=false]")).to_be_attached()
    found.locator("summary").click()
    with page.expect_download() as download:
        found.get_by_role("button", name=kind).click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return download.value.path().read_bytes()


def draw(page, found):
    """Return the points of the first line in a chart's SVG, and all its text elements."""
    root = ElementTree.fromstring(save(page, found, "SVG"))
    tags = {name: f"{{http://www.w3.org/2000/svg}}{name}" for name in ("path", "text")}
    strokes = [path for path in root.iter(tags["path"]) if path.get("stroke-width") == "1.4"]
    points = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", strokes[0].get("d"))
    texts = [element.text for element in root.iter(tags["text"])]
    return np.array(points, float), texts


def read_rows(page, found):
    return list(csv.DictReader(io.StringIO(save(page, found, "CSV").decode())))


def point_at_the_middle(page, found):
    """Point at the middle of a chart and return the tooltip's title."""
    found.locator(".u-over").hover()
    title = page.get_by_role("tooltip").locator(".hover-title")
    expect(title).to_be_visible()
    return title.inner_text()


def test_x_is_the_step_a_time_or_another_tag(show):
    page = show(tags="fall")
    names = {}
    for x in ("step", "wall_time", "relative", "tag:samples"):
        page.get_by_role("combobox", name="x", exact=True).select_option(x)
        page.mouse.move(0, 0)
        names[x] = point_at_the_middle(page, chart(page, "fall"))
    assert names["step"] in ("step 50", "step 51")
    # The points are a second apart, starting at second 10. The file was started at second 1.
    assert re.fullmatch(r"19\d\d-\d\d-\d\d \d\d:\d\d:59", names["wall_time"])
    assert names["relative"] == "58 s"
    assert names["tag:samples"] in ("1,600", "1,632")


def test_logarithmic_axes_place_powers_evenly(show):
    page = show(tags="fall", search="a")
    page.get_by_role("checkbox", name="log x").check()
    assert re.fullmatch("step (9|10|11)", point_at_the_middle(page, chart(page, "fall")))
    page.get_by_role("checkbox", name="log x").uncheck()
    page.get_by_role("checkbox", name="log y").check()
    points, texts = draw(page, chart(page, "fall"))
    # An exponential becomes a straight line.
    ends = np.polyfit(points[[0, -1], 0], points[[0, -1], 1], 1)
    assert np.polyval(ends, points[:, 0]) == pytest.approx(points[:, 1], abs=1)
    assert {"0.1", "10"} <= set(texts)


def test_lines_that_cannot_be_drawn_are_reported(show):
    page = show(tags="lost|below")
    charts = {tag: page.get_by_role("region", name=tag, exact=True) for tag in ("lost", "below")}
    expect(charts["lost"]).to_contain_text("No points to draw: only NaN values.")
    expect(charts["below"].locator(".chart-note")).to_have_text("")
    page.get_by_role("checkbox", name="log y").check()
    expect(charts["below"]).to_contain_text(
        "1 line not drawn: only NaN or non-positive values on a log axis"
    )


def test_outliers_can_be_ignored(show):
    page = show(tags="spiky")
    _, before = draw(page, chart(page, "spiky"))
    assert "1M" in before
    page.get_by_role("checkbox", name="ignore outliers").check()
    points, after = draw(page, chart(page, "spiky"))
    assert {"2", "4", "6"} <= set(after)
    assert np.ptp(points[:20, 1]) > 200


def test_several_tags_are_combined_in_a_chart(show):
    page = show(tags="fall|samples")
    page.get_by_role("button", name="Combine fall with other tags").click()
    page.get_by_role("button", name="Combine samples with other tags").click()
    combined = chart(page, "fall · samples")
    expect(plot(combined)).to_have_attribute("aria-label", re.compile("4 lines"))
    point_at_the_middle(page, combined)
    names = page.get_by_role("tooltip").locator(".hover-name:visible").all_inner_texts()
    assert sorted(names) == ["a · fall", "a · samples", "b · fall", "b · samples"]
    combined.get_by_role("button", name="Full size").click()
    expect(page.locator("section.chart h3")).to_have_text(["fall · samples"])


def test_hidden_points_and_problems_are_shown_at_the_chart(show):
    page = show(tags="restarted")
    found = chart(page, "restarted")
    hidden, problems = found.locator(".badge").all()
    assert hidden.get_attribute("title") == "2 points hidden by restarts: c"
    assert problems.get_attribute("title") == "1 problem in the files of 1 run: c"
    rows = read_rows(page, found)
    assert [(row["step"], row["value"]) for row in rows] == [("0", "1"), ("1", "2"), ("2", "2")]


def test_csv_has_the_visible_points_before_and_after_smoothing(show, logdir):
    page = show(tags="fall", smooth=str(WEIGHT), range="[10, 20]")
    rows = read_rows(page, chart(page, "fall"))
    assert list(rows[0]) == ["run", "tag", "step", "value", "smoothed"]
    for name in ("a", "b"):
        own = [row for row in rows if row["run"] == name]
        values = rf.open(logdir)[name]["fall"].values
        assert [int(row["step"]) for row in own] == list(range(10, 21))
        assert [float(row["value"]) for row in own] == values[9:20].tolist()
        # Smoothed over all points, including those outside the range.
        expected = smooth(values, WEIGHT)[9:20]
        assert [float(row["smoothed"]) for row in own] == pytest.approx(expected)


def test_png_shows_the_lines(show):
    page = show(tags="fall")
    swatches = page.get_by_role("complementary").locator(".swatch")
    colors = swatches.evaluate_all("all => all.map(el => getComputedStyle(el).backgroundColor)")
    picture = Image.open(io.BytesIO(save(page, chart(page, "fall"), "PNG"))).convert("RGB")
    assert picture.width == 1600
    drawn = {color for _, color in picture.getcolors(1 << 24)}
    # The second run's line covers the first run's.
    assert tuple(map(int, re.findall(r"\d+", colors[1]))) in drawn


def test_marked_events_are_lines_with_labels(show):
    page = show(tags="fall")
    found = chart(page, "fall")
    expect(plot(found)).to_have_attribute("aria-label", re.compile("2 lines, 1 mark"))
    box = found.locator(".u-over").bounding_box()
    share = (MARKED - STEPS[0]) / (STEPS[-1] - STEPS[0])
    page.mouse.move(box["x"] + share * box["width"], box["y"] + 20)
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("halved <b> (a)")
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 20)
    expect(tip).not_to_contain_text("halved")
    _, texts = draw(page, found)
    assert "halved <b> (a)" in texts
    page.get_by_role("checkbox", name="marks").uncheck()
    expect(plot(found)).to_have_attribute("aria-label", re.compile(r"2 lines\."))
    page.wait_for_url("**hasMarks=false*")
    page.get_by_role("checkbox", name="marks").check()
    page.get_by_role("checkbox", name="a", exact=True).uncheck()
    expect(plot(found)).to_have_attribute("aria-label", re.compile(r"1 line\."))
