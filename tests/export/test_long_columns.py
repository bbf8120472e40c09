"""Columns of long tables: they equal lists and arrays, and so do the files written from them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.folds import curve, fold, group
from hypothesis import given
from hypothesis import strategies as st

from runfold._export import cell_text
from runfold._export.fold_rows import join_rows, rows_of
from runfold._export.formats import FORMATS
from runfold._export.long_columns import Joined, Repeated
from runfold._export.table_file import write_table
from runfold._reduce.folded import Folded

ROWS = st.integers(-9, 9) | st.none()


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 4))), ROWS, ROWS)
def test_repeated_values_equal_a_list(runs: list[tuple[str, int]], start: int, stop: int) -> None:
    plain = [value for value, count in runs for _ in range(count)]
    repeated = Repeated([value for value, _ in runs], [count for _, count in runs])
    assert list(repeated) == plain
    assert len(repeated) == len(plain)
    assert repeated[start:stop] == plain[start:stop]
    assert repeated[::-2] == plain[::-2]
    assert [repeated[row] for row in range(-len(plain), len(plain))] == plain + plain


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1), ROWS, ROWS, st.booleans())
def test_joined_arrays_equal_one_array(
    lists: list[list[int]], start: int, stop: int, is_mixed: bool
) -> None:
    pieces = [np.array(numbers, np.int64) for numbers in lists]
    if is_mixed:
        pieces.append(np.array([0.5]))
    plain, joined = np.concatenate(pieces), Joined(pieces)
    assert len(joined) == len(plain)
    assert joined.dtype == joined[start:stop].dtype == plain.dtype
    assert joined[start:stop].tolist() == plain[start:stop].tolist()
    assert list(joined) == plain.tolist()


def test_rows_of_a_single_array_are_not_copied() -> None:
    numbers = np.arange(5)
    assert np.shares_memory(Joined([np.empty(0, np.int64), numbers])[1:4], numbers)


def folded(keys: list[dict]) -> Folded:
    """Return a fold with a group for each key, and numbers that text formats must write exactly."""
    random = np.random.default_rng(0)
    return fold(
        *(
            group(
                *(
                    curve(tag, np.arange(count), mean=random.normal(size=count), std=[nan] * count)
                    for tag, count in (("loss", 5), ("accuracy", 3 + number))
                ),
                name=str(number),
                key=key,
            )
            for number, (key, nan) in enumerate(zip(keys, [np.nan, np.inf, 0.1], strict=False))
        )
    )


KEYS = [
    [{}],
    [{"algo": "ppo"}, {"algo": "dqn"}, {"algo": "ppo"}],
    [{"algo": "ppo"}, {}],
    [{"lr": 0.1}, {"lr": 1}],
    [{"lr": 0.1}, {"lr": None}],
    [{"lr": 0.1}, {"lr": "\udcff"}],
    [{"flag": True}, {"flag": None}],
]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_files_of_long_columns_equal_those_of_lists_and_arrays(
    suffix: str, keys: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, joined = tmp_path / f"plain{suffix}", tmp_path / f"joined{suffix}"
    write_table(rows_of(folded(keys)), plain)
    monkeypatch.setattr(cell_text, "_BLOCK", 3)
    write_table(join_rows(folded(keys)), joined)
    assert joined.read_bytes() == plain.read_bytes()


@pytest.mark.parametrize("rows", [1, 4, 1000])
@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_parquet_is_written_in_parts(
    rows: int, keys: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(rows_of(folded(keys)), tmp_path / "plain.parquet")
    monkeypatch.setitem(FORMATS, ".parquet", replace(FORMATS[".parquet"], rows=rows))
    write_table(join_rows(folded(keys)), tmp_path / "parts.parquet")
    plain, parts = (pq.read_table(tmp_path / name) for name in ("plain.parquet", "parts.parquet"))
    assert parts.schema == plain.schema
    assert str(parts.to_pylist()) == str(plain.to_pylist())
    groups = pq.ParquetFile(tmp_path / "parts.parquet").metadata.num_row_groups
    assert groups == -(-len(plain) // rows)


def test_the_text_of_many_rows_is_stored_once(tmp_path: Path) -> None:
    write_table(join_rows(folded([{}])), tmp_path / "out.feather")
    tags = pa.ipc.open_file(tmp_path / "out.feather").read_all()["tag"]
    assert [chunk.dictionary.to_pylist() for chunk in tags.chunks] == [["loss", "accuracy"]]
