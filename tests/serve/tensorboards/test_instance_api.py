"""Instances for pages and programs: the list, start, kill, log and link, and what is told."""

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
    """A client that has the token; nothing is ever started, for nobody keeps the instances."""
    access = Access(port=6006)
    app = make_app(Source(logdir), access, boards=InstanceRegistry(access, "http://127.0.0.1:6006"))
    return TestClient(
        app,
        base_url="http://127.0.0.1:6006",
        headers={"Authorization": f"Bearer {access.token}"},
        raise_server_exceptions=False,
        follow_redirects=False,
    )


def start(client, **asked):
    answer = client.post("/api/tensorboards", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_instance_shows_chosen_runs_of_the_served_logdir(client, store, logdir):
    asked = {"runs": ["big/seed-2"], "experiments": ["small"], "where": "last['loss'] < 2"}
    begun = start(client, **asked, description="two of them")
    instance = store.get(begun["id"])
    assert instance.sources == Sources(
        (str(logdir),), ("big/seed-2",), ("small",), "last['loss'] < 2"
    )
    assert (begun["isNew"], begun["path"]) == (True, f"/proxy/{instance.id}/")
    assert start(client, **asked)["id"] == instance.id
    assert not start(client, **asked)["isNew"]
    assert start(client)["id"] != instance.id


def test_list_tells_all_but_paths_and_keys(client, store, logdir):
    begun = start(client, experiments=["big"])
    elsewhere = store.add(Sources((str(logdir.parent / "other"),)), Options())
    answer = client.get("/api/tensorboards")
    first, second = answer.json()["tensorboards"]
    assert first == {key: value for key, value in begun.items() if key != "isNew"}
    assert (first["state"], first["isHere"], first["logdirs"]) == ("STARTING", True, ["runs"])
    assert (second["name"], second["isHere"]) == (elsewhere.name, False)
    for secret in (store.get(begun["id"]).key, elsewhere.key, str(logdir.parent)):
        assert secret not in answer.text


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ({"runs": ["big/seed-3"]}, 404, "big/seed-2"),
        ({"runs": ["../../etc"]}, 404, "No run"),
        ({"experiments": ["bg"]}, 404, "Did you mean 'big'?"),
        ({"where": "loss <"}, 400, "loss <"),
        ({"logdir": "/etc"}, 400, "No field 'logdir'"),
        ({"runs": "big"}, 400, "list"),
    ],
)
def test_what_is_not_served_cannot_be_shown(client, store, asked, status, part):
    answer = client.post("/api/tensorboards", json=asked)
    assert (answer.status_code, part in answer.json()["error"]) == (status, True), answer.text
    assert store.all() == []


def test_kill_by_name_or_prefix_is_audited_as_the_start_was(client, store):
    begun = start(client)
    killed = client.post("/api/tensorboards/kill", json={"id": begun["id"][:6]}).json()
    assert (killed["id"], killed["state"]) == (begun["id"], "TERMINATING")
    assert store.get(begun["id"]).wanted == "down"
    told = [(one["action"], one["target"], one["how"]) for one in read_actions()]
    target = f"{begun['id']} {begun['name']}"
    assert told == [("tensorboard start", target, "page"), ("tensorboard kill", target, "page")]
    unknown = client.post("/api/tensorboards/kill", json={"id": begun["name"] + "x"})
    assert (unknown.status_code, begun["name"] in unknown.json()["error"]) == (404, True)


def test_log_gives_the_last_lines(client, store):
    id = start(client)["id"]
    assert client.get("/api/tensorboards/log", params={"id": id}).json()["lines"] == []
    os.makedirs(store.folder_of(id))
    with open(os.path.join(store.folder_of(id), "log.txt"), "w") as file:
        file.write("one\ntwo\nthree\n")
    answer = client.get("/api/tensorboards/log", params={"id": id, "tail": 2})
    assert answer.json() == {"id": id, "lines": ["two", "three"]}
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


def test_state_is_told_where_an_instance_does_not_answer(client, store):
    id = start(client)["id"]
    html = {"Accept": "text/html"}
    starting = client.get(f"/proxy/{id}/", headers=html)
    assert (starting.status_code, starting.headers["refresh"]) == (503, "1")
    assert "It is starting." in starting.text
    assert "frame-ancestors 'self'" in starting.headers["content-security-policy"]
    assert client.get(f"/proxy/{id}/data/runs").json()["state"] == "STARTING"
    message = "It ended 5 times.\n<script>"
    store.update(id, state="TERMINATED", exit_status=-9, message=message, ended=time.time())
    ended = client.get(f"/proxy/{id}/", headers=html)
    assert (ended.status_code, "refresh" in ended.headers) == (410, False)
    assert "It has ended (exit status -9). It ended 5 times.\n&lt;script&gt;" in ended.text
    assert client.get("/proxy/0123abcd/", headers=html).status_code == 404
    assert client.get(f"/proxy/{id}").headers["location"] == f"/proxy/{id}/"


def test_instance_that_does_not_listen_any_more_is_waited_for(client, store):
    id = start(client)["id"]
    store.update(id, state="RUNNING", port=1)
    answer = client.get(f"/proxy/{id}/")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json() == {"error": "It does not answer.", "state": "RUNNING"}


def test_open_pages_are_told_of_every_change(tmp_path):
    with proxying(tmp_path) as proxied, proxied.client.stream("GET", "/api/events") as answer:
        told = (event for event in parse(answer.iter_lines()) if event[0] == "tensorboards")
        assert next(told)[1] == {"generation": proxied.store.generation()}
        proxied.store.update(proxied.instance.id, message="changed")
        assert next(told)[1] == {"generation": proxied.store.generation()}


def test_server_without_instances_says_so(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    access = Access(port=6006)
    client = TestClient(make_app(Source(tmp_path), access), base_url="http://127.0.0.1:6006")
    client.headers["Authorization"] = f"Bearer {access.token}"
    assert client.get("/api/tensorboards").status_code == 404
    assert client.get("/proxy/0123abcd/").status_code == 404
