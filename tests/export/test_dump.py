"""Exporting every kind of data: the files, and that no format loses data that it can store."""

import csv
import json
import os
from datetime import datetime

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.logs import scalars, values, write
from helpers.writers import HPARAMS, MESH_CONFIG, PIXELS, POINTS, TENSOR, VERTICES
from helpers.writers import torch as write_all_kinds

import runfold as rf
from runfold._atomic import replace_file
from runfold._events.value_encoding import tensor
from runfold._export.dump import TABLES
from runfold._export.table_file import check_path, write_arrow_table
from runfold._export.table_format import Options
from runfold._tables.arrow.arrow_table import to_arrow
from runfold.errors import OutputExists, RunfoldError, UnknownFormat, UnknownTag

LARGE = 2**53 + 1
DIGITS = 0.1 + 0.2
ODD = '=1+1,"quoted"\n\x1b[2J <b> 🙂'


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    with rf.SummaryWriter(folder / "boxes") as writer:
        writer.add_image_with_boxes("p", PIXELS, [[0, 0, 2, 2]], dataformats="HWC")
    (folder / "broken").mkdir()
    (folder / "broken" / "events.out.tfevents.1").write_bytes(b"no records at all here")
    return rf.open(folder)


def write_arrow(table, path):
    with replace_file(path) as file:
        return write_arrow_table(table, check_path(path), Options(), file)


def test_folder_has_one_file_per_kind(runs, tmp_path):
    done = runs.export(f"{tmp_path}/out/")
    assert set(done.rows) == set(TABLES)
    assert done.files == [f"{tmp_path}/out/{TABLES[kind]}.parquet" for kind in done.rows]
    assert {
        kind: len(rf.read_table(f"{tmp_path}/out/{TABLES[kind]}.parquet")) for kind in TABLES
    } == (done.rows)


def test_an_interrupted_export_leaves_no_file(runs, tmp_path, monkeypatch):
    tables = iter([to_arrow, to_arrow, interrupt])
    monkeypatch.setattr("runfold._export.dump.to_arrow", lambda table: next(tables)(table))
    with pytest.raises(KeyboardInterrupt):
        runs.export(f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()


def interrupt(table):
    raise KeyboardInterrupt


def test_workbook_has_one_sheet_per_kind(runs, tmp_path):
    done = runs.export(tmp_path / "out.xlsx")
    sheets = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert sheets.sheetnames == [TABLES[kind] for kind in done.rows]
    rows = list(sheets["hparams"].values)
    assert rows[0] == ("run", "hparam", "value", "type")
    assert {row[1]: (row[2], row[3]) for row in rows[1:]} == {
        "lr": ("0.1", "float64"),
        "layers": ("3.0", "float64"),
        "optimizer": ("adam", "string"),
        "use_bias": ("1.0", "float64"),
    }
    assert len(HPARAMS) == len(rows) - 1


def test_file_contains_scalars_and_a_note_lists_other_kinds(runs, tmp_path):
    done = runs.export(tmp_path / "out.csv", runs="seed-1*")
    assert set(done.rows) == {"scalar"}
    (note,) = done.notes
    assert note.startswith(f"{tmp_path}/out.csv contains only scalars; the runs also have ")
    assert "image" in note


def test_file_for_several_kinds_is_refused(runs, tmp_path):
    with pytest.raises(UnknownFormat, match=r"only one kind of data\. Use a folder such as out/"):
        runs.export(tmp_path / "out.csv", ["image", "text"])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx"])
def test_numbers_and_text_are_exact(tmp_path, suffix):
    points = [(LARGE, DIGITS), (-LARGE, np.nan), (3, np.inf), (4, -np.inf), (5, 5e-324)]
    write(tmp_path / "log", scalars(ODD, *points))
    path = tmp_path / f"out{suffix}"
    rf.open(tmp_path / "log").export(path)
    rows = READ[suffix](path)
    assert [int(row["step"]) for row in rows] == [step for step, _ in points]
    np.testing.assert_array_equal(
        [float(row["value"]) for row in rows], [value for _, value in points]
    )
    shown = ODD if suffix != ".xlsx" else ODD.replace("\x1b", "\\x1b")
    assert [row["tag"] for row in rows] == [shown] * 5


def _delimited(separator):
    def read(path):
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter=separator))

    return read


def _sheet(path):
    head, *rows = openpyxl.load_workbook(path).worksheets[0].values
    return [dict(zip(head, row, strict=True)) for row in rows]


READ = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".json": lambda path: json.loads(path.read_text(encoding="utf-8")),
    ".jsonl": lambda path: [
        json.loads(line) for line in path.read_text("utf-8").split("\n") if line
    ],
    ".parquet": lambda path: pq.read_table(path).to_pylist(),
    ".xlsx": _sheet,
}


