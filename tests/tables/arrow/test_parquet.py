"""Tables saved as Parquet and read back, with images, clips and arrays."""

import io
import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.logs import scalars, values, write
from helpers.writers import PIXELS, SAMPLES
from helpers.writers import torch as write_all_kinds

import runfold as rf
from runfold._events.value_encoding import tensor
from runfold._tables.arrow import cell_forms as forms
from runfold._tables.frames.frame import Table
from runfold.errors import RunfoldError


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    return rf.open(folder)


def saved(table, folder):
    table.to_parquet(folder / "table.parquet")
    return rf.read_table(folder / "table.parquet")


def test_images_are_restored(runs, tmp_path):
    table = runs.images()
    again = saved(table, tmp_path)
    assert type(again) is Table
    pd.testing.assert_frame_equal(again, table)
    for picture, original in zip(again["image"], table["image"], strict=True):
        assert repr(picture) == repr(original)
        assert picture.data == original.data
        np.testing.assert_array_equal(picture.numpy(), PIXELS)


def test_cell_without_an_image_is_missing(runs, tmp_path):
    picture = runs.images()["image"][0]
    again = saved(Table({"image": [np.nan, picture, None]}), tmp_path)["image"]
    assert np.isnan(again[0])
    assert [again[1].data, again[2]] == [picture.data, None]


def test_images_larger_than_an_arrow_array_are_split(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(forms, "_CHUNK", 200)
    table = Table({"image": [*runs.images()["image"]] * 4})
    assert table.arrow()["image"].num_chunks > 1
    again = saved(table, tmp_path)["image"]
    assert [array.data for array in again] == [array.data for array in table["image"]]


def test_clips_are_restored(runs, tmp_path):
    for clip in saved(runs.audio(), tmp_path)["audio"]:
        rate, samples = clip.wave()
        np.testing.assert_array_equal(samples[:, 0], SAMPLES)
        assert (clip.sample_rate, clip.content_type) == (rate, "audio/wav")


@pytest.mark.parametrize("kind", ["histograms", "meshes", "pr_curves", "tensors"])
def test_arrays_are_restored_with_shape_and_type(runs, tmp_path, kind):
    table = getattr(runs, kind)()
    again = saved(table, tmp_path)
    assert list(again.columns) == list(table.columns)
    arrays = [name for name in table if isinstance(table[name][0], np.ndarray)]
    assert arrays
    for name in arrays:
        for array, original in zip(again[name], table[name], strict=True):
            np.testing.assert_array_equal(array, original)
            assert array.dtype == original.dtype


def test_tensors_of_all_types_in_one_column_are_restored(tmp_path):
    tensors: dict[str, np.ndarray] = {
        "empty": np.zeros((0, 3), np.float32),
        "half": np.array([[0.5]], np.float16),
        "flags": np.array([True, False]),
        "bytes": np.arange(3, dtype=np.uint8),
    }
    write(tmp_path, values(*(tensor(tag, array, "mine") for tag, array in tensors.items())))
    again = saved(rf.open(tmp_path).tensors(), tmp_path)
    for row in again.itertuples():
        np.testing.assert_array_equal(row.value, tensors[row.tag])
        assert (row.value.dtype, row.value.shape) == (
            tensors[row.tag].dtype,
            tensors[row.tag].shape,
        )


def test_complex_numbers_are_restored():
    table = Table({"a": [np.array([[1 + 2j]], np.complex64), np.array([3j])]})
    again = rf.read_table(io.BytesIO(table.to_parquet()))["a"]
    assert [(array.tolist(), array.dtype) for array in again] == [
        ([[1 + 2j]], np.complex64),
        ([3j], np.complex128),
    ]


def test_integers_beyond_float64_become_json():
    table = Table({"a": [np.array([2**60 + 1]), np.array([0.5, np.nan])]})
    made = table.arrow()
    assert made["a"].to_pylist() == [f"[{2**60 + 1}]", '[0.5,"NaN"]']
    assert made["a_dtype"].to_pylist() == ["int64", "float64"]


def test_index_names_and_missing_integers_are_restored(tmp_path):
    write(tmp_path / "a", scalars("step", (3, 0.5)))
    wide = rf.open(tmp_path).scalars(wide=True)
    again = saved(wide, tmp_path)
    assert again.index.names == ["run", "step"]
    assert again["step"].tolist() == [0.5]
    whole = Table({"n": pd.array([2**53 + 1, None], dtype="Int64")})
    assert saved(whole, tmp_path)["n"].tolist()[0] == 2**53 + 1


def test_images_stored_by_hugging_face_are_images(runs):
    data = runs.images()["image"][0].data
    features = {"info": {"features": {"image": {"_type": "Image"}}}}
    table = pa.table({"image": [{"bytes": data, "path": "a.png"}]})
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps(features)}), out)
    np.testing.assert_array_equal(rf.read_table(out)["image"][0].numpy(), PIXELS)


