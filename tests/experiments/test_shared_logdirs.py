"""Logdirs that several users can write to, including an attacker."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

import runfold as rf
from runfold._experiments import index_file, open_experiments
from runfold._files import Untrusted, check_owner, make_folder, open_folder
from runfold._story.side_files import place_aside, read_aside, remove_aside, touch_aside
from runfold._story.stop_request import request_stop

NOBODY = 65534


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def give_away(monkeypatch):
    """Return a function that changes the owner of a path; simulated unless run as root."""
    given = set()

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, -1, follow_symlinks=False)
        given.add(os.lstat(path).st_ino)

    def reports(ask):
        def report(*args, **options):
            status = ask(*args, **options)
            is_given = os.geteuid() != 0 and status.st_ino in given
            fields = list(status)
            fields[4] = NOBODY if is_given else status.st_uid
            return os.stat_result(fields)

        return report

    for name in ("fstat", "lstat", "stat"):
        monkeypatch.setattr(os, name, reports(getattr(os, name)))
    return give


# An attacker who is as fast as possible: before each system call of the victim that changes
# or opens a file, the entries of `.runfold` are replaced by links to the victim's other files.
ADVERSARY = """
import os, sys
from runfold._experiments import open_experiments
import runfold as rf
from runfold._story.stop_request import request_stop

logdir, victim, what, action = sys.argv[1:]
side = os.path.join(logdir, ".runfold")
is_at_work, swaps = False, 0

def swap(path, target):
    global swaps
    number = swaps
    swaps += 1
    if os.path.islink(path):
        return
    os.rename(path, f"{logdir}/.moved-{number}")
    os.symlink(target, path)

def attack(event, args):
    global is_at_work
    if is_at_work or event not in ("open", "os.chmod", "os.rename", "os.utime", "os.remove"):
        return
    if not os.path.isdir(side):
        return
    is_at_work = True
    try:
        if what == "folder":
            swap(side, victim)
            return
        if not os.path.islink(side):
            for name in os.listdir(side):
                swap(os.path.join(side, name), os.path.join(victim, "key"))
    finally:
        is_at_work = False

def act():
    if action == "experiments":
        open_experiments(logdir)
    elif action == "stop":
        request_stop(logdir, "enough")
    else:
        with rf.track(logdir, code=False, system=False, resume=True) as run:
            run._tracked.heart._beat()

sys.addaudithook(attack)
for _ in range(3):
    try:
        act()
    except OSError as error:
        print(error, file=sys.stderr)
