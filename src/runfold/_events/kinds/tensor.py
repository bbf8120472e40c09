"""Tensors of any dtype that belong to no other kind."""

import numpy as np

from runfold._core.tensor_proto import MalformedTensor, decode_tensor
from runfold._events.kinds import stored_value
from runfold._events.wire import VARINT, fields

# The shape of a TensorProto with one dimension of size 0.
_NO_ELEMENTS = b"\x12\x04\x12\x02\x08\x00"


class NoArray(ValueError):
    """The tensor's dtype, such as variant, has no NumPy equivalent."""


def decode(value: bytes) -> np.ndarray:
    """Return the tensor as an array; strings become an object array of bytes.

    Raises NoArray for a dtype without a NumPy equivalent, and ValueError for a
    malformed tensor.
    """
    parsed = stored_value.parse(value)
    try:
        return stored_value.tensor_of(parsed, "a tensor")
    except MalformedTensor as error:
        if _has_array(parsed.body):
            raise
        raise NoArray(str(error)) from None


def _has_array(tensor: bytes) -> bool:
    """Return whether an empty tensor of the same dtype can be decoded."""
    dtype = 0
    try:
        for field in fields(tensor):
            if field.number == 1 and field.wire_type == VARINT:
                dtype = field.value
    except ValueError:
        return True  # malformed, whatever its dtype
    try:
        decode_tensor(bytes([8, dtype]) + _NO_ELEMENTS)
    except ValueError:  # also raised for a number that is not a dtype
        return False
    return True
