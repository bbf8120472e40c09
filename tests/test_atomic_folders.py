"""Sets of folders that appear together, and replace only Runfold's own output."""

import os
import tempfile
from pathlib import Path

import pytest
from helpers.faultfiles import powerless

from runfold._atomic import check_folders, replace_folders
from runfold._conventions import REDUCED_SUFFIX
from runfold.errors import OutputExists, RunfoldError

EVENTS = "events.out.tfevents.1.host" + REDUCED_SUFFIX


def fill(paths, content=b"new", meanwhile=lambda: None, **options):
    with replace_folders(paths, **options) as folders:
        for folder in folders:
            (Path(folder) / EVENTS).write_bytes(content)
        meanwhile()


def tree(root):
    """Return every file and empty folder below a folder, with the content of files."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
        if path.is_file() or not any(path.iterdir())
    }


def test_folders_appear_together_when_all_are_filled(tmp_path):
    paths = [f"{tmp_path}/out/mean/", tmp_path / "out" / "std"]
    with replace_folders(paths) as folders:
        for folder in folders:
            (Path(folder) / EVENTS).write_bytes(b"new")
        assert not (tmp_path / "out" / "mean").exists()
    assert tree(tmp_path) == {f"out/mean/{EVENTS}": b"new", f"out/std/{EVENTS}": b"new"}


@pytest.mark.fault(57)
def test_an_existing_folder_is_refused_before_any_folder_is_created(tmp_path):
    (tmp_path / "std").mkdir()
    paths = [tmp_path / "mean", tmp_path / "std"]
    with pytest.raises(OutputExists, match=r"std already exists\. Use --overwrite"):
        fill(paths)
    with pytest.raises(OutputExists):
        check_folders(paths)
    assert tree(tmp_path) == {"std": None}


@pytest.mark.fault(57)
def test_with_overwrite_runfold_output_is_replaced(tmp_path):
    paths = [tmp_path / "mean", tmp_path / "std"]
    fill(paths, b"old")
    inner = tmp_path / "mean" / "deeper"
    inner.mkdir()
    (inner / EVENTS).write_bytes(b"old")
    fill(paths, overwrite=True)
    assert tree(tmp_path) == {f"mean/{EVENTS}": b"new", f"std/{EVENTS}": b"new"}


def make_foreign_file(folder):
    (folder / "thesis.tex").write_bytes(b"years")


def make_foreign_event_file(folder):
    (folder / "events.out.tfevents.1.host").write_bytes(b"training")


def make_deep_file(folder):
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "thesis.tex").write_bytes(b"years")


def make_link_to_file(folder):
    (folder / ("x" + REDUCED_SUFFIX)).symlink_to(folder.parent / "elsewhere" / EVENTS)


def make_link_to_folder(folder):
    (folder / "linked").symlink_to(folder.parent / "elsewhere", target_is_directory=True)


def make_pipe(folder):
    os.mkfifo(folder / ("x" + REDUCED_SUFFIX))


FOREIGN = [
    *(make_foreign_file, make_foreign_event_file, make_deep_file),
    *(make_link_to_file, make_link_to_folder, make_pipe),
]


@pytest.mark.fault(57)
@pytest.mark.parametrize("make", FOREIGN)
def test_a_folder_with_foreign_files_is_never_replaced(tmp_path, make):
    paths = [tmp_path / "mean", tmp_path / "std"]
    fill([*paths, tmp_path / "elsewhere"], b"old")
    make(tmp_path / "std")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OutputExists, match="was not written by Runfold"):
        fill(paths, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "mean" / EVENTS).read_bytes() == b"old"


@pytest.mark.fault(57)
@pytest.mark.parametrize("make", FOREIGN)
def test_files_added_to_a_folder_in_the_meantime_are_kept(tmp_path, make):
    paths = [tmp_path / "mean", tmp_path / "std"]
    fill([*paths, tmp_path / "elsewhere"], b"old")
    with pytest.raises(OutputExists, match="was not written by Runfold"):
        fill(paths, meanwhile=lambda: make(tmp_path / "std"), overwrite=True)
    for name in ("mean", "std", "elsewhere"):
        assert (tmp_path / name / EVENTS).read_bytes() == b"old"
    assert len(list((tmp_path / "std").iterdir())) == 2
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "mean", "std"]


@pytest.mark.fault(57)
def test_a_link_or_a_file_instead_of_the_folder_is_kept(tmp_path):
    fill([tmp_path / "elsewhere"], b"old")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "file").write_bytes(b"text")
    for name, kind in (
        ("link", "a symbolic link"),
        ("link/", "a symbolic link"),
        ("file", "a file"),
    ):
        with pytest.raises(OutputExists, match=f"is {kind}"):
            fill([f"{tmp_path}/{name}"], overwrite=True)
    assert (tmp_path / "elsewhere" / EVENTS).read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "file", "link"]


@pytest.mark.fault(57)
def test_a_folder_that_appears_in_the_meantime_is_kept_and_none_is_written(tmp_path):
    def make():
        (tmp_path / "b").mkdir()
        make_foreign_file(tmp_path / "b")

    with pytest.raises(OutputExists):
        fill([tmp_path / "a", tmp_path / "b"], meanwhile=make)
    assert tree(tmp_path) == {"b/thesis.tex": b"years"}


@pytest.mark.fault(62)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_write_of_folders_leaves_no_files_and_loses_no_data(tmp_path, error):
    def stop():
        raise error

    old, new = tmp_path / "mean", tmp_path / "deep" / "down" / "std"
    fill([old], b"old")
    with pytest.raises(error):
        fill([old, new], b"half", meanwhile=stop, overwrite=True)
    assert tree(tmp_path) == {f"mean/{EVENTS}": b"old"}


@pytest.mark.fault(56)
def test_a_folder_that_cannot_be_renamed_restores_the_others(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    fill([first], b"old")
    with pytest.raises(OutputExists):
        fill([first, second], meanwhile=lambda: second.write_bytes(b"a file"), overwrite=True)
    assert tree(tmp_path) == {f"a/{EVENTS}": b"old", "b": b"a file"}


@pytest.mark.fault(56)
def test_a_system_error_names_the_requested_folder(tmp_path):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        with powerless(), pytest.raises(PermissionError) as caught:
            fill([f"{folder}/mean"])
        assert caught.value.filename == f"{folder}/mean"
        assert os.listdir(folder) == []
    with pytest.raises(FileNotFoundError) as missed, replace_folders([tmp_path / "x"]) as (made,):
        Path(made, "missing", "file").write_bytes(b"")
    assert missed.value.filename == str(tmp_path / "x" / "missing" / "file")
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("paths", [["out", "out/"], ["out/mean", "out"], ["b", "a/x", "a", "c"]])
def test_a_folder_inside_another_is_refused(tmp_path, monkeypatch, paths):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunfoldError, match="would overwrite each other"):
        fill(paths)
    fill(["out", "out-std", "out.d/x"])
    assert sorted(os.listdir(tmp_path)) == ["out", "out-std", "out.d"]


def test_new_folders_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        fill([tmp_path / "mean"])
    finally:
        os.umask(before)
    assert (tmp_path / "mean").stat().st_mode & 0o777 == 0o750
