"""Faults 47 to 53 and 55: vanished folders, unreadable files, special files, disk errors."""

import errno
import gc
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import weakref
from contextlib import chdir
from pathlib import Path

import pytest
from helpers.faultfiles import (
    EVENTS,
    append,
    before_open,
    codes,
    image,
    points,
    powerless,
    replace,
    settings_of,
    steps,
    version,
    write,
)

import runfold as rf
from runfold._logdir import bulk_read as read
from runfold.errors import BadLog, FileChanged

# Faults 47 and 48: vanished folders, unreadable files


def out_of_sight(tmp_path, lost):
    """Return a logdir, the names of its runs, and the folder that will vanish."""
    logdir = tmp_path / "logs"
    if lost == "the target of a link":
        (tmp_path / "disk").mkdir()
        logdir.mkdir()
        (logdir / "link").symlink_to(tmp_path / "disk")
        return logdir, ["link/a", "link/b"], tmp_path / "disk"
    return logdir, ["a", "b"], logdir


@pytest.mark.fault(47)
@pytest.mark.parametrize("lost", ["the logdir", "the target of a link"])
def test_a_folder_that_vanishes_and_returns_loses_nothing(tmp_path, lost):
    logdir, names, vanishing = out_of_sight(tmp_path, lost)
    for name in names:
        write(logdir / name / EVENTS, points(1, 2))
    runs = rf.open(logdir).load()
    vanishing.rename(tmp_path / "away")
    changes = runs.refresh()
    assert sorted(changes.missing) == [str(logdir / name / EVENTS) for name in names]
    assert changes.gone == []
    assert sorted(runs) == names
    assert [steps(runs, name) for name in names] == [[1, 2], [1, 2]]
    assert codes(runs).count(("file-vanished", EVENTS)) == 2
    assert codes(runs).count(("directory-vanished", "logs")) == (lost == "the logdir")
    assert not runs.refresh()
    (tmp_path / "away").rename(vanishing)
    append(logdir / names[0] / EVENTS, points(3))
    changes = runs.refresh()
    assert (changes.points, changes.runs, changes.reread, changes.missing) == (1, [], [], [])
    assert list(runs) == names
    assert steps(runs, names[0]) == [1, 2, 3]
    assert codes(runs) == []


@pytest.mark.fault(47)
def test_a_run_that_vanishes_is_missing_until_it_returns(tmp_path):
    logdir = tmp_path / "logs"
    for name in ("a", "b"):
        write(logdir / name / EVENTS, points(1, 2))
    runs = rf.open(logdir).load()
    (logdir / "a").rename(tmp_path / "away")
    changes = runs.refresh()
    assert (changes.gone, changes.runs, changes.points, changes.missing) == (["a"], [], 0, [])
    assert list(runs) == ["b"]
    assert codes(runs) == []
    assert not runs.refresh()
    (tmp_path / "away").rename(logdir / "a")
    changes = runs.refresh()
    assert (changes.gone, changes.runs) == ([], ["a"])
    assert steps(runs, "a") == [1, 2]


@pytest.mark.fault(47)
def test_runs_in_a_folder_that_cannot_be_listed_are_kept():
    with powerless(), tempfile.TemporaryDirectory() as name:
        logdir = Path(name)
        write(logdir / "group" / "a" / EVENTS, points(1, 2))
        runs = rf.open(logdir).load()
        (logdir / "group").chmod(0)
        assert runs.refresh().gone == []
        assert steps(runs, "group/a") == [1, 2]
        (logdir / "group").chmod(0o700)


# Fault 69: a run folder that is deleted and created again


@pytest.mark.fault(69)
@pytest.mark.parametrize("is_seen", [False, True], ids=["between refreshes", "seen in between"])
@pytest.mark.parametrize("name", [EVENTS, "events.out.tfevents.1800000000.host.2.0"])
def test_a_recreated_run_has_only_its_new_points(tmp_path, is_seen, name):
    write(tmp_path / "a" / EVENTS, version(1.0), points(1, 2, 3), points(1, tag="old"))
    runs = rf.open(tmp_path).load()
    shutil.rmtree(tmp_path / "a")
    if is_seen:
        assert runs.refresh().gone == ["a"]
        assert list(runs) == []
    write(tmp_path / "a" / name, version(2.0), points(1))
    runs.refresh()
    assert list(runs) == ["a"]
    assert steps(runs, "a") == [1]
    assert "old" not in runs["a"]
    assert codes(runs) == []


