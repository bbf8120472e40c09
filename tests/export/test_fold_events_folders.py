"""The folders and names of a fold's event files, and the state after a failure."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.checkout import ROOT
from helpers.folds import curve, fold, group, learning_rates, noisy
from hypothesis import assume, given
from hypothesis import strategies as st

import runfold as rf
from runfold._export.fold_events import write_event_files
from runfold.errors import CannotFold, OutputExists

HARD_NAMES = ["a/b", "a%2Fb", "..", ".", "../../x", "/x", "x/", "a\0b", "a\nb", ".x", " ", "a\\b"]
NAMES = st.sampled_from(HARD_NAMES) | st.text(min_size=1)

# Runs a fold with an action after each write. With a buffer, files this small would only be
# written when they are closed.
APART = """
import gc, io, os, resource, signal, sys
from helpers.folds import noisy, fold, group
from runfold._export.fold_events import write_event_files

def after_write(frame, event, function):
    if event == "c_return" and function.__name__ == "write":
        act()

def fork():
    child = os.fork()
    if child == 0:  # ends as any process does, with all its buffers flushed
        for item in gc.get_objects():
            if isinstance(item, io.BufferedWriter):
                item.flush()
        os._exit(0)
    os.waitpid(child, 0)

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
else:
    act = {"fork": fork, "kill": kill, "nothing": int}[sys.argv[1]]
    sys.setprofile(after_write)
