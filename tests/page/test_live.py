"""The page while a run is being written to, and while the server is down."""

import re
import shutil
import signal
import subprocess
import sys

import pytest
from helpers.logs import scalars, write
from helpers.pages import Shower, chart, eventually, plot, serve_page
from playwright.sync_api import expect

WRITER = """
import sys
import runfold as rf

with rf.SummaryWriter(sys.argv[1], flush_secs=0.1) as writer:
    for line in sys.stdin:
        step = int(line)
        writer.add_scalar("loss", 1 / (1 + step), step)
        writer.add_text("notes", f"at step {step}", step)
        writer.flush()
        print(step, flush=True)
"""


class Training:
    """A process that logs a step on request and confirms it."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def log(self, *steps):
        for step in steps:
            self.process.stdin.write(f"{step}\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == f"{step}\n"

    def close(self):
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="module")
def training(logdir):
    training = Training(logdir / "first")
    training.log(0, 1, 2)
    yield training
    training.close()


@pytest.fixture(scope="module")
def served(logdir, training, tmp_path_factory):
    with serve_page(logdir, state=tmp_path_factory.mktemp("state")) as served:
        yield served


def last_step(page):
    """Return the last step in the chart, read from its tooltip."""
    box = page.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 5)
    tip = page.get_by_role("tooltip")
    return int(re.search(r"step (\d+)", tip.inner_text())[1]) if tip.is_visible() else None


def test_new_points_are_drawn_without_a_reload(show, training):
    page = show(tags="loss")
    page.evaluate("window.isSame = true")
    eventually(page, lambda: last_step(page) == 2)
    for step in (10, 20):
        training.log(step)
        eventually(page, lambda step=step: last_step(page) == step)
    assert page.evaluate("window.isSame")


def test_new_points_change_neither_scroll_position_nor_zoom(show, training):
    page = show(tags="loss", range="[0, 1.5]")
    page.set_viewport_size({"width": 1000, "height": 320})
    plot(chart(page, "loss")).press("ArrowRight")
    main = page.get_by_role("main")
    main.evaluate("main => { main.scrollTop = 60; }")
    scrolled, address = main.evaluate("main => main.scrollTop"), page.url
    assert scrolled == 60
    focused = page.evaluate_handle("document.activeElement")
    with page.expect_response("**/api/curves"):
        training.log(25)
    expect(page.locator("section.chart [aria-busy=false]")).to_be_attached()
    assert main.evaluate("main => main.scrollTop") == scrolled
    assert page.url == address
    assert page.evaluate("before => before === document.activeElement", focused)
    assert last_step(page) == 1


def test_new_text_appears_and_a_chosen_older_step_stays(show, training):
    page, other = show(tab="text"), show(tab="text", step="1")
    expect(other.locator("main article")).to_contain_text("at step 1")
    training.log(30)
    expect(page.locator("main article")).to_contain_text("at step 30")
    expect(other.get_by_role("slider", name="Step")).to_have_attribute("max", re.compile("[1-9]"))
    expect(other.locator("main article")).to_contain_text("at step 1")


def test_new_run_appears(show, logdir):
    page = show(tab="runs")
    rows = page.locator("main tbody th[scope=row]")
    expect(rows).to_have_text(["first"])
    second = Training(logdir / "second")
    second.log(0)
    expect(rows).to_have_text(["first", "second"])
    second.close()


@pytest.mark.parametrize(("listed", "is_on"), [("on", False), ("off", True)])
def test_new_run_is_hidden_if_the_link_lists_the_selected_runs(show, logdir, listed, is_on):
    page = show(tab="runs", **{listed: '["first"]'})
    expect(page.get_by_role("checkbox", name="first", exact=True)).to_be_checked(checked=not is_on)
    write(logdir / f"later-{listed}", scalars("loss", (0, 1.0)))
    late = page.get_by_role("checkbox", name=f"later-{listed}", exact=True)
    expect(late).to_be_checked(checked=is_on)
    # The list and the table share the selection.
    page.get_by_label(f"Show later-{listed}").set_checked(not is_on)
    expect(late).to_be_checked(checked=not is_on)


def test_a_deleted_file_is_reported_live(show, logdir):
    path = write(logdir / "lost", scalars("loss", (0, 1.0)))
    page = show(tab="more", part="problems")
    expect(page.get_by_role("main")).to_contain_text("No problems found.")
    expect(page.get_by_role("checkbox", name="lost")).to_be_visible()
    path.unlink()
    expect(page.get_by_role("main")).to_contain_text("file-vanished: 1")
    expect(page.get_by_role("checkbox", name="lost")).to_be_visible()


@pytest.mark.fault(69)
def test_a_run_that_is_deleted_leaves_the_page(show, logdir):
    write(logdir / "deleted", scalars("loss", (0, 1.0)))
    page = show(tab="curves")
    entry = page.get_by_role("checkbox", name="deleted")
    expect(entry).to_be_visible()
    shutil.rmtree(logdir / "deleted")
    expect(entry).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_page_reconnects_to_a_restarted_server_and_keeps_the_view(browser, tmp_path):
    training = Training(tmp_path / "logs" / "one")
    training.log(0)
    context = browser.new_context()
    # With a random host name, the restarted server would be a different site to the browser.
    host = ("--host", "127.0.0.1")
    with serve_page(tmp_path / "logs", *host, state=tmp_path) as served:
        show = Shower(context, served.page)
        page = show(served.link)
        page.get_by_role("button", name="Text").click()
        expect(page.locator("main article")).to_contain_text("at step 0")
        view = page.url
        served.end(signal.SIGKILL)
        expect(page.get_by_role("banner").get_by_role("status")).to_have_text(
            re.compile("not connected")
        )
        expect(page.locator("main article")).to_contain_text("at step 0")
        port = served.port
    training.log(1)
    with serve_page(tmp_path / "logs", *host, "--port", port, state=tmp_path) as served:
        # The cookie is valid only for the server that set it.
        expect(page.get_by_role("banner").get_by_role("status")).to_contain_text("link")
        other = show(served.link)
        expect(page.get_by_role("banner").get_by_role("status")).to_have_text("live")
        expect(page.locator("main article")).to_contain_text("at step 1")
        assert page.url == view
        training.log(2)
        expect(page.locator("main article")).to_contain_text("at step 2")
        other.close()
    training.close()
    context.close()
    show.faults.forgive("403")
    assert [fault for fault in show.faults if "net::ERR_" not in fault] == []
