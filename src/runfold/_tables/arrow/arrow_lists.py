"""NumPy arrays as flat Arrow lists, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

# An empty list, whose elements have no type.
NOTHING: NDArray[Any] = np.empty(0, object)
# Up to this number, float64 represents every integer exactly.
EXACT = 2**53
_LONGEST = 2**31 - 1
# Stored instead of a dtype if the cell is text, not an array.
_TEXT = "str"
_DTYPE = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")


def to_lists(cells: Sequence[NDArray[Any] | str | None]) -> dict[str, pa.Array] | None:
    """Return a column of lists and the columns that describe it, by suffix ("" for the lists).

    `_shape` is added if any array is not one-dimensional, and `_dtype` if the types differ or
    Arrow lacks them. A complex number is stored as two floats. Text among arrays has no
    dimensions; if there is also an array of text without dimensions, `_dtype` distinguishes
    the two. Returns None if no Arrow type represents all elements exactly.
    """
    import pyarrow as pa

    arrays = [np.array(cell, object) if isinstance(cell, str) else cell for cell in cells]
    present = [array for array in arrays if array is not None and array is not NOTHING]
    flat = _flatten(present)
    if flat is None:
        return None
    per_element = 2 if present and present[0].dtype.kind == "c" else 1
    sizes = [0 if array is None else array.size * per_element for array in arrays]
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    is_large = offsets[-1] > _LONGEST
    kind = pa.LargeListArray if is_large else pa.ListArray
    list_offsets = pa.array(offsets if is_large else offsets.astype(np.int32))
    missing = [array is None for array in arrays]
    mask = pa.array(missing) if any(missing) else None
    columns = {"": kind.from_arrays(list_offsets, flat, mask=mask)}
    if any(array.ndim != 1 for array in present):
        shapes = [None if array is None else list(array.shape) for array in arrays]
        columns["_shape"] = pa.array(shapes, pa.list_(pa.int64()))
    names = {_dtype_name(array) for array in present}
    is_ambiguous = any(isinstance(cell, np.ndarray) and _is_one_text(cell) for cell in cells)
    if is_ambiguous or len(names) > 1 or not all(_is_kept(array.dtype) for array in present):
        dtypes = [
            None if cell is None else _TEXT if isinstance(cell, str) else _dtype_name(cell)
            for cell in cells
        ]
        columns["_dtype"] = pa.array(dtypes, pa.string())
    return columns


def _is_one_text(array: NDArray[Any]) -> bool:
    return array.ndim == 0 and isinstance(array.item(), str)


def _dtype_name(array: NDArray[Any]) -> str:
    return str(array.dtype.newbyteorder("="))


def _is_kept(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufO" and dtype != np.float16


def _flatten(arrays: list[NDArray[Any]]) -> pa.Array | None:
    """Return all elements in one array, or None if no Arrow type represents them exactly."""
    import pyarrow as pa

    if not arrays:
        return pa.nulls(0)
    kinds = {array.dtype.kind for array in arrays}
    if kinds <= {"O", "U", "S"}:
        cells = [cell for array in arrays for cell in array.ravel().tolist()]
        types = set(map(type, cells))
        if types <= {str}:
            return text_array(cells)
        return typed_array(cells, "binary") if types <= {bytes} else None
    dtypes = {array.dtype for array in arrays}
    if kinds == {"c"}:
        target = np.result_type(*dtypes)
        parts = [array.ravel().astype(target).view(target.type(0).real.dtype) for array in arrays]
        return pa.array(np.concatenate(parts))
    if not kinds <= set("biuf"):
        return None
    common = np.result_type(*dtypes)
    target = np.dtype(np.float32) if common == np.float16 else common.newbyteorder("=")
    if target not in map(np.dtype, "?bBhHiIlLqQfd"):
        return None
    joined = np.concatenate([array.ravel().astype(target, copy=False) for array in arrays])
    integers = [array for array in arrays if array.dtype.kind in "iu"]
    if target.kind == "f" and integers:
        limit = EXACT if target.itemsize == 8 else 2**24
        if any(np.any((array > limit) | (array < -limit)) for array in integers):
            return None
    return pa.array(joined)


def from_list(scalar: pa.Scalar, shape: list[int] | None, dtype: str | None) -> Any:
    """Return one list as an array, which is flat if the shape or type does not match the list."""
    array = scalar.values.to_numpy(zero_copy_only=False)
    try:
        if dtype is not None and _DTYPE.fullmatch(dtype):
            if dtype.startswith("complex"):
                array = array.view(np.result_type(array.dtype, np.complex64))
            array = array.astype(dtype, copy=False)
        if shape is None:
            return array
        # A str was a whole cell; bytes without dimensions were an array.
        is_text = not shape and dtype in (None, _TEXT) and isinstance(array[0], str)
        return array[0] if is_text else array.reshape(shape)
    except (ValueError, TypeError, IndexError):  # the file was modified by another program
        return array


def typed_array(cells: Sequence[Any], kind: str) -> pa.Array:
    """Return an array of the type with this pyarrow name."""
    import pyarrow as pa

    return pa.array(cells, getattr(pa, kind)(), from_pandas=False)


def text_array(cells: Sequence[str | None]) -> pa.Array:
    """Return an array of text; bytes of file names that are not UTF-8 become visible escapes."""
    try:
        return typed_array(cells, "string")
    except UnicodeEncodeError:
        return typed_array([None if cell is None else utf8(cell) for cell in cells], "string")
