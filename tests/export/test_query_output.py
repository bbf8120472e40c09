"""A query's rows as Python values; Ctrl-C can interrupt the conversion."""

import io
import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

from runfold._cli.terminal import print_json
from runfold._export.query_output import list_values

ROWS = 200_000


def count_lines(work: Callable[[], object]) -> int:
    """Return how many lines of Python a call executes. Signals are handled between lines."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def count_rows(rows: int) -> pa.Table:
    half = rows // 2
    return pa.table({"a": pa.chunked_array([pa.array(range(half)), pa.array(range(half, rows))])})


def test_values_keep_their_order_over_blocks_and_chunks():
    assert list(list_values(count_rows(ROWS))) == [list(range(ROWS))]


def test_converting_a_long_column_can_be_interrupted():
    short, long = (count_rows(rows) for rows in (10, ROWS))
    assert count_lines(lambda: list(list_values(long))) > count_lines(
        lambda: list(list_values(short))
    )


@pytest.mark.parametrize("rows", [[], [1], [{"a": 1.5}, {"a": float("nan")}, "b"]])
def test_a_list_is_printed_as_one_line_of_json(rows: Any, capsys: pytest.CaptureFixture[str]):
    print_json(rows)
    plain = json.loads(json.dumps(rows), parse_constant=lambda name: None)
    assert capsys.readouterr().out == json.dumps(plain) + "\n"


class Interrupted(io.StringIO):
    """A stdout whose third write is interrupted."""

    writes = 0

    def write(self, text: str, /) -> int:
        self.writes += 1
        if self.writes == 3:
            raise KeyboardInterrupt
        return super().write(text)


class Entry:
    """A value that counts how many entries were encoded."""

    encoded = 0

    def __str__(self) -> str:
        Entry.encoded += 1
        return "entry"


def test_an_interrupted_list_stops_encoding(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        print_json([Entry() for _ in range(10)])
    assert Entry.encoded == 3
