"""Saved views and queries: private, written atomically, limited in size, and persistent."""

import json
import os
import stat
import threading

import pytest
from helpers.logs import scalars, write
from helpers.serving import open_client

from runfold._serve.api import saved_views as views

NONE: dict[str, list[dict[str, str]]] = {"views": [], "queries": []}
SOME = {
    "views": [{"name": "mine", "view": "tags=loss&by=lr"}],
    "queries": [{"name": "best", "query": "select 1"}],
}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "a", scalars("loss", (0, 1.0)))
    write(tmp_path / "others" / "a", scalars("loss", (0, 1.0)))
    return tmp_path / "logs"


def content(response):
    assert response.status_code == 200, response.text
    return {key: value for key, value in response.json().items() if key != "revision"}


def test_saved_views_are_loaded_by_the_next_server_of_the_same_paths(logdir):
    assert content(open_client(logdir).get("/api/views")) == NONE
    assert content(open_client(logdir).put("/api/views", json=SOME)) == SOME
    assert content(open_client(logdir).get("/api/views")) == SOME
    others = logdir.parent / "others"
    assert content(open_client(others).get("/api/views")) == NONE
    assert content(open_client(others, logdir).put("/api/views", json=SOME)) == SOME
    assert content(open_client(logdir, others).get("/api/views")) == SOME


def test_a_view_with_thousands_of_deselected_runs_is_saved(logdir):
    off = json.dumps([f"sweep/lr-{number / 1000}/width-{number}" for number in range(5000)])
    long = {"views": [{"name": "few", "view": f"off={off}"}], "queries": []}
    assert content(open_client(logdir).put("/api/views", json=long)) == long


def test_a_link_to_a_logdir_has_the_same_views(logdir):
    link = logdir.parent / "link"
    link.symlink_to(logdir)
    assert views.place_for([str(link)]) == views.place_for([str(logdir) + "/"])


def test_only_its_owner_can_read_the_file(logdir, state):
    previous = os.umask(0)
    try:
        open_client(logdir).put("/api/views", json=SOME)
    finally:
        os.umask(previous)
    (file,) = (state / "runfold" / "views").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert str(logdir) not in file.read_text()


def test_default_state_folder_is_used_if_none_is_set(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", unset)
        path = views.place_for(["x"])
        assert path.startswith(str(tmp_path / ".local" / "state" / "runfold" / "views"))


def test_a_window_does_not_overwrite_what_another_saved(logdir):
    client = open_client(logdir)
    seen = client.get("/api/views").json()["revision"]
    saved = client.put("/api/views", json={**SOME, "revision": seen}).json()["revision"]
    late = client.put("/api/views", json={**NONE, "revision": seen})
    assert late.status_code == 400
    assert late.json() == {
        "error": "Another window has saved changes, so yours were not saved. Reload and try again.",
        "revision": saved,
    }
    assert content(client.get("/api/views")) == SOME
    assert content(client.put("/api/views", json={**NONE, "revision": saved})) == NONE


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"view": []}, "No field 'view'. Did you mean 'views'?"),
        ({"views": [{"name": "x"}]}, "'views[0].view' is missing."),
        ({"views": [{"name": "", "view": ""}]}, "'views[0].name' has 0 characters"),
        ({"views": [{"name": "x", "view": 1}]}, "'views[0].view' must be a string, not 1."),
        ({"queries": [{"name": "x", "query": "y" * 100_001}]}, "100001 characters"),
        ([], "The body must be an object"),
    ],
)
def test_invalid_views_are_refused(logdir, state, body, message):
    response = open_client(logdir).put("/api/views", json=body)
    assert response.status_code == 400
    assert message in response.json()["error"]
    assert not state.exists()


def test_rule_28_the_size_of_views_is_limited(logdir):
    client = open_client(logdir)
    client.put("/api/views", json=SOME)
    many = [{"name": f"{number}", "view": "x" * 90_000} for number in range(12)]
    response = client.put("/api/views", json={"views": many})
    assert response.status_code == 413
    assert "the limit is 1.0 MB" in response.json()["error"]
    assert content(client.get("/api/views")) == SOME


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"views": 1, "queries": []}', "[" * 100_000])
def test_a_damaged_file_counts_as_empty_and_can_be_overwritten(logdir, damage):
    client = open_client(logdir)
    client.put("/api/views", json=SOME)
    with open(views.place_for([str(logdir)]), "w") as file:
        file.write(damage)
    assert content(client.get("/api/views")) == NONE
    assert content(client.put("/api/views", json=SOME)) == SOME


def test_a_folder_that_is_not_writable_is_reported(logdir, state):
    state.write_text("a file is in the way")
    response = open_client(logdir).put("/api/views", json=SOME)
    assert response.status_code == 400
    assert response.json()["error"].startswith("Cannot write ")
    assert "Nothing was saved. Set XDG_STATE_HOME" in response.json()["error"]


def test_the_file_is_complete_whenever_it_is_read(logdir, state):
    path = views.place_for([str(logdir)])
    sets = [
        views.ViewsRequest(tuple(views.SavedView(f"{n}", mark * 5000) for n in range(50)))
        for mark in "ab"
    ]
    views.save_views(path, sets[0])
    end = threading.Event()

    def keep_writing():
        while not end.is_set():
            for content in sets:
                views.save_views(path, content)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for _ in range(200):
            with open(path) as file:
                assert len(json.load(file)["views"]) == 50
    finally:
        end.set()
        writer.join()
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