def test_arrays_are_lists_in_json_with_their_shapes(runs, tmp_path):
    runs.export(f"{tmp_path}/", ["tensor", "mesh", "embedding"], format="json")
    (first, *_) = READ[".json"](tmp_path / "tensors.json")
    np.testing.assert_array_equal(np.float32(first["value"]).reshape(first["value_shape"]), TENSOR)
    (first, *_) = READ[".json"](tmp_path / "meshes.json")
    assert np.reshape(first["vertices"], first["vertices_shape"]).tolist() == VERTICES.tolist()
    assert first["config"] == MESH_CONFIG
    (row,) = READ[".json"](tmp_path / "embeddings.json")
    assert np.reshape(row["embedding"], row["embedding_shape"]).tolist() == POINTS.tolist()
    assert row["embedding_metadata"] == {"label": ["one", "two", "three"]}


def test_nan_and_infinity_in_arrays_are_strings_in_json(tmp_path):
    write(tmp_path / "log", values(tensor("t", np.array([np.nan, -np.inf, 0.5]), "mine")))
    rf.open(tmp_path / "log").export(tmp_path / "out.json", "tensor")
    (row,) = READ[".json"](tmp_path / "out.json")
    assert row["value"] == ["NaN", "-Infinity", 0.5]


def test_columns_of_any_arrow_type_are_valid_json(tmp_path):
    at = datetime(2026, 1, 2, 3, 4, 5)
    table = pa.table(
        {
            "time": [at, None],
            "large": pa.array([2**64 - 1, 0], pa.uint64()),
            "many": [[at], None],
            "bytes": [b"\xff", None],
            "flag": [True, None],
            "half": pa.array([0.5, None], pa.float16()),
        }
    )
    write_arrow(table, tmp_path / "out.json")
    assert READ[".json"](tmp_path / "out.json") == [
        {
            "time": str(at),
            "large": 2**64 - 1,
            "many": [str(at)],
            "bytes": "/w==",
            "flag": True,
            "half": 0.5,
        },
        {"time": None, "large": 0, "many": None, "bytes": None, "flag": None, "half": None},
    ]


def test_bytes_are_base64_in_text_with_a_note(runs, tmp_path):
    import base64

    done = runs.export(tmp_path / "out.jsonl", "images", "sample")
    assert done.notes == ["images: image: its bytes are written as base64"]
    data = [image.data for image in runs.images("sample")["image"]]
    rows = READ[".jsonl"](tmp_path / "out.jsonl")
    assert [base64.b64decode(row["image"]) for row in rows] == data


def test_cells_cut_for_excel_are_noted(tmp_path):
    write(tmp_path / "log", values(tensor("t", np.arange(20_000), "mine")))
    done = rf.open(tmp_path / "log").export(tmp_path / "out.xlsx")
    assert done.notes == [
        "tensors: value: 1 cell over Excel's limit of 32,767 characters, shortened in the middle;"
        " use .parquet instead"
    ]


def test_tags_filter_the_kinds_that_have_them(runs, tmp_path):
    done = runs.export(f"{tmp_path}/", tags=["train/*", "sample", "mesh"])
    assert set(done.rows) == {"scalar", "image", "mesh"}
    with pytest.raises(UnknownTag, match=r"No tag 'sampel'\. Did you mean 'sample'"):
        runs.export(f"{tmp_path}/new/", tags=["train/*", "sampel"])
    assert not (tmp_path / "new").exists()


def test_kinds_have_two_names_and_unknown_kinds_near_matches(runs, tmp_path):
    assert set(runs.export(tmp_path / "a.csv", "scalars").rows) == {"scalar"}
    with pytest.raises(RunfoldError, match=r"not 'imge'\. Did you mean 'image'"):
        runs.export(tmp_path / "b.csv", "imge")


def test_only_problems_of_the_selected_runs_are_exported(runs, tmp_path):
    assert runs.export(tmp_path / "a.csv", "problem").rows["problem"] >= 1
    with pytest.raises(RunfoldError, match="There are no problems to write; these runs have"):
        runs.export(tmp_path / "b.csv", "problem", runs="seed-1")


def test_existing_files_stay_without_overwrite(runs, tmp_path):
    (tmp_path / "text.csv").write_text("old")
    for path in (tmp_path / "text.csv", f"{tmp_path}/"):
        with pytest.raises(OutputExists, match=r"text\.csv already exists"):
            runs.export(path, "text", format="csv" if str(path).endswith("/") else None)
    assert os.listdir(tmp_path) == ["text.csv"]
    runs.export(tmp_path / "text.csv", "text", overwrite=True)
    assert (tmp_path / "text.csv").read_text(encoding="utf-8").startswith("run,tag,step")


def test_files_of_a_folder_are_compressed_by_suffix(runs, tmp_path):
    import gzip

    runs.export(f"{tmp_path}/", "scalar", format="csv.gz")
    text = gzip.decompress((tmp_path / "scalars.csv.gz").read_bytes()).decode()
    assert text.startswith("run,tag,step,wall_time,value\n")
    with pytest.raises(UnknownFormat, match=r"Did you mean '\.csv'"):
        runs.export(f"{tmp_path}/", format="csb")
    with pytest.raises(UnknownFormat, match="a format can be set only for a folder"):
        runs.export(tmp_path / "x.csv", format="json")
