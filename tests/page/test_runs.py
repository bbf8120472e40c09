"""The table of runs in the page: sorted, grouped, filtered, with the columns one wants."""

import re

import pytest
from helpers.page_logs import FAILED, RUNS
from helpers.pages import chart, eventually, plot
from playwright.sync_api import expect


def names(page):
    """The names in the table, from above."""
    return page.locator("main tbody th[scope=row]").all_inner_texts()


def cells(page, column):
    """What stands below a heading."""
    headings = page.locator("main thead th").all_inner_texts()
    place = next(place for place, text in enumerate(headings) if text.strip(" ▲▼") == column)
    return page.locator(f"main tbody tr:has(th[scope=row]) > :nth-child({place + 1})")


def test_every_run_has_a_row_with_its_status_and_hparams(show):
    page = show(tab="runs")
    expect(page.get_by_role("main")).to_contain_text("4 of 4 runs")
    assert names(page) == RUNS
    assert cells(page, "status").all_inner_texts() == ["finished"] * 3 + ["failed"]
    assert cells(page, "lr").all_inner_texts() == ["0.01", "0.01", "0.1", "0.1"]


def test_heading_sorts_up_then_down_then_not_at_all(show):
    page = show(tab="runs")
    heading = page.locator("main thead th", has=page.get_by_title("hparam lr: sort", exact=True))
    for order, expected in [
        ("ascending", RUNS),
        ("descending", [*RUNS[2:], *RUNS[:2]]),
        (None, RUNS),
    ]:
        heading.get_by_role("button").click()
        expect(page.locator("main tbody th[scope=row]")).to_have_text(expected)
        assert heading.get_attribute("aria-sort") == order


def test_columns_are_chosen_and_found_by_name(show):
    page = show(tab="runs")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("button", name="None").last.click()
    expect(page.locator("main thead button")).to_have_text(["run"])
    page.get_by_label("Find columns").fill("val/loss")
    page.get_by_role("checkbox", name="val/loss").first.check()
    expect(page.locator("main thead button")).to_have_count(2)
    key = page.locator("main thead button").last.inner_text()
    assert "val/loss" in key
    lowest = [float(text) for text in cells(page, key).all_inner_texts()]
    assert max(lowest[2:]) < min(lowest[:2])


def test_column_is_kept_at_the_left(show):
    page = show(tab="runs")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("button", name="Keep seed at the left").click()
    expect(page.locator("main thead button").nth(1)).to_have_text("seed")


def test_runs_are_grouped_by_an_hparam_the_folder_or_a_pattern(show):
    page = show(tab="runs")
    groups = page.locator("main tr.group")
    for by, expected in [
        ("lr", ["lr=0.01, 2 runs", "lr=0.1, 2 runs"]),
        ("parent", ["lr-0.01, 2 runs", "lr-0.1, 2 runs"]),
        ("(?P<seed>seed-.)", ["seed=seed-0, 2 runs", "seed=seed-1, 2 runs"]),
    ]:
        page.get_by_label("Group by").fill(by)
        expect(groups).to_have_text(expected)


def test_any_column_makes_groups_that_are_folded_and_compared_too(show):
    page = show(tab="runs", by="status")
    groups = page.locator("main tr.group span")
    expect(groups).to_have_text(["status=failed, 1 run", "status=finished, 3 runs"])
    assert groups.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)")
    page = show(by="status", isFolded="true", tags="accuracy")
    plot(chart(page, "accuracy")).hover()
    expect(page.get_by_role("tooltip")).to_contain_text("status=finished")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("table", name="Groups")).to_contain_text("status=failed")


def test_long_groups_are_told_apart_in_the_list_by_their_ends(show):
    page = show(tab="runs", by="(?P<a_name_for_which_the_list_has_no_room>seed-.)")
    ends = page.locator(".sidebar .heading .name")
    expect(ends).to_have_text([re.compile("seed-0$"), re.compile("seed-1$")])
    assert ends.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)")


