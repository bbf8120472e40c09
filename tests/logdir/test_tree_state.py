"""A refresh that lists no folder finds the same as opening the logdir again."""

import os
import shutil

import pytest
from helpers.faultfiles import EVENTS, append, points, steps, write
from helpers.file_times import settle
from helpers.random_folder import Folder, fill

import runfold as rf
from runfold._events import file_state
from runfold._logdir import tree_state
from runfold._logdir.discover import discover
from runfold._logdir.loader import Logdir
from runfold._logdir.run_log import RunLog
from runfold._logdir.tree_state import TreeState
from runfold._system import IS_POSIX, file_system_of

BATCHES = 40


@pytest.fixture
def reliable(tmp_path):
    """A folder on a file system on which folders need not be listed."""
    if file_system_of(str(tmp_path)) not in tree_state._RELIABLE:
        pytest.skip("the temporary folder is on a file system whose times are not relied on")
    return tmp_path


@pytest.fixture
def listed(monkeypatch):
    """The folders that are listed."""
    folders = []
    scandir = os.scandir

    def count(path="."):
        folders.append(os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", count)
    return folders


def watched(top):
    """Runs that have been read, and whose folders need not be listed at the next refresh."""
    settle(top)
    runs = rf.open(top).load()
    runs.refresh()
    return runs


# What a refresh lists and opens


def test_an_idle_refresh_lists_no_folder_and_opens_no_file(reliable, listed, monkeypatch):
    top = reliable / "logs"
    fill(top)
    runs = watched(top)
    listed.clear()
    opened = []
    monkeypatch.setattr(os, "open", lambda *arguments: opened.append(arguments))
    assert not runs.refresh()
    assert listed == opened == []


def test_only_a_run_that_has_grown_is_read(reliable, listed, monkeypatch):
    top = reliable / "logs"
    fill(top)
    runs = watched(top)
    listed.clear()
    append(top / "group" / "run-1" / EVENTS, points(3))
    opened = []
    real = os.open

    def record(path, *arguments, **options):
        opened.append(os.fspath(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", record)
    assert runs.refresh().points == 1
    assert listed == []
    assert opened == [str(top / "group" / "run-1" / EVENTS)]
    assert steps(runs, "group/run-1") == [1, 2, 3]


def test_an_interrupted_refresh_is_made_up_for(reliable, monkeypatch):
    """The new point has been read, but the run does not show it yet."""
    top = reliable / "logs"
    fill(top)
    runs = watched(top)
    assert steps(runs, "group/run-1") == [1, 2]
    append(top / "group" / "run-1" / EVENTS, points(3))
    settle(top)

    def interrupt(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunLog, "settle", interrupt)
        with pytest.raises(KeyboardInterrupt):
            runs.refresh()
    runs.refresh()
    assert steps(runs, "group/run-1") == [1, 2, 3]


def test_a_search_that_failed_is_repeated(reliable, monkeypatch):
    top = reliable / "logs"
    fill(top)
    runs = watched(top)
    write(top / "group" / "run-9" / EVENTS, points(9))
    settle(top)

    def interrupt(self, problems):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Logdir, "_note", interrupt)
        with pytest.raises(KeyboardInterrupt):
            runs.refresh()
    assert runs.refresh().runs == ["group/run-9"]


def test_other_files_that_are_replaced_cost_one_listing(reliable, listed):
    """As a heartbeat does, every few seconds."""
    top = reliable / "logs"
    fill(top)
    runs = watched(top)
    beat = top / "group" / "run-1" / "beat"
    for _ in range(2):  # the first change of a folder is not yet expected
        beat.write_text("alive")
        beat.rename(beat.with_name("heartbeat"))
        settle(top)
        listed.clear()
        assert not runs.refresh()
    assert listed == [str(beat.parent)]
    listed.clear()
    assert not runs.refresh()
    assert listed == []


def test_a_new_run_is_found_in_a_folder_with_other_changes(reliable):
    top = reliable / "logs"
    fill(top)
    runs = watched(top)
    for name in ("one", "two"):
        (top / "group" / name).write_text("")
        settle(top)
        runs.refresh()
    write(top / "group" / "run-9" / EVENTS, points(9))
    assert runs.refresh().runs == ["group/run-9"]


def test_a_folder_changed_within_a_tick_of_the_clock_is_listed_again(reliable, listed, monkeypatch):
    """Its times may stay the same, so they are not compared."""
    top = reliable / "logs"
    fill(top, 1)
    settle(top)
    monkeypatch.setattr(file_state, "_TICK", 10**18)
    state = state_of(top)
    for _ in range(2):
        listed.clear()
        assert state.is_current()
        assert sorted(listed) == [str(top), str(top / "group"), str(top / "group" / "run-0")]
    write(top / "group" / "run-9" / EVENTS, points(9))
    assert not state.is_current()


MILLISECOND = 10**6


@pytest.mark.parametrize(
    ("changed", "is_expected"),
    [(951, False), (949, True), (1000, False), (0, False), (-1000, False), (-2000, True)],
)
def test_times_that_a_later_change_would_repeat_are_not_settled(changed, is_expected):
    """Times in milliseconds before 1,000 ms; whole seconds can be a coarse clock's."""

    class Status:
        st_ctime_ns = st_mtime_ns = changed * MILLISECOND

    assert file_state.is_settled(Status, 1000 * MILLISECOND) == is_expected


# What a refresh must notice


def state_of(*paths):
    state = TreeState()
    discover(*paths, state=state)
    return state


CHANGES = {
    "a new run": lambda top: (top / "group" / "new").mkdir(),
    "a deleted run": lambda top: shutil.rmtree(top / "group" / "run-1"),
    "a renamed folder": lambda top: (top / "group").rename(top / "renamed"),
    "a new mode": lambda top: (top / "group" / "run-1").chmod(0o711),
    "a target of a link that appears": lambda top: (top.parent / "missing").mkdir(),
    "a target of a link that moves": lambda top: os.replace(
        top.parent / "swapped", top.parent / "target"
    ),
    "a target of a link that becomes a file": lambda top: (
        (top.parent / "other").rmdir(),
        (top.parent / "other").write_text(""),
    ),
    "a logdir that is missing": lambda top: top.rename(top.with_name("moved")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(reliable, change):
    top = reliable / "logs"
    fill(top)
    for name in ("other", "swapped/run", "old/run"):
        (reliable / name).mkdir(parents=True)
    (reliable / "target").symlink_to("old")
    shutil.rmtree(reliable / "swapped")
    (reliable / "swapped").symlink_to("other")
    (top / "to-other").symlink_to(reliable / "other")
    (top / "to-missing").symlink_to(reliable / "missing")
    (top / "to-target").symlink_to(reliable / "target")
    settle(top)
    state = state_of(top)
    assert state.is_current()
    CHANGES[change](top)
    assert not state.is_current()


def test_a_relative_path_is_resolved_again(reliable, monkeypatch):
    for name in ("a", "b"):
        fill(reliable / name / "logs")
    settle(reliable / "a")
    monkeypatch.chdir(reliable / "a")
    state = state_of("logs")
    assert state.is_current()
    monkeypatch.chdir(reliable / "b")
    assert not state.is_current()


@pytest.mark.parametrize("path", ["logs/*", f"logs/group/run-0/{EVENTS}"])
def test_globs_and_files_are_always_searched(reliable, path):
    fill(reliable / "logs")
    settle(reliable / "logs")
    assert not state_of(reliable / path).is_current()


def test_other_file_systems_are_always_searched(reliable, monkeypatch):
    fill(reliable / "logs")
    settle(reliable / "logs")
    monkeypatch.setattr(tree_state, "file_system_of", lambda path: "nfs4")
    state = state_of(reliable / "logs")
    assert not state.is_current()
    assert not state.is_local


# Random changes


def content(runs):
    """Everything that a user can read, by run."""
    hparams = runs.hparams().sort_index(axis=1)
    return {
        "runs": list(runs),
        "points": {
            f"{log.name} {tag}": (series.steps.tolist(), series.values.tolist(), series.hidden)
            for log in runs._logs(None)
            for tag, series in sorted(log.scalars.items())
        },
        "images": sorted(len(data) for data in runs.images()["image"].map(lambda x: x.data)),
        "hparams": hparams.to_dict("records"),
        "problems": sorted(map(str, runs.problems()[["run", "code", "file"]].to_records())),
    }


@pytest.mark.skipif(not IS_POSIX, reason="needs links and pipes")
@pytest.mark.parametrize("seed", range(6))
def test_a_refresh_finds_what_opening_again_finds(tmp_path, seed):
    top = tmp_path / "logs"
    folder = Folder(top, seed)
    runs = rf.open(top, progress=False)
    content(runs)
    history = []
    for _ in range(BATCHES):
        if folder.random.random() < 0.5:
            settle(top)
            # The second refresh finds folders that are settled.
            runs.refresh()
            runs.refresh()
            history.append("settled")
        history += [folder.change() for _ in range(folder.random.randrange(1, 4))]
        runs.refresh()
        assert content(runs) == content(rf.open(top, progress=False)), history[-12:]
