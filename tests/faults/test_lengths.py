"""Lengths in a record's header: zero, too large, and beyond the range of integers."""

from pathlib import Path

import pytest
from helpers.eventfiles import NAME, age, header, loss, read_within, scalars

from runfold._core.decoder import MAX_RECORD
from runfold._core.encoder import frame

SIZE = len(scalars(1))


@pytest.mark.fault(10)
def test_complete_record_above_the_limit_is_skipped(faulty_log):
    log = faulty_log(scalars(1), header(MAX_RECORD + 1))
    log.check(loss(1), [("record-too-long", SIZE)])
    with log.path.open("r+b") as file:  # a hole that uses no disk space
        file.truncate(SIZE + 16 + MAX_RECORD + 1)
    log.append(scalars(3))
    log.check(loss(1, 3), [("record-too-long", SIZE)])
    message = log.runs.problems()["message"].item()
    assert message == f"record at byte {SIZE} claims to be longer than the limit. Skipped."


@pytest.mark.fault(10)
@pytest.mark.fault(11)
@pytest.mark.fault(12)
def test_no_memory_is_allocated_for_a_claimed_length(tmp_path: Path):
    lengths = {
        "beyond-end": 200 << 20,
        "cap": MAX_RECORD,
        "2-40": 1 << 40,
        "2-63": 1 << 63,
        "2-64": (1 << 64) - 1,
    }
    for run, length in lengths.items():
        path = tmp_path / run / NAME
        path.parent.mkdir()
        path.write_bytes(scalars(1) + header(length) + bytes(100))
        age(path)
    found, notes = read_within(64 << 20, tmp_path)
    assert found == {run: {"loss": [1]} for run in lengths}
    code = {run: "record-too-long" if run.startswith("2") else "incomplete-tail" for run in lengths}
    assert sorted(notes) == sorted([run, code[run], SIZE] for run in lengths)


@pytest.mark.fault(11)
def test_length_beyond_the_end_is_a_torn_record(faulty_log):
    log = faulty_log(scalars(1), header(1 << 20), bytes([1]) * 100)
    log.check(loss(1))
    log.age()
    log.check(loss(1), [("incomplete-tail", SIZE)])


@pytest.mark.fault(12)
@pytest.mark.parametrize("length", [2**63 - 1, 2**63, 2**64 - 17, 2**64 - 16, 2**64 - 1])
def test_length_that_could_overflow_is_above_the_limit(faulty_log, length):
    log = faulty_log(scalars(1), header(length), scalars(2))
    log.check(loss(1), [("record-too-long", SIZE)])
    log.append(scalars(3))
    log.check(loss(1), [("record-too-long", SIZE)])


@pytest.mark.fault(13)
def test_empty_payload_is_an_empty_event(faulty_log):
    log = faulty_log(scalars(1), frame(b""), scalars(2))
    log.check(loss(1, 2))