print(swaps)
"""


@pytest.mark.fault(68)
@pytest.mark.parametrize("action", ["experiments", "stop", "track"])
@pytest.mark.parametrize("what", ["files", "folder"])
def test_fast_attacker_cannot_reach_files_of_the_victim(tmp_path, what, action):
    logdir, victim = tmp_path / "shared", tmp_path / "home"
    write(logdir / "big" / "seed-1", losses(1.0))
    logdir.chmod(0o2777)
    victim.mkdir(mode=0o700)
    for name in ("key", "heartbeat", "stop", "experiments.json"):
        (victim / name).write_text(f"private {name}")
        (victim / name).chmod(0o600)
        os.utime(victim / name, (1, 1))
    os.utime(victim, (1, 1))

    def describe() -> list[tuple[str, int, float, bytes]]:
        return [
            (path.name, path.stat().st_mode, path.stat().st_mtime, path.read_bytes())
            for path in sorted(victim.iterdir())
        ]

    before, mode = describe(), victim.stat().st_mode
    command = [sys.executable, "-W", "ignore", "-c", ADVERSARY]
    done = subprocess.run(
        [*command, str(logdir), str(victim), what, action],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert int(done.stdout) > 0
    assert (describe(), victim.stat().st_mode) == (before, mode)


def test_index_keeps_the_sticky_bit_of_the_logdir(tmp_path):
    write(tmp_path / "runs" / "alone", losses(1.0))
    (tmp_path / "runs").chmod(0o1777)
    open_experiments(tmp_path / "runs")
    assert (tmp_path / "runs" / ".runfold").stat().st_mode & 0o7777 == 0o1777


@pytest.mark.fault(68)
@pytest.mark.parametrize("mode", [0o2777, 0o1777])
def test_planted_index_folder_is_not_written(tmp_path, give_away, mode):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    write(logdir / "small", losses(1.0))
    side = logdir / ".runfold"
    side.mkdir()
    entry = {"id": 7, "labels": [], "note": "", "is_archived": False}
    (side / "experiments.json").write_text(
        json.dumps({"experiments": {"small": entry}, "trials": {"small": 9}})
    )
    side.chmod(0o777)
    logdir.chmod(mode)
    give_away(side)
    with pytest.warns(RuntimeWarning, match=r"\.runfold: Owned by user .* in your state folder"):
        experiments = open_experiments(logdir)
    assert {experiment.name: experiment.id for experiment in experiments.all} == {
        "small": 7,
        "big": 8,
    }
    # From now on, the user's own copy is used, without another warning.
    assert open_experiments(logdir).all == experiments.all
    assert os.listdir(side) == ["experiments.json"]


def test_members_of_a_group_share_the_index(tmp_path, give_away):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    logdir.chmod(0o2775)
    open_experiments(logdir)
    give_away(logdir / ".runfold")
    write(logdir / "small", losses(1.0))
    open_experiments(logdir)
    index = json.loads((logdir / ".runfold" / "experiments.json").read_text())
    assert {name: entry["id"] for name, entry in index["experiments"].items()} == {
        "big": 1,
        "small": 2,
    }


@pytest.mark.fault(68)
@pytest.mark.parametrize("kind", ["link", "dangling link", "file"])
def test_index_folder_that_is_a_link_is_not_used(tmp_path, kind):
    logdir, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    write(logdir / "big", losses(1.0))
    elsewhere.mkdir()
    if kind == "file":
        (logdir / ".runfold").write_text("")
    else:
        (logdir / ".runfold").symlink_to(elsewhere if kind == "link" else "nowhere")
    with pytest.warns(RuntimeWarning, match="A link or a file instead of a folder"):
        assert [experiment.id for experiment in open_experiments(logdir).all] == [1]
    assert os.listdir(elsewhere) == []


def make_odd(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 33)
    else:
        path.symlink_to(kind)


ODD = ["fifo", "/dev/zero", "/etc/hostname", "folder", "huge"]


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", ODD)
def test_index_that_is_not_a_small_file_is_renamed(tmp_path, kind):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    (logdir / ".runfold").mkdir()
    make_odd(logdir / ".runfold" / "experiments.json", kind)
    with pytest.warns(RuntimeWarning, match="could not be read"):
        assert [experiment.id for experiment in open_experiments(logdir).all] == [1]
    assert json.loads((logdir / ".runfold" / "experiments.json").read_text())["trials"] == {
        "big": 1
    }
    assert os.path.lexists(logdir / ".runfold" / "experiments.json.broken")


@pytest.mark.fault(66)
@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "folder"])
def test_lock_that_is_not_a_file_moves_the_index_to_the_state_folder(tmp_path, kind):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    (logdir / ".runfold").mkdir()
    make_odd(logdir / ".runfold" / "experiments.json.lock", kind)
    with pytest.warns(RuntimeWarning, match=r"lock: Not a regular file\. .* your state folder"):
        assert [experiment.id for experiment in open_experiments(logdir).all] == [1]
    assert os.listdir(logdir / ".runfold") == ["experiments.json.lock"]


def test_lock_that_is_never_released_times_out(tmp_path, monkeypatch):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    open_experiments(logdir)
    write(logdir / "small", losses(1.0))
    monkeypatch.setattr(index_file, "_LOCK_SECONDS", 0.1)
    with (logdir / ".runfold" / "experiments.json.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.warns(RuntimeWarning, match=r"Locked by another process for 0\.1 seconds"):
            experiments = open_experiments(logdir).all
    assert {experiment.name: experiment.id for experiment in experiments} == {"big": 1, "small": 2}


def test_index_can_contain_100_000_trials(tmp_path):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    open_experiments(logdir)
    path = logdir / ".runfold" / "experiments.json"
    index = json.loads(path.read_text())
    names = (f"sweep/{number:06}-{'x' * 250}" for number in range(100_000))
    index["trials"] |= {name: number for number, name in enumerate(names, 2)}
    path.write_text(json.dumps(index))
    write(logdir / "small", losses(1.0))
    open_experiments(logdir)
    trials = json.loads(path.read_text())["trials"]
    assert (len(trials), trials["small"]) == (100_002, 100_002)


def test_index_that_exceeds_its_limit_is_not_changed(tmp_path, monkeypatch):
    logdir = tmp_path / "runs"
    write(logdir / "big", losses(1.0))
    open_experiments(logdir)
    path = logdir / ".runfold" / "experiments.json"
    before = path.read_bytes()
    monkeypatch.setattr(index_file, "MOST_BYTES", len(before))
    write(logdir / "small", losses(1.0))
    with pytest.warns(RuntimeWarning, match="new ids, labels and notes were not stored"):
        assert [experiment.id for experiment in open_experiments(logdir).all] == [1, 2]
    assert path.read_bytes() == before


@pytest.mark.fault(68)
@pytest.mark.parametrize("planted", ["run", "run/.runfold"])
def test_run_is_not_written_to_a_planted_folder(tmp_path, give_away, planted):
    (tmp_path / "run" / ".runfold").mkdir(parents=True)
    for path in (tmp_path, tmp_path / "run", tmp_path / "run" / ".runfold"):
        path.chmod(0o1777)
    give_away(tmp_path / planted)
    with (
        pytest.warns(UserWarning, match="Owned by user .* this run goes to .*run-2"),
        rf.track(tmp_path / "run", code=False, system=False) as run,
    ):
        run.log({"loss": 1.0}, step=1)
    assert run.folder == str(tmp_path / "run-2")
    assert os.listdir(tmp_path / "run") == [".runfold"]
    assert os.listdir(tmp_path / "run" / ".runfold") == []


@pytest.mark.fault(68)
def test_stop_request_is_not_written_to_a_planted_folder(tmp_path, give_away):
    (tmp_path / ".runfold").mkdir()
    tmp_path.chmod(0o777)
    give_away(tmp_path / ".runfold")
    with pytest.raises(Untrusted, match="Owned by user"):
        request_stop(str(tmp_path))
    assert os.listdir(tmp_path / ".runfold") == []


def test_other_users_can_request_a_stop(tmp_path, give_away):
    (tmp_path / "run" / ".runfold").mkdir(parents=True)
    for path in (tmp_path / "run", tmp_path / "run" / ".runfold"):
        path.chmod(0o777)
        give_away(path)
    request_stop(str(tmp_path / "run"), "enough")
    assert read_aside(str(tmp_path / "run"), "stop")["reason"] == "enough"


def test_side_files_are_never_accessed_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    place_aside(str(tmp_path / "elsewhere"), "heartbeat", b'{"pid": 1}')
    kept = tmp_path / "elsewhere" / ".runfold" / "heartbeat"
    os.utime(kept, (1, 1))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".runfold").symlink_to(kept.parent)
    assert read_aside(str(tmp_path / "elsewhere"), "heartbeat") == {"pid": 1}
    assert read_aside(str(tmp_path / "run"), "heartbeat") == {}
    for change in (touch_aside, remove_aside):
        with pytest.raises(Untrusted):
            change(str(tmp_path / "run"), "heartbeat")
    (tmp_path / "run" / ".runfold").unlink()
    (tmp_path / "run" / ".runfold").mkdir()
    (tmp_path / "run" / ".runfold" / "heartbeat").symlink_to(kept)
    touch_aside(str(tmp_path / "run"), "heartbeat")
    assert kept.stat().st_mtime == 1


def test_only_trusted_owners_of_a_folder_are_accepted(tmp_path, give_away):
    (tmp_path / "mine").mkdir()
    (tmp_path / "theirs").mkdir()
    give_away(tmp_path / "theirs")
    tmp_path.chmod(0o775)
    for name in ("mine", "theirs"):
        check_owner(str(tmp_path / name))
    tmp_path.chmod(0o777)
    check_owner(str(tmp_path / "mine"))
    with pytest.raises(Untrusted), open_folder(str(tmp_path / "theirs"), is_written=True):
        pass
    with pytest.raises(Untrusted), make_folder(str(tmp_path), "theirs"):
        pass
    with open_folder(str(tmp_path / "theirs")):  # only for reading
        pass
    give_away(tmp_path)
    check_owner(str(tmp_path / "theirs"))
