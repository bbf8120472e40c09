"""An edit in place: the backup, runs that are being written to, and a process that is killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

import runfold as rf
from runfold._edit import edit, repair
from runfold.errors import CannotEdit, LogdirNotFound, OutputExists

RUNS = 6


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "log"
    for number in range(RUNS):
        write(folder / f"run-{number}", losses(*range(100)))
        (folder / f"run-{number}" / "model.pt").write_bytes(b"weights" * 100)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_an_edit_in_place_keeps_the_source_as_a_backup(log: Path) -> None:
    before = contents(log)
    report = edit(log, in_place=True, every=10)
    assert report.target == str(log)
    assert report.backup is not None
    assert report.backup.startswith(f"{log}.backup-")
    assert contents(Path(report.backup)) == before
    assert rf.open(log)["run-0"]["train/loss"].steps.tolist() == [*range(0, 100, 10), 99]
    # Unchanged files are hard links and take no more space.
    models = [Path(folder) / "run-0" / "model.pt" for folder in (log, report.backup)]
    assert models[0].samefile(models[1])
    assert sorted(p.name for p in log.parent.iterdir()) == ["log", Path(report.backup).name]


def test_backup_path_can_be_chosen(log: Path, tmp_path: Path) -> None:
    before = contents(log)
    edit(log, in_place=True, backup=tmp_path / "deep" / "old", delete_runs="run-0")
    assert contents(tmp_path / "deep" / "old") == before
    assert "run-0" not in rf.open(log)


def test_edit_in_place_without_changes_leaves_no_backup(log: Path) -> None:
    report = edit(log, in_place=True, steps=[(0, 1000)])
    assert (report.changed, report.target, report.backup) == ([], None, None)
    assert [path.name for path in log.parent.iterdir()] == ["log"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, CannotEdit, "Choose where the result goes"),
        ({"output": "new", "in_place": True}, CannotEdit, "not both"),
        ({"output": "new", "backup": "old"}, CannotEdit, "requires --in-place"),
        ({"output": "log/new"}, CannotEdit, "and the logdir overlap"),
        ({"output": "."}, CannotEdit, "and the logdir overlap"),
        ({"output": "full"}, OutputExists, "already exists"),
        ({"in_place": True, "backup": "full"}, OutputExists, "already exists"),
    ],
)
def test_invalid_destinations_are_rejected(
    options: dict, error: type[Exception], message: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    (log.parent / "full").mkdir()
    (log.parent / "full" / "file").write_text("mine")
    before = contents(log.parent)
    for is_dry in (False, True) if options else (False,):
        with pytest.raises(error, match=message):
            edit("log", every=2, dry_run=is_dry, **options)
        with pytest.raises(error, match=message):
            repair("log", dry_run=is_dry, **options)
    assert contents(log.parent) == before


@pytest.mark.parametrize("command", [lambda *paths: edit(*paths, every=2), repair])
def test_folders_keep_their_permissions_and_times(command: Callable, log: Path) -> None:
    private, old = log / "run-1", log / "run-2"
    [broken] = (log / "run-0").glob("*tfevents*")
    broken.write_bytes(broken.read_bytes() + b"torn")  # repair does not copy an intact log
    private.chmod(0o700)
    (log / "run-3").chmod(0o555)
    os.utime(old, (1000, 1000))
    command(log, log.parent / "new")
    new = log.parent / "new"
    assert (new / "run-1").stat().st_mode == private.stat().st_mode
    assert (new / "run-3").stat().st_mode & 0o777 == 0o555
    assert (new / "run-2").stat().st_mtime == 1000


@pytest.mark.parametrize("command", [edit, repair])
@pytest.mark.parametrize("options", [{"dry_run": True}, {"output": "new"}])
def test_a_missing_logdir_is_rejected_with_close_matches(
    command: Callable, options: dict, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    with pytest.raises(LogdirNotFound, match=r"No logdir 'lgo'\. Did you mean 'log'"):
        command("lgo", **options)
    with pytest.raises(CannotEdit, match="is not a folder"):
        command("log/run-0/model.pt", **options)
    (log.parent / "empty").mkdir()
    with pytest.raises(CannotEdit, match="No runs in"):
        command("empty", **options)
    assert sorted(path.name for path in log.parent.iterdir()) == ["empty", "log"]


def test_file_open_for_writing_is_only_replaced_with_force(log: Path) -> None:
    before = contents(log)
    path = log / "run-3" / "events.out.tfevents.1"
    with path.open("ab"):
        for is_dry in (False, True):
            with pytest.raises(CannotEdit, match=r"Still being written to: .*run-3"):
                edit(log, in_place=True, every=2, dry_run=is_dry)
            with pytest.raises(CannotEdit, match=r"Still being written to: .*run-3"):
                repair(log, in_place=True, dry_run=is_dry)
        assert edit(log, in_place=True, every=2, dry_run=True, force=True).changed
        assert contents(log) == before
        edit(log, log.parent / "new", every=2)
        edit(log, in_place=True, every=2, force=True)


def test_run_with_a_heartbeat_is_not_replaced(log: Path) -> None:
    side = log / "run-2" / ".runfold"
    side.mkdir()
    beat = {"state": "running", "pid": 0, "host": "elsewhere", "seconds": 10.0}
    (side / "heartbeat").write_text(json.dumps(beat))
    with pytest.raises(CannotEdit, match=r"Still being written to: .*run-2"):
        edit(log, in_place=True, every=2)
    old = time.time() - 3600
    os.utime(side / "heartbeat", (old, old))
    assert edit(log, in_place=True, every=2).backup is not None


def test_folders_are_swapped_in_two_steps_if_one_is_not_supported(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runfold._edit.edit_target._exchange", lambda *_: False)
    before = contents(log)
    report = edit(log, in_place=True, delete_runs="run-0")
    assert contents(Path(str(report.backup))) == before
    assert len(rf.open(log)) == RUNS - 1


# Kill the process at each step, as announced by its audit hook.
_STEPS = """
import os, signal, sys
from runfold._edit import edit
remaining = int(sys.argv[2])
def hook(event, args):
    global remaining
    if event in ("os.rename", "os.mkdir", "os.link", "os.remove", "open", "ctypes.dlsym"):
        if event == "open" and not (isinstance(args[2], int) and args[2] & os.O_CREAT):
            return
        if remaining == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        remaining -= 1
