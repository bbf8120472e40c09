"""Packs of many runs: the work per run does not depend on their number."""

import os
import sys

import pytest
from helpers.faultfiles import points
from helpers.packs import OLD, write

import runfold as rf
from runfold._pack.pack import pack_logdir, unpack_logdir

SOURCE = os.path.dirname(rf.__file__)


def instructions(call, *args):
    """Return the number of bytecode instructions in Runfold's code that a call executes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(*args)
    finally:
        sys.settrace(before)
    return count


def write_runs(logdir, count, is_alike):
    for number in range(count):
        tag = "loss" if is_alike else f"loss-{number}"
        run = logdir / f"lr-{number % 3}" / f"seed-{number}"
        write(run / f"events.out.tfevents.{OLD}", points(1, 2, tag=tag))
        (run / "notes.txt").write_text("not packed")


def pack(logdir):
    pack_logdir([logdir], f"{logdir}.parquet")


def unpack(logdir):
    unpack_logdir(f"{logdir}.parquet", f"{logdir}-again")


def query(logdir):
    runs = rf.open(f"{logdir}.parquet")
    assert len(runs.scalars()) == 2 * len(runs)
    assert len(runs.problems()) == len(runs.text()) == 0


@pytest.mark.parametrize("is_alike", [True, False], ids=["same tags", "different tags"])
def test_work_is_proportional_to_the_number_of_runs(tmp_path, is_alike):
    work = {}
    for count in (25, 50, 100, 200):  # the first one includes all imports
        logdir = tmp_path / f"of-{count}"
        write_runs(logdir, count, is_alike)
        work[count] = {call: instructions(call, logdir) for call in (pack, unpack, query)}
    for call in (pack, unpack, query):
        first, second = (work[2 * count][call] - work[count][call] for count in (50, 100))
        assert second == pytest.approx(2 * first, rel=0.05), call.__name__


def test_files_that_are_not_packed_are_counted_once(tmp_path):
    write_runs(tmp_path / "logs", 5, True)
    write(tmp_path / "logs" / "lr-0" / "events.out.tfevents.1", points(1))
    (tmp_path / "logs" / "lr-0" / "more").mkdir()
    (tmp_path / "logs" / "lr-0" / "more" / "notes.txt").write_text("below a run")
    assert pack_logdir([tmp_path / "logs"], tmp_path / "logs.parquet").left_out == 6
