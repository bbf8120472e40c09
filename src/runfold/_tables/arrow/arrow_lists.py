"""Arrays as Arrow's lists, all elements one after the other, and arrays of such lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

# An empty list, which says nothing of the type of its elements.
NOTHING: NDArray[Any] = np.empty(0, object)
# Beyond it float64 has no room for every integer.
EXACT = 2**53
_LONGEST = 2**31 - 1
# In the place of a dtype: the cell is a text, not an array.
_TEXT = "str"
_DTYPE = re.compile("bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)")


def to_lists(cells: Sequence[NDArray[Any] | str | None]) -> dict[str, pa.Array] | None:
    """A column of lists, named by an empty text, and what stands beside it.

    That is `_shape` where any array has not one dimension, and `_dtype` where
    types differ or Arrow has none such. Complex numbers are two floats each. A text
    among arrays has no dimensions; where an array of text has none either, `_dtype`
    tells them apart. None where no type of Arrow holds all elements exactly.
    """
    import pyarrow as pa

    arrays = [np.array(one, object) if isinstance(one, str) else one for one in cells]
    found = [one for one in arrays if one is not None and one is not NOTHING]
    flat = _flatten(found)
    if flat is None:
        return None
    per = 2 if found and found[0].dtype.kind == "c" else 1
    sizes = [0 if one is None else one.size * per for one in arrays]
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    is_large = offsets[-1] > _LONGEST
    kind = pa.LargeListArray if is_large else pa.ListArray
    places = pa.array(offsets if is_large else offsets.astype(np.int32))
    missing = [one is None for one in arrays]
    mask = pa.array(missing) if any(missing) else None
    made = {"": kind.from_arrays(places, flat, mask=mask)}
    if any(one.ndim != 1 for one in found):
        shapes = [None if one is None else list(one.shape) for one in arrays]
        made["_shape"] = pa.array(shapes, pa.list_(pa.int64()))
    names = {_dtype_name(one) for one in found}
    is_unclear = any(isinstance(one, np.ndarray) and _is_one_text(one) for one in cells)
    if is_unclear or len(names) > 1 or not all(_is_kept(one.dtype) for one in found):
        told = [
            None if one is None else _TEXT if isinstance(one, str) else _dtype_name(one)
            for one in cells
        ]
        made["_dtype"] = pa.array(told, pa.string())
    return made


def _is_one_text(array: NDArray[Any]) -> bool:
    return array.ndim == 0 and isinstance(array.item(), str)


def _dtype_name(array: NDArray[Any]) -> str:
    return str(array.dtype.newbyteorder("="))


def _is_kept(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufO" and dtype != np.float16


def _flatten(arrays: list[NDArray[Any]]) -> pa.Array | None:
    """All elements one after the other, or None where no type of Arrow holds them exactly."""
    import pyarrow as pa

    if not arrays:
        return pa.nulls(0)
    kinds = {one.dtype.kind for one in arrays}
    if kinds <= {"O", "U", "S"}:
        cells = [cell for one in arrays for cell in one.ravel().tolist()]
        types = set(map(type, cells))
        if types <= {str}:
            return text_array(cells)
        return typed_array(cells, "binary") if types <= {bytes} else None
    dtypes = {one.dtype for one in arrays}
    if kinds == {"c"}:
        target = np.result_type(*dtypes)
        parts = [one.ravel().astype(target).view(target.type(0).real.dtype) for one in arrays]
        return pa.array(np.concatenate(parts))
    if not kinds <= set("biuf"):
        return None
    common = np.result_type(*dtypes)
    target = np.dtype(np.float32) if common == np.float16 else common.newbyteorder("=")
    if target not in map(np.dtype, "?bBhHiIlLqQfd"):
        return None
    joined = np.concatenate([one.ravel().astype(target, copy=False) for one in arrays])
    if target.kind == "f" and any(one.dtype.kind in "iu" for one in arrays):
        limit = EXACT if target.itemsize == 8 else 2**24
        if any(np.any((one > limit) | (one < -limit)) for one in arrays if one.dtype.kind in "iu"):
            return None
    return pa.array(joined)


def from_list(scalar: pa.Scalar, shape: list[int] | None, dtype: str | None) -> Any:
    """The array of one list; flat where shape and type do not fit it."""
    array = scalar.values.to_numpy(zero_copy_only=False)
    try:
        if dtype is not None and _DTYPE.fullmatch(dtype):
            if dtype.startswith("complex"):
                array = array.view(np.result_type(array.dtype, np.complex64))
            array = array.astype(dtype, copy=False)
        if shape is None:
            return array
        # A str among arrays of several; a byte string without dimensions was an array.
        is_text = not shape and dtype in (None, _TEXT) and isinstance(array[0], str)
        return array[0] if is_text else array.reshape(shape)
    except (ValueError, TypeError, IndexError):  # a file that others have changed
        return array


def typed_array(cells: Sequence[Any], kind: str) -> pa.Array:
    """Values of one type, by the name that pyarrow has for it."""
    import pyarrow as pa

    return pa.array(cells, getattr(pa, kind)(), from_pandas=False)


def text_array(cells: Sequence[str | None]) -> pa.Array:
    """Text; a byte of a file name that is no UTF-8 becomes a visible escape."""
    try:
        return typed_array(cells, "string")
    except UnicodeEncodeError:  # of a file name that is no UTF-8
        return typed_array([None if one is None else utf8(one) for one in cells], "string")