@pytest.mark.fault(69)
def test_a_recreated_run_has_none_of_its_old_files(tmp_path):
    for number in (1, 2):
        write(tmp_path / "a" / f"{number}.tfevents", version(1.0), points(number))
    runs = rf.open(tmp_path).load()
    run = runs["a"]
    # Keep the old folder for now, so that no inode number is reused.
    (tmp_path / "a").rename(tmp_path / "old-a")
    write(tmp_path / "a" / "2.tfevents", version(2.0), points(7))
    shutil.rmtree(tmp_path / "old-a")
    assert runs.refresh().points == -1
    assert run["loss"].steps.tolist() == [7]
    assert codes(runs) == []


@pytest.mark.fault(69)
@pytest.mark.parametrize("is_made_again", [False, True])
def test_the_memory_of_a_deleted_run_is_freed(tmp_path, is_made_again):
    write(tmp_path / "a" / EVENTS, points(1, 2, 3), image(1, b"x"))
    write(tmp_path / "a" / "1700000000.25" / EVENTS, settings_of(lr=0.1))
    write(tmp_path / "b" / EVENTS, points(1))
    runs = rf.open(tmp_path).load()
    assert list(runs) == ["a", "b"]
    runs.table()
    log = runs._logdir.logs["a"]
    held = [weakref.ref(item) for item in (*log.all_files, log.scalars["loss"].steps)]
    del log
    shutil.rmtree(tmp_path / "a")
    if is_made_again:
        write(tmp_path / "a" / "new.tfevents", points(9))
    runs.refresh()
    gc.collect()
    assert [reference() for reference in held] == [None] * 3
    assert list(runs) == (["a", "b"] if is_made_again else ["b"])


@pytest.mark.fault(47)
def test_a_folder_replaced_by_a_file_has_vanished(tmp_path):
    write(tmp_path / "a" / EVENTS, points(1))
    runs = rf.open(tmp_path).load()
    (tmp_path / "a" / EVENTS).unlink()
    (tmp_path / "a").rmdir()
    (tmp_path / "a").touch()
    assert runs.refresh().missing == [str(tmp_path / "a" / EVENTS)]
    assert steps(runs, "a") == [1]
    assert codes(runs) == [("file-vanished", EVENTS)]


@pytest.mark.fault(47)
def test_strict_mode_raises_when_the_logdir_vanishes(tmp_path):
    write(tmp_path / "logs" / EVENTS, points(1))
    runs = rf.open(tmp_path / "logs", strict=True).load()
    (tmp_path / "logs").rename(tmp_path / "away")
    with pytest.raises(BadLog, match="disappeared"):
        runs.refresh()


@pytest.mark.fault(48)
def test_a_file_without_permission_is_reported_and_read_once_permitted():
    with powerless(), tempfile.TemporaryDirectory() as name:
        closed = write(Path(name) / "a" / EVENTS, points(1))
        write(Path(name) / "a" / "z.tfevents", points(2))
        write(Path(name) / "b" / EVENTS, points(3))
        closed.chmod(0)
        runs = rf.open(name)
        assert (steps(runs, "a"), steps(runs, "b")) == ([2], [3])
        assert codes(runs) == [("permission-denied", EVENTS)]
        with pytest.raises(BadLog, match="permission denied"):
            rf.open(name, strict=True).load()
        closed.chmod(0o600)
        assert runs.refresh().points == 1
        assert steps(runs, "a") == [1, 2]
        assert codes(runs) == []
        closed.chmod(0)
        append(Path(name) / "b" / EVENTS, points(4))
        assert runs.refresh().points == 1
        assert steps(runs, "a") == [1, 2]
        assert codes(runs) == [("permission-denied", EVENTS)]


# Fault 49: many files

