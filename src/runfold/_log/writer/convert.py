"""Conversion of logged values to NumPy arrays, numbers, tags, steps and times.

Accepts values from any framework without importing it.
"""

from __future__ import annotations

import functools
import math
import operator
import re
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import escape, utf8
from runfold._warnings import warn_caller
from runfold.errors import BadTag, CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INT64 = range(-(2**63), 2**63)
# NumPy types that replace the types added by JAX and TensorFlow, by the prefix of their names.
_WIDER = {"bfloat": np.float32, "float": np.float32, "int": np.int8, "uint": np.uint8}
# The characters that tensorboardX replaces in tags.
_ODD_CHARACTERS = re.compile(r"[^-/\w.]")


def as_array(value: Any, tag: str | None, argument: str) -> NDArray[Any]:
    """Return the value as an array in host memory, whatever device it is on.

    Accepts anything NumPy accepts, torch, JAX and TensorFlow tensors, objects that support
    DLPack, and lists of these. Types that NumPy lacks, such as bfloat16 and int4, are widened.
    Objects and strings become float64, and masked numbers become NaN. Raises CannotLog, which
    names the tag and the argument.
    """
    if value is None:
        raise CannotLog(refuse(tag, argument, value, "it is not a number"))
    try:
        array = np.asarray(_to_host(value))
    except Exception as error:  # each framework raises its own exceptions
        # JAX adds a page of advice after the first line.
        reason = str(error).partition("\n")[0].rstrip(".!") or type(error).__name__
        raise CannotLog(refuse(tag, argument, value, reason)) from error
    is_added = array.dtype.isbuiltin == 2
    if array.dtype.kind in "biufc" and not is_added:
        return array
    for name, wider in _WIDER.items():
        if array.dtype.name.startswith(name):
            return array.astype(wider)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise CannotLog(refuse(tag, argument, value, "it does not contain numbers")) from None


def as_real(value: Any, tag: str | None, argument: str) -> NDArray[Any]:
    """Return the value as an array of real numbers, like `as_array`.

    For complex numbers, warns and returns the real part, as torch does.
    """
    array = as_array(value, tag, argument)
    if array.dtype.kind == "c":
        warn_about(tag, argument, "is complex; only its real part was logged")
        return array.real
    return array


def as_number(value: Any, tag: str | None, argument: str) -> float:
    """Return the single number in a value, which can be a string such as "0.5".

    Raises CannotLog, which names the tag and the argument.
    """
    # All Python numbers have this method, including Decimal and Fraction, which are slow to
    # import.
    is_plain = hasattr(value, "as_integer_ratio") or isinstance(value, str | bytes)
    if is_plain or (hasattr(value, "__float__") and not hasattr(value, "__array__")):
        try:
            return float(value)
        except OverflowError:
            raise CannotLog(refuse(tag, argument, value, "it is too large for a float64")) from None
        except (TypeError, ValueError):
            raise CannotLog(refuse(tag, argument, value, "it is not a number")) from None
    if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
        return as_number(value.item(), tag, argument)
    array = as_array(value, tag, argument)
    if array.size != 1:
        reason = f"it contains {array.size} numbers; expected one"
        raise CannotLog(refuse(tag, argument, value, reason))
    if array.dtype.kind == "c":
        raise CannotLog(refuse(tag, argument, value, "it is a complex number"))
    if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        raise CannotLog(refuse(tag, argument, value, "it is a time, not a number"))
    return float(array.reshape(()).item())


def as_row(value: Any, tag: str, argument: str) -> NDArray[Any]:
    """Return a one-dimensional array of real numbers; further axes must have length 1.

    Raises CannotLog, which names the tag and the argument.
    """
    row = as_real(value, tag, argument)
    if row.size not in row.shape:
        reason = f"expected one-dimensional data, got an array of shape {row.shape}"
        raise CannotLog(refuse(tag, argument, value, reason))
    return row.reshape(-1)


