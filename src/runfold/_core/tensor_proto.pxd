"""Parser for TensorProto: its content, and its value if that is one number.

No function allocates memory, so a declared shape of a trillion elements costs
nothing.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

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
    number_size,
    to_number,
)
from runfold._core.wire cimport (
    BYTES,
    FIXED32,
    FIXED64,
    VARINT,
    Cursor,
    read_bytes,
    read_key,
    read_varint,
    skip_field,
)

cpdef enum:
    # NumPy 1 does not support more dimensions.
    MAX_RANK = 32
    # A short list represents a whole array by repeating its last value, up to this size.
    MAX_REPEATED = 0x1000000

cdef enum TensorField:
    DTYPE = 1
    SHAPE = 2
    CONTENT = 4
    FLOAT_VAL = 5
    DOUBLE_VAL = 6
    INT_VAL = 7
    STRING_VAL = 8
    SCOMPLEX_VAL = 9
    INT64_VAL = 10
    BOOL_VAL = 11
    DCOMPLEX_VAL = 12
    HALF_VAL = 13
    UINT32_VAL = 16
    UINT64_VAL = 17
    FLOAT8_VAL = 18

cdef struct Tensor:
    int dtype        # TensorFlow's DataType number; 0 if absent
    int64_t count    # product of the dims, 1 for shape []; -1 if the shape is unusable
    int rank         # number of dims
    Cursor content   # tensor_content; empty if absent
    int64_t listed   # elements in the list for this dtype (a complex number counts as 2)
    Cursor first     # the bytes of the first listed element


cdef inline uint32_t list_field(int dtype) noexcept nogil:
    """Return the field that lists elements of this dtype; 0 if there is none."""
    if dtype == DT_FLOAT:
        return FLOAT_VAL
    elif dtype == DT_DOUBLE:
        return DOUBLE_VAL
    elif dtype in (DT_INT32, DT_INT16, DT_INT8, DT_UINT16, DT_UINT8):
        return INT_VAL
    elif dtype in (DT_QINT32, DT_QINT16, DT_QINT8, DT_QUINT16, DT_QUINT8):
        return INT_VAL
    elif dtype == DT_STRING:
        return STRING_VAL
    elif dtype == DT_COMPLEX64:
        return SCOMPLEX_VAL
    elif dtype == DT_INT64:
        return INT64_VAL
    elif dtype == DT_BOOL:
        return BOOL_VAL
    elif dtype == DT_COMPLEX128:
        return DCOMPLEX_VAL
    elif dtype in (DT_HALF, DT_BFLOAT16):
        return HALF_VAL
    elif dtype == DT_UINT32:
        return UINT32_VAL
    elif dtype == DT_UINT64:
        return UINT64_VAL
    elif dtype in (DT_FLOAT8_E5M2, DT_FLOAT8_E4M3FN):
        return FLOAT8_VAL
    return 0


cdef inline uint32_t list_wire_type(uint32_t field) noexcept nogil:
    """Return the wire type of one element in a list that is not packed."""
    if field in (FLOAT_VAL, SCOMPLEX_VAL):
        return FIXED32
    elif field in (DOUBLE_VAL, DCOMPLEX_VAL):
        return FIXED64
    elif field in (STRING_VAL, FLOAT8_VAL):
        return BYTES
    return VARINT


cdef inline int64_t count_packed(Cursor packed, uint32_t wire_type) noexcept nogil:
    """Return the number of elements in a packed list; -1 if it ends within an element."""
    cdef int64_t size = packed.end - packed.at
    cdef int64_t count = 0
    cdef uint64_t ignored
    if wire_type == FIXED32:
        return -1 if size & 3 else size >> 2
    if wire_type == FIXED64:
        return -1 if size & 7 else size >> 3
    while packed.at < packed.end:
        if not read_varint(&packed, &ignored):
            return -1
        count += 1
    return count


cdef inline bint parse_dim(Cursor message, int64_t* size) noexcept nogil:
    cdef uint32_t field, wire_type
    cdef uint64_t value
    size[0] = 0
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return 0
        if field == 1 and wire_type == VARINT:
            if not read_varint(&message, &value):
                return 0
            size[0] = <int64_t> value
        elif not skip_field(&message, field, wire_type):
            return 0
    return 1


cdef inline int next_dim(Cursor* shape, int64_t* size) noexcept nogil:
    """Read the next dim of a TensorShapeProto.

    Returns 1 for a dim, 2 for the flag of an unknown rank, 0 at the end and -1 if
    it is malformed.
    """
    cdef uint32_t field, wire_type
    cdef uint64_t is_unknown
    cdef Cursor dim
    while shape.at < shape.end:
        if not read_key(shape, &field, &wire_type):
            return -1
        if field == 2 and wire_type == BYTES:
            return 1 if read_bytes(shape, &dim) and parse_dim(dim, size) else -1
        elif field == 3 and wire_type == VARINT:
            if not read_varint(shape, &is_unknown):
                return -1
            if is_unknown:
                return 2
        elif not skip_field(shape, field, wire_type):
            return -1
    return 0


cdef inline bint parse_shape(Cursor shape, Tensor* out, bint* has_zero) noexcept nogil:
    """Multiply the dims into `out.count`; zeros are set aside so that overflow is detected."""
    # More than fits in memory, but small enough to multiply by the size of an element.
    cdef int64_t max_count = <int64_t> 1 << 56
    cdef int64_t size = 0
    cdef int found
    while True:
        found = next_dim(&shape, &size)
        if found <= 0:
            return found == 0
        if found == 2:
            out.count = -1
            continue
        out.rank += 1
        if size == 0:
            has_zero[0] = 1
        elif size < 0 or out.count < 0 or size > max_count // out.count:
            out.count = -1
        else:
            out.count *= size


cdef inline bint parse_list(Cursor message, Tensor* out) noexcept nogil:
    """Count the listed elements of the tensor's dtype, packed or not, and find the first."""
    cdef uint32_t wanted = list_field(out.dtype)
    cdef uint32_t element = list_wire_type(wanted)
    cdef uint32_t field, wire_type
    cdef int64_t count
    cdef Cursor packed
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return 0
        if field == wanted and wire_type == BYTES:
            if not read_bytes(&message, &packed):
                return 0
            if field == FLOAT8_VAL:
                # A single bytes field holds all elements; if it repeats, the last one is used,
                # as for content.
                out.listed = packed.end - packed.at
                out.first = packed
                continue
            count = 1 if element == BYTES else count_packed(packed, element)
            if count < 0:
                return 0
            if out.listed == 0:
                out.first = packed
            out.listed += count
        elif field == wanted and wire_type == element:
            if out.listed == 0:
                out.first = message
            out.listed += 1
            if not skip_field(&message, field, wire_type):
                return 0
        elif not skip_field(&message, field, wire_type):
            return 0
    return 1


