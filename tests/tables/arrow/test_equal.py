"""A table saved as Parquet and read back is equal: types, index, names and cells."""

import io
import math
import shutil
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from helpers.logs import scalars, values, write
from helpers.packs import FRAMES, write_odd_runs
from helpers.writers import torch as write_all_kinds
from hypothesis import given
from hypothesis import strategies as st

import runfold as rf
from runfold._events.value_encoding import tensor
from runfold._tables.frames.frame import Table

KINDS = [*FRAMES, "embeddings", "problems", "table"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    write_all_kinds(folder / "seed-2")
    write_odd_runs(folder)
    with rf.SummaryWriter(folder / "boxes") as writer:
        pixels = np.zeros((8, 8, 3), np.uint8)
        writer.add_image_with_boxes(
            "p", pixels, np.array([[1, 1, 4, 4]]), labels=["cat"], dataformats="HWC"
        )
        writer.add_hparams({"lr": 0.1, "n": 3, "name": "x", "flag": True}, {"loss": 0.5})
    with rf.SummaryWriter(folder / "others") as writer:
        writer.add_hparams({"lr": "auto", "n": 0.5}, {"loss": 0.25})
    return rf.open(folder)


def assert_equal_again(table):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "value|lr|n: values of several types")
        again = rf.read_table(io.BytesIO(table.to_parquet()))
    assert type(again) is type(table)
    assert again.attrs == table.attrs
    pd.testing.assert_frame_equal(again, table, check_exact=True, check_index_type="equiv")
    for (_, column), (_, original) in zip(again.items(), table.items(), strict=True):
        assert [_type(cell) for cell in column] == [_type(cell) for cell in original]


def _type(cell):
    if isinstance(cell, np.ndarray):
        return cell.dtype, cell.shape
    is_missing = cell is None or cell is pd.NA or cell is pd.NaT
    return (
        repr(cell) if is_missing else cell.item().__class__ if hasattr(cell, "item") else type(cell)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_restored_equal(runs, kind):
    table = getattr(runs, kind)()
    assert len(table)
    assert_equal_again(table)


@pytest.mark.parametrize("kind", KINDS)
def test_part_of_a_table_is_restored_equal(runs, kind):
    table = getattr(runs, kind)()
    for rows in (slice(0), slice(1, None), slice(None, None, -1)):
        assert_equal_again(table.iloc[rows])
    assert_equal_again(table[np.arange(len(table)) % 3 != 1])


def test_wide_table_is_restored_equal(runs):
    assert_equal_again(runs.scalars(wide=True))


def test_embeddings_are_restored_equal_without_their_files(tmp_path):
    folder = tmp_path / "run"
    write(folder, scalars("loss", (0, 1.0)))
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "words" tensor_path: "words.tsv" metadata_path: "labels.tsv"'
        ' sprite { image_path: "all.png" single_image_dim: 4 single_image_dim: 5 } }'
        'embeddings { tensor_name: "none" tensor_path: "gone.tsv" }'
    )
    (folder / "words.tsv").write_text("1\tnan\n3\t4\n")
    (folder / "labels.tsv").write_text("word\tcount\none\t1\ntwo\t2\n")
    (folder / "all.png").write_bytes(b"pixels")
    table = rf.open(tmp_path).embeddings()
    with pytest.warns(UserWarning, match=r"left out: there is no file 'gone\.tsv'"):
        data = table.to_parquet()
    again = rf.read_table(io.BytesIO(data))
    pd.testing.assert_frame_equal(again, table)
    shutil.rmtree(folder)
    words, none = again["embedding"]
    np.testing.assert_array_equal(words.tensor(), np.float32([[1, math.nan], [3, 4]]))
    assert {name: cell.tolist() for name, cell in words.metadata().items()} == {
        "word": ["one", "two"],
        "count": ["1", "2"],
    }
    assert (words.sprite(), words.sprite_size) == (b"pixels", (4, 5))
    with pytest.raises(ValueError, match=r"'gone\.tsv' could not be read when the table was saved"):
        none.tensor()
    with pytest.raises(ValueError, match="does not name a file for this part"):
        none.metadata()


