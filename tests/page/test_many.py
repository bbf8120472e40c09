"""Thousands of runs or many tags: the page lists them all and draws the visible ones."""

import re

import pytest
from helpers.logs import hparams, scalars, write
from helpers.pages import chart, plot, serve_page
from playwright.sync_api import expect

RUNS, FEW_TAGS = 2000, 5
FEWER_RUNS, TAGS = 100, 50


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    for runs, tags, name in ((RUNS, FEW_TAGS, "wide"), (FEWER_RUNS, TAGS, "deep")):
        for run in range(runs):
            series = [
                scalars(f"{name}/tag-{tag}", *((step, (run + tag) % 17) for step in range(10)))
                for tag in range(tags)
            ]
            write(folder / f"{name}-{run}", hparams(lr=run % 10), *series)
    with serve_page(folder, state=folder.parent) as served:
        yield served


def test_thousands_of_runs_are_filtered_sorted_and_scrolled(show):
    page = show(tab="runs", search="wide", sort="lr")
    rows = page.locator("main tbody tr[data-line]")
    expect(page.get_by_role("main")).to_contain_text(f"{RUNS} of {RUNS + FEWER_RUNS} runs")
    expect(rows.first).to_contain_text("wide-0")
    # Only the visible rows exist.
    assert rows.count() < 100
    rows.first.focus()
    page.keyboard.press("End")
    last = page.locator(f'main tbody tr[data-line="{RUNS - 1}"]')
    expect(last).to_be_focused()
    expect(last).to_contain_text("wide-1999")
    page.get_by_label("Filter runs by name").fill("wide-77")
    expect(page.get_by_role("main")).to_contain_text(f"11 of {RUNS + FEWER_RUNS} runs")
    expect(rows).to_have_count(11)


def test_thousands_of_runs_are_drawn_and_folded(show):
    page = show(search="wide", tags="wide/tag-0")
    found = chart(page, "wide/tag-0")
    expect(plot(found)).to_have_attribute("aria-label", re.compile(f"{RUNS:,} lines"))
    plot(found).hover()
    expect(page.get_by_role("tooltip")).to_contain_text(re.compile(r"\d+ more"))
    page.get_by_label("Group by").fill("lr")
    page.get_by_role("radio", name="folded").check()
    expect(plot(found)).to_have_attribute("aria-label", re.compile("10 lines"))


def test_a_few_of_thousands_are_selected_and_the_url_keeps_them(show):
    page = show(search="wide", tags="wide/tag-0")
    sidebar = page.get_by_role("complementary", name="Runs")
    sidebar.get_by_role("button", name="None").click()
    sidebar.get_by_role("checkbox", name="wide-3", exact=True).check()
    page.wait_for_url("**/?*on=*wide-3*")
    assert "wide-4" not in page.url
    page.reload()
    expect(sidebar).to_contain_text(f"1 of {RUNS + FEWER_RUNS} runs")
    expect(plot(chart(page, "wide/tag-0"))).to_have_attribute("aria-label", re.compile("1 line[.]"))
    expect(sidebar.get_by_role("checkbox", name="wide-3", exact=True)).to_be_checked()


def test_hparams_view_reports_missing_metrics(show):
    page = show(tab="hparams", search="deep", metric="wide/tag-0")
    expect(page.get_by_role("main")).to_contain_text(
        "Too few of the selected runs have a value for wide/tag-0."
    )


def test_distant_charts_are_loaded_after_scrolling(show):
    bodies = []
    page = show(tab="text")
    page.on(
        "request",
        lambda request: "/api/curves" in request.url and bodies.append(request.post_data_json),
    )
    page.goto(f"{show.url}/?search=deep&tags=deep/")
    expect(page.locator("section.chart")).to_have_count(TAGS)
    chart(page, "deep/tag-0")
    loaded = {tag for body in bodies for tag in body["tags"]}
    assert "deep/tag-0" in loaded
    assert len(loaded) < TAGS
    last = page.get_by_role("region", name=f"deep/tag-{TAGS - 1}", exact=True)
    last.scroll_into_view_if_needed()
    found = chart(page, f"deep/tag-{TAGS - 1}")
    expect(plot(found)).to_have_attribute("aria-label", re.compile(f"{FEWER_RUNS} lines"))