@pytest.mark.parametrize(
    "metadata",
    [
        "[]",
        "{",
        '{"columns": 3}',
        '{"columns": {"a": {"form": "array", "shape": "b"}}, "index": []}',
        '{"columns": {"a": {"form": "image"}, "b": {"of": "a"}}}',
        '{"columns": {"a": 5}}',
        '{"columns": {"a": {"form": ["image"], "shape": {}}}}',
        '{"columns": {"a": {"form": "array", "dtype": ["b"]}}, "index": ["c", ["a"]]}',
        '{"pandas": 3}',
        '{"pandas": {"axes": [1], "columns": {}}}',
        '{"pandas": {"axes": {"range": [0, 1, 0], "names": 3, "columns": [], "attrs": 5}}}',
        '{"pandas": {"axes": {"range": [0, 1e400, 1], "names": [[]], "columns": {"names": []}}}}',
        '{"pandas": {"axes": {"columns": {"names": ["a", "b"], "labels": [["x"], 3, 5]}}}}',
        '{"pandas": {"columns": {"a": 5, "b": {"dtype": 7}}}}',
        '{"pandas": {"columns": {"a": {"dtype": "int64"}, "b": {"dtype": "O,O"}}}}',
        '{"pandas": {"columns": {"a": {"dtype": "category", "of": "str", "categories": ["x"]}}}}',
        '{"pandas": {"columns": {"a": {"dtype": "object", "cells": "pcgkmo"}}}}',
        '{"pandas": {"columns": {"a": {"dtype": "object", "cells": "o", "missing": "q"}}}}',
        '{"pandas": {"columns": {"a": {"dtype": "object", "cells": "i", "heads": [[]]}}}}',
    ],
)
def test_file_with_invalid_metadata_is_read_anyway(metadata):
    out = io.BytesIO()
    table = pa.table({"a": [[1, 2]], "b": [[3, 4]]})
    pq.write_table(table.replace_schema_metadata({"runfold": metadata}), out)
    assert rf.read_table(out)["a"][0].tolist() == [1, 2]


def test_file_that_is_not_parquet_raises(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"run,step\n")
    with pytest.raises(RunfoldError, match=r"a\.parquet is not a Parquet file"):
        rf.read_table(tmp_path / "a.parquet")


def test_image_columns_without_bytes_stay_unchanged():
    out = io.BytesIO()
    features = json.dumps({"info": {"features": {"a": {"_type": "Image"}}}})
    table = pa.table({"a": [{"bytes": 5}]}).replace_schema_metadata({"huggingface": features})
    pq.write_table(table, out)
    assert rf.read_table(out)["a"][0] == {"bytes": 5}


@pytest.mark.parametrize("is_exported", [False, True])
def test_damaged_file_raises_and_is_never_read_as_data(runs, tmp_path, is_exported):
    path = tmp_path / "images.parquet"
    if is_exported:
        runs.export(path, "image")
    else:
        runs.images().to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"IDAT", b"idat"))
    with pytest.raises(
        RunfoldError, match=r"images\.parquet is not a Parquet file, or is damaged: "
    ):
        rf.read_table(path)


def test_failed_write_leaves_only_the_old_file(runs, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"old")
    with pytest.raises(TypeError):
        runs.images().to_parquet(tmp_path / "a.parquet", no_such_option=1)
    assert (tmp_path / "a.parquet").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.parquet"]