MANY = """
import resource, sys
import runfold as rf
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
runs = rf.open(sys.argv[1]).load()
assert len(runs) == 2500, len(runs)
assert all(runs[name]["loss"].steps.tolist() == [1, 2] for name in runs)
assert len(runs.images()) == 2500
assert not runs.refresh()
assert runs.problems().empty
"""


@pytest.mark.fault(49)
def test_ten_thousand_files_are_read_with_few_descriptors(tmp_path):
    first, second, third = points(1), points(2), image(1, b"x")
    for number in range(2500):
        folder = tmp_path / f"seed-{number}"
        folder.mkdir()
        for name, content in (("1", first), ("2", second), ("3", third), ("4", b"")):
            (folder / f"{name}.tfevents").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(tmp_path)], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.returncode == 0


# Faults 50 to 53: odd names and odd files


@pytest.mark.fault(50)
def test_a_symlink_loop_reads_each_run_once(tmp_path):
    write(tmp_path / "a" / "b" / EVENTS, points(1, 2))
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "self.tfevents").symlink_to("self.tfevents")
    runs = rf.open(tmp_path)
    assert list(runs) == ["a/b"]
    assert len(runs.scalars()) == 2
    assert sorted(codes(runs)) == [("symlink-loop", "self.tfevents"), ("symlink-loop", "up")]


@pytest.mark.fault(51)
def test_links_outside_the_logdir_are_read_and_followed(tmp_path):
    far = write(tmp_path / "far" / "seed-1" / EVENTS, points(1))
    file = write(tmp_path / "other" / "x.tfevents", points(7))
    logs = tmp_path / "logs"
    write(logs / "near" / EVENTS, points(5))
    (logs / "far").symlink_to(tmp_path / "far")
    (logs / "near" / "z.tfevents").symlink_to(file)
    runs = rf.open(logs)
    assert list(runs) == ["far/seed-1", "near"]
    assert (steps(runs, "far/seed-1"), steps(runs, "near")) == ([1], [5, 7])
    append(far, points(2))
    append(file, points(8))
    assert runs.refresh().points == 2
    assert (steps(runs, "far/seed-1"), steps(runs, "near")) == ([1, 2], [5, 7, 8])
    assert codes(runs) == []


@pytest.mark.fault(52)
def test_pipes_sockets_and_devices_are_skipped_with_a_problem(tmp_path):
    write(tmp_path / EVENTS, points(1))
    os.mkfifo(tmp_path / "fifo.tfevents")
    (tmp_path / "null.tfevents").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as server, chdir(tmp_path):
        server.bind("socket.tfevents")
    runs = rf.open(tmp_path)
    assert steps(runs) == [1]
    assert codes(runs) == [
        ("special-file", "fifo.tfevents"),
        ("special-file", "null.tfevents"),
        ("special-file", "socket.tfevents"),
    ]


