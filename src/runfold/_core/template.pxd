"""Templates: the `Summary.Value` of an event with zeros in place of its only number."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from runfold._core.encoder cimport BOTH, SINGLE, put_number
from runfold._core.fields cimport VALUE_FLOAT64, VALUE_SIMPLE
from runfold._core.tag_table cimport Tags, next_tag
from runfold._core.wire cimport Cursor, read_bytes, read_key, read_varint, skip_field

cdef enum:
    HEAD = 3                # position of the number (2 bytes) and its NumberSize (1)
    LONGEST = 4096          # a value with more bytes around its number has no template
    MOST = 1 << 26          # limit on the bytes of all templates; beyond it, values have none

cdef struct Hole:
    size_t at
    size_t width
    int count


cdef inline void open_hole(Hole* hole, size_t at, size_t width) noexcept nogil:
    hole.at = at
    hole.width = width
    hole.count += 1


cdef inline bint find_in_tensor(Cursor message, const uint8_t* value, Hole* hole) noexcept nogil:
    """Find the only number in a tensor of float32 or float64; 0 for any other content."""
    cdef uint32_t field, wire_type
    cdef uint64_t dtype = 0
    cdef Cursor body
    cdef size_t listed = 0
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return 0
        if field == 1 and wire_type == 0:
            if not read_varint(&message, &dtype):
                return 0
        elif field in (4, 5, 6) and wire_type == 2:  # content, float_val and double_val, packed
            if not read_bytes(&message, &body):
                return 0
            open_hole(hole, body.at - value, body.end - body.at)
            listed = field
        elif field == 5 and wire_type == 5:
            open_hole(hole, message.at - value, 4)
            listed = field
            if not skip_field(&message, field, wire_type):
                return 0
        elif field == 6 and wire_type == 1:
            open_hole(hole, message.at - value, 8)
            listed = field
            if not skip_field(&message, field, wire_type):
                return 0
        elif not skip_field(&message, field, wire_type):
            return 0
    if dtype == 1:
        return hole.width == 4 and listed != 6
    return dtype == 2 and hole.width == 8 and listed != 5


cdef inline bint find_hole(Cursor message, Hole* hole) noexcept nogil:
    """Find the only number of a value; 0 if it has none, several, or other content.

    The float64 of a simple value is included if it follows directly, as Runfold
    writes it.
    """
    cdef const uint8_t* value = message.at
    cdef uint32_t field, wire_type, before = 0, key = 0
    cdef Cursor body
    hole.at = hole.width = 0
    hole.count = 0
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return 0
        before, key = key, field << 3 | wire_type
        if key == VALUE_SIMPLE:
            open_hole(hole, message.at - value, SINGLE)
        elif key == VALUE_FLOAT64:
            if before != VALUE_SIMPLE or <size_t> (message.at - value) != hole.at + 6:
                return 0
            hole.width = BOTH
        elif field == 8 and wire_type == 2:
            if not read_bytes(&message, &body) or not find_in_tensor(body, value, hole):
                return 0
            continue
        elif field in (4, 5, 6):
            return 0
        if not skip_field(&message, field, wire_type):
            return 0
    return hole.count == 1


cdef inline bint read_number(const uint8_t* at, size_t size, double* value) noexcept nogil:
    """Read a number in one of the sizes of NumberSize; 0 if `put_number` would change its bytes."""
    cdef float single
    cdef uint32_t bits
    if size == SINGLE:
        memcpy(&single, at, 4)
        memcpy(&bits, at, 4)
        value[0] = single
        # A signalling NaN would become a quiet one.
        return not (bits & 0x7FC00000 == 0x7F800000 and bits & 0x003FFFFF)
    memcpy(value, at + size - 8, 8)
    if size == BOTH:
        single = <float> value[0]
        return memcmp(&single, at, 4) == 0
    return 1


cdef inline int32_t find_template(
    Tags templates, int32_t* previous, Cursor message, double* value
) noexcept nogil:
    """Return the number of a value's template; -1 if it has none, -2 when out of memory."""
    cdef uint8_t[LONGEST + HEAD] scratch
    cdef Hole hole
    cdef size_t length = message.end - message.at
    cdef Cursor name
    cdef int32_t number
    if length > LONGEST or templates.table.text_size > MOST or not find_hole(message, &hole):
        return -1
    if not read_number(message.at + hole.at, hole.width, value):
        return -1
    scratch[0] = <uint8_t> (hole.at & 0xFF)
    scratch[1] = <uint8_t> (hole.at >> 8)
    scratch[2] = <uint8_t> hole.width
    memcpy(scratch + HEAD, message.at, length)
    put_number(scratch + HEAD + hole.at, hole.width, 0)
    name.at = scratch
    name.end = scratch + HEAD + length
    number = next_tag(&templates.table, previous[0], name)
    if number < 0:
        return -2
    previous[0] = number
    return number


cdef inline uint8_t* put_value(
    uint8_t* at, const uint8_t* template_, size_t size, double value
) noexcept nogil:
    cdef size_t hole = template_[0] + (<size_t> template_[1] << 8)
    memcpy(at, template_ + HEAD, size)
    put_number(at + hole, template_[2], value)
    return at + size
