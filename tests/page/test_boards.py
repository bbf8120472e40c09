"""Real TensorBoards in the page: started for selected runs, embedded, watched and killed."""

import re
import signal

import psutil
import pytest
from helpers.boards import write_losses
from helpers.pages import eventually, serve_page
from playwright.sync_api import expect

RUNS = ["one/seed 0", "one/seed-1", "two/<b>ünï</b>", "two/seed-1"]
CHOSEN = [RUNS[0], RUNS[2]]
# TensorBoard starts slowly on a busy machine.
STARTED = 90_000


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def served(tmp_path_factory, state):
    folder = tmp_path_factory.mktemp("boards")
    for name in RUNS:
        write_losses(folder / name, *range(5))
    with serve_page(folder, state=state) as served:
        yield served
        # This also ends the TensorBoards that tests have left running.
        served.end(signal.SIGTERM)


@pytest.fixture(autouse=True)
def own_faults(show):
    """Ignore errors from TensorBoard's own page, which sends requests even after a kill."""
    show.faults.foreign = ("/proxy/", "/font-roboto/", "Multiple instances of Three.js")


def start(show, *off):
    """Start a TensorBoard for all runs except `off` from the table, and return the page."""
    page = show(tab="runs")
    for run in off:
        page.get_by_role("main").get_by_role("checkbox", name=f"Show {run}").uncheck()
    page.get_by_role("main").get_by_role("button", name="TensorBoard", exact=True).click()
    return page


def embedded(page):
    """Return the embedded TensorBoard and its name, once it is running."""
    section = page.get_by_role("region", name="TensorBoard")
    expect(section.locator(".board-state")).to_have_text("running", timeout=STARTED)
    return section, section.get_by_role("heading").inner_text()


def runs_in(section):
    """Return the runs of an embedded TensorBoard, as its own page requests them."""
    title = section.frame_locator("iframe").get_by_text("TensorBoard", exact=True)
    expect(title.first).to_be_visible(timeout=STARTED)
    frame = section.locator("iframe").element_handle().content_frame()
    return sorted(frame.evaluate("fetch('data/runs').then(response => response.json())"))


def kill(part, name):
    part.get_by_role("button", name=f"Kill {name}").click()
    part.get_by_role("button", name="Kill TensorBoard").click()


def processes(part):
    """Return the processes with `part`, such as a folder, in their command line."""
    everything = psutil.process_iter(["cmdline"])
    return [
        process
        for process in everything
        if any(str(part) in arg for arg in process.info["cmdline"] or ())
    ]


def test_selected_runs_open_in_a_tensorboard_of_exactly_these_runs(show):
    page = start(show, RUNS[1], RUNS[3])
    section, name = embedded(page)
    assert re.fullmatch("[a-z]+-[a-z]+", name)
    expect(section.locator(".shows")).to_have_text(f"2 runs: {', '.join(CHOSEN)}")
    frame = section.frame_locator("iframe")
    for run in CHOSEN:
        expect(frame.get_by_text(run).first).to_be_attached(timeout=STARTED)
    expect(frame.get_by_text("loss").first).to_be_visible()
    eventually(page, lambda: runs_in(section) == sorted(CHOSEN))
    assert section.locator("iframe").bounding_box()["height"] > 600
    section.get_by_role("button", name=f"Kill {name}").click()
    frame.get_by_text("Pinned").first.click()
    expect(section.get_by_role("button", name="Kill TensorBoard")).to_have_count(0)
    # The same selection reuses the TensorBoard.
    _, again = embedded(start(show, RUNS[1], RUNS[3]))
    assert again == name


def test_log_is_shown_and_kill_ends_tensorboard(show, state):
    section, name = embedded(start(show, RUNS[0]))
    section.get_by_role("button", name="Log", exact=True).click()
    expect(section.get_by_role("log")).to_contain_text("TensorBoard is running.")
    watching = show(tab="boards")
    live = watching.get_by_role("list", name="TensorBoards", exact=True)
    entry = live.get_by_role("listitem", name=name)
    expect(entry.locator(".board-state")).to_have_text("running")
    expect(entry).to_contain_text("in use")
    running = processes(state)
    section.get_by_role("button", name=f"Kill {name}").click()
    section.get_by_role("button", name="Kill TensorBoard").press("Escape")
    expect(section.get_by_role("button", name=f"Kill {name}")).to_be_focused()
    kill(section, name)
    expect(section.locator(".state")).to_contain_text("This TensorBoard has ended")
    # The other page is updated too.
    expect(entry).to_have_count(0)
    ended = watching.get_by_role("list", name="Ended TensorBoards")
    if not ended.is_visible():
        watching.locator("summary", has_text="Ended").click()
    expect(ended.get_by_role("listitem", name=name)).to_contain_text("terminated")
    eventually(watching, lambda: len(processes(state)) < len(running))
    section.get_by_role("button", name="Close").click()
    expect(section).to_have_count(0)


def test_crash_and_restart_are_shown(show):
    page = start(show, RUNS[2])
    section, name = embedded(page)
    page.get_by_role("button", name="Close").click()
    entry = page.get_by_role("listitem", name=name)
    for process in processes(f"/{entry.locator('code').inner_text()}"):
        process.kill()
    expect(entry).to_contain_text("restarted 1 time")
    expect(entry.locator(".message")).to_contain_text("TensorBoard was killed by SIGKILL.")
    expect(entry.locator(".board-state")).to_have_text("running", timeout=STARTED)
    entry.get_by_role("button", name=f"Open {name}").click()
    eventually(page, lambda: runs_in(section) == sorted({*RUNS} - {RUNS[2]}))
    kill(section, name)


def test_experiments_are_chosen_by_name(show):
    page = show(tab="boards")
    page.get_by_role("button", name="Start with experiments").click()
    page.get_by_label("Filter experiments").fill("TW")
    page.get_by_role("checkbox", name="two", exact=True).check()
    page.get_by_role("button", name="Start with 1 experiment").click()
    section, name = embedded(page)
    expect(section.locator(".shows")).to_have_text("experiment two")
    eventually(page, lambda: runs_in(section) == sorted(RUNS[2:]))
    kill(section, name)
    expect(section.get_by_role("button", name="Start again")).to_be_visible()


def test_graphs_and_embeddings_open_in_tensorboard(show):
    page = show(tab="more", part="others")
    page.get_by_role("main").get_by_label("Runs").select_option(RUNS[3])
    page.get_by_role("button", name="Projector").click()
    section, name = embedded(page)
    expect(section.locator(".shows")).to_have_text(f"run {RUNS[3]}")
    frame = section.locator("iframe").element_handle().content_frame()
    eventually(page, lambda: frame.url.endswith("/#projector"))
    link = section.get_by_role("link", name=f"Open {name} in a new tab")
    assert link.get_attribute("href") == frame.url.removeprefix(show.url)
    kill(section, name)


def test_unknown_tensorboard_is_reported(show):
    page = show(tab="boards", board="00000000")
    expect(page.get_by_role("alert")).to_contain_text("TensorBoard 00000000 does not exist.")
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("alert")).to_have_count(0)
