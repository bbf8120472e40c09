"""Tables as CSV: arrays in full, descriptions of objects that CSV cannot store."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from helpers.writers import PIXELS
from helpers.writers import torch as write_all_kinds

import runfold as rf
from runfold._tables.frames.frame import Table


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    return rf.open(folder)


@pytest.mark.parametrize(
    ("kind", "column", "cell"),
    [
        ("images", "image", "<Image 6x4>"),
        ("audio", "audio", "<Audio "),
        ("graphs", "graph", "<Graph of "),
        ("run_metadata", "metadata", "RunMetadata(tag='step1')"),
        ("embeddings", "embedding", "<Embedding "),
    ],
)
def test_objects_are_described_with_one_warning(runs, kind, column, cell, tmp_path):
    table = getattr(runs, kind)()
    with pytest.warns(UserWarning, match="CSV cannot store images") as caught:
        table.to_csv(tmp_path / "a.csv", index=False)
    (warning,) = caught
    assert str(warning.message) == (
        "CSV cannot store images, clips or graphs, so these columns contain short descriptions "
        f"instead: {column}. Use to_parquet or runs.export to keep the content."
    )
    assert warning.filename == __file__
    again = pd.read_csv(tmp_path / "a.csv")
    assert list(again.columns) == list(table.columns)
    assert all(again[column].str.startswith(cell))


def test_single_column_warns_too(runs):
    with pytest.warns(UserWarning, match="instead: image"):
        text = runs.images()["image"].to_csv()
    assert text.startswith(",image\n0,<Image 6x4>\n")
    with pytest.warns(UserWarning, match="instead: a"):
        text = Table({"a": [PIL.Image.fromarray(PIXELS)]}).to_csv(index=False)
    assert text == "a\n<Image 6x4>\n"


def test_arrays_are_written_in_full(runs):
    long = Table({"a": [np.arange(5000), np.array([[0.1, np.nan]], np.float32), None]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cells = pd.read_csv(io.StringIO(long.to_csv()))["a"]
        runs.tensors().to_csv()
        layouts = pd.read_csv(io.StringIO(runs.layouts().to_csv()))["layout"]
    assert json.loads(cells[0]) == list(range(5000))
    assert json.loads(cells[1]) == [[np.float32(0.1).item(), "NaN"]]
    assert pd.isna(cells[2])
    assert json.loads(layouts[0])["categories"]


@pytest.mark.parametrize("kind", ["scalars", "problems", "hparams", "text", "sessions"])
def test_plain_tables_are_written_as_pandas_writes_them(runs, kind):
    table = getattr(runs, kind)()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.to_csv(sep=";") == pd.DataFrame(table).to_csv(sep=";")
