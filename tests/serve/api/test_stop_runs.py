"""Runs stopped over HTTP: only with the token, with progress and an audit record."""

import os

import pytest
from helpers.serving import HOST, open_client
from helpers.trainings import DEAF, STUBBORN, training

import runfold as rf
from runfold._serve.api import stop_runs as control
from runfold._story.audit_log import read_actions

WAIT = 60
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def logdir(tmp_path):
    return tmp_path / "logs"


def files_of(logdir):
    return sorted(os.listdir(logdir / "a" / ".runfold"))


def actions():
    return [(entry["action"], entry["outcome"], entry["how"]) for entry in read_actions()]


def test_a_run_is_stopped_and_its_progress_is_reported(logdir):
    with training(logdir / "a", STUBBORN) as process:
        client = open_client(logdir)
        generation = client.get("/api/status").json()["generation"]
        before = client.get("/api/stop", params={"run": "a"}).json()
        assert before == {
            "stage": "running",
            "state": "running",
            "who": None,
            "reason": None,
            "when": None,
            "whyNotKill": "",
        }
        response = client.post("/api/stop", json={"run": "a", "reason": "enough"})
        assert response.status_code == 200, response.text
        assert response.json()["stage"] in ("asked", "seen")
        assert response.json()["reason"] == "enough"
        # Every view of the status is updated, although nothing new was logged.
        assert client.get("/api/run", params={"run": "a"}).json()["status"]["state"] == "stopping"
        assert b"stopping" in client.get("/api/table").content
        assert client.get("/api/status").json()["generation"] > generation
        killed = client.post("/api/stop", json={"run": "a", "kill": True})
        assert killed.status_code == 200, killed.text
        assert killed.json()["stage"] in ("terminated", "ended")
        process.wait(WAIT)
        after = client.get("/api/stop", params={"run": "a"}).json()
        assert (after["stage"], after["state"], after["whyNotKill"]) == ("ended", "killed", None)
    assert actions() == [("stop", "asked", "api"), ("kill", "terminated", "api")]
    assert [entry["reason"] for entry in read_actions()] == ["enough", "enough"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x", **JSON},
        {"Authorization": "", **JSON},
        {"Origin": "http://evil.example", **JSON},
        {"Sec-Fetch-Site": "cross-site", **JSON},
        {"Host": "evil.example", **JSON},
        {"Content-Type": "text/plain", "Origin": f"http://{HOST}"},
    ],
)
def test_without_the_token_nothing_is_stopped(logdir, headers):
    with training(logdir / "a") as process:
        client = open_client(logdir)
        before = files_of(logdir)
        for kill in (True, False):
            response = client.post("/api/stop", json={"run": "a", "kill": kill}, headers=headers)
            assert response.status_code in (403, 415)
        assert files_of(logdir) == before
        assert process.poll() is None
        assert rf.open(logdir)["a"].status.state == "running"
    assert actions() == []


def test_reading_changes_nothing(logdir):
    with training(logdir / "a"):
        client = open_client(logdir)
        before = files_of(logdir)
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            params = {"run": "a", "kill": "true"}
            response = client.request(method, "/api/stop", params=params, headers=JSON)
            assert response.status_code in (400, 405)
        assert client.get("/api/stop", params={"run": "a"}).json()["stage"] == "running"
        assert files_of(logdir) == before
    assert actions() == []


def test_refusals_are_reported_and_recorded(logdir):
    with rf.track(logdir / "a", code=False, system=False) as run:
        run.log({"loss": 1.0})
    with rf.SummaryWriter(logdir / "plain") as writer:
        writer.add_scalar("loss", 1.0)
    client = open_client(logdir)
    for name, status, message in [
        ("a", 400, "its state is finished. There is nothing to"),
        ("plain", 400, "was not tracked"),
        ("aa", 404, "Did you mean 'a'?"),
        ("../a", 404, "No run"),
        (str(logdir / "a"), 404, "No run"),
    ]:
        for kill in (False, True):
            response = client.post("/api/stop", json={"run": name, "kill": kill})
            assert response.status_code == status, response.text
            assert message in response.json()["error"]
            assert read_actions()[-1]["why"] == response.json()["error"]
    assert actions() == [("stop", "refused", "api"), ("kill", "refused", "api")] * 5
    assert client.get("/api/stop", params={"run": "aa"}).status_code == 404


def test_killing_an_unresponsive_run_is_reported_as_in_progress(logdir):
    with training(logdir / "a", DEAF):
        client = open_client(logdir)
        request = {"run": "a", "kill": True, "reason": "out of memory"}
        assert client.post("/api/stop", json=request).json()["stage"] == "terminated"
        assert client.get("/api/stop", params={"run": "a"}).json()["stage"] == "terminated"
    assert read_actions()[0]["reason"] == "out of memory"


def test_a_failing_disk_does_not_block_the_request(logdir, monkeypatch):
    def fail(folder, **_):
        raise OSError("the disk is away")

    monkeypatch.setattr(control, "kill_run", fail)
    with training(logdir / "a", DEAF):
        response = open_client(logdir).post("/api/stop", json={"run": "a", "kill": True})
    assert response.status_code == 500
