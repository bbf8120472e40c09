"""Empty states and errors in the page."""

import re

import numpy as np
import pytest
from helpers.pages import serve_page
from playwright.sync_api import expect

import runfold as rf

LISTED = 5000
FEW = 7


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Serve a run with more images than are listed, and a run without images."""
    folder = tmp_path_factory.mktemp("states")
    with rf.SummaryWriter(folder / "logs" / "many") as writer:
        for step in range(LISTED + FEW):
            writer.add_image("dot", np.zeros((3, 1, 1), np.uint8), step)
        writer.add_histogram("weights", np.arange(9), 0)
    with rf.SummaryWriter(folder / "logs" / "none") as writer:
        writer.add_scalar("loss", 1, 0)
    with serve_page(folder / "logs", state=folder / "state") as served:
        yield served


def test_an_error_in_a_view_does_not_affect_the_others(show):
    page = show(tab="runs")
    address = "**/api/tags*"
    # A response that no server of this version sends.
    page.route(address, lambda route: route.fulfill(json={"kinds": {"scalar": [None]}}))
    views = page.get_by_role("navigation", name="Views")
    views.get_by_role("button", name="Curves").click()
    failed = page.get_by_role("main").get_by_role("alert")
    expect(failed).to_contain_text("This view cannot be shown: ")
    page.unroute(address)
    views.get_by_role("button", name="Runs", exact=True).click()
    expect(page.get_by_role("table")).to_contain_text("many")
    views.get_by_role("button", name="Curves").click()
    expect(page.locator(".chart")).to_have_count(1)
    expect(failed).to_have_count(0)
    show.faults.forgive("null")


def test_tags_that_fail_to_load_are_not_reported_as_missing(show):
    page = show(tab="runs")
    page.route("**/api/tags*", lambda route: route.abort())
    views = page.get_by_role("navigation", name="Views")
    for tab in ("Images", "Histograms"):
        views.get_by_role("button", name=tab).click()
        expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("is not responding")
        expect(page.get_by_role("main")).not_to_contain_text("No run")
    show.faults.forgive("net::ERR_FAILED")


def test_unlisted_images_are_counted(show):
    page = show(tab="images")
    expect(page.locator("main figure")).to_have_count(1)
    expect(page.get_by_role("main")).to_contain_text(f"{FEW} more images are not listed.")


@pytest.mark.parametrize("tab", ["images", "histograms"])
def test_runs_without_entries_get_an_empty_state(show, tab):
    page = show(tab=tab, off='["many"]')
    expect(page.get_by_role("main")).to_contain_text(f"No selected run has {tab}.")


def test_output_that_fails_to_load_is_not_reported_as_missing(show):
    page = show(tab="runs")
    page.route(re.compile("/api/output"), lambda route: route.abort())
    page.get_by_role("button", name="many", exact=True).click()
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("is not responding")
    expect(page.get_by_role("main")).not_to_contain_text("No output was recorded.")
    page.unroute(re.compile("/api/output"))
    show.faults.forgive("net::ERR_FAILED")