def test_runs_of_a_group_may_have_one_colour(show):
    page = show(tab="runs", by="lr")
    swatches = page.get_by_role("complementary").locator("li .swatch")
    expect(swatches).to_have_count(len(RUNS))
    style = "all => all.map(one => one.value || getComputedStyle(one).backgroundColor)"
    assert len(set(swatches.evaluate_all(style))) == len(RUNS)
    page.get_by_role("checkbox", name="one colour for each group").check()
    eventually(page, lambda: len(set(swatches.evaluate_all(style))) == 2)
    first, second, *_ = swatches.evaluate_all(style)
    assert first == second


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        (r"seed-\d+", "A pattern needs a named group"),
        ("(?P<seed>", "is no regular expression"),
        ("lrr", "Did you mean 'lr'?"),
    ],
)
def test_what_makes_no_groups_is_said_in_the_words_of_the_fold(show, by, reason):
    page = show(by=by, isFolded="true", tags="accuracy")
    said = page.get_by_role("complementary").get_by_role("alert")
    expect(said).to_contain_text(reason)
    expect(page.locator("section.chart .failed")).to_have_text(said.inner_text())
    show.faults.forgive("400")


def test_all_and_none_leave_the_runs_alone_that_the_filter_hides(show):
    page = show(tab="runs", search="seed-1", off='["lr-0.1/seed-0"]')
    sidebar = page.get_by_role("complementary", name="Runs")
    for name, count in (("None", 0), ("All", 2)):
        sidebar.get_by_role("button", name=name).click()
        expect(sidebar).to_contain_text(f"{count} of 4 runs")
    page.get_by_label("Find runs by name").fill("")
    expect(sidebar).to_contain_text("3 of 4 runs")


def test_rows_are_as_high_as_they_are_counted(show):
    # Otherwise a table of thousands of runs jumps while one scrolls.
    page = show(tab="runs", by="lr")
    expect(page.locator("main tr.group")).to_have_count(2)
    heights = page.locator("main tbody tr:has(th)").evaluate_all(
        "rows => rows.map(row => row.getBoundingClientRect().height)"
    )
    assert set(heights) == {28}


def test_filters_by_name_and_condition_leave_what_fits(show):
    page = show(tab="runs")
    rows = page.locator("main tbody th[scope=row]")
    page.get_by_label("Find runs by name").fill("SEED-1")
    expect(rows).to_have_text([RUNS[1], RUNS[3]])
    page.get_by_label("Condition").fill("lr < 0.05 and status == 'finished'")
    expect(rows).to_have_text([RUNS[1]])
    page.get_by_label("Find runs by name").fill("nobody")
    expect(page.get_by_role("main")).to_contain_text("No run is left")


def test_wrong_condition_says_what_is_wrong_and_takes_nothing_away(show):
    page = show(tab="runs")
    page.get_by_label("Condition").fill("lrr < 0.05")
    message = page.get_by_role("complementary").get_by_role("alert")
    expect(message).to_contain_text("lrr")
    expect(message).to_contain_text("lr")
    # It shows the place by a sign below it.
    expect(message).to_have_css("font-family", re.compile("monospace"))
    assert names(page) == RUNS
    show.faults.forgive("/api/where")


def test_a_name_opens_the_run_and_back_leads_back(show):
    page = show(tab="runs")
    page.get_by_role("main").get_by_role("button", name=FAILED, exact=True).click()
    expect(page.get_by_role("combobox", name="Run", exact=True)).to_have_value(FAILED)
    page.go_back()
    assert names(page) == RUNS


def test_switched_off_runs_are_off_in_the_list_too(show):
    page = show(tab="runs")
    page.get_by_role("checkbox", name=f"Show {FAILED}").uncheck()
    expect(page.get_by_role("complementary")).to_contain_text("3 of 4 runs")
    page.get_by_role("button", name="All").click()
    expect(page.get_by_role("checkbox", name=f"Show {FAILED}")).to_be_checked()


def test_filter_of_the_charts_takes_nothing_from_other_views(show):
    page = show(tags="loss")
    page.get_by_role("button", name="Images").click()
    expect(page.get_by_role("main").locator("figure").first).to_be_visible()
    page.get_by_role("button", name="Text", exact=True).click()
    # What was logged comes before what runs say of themselves.
    expect(page.get_by_role("combobox", name="Tag")).to_have_value("notes/text_summary")
