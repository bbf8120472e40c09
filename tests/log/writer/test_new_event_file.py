"""Names of event files: TensorBoard reads the files of a folder in the order of their names."""

import os
import time

import pytest

import runfold as rf
from runfold._conventions import EVENT_FILE_PREFIX


def write(folder, value, step):
    with rf.SummaryWriter(folder) as writer:
        writer.add_scalar("loss", value, step)
    return max(folder.iterdir(), key=os.path.getmtime).name


def rename(folder, name, seconds, process):
    """Name a file as a different process would at a different time."""
    (folder / name).rename(folder / f"{EVENT_FILE_PREFIX}.{seconds:010d}.host.{process}.000000")


@pytest.mark.parametrize("ahead", [0, 1, 30])
def test_a_new_file_is_read_after_those_of_another_process_or_machine(tmp_path, ahead):
    rename(tmp_path, write(tmp_path, 1.0, 0), int(time.time()) + ahead, "zzz")
    write(tmp_path, 2.0, 1)
    write(tmp_path, 3.0, 2)
    assert rf.open(tmp_path)["."]["loss"].values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("seconds", [1_000_000_000, 9_999_999_999])
def test_times_far_from_now_do_not_change_the_name(tmp_path, seconds):
    rename(tmp_path, write(tmp_path, 1.0, 0), seconds, 1)
    before = int(time.time())
    name = write(tmp_path, 2.0, 1)
    assert before <= int(name.split(".")[3]) <= time.time()