write_event_files(fold(group(noisy("loss", 50))), sys.argv[2], overwrite=True)
"""


def run_apart(what: str, out: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "tests"), *sys.path])
    return subprocess.run(
        [sys.executable, "-c", APART, what, out],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def folders_below(folder: Path) -> set[str]:
    return {str(path.parent.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@given(names=st.lists(NAMES, min_size=2, max_size=5, unique=True), are_long=st.booleans())
def test_groups_with_any_names_are_separate_runs(names, are_long, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fold")
    if are_long:
        names = [name * (1 + 300 // len(name)) for name in names]
        assume(len(set(names)) == len(names))
    loss = curve("loss", [0], count=[1.0])
    write_event_files(fold(*(group(loss, name=name) for name in names)), folder / "out")
    assert os.listdir(folder) == ["out-count"]
    runs = os.listdir(folder / "out-count")
    assert len(runs) == len(names)
    for run in runs:
        assert run.isprintable()
        assert not run.startswith(".")
        assert len(os.listdir(folder / "out-count" / run)) == 1


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("lr=0.1", "lr=0.1"),
        ("größe=1, a b", "größe=1, a b"),
        ("data=s3://x", "data=s3:%2F%2Fx"),
        ("100%", "100%25"),
        (".hidden", "%2Ehidden"),
        ("", "."),
    ],
)
def test_a_name_stays_readable(name, run, tmp_path):
    write_event_files(fold(group(curve("loss", [0], count=[1.0]), name=name)), f"{tmp_path}/")
    assert folders_below(tmp_path / "count") == {run}


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("a", "a"),
        ("a/b", "a/b"),
        (".", "."),
        ("../x", "%2E./x"),
        ("/x", "%/x"),
        ("a//b/", "a/%/b/%"),
    ],
)
def test_groups_by_folder_keep_the_folder_structure(name, run, tmp_path):
    runs = group(curve("loss", [0], count=[1.0]), name=name, key={"parent": name})
    write_event_files(fold(runs), f"{tmp_path}/")
    assert folders_below(tmp_path / "count") == {run}


def test_a_folder_and_the_folder_in_it_are_two_runs(tmp_path):
    loss = curve("loss", [0], count=[1.0])
    names = [".", "a", "a/b"]
    write_event_files(
        fold(*(group(loss, name=n, key={"parent": n}) for n in names)), f"{tmp_path}/"
    )
    assert list(rf.open(tmp_path / "count")) == [".", "a", "a/b"]


def test_a_statistic_of_any_name_has_a_folder(tmp_path):
    numbers = {"<lambda>": [1.0], "a/b": [2.0]}
    made = write_event_files(fold(group(curve("loss", [0], **numbers))), tmp_path / "out")
    assert [os.path.basename(folder) for folder in made] == ["out-<lambda>", "out-a%2Fb"]


def test_a_statistic_called_band_is_rejected_with_a_band(tmp_path):
    numbers = {"mean": [1.0], "std": [1.0], "band": [2.0]}
    with pytest.raises(CannotFold, match="cannot be called 'band'"):
        write_event_files(fold(group(curve("loss", [0], **numbers))), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(57)
def test_existing_folders_are_rejected_and_only_runfolds_are_replaced(tmp_path):
    first, second = (fold(group(noisy("loss", count))) for count in (3, 4))
    write_event_files(first, tmp_path / "fold")
    before = contents(tmp_path)
    with pytest.raises(OutputExists, match="fold-mean already exists"):
        write_event_files(second, tmp_path / "fold")
    assert contents(tmp_path) == before

    write_event_files(second, tmp_path / "fold", overwrite=True)
    assert len(rf.open(tmp_path)["fold-std"]["loss"].values) == 4

    (tmp_path / "fold-band" / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises(OutputExists, match=r"notes\.txt was not written by Runfold"):
        write_event_files(first, tmp_path / "fold", overwrite=True)
    assert contents(tmp_path) == before


@pytest.mark.fault(56)
@pytest.mark.parametrize("what", ["full", "kill"])
def test_a_full_disk_and_a_killed_process_leave_the_earlier_output(what, tmp_path):
    write_event_files(fold(group(noisy("loss", 3))), tmp_path / "logs" / "fold")
    before = contents(tmp_path)
    ended = run_apart(what, f"{tmp_path}/logs/fold")
    left = contents(tmp_path)
    if what == "kill":
        assert ended.returncode == -signal.SIGKILL
        left = {name: data for name, data in left.items() if name in before}
    else:
        assert f"File too large: '{tmp_path}/logs/fold-mean'" in ended.stderr
    assert left == before
    write_event_files(learning_rates("loss"), tmp_path / "logs" / "fold", overwrite=True)


@pytest.mark.fault(60)
def test_a_fork_during_the_write_writes_nothing_twice(tmp_path):
    for what in ("fork", "nothing"):
        ended = run_apart(what, f"{tmp_path}/{what}")
        assert (ended.returncode, ended.stderr) == (0, "")
    forked, alone = (
        [
            np.asarray(rf.open(f"{tmp_path}/{what}-{statistic}")["."]["loss"].values)
            for statistic in ("mean", "std")
        ]
        for what in ("fork", "nothing")
    )
    np.testing.assert_array_equal(forked, alone)
    assert len(forked[0]) == 50
    assert rf.open(tmp_path).problems().empty


@pytest.mark.fault(59)
def test_file_names_are_unique(tmp_path):
    folded = fold(group(curve("loss", [0], count=[1.0])))
    for number in range(3):
        write_event_files(folded, tmp_path / f"here-{number}")
    for number in range(2):
        assert run_apart("nothing", f"{tmp_path}/there-{number}").returncode == 0
    calls: dict[str, set[str]] = {}
    for path in tmp_path.rglob("*reduced"):
        calls.setdefault(path.parts[-2].rpartition("-")[0], set()).add(path.name)
    assert len(calls) == len(set.union(*calls.values())) == 5


@pytest.mark.parametrize(
    ("form", "folders"), [(str, ["out/mean", "out/std"]), (Path, ["out-mean", "out-std"])]
)
def test_only_text_can_end_with_a_slash(tmp_path, monkeypatch, form, folders):
    # pathlib drops the slash, and a Path without one has always been a prefix.
    monkeypatch.chdir(tmp_path)
    written = write_event_files(learning_rates("loss"), form("out/"))
    assert written[: len(folders)] == folders
