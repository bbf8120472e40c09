"""Files that appear only when complete, and never replace foreign data."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.faultfiles import powerless

from runfold._atomic import check_file, replace_file
from runfold.errors import OutputExists


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def write(path, content, meanwhile=lambda: None, **options):
    with replace_file(path, **options) as file:
        file.write(content)
        meanwhile()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.fault(58)
def test_a_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "out.csv"
    with replace_file(path) as file:
        file.write(b"half")
        file.flush()
        (temporary,) = os.listdir(tmp_path)
        assert temporary.startswith(".runfold-")
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.fault(57)
def test_an_existing_file_is_refused_before_any_work(tmp_path):
    path = tmp_path / "out.csv"
    path.write_bytes(b"old")
    with pytest.raises(OutputExists, match=r"out\.csv already exists\. Use --overwrite"):
        write(path, b"new")
    with pytest.raises(FileExistsError):
        check_file(path)
    assert path.read_bytes() == b"old"
    write(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.fault(57)
def test_a_file_that_appears_in_the_meantime_is_kept(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(OutputExists):
        write(path, b"mine", meanwhile=lambda: path.write_bytes(b"another's"))
    assert path.read_bytes() == b"another's"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.fault(62)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_write_leaves_no_files_and_loses_no_data(tmp_path, error):
    def stop():
        raise error

    old = tmp_path / "old.csv"
    old.write_bytes(b"old")
    for path in (old, tmp_path / "new.csv", tmp_path / "deep" / "down" / "new.csv"):
        with pytest.raises(error):
            write(path, b"half", meanwhile=stop, overwrite=True)
    assert old.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["old.csv"]


def test_a_folder_instead_of_the_file_is_reported(tmp_path):
    with pytest.raises(IsADirectoryError, match="This is a folder") as caught:
        write(tmp_path, b"", overwrite=True)
    assert caught.value.filename == str(tmp_path)


def test_missing_folders_are_created(tmp_path):
    write(tmp_path / "a" / "b" / "out.csv", b"x")
    assert (tmp_path / "a" / "b" / "out.csv").read_bytes() == b"x"


@pytest.mark.fault(56)
def test_a_read_only_folder_is_an_error_with_the_path():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        path = f"{folder}/out.csv"
        with powerless(), pytest.raises(PermissionError) as caught:
            write(path, b"")
        assert (caught.value.errno, caught.value.filename) == (errno.EACCES, path)
        assert os.listdir(folder) == []


def test_a_file_instead_of_the_folder_is_an_error_with_the_path(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError) as caught:
        write(tmp_path / "file" / "out.csv", b"")
    assert caught.value.filename == str(tmp_path / "file" / "out.csv")


def test_a_new_file_follows_the_umask_and_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "out.csv"
    with umask(0o027):
        write(path, b"1")
        assert mode(path) == 0o640
        path.chmod(0o600)
        write(path, b"2", overwrite=True)
    assert mode(path) == 0o600


def test_the_longest_possible_name_is_written(tmp_path):
    path = tmp_path / ("n" * 251 + ".csv")
    write(path, b"x")
    assert path.read_bytes() == b"x"
    with pytest.raises(OSError, match="too long"):
        write(tmp_path / ("n" * 252 + ".csv"), b"x")


def test_a_symbolic_link_is_kept_and_its_target_is_replaced(tmp_path):
    real, link = tmp_path / "real" / "data.csv", tmp_path / "out.csv"
    link.symlink_to(real)
    write(link, b"1")
    assert link.is_symlink()
    assert real.read_bytes() == b"1"
    with pytest.raises(OutputExists, match=r"out\.csv already exists"):
        write(link, b"2")
    write(link, b"2", overwrite=True)
    assert link.is_symlink()
    assert real.read_bytes() == b"2"


def test_a_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "out.csv"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"through")
    reader.join()
    assert read == [b"through"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Only Linux has /dev/full.")
def test_an_error_of_a_device_names_it():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write("/dev/full", b"too much")


RACING = """
import sys
from runfold.errors import OutputExists
from runfold._atomic import replace_file

path, letter, overwrite = sys.argv[1:]
try:
    with replace_file(path, overwrite == "yes") as file:
        print("ready", flush=True)
        sys.stdin.readline()
        file.write(letter.encode() * 3_000_000)
    print("written")
except OutputExists:
    print("refused")
"""


@pytest.mark.fault(59)
@pytest.mark.parametrize(
    ("overwrite", "ends"), [("yes", ["written"] * 4), ("no", ["refused"] * 3 + ["written"])]
)
def test_concurrent_writers_leave_one_complete_file(tmp_path, overwrite, ends):
    path = tmp_path / "out.csv"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACING, path, letter, overwrite],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for letter in "abcd"
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("\n")
        racer.stdin.flush()
    assert sorted(racer.communicate()[0].strip() for racer in racers) == ends
    content = path.read_bytes()
    assert content == content[:1] * 3_000_000
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_path_can_be_a_str_or_a_path_and_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a.csv", b"1")
    write(Path("b.csv"), b"2")
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]
