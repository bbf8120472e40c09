"""Faults in the record framing of files on disk: the rest of the file must be read."""

import gzip
import zlib
from pathlib import Path

import pytest
from helpers.eventfiles import (
    NAME,
    age,
    corrupt,
    loss,
    points,
    scalar,
    scalars,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._core.encoder import frame
from runfold._events.problems import Code

TORN = scalar(step=4)
SIZE = len(scalars(1))


@pytest.mark.fault(1)
def test_empty_file_is_a_run_without_series(faulty_log):
    log = faulty_log(b"")
    log.age()
    log.check({})
    assert "bad" in repr(log.runs)


@pytest.mark.fault(2)
@pytest.mark.parametrize("size", [1, 8, 11])
def test_file_shorter_than_a_header_is_read_later(growing_file, size):
    log = growing_file(torn=TORN, cut=size)
    log.check({})
    log.complete()
    log.check(loss(4))


@pytest.mark.fault(3)
@pytest.mark.parametrize("cut", [1, 8, 11])
def test_torn_header_is_read_once_it_is_complete(growing_file, cut):
    log = growing_file(scalars(1, 2), torn=TORN, cut=cut)
    log.check(loss(1, 2))
    log.complete()
    log.check(loss(1, 2, 4))


@pytest.mark.fault(4)
@pytest.mark.parametrize("cut", [12, 13, SIZE - 5])
def test_torn_payload_is_read_once_it_is_complete(growing_file, cut):
    log = growing_file(scalars(1, 2), torn=TORN, cut=cut)
    log.check(loss(1, 2))
    log.complete()
    log.check(loss(1, 2, 4))


@pytest.mark.fault(5)
@pytest.mark.parametrize("cut", [-4, -1])
def test_torn_footer_is_read_once_it_is_complete(growing_file, cut):
    log = growing_file(scalars(1, 2), torn=TORN, cut=cut)
    log.check(loss(1, 2))
    log.complete()
    log.check(loss(1, 2, 4))


@pytest.mark.fault(3)
@pytest.mark.fault(4)
@pytest.mark.fault(5)
def test_file_that_grows_byte_by_byte_never_shows_a_point_early_or_twice(faulty_log):
    log = faulty_log(scalars(1))
    for end in range(len(TORN) - 1):
        log.append(TORN[end : end + 1])
        assert points(log.runs, "bad") == loss(1)
    log.append(TORN[-1:], scalars(5))
    log.check(loss(1, 4, 5))


@pytest.mark.fault(6)
@pytest.mark.parametrize("cut", [1, 11, 12, 20, -1])
def test_tail_that_stays_torn_is_reported_until_it_is_complete(growing_file, cut):
    log = growing_file(scalars(1, 2), torn=TORN, cut=cut)
    log.age()
    log.check(loss(1, 2), [("incomplete-tail", 2 * SIZE)])
    log.complete()
    log.check(loss(1, 2, 4))


@pytest.mark.fault(2)
@pytest.mark.fault(6)
def test_file_that_stays_shorter_than_a_header_is_reported(growing_file):
    log = growing_file(torn=TORN, cut=5)
    log.age()
    log.check({}, [("incomplete-tail", 0)])


@pytest.mark.fault(7)
@pytest.mark.parametrize("at", [12, 30, -5, -4, -1])
def test_record_with_a_bad_payload_checksum_is_skipped(faulty_log, at):
    log = faulty_log(scalars(1), corrupt(scalar(step=2), at), scalars(3, 4))
    log.check(loss(1, 3, 4), [("bad-payload-checksum", SIZE)])


@pytest.mark.fault(7)
def test_every_bad_payload_checksum_is_reported_at_its_own_offset(faulty_log):
    bad = corrupt(scalars(10), 20)
    log = faulty_log(bad, scalars(1), bad, bad, scalars(2))
    code = Code.BAD_PAYLOAD_CHECKSUM
    log.check(loss(1, 2), [(code, 0), (code, 2 * SIZE), (code, 3 * SIZE)])


@pytest.mark.fault(8)
@pytest.mark.parametrize("at", [0, 7, 8, 11])
def test_bad_length_checksum_ends_the_file_until_it_is_repaired(faulty_log, at):
    log = faulty_log(scalars(1, 2), corrupt(scalar(step=3), at), scalars(4))
    log.check(loss(1, 2), [("bad-length-checksum", 2 * SIZE)])
    log.append(scalars(5))
    log.check(loss(1, 2), [("bad-length-checksum", 2 * SIZE)])
    log.overwrite(2 * SIZE, scalars(3))
    log.check(loss(1, 2, 3, 4, 5))


@pytest.mark.fault(8)
def test_other_files_of_the_run_continue_after_a_bad_length_checksum(faulty_log):
    log = faulty_log(scalars(1, 2), corrupt(scalar(step=3), 0))
    log.add_file(NAME + ".1", scalars(6, 7))
    log.runs.refresh()
    log.check(loss(1, 2, 6, 7), [("bad-length-checksum", 2 * SIZE)])


@pytest.mark.fault(8)
def test_zeros_between_records_are_a_bad_length_and_not_a_tail(faulty_log):
    log = faulty_log(scalars(1), bytes(64), scalars(2))
    log.check(loss(1), [("bad-length-checksum", SIZE)])


@pytest.mark.fault(9)
@pytest.mark.parametrize("kept", [0, 3, 8, 10, 12, 20, SIZE - 4, SIZE - 2])
def test_zeros_at_the_end_are_read_once_they_are_filled(faulty_log, kept):
    """Zeros can start at any byte, for example in a page that a network disk has not sent yet."""
    log = faulty_log(scalars(1, 2), TORN[:kept], bytes(4096))
    log.check(loss(1, 2))
    log.age()
    log.check(loss(1, 2), [("zero-filled-tail", 2 * SIZE)])
    log.overwrite(2 * SIZE, TORN + scalars(5))
    log.check(loss(1, 2, 4, 5))


@pytest.mark.fault(9)
def test_filling_zeros_counts_as_growth_and_not_as_a_new_file(faulty_log):
    log = faulty_log(scalars(1), bytes(4096))
    log.runs.load()
    log.path.write_bytes(scalars(1, 2) + bytes(4000))
    changes = log.runs.refresh()
    assert (changes.points, changes.reread) == (1, [])


@pytest.mark.fault(9)
def test_file_of_only_zeros_is_read_once_it_is_filled(faulty_log):
    log = faulty_log(bytes(500))
    log.check({})
    log.age()
    log.check({}, [("zero-filled-tail", 0)])
    log.overwrite(0, scalars(1))
    log.check(loss(1))


@pytest.mark.fault(9)
def test_zero_checksum_in_the_middle_of_a_large_file_loses_only_one_record(faulty_log):
    """Zeros at the end of a stretch are not a tail if the file continues."""
    large = frame(bytes(5 << 20))[:-4] + bytes(4)
    log = faulty_log(scalars(1), large, scalars(2))
    log.check(loss(1, 2), [("bad-payload-checksum", SIZE)])


@pytest.mark.fault(14)
@pytest.mark.parametrize("garbage", [b"not an event file at all", b"\x00garbage before it"])
def test_garbage_at_the_start_is_not_an_event_file(faulty_log, garbage):
    log = faulty_log(garbage, scalars(1, 2))
    log.check({}, [("not-an-event-file", 0)])
    assert log.runs.problems()["message"].item() == "not an event file. Skipped."


@pytest.mark.fault(15)
@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
def test_compressed_file_is_reported_as_compressed(faulty_log, compress):
    log = faulty_log(compress(scalars(*range(1, 20))))
    log.check({}, [("compressed", 0)])
    message = log.runs.problems()["message"].item()
    assert message == "a compressed file, not a plain event file. Skipped. Decompress it first."


@pytest.mark.fault(16)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.binary(max_size=200),
    payload=st.binary(max_size=200),
    after=st.binary(max_size=200),
)
def test_random_bytes_give_only_problems(tmp_path: Path, before, payload, after):
    """Random bytes alone, as the payload of a valid record, and after valid records."""
    files = {
        "alone": before,
        "payload": scalars(1) + frame(payload) + scalars(2),
        "behind": scalars(1) + after,
    }
    for run, content in files.items():
        path = tmp_path / run / NAME
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        age(path)
    runs = rf.open(tmp_path)
    assert points(runs, "payload")["loss"][:: max(1, len(runs["payload"]["loss"]) - 1)] == [
        (1, 1.0),
        (2, 2.0),
    ]
    assert points(runs, "behind")["loss"][0] == (1, 1.0)
    noted = runs.problems()
    assert set(noted["code"]) <= set(Code)
    for run, content in files.items():
        offsets = noted[noted["run"] == run]["offset"].dropna()
        assert offsets.between(0, len(content)).all()