cdef inline bint parse_tensor(Cursor message, Tensor* out) noexcept nogil:
    """Parse a serialized TensorProto; 0 if it is malformed.

    Repeated fields are merged as in protobuf: the last dtype and content, the dims
    of all shapes, the elements of all lists.
    """
    cdef Cursor whole = message
    cdef Cursor shape
    cdef uint32_t field, wire_type
    cdef uint64_t value
    cdef bint has_zero = 0
    memset(out, 0, sizeof(Tensor))
    out.count = 1
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return 0
        if field == DTYPE and wire_type == VARINT:
            if not read_varint(&message, &value):
                return 0
            out.dtype = <int32_t> value
        elif field == SHAPE and wire_type == BYTES:
            if not read_bytes(&message, &shape) or not parse_shape(shape, out, &has_zero):
                return 0
        elif field == CONTENT and wire_type == BYTES:
            if not read_bytes(&message, &out.content):
                return 0
        elif not skip_field(&message, field, wire_type):
            return 0
    if has_zero and out.count > 0:
        out.count = 0
    # Content takes precedence over a list, and the dtype can follow the list it belongs to.
    return out.content.at < out.content.end or parse_list(whole, out)


cdef inline int scalar_value(const Tensor* tensor, double* out) noexcept nogil:
    """Read the number in a tensor of one real number.

    Returns 1 if the number is in `out`; 2 if it was rounded, because it is an integer
    beyond 2^53; 0 if the tensor is not a single real number; -1 if it should be one, but
    its shape is unusable or does not match the stored values.
    """
    cdef int size = number_size(tensor.dtype)
    cdef uint64_t bits = 0
    cdef uint32_t element
    cdef Cursor first = tensor.first
    if size == 0:
        return 0
    if tensor.count != 1:
        return 0 if tensor.count >= 0 else -1
    if tensor.content.at < tensor.content.end:
        if tensor.content.end - tensor.content.at != size:
            return -1
        memcpy(&bits, tensor.content.at, size)
        return to_number(tensor.dtype, bits, out)
    if tensor.listed > 1:
        return -1
    if tensor.listed == 1:
        element = list_wire_type(list_field(tensor.dtype))
        if element != VARINT:
            memcpy(&bits, first.at, size)
        elif not read_varint(&first, &bits):
            return -1
    # TensorFlow leaves the list empty for a zero.
    return to_number(tensor.dtype, bits, out)


cdef inline bint tensor_fits(const Tensor* tensor) noexcept nogil:
    """Return whether the stored values can fill the shape, by the rules of `decode_tensor`.

    An unknown dtype is assumed to fit, because it cannot be checked.
    """
    cdef int64_t size = tensor.content.end - tensor.content.at
    cdef int64_t listed = tensor.listed
    cdef int item = number_size(tensor.dtype)
    if tensor.dtype in (DT_COMPLEX64, DT_COMPLEX128):
        if listed & 1:
            return 0
        listed >>= 1
        item = 8 if tensor.dtype == DT_COMPLEX64 else 16
    if tensor.count < 0 or tensor.rank > MAX_RANK:
        return 0
    if item == 0 and tensor.dtype != DT_STRING:
        return 1
    if size > 0:
        # Strings are not read from content, because no writer of event files uses it.
        return item > 0 and size % item == 0 and size // item == tensor.count
    if listed > tensor.count:
        return tensor.count == 0 and listed == 1
    return listed == tensor.count or tensor.count <= MAX_REPEATED
