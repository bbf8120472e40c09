"""Text from an untrusted log stays text in the page: none of it runs or is fetched."""

import struct
import zlib

import pytest
from helpers.pages import eventually, read_pixels, serve_page
from playwright.sync_api import expect
from tensorboard.compat.proto.summary_pb2 import Summary

import runfold as rf
from runfold._serve.page_vocabulary import TABS

BAD = "<img src=x onerror=window.hacked=1>"
SCRIPT = "<script>window.hacked=1</script>"
TEXT = f"""{BAD} {SCRIPT}

[press](javascript:window.hacked=1) ![far](http://192.0.2.1/x.png)

[`{BAD}`](data:text/html,{SCRIPT})
"""
LONG = "long/".ljust(2**20, "x")


def claim_picture(width: int, height: int) -> bytes:
    """Return a small PNG file that claims to contain a large image."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + checksum

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 999)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate([BAD, "__proto__", "constructor"]):
        hparams = {"__proto__": number, "constructor": BAD, BAD: number}
        with rf.track(folder / name, hparams=hparams, config={BAD: BAD}, system=False) as run:
            for tag in (BAD, SCRIPT, "__proto__", "toString", LONG):
                for step in range(20):
                    run.add_scalar(tag, step + number, step)
            run.add_text("bad", TEXT, 0)
            run.add_text(BAD, TEXT, 0)
            run.add_text("slow", "_a" * 99_500, 0)
            run.add_histogram("__proto__/h", [1, 2, 3], 0)
            huge = Summary.Image(
                height=25_000,
                width=40_000,
                colorspace=3,
                encoded_image_string=claim_picture(40_000, 25_000),
            )
            value = Summary.Value(tag="huge", image=huge).SerializeToString()
            run.add_value("huge", value, 0)
            page = Summary.Image(height=1, width=1, encoded_image_string=SCRIPT.encode())
            run.add_value("page", Summary.Value(tag="page", image=page).SerializeToString(), 0)
    return folder


@pytest.fixture(scope="module")
def served(logdir, tmp_path_factory):
    with serve_page(logdir, state=tmp_path_factory.mktemp("state")) as served:
        yield served


def assert_nothing_ran(page):
    """Check that nothing from the log has become code or an element."""
    assert page.evaluate("[window.hacked, ({}).hacked, document.scripts.length]") == [None, None, 1]
    assert page.locator("img[src=x]").count() == 0


def test_text_that_is_slow_to_format_is_shown_as_plain_text(show):
    page = show(tab="text", full="slow/text_summary")
    expect(page.get_by_text("The rest is shown as plain text.")).to_have_count(3)
    page.get_by_label("Plain text").check()
    expect(page.get_by_text("The rest is shown as plain text.")).to_have_count(0)
    expect(page.locator("pre").first).to_contain_text("_a_a_a")


@pytest.mark.parametrize("tab", TABS)
def test_every_view_shows_hostile_names_as_text(show, tab):
    page = show(tab=tab, by="__proto__", run=BAD, query="select * from scalars limit 99")
    expect(page.get_by_role("complementary")).to_contain_text(BAD)
    waiting = page.locator("main .state[role=status], main .chart-wait:not(.failed)")
    expect(waiting).to_have_count(0)
    assert_nothing_ran(page)
    main = page.get_by_role("main")
    assert main.get_by_role("alert").all_inner_texts() == []
    # A name can be a mebibyte long without breaking the layout.
    assert main.evaluate("main => main.scrollWidth <= main.clientWidth")


def test_curves_with_hostile_names_are_drawn_and_folded(show):
    page = show(tags="__proto__", by="__proto__", isFolded="true")
    expect(page.locator("section.chart h3")).to_have_text(["__proto__"])
    eventually(page, lambda: sum(map(len, read_pixels(page.locator("section.chart canvas")))) > 50)
    page.get_by_role("application").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("__proto__=2")
    assert_nothing_ran(page)


def test_long_tag_has_a_chart_of_normal_size(show):
    page = show(tags="^long/")
    eventually(page, lambda: sum(map(len, read_pixels(page.locator("section.chart canvas")))) > 50)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("section.chart").bounding_box()["height"] < 600


def test_text_has_no_script_links_and_no_images(show):
    page = show(tab="text", full="bad/text_summary", search=BAD)
    entry = page.locator("main article")
    expect(entry).to_contain_text(SCRIPT)
    expect(entry).to_contain_text("press")
    assert entry.locator("img, script").count() == 0
    addresses = entry.locator("a").evaluate_all("all => all.map(link => link.protocol)")
    assert set(addresses) <= {"http:", "https:"}
    assert_nothing_ran(page)


@pytest.mark.parametrize("tag", ["huge", "page"])
def test_invalid_or_too_large_image_is_reported(show, tag):
    page = show(tab="images", full=tag)
    message = page.locator("main figure .failed").first
    expect(message).to_be_visible()
    assert message.inner_text()
    assert_nothing_ran(page)


def test_table_shows_hostile_names_as_text(show):
    page = show(tab="runs")
    names = page.locator("main tbody th[scope=row]")
    expect(names).to_have_text(["__proto__", BAD, "constructor"])
    expect(page.locator("main thead")).to_contain_text("__proto__")
    page.get_by_label("Condition").fill("`__proto__` == 1")
    expect(names).to_have_text(["__proto__"])
    assert_nothing_ran(page)
