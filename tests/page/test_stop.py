"""Stopping runs in the page: real training scripts end, and the page shows the progress."""

import json
import os
import time

import httpx
import pytest
from helpers.pages import serve_page
from helpers.trainings import DEAF, OBEDIENT, SAVING, STUBBORN, training
from playwright.sync_api import expect

import runfold as rf
from runfold._story.stop_request import request_stop


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stopped")
    with rf.track(folder / "done", code=False, system=False) as run:
        run.log({"loss": 1.0})
    return folder


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def served(logdir, state):
    with serve_page(logdir, state=state) as served:
        yield served


def actions(state):
    path = state / "runfold" / "audit.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(entry["action"], entry["outcome"], entry["how"]) for entry in map(json.loads, lines)]


def stages(page):
    return page.get_by_role("status", name="Stop progress").get_by_role("listitem")


def test_the_stop_button_ends_a_training_script_and_shows_progress(show, logdir, state):
    noted = actions(state)
    with training(logdir / "obeys", SAVING) as process:
        page = show(tab="run", run="obeys")
        page.get_by_role("button", name="Stop this run").click()
        page.get_by_role("textbox", name="Reason").fill("the <b>loss</b> diverged")
        page.get_by_role("button", name="Cancel").click()
        assert not (logdir / "obeys" / ".runfold" / "stop").exists()
        page.get_by_role("button", name="Stop this run").click()
        page.get_by_role("textbox", name="Reason").fill("the <b>loss</b> diverged")
        page.get_by_role("button", name="Stop run").click()
        expect(stages(page)).to_have_text(["requested", "seen by the run", "ended"])
        expect(stages(page).nth(1)).to_have_class("done")
        expect(page.get_by_text("“the <b>loss</b> diverged”")).to_be_visible()
        expect(page.locator(".facts")).to_contain_text(["stopping"])
        expect(page.get_by_role("button", name="Kill this run")).to_have_count(0)
        assert process.poll() is None
        process.stdin.write("\n")
        process.stdin.flush()
        expect(stages(page).nth(2)).to_have_text("ended: stopped")
        expect(stages(page).nth(2)).to_have_class("done")
        expect(page.locator(".facts").first).to_contain_text("stopped")
        assert process.wait(60) != 0
    with training(logdir / "obeys", OBEDIENT.replace("code=False", "code=False, resume=True")):
        expect(page.get_by_role("button", name="Stop this run")).to_be_visible()
        expect(stages(page)).to_have_count(0)
    assert actions(state) == [*noted, ("stop", "asked", "page")]


def test_a_run_that_ignores_the_stop_can_be_killed_after_a_while(show, logdir, state):
    with training(logdir / "stubborn", STUBBORN) as process:
        folder = logdir / "stubborn" / ".runfold"
        request_stop(str(logdir / "stubborn"), "an hour ago")
        request = {"who": "ada", "when": time.time() - 3600, "reason": "an hour ago"}
        (folder / "draft").write_text(json.dumps(request))
        os.replace(folder / "draft", folder / "stop")
        page = show(tab="run", run="stubborn")
        page.get_by_role("button", name="Kill this run").click()
        page.get_by_role("button", name="Kill run").click()
        expect(stages(page).last).to_have_text("ended: killed")
        process.wait(60)
    assert actions(state)[-1] == ("kill", "terminated", "page")


def test_the_selected_runs_are_stopped_together(show, logdir):
    with training(logdir / "hidden") as hidden, training(logdir / "selected") as selected:
        page = show(tab="runs", off='["hidden"]')
        page.get_by_role("button", name="Stop 1 running…").click()
        page.get_by_role("button", name="Stop run").click()
        selected.wait(60)
        row = page.get_by_role("row").filter(has_text="selected")
        expect(row.locator(".status")).to_have_text("stopped")
        expect(page.get_by_role("button", name="Stop 1 running…")).to_have_count(0)
        assert hidden.poll() is None


def test_a_finished_run_has_no_stop_button(show):
    page = show(tab="run", run="done")
    expect(page.locator(".facts").first).to_contain_text("finished")
    expect(page.get_by_role("button", name="Stop this run")).to_have_count(0)


def test_a_page_that_is_not_logged_in_cannot_stop_runs(browser, served, logdir, state):
    with training(logdir / "safe", DEAF) as process:
        before = sorted(os.listdir(logdir / "safe" / ".runfold"))
        noted = actions(state)
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{served.page}/")
        for kill in (False, True):
            status = page.evaluate(
                """async body => (await fetch("/api/stop", {
                  method: "POST",
                  headers: {"Content-Type": "application/json"},
                  body: JSON.stringify(body),
                })).status""",
                {"run": "safe", "kill": kill},
            )
            assert status == 403
            response = httpx.post(f"{served.url}/api/stop", json={"run": "safe", "kill": kill})
            assert response.status_code == 403
        context.close()
        assert sorted(os.listdir(logdir / "safe" / ".runfold")) == before
        assert process.poll() is None
        assert actions(state) == noted
