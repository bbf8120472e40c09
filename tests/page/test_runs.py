"""The table of runs in the page: sorting, grouping, filtering, and choosing columns."""

import re

import pytest
from helpers.page_logs import FAILED, RUNS
from helpers.pages import chart, eventually, plot
from playwright.sync_api import expect


def names(page):
    """Return the names in the table, from top to bottom."""
    return page.locator("main tbody th[scope=row]").all_inner_texts()


def cells(page, column):
    """Return the cells of a column."""
    headings = page.locator("main thead th").all_inner_texts()
    index = next(index for index, text in enumerate(headings) if text.strip(" ▲▼") == column)
    return page.locator(f"main tbody tr:has(th[scope=row]) > :nth-child({index + 1})")


def test_every_run_has_a_row_with_its_status_and_hparams(show):
    page = show(tab="runs")
    expect(page.get_by_role("main")).to_contain_text("4 of 4 runs")
    assert names(page) == RUNS
    assert cells(page, "status").all_inner_texts() == ["finished"] * 3 + ["failed"]
    assert cells(page, "lr").all_inner_texts() == ["0.01", "0.01", "0.1", "0.1"]


def test_heading_sorts_ascending_then_descending_then_not(show):
    page = show(tab="runs")
    heading = page.locator("main thead th", has=page.get_by_title("Sort by hparam lr", exact=True))
    for order, expected in [
        ("ascending", RUNS),
        ("descending", [*RUNS[2:], *RUNS[:2]]),
        (None, RUNS),
    ]:
        heading.get_by_role("button").click()
        expect(page.locator("main tbody th[scope=row]")).to_have_text(expected)
        assert heading.get_attribute("aria-sort") == order


def test_columns_are_filtered_and_chosen(show):
    page = show(tab="runs")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("button", name="None").last.click()
    expect(page.locator("main thead button")).to_have_text(["run"])
    page.get_by_label("Filter columns").fill("val/loss")
    page.get_by_role("checkbox", name="val/loss").first.check()
    expect(page.locator("main thead button")).to_have_count(2)
    key = page.locator("main thead button").last.inner_text()
    assert "val/loss" in key
    lowest = [float(text) for text in cells(page, key).all_inner_texts()]
    assert max(lowest[2:]) < min(lowest[:2])


def test_column_is_pinned(show):
    page = show(tab="runs")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("button", name="Pin seed").click()
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


def test_groups_by_any_column_are_folded_and_compared(show):
    page = show(tab="runs", by="status")
    groups = page.locator("main tr.group span")
    expect(groups).to_have_text(["status=failed, 1 run", "status=finished, 3 runs"])
    assert groups.evaluate_all("all => all.every(el => el.scrollWidth <= el.clientWidth)")
    page = show(by="status", isFolded="true", tags="accuracy")
    plot(chart(page, "accuracy")).hover()
    expect(page.get_by_role("tooltip")).to_contain_text("status=finished")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("table", name="Groups")).to_contain_text("status=failed")


def test_long_group_names_keep_their_distinct_ends_in_the_list(show):
    page = show(tab="runs", by="(?P<a_name_for_which_the_list_has_no_room>seed-.)")
    ends = page.locator(".sidebar .heading .name")
    expect(ends).to_have_text([re.compile("seed-0$"), re.compile("seed-1$")])
    assert ends.evaluate_all("all => all.every(el => el.scrollWidth <= el.clientWidth)")


