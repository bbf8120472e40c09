"""Histograms of a tag over steps, as stored or on bins that all share, and as quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
from msgspec import Meta

from runfold._serve.charts.histogram_bins import (
    QUANTILES,
    Buckets,
    find_quantiles,
    resample,
    share_edges,
)
from runfold._serve.charts.stored_values import TagRequest, find_stored
from runfold._serve.http.arrow_response import ArrowResponse, encode_table, number_array, text_array
from runfold._serve.http.endpoint import endpoint
from runfold._tables.frames.decoded_values import ROWS
from runfold._tables.frames.value_rows import read_each_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._serve.run_source import Source
    from runfold._tables.frames.value_rows import Row

MOST = 5000
# Bins or buckets of an answer: a log may store as many as it likes in one histogram.
MOST_BUCKETS = 500_000


class HistogramsRequest(TagRequest):
    """The histograms of a tag on so many bins, which all share; without a number, as stored."""

    bins: Annotated[int, Meta(ge=1, le=500)] | None = None


@endpoint("GET /api/histograms", HistogramsRequest, queue="work", response=ArrowResponse)
def encode_histograms(source: Source, asked: HistogramsRequest) -> bytes:
    """The histograms of a tag, in the order of runs and steps.

    An Arrow stream with one row per histogram. Its columns are run, step, wall_time,
    the lists left, right and counts, the quantiles that the metadata "quantiles" names,
    num (how many values there were) and outside (how many of those have no place on an
    axis, such as infinities). The metadata "leftOut" says how many histograms are not
    sent. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "histogram", asked, min(MOST, MOST_BUCKETS // (asked.bins or 1)))
    rows: list[Row[Any]] = read_each_run(found.selected, ROWS["histogram"])
    buckets = [Buckets(row.value) for row in rows]
    left_out = found.left_out
    if asked.bins is None:
        kept = int((np.cumsum([len(one.counts) for one in buckets]) <= MOST_BUCKETS).sum())
        left_out += len(rows) - kept
        rows, buckets = rows[:kept], buckets[:kept]
        left, right = [one.left for one in buckets], [one.right for one in buckets]
        counts = [one.counts for one in buckets]
    else:
        edges = share_edges(buckets, asked.bins)
        left, right = [edges[:-1]] * len(rows), [edges[1:]] * len(rows)
        counts = [resample(one, edges) for one in buckets]
    quantiles = np.array([find_quantiles(one) for one in buckets]).reshape(-1)
    columns = {
        **place_columns(rows),
        "left": list_array(left),
        "right": list_array(right),
        "counts": list_array(counts),
        "quantiles": pa.FixedSizeListArray.from_arrays(number_array(quantiles), len(QUANTILES)),
        "num": number_array(np.array([row.value.num for row in rows], np.float64)),
        "outside": number_array(np.array([one.outside for one in buckets], np.float64)),
    }
    return encode_table(pa.table(columns), quantiles=QUANTILES, leftOut=left_out)


def place_columns(rows: Sequence[Row[Any]]) -> dict[str, pa.Array]:
    """The columns run, step and wall_time of some values."""
    return {
        "run": name_array([row.run for row in rows]),
        "step": number_array(np.array([row.step for row in rows], np.int64)),
        "wall_time": number_array(np.array([row.wall_time for row in rows], np.float64)),
    }


def name_array(names: Sequence[str]) -> pa.Array:
    """A column of names, each of which is sent once."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    indices = np.array([numbers[name] for name in names], np.int32)
    return pa.DictionaryArray.from_arrays(number_array(indices), text_array(list(numbers)))


def list_array(arrays: Sequence[NDArray[Any]], dtype: type = np.float64) -> pa.Array:
    """A column with a list of numbers in each row."""
    offsets = np.cumsum([0, *(array.size for array in arrays)], dtype=np.int32)
    flat = np.concatenate([np.empty(0, dtype), *(array.reshape(-1) for array in arrays)])
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite in it
        flat = flat.astype(dtype)
    return pa.ListArray.from_arrays(number_array(offsets), number_array(flat))
