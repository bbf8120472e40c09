"""Tables converted to Arrow, Polars and DuckDB: numbers without copies, objects by type."""

import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.logs import hparams, scalars, values, write
from helpers.writers import PIXELS, png
from helpers.writers import torch as write_all_kinds

import runfold as rf
from runfold._events.value_encoding import image, tensor, text
from runfold._tables.frames.frame import Table

LARGE = 2**53 + 1


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logdir")
    write_all_kinds(folder / "seed-1")
    return rf.open(folder)


def test_numbers_are_not_copied(runs):
    table = runs.scalars()
    for name in ("step", "wall_time", "value"):
        (chunk,) = table.arrow()[name].chunks
        assert chunk.buffers()[1].address == table[name].to_numpy().ctypes.data


def test_categories_become_dictionaries_and_missing_values_become_null():
    made = Table({"run": ["a", "b", None, "a"]}, dtype="category").arrow()["run"]
    assert pa.types.is_dictionary(made.type)
    assert made.to_pylist() == ["a", "b", None, "a"]


def test_nan_infinity_and_large_steps_survive(tmp_path):
    write(tmp_path, scalars("loss", (LARGE, np.inf), (LARGE + 1, np.nan)))
    made = rf.open(tmp_path).scalars().arrow()
    assert made["step"].to_pylist() == [LARGE, LARGE + 1]
    assert made["value"].null_count == 0
    np.testing.assert_array_equal(made["value"].to_numpy(), [np.inf, np.nan])


@pytest.mark.parametrize("kind", ["scalars", "histograms", "text", "problems", "sessions", "table"])
def test_other_libraries_accept_a_table_directly(runs, kind):
    made = getattr(runs, kind)()
    assert duckdb.connect().sql("select count(*) from made").fetchall() == [(len(made),)]
    assert pl.DataFrame(made).height == len(made)
    assert pa.table(made).num_rows == len(made)
    assert pa.RecordBatchReader.from_stream(made).read_all().num_rows == len(made)


@pytest.mark.parametrize("kind", ["images", "audio", "graphs", "layouts"])
def test_other_libraries_receive_objects_in_their_arrow_form(runs, kind):
    table = getattr(runs, kind)()
    made = table.arrow()
    assert pa.table(table).select(made.column_names).to_pylist() == made.to_pylist()
    assert pl.DataFrame(table).equals(pl.from_arrow(made))
    assert type(table[made.column_names[-1]].to_frame()) is Table


@pytest.mark.parametrize("take", [pa.table, pl.DataFrame])
def test_values_of_several_types_become_text_with_a_warning(tmp_path, take):
    write(tmp_path / "a", hparams(lr=0.5, wide=True))
    write(tmp_path / "b", hparams(lr="auto"))
    runs = rf.open(tmp_path)
    with pytest.warns(UserWarning, match=r"^value: values of several types"):
        taken = take(runs.hparams())
    assert [str(value) for value in taken["value"]] == ["0.5", "true", "auto"]
    with pytest.warns(UserWarning, match=r"^lr: values of several types"):
        taken = take(runs.table())
    assert [str(value) for value in taken["lr"]] == ["0.5", "auto"]


def test_column_that_becomes_several_names_table_arrow(runs):
    with pytest.raises(
        TypeError, match=r"^Column 'embedding' needs several Arrow columns\. Use table\.arrow"
    ):
        pa.table(runs.embeddings())


def test_polars_and_duckdb_receive_images_as_bytes(runs):
    table = runs.images()
    data = table["image"][0].data
    assert table.polars()["image"][0] == {"bytes": data, "path": None}
    images = table.arrow()
    assert duckdb.connect().sql("select image.bytes from images limit 1").fetchall() == [(data,)]
    assert images.num_rows == len(table)
    assert pa.RecordBatchReader.from_stream(table).read_all()["image"][0]["bytes"].as_py() == data


@pytest.mark.parametrize("kind", ["audio", "embeddings", "graphs", "layouts", "meshes", "tensors"])
def test_every_kind_converts_to_polars_and_duckdb(runs, kind):
    arrow = getattr(runs, kind)().arrow()
    assert pl.from_arrow(arrow).height == arrow.num_rows > 0
    assert len(duckdb.connect().sql("select * from arrow").fetchall()) == arrow.num_rows


def test_arrays_are_flat_lists_followed_by_shape_and_type(tmp_path):
    matrix = np.arange(6, dtype=np.int16).reshape(2, 3)
    write(tmp_path, values(tensor("a", matrix, "mine"), tensor("b", np.float32(0.5), "mine")))
    made = rf.open(tmp_path).tensors().arrow()
    assert made["value"].to_pylist() == [[0, 1, 2, 3, 4, 5], [0.5]]
    assert made["value_shape"].to_pylist() == [[2, 3], []]
    assert made["value_dtype"].to_pylist() == ["int16", "float32"]


def test_text_of_several_strings_is_a_list(tmp_path):
    write(tmp_path, values(text("one", "a"), text("many", [["a", "b"], ["c", "d"]])))
    made = rf.open(tmp_path).text().arrow()
    assert made["text"].to_pylist() == [["a"], ["a", "b", "c", "d"]]
    assert made["text_shape"].to_pylist() == [[], [2, 2]]


def test_index_comes_first_and_names_are_distinct(tmp_path):
    write(tmp_path / "a", scalars("step", (3, 0.5)), scalars("run", (3, 0.25)))
    made = rf.open(tmp_path).scalars(wide=True).arrow()
    assert made.to_pylist() == [{"run": "a", "step": 3, "step_2": 0.5, "run_2": 0.25}]


def test_index_of_row_numbers_is_left_out(runs):
    table = runs.scalars()
    assert table[table["step"] > 0].arrow().column_names == list(table.columns)


def test_object_without_an_arrow_form_becomes_text_with_a_warning():
    note = "a: values of type object were converted to text, because a table cannot store them"
    with pytest.warns(UserWarning, match=f"^{note}$"):
        made = Table({"a": [object(), None]}).arrow()
    assert made["a"][0].as_py().startswith("<object")
    with pytest.warns(UserWarning, match=r"^b: values of several types \(bool, float, str\)"):
        mixed = Table({"b": [True, 0.5, "x"]}).arrow()
    assert mixed["b"].to_pylist() == ["true", "0.5", "x"]


def test_text_that_is_not_unicode_is_escaped():
    made = Table({"file": pd.Series(["a\udcff", None], dtype=object)}).arrow()
    assert made["file"].to_pylist() == ["a\\udcff", None]


def test_pil_images_are_stored_as_images():
    import PIL.Image

    made = Table({"image": [PIL.Image.fromarray(PIXELS), None]}).arrow()
    assert made["image"][0]["bytes"].as_py().startswith(b"\x89PNG")
    assert made["image"][1].as_py() is None
    assert b'"Image"' in made.schema.metadata[b"huggingface"]


def test_without_polars_the_message_says_what_to_do(tmp_path):
    write(tmp_path, values(image("p", 4, 6, 3, png(PIXELS))))
    script = f"""if True:
        import sys
        sys.modules["polars"] = None
        import runfold as rf
        try:
            rf.open({str(tmp_path)!r}).images().polars()
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith("Table.polars() requires polars"), done.stderr
