"""TensorProto to NumPy: arrays of every dtype, from raw content or from typed lists."""

import numpy as np

from cpython.bytearray cimport PyByteArray_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.dtypes cimport (
    DT_BFLOAT16,
    DT_BOOL,
    DT_COMPLEX64,
    DT_COMPLEX128,
    DT_DOUBLE,
    DT_FLOAT,
    DT_FLOAT8_E4M3FN,
    DT_FLOAT8_E5M2,
    DT_HALF,
    DT_INT8,
    DT_INT16,
    DT_INT32,
    DT_INT64,
    DT_QINT8,
    DT_QINT16,
    DT_QINT32,
    DT_QUINT8,
    DT_QUINT16,
    DT_STRING,
    DT_UINT8,
    DT_UINT16,
    DT_UINT32,
    DT_UINT64,
    float8_e4m3fn_number,
)
from runfold._core.tensor_proto cimport (
    MAX_RANK,
    MAX_REPEATED,
    SHAPE,
    STRING_VAL,
    Tensor,
    count_packed,
    list_field,
    list_wire_type,
    next_dim,
    parse_tensor,
    scalar_value,
    tensor_fits,
)
from runfold._core.wire cimport (
    BYTES,
    FIXED32,
    VARINT,
    Cursor,
    read_bytes,
    read_key,
    read_varint,
    skip_field,
)

# The type of one element in tensor_content. bfloat16, float8 and bool are converted in
# `_as_values`.
_STORED = {
    DT_FLOAT: np.dtype("<f4"),
    DT_DOUBLE: np.dtype("<f8"),
    DT_HALF: np.dtype("<f2"),
    DT_BFLOAT16: np.dtype("<u2"),
    DT_FLOAT8_E5M2: np.dtype("u1"),
    DT_FLOAT8_E4M3FN: np.dtype("u1"),
    DT_INT8: np.dtype("i1"),
    DT_INT16: np.dtype("<i2"),
    DT_INT32: np.dtype("<i4"),
    DT_INT64: np.dtype("<i8"),
    DT_UINT8: np.dtype("u1"),
    DT_UINT16: np.dtype("<u2"),
    DT_UINT32: np.dtype("<u4"),
    DT_UINT64: np.dtype("<u8"),
    DT_QINT8: np.dtype("i1"),
    DT_QINT16: np.dtype("<i2"),
    DT_QINT32: np.dtype("<i4"),
    DT_QUINT8: np.dtype("u1"),
    DT_QUINT16: np.dtype("<u2"),
    DT_BOOL: np.dtype("u1"),
    DT_COMPLEX64: np.dtype("<c8"),
    DT_COMPLEX128: np.dtype("<c16"),
    DT_STRING: np.dtype(object),
}
_FLOAT8_E4M3FN = np.array([float8_e4m3fn_number(bits) for bits in range(256)], np.float32)


class MalformedTensor(ValueError):
    """The bytes are not a TensorProto, or its shape does not match its values."""


def decode_tensor(const uint8_t[::1] data not None):
    """Return the array in a serialized TensorProto, in its own dtype and shape.

    The array is a writable copy. bfloat16 and float8 become float32, quantized numbers
    become integers, and strings an object array of bytes. As in TensorFlow, a list
    shorter than the shape repeats its last value, and an empty list means zeros.
    Anything else that does not fit its shape raises MalformedTensor before memory
    is allocated for it.
    """
    cdef Cursor message = _cursor(data)
    cdef Tensor tensor
    if not parse_tensor(message, &tensor):
        raise MalformedTensor("the bytes are not a TensorProto")
    if tensor.dtype not in _STORED:
        raise MalformedTensor(f"dtype {tensor.dtype} cannot be read as an array")
    if tensor.rank > MAX_RANK:
        raise MalformedTensor(f"{tensor.rank} dimensions, but at most {MAX_RANK} are supported")
    shape = _shape(message)
    if tensor.count < 0:
        raise MalformedTensor(f"shape {shape} is negative, unknown or too large")
    if tensor.content.at < tensor.content.end:
        stored = _from_content(&tensor, shape)
    else:
        stored = _repeat_last(_from_list(message, &tensor), tensor.count, shape)
    return _as_values(stored, tensor.dtype).reshape(shape)


def decode_number(const uint8_t[::1] data not None):
    """Return the only real number in a serialized TensorProto, and whether it was rounded.

    Returns None if it contains several numbers or something else. Only integers
    beyond 2^53 are ever rounded. Raises MalformedTensor if shape and values do not
    match.
    """
    cdef Tensor tensor
    cdef double number = 0
    if not parse_tensor(_cursor(data), &tensor):
        raise MalformedTensor("the bytes are not a TensorProto")
    status = scalar_value(&tensor, &number)
    if status < 0:
        raise MalformedTensor("the shape is unusable, or does not match the stored values")
    return (number, status == 2) if status else None


def fits_shape(const uint8_t[::1] data not None):
    """Return whether `decode_tensor` will find as many values as the shape needs.

    Only the wire format is checked, as for an index of tensors. A dtype without a
    NumPy equivalent is assumed to fit.
    """
    cdef Tensor tensor
    return parse_tensor(_cursor(data), &tensor) and tensor_fits(&tensor)


cdef Cursor _cursor(const uint8_t[::1] data) noexcept:
    cdef Cursor cursor
    cursor.at = &data[0] if data.shape[0] else NULL
    cursor.end = cursor.at + data.shape[0]
    return cursor


