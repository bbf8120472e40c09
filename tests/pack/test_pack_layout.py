"""A pack as plain Parquet: its columns, encodings and size, and how DuckDB and pandas see it."""

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.packs import pack, write, write_odd_runs

import runfold as rf
from runfold._core.encoder import EventBuffer

ENCODINGS = {
    "step": "DELTA_BINARY_PACKED",
    "wall_time": "BYTE_STREAM_SPLIT",
    "value": "BYTE_STREAM_SPLIT",
    "offset": "DELTA_BINARY_PACKED",
    "place": "DELTA_BINARY_PACKED",
    "size": "DELTA_BINARY_PACKED",
    "payload": "DELTA_LENGTH_BYTE_ARRAY",
}


@pytest.fixture
def packed(tmp_path):
    write_odd_runs(tmp_path / "logs")
    return pack(tmp_path / "logs")


def test_columns_and_encodings_match_the_specification(packed):
    file = pq.ParquetFile(packed)
    assert file.schema_arrow.names == [
        *("run", "tag", "kind", "file", "step", "wall_time", "value"),
        *("offset", "place", "template", "form", "plugin", "size", "payload"),
    ]
    for group in range(file.num_row_groups):
        for number, name in enumerate(file.schema_arrow.names):
            column = file.metadata.row_group(group).column(number)
            assert column.compression == "ZSTD"
            assert ENCODINGS.get(name, "RLE_DICTIONARY") in column.encodings


def test_duckdb_and_pandas_read_the_scalars(packed):
    expected = pd.DataFrame(rf.open(packed, restarts="keep").scalars())
    frame = pd.read_parquet(packed, filters=[("kind", "==", "scalar")])
    key = ["run", "tag", "file", "offset"]
    columns = ["run", "tag", "step", "wall_time", "value"]
    for name in ("run", "tag"):
        frame[name], expected[name] = frame[name].astype(str), expected[name].astype(str)
    sort: dict[str, Any] = {"by": ["run", "tag", "step", "value"], "ignore_index": True}
    pd.testing.assert_frame_equal(
        frame[columns].sort_values(**sort), expected.sort_values(**sort), check_dtype=False
    )
    assert frame[key].notna().all(axis=1).any()
    query = f"select run, count(*) from '{packed}' where kind = 'scalar' group by run order by run"
    counts = dict(duckdb.sql(query).fetchall())
    assert counts == expected.groupby("run").size().to_dict()


def test_duckdb_reads_a_partitioned_folder(tmp_path):
    write_odd_runs(tmp_path / "logs")
    folder = pack(tmp_path / "logs", "parts", partition=True)
    query = f"select count(*) from '{folder}/*/*.parquet' where kind = 'scalar'"
    expected = len(rf.open(tmp_path / "logs", restarts="keep").scalars())
    assert duckdb.sql(query).fetchall() == [(expected,)]


def test_scalars_take_at_most_a_fifth_of_their_event_files(tmp_path):
    rng = np.random.default_rng(0)
    size = 0
    for run in range(3):
        buffer = EventBuffer()
        time = 1.75e9 + 5000 * run
        buffer.file_version(time)
        for step in range(2000):
            time += 0.2 + abs(rng.normal(0, 0.05))
            for tag in ("train/loss", "train/accuracy", "val/loss", "lr", "grad_norm"):
                time += rng.uniform(2e-5, 9e-5)
                buffer.scalar(tag, rng.normal(), step, time)
        write(tmp_path / "logs" / f"seed-{run}" / "events.out.tfevents.1", buffer.getvalue())
        size += len(buffer)
    assert pack(tmp_path / "logs").stat().st_size * 5 < size
