"""Columns become the same arrays that pyarrow would make, without importing pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from helpers.logs import scalars, write

from runfold._serve.http.arrow_response import encode_columns, number_array, text_array

NUMBERS = [
    np.array([1.5, np.nan, -np.inf, 5e-324]),
    np.array([-(2**63), 2**63 - 1, 0, 1]),
    np.array([True, False, True, True]),
    np.arange(8, dtype=np.int32)[::2],
]


@pytest.mark.parametrize("values", NUMBERS, ids=str)
def test_numbers_equal_those_of_pyarrow(values):
    known = np.array([True, True, False, True])
    assert str(number_array(values)) == str(pa.array(values))
    missing = number_array(values, known)
    missing.validate(full=True)
    assert str(missing) == str(pa.array(values, mask=~known))
    assert number_array(values, np.ones(4, np.bool_)).null_count == 0


@pytest.mark.parametrize("cells", [[], [None], ["", None, "é😀\0", "x" * 70_000]], ids=len)
def test_texts_equal_those_of_pyarrow(cells):
    array = text_array(cells)
    array.validate(full=True)
    assert array.equals(pa.array(cells, pa.string()))


def test_name_that_is_not_valid_unicode_is_escaped():
    assert text_array(["run-\udcff"]).to_pylist() == ["run-\\udcff"]


def test_stream_is_one_batch_with_its_metadata():
    data = encode_columns({"x": np.arange(3), "y": np.zeros(3)}, series=[{"run": "é"}])
    with pa.ipc.open_stream(data) as reader:
        assert reader.schema.metadata == {b"series": '[{"run":"é"}]'.encode()}
        (batch,) = reader
    assert batch.to_pydict() == {"x": [0, 1, 2], "y": [0.0, 0.0, 0.0]}


def test_first_table_and_chart_import_no_heavy_package(tmp_path):
    write(tmp_path / "a", scalars("loss", (0, 1.0)))
    code = f"""
import sys
from runfold._serve.charts.chart_request import CurvesRequest
from runfold._serve.api.curves import make_curves
from runfold._serve.run_source import Source
from runfold._serve.api.run_rows import TableRequest, make_table
source = Source({str(tmp_path)!r})
make_table(source, TableRequest())
make_curves(source, CurvesRequest(("loss",), width=100))
print([name for name in ("pandas", "duckdb", "scipy", "matplotlib", "PIL") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
