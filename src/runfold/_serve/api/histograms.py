"""Histograms of a tag over steps, as stored or on shared bins, with quantiles."""

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
# Limit on bins or buckets in a response. A logged histogram can have any number of buckets.
MOST_BUCKETS = 500_000


class HistogramsRequest(TagRequest):
    """The histograms of a tag on shared bins; without `bins`, as stored."""

    bins: Annotated[int, Meta(ge=1, le=500)] | None = None


@endpoint("GET /api/histograms", HistogramsRequest, queue="work", response=ArrowResponse)
def encode_histograms(source: Source, request: HistogramsRequest) -> bytes:
    """Return the histograms of a tag, by run and step.

    The response is an Arrow stream with one row per histogram. Its columns are run, step,
    wall_time, the lists left, right and counts, the quantiles named in the metadata
    "quantiles", num (number of values) and outside (number of values without a position
    on an axis, such as infinities). The metadata "leftOut" is the number of histograms
    left out. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(
        source, "histogram", request, min(MOST, MOST_BUCKETS // (request.bins or 1))
    )
    rows: list[Row[Any]] = read_each_run(found.selected, ROWS["histogram"])
    buckets = [Buckets(row.value) for row in rows]
    left_out = found.left_out
    if request.bins is None:
        kept = int(
            (np.cumsum([len(histogram.counts) for histogram in buckets]) <= MOST_BUCKETS).sum()
        )
        left_out += len(rows) - kept
        rows, buckets = rows[:kept], buckets[:kept]
        left, right = (
            [histogram.left for histogram in buckets],
            [histogram.right for histogram in buckets],
        )
        counts = [histogram.counts for histogram in buckets]
    else:
        edges = share_edges(buckets, request.bins)
        left, right = [edges[:-1]] * len(rows), [edges[1:]] * len(rows)
        counts = [resample(histogram, edges) for histogram in buckets]
    quantiles = np.array([find_quantiles(histogram) for histogram in buckets]).reshape(-1)
    columns = {
        **place_columns(rows),
        "left": list_array(left),
        "right": list_array(right),
        "counts": list_array(counts),
        "quantiles": pa.FixedSizeListArray.from_arrays(number_array(quantiles), len(QUANTILES)),
        "num": number_array(np.array([row.value.num for row in rows], np.float64)),
        "outside": number_array(np.array([histogram.outside for histogram in buckets], np.float64)),
    }
    return encode_table(pa.table(columns), quantiles=QUANTILES, leftOut=left_out)


def place_columns(rows: Sequence[Row[Any]]) -> dict[str, pa.Array]:
    """Return the columns run, step and wall_time for the given values."""
    return {
        "run": name_array([row.run for row in rows]),
        "step": number_array(np.array([row.step for row in rows], np.int64)),
        "wall_time": number_array(np.array([row.wall_time for row in rows], np.float64)),
    }


def name_array(names: Sequence[str]) -> pa.Array:
    """Return a dictionary-encoded column of names."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    indices = np.array([numbers[name] for name in names], np.int32)
    return pa.DictionaryArray.from_arrays(number_array(indices), text_array(list(numbers)))


def list_array(arrays: Sequence[NDArray[Any]], dtype: type = np.float64) -> pa.Array:
    """Return a column with a list of numbers in each row."""
    offsets = np.cumsum([0, *(array.size for array in arrays)], dtype=np.int32)
    flat = np.concatenate([np.empty(0, dtype), *(array.reshape(-1) for array in arrays)])
    with np.errstate(over="ignore"):  # values too large for float32 become infinite
        flat = flat.astype(dtype)
    return pa.ListArray.from_arrays(number_array(offsets), number_array(flat))