cdef tuple _shape(Cursor message):
    """Return the dims of a message that has already been parsed."""
    cdef uint32_t field = 0, wire_type = 0
    cdef int64_t size = 0
    cdef int found
    cdef Cursor shape
    dims = []
    while message.at < message.end and read_key(&message, &field, &wire_type):
        if field == SHAPE and wire_type == BYTES and read_bytes(&message, &shape):
            while True:
                found = next_dim(&shape, &size)
                if found <= 0:
                    break
                if found == 1:
                    dims.append(size)
        elif not skip_field(&message, field, wire_type):
            break
    return tuple(dims)


cdef object _from_content(const Tensor* tensor, tuple shape):
    dtype = _STORED[tensor.dtype]
    cdef int64_t size = tensor.content.end - tensor.content.at
    cdef int64_t item_size = dtype.itemsize
    if tensor.dtype == DT_STRING:
        raise MalformedTensor("strings in tensor_content cannot be read")
    if size % item_size:
        raise MalformedTensor(f"{size} bytes of content are not a whole number of {dtype} values")
    if size // item_size != tensor.count:
        raise MalformedTensor(
            f"shape {shape} needs {tensor.count} values, but the content has {size // item_size}"
        )
    return _copy(tensor.content.at, size, dtype)


cdef object _copy(const uint8_t* data, int64_t size, dtype):
    return np.frombuffer(PyByteArray_FromStringAndSize(<const char*> data, size), dtype)


cdef object _from_list(Cursor message, const Tensor* tensor):
    """Return the listed elements as they would be stored in tensor_content."""
    cdef uint32_t field = list_field(tensor.dtype)
    cdef uint32_t element = list_wire_type(field)
    cdef uint8_t[::1] room
    dtype = _STORED[tensor.dtype]
    if field == STRING_VAL:
        return _strings(message)
    if element == BYTES:
        return _copy(tensor.first.at, tensor.listed, dtype)
    elements = np.zeros(tensor.listed, np.uint32 if element == FIXED32 else np.uint64)
    if tensor.listed:
        room = elements.view(np.uint8)
        _copy_list(message, field, element, &room[0], tensor.listed)
    if element != VARINT:
        if elements.nbytes % dtype.itemsize:
            raise MalformedTensor(f"{tensor.listed} listed numbers are not whole complex numbers")
        return elements.view(dtype)
    if tensor.dtype == DT_BOOL:
        return elements != 0
    # Varints were read as 64 bits; small integers and half floats are in their low bytes.
    return elements.astype(f"u{dtype.itemsize}").view(dtype)


cdef object _strings(Cursor message):
    cdef uint32_t field = 0, wire_type = 0
    cdef Cursor text
    strings = []
    while message.at < message.end and read_key(&message, &field, &wire_type):
        if field == STRING_VAL and wire_type == BYTES and read_bytes(&message, &text):
            strings.append(text.at[:text.end - text.at])
        elif not skip_field(&message, field, wire_type):
            break
    array = np.empty(len(strings), object)
    array[:] = strings
    return array


cdef void _copy_list(
    Cursor message, uint32_t wanted, uint32_t element, uint8_t* out, int64_t room
) noexcept nogil:
    """Copy a counted list; copy at most `room` elements, even if the bytes have changed."""
    cdef int64_t size = 4 if element == FIXED32 else 8
    cdef uint32_t field = 0, wire_type = 0
    cdef int64_t count
    cdef uint64_t value = 0
    cdef Cursor packed
    while message.at < message.end and read_key(&message, &field, &wire_type):
        if field != wanted or (wire_type != BYTES and wire_type != element):
            if not skip_field(&message, field, wire_type):
                return
            continue
        if wire_type == BYTES:
            if not read_bytes(&message, &packed):
                return
        else:
            packed.at = message.at
            if not skip_field(&message, field, wire_type):
                return
            packed.end = message.at
        count = count_packed(packed, element)
        if count < 0 or count > room:
            return
        room -= count
        if element == VARINT:
            while count and read_varint(&packed, &value):
                memcpy(out, &value, 8)
                out += 8
                count -= 1
        elif count:
            memcpy(out, packed.at, count * size)
            out += count * size


cdef object _repeat_last(elements, int64_t count, tuple shape):
    """Return as many elements as the shape needs, by TensorFlow's rule for short lists."""
    cdef int64_t listed = len(elements)
    if listed > count and not (count == 0 and listed == 1):
        raise MalformedTensor(f"shape {shape} needs {count} values, but the list has {listed}")
    if listed >= count:
        return elements[:count]
    if count > MAX_REPEATED:
        raise MalformedTensor(
            f"shape {shape} needs {count} values, but the list has {listed}; "
            f"the last value can be repeated up to {MAX_REPEATED}"
        )
    filled = np.empty(count, elements.dtype)
    filled[:listed] = elements
    if listed:
        filled[listed:] = elements[listed - 1]
    else:
        filled[:] = b"" if elements.dtype == object else 0
    return filled


cdef object _as_values(stored, int dtype):
    """Return the values in the form that users get."""
    if dtype == DT_BFLOAT16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    if dtype == DT_FLOAT8_E5M2:
        # The upper half of an IEEE half float.
        return (stored.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    if dtype == DT_FLOAT8_E4M3FN:
        return _FLOAT8_E4M3FN[stored]
    if dtype == DT_BOOL:
        return stored != 0
    return stored
