"""Real TensorBoards for experiments and trials, as a user sees them, from start to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from helpers.pages import MILLISECONDS, Faults
from helpers.services import (
    kill_hard,
    known,
    listed,
    logged_in,
    own_state,
    read_link,
    say,
    start,
    until_state,
    write_experiments,
)
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EXPERIMENTS = ["big/seed-1", "big/seed-2", "small/seed-1", "small/seed-2"]
TRIALS = ["third/seed-2", "fourth/seed-1"]


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    """Yield (id, link) of an instance with two experiments, and one with trials of two others."""
    with own_state(tmp_path_factory.mktemp("whole")) as folder:
        names = ("big", "small", "third", "fourth")
        logdir = ["--logdir", str(write_experiments(folder / "runs", *names))]
        quick = ["--config", "reload_interval=1"]
        # Both instances start at the same time; only the second command waits.
        _, out, _ = say("start", "-d", "big", "small", *logdir, *quick)
        trials = start("third", "--trial-ids", *TRIALS, *logdir, *quick)
        experiments = read_link(say("open", out.strip(), "--no-browser")[1])
        yield experiments, trials


@pytest.fixture
def faults():
    faults = Faults()
    yield faults
    # This warning is TensorBoard's own.
    assert [fault for fault in faults if "Multiple instances of Three.js" not in fault] == []


def read_scalars(client, run: str) -> list[int]:
    """Return the steps of a run's loss, as reported by TensorBoard."""
    params = {"run": run, "tag": "loss"}
    return [point[1] for point in client.get("data/plugin/scalars/scalars", params=params).json()]


def test_each_shows_exactly_the_selected_runs(boards):
    (_, experiments), (_, trials) = boards
    with logged_in(experiments) as client:
        assert sorted(client.get("data/runs").json()) == EXPERIMENTS
        assert read_scalars(client, "small/seed-2") == list(range(22))
    with logged_in(trials) as client:
        assert sorted(client.get("data/runs").json()) == sorted(TRIALS)
        assert read_scalars(client, "third/seed-2") == list(range(32))


def open_page(browser: Browser, link: str, faults: Faults) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    faults.watch(page)
    page.goto(link)
    return page


def test_tensorboards_page_works_under_our_policy(boards, browser, faults):
    id, _ = boards[0]
    page = open_page(browser, read_link(say("open", id, "--no-browser")[1])[1], faults)
    assert page.url.partition("#")[0].endswith(f"/proxy/{id}/")
    for name in EXPERIMENTS:
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
    expect(page.get_by_text("loss", exact=True).first).to_be_visible()
    # The chart is drawn, by a worker if TensorBoard uses one.
    expect(page.locator("scalar-card svg, scalar-card canvas").first).to_be_visible()
    # Neither the page nor anything in it can access our API.
    refused = "() => fetch('/api/status').then(() => 'given', () => 'refused')"
    assert page.evaluate(refused) == "refused"
    faults.forgive("/api/status")
    page.context.close()


def test_tensorboards_page_can_be_shown_in_ours(boards, browser, faults):
    id, _ = boards[1]
    status, out, err = say("open", id, "--no-browser")
    assert status == 0, err
    page = open_page(browser, read_link(out)[1], faults)
    origin = page.url.partition("/proxy/")[0]
    page.goto(origin)
    page.evaluate(
        """path => {
          const frame = document.createElement("iframe");
          frame.src = path;
          document.body.append(frame);
        }""",
        f"/proxy/{id}/",
    )
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text(TRIALS[0], exact=True).first).to_be_attached()
    page.context.close()


def test_a_crashed_instance_is_restarted(boards):
    id, _ = boards[0]
    kill_hard(known(id).pid)
    until_state(id, "RUNNING", restarts=1)
    entry = listed()[id]
    assert (entry["state"], entry["restarts"]) == ("RUNNING", 1)
    assert "Restarted at" in entry["message"]
    with logged_in(read_link(say("open", id, "--no-browser")[1])[1]) as client:
        assert sorted(client.get("data/runs").json()) == EXPERIMENTS


def test_a_killed_and_an_idle_instance_end(boards):
    id, _ = boards[1]
    logdir = known(id).sources.logdirs[0]
    idle, link = start("big", "--logdir", logdir, "--config", "idle_timeout=1")
    assert say("kill", id)[0] == 0
    ended = until_state(idle, "TERMINATED")
    assert (ended.exit_status, ended.message) == (0, "Idle for 1 s.")
    everything = listed("--all")
    assert [everything[ended_id]["state"] for ended_id in (id, idle)] == [
        "TERMINATED",
        "TERMINATED",
    ]
    assert list(listed()) == [boards[0][0]]
    with pytest.raises(AssertionError, match="This TensorBoard has ended"), logged_in(link):
        pass
