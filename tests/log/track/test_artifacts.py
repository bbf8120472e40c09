"""Files copied into a run's folder, with their hashes."""

import hashlib
import os
import subprocess

import pytest

import runfold as rf
from runfold._log.track.artifacts import encode_artifact, save_file
from runfold._log.writer.event_writer import EventWriter
from runfold._story.story_parts import decode_story
from runfold._story.story_records import Artifact
from runfold.errors import CannotLog


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return str(folder)


def names(run):
    """Return the names of all files in a run's artifacts."""
    base = os.path.join(run, "artifacts")
    found = (os.path.join(at, name) for at, _, files in os.walk(base) for name in files)
    return sorted(os.path.relpath(path, base) for path in found)


def test_a_file_is_copied_with_its_hash(tmp_path, run):
    content = os.urandom(3_000_000)
    (tmp_path / "model.pt").write_bytes(content)
    saved = save_file(run, tmp_path / "model.pt")
    path = os.path.join(run, "artifacts", "model.pt")
    assert saved == Artifact("model.pt", path, 3_000_000, hashlib.sha256(content).hexdigest())
    with open(path, "rb") as file:
        assert file.read() == content
    assert names(run) == ["model.pt"]


def test_other_content_never_replaces_the_first(tmp_path, run):
    source = tmp_path / "model.pt"
    for content in (b"one", b"two", b"six", b"two"):
        source.write_bytes(content)
        saved = save_file(run, source, "best/model.pt")
        with open(saved.path, "rb") as file:
            assert file.read() == content
    assert saved.name == "best/model-1.pt"
    assert names(run) == ["best/model-1.pt", "best/model-2.pt", "best/model.pt"]


def test_a_file_that_is_already_an_artifact_stays_in_place(run):
    path = os.path.join(run, "artifacts", "x.txt")
    os.mkdir(os.path.dirname(path))
    with open(path, "w") as file:
        file.write("here")
    assert save_file(run, path).path == path
    assert names(run) == ["x.txt"]


def test_a_folder_is_copied_with_the_hash_of_the_sha256sum_output(tmp_path, run):
    source = tmp_path / "data"
    (source / "deep").mkdir(parents=True)
    (source / "b.txt").write_text("b")
    (source / "deep" / "a.txt").write_text("aa")
    (tmp_path / "elsewhere").write_text("linked")
    (source / "link").symlink_to(tmp_path / "elsewhere")
    (source / "deep" / "up").symlink_to(source)
    os.mkfifo(source / "pipe")
    saved = save_file(run, source)
    files = ["b.txt", "deep/a.txt", "link"]
    printed = subprocess.run(["sha256sum", *files], cwd=source, capture_output=True, check=True)
    assert saved.sha256 == hashlib.sha256(printed.stdout).hexdigest()
    assert (saved.name, saved.size) == ("data", 9)
    assert names(run) == [f"data/{name}" for name in files]
    assert not os.path.islink(os.path.join(saved.path, "link"))
    assert save_file(run, source) == saved
    (source / "b.txt").write_text("c")
    assert save_file(run, source).name == "data-1"


@pytest.mark.parametrize("name", ["", "..", "../x", "/etc/x", "a//b", "a/./b", "a\0b"])
def test_a_name_outside_the_artifacts_raises(tmp_path, run, name):
    (tmp_path / "x").write_text("x")
    with pytest.raises(CannotLog, match="cannot be the name of an artifact"):
        save_file(run, tmp_path / "x", name)
    assert names(run) == []


def test_a_folder_that_contains_the_run_raises(tmp_path, run):
    with pytest.raises(CannotLog, match="contains the run itself"):
        save_file(run, tmp_path)
    assert names(run) == []


def test_a_special_or_missing_file_raises_and_leaves_nothing(tmp_path, run):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        save_file(run, tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        save_file(run, tmp_path / "missing")
    assert names(run) == []


def test_an_artifact_is_recorded_in_the_story(tmp_path, run):
    (tmp_path / "x").write_text("x")
    saved = save_file(run, tmp_path / "x")
    with EventWriter(run) as writer:
        writer.add_value("runfold/artifact", encode_artifact(saved, "x"), 0)
    (text,) = rf.open(run).text()["text"]
    assert decode_story(text) == {
        "name": "x",
        "path": "artifacts/x",
        "size": 1,
        "sha256": hashlib.sha256(b"x").hexdigest(),
        "source": "x",
    }