def as_tag(value: Any, argument: str = "tag") -> str:
    """Return the tag as a plain str that can be encoded as UTF-8.

    Bytes are decoded, as in protobuf, and lone surrogates become escapes. Raises BadTag for
    anything but str and bytes.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if not isinstance(value, str):
        raise BadTag(refuse(value, argument, value, "expected a str"))
    return utf8(value)


@functools.lru_cache(4096)
def clean_tag(tag: str) -> str:
    """Return the tag as tensorboardX would store it.

    Characters other than letters, digits and `-_./` become `_`; leading slashes are removed.
    """
    return _ODD_CHARACTERS.sub("_", tag).lstrip("/")


def as_step(value: Any, tag: str | None, argument: str = "global_step") -> int:
    """Return the step, or 0 for None. Raises CannotLog unless it is a whole number."""
    if value is None:
        return 0
    step, is_whole = read_step(value, tag, argument)
    if not is_whole:
        raise CannotLog(refuse(tag, argument, value, "expected a whole number"))
    return step


def read_step(value: Any, tag: str | None, argument: str = "global_step") -> tuple[int, bool]:
    """Return the step truncated to an integer, and whether it was a whole number.

    Raises CannotLog for anything that is not a number or does not fit in 64 bits.
    """
    step, is_whole = _as_integer(value), True
    if step is None:
        number = as_number(value, tag, argument)
        if not math.isfinite(number):
            raise CannotLog(refuse(tag, argument, value, "expected a finite number"))
        step, is_whole = int(number), number.is_integer()
    if step not in _INT64:
        raise CannotLog(refuse(tag, argument, value, "it does not fit in 64 bits"))
    return step, is_whole


def as_time(value: Any, tag: str | None) -> float:
    """Return seconds since 1970. Raises CannotLog.

    Warns and returns the current time if the value is not finite: a single such event makes
    TensorBoard's Rust server reject the whole file.
    """
    seconds = as_number(value, tag, "walltime")
    if not math.isfinite(seconds):
        warn_about(tag, "walltime", f"is {seconds}; the current time was logged instead")
        return time.time()
    return seconds


def warn_about(tag: str | None, argument: str, fact: str) -> None:
    """Warn that a value was not logged exactly as passed."""
    prefix = "" if tag is None else f"Tag '{escape(tag)}': "
    warn_caller(f"{prefix}{argument} {fact}.")


def refuse(tag: str | None, argument: str, value: Any, reason: str) -> str:
    """Return a message that says why a value cannot be logged.

    `tag` is None for calls without a tag.
    """
    prefix = "" if tag is None else f"Tag '{escape(str(tag))}': "
    shown = escape(repr(value), 60)
    kind = type(value).__name__
    return (
        f"{prefix}{argument} cannot be {kind} {shown}: {reason}. Nothing was logged by this call."
    )


def _as_integer(value: Any) -> int | None:
    """Return the value as an int if it is an integer or the text of one, else None."""
    try:
        return int(value) if isinstance(value, str | bytes) else operator.index(value)
    except (TypeError, ValueError):
        return None


def _to_host(value: Any) -> Any:
    """Return a tensor as a type that NumPy accepts: detached, on the CPU, with a NumPy type."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.is_quantized:
            value = value.dequantize()
        elif value.layout != torch.strided:
            value = value.to_dense()  # such as the gradients of a sparse embedding
        value = value.resolve_conj().resolve_neg()
        if value.is_floating_point() and value.dtype not in (torch.float16, torch.float64):
            value = value.float()  # NumPy has neither bfloat16 nor 8-bit floats
        return value.numpy()
    if isinstance(value, np.ma.MaskedArray) and value.mask.any():
        # Masked numbers have no meaning.
        floats = np.asarray(value, np.result_type(value, np.float32))
        return np.where(value.mask, np.nan, floats)
    # Eager TensorFlow tensors: `__array__` fails for a bfloat16 scalar.
    if callable(numpy := getattr(value, "numpy", None)):
        return numpy()
    # JAX arrays have `__array__`; some libraries support only DLPack.
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    if isinstance(value, list | tuple):
        return [_to_host(item) for item in value] if any(map(_is_nested, value)) else value
    if _is_stream(value):
        return _to_host(list(value))
    return value


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple) or hasattr(value, "shape")


def _is_stream(value: Any) -> bool:
    """Whether NumPy would treat the value as a single object: a generator or a dict view."""
    is_known = isinstance(value, str | bytes | Mapping) or hasattr(value, "__array__")
    return isinstance(value, Iterable) and not is_known and not hasattr(value, "__getitem__")
