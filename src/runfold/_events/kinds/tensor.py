"""Tensors of any dtype that no plugin gives a meaning."""

import numpy as np

from runfold._core.tensor_proto import MalformedTensor, decode_tensor
from runfold._events.kinds import stored_value
from runfold._events.wire import VARINT, fields

# The shape of a TensorProto with one dimension of no elements.
_NO_ELEMENTS = b"\x12\x04\x12\x02\x08\x00"


class NoArray(ValueError):
    """The dtype of the tensor is one that no array has, such as that of a variant."""


def decode(value: bytes) -> np.ndarray:
    """Give the tensor as an array; strings as an object array of bytes.

    Raises NoArray for a dtype that no array has, and ValueError for what is broken.
    """
    parsed = stored_value.parse(value)
    try:
        return stored_value.tensor_of(parsed, "a tensor")
    except MalformedTensor as error:
        if _has_array(parsed.body):
            raise
        raise NoArray(str(error)) from None


def _has_array(tensor: bytes) -> bool:
    """Whether at least an empty tensor of the same dtype is an array."""
    dtype = 0
    try:
        for field in fields(tensor):
            if field.number == 1 and field.wire_type == VARINT:
                dtype = field.value
    except ValueError:
        return True  # it is broken, whatever its dtype
    try:
        decode_tensor(bytes([8, dtype]) + _NO_ELEMENTS)
    except ValueError:  # also for a number above those of all dtypes
        return False
    return True
