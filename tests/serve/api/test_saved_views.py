"""Saved views and queries: the user's own, whole, limited, and there after a restart."""

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


def content(answer):
    assert answer.status_code == 200, answer.text
    return {key: value for key, value in answer.json().items() if key != "revision"}


def test_what_was_saved_is_there_for_the_next_server_of_the_same_paths(logdir):
    assert content(open_client(logdir).get("/api/views")) == NONE
    assert content(open_client(logdir).put("/api/views", json=SOME)) == SOME
    assert content(open_client(logdir).get("/api/views")) == SOME
    others = logdir.parent / "others"
    assert content(open_client(others).get("/api/views")) == NONE
    assert content(open_client(others, logdir).put("/api/views", json=SOME)) == SOME
    assert content(open_client(logdir, others).get("/api/views")) == SOME


def test_a_view_with_thousands_of_runs_switched_off_is_kept(logdir):
    off = json.dumps([f"sweep/lr-{number / 1000}/width-{number}" for number in range(5000)])
    long = {"views": [{"name": "few", "view": f"off={off}"}], "queries": []}
    assert content(open_client(logdir).put("/api/views", json=long)) == long


def test_a_link_to_a_logdir_has_the_views_of_the_logdir(logdir):
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


def test_without_a_state_folder_of_its_own_it_is_the_usual_one(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", unset)
        place = views.place_for(["x"])
        assert place.startswith(str(tmp_path / ".local" / "state" / "runfold" / "views"))


def test_a_window_does_not_undo_what_another_saved(logdir):
    client = open_client(logdir)
    seen = client.get("/api/views").json()["revision"]
    saved = client.put("/api/views", json={**SOME, "revision": seen}).json()["revision"]
    late = client.put("/api/views", json={**NONE, "revision": seen})
    assert late.status_code == 400
    assert late.json() == {
        "error": "Another window has saved something since; nothing was changed. Load again.",
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
        ({"views": [{"name": "x", "view": 1}]}, "'views[0].view' is a text, not 1."),
        ({"queries": [{"name": "x", "query": "y" * 100_001}]}, "100001 characters"),
        ([], "The body is an object"),
    ],
)
def test_what_is_no_view_is_refused(logdir, state, body, message):
    answer = open_client(logdir).put("/api/views", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert not state.exists()


def test_rule_28_views_take_a_limited_size(logdir):
    client = open_client(logdir)
    client.put("/api/views", json=SOME)
    many = [{"name": f"{number}", "view": "x" * 90_000} for number in range(12)]
    answer = client.put("/api/views", json={"views": many})
    assert answer.status_code == 413
    assert "at most 1.0 MB are kept" in answer.json()["error"]
    assert content(client.get("/api/views")) == SOME


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"views": 1, "queries": []}', "[" * 100_000])
def test_a_damaged_file_holds_nothing_and_can_be_written_again(logdir, damage):
    client = open_client(logdir)
    client.put("/api/views", json=SOME)
    with open(views.place_for([str(logdir)]), "w") as file:
        file.write(damage)
    assert content(client.get("/api/views")) == NONE
    assert content(client.put("/api/views", json=SOME)) == SOME


def test_a_folder_that_cannot_be_written_is_told(logdir, state):
    state.write_text("a file is in the way")
    answer = open_client(logdir).put("/api/views", json=SOME)
    assert answer.status_code == 400
    assert "cannot be written: " in answer.json()["error"]
    assert "Nothing was saved. Set XDG_STATE_HOME" in answer.json()["error"]


def test_the_file_is_whole_whenever_it_is_read(logdir, state):
    place = views.place_for([str(logdir)])
    sets = [
        views.ViewsRequest(tuple(views.SavedView(f"{n}", mark * 5000) for n in range(50)))
        for mark in "ab"
    ]
    views.save_views(place, sets[0])
    end = threading.Event()

    def write_on():
        while not end.is_set():
            for one in sets:
                views.save_views(place, one)

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        for _ in range(200):
            with open(place) as file:
                assert len(json.load(file)["views"]) == 50
    finally:
        end.set()
        writer.join()
    assert os.listdir(os.path.dirname(place)) == [os.path.basename(place)]
