"""Intact records found among broken ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.encoder import frame
from runfold._core.record_search import seek, walk

LIMIT = 1 << 20


def test_walk_ends_after_the_last_intact_record() -> None:
    good = frame(b"one") + frame(b"two")
    assert walk(good, 0, LIMIT) == len(good)
    assert walk(good + good[:-1], 0, LIMIT) == len(good) + len(frame(b"one"))
    assert walk(b"xx" + good, 2, LIMIT) == len(good) + 2
    assert walk(b"", 0, LIMIT) == 0


def test_seek_finds_the_next_record_anywhere() -> None:
    record = frame(b"payload")
    for gap in range(40):
        assert seek(b"\1" * gap + record, 0, 0, LIMIT, LIMIT) == (gap, 0, 0)
    assert seek(b"\0" * 100, 0, 0, LIMIT, LIMIT) == (100, 0, 0)


def test_seek_returns_how_much_of_a_candidate_is_missing() -> None:
    record = frame(b"payload")
    torn = b"\1" + record[:-3]
    assert seek(torn, 0, 3, LIMIT, LIMIT) == (1, 3, 0)
    assert seek(torn, 0, 2, LIMIT, LIMIT) == (len(torn), 0, 0)


def test_records_longer_than_the_limit_are_not_found() -> None:
    assert walk(frame(b"x" * 11), 0, 10) == 0
    assert seek(frame(b"x" * 11), 0, 0, 10, 99) == (27, 0, 0)


def test_failed_checks_are_limited_by_a_budget() -> None:
    bad = frame(b"payload")[:-1] + b"?"
    good = frame(b"payload")
    assert seek(bad + bad + good, 0, 0, LIMIT, 21) == (46, 0, 14)
    assert seek(bad + bad + good, 0, 0, LIMIT, 20) == (69, 0, 14)
    assert seek(bad + bad + good[:-1], 0, 1, LIMIT, 20) == (68, 0, 14)


@pytest.mark.parametrize("call", [lambda: walk(b"", 1, 9), lambda: seek(b"", -1, 0, 9, 9)])
def test_positions_outside_the_buffer_are_rejected(call) -> None:
    with pytest.raises(ValueError, match="outside"):
        call()


@given(st.binary(max_size=200), st.integers(0, 30), st.integers(0, 1 << 40))
def test_any_bytes_are_searched_to_their_end(data: bytes, start: int, beyond: int) -> None:
    start = min(start, len(data))
    offset, missing, _ = seek(data, start, beyond, LIMIT, LIMIT)
    assert start <= offset <= len(data)
    assert missing <= beyond
    assert start <= walk(data, start, LIMIT) <= len(data)
