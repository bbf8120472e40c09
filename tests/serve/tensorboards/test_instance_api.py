"""Instances for pages and programs: list, start, kill, log, link and announcements."""

import os
import time

import pytest
from helpers.event_stream import parse
from helpers.logs import scalars, write
from helpers.upstreams import proxying
from starlette.testclient import TestClient

from runfold._serve.app import make_app
from runfold._serve.http.access import Access
from runfold._serve.run_source import Source
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Store
from runfold._serve.tensorboards.registry import InstanceRegistry
from runfold._story.audit_log import read_actions


@pytest.fixture
def logdir(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("big/seed-1", "big/seed-2", "small/seed-1"):
        write(tmp_path / "runs" / name, scalars("loss", (0, 1.0)))
    return tmp_path / "runs"


@pytest.fixture
def store(logdir):
    store = Store()
    yield store
    store.close()


@pytest.fixture
def client(logdir, store):
    """A client that has the token. Nothing is ever started, because no supervisor runs."""
    access = Access(port=6006)
    app = make_app(Source(logdir), access, boards=InstanceRegistry(access, "http://127.0.0.1:6006"))
    return TestClient(
        app,
        base_url="http://127.0.0.1:6006",
        headers={"Authorization": f"Bearer {access.token}"},
        raise_server_exceptions=False,
        follow_redirects=False,
    )


def start(client, **fields):
    response = client.post("/api/tensorboards", json=fields)
    assert response.status_code == 200, response.text
    return response.json()


def test_instance_shows_selected_runs_of_the_served_logdir(client, store, logdir):
    fields = {"runs": ["big/seed-2"], "experiments": ["small"], "where": "last['loss'] < 2"}
    begun = start(client, **fields, description="two of them")
    instance = store.get(begun["id"])
    assert instance.sources == Sources(
        (str(logdir),), ("big/seed-2",), ("small",), "last['loss'] < 2"
    )
    assert (begun["isNew"], begun["path"]) == (True, f"/proxy/{instance.id}/")
    assert start(client, **fields)["id"] == instance.id
    assert not start(client, **fields)["isNew"]
    assert start(client)["id"] != instance.id


def test_list_contains_no_paths_or_keys(client, store, logdir):
    begun = start(client, experiments=["big"])
    elsewhere = store.add(Sources((str(logdir.parent / "other"),)), Options())
    response = client.get("/api/tensorboards")
    first, second = response.json()["tensorboards"]
    assert first == {key: value for key, value in begun.items() if key != "isNew"}
    assert (first["state"], first["isHere"], first["logdirs"]) == ("STARTING", True, ["runs"])
    assert (second["name"], second["isHere"]) == (elsewhere.name, False)
    for secret in (store.get(begun["id"]).key, elsewhere.key, str(logdir.parent)):
        assert secret not in response.text


@pytest.mark.parametrize(
    ("fields", "status", "part"),
    [
        ({"runs": ["big/seed-3"]}, 404, "big/seed-2"),
        ({"runs": ["../../etc"]}, 404, "No run"),
        ({"experiments": ["bg"]}, 404, "Did you mean 'big'?"),
        ({"where": "loss <"}, 400, "loss <"),
        ({"logdir": "/etc"}, 400, "No field 'logdir'"),
        ({"runs": "big"}, 400, "list"),
    ],
)
def test_only_served_runs_can_be_shown(client, store, fields, status, part):
    response = client.post("/api/tensorboards", json=fields)
    assert (response.status_code, part in response.json()["error"]) == (status, True), response.text
    assert store.all() == []


def test_start_and_kill_are_recorded_in_the_audit_log(client, store):
    begun = start(client)
    killed = client.post("/api/tensorboards/kill", json={"id": begun["id"][:6]}).json()
    assert (killed["id"], killed["state"]) == (begun["id"], "TERMINATING")
    assert store.get(begun["id"]).wanted == "down"
    recorded = [(entry["action"], entry["target"], entry["how"]) for entry in read_actions()]
    target = f"{begun['id']} {begun['name']}"
    assert recorded == [("tensorboard start", target, "page"), ("tensorboard kill", target, "page")]
    unknown = client.post("/api/tensorboards/kill", json={"id": begun["name"] + "x"})
    assert (unknown.status_code, begun["name"] in unknown.json()["error"]) == (404, True)


def test_log_returns_the_last_lines(client, store):
    id = start(client)["id"]
    assert client.get("/api/tensorboards/log", params={"id": id}).json()["lines"] == []
    os.makedirs(store.folder_of(id))
    with open(os.path.join(store.folder_of(id), "log.txt"), "w") as file:
        file.write("one\ntwo\nthree\n")
    response = client.get("/api/tensorboards/log", params={"id": id, "tail": 2})
    assert response.json() == {"id": id, "lines": ["two", "three"]}
    assert client.get("/api/tensorboards/log", params={"id": "nobody"}).status_code == 404


def test_rule_13_a_link_logs_in_once_and_leads_to_a_known_instance_only(client):
    id = start(client)["id"]
    link = client.post("/api/tensorboards/link", json={"id": id}).json()["link"]
    del client.headers["Authorization"]
    evil = link.replace(f"={id}", "=//evil.example/")
    assert client.get(link.replace("token=", "token=x")).status_code == 403
    first = client.get(link)
    assert (first.status_code, first.headers["location"]) == (303, f"/proxy/{id}/")
    assert client.get(evil).headers["location"] == "/"
    assert client.get(f"/login?tensorboard={id}x").headers["location"] == "/"
    client.cookies.clear()
    assert client.get(link).status_code == 403


def test_state_is_shown_if_an_instance_does_not_respond(client, store):
    id = start(client)["id"]
    html = {"Accept": "text/html"}
    starting = client.get(f"/proxy/{id}/", headers=html)
    assert (starting.status_code, starting.headers["refresh"]) == (503, "1")
    assert "This TensorBoard is starting." in starting.text
    assert "frame-ancestors 'self'" in starting.headers["content-security-policy"]
    assert client.get(f"/proxy/{id}/data/runs").json()["state"] == "STARTING"
    message = "It failed 5 times.\n<script>"
    store.update(id, state="TERMINATED", exit_status=-9, message=message, ended=time.time())
    ended = client.get(f"/proxy/{id}/", headers=html)
    assert (ended.status_code, "refresh" in ended.headers) == (410, False)
    shown = "This TensorBoard has ended (exit status -9). It failed 5 times.\n&lt;script&gt;"
    assert shown in ended.text
    assert client.get("/proxy/0123abcd/", headers=html).status_code == 404
    assert client.get(f"/proxy/{id}").headers["location"] == f"/proxy/{id}/"


def test_browser_retries_if_an_instance_no_longer_listens(client, store):
    id = start(client)["id"]
    store.update(id, state="RUNNING", port=1)
    response = client.get(f"/proxy/{id}/")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    error = "This TensorBoard does not respond."
    assert response.json() == {"error": error, "state": "RUNNING"}


def test_every_change_is_announced_to_open_pages(tmp_path):
    with proxying(tmp_path) as proxied, proxied.client.stream("GET", "/api/events") as response:
        events = (event for event in parse(response.iter_lines()) if event[0] == "tensorboards")
        assert next(events)[1] == {"generation": proxied.store.generation()}
        proxied.store.update(proxied.instance.id, message="changed")
        assert next(events)[1] == {"generation": proxied.store.generation()}


def test_server_without_instances_returns_not_found(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    access = Access(port=6006)
    client = TestClient(make_app(Source(tmp_path), access), base_url="http://127.0.0.1:6006")
    client.headers["Authorization"] = f"Bearer {access.token}"
    assert client.get("/api/tensorboards").status_code == 404
    assert client.get("/proxy/0123abcd/").status_code == 404
