"""Logdirs with more tags than the page lists."""

import pytest
from helpers.logs import scalars, write
from helpers.pages import serve_page
from playwright.sync_api import expect

TAGS, LISTED = 1_250, 1_000


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tags")
    write(folder / "a", *(scalars(f"tag-{number}", (0, 1.0)) for number in range(TAGS)))
    with serve_page(folder, state=folder.parent) as served:
        yield served


@pytest.mark.fault(71)
def test_unlisted_tags_are_counted(show):
    page = show(tags="tag-12")
    expect(page.get_by_role("main")).to_contain_text(f"{TAGS - LISTED} more tags are not shown")
    expect(page.locator("section.chart")).to_have_count(11)


@pytest.mark.fault(71)
def test_the_table_and_its_picker_show_that_they_are_truncated(show):
    page = show(tab="runs")
    expect(page.locator("section.runs")).to_contain_text("first 1,000 of 1,250 scalar tags")
    page.get_by_text("Columns", exact=True).click()
    # The table has the last, lowest and highest value of each tag.
    expect(page.get_by_role("group", name="Scalars, first 500 of 3,000")).to_be_visible()
    page.get_by_role("searchbox", name="Filter columns").fill("tag-99")
    expect(page.get_by_role("group", name="Scalars", exact=True)).to_be_visible()
