"""Pictures and clips as files: unique names that are safe on any file system."""

import os
import re
from pathlib import Path

import pandas as pd
import pytest
from helpers.logs import values, write
from helpers.writers import PIXELS, png
from helpers.writers import torch as write_all_kinds
from hypothesis import given
from hypothesis import strategies as st

import runfold as rf
from runfold._events.value_encoding import image, image_tensor
from runfold._export.file_names import portable_name
from runfold.errors import OutputExists

ONE = png(PIXELS)


def picture(tag, *others):
    return image_tensor(tag, 6, 4, [ONE, *others]) if others else image(tag, 4, 6, 3, ONE)


def files_below(folder):
    return sorted(
        str(path.relative_to(folder)) for path in Path(folder).rglob("*") if not path.is_dir()
    )


def test_paths_in_the_table_are_relative_to_its_folder(tmp_path):
    write(tmp_path / "log" / "a" / "b", values(picture("x/y", b"GIF89a?", b"?"), step=7))
    done = rf.open(tmp_path / "log").export(
        tmp_path / "tables" / "out.csv", "image", images=tmp_path / "pictures"
    )
    names = ["a%2Fb/x%2Fy/7-0.png", "a%2Fb/x%2Fy/7-1.gif", "a%2Fb/x%2Fy/7-2.bin"]
    assert files_below(tmp_path / "pictures") == names
    table = pd.read_csv(tmp_path / "tables" / "out.csv")
    assert table["image"].tolist() == [f"../pictures/{name}" for name in names]
    assert (tmp_path / "tables" / table["image"][0]).read_bytes() == ONE
    assert done.notes == [f"3 files in {tmp_path}/pictures"]


@pytest.mark.parametrize("kind", ["images", "audio"])
def test_a_media_folder_selects_the_default_kind(tmp_path, kind):
    write_all_kinds(tmp_path / "log")
    folder = tmp_path / "folder"
    done = rf.open(tmp_path / "log").export(tmp_path / "out.csv", **{kind: folder})
    assert [*done.rows.values()] == [len(files_below(folder))] == [3]
    assert done.notes == [f"3 files in {folder}"]


def test_a_note_says_which_of_two_media_folders_was_used(tmp_path):
    write_all_kinds(tmp_path / "log")
    done = rf.open(tmp_path / "log").export(
        tmp_path / "out.csv", images=tmp_path / "pictures", audio=tmp_path / "clips"
    )
    assert "out.csv contains only images; the runs also have " in done.notes[0]


def test_clips_go_to_their_folder_and_pictures_stay_embedded(tmp_path):
    write_all_kinds(tmp_path / "log" / "seed-1")
    runs = rf.open(tmp_path / "log")
    runs.export(f"{tmp_path}/out/", ["image", "audio"], audio=f"{tmp_path}/out/clips")
    clips = rf.read_table(tmp_path / "out" / "audio.parquet")["audio"]
    data = [clip.data for clip in runs.audio()["audio"]]
    assert [(tmp_path / "out" / clip).read_bytes() for clip in clips] == data
    assert clips[0] == "clips/seed-1/sound/0-0.wav"
    assert rf.read_table(tmp_path / "out" / "images.parquet")["image"][0].width == 6


def test_names_with_paths_stay_in_the_folder(tmp_path):
    tags = ["../../up", "/etc/passwd", "..", ".", "", "a\0b", "con", "x" * 500, "a\\..\\b", "~"]
    write(tmp_path / "log", values(*map(picture, tags)))
    rf.open(tmp_path / "log").export(f"{tmp_path}/out/", "image", images=tmp_path / "in")
    assert len(files_below(tmp_path / "in")) == len(tags)
    assert sorted(os.listdir(tmp_path)) == ["in", "log", "out"]


def test_names_that_differ_in_case_or_not_at_all_do_not_collide(tmp_path):
    write(tmp_path / "log", values(*map(picture, ["Tag", "tag", "tag", "Tag"])))
    rf.open(tmp_path / "log").export(tmp_path / "a.csv", "image", images=tmp_path / "in")
    assert files_below(tmp_path / "in") == [
        "%2E/Tag/0-0.png",
        "%2E/Tag/0-0~2.png",
        "%2E/tag/0-0~3.png",
        "%2E/tag/0-0~4.png",
    ]


@given(st.text(), st.text())
def test_different_strings_have_different_names(first, second):
    names = [portable_name(text) for text in (first, second)]
    assert (names[0] == names[1]) == (first == second)
    for name in names:
        assert 0 < len(name.encode()) <= 220
        assert not re.search(r'[\x00-\x1f/\\<>:"|?*]|[. ]$|^\.', name)
        assert not re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", name, re.IGNORECASE)


def test_folder_with_files_is_rejected_without_overwrite(tmp_path):
    write(tmp_path / "log", values(picture("p")))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "mine.txt").write_text("keep")
    runs = rf.open(tmp_path / "log")
    with pytest.raises(OutputExists, match="in is not empty"):
        runs.export(tmp_path / "a.csv", "image", images=tmp_path / "in")
    assert not (tmp_path / "a.csv").exists()
    runs.export(tmp_path / "a.csv", "image", images=tmp_path / "in", overwrite=True)
    assert files_below(tmp_path / "in") == ["%2E/p/0-0.png", "mine.txt"]


def test_failure_leaves_no_folder_behind(tmp_path):
    write(tmp_path / "log", values(picture("p")))
    runs = rf.open(tmp_path / "log")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        runs.export(tmp_path / "file" / "a.csv", "image", images=tmp_path / "in")
    assert sorted(os.listdir(tmp_path)) == ["file", "log"]
