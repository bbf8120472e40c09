"""The Hparams, Compare, Run and SQL views of the page."""

import re

from helpers.page_logs import FAILED, RUNS
from helpers.pages import eventually, read_pixels
from playwright.sync_api import expect


def part(page, title):
    """Return a section of the Run view."""
    return page.locator("main details.part", has=page.get_by_text(title, exact=True))


def fact(page, title, name):
    """Return the value of a fact in a section."""
    rows = part(page, title).locator("dl > div")
    return rows.filter(has=page.get_by_text(name, exact=True)).locator("dd")


def test_hparams_are_shown_as_lines_dots_and_importance(show):
    page = show(tab="hparams", metric="val/loss")
    lines = page.get_by_role("img", name="Parallel coordinates of hparams").locator("polyline")
    expect(lines).to_have_count(len(RUNS))
    rows = page.get_by_role("main").locator("tbody tr")
    expect(rows.first).to_contain_text("lr")
    expect(rows.first).to_contain_text(re.compile(r"\d+ %"))
    dots = page.get_by_role("img", name=re.compile("by lr")).locator("circle")
    expect(dots).to_have_count(len(RUNS))
    dots.last.hover()
    expect(page.locator("figure.scatter figcaption")).to_contain_text(RUNS[-1])
    page.get_by_role("button", name="seed", exact=True).click()
    expect(page.get_by_role("img", name=re.compile("by seed"))).to_be_visible()
    page.get_by_role("combobox", name="Metric").select_option("accuracy")
    page.wait_for_url("**metric=accuracy*")


def test_groups_are_compared_in_a_sentence_and_numbers(show):
    page = show(tab="compare")
    expect(page.get_by_role("main")).to_contain_text("Choose how to group the runs")
    main = page.get_by_role("main")
    main.get_by_role("combobox", name="Group by").select_option("lr")
    page.get_by_role("combobox", name="Tag").select_option("val/loss")
    sentence = page.locator("main .sentence")
    expect(sentence).to_contain_text("lr=0.1")
    expect(sentence).to_contain_text("val/loss")
    groups = page.get_by_role("table", name="Groups")
    expect(groups.locator("tbody tr")).to_have_count(2)
    titles = ["group", "n", "mean", "std", "95 % CI low", "95 % CI high", "median", "IQM"]
    expect(groups.get_by_role("columnheader")).to_have_text(titles)
    expect(page.get_by_role("table", name="Pairs").locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("main").get_by_role("alert")).to_have_count(0)
    sidebar = page.get_by_role("complementary")
    sidebar.get_by_role("combobox", name="Group by").fill(r"(?P<rate>0\.01|seed-1)")
    expect(page.get_by_role("main")).to_contain_text("Left out: 1 run without a name that matches")
    page.get_by_role("button", name="None").click()
    expect(page.get_by_role("main")).to_contain_text("No runs selected.")


def test_run_shows_its_status_configuration_code_output_and_files(show):
    page = show(tab="run", run=RUNS[0])
    expect(fact(page, "Status", "state")).to_have_text("finished")
    expect(fact(page, "Configuration", "model.width")).to_have_text("64")
    expect(fact(page, "Code", "commit")).to_have_text(re.compile("^[0-9a-f]{40}$"))
    expect(part(page, "Code").locator("pre.diff")).to_contain_text("+SCALE = 2.0")
    expect(part(page, "Output").locator("pre")).to_have_text("training with lr 0.01\ndone\n")
    expect(fact(page, "Artifacts", "model.py")).to_contain_text("12 bytes, sha256")
    expect(fact(page, "Command and host", "command")).to_contain_text("train.py")
    charts = part(page, "System").locator("canvas")
    eventually(page, lambda: charts.count() > 0 and any(read_pixels(charts)))


def test_failed_run_shows_its_traceback(show):
    page = show(tab="run", run=FAILED)
    expect(fact(page, "Status", "state")).to_have_text("failed")
    expect(part(page, "Status").locator("pre")).to_contain_text(
        "ValueError: the loss is not what it was"
    )


def test_two_runs_are_shown_side_by_side(show):
    page = show(tab="run", run=RUNS[0])
    page.get_by_role("combobox", name="Compare with").select_option(RUNS[2])
    row = page.locator("main tr.differs", has=page.get_by_role("rowheader", name="lr", exact=True))
    expect(row.first.locator("td")).to_have_text(["0.01", "0.1"])
    finals = page.get_by_role("table", name="Final values")
    final = finals.locator("tr", has=page.get_by_role("rowheader", name="val/loss", exact=True))
    expect(final.locator("td")).to_have_text([re.compile(r"^[\d.]+ at step 299$")] * 2)
    expect(finals).not_to_contain_text("system/")
    expect(page.locator("main tr.same")).to_have_count(0)
    page.get_by_label("Include identical values").check()
    expect(page.locator("main tr.same").first).to_be_visible()


def test_sql_result_is_a_table_and_a_chart(show):
    page = show(tab="sql")
    page.get_by_label("Query").fill(
        "select step, value from scalars where tag = 'val/loss' and run like '%0.01/seed-0'"
        " order by step"
    )
    page.get_by_label("Query").press("Control+Enter")
    expect(page.get_by_role("main").locator("caption")).to_have_text("300 rows")
    expect(page.get_by_role("main").locator("thead th")).to_have_text(["step", "value"])
    expect(page.get_by_role("main").locator("tbody tr:has(td)").nth(1)).to_contain_text("1")
    page.get_by_label("Plot over step").check()
    canvas = page.get_by_role("main").locator("canvas")
    eventually(page, lambda: canvas.count() > 0 and any(read_pixels(canvas)))
    drawing = page.get_by_role("figure", name="Query result")
    expect(drawing).to_contain_text("step")
    box, table = drawing.bounding_box(), page.get_by_role("table").last.bounding_box()
    assert box["y"] + box["height"] <= table["y"]


def test_wrong_query_shows_the_error(show):
    page = show(tab="sql", query="select nothing from scalars")
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("nothing")
    show.faults.forgive("/api/sql")


def test_saved_query_is_listed_in_another_page(show):
    query = "select count(*) as many from runs"
    page = show(tab="sql")
    page.get_by_label("Query").fill(query)
    with page.expect_response("**/api/views"):
        page.get_by_role("button", name="Save", exact=True).click()
    other = show(tab="sql")
    other.get_by_text("Queries", exact=True).click()
    other.get_by_role("list", name="Saved queries").get_by_role("button", name=query).first.click()
    expect(other.get_by_role("main").locator("tbody tr:has(td)")).to_have_text([str(len(RUNS))])
