"""Text: one string, or an array of strings."""

import numpy as np

from runfold._events.kinds import stored_value


def decode(value: bytes) -> str | np.ndarray:
    """Return a str, or an object array of str if the writer stored several.

    A string of shape [1], as torch and tensorboardX write it, also becomes a str.
    Bytes that are not UTF-8 become backslash escapes.
    """
    array = stored_value.tensor_of(stored_value.parse(value), "text")
    if array.dtype != object:
        raise ValueError(f"text must be a tensor of strings, got {stored_value.describe(array)}")
    if array.shape in ((), (1,)):
        return stored_value.text(array.reshape(-1)[0])
    strings = np.empty(array.shape, dtype=object)
    strings.reshape(-1)[:] = [stored_value.text(element) for element in array.reshape(-1)]
    return strings


def text_of(value: str | np.ndarray) -> str:
    """Return a decoded text as one string; the strings of an array are joined with newlines."""
    return value if isinstance(value, str) else "\n".join(value.reshape(-1).tolist())
