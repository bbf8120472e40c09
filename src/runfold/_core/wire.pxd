"""The protobuf wire format: a cursor over bytes that cannot run past their end.

Every function returns 0 if the bytes are malformed. The cursor must not be used
after that; callers drop the whole message.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    GROUP_START = 3
    GROUP_END = 4
    FIXED32 = 5
    MAX_GROUP_DEPTH = 64

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end


cdef inline bint read_varint(Cursor* cursor, uint64_t* out) noexcept nogil:
    """Read up to ten bytes; an eleventh, or bits beyond the 64th, are malformed."""
    cdef uint64_t value = 0
    cdef uint8_t byte
    cdef int shift = 0
    # Keys and most lengths are a single byte.
    if cursor.at < cursor.end and cursor.at[0] < 0x80:
        out[0] = cursor.at[0]
        cursor.at += 1
        return 1
    while cursor.at < cursor.end:
        byte = cursor.at[0]
        cursor.at += 1
        if shift == 63 and byte > 1:
            return 0
        value |= (<uint64_t> (byte & 0x7F)) << shift
        if byte < 0x80:
            out[0] = value
            return 1
        shift += 7
    return 0


cdef inline bint read_key(Cursor* cursor, uint32_t* field, uint32_t* wire_type) noexcept nogil:
    cdef uint64_t key
    if not read_varint(cursor, &key) or key >> 32 or key >> 3 == 0:
        return 0
    field[0] = <uint32_t> (key >> 3)
    wire_type[0] = <uint32_t> (key & 7)
    return 1


cdef inline bint read_fixed64(Cursor* cursor, uint64_t* out) noexcept nogil:
    if cursor.end - cursor.at < 8:
        return 0
    memcpy(out, cursor.at, 8)
    cursor.at += 8
    return 1


cdef inline bint read_fixed32(Cursor* cursor, uint32_t* out) noexcept nogil:
    if cursor.end - cursor.at < 4:
        return 0
    memcpy(out, cursor.at, 4)
    cursor.at += 4
    return 1


cdef inline bint read_bytes(Cursor* cursor, Cursor* out) noexcept nogil:
    """Read the length-delimited field at the cursor as a separate cursor."""
    cdef uint64_t length
    if not read_varint(cursor, &length) or length > <uint64_t> (cursor.end - cursor.at):
        return 0
    out.at = cursor.at
    cursor.at += length
    out.end = cursor.at
    return 1


cdef inline bint skip_field(Cursor* cursor, uint32_t field, uint32_t wire_type) noexcept nogil:
    """Skip a field of any type. Groups can be nested MAX_GROUP_DEPTH deep."""
    cdef uint32_t[64] open_groups
    cdef int depth = 0
    cdef uint64_t ignored
    cdef Cursor inside
    while True:
        if wire_type == VARINT:
            if not read_varint(cursor, &ignored):
                return 0
        elif wire_type == FIXED64:
            if cursor.end - cursor.at < 8:
                return 0
            cursor.at += 8
        elif wire_type == BYTES:
            if not read_bytes(cursor, &inside):
                return 0
        elif wire_type == FIXED32:
            if cursor.end - cursor.at < 4:
                return 0
            cursor.at += 4
        elif wire_type == GROUP_START:
            if depth == MAX_GROUP_DEPTH:
                return 0
            open_groups[depth] = field
            depth += 1
        elif wire_type == GROUP_END:
            if depth == 0 or open_groups[depth - 1] != field:
                return 0
            depth -= 1
        else:
            return 0
        if depth == 0:
            return 1
        if not read_key(cursor, &field, &wire_type):
            return 0
