"""Convert what callers log into NumPy arrays, numbers, tags, steps and times.

Values of any framework are accepted, and none is imported.
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
# The types that JAX and TensorFlow add to those of NumPy, by the beginnings of their names.
_WIDER = {"bfloat": np.float32, "float": np.float32, "int": np.int8, "uint": np.uint8}
# Everything that tensorboardX replaces in a tag.
_ODD_CHARACTERS = re.compile(r"[^-/\w.]")


def as_array(value: Any, tag: str | None, argument: str) -> NDArray[Any]:
    """Return the value as an array in this machine's memory, whatever device it is on.

    Accepts what NumPy accepts, tensors of torch, JAX and TensorFlow, anything that
    speaks DLPack, and lists of all these. Types that NumPy does not have, such as
    bfloat16 and int4, become the next wider one. Objects and texts become float64, and
    masked numbers NaN. Raises CannotLog, which names the tag and the argument.
    """
    if value is None:
        raise CannotLog(refuse(tag, argument, value, "it is not a number"))
    try:
        array = np.asarray(_to_host(value))
    except Exception as error:  # each framework has its own
        # JAX adds a page of advice to its first line.
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
        raise CannotLog(refuse(tag, argument, value, "it does not hold numbers")) from None


def as_real(value: Any, tag: str | None, argument: str) -> NDArray[Any]:
    """Return the value as an array of real numbers, like `as_array`.

    Complex numbers lose their imaginary part, with a warning, as in torch.
    """
    array = as_array(value, tag, argument)
    if array.dtype.kind == "c":
        tell(tag, argument, "is complex; only its real part is logged")
        return array.real
    return array


def as_number(value: Any, tag: str | None, argument: str) -> float:
    """Return the one number that a value holds; it may be a text such as "0.5".

    Raises CannotLog, which names the tag and the argument.
    """
    # Python's numbers have it, and so do Decimal and Fraction, which are slow to import.
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
        reason = f"it holds {array.size} numbers; expected one"
        raise CannotLog(refuse(tag, argument, value, reason))
    if array.dtype.kind == "c":
        raise CannotLog(refuse(tag, argument, value, "it is a complex number"))
    if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        raise CannotLog(refuse(tag, argument, value, "it is a time, not a number"))
    return float(array.reshape(()).item())


def as_row(value: Any, tag: str, argument: str) -> NDArray[Any]:
    """Return a row of real numbers; the array may have more axes of length 1.

    Raises CannotLog, which names the tag and the argument.
    """
    row = as_real(value, tag, argument)
    if row.size not in row.shape:
        reason = f"expected a row of numbers, got an array of shape {row.shape}"
        raise CannotLog(refuse(tag, argument, value, reason))
    return row.reshape(-1)


def as_tag(value: Any, argument: str = "tag") -> str:
    """Return the tag as a plain str that UTF-8 can hold.

    Bytes are decoded, as protobuf does it, and lone surrogates become escapes. Raises
    BadTag for anything but a str or bytes.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if not isinstance(value, str):
        raise BadTag(refuse(value, argument, value, "a tag is a str"))
    return utf8(value)


@functools.lru_cache(4096)
def clean_tag(tag: str) -> str:
    """Return the tag as tensorboardX would store it.

    Characters other than letters, digits and `-_./` become `_`, and slashes at the
    beginning are removed.
    """
    return _ODD_CHARACTERS.sub("_", tag).lstrip("/")


def as_step(value: Any, tag: str | None, argument: str = "global_step") -> int:
    """Return the step, 0 for None. Raises CannotLog for anything but a whole number."""
    if value is None:
        return 0
    step, is_whole = read_step(value, tag, argument)
    if not is_whole:
        raise CannotLog(refuse(tag, argument, value, "a step is a whole number"))
    return step


def read_step(value: Any, tag: str | None, argument: str = "global_step") -> tuple[int, bool]:
    """Return the step, without its fraction, and whether it had none.

    Raises CannotLog for anything that is not a number of at most 64 bits.
    """
    step, is_whole = _as_integer(value), True
    if step is None:
        number = as_number(value, tag, argument)
        if not math.isfinite(number):
            raise CannotLog(refuse(tag, argument, value, "a step is finite"))
        step, is_whole = int(number), number.is_integer()
    if step not in _INT64:
        raise CannotLog(refuse(tag, argument, value, "a step has at most 64 bits"))
    return step, is_whole


def as_time(value: Any, tag: str | None) -> float:
    """Return seconds since 1970. Raises CannotLog.

    A time that is not finite becomes the present one, with a warning: with one such
    event, TensorBoard's Rust server reads nothing of the whole file.
    """
    seconds = as_number(value, tag, "walltime")
    if not math.isfinite(seconds):
        tell(tag, "walltime", f"is {seconds}; the present time is logged instead")
        return time.time()
    return seconds


def tell(tag: str | None, argument: str, fact: str) -> None:
    """Warn that a value was not logged exactly as given."""
    place = "" if tag is None else f"Tag '{escape(tag)}': "
    warn_caller(f"{place}{argument} {fact}.")


def refuse(tag: str | None, argument: str, value: Any, reason: str) -> str:
    """Return why a value cannot be logged: place, fact and effect.

    The tag is None for a call that has none.
    """
    place = "" if tag is None else f"Tag '{escape(str(tag))}': "
    shown = escape(repr(value), 60)
    kind = type(value).__name__
    return f"{place}{argument} cannot be {kind} {shown}: {reason}. Nothing was logged by this call."


def _as_integer(value: Any) -> int | None:
    """Return the integer that a value is, or that its text shows; None for anything else."""
    try:
        return int(value) if isinstance(value, str | bytes) else operator.index(value)
    except (TypeError, ValueError):
        return None


def _to_host(value: Any) -> Any:
    """Return a tensor as something that NumPy accepts: detached, on the CPU, of a type it has."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.is_quantized:
            value = value.dequantize()
        elif value.layout != torch.strided:
            value = value.to_dense()  # as the gradients of a sparse embedding are
        value = value.resolve_conj().resolve_neg()
        if value.is_floating_point() and value.dtype not in (torch.float16, torch.float64):
            value = value.float()  # NumPy has neither bfloat16 nor the floats of 8 bits
        return value.numpy()
    if isinstance(value, np.ma.MaskedArray) and value.mask.any():
        # The numbers below a mask mean nothing.
        floats = np.asarray(value, np.result_type(value, np.float32))
        return np.where(value.mask, np.nan, floats)
    # TensorFlow's eager tensors, whose `__array__` fails for a single bfloat16.
    if callable(numpy := getattr(value, "numpy", None)):
        return numpy()
    # JAX arrays have `__array__`; others only DLPack.
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    if isinstance(value, list | tuple):
        return [_to_host(one) for one in value] if any(map(_is_nested, value)) else value
    if _is_stream(value):
        return _to_host(list(value))
    return value


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple) or hasattr(value, "shape")


def _is_stream(value: Any) -> bool:
    """Whether NumPy would take it for a single object: a generator, or the values of a dict."""
    is_known = isinstance(value, str | bytes | Mapping) or hasattr(value, "__array__")
    return isinstance(value, Iterable) and not is_known and not hasattr(value, "__getitem__")
