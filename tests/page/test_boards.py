"""Real TensorBoards in the page: started from a choice of runs, looked into, watched and ended."""

import re
import signal

import psutil
import pytest
from helpers.boards import write_losses
from helpers.pages import eventually, serve_page
from playwright.sync_api import expect

RUNS = ["one/seed 0", "one/seed-1", "two/<b>ünï</b>", "two/seed-1"]
CHOSEN = [RUNS[0], RUNS[2]]
# A busy machine takes its time to start TensorBoard.
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
        # With it end all that a test has left.
        served.end(signal.SIGTERM)


@pytest.fixture(autouse=True)
def own_faults(show):
    """What TensorBoard's page complains of is none of ours: it still asks when it is killed."""
    show.faults.foreign = ("/proxy/", "/font-roboto/", "Multiple instances of Three.js")


def start(show, *off):
    """The page that started a TensorBoard of all runs but some, in the table of runs."""
    page = show(tab="runs")
    for run in off:
        page.get_by_role("main").get_by_role("checkbox", name=f"Show {run}").uncheck()
    page.get_by_role("main").get_by_role("button", name="TensorBoard", exact=True).click()
    return page


def opened(page):
    """The TensorBoard that is open within a page, and its name."""
    section = page.get_by_role("region", name="TensorBoard")
    expect(section.locator(".board-state")).to_have_text("running", timeout=STARTED)
    return section, section.get_by_role("heading").inner_text()


def runs_in(section):
    """The runs that the TensorBoard in a frame has, as its own page asks for them."""
    title = section.frame_locator("iframe").get_by_text("TensorBoard", exact=True)
    expect(title.first).to_be_visible(timeout=STARTED)
    frame = section.locator("iframe").element_handle().content_frame()
    return sorted(frame.evaluate("fetch('data/runs').then(answer => answer.json())"))


def kill(place, name):
    place.get_by_role("button", name=f"Kill {name}").click()
    place.get_by_role("button", name="Kill it").click()


def processes(part):
    """The processes that have something in their command, such as the folder of their files."""
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if any(str(part) in arg for arg in one.info["cmdline"] or ())]


def test_selection_opens_as_a_tensorboard_of_exactly_these_runs(show):
    page = start(show, RUNS[1], RUNS[3])
    section, name = opened(page)
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
    expect(section.get_by_role("button", name="Kill it")).to_have_count(0)
    # The same choice is the same TensorBoard.
    _, again = opened(start(show, RUNS[1], RUNS[3]))
    assert again == name


def test_log_is_shown_and_kill_ends_it(show, state):
    section, name = opened(start(show, RUNS[0]))
    section.get_by_role("button", name="Log", exact=True).click()
    expect(section.get_by_role("log")).to_contain_text("TensorBoard serves.")
    watching = show(tab="boards")
    live = watching.get_by_role("list", name="TensorBoards", exact=True)
    entry = live.get_by_role("listitem", name=name)
    expect(entry.locator(".board-state")).to_have_text("running")
    expect(entry).to_contain_text("in use")
    running = processes(state)
    section.get_by_role("button", name=f"Kill {name}").click()
    section.get_by_role("button", name="Kill it").press("Escape")
    expect(section.get_by_role("button", name=f"Kill {name}")).to_be_focused()
    kill(section, name)
    expect(section.locator(".state")).to_contain_text("It has ended")
    # Another page hears of it.
    expect(entry).to_have_count(0)
    ended = watching.get_by_role("list", name="Ended TensorBoards")
    if not ended.is_visible():
        watching.locator("summary", has_text="Ended").click()
    expect(ended.get_by_role("listitem", name=name)).to_contain_text("terminated")
    eventually(watching, lambda: len(processes(state)) < len(running))
    section.get_by_role("button", name="Close").click()
    expect(section).to_have_count(0)


def test_crash_is_shown_and_what_comes_of_it(show):
    page = start(show, RUNS[2])
    section, name = opened(page)
    page.get_by_role("button", name="Close").click()
    entry = page.get_by_role("listitem", name=name)
    for process in processes(f"/{entry.locator('code').inner_text()}"):
        process.kill()
    expect(entry).to_contain_text("restarted 1 time")
    expect(entry.locator(".message")).to_contain_text("It was ended by SIGKILL.")
    expect(entry.locator(".board-state")).to_have_text("running", timeout=STARTED)
    entry.get_by_role("button", name=f"Open {name}").click()
    eventually(page, lambda: runs_in(section) == sorted({*RUNS} - {RUNS[2]}))
    kill(section, name)


def test_experiments_are_chosen_by_name(show):
    page = show(tab="boards")
    page.get_by_role("button", name="Start with experiments").click()
    page.get_by_label("Find experiments").fill("TW")
    page.get_by_role("checkbox", name="two", exact=True).check()
    page.get_by_role("button", name="Start with it").click()
    section, name = opened(page)
    expect(section.locator(".shows")).to_have_text("experiment two")
    eventually(page, lambda: runs_in(section) == sorted(RUNS[2:]))
    kill(section, name)
    expect(section.get_by_role("button", name="Start again")).to_be_visible()


def test_graphs_and_embeddings_of_a_run_lead_to_its_tensorboard(show):
    page = show(tab="more", part="others")
    page.get_by_role("main").get_by_label("Of").select_option(RUNS[3])
    page.get_by_role("button", name="Projector").click()
    section, name = opened(page)
    expect(section.locator(".shows")).to_have_text(f"run {RUNS[3]}")
    frame = section.locator("iframe").element_handle().content_frame()
    eventually(page, lambda: frame.url.endswith("/#projector"))
    link = section.get_by_role("link", name=f"Open {name} in a tab")
    assert link.get_attribute("href") == frame.url.removeprefix(show.url)
    kill(section, name)


def test_unknown_tensorboard_is_told(show):
    page = show(tab="boards", board="00000000")
    expect(page.get_by_role("alert")).to_contain_text("There is no TensorBoard 00000000")
    page.get_by_role("button", name="Good").click()
    expect(page.get_by_role("alert")).to_have_count(0)