sys.addaudithook(hook)
rules = dict(every=10, delete_runs="run-1", move_tags={"train/loss": "{run}/moved"})
edit(sys.argv[1], in_place=True, backup=sys.argv[1] + "-old", **rules)
print("done")
"""


def check_complete(log: Path, before: dict[str, bytes]) -> str:
    """Return whether the logdir is the source or the result; anything else fails."""
    now = contents(log)
    if now == before:
        return "source"
    assert contents(log.parent / "log-old") == before
    assert len(now) == 3 * (RUNS - 1)
    assert rf.open(log)["run-0/moved"]["train/loss"].steps.tolist() == [*range(0, 100, 10), 99]
    return "result"


def test_a_kill_at_any_step_leaves_the_source_complete(tmp_path: Path) -> None:
    outcomes = []
    for step in range(200):
        log = tmp_path / str(step) / "log"
        for number in range(RUNS):
            write(log / f"run-{number}", losses(*range(100)))
            (log / f"run-{number}" / "model.pt").write_bytes(b"weights" * 100)
        before = contents(log)
        done = subprocess.run(
            [sys.executable, "-c", _STEPS, str(log), str(step)], capture_output=True, check=False
        )
        outcomes.append(check_complete(log, before))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert outcomes[-1] == "result"
    assert outcomes.count("source") > 2 * RUNS


def test_a_kill_at_any_moment_leaves_the_source_complete(log: Path) -> None:
    before = contents(log)
    random.seed(0)
    command = [sys.executable, "-c", _STEPS, str(log), "-1"]
    for _ in range(8):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            try:
                process.wait(random.uniform(0.05, 0.6))
            except subprocess.TimeoutExpired:
                process.kill()
        if check_complete(log, before) == "result":
            break