def test_runs_of_a_group_can_share_a_color(show):
    page = show(tab="runs", by="lr")
    swatches = page.get_by_role("complementary").locator("li .swatch")
    expect(swatches).to_have_count(len(RUNS))
    style = "all => all.map(el => el.value || getComputedStyle(el).backgroundColor)"
    assert len(set(swatches.evaluate_all(style))) == len(RUNS)
    page.get_by_role("checkbox", name="one color per group").check()
    eventually(page, lambda: len(set(swatches.evaluate_all(style))) == 2)
    first, second, *_ = swatches.evaluate_all(style)
    assert first == second


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        (r"seed-\d+", "A pattern must have a named group"),
        ("(?P<seed>", "is not a valid regular expression"),
        ("lrr", "Did you mean 'lr'?"),
    ],
)
def test_wrong_grouping_shows_the_same_error_as_the_fold(show, by, reason):
    page = show(by=by, isFolded="true", tags="accuracy")
    alert = page.get_by_role("complementary").get_by_role("alert")
    expect(alert).to_contain_text(reason)
    expect(page.locator("section.chart .failed")).to_have_text(alert.inner_text())
    show.faults.forgive("400")


def test_all_and_none_do_not_affect_filtered_out_runs(show):
    page = show(tab="runs", search="seed-1", off='["lr-0.1/seed-0"]')
    sidebar = page.get_by_role("complementary", name="Runs")
    for name, count in (("None", 0), ("All", 2)):
        sidebar.get_by_role("button", name=name).click()
        expect(sidebar).to_contain_text(f"{count} of 4 runs")
    page.get_by_label("Filter runs by name").fill("")
    expect(sidebar).to_contain_text("3 of 4 runs")


def test_rows_have_the_expected_height(show):
    # With other heights, a table of thousands of runs would jump while scrolling.
    page = show(tab="runs", by="lr")
    expect(page.locator("main tr.group")).to_have_count(2)
    heights = page.locator("main tbody tr:has(th)").evaluate_all(
        "rows => rows.map(row => row.getBoundingClientRect().height)"
    )
    assert set(heights) == {28}


def test_runs_are_filtered_by_name_and_condition(show):
    page = show(tab="runs")
    rows = page.locator("main tbody th[scope=row]")
    page.get_by_label("Filter runs by name").fill("SEED-1")
    expect(rows).to_have_text([RUNS[1], RUNS[3]])
    page.get_by_label("Condition").fill("lr < 0.05 and status == 'finished'")
    expect(rows).to_have_text([RUNS[1]])
    page.get_by_label("Filter runs by name").fill("nobody")
    expect(page.get_by_role("main")).to_contain_text("No runs match these filters.")


def test_wrong_condition_shows_the_error_and_hides_nothing(show):
    page = show(tab="runs")
    page.get_by_label("Condition").fill("lrr < 0.05")
    message = page.get_by_role("complementary").get_by_role("alert")
    expect(message).to_contain_text("lrr")
    expect(message).to_contain_text("lr")
    # A caret below the condition points at the mistake.
    expect(message).to_have_css("font-family", re.compile("monospace"))
    assert names(page) == RUNS
    show.faults.forgive("/api/where")


def test_a_name_opens_the_run_and_back_returns_to_the_table(show):
    page = show(tab="runs")
    page.get_by_role("main").get_by_role("button", name=FAILED, exact=True).click()
    expect(page.get_by_role("combobox", name="Run", exact=True)).to_have_value(FAILED)
    page.go_back()
    assert names(page) == RUNS


def test_runs_deselected_in_the_table_are_deselected_in_the_list(show):
    page = show(tab="runs")
    page.get_by_role("checkbox", name=f"Show {FAILED}").uncheck()
    expect(page.get_by_role("complementary")).to_contain_text("3 of 4 runs")
    page.get_by_role("button", name="All").click()
    expect(page.get_by_role("checkbox", name=f"Show {FAILED}")).to_be_checked()


def test_tag_filter_does_not_affect_other_views(show):
    page = show(tags="loss")
    page.get_by_role("button", name="Images").click()
    expect(page.get_by_role("main").locator("figure").first).to_be_visible()
    page.get_by_role("button", name="Text", exact=True).click()
    # Logged tags come before the tags that Runfold records.
    expect(page.get_by_role("combobox", name="Tag")).to_have_value("notes/text_summary")