def test_embeddings_differ_by_the_content_of_their_files(tmp_path):
    for run, numbers, labels in (("a", "1\t2", "x"), ("b", "1\t3", "x"), ("c", "1\t2", "y")):
        folder = tmp_path / run
        write(folder, scalars("loss", (0, 1.0)))
        (folder / "projector_config.pbtxt").write_text(
            'embeddings { tensor_name: "w" tensor_path: "w.tsv" metadata_path: "l.tsv" }'
        )
        (folder / "w.tsv").write_text(numbers)
        (folder / "l.tsv").write_text(labels)
    first, *others = rf.open(tmp_path).embeddings()["embedding"]
    assert [first == cell for cell in others] == [False, False]
    assert first == rf.open(tmp_path).embeddings()["embedding"][0]


def test_byte_strings_without_dimensions_are_restored_as_arrays(tmp_path):
    single, several = np.array(b"a", object), np.array([b"b", b"c"], object)
    write(tmp_path, values(tensor("one", single, "mine"), tensor("two", several, "mine")))
    assert_equal_again(rf.open(tmp_path).tensors())


COLUMNS = {
    "integers with gaps": pd.array([2**53 + 1, None], dtype="Int64"),
    "small integers": np.array([1, 2], np.int8),
    "halves": np.array([0.5, math.nan], np.float16),
    "flags with gaps": pd.array([True, None], dtype="boolean"),
    "times": pd.to_datetime([datetime(2026, 1, 31, tzinfo=UTC), None]),
    "spans": pd.to_timedelta([5, None], unit="s"),
    "text": pd.array(["a", None], dtype="str"),
    "None": pd.Series(["a", None], dtype=object),
    "NaN": pd.Series(["a", math.nan], dtype=object),
    "nothing": pd.Series([None, math.nan], dtype=object),
    "lists": pd.Series([[1, 2], []], dtype=object),
    "nested lists": pd.Series([[[1], [2, 3]], None], dtype=object),
    "tuples": pd.Series([("a", "b"), None], dtype=object),
    "dicts": pd.Series([{"a": [1]}, None], dtype=object),
    "bytes": pd.Series([b"\xff", None], dtype=object),
    "large integers": pd.Series([2**70, 1], dtype=object),
    "arrays of one text": pd.Series([np.array("a", object), np.array("b", object)]),
    "arrays of text": pd.Series([np.array("a", object), np.array(["b", "c"], object)]),
    "text and an array of it": pd.Series([np.array("a", object), "b"], dtype=object),
    "no text and an array of it": pd.Series([np.array("a", object), None], dtype=object),
    "ordered": pd.Categorical(["b", None], ["b", "a", "unused"], ordered=True),
    "numbers": pd.Categorical([2, 1], [2, 1, 3]),
    "no categories": pd.Categorical([None, None], []),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_column_of_every_type_is_restored_equal(name):
    table = Table({name: COLUMNS[name]})
    assert_equal_again(table)
    assert_equal_again(table.iloc[:0])
    assert_equal_again(table.iloc[::-1])
    assert_equal_again(table.set_axis(["x", "y"], axis=0))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.rename_axis(index="n", columns="names"),
        lambda table: table.set_index(["a", "b"]),
        lambda table: table.set_axis([5, 9, 7], axis=0),
        lambda table: table.set_axis([1, 2], axis=1),
        lambda table: table.set_axis(pd.MultiIndex.from_tuples([("x", 1), ("y", 2)]), axis=1),
        lambda table: table.set_axis(["a", "a"], axis=1),
        lambda table: table.assign(index=1.5).set_axis([3, 1, 2], axis=0),
    ],
)
def test_axes_are_restored_equal(change):
    table = Table({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    table.attrs["unit"] = "m"
    assert_equal_again(change(table))


cells_of_any_type = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.binary(max_size=5),
)


@given(st.lists(cells_of_any_type, max_size=6))
def test_objects_of_any_type_are_restored_equal(cells):
    table = Table({"value": pd.Series(cells, dtype=object)})
    assert_equal_again(table)


def test_index_is_left_out_on_request():
    table = Table({"a": [1, 2]}, index=[7, 3])
    again = rf.read_table(io.BytesIO(table.to_parquet(index=False)))
    pd.testing.assert_frame_equal(again, table.reset_index(drop=True))
