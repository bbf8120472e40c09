"""Columns of plain values as Arrow arrays, without copying numbers and without pandas.

`pa.array` supports most of these conversions, but it imports pandas, which takes half a second.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


def number_array(values: Sequence[Any] | NDArray[Any], dtype: type) -> pa.Array:
    """Return an array of integers, floats or booleans; None becomes null."""
    import pyarrow as pa

    validity = None
    if not isinstance(values, np.ndarray):
        missing = [value is None for value in values]
        if any(missing):
            validity = _bits(~np.array(missing))
            values = [dtype() if value is None else value for value in values]
        values = np.array(values, dtype)
    kind = pa.from_numpy_dtype(np.dtype(dtype))
    data = _bits(values) if dtype is np.bool_ else pa.py_buffer(np.ascontiguousarray(values, dtype))
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def text_array(values: Sequence[str | None]) -> pa.Array:
    """Return an array of UTF-8 text; unpaired surrogates (from file names) are escaped."""
    import pyarrow as pa

    encoded = [None if value is None else utf8(value).encode() for value in values]
    return blob_array(encoded, pa.large_utf8())


def blob_array(values: Sequence[bytes | None], kind: pa.DataType | None = None) -> pa.Array:
    """Return an array of bytes; None becomes null."""
    import pyarrow as pa

    missing = np.array([value is None for value in values], np.bool_)
    validity = _bits(~missing) if missing.any() else None
    present = [value or b"" for value in values]
    buffers = [validity, pa.py_buffer(_offsets(present, np.int64)), pa.py_buffer(b"".join(present))]
    return pa.Array.from_buffers(kind or pa.large_binary(), len(values), buffers)


def name_array(names: Sequence[str], lengths: Sequence[int] | None = None) -> pa.Array:
    """Return a dictionary array that repeats each name `lengths` times (default: once)."""
    import pyarrow as pa

    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    codes = np.array([distinct[name] for name in names], np.int32)
    if lengths is not None:
        codes = np.repeat(codes, np.asarray(lengths, np.intp))
    return pa.DictionaryArray.from_arrays(number_array(codes, np.int32), text_array(list(distinct)))


def list_array(values: Sequence[NDArray[np.float64]]) -> pa.Array:
    """Return an array with a list of floats per row."""
    import pyarrow as pa

    joined = np.concatenate([np.empty(0), *values])
    offsets = number_array(_offsets(values, np.int64), np.int64)
    return pa.LargeListArray.from_arrays(offsets, number_array(joined, np.float64))


def map_array(values: Sequence[dict[str, str | None]]) -> pa.Array:
    """Return an array with a map from names to strings per row."""
    import pyarrow as pa

    offsets = number_array(_offsets(values, np.int32), np.int32)
    keys = text_array(list(chain.from_iterable(values)))
    items = text_array([item for texts in values for item in texts.values()])
    return pa.MapArray.from_arrays(offsets, keys, items)


def _offsets(values: Sequence[Any], dtype: type) -> NDArray[Any]:
    offsets: NDArray[Any] = np.zeros(len(values) + 1, dtype)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return offsets


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags.astype(bool), bitorder="little"))