@pytest.mark.fault(52)
def test_a_pipe_instead_of_a_file_never_blocks(tmp_path):
    path = write(tmp_path / EVENTS, points(1), image(1, b"x"))
    other = write(tmp_path / "z.tfevents", points(2))
    runs = rf.open(tmp_path)
    [picture] = runs.images()["image"]
    early = rf.open(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(FileChanged):
        _ = picture.data
    assert steps(early) == [2]
    assert codes(early) == [("special-file", EVENTS)]
    append(other, points(3))
    assert runs.refresh().points == 1
    assert steps(runs) == [1, 2, 3]
    assert set(codes(runs)) == {("special-file", EVENTS)}


@pytest.mark.fault(53)
def test_names_that_are_not_utf8_or_very_long_are_read_and_shown_escaped(tmp_path):
    odd = os.fsdecode(b"caf\xe9-\x1b[31m")
    long = "x" * 255
    write(tmp_path / odd / EVENTS, points(1)[:-1] + b"!")
    write(tmp_path / long / long / ("tfevents" + "y" * 247), points(2))
    runs = rf.open(tmp_path)
    assert list(runs) == ["caf\\xe9-\x1b[31m", f"{long}/{long}"]
    assert steps(runs, f"{long}/{long}") == [2]
    assert codes(runs) == [("bad-payload-checksum", EVENTS)]
    for shown in (repr(runs), runs._repr_html_(), repr(runs[next(iter(runs))])):
        assert "\x1b" not in shown
        assert shown.encode()
    assert "caf\\xe9-\\x1b[31m" in repr(runs)


# Fault 55: disk errors


@pytest.fixture
def failing(monkeypatch, python_reads):
    """Make the first reads of a file fail, as on a faulty disk."""
    preadv = os.preadv

    def fail(path, number, times, after=0):
        left = [number] * times

        def read(descriptor, views, offset):
            ours = os.path.samestat(os.fstat(descriptor), os.stat(path))
            if ours and offset >= after and left:
                raise OSError(left.pop(), os.strerror(number))
            return preadv(descriptor, views, offset)

        monkeypatch.setattr(os, "preadv", read)

    return fail


TRANSIENT = pytest.mark.parametrize(
    "number", [errno.ESTALE, errno.EINTR, errno.EIO], ids=["ESTALE", "EINTR", "EIO"]
)


@pytest.mark.fault(55)
@TRANSIENT
def test_a_temporary_error_is_retried_without_a_problem(tmp_path, failing, number):
    path = write(tmp_path / EVENTS, points(1, 2))
    failing(path, number, times=2)
    runs = rf.open(tmp_path)
    assert steps(runs) == [1, 2]
    assert codes(runs) == []


@pytest.mark.fault(55)
@TRANSIENT
def test_a_permanent_error_is_reported_and_other_files_are_read(tmp_path, failing, number):
    path = write(tmp_path / "a" / EVENTS, points(1, 2))
    write(tmp_path / "b" / EVENTS, points(3))
    failing(path, number, times=4)
    runs = rf.open(tmp_path)
    assert len(runs["a"]) == 0
    assert steps(runs, "b") == [3]
    assert codes(runs) == [("read-error", EVENTS)]
    assert os.strerror(number) in runs.problems()["message"][0]
    assert runs.refresh().points == 2
    assert steps(runs, "a") == [1, 2]
    assert codes(runs) == []


@pytest.mark.fault(55)
def test_data_read_before_an_error_is_kept_and_not_read_twice(tmp_path, failing, monkeypatch):
    monkeypatch.setattr(read, "BUFFER_SIZE", 1000)
    path = write(tmp_path / EVENTS, points(*range(100)))
    failing(path, errno.EIO, times=3, after=1000)
    runs = rf.open(tmp_path)
    held = steps(runs)
    assert 0 < len(held) < 100
    assert held == list(range(len(held)))
    assert codes(runs) == [("read-error", EVENTS)]
    changes = runs.refresh()
    assert (changes.points, changes.reread) == (100 - len(held), [])
    assert steps(runs) == list(range(100))
    assert codes(runs) == []


@pytest.mark.fault(55)
def test_a_file_replaced_after_an_error_is_read_from_its_start(tmp_path, failing, monkeypatch):
    monkeypatch.setattr(read, "BUFFER_SIZE", 1000)
    path = write(tmp_path / EVENTS, version(1.0), points(*range(100)))
    failing(path, errno.EIO, times=3, after=1000)
    runs = rf.open(tmp_path).load()
    replace(path, version(2.0), points(*range(500, 700)))
    assert runs.refresh().reread == [str(path)]
    assert steps(runs) == list(range(500, 700))
    assert codes(runs) == []


@pytest.mark.fault(55)
@pytest.mark.parametrize(("times", "expected"), [(2, [1]), (3, [])])
def test_a_file_that_cannot_be_opened_is_tried_three_times(tmp_path, times, expected, python_reads):
    path = write(tmp_path / EVENTS, points(1))
    left = [errno.ESTALE] * times

    def fail() -> None:
        if left:
            raise OSError(left.pop(), "Stale file handle")

    runs = rf.open(tmp_path)
    with before_open(path, fail):
        runs.load()
    assert runs.scalars()["step"].tolist() == expected
    assert codes(runs) == ([] if expected else [("read-error", EVENTS)])


@pytest.mark.fault(55)
def test_an_image_on_a_failing_disk_says_what_to_do(tmp_path, monkeypatch):
    write(tmp_path / EVENTS, image(1, b"x"))
    [picture] = rf.open(tmp_path).images()["image"]

    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(FileChanged, match="refresh"):
        _ = picture.data
