"""A link shows the same view in another browser, and saved views survive a restart."""

import signal

import pytest
from helpers.logs import scalars, write
from helpers.page_logs import RUNS
from helpers.pages import MILLISECONDS, Shower, chart, plot, serve_page
from playwright.sync_api import expect


def test_link_shows_the_same_chart_in_another_browser(show, browser, login):
    page = show(tags="loss")
    chart(page, "val/loss")
    page.get_by_label("Group by").fill("lr")
    page.get_by_label("Condition").fill("seed >= 0")
    page.get_by_role("radio", name="folded").check()
    page.get_by_label("Center").select_option("median")
    page.get_by_label("Band").select_option("minmax")
    page.get_by_label("smoothing").fill("0.5")
    page.get_by_role("checkbox", name="ignore outliers").check()
    page.get_by_role("checkbox", name=RUNS[1]).uncheck()
    page.get_by_role("button", name="Full size: val/loss").click()
    plot(chart(page, "val/loss")).press("+")
    page.wait_for_url("**range=*")
    page.wait_for_url("**smooth=0.5*")
    context = browser.new_context(storage_state=login)
    context.set_default_timeout(MILLISECONDS)
    other = Shower(context, show.url)(page.url)
    expect(other.locator("section.chart h3")).to_have_text(["val/loss"])
    expect(plot(chart(other, "val/loss"))).to_have_attribute(
        "aria-label", plot(chart(page, "val/loss")).get_attribute("aria-label")
    )
    for name, value in [("Group by", "lr"), ("Condition", "seed >= 0"), ("Center", "median")]:
        expect(other.get_by_label(name)).to_have_value(value)
    expect(other.get_by_label("Band")).to_have_value("minmax")
    expect(other.get_by_label("smoothing")).to_have_value("0.5")
    expect(other.get_by_role("checkbox", name="ignore outliers")).to_be_checked()
    expect(other.get_by_role("checkbox", name=RUNS[1])).not_to_be_checked()
    expect(other.get_by_role("button", name="Reset zoom")).to_be_enabled()
    assert other.url == page.url
    context.close()


@pytest.mark.parametrize(
    ("view", "change", "check"),
    [
        (
            {"tab": "images", "full": "found"},
            lambda page: page.get_by_role("checkbox", name="cat").uncheck(),
            lambda page: expect(page.get_by_role("checkbox", name="cat")).not_to_be_checked(),
        ),
        (
            {"tab": "histograms"},
            lambda page: page.get_by_role("combobox", name="Show as").select_option("bands"),
            lambda page: expect(page.get_by_role("combobox", name="Show as")).to_have_value(
                "bands"
            ),
        ),
        (
            {"tab": "hparams"},
            lambda page: page.get_by_label("Hparam for the scatter plot").select_option("seed"),
            lambda page: expect(page.get_by_label("Hparam for the scatter plot")).to_have_value(
                "seed"
            ),
        ),
        (
            {"tab": "compare", "by": "lr"},
            lambda page: page.get_by_label("Better").select_option("higher"),
            lambda page: expect(page.get_by_label("Better")).to_have_value("higher"),
        ),
        (
            {"tab": "text"},
            lambda page: page.get_by_label("Plain text").check(),
            lambda page: expect(page.get_by_label("Plain text")).to_be_checked(),
        ),
    ],
    ids=lambda value: value["tab"] if isinstance(value, dict) else "",
)
def test_link_keeps_the_settings_of_other_views(show, view, change, check):
    page = show(**view)
    before = page.url
    change(page)
    page.wait_for_function("before => location.href !== before", arg=before)
    check(show(page.url))


def test_saved_view_survives_a_killed_server(browser, tmp_path):
    logdir = tmp_path / "logs"
    write(logdir / "one", *(scalars(tag, (0, 2.0), (1, 1.0)) for tag in ("loss", "val/loss")))
    context = browser.new_context()
    context.set_default_timeout(MILLISECONDS)
    with serve_page(logdir, state=tmp_path) as served:
        page = Shower(context, served.page)(served.link)
        page.get_by_label("Filter tags by text or regular expression").fill("val/")
        page.get_by_role("checkbox", name="log y").check()
        page.get_by_role("button", name="Views").click()
        page.get_by_label("View name").fill("how it falls")
        with page.expect_response("**/api/views"):
            page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="how it falls", exact=True)).to_be_visible()
        page.close()
        served.end(signal.SIGKILL)
    with serve_page(logdir, state=tmp_path) as served:
        show = Shower(context, served.page)
        page = show(served.link)
        page.get_by_role("button", name="Views").click()
        page.get_by_role("button", name="how it falls", exact=True).click()
        expect(page.locator("section.chart h3")).to_have_text(["val/loss"])
        expect(page.get_by_role("checkbox", name="log y")).to_be_checked()
        page.get_by_role("button", name="Views").click()
        with page.expect_response("**/api/views"):
            page.get_by_role("button", name="Delete view how it falls").click()
        expect(page.get_by_role("button", name="how it falls", exact=True)).to_have_count(0)
        page.close()
        assert show.faults == []
    context.close()
