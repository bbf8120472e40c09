"""What callers log, as NumPy arrays and plain numbers: of any framework, importing none."""

from __future__ import annotations

import math
import operator
import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.errors import BadTag, CannotLog
from runfold.text import escape

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INT64 = range(-(2**63), 2**63)
# The types that JAX and TensorFlow add to those of NumPy, by the beginnings of their names.
_WIDER = {"bfloat": np.float32, "float": np.float32, "int": np.int8, "uint": np.uint8}


def as_array(value: Any, tag: str | None, argument: str) -> NDArray[Any]:
    """The value as an array in memory of this machine, whatever device it is on.

    Takes what NumPy takes, tensors of torch, JAX and TensorFlow, and what speaks
    DLPack. Types that NumPy has not, such as bfloat16 and int4, become the next wider
    one, and masked numbers NaN. Raises CannotLog, which names the tag and the argument.
    """
    try:
        array = np.asarray(_to_host(value))
    except Exception as error:  # each framework has its own
        # Of JAX, a first line and a page of advice.
        reason = str(error).partition("\n")[0].rstrip(".!") or type(error).__name__
        raise CannotLog(refuse(tag, argument, value, reason)) from error
    is_added = array.dtype.isbuiltin == 2
    if is_added or array.dtype.kind not in "biufc":
        for name, wider in _WIDER.items():
            if array.dtype.name.startswith(name):
                return array.astype(wider)
        raise CannotLog(refuse(tag, argument, value, "it holds no numbers"))
    return array


def as_number(value: Any, tag: str | None, argument: str) -> float:
    """The one number that a value holds. Raises CannotLog, which names the tag and the argument."""
    # As Python's numbers have, Decimal and Fraction too; to import these takes its time.
    if hasattr(value, "as_integer_ratio"):
        try:
            return float(value)
        except OverflowError:
            raise CannotLog(refuse(tag, argument, value, "it is too large for a float64")) from None
    if isinstance(value, str | bytes) or value is None:
        raise CannotLog(refuse(tag, argument, value, "it is no number"))
    array = as_array(value, tag, argument)
    if array.size != 1:
        raise CannotLog(
            refuse(tag, argument, value, f"it holds {array.size} numbers where one is meant")
        )
    if array.dtype.kind == "c":
        raise CannotLog(refuse(tag, argument, value, "it is a complex number"))
    return float(array.reshape(()).item())


def as_row(value: Any, tag: str, argument: str) -> NDArray[Any]:
    """A row of real numbers. Raises CannotLog, which names the tag and the argument."""
    row = as_array(value, tag, argument)
    if row.ndim != 1:
        reason = f"a row of numbers is meant, not an array of shape {row.shape}"
        raise CannotLog(refuse(tag, argument, value, reason))
    if row.dtype.kind == "c":
        raise CannotLog(refuse(tag, argument, value, "they are complex numbers"))
    return row


def as_tag(value: Any, argument: str = "tag") -> str:
    """Return the tag. Raises BadTag unless it is a str, and CannotLog if UTF-8 cannot hold it."""
    if not isinstance(value, str):
        raise BadTag(refuse(value, argument, value, "a tag is a str"))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise CannotLog(refuse(value, argument, value, "it is no Unicode text")) from None
    return value


def as_step(value: Any, tag: str | None, argument: str = "global_step") -> int:
    """The step that a value means, 0 for None. Raises CannotLog for what is no int64."""
    if value is None:
        return 0
    try:
        step = operator.index(value)
    except TypeError:
        number = as_number(value, tag, argument)
        if not math.isfinite(number) or number != math.floor(number):
            raise CannotLog(refuse(tag, argument, value, "a step is a whole number")) from None
        step = int(number)
    if step not in _INT64:
        raise CannotLog(refuse(tag, argument, value, "steps are integers of 64 bits"))
    return step


def as_time(value: Any, tag: str | None) -> float:
    """Seconds since 1970. Raises CannotLog.

    What is not finite is refused: one such event, and TensorBoard's Rust server
    reads nothing of the whole file.
    """
    seconds = as_number(value, tag, "walltime")
    if not math.isfinite(seconds):
        raise CannotLog(refuse(tag, "walltime", value, "it is no time"))
    return seconds


def tell(tag: str, argument: str, fact: str) -> None:
    """Warn of what was logged otherwise than it was given."""
    warn(f"Tag '{escape(tag)}': {argument} {fact}.")


def warn(message: str) -> None:
    """Warn at the line of the program, however many of our own calls lie between."""
    level, frame = 1, sys._getframe().f_back
    while frame is not None and frame.f_globals.get("__name__", "").startswith("runfold."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level + 1)


def refuse(tag: str | None, argument: str, value: Any, reason: str) -> str:
    """Why a value cannot be logged: place, fact and effect. None is for a call without a tag."""
    place = "" if tag is None else f"Tag '{escape(str(tag))}': "
    shown = escape(repr(value), 60)
    kind = type(value).__name__
    return f"{place}{argument} cannot be {kind} {shown}: {reason}. Nothing was logged by this call."


def _to_host(value: Any) -> Any:
    """A tensor as something that NumPy takes: detached, on the CPU, in a type that NumPy has."""
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
        # What lies beneath a mask is no number of anybody's.
        floats = np.asarray(value, np.result_type(value, np.float32))
        return np.where(value.mask, np.nan, floats)
    # Eager tensors of TensorFlow, whose `__array__` fails for a single bfloat16.
    if callable(numpy := getattr(value, "numpy", None)):
        return numpy()
    # JAX arrays have `__array__`; others only DLPack.
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return value
