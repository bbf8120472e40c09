"""Writes protobuf fields and TFRecord frames: each function writes at `at` and returns the end.

No function checks for room. Callers reserve the maximum size, write, and then keep
the bytes that were written.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.checksum cimport rf_masked_crc32c
from runfold._core.fields cimport VALUE_FLOAT64

cdef enum:
    HEADER_SIZE = 12  # length and its checksum
    FOOTER_SIZE = 4  # checksum of the payload
    MAX_VARINT = 10
    EVENT_ROOM = 36  # frame (16), wall time (9) and step (11), without other fields

# The number of bytes that a number takes in a value.
cdef enum NumberSize:
    SINGLE = 4  # a float32
    DOUBLE = 8  # a float64
    BOTH = 14  # a float32, then the key of VALUE_FLOAT64 and the same number as float64


cdef inline size_t varint_size(uint64_t value) noexcept nogil:
    cdef size_t size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint8_t* put_varint(uint8_t* at, uint64_t value) noexcept nogil:
    while value >= 0x80:
        at[0] = <uint8_t> (value | 0x80)
        at += 1
        value >>= 7
    at[0] = <uint8_t> value
    return at + 1


cdef inline uint8_t* put_raw(uint8_t* at, const void* data, size_t size) noexcept nogil:
    if size:  # memcpy from NULL is undefined even for no bytes
        memcpy(at, data, size)
    return at + size


cdef inline uint8_t* put_number(uint8_t* at, size_t size, double value) noexcept nogil:
    """Write a number in one of the sizes of NumberSize."""
    cdef float single = <float> value
    if size != DOUBLE:
        memcpy(at, &single, 4)
        at += 4
        if size == SINGLE:
            return at
        at = put_varint(at, VALUE_FLOAT64)
    memcpy(at, &value, 8)
    return at + 8


cdef inline uint8_t* put_event_head(uint8_t* at, int64_t step, double wall_time) noexcept nogil:
    """Write wall time and step. Like protobuf, omit zeros but not the negative zero."""
    cdef uint64_t bits
    memcpy(&bits, &wall_time, 8)
    if bits:
        at[0] = 0x09
        memcpy(at + 1, &bits, 8)
        at += 9
    if step:
        at[0] = 0x10
        at = put_varint(at + 1, <uint64_t> step)
    return at


cdef inline uint8_t* close_record(uint8_t* record, uint8_t* end) noexcept nogil:
    """Fill in the frame of a record whose payload is at `record + HEADER_SIZE`."""
    cdef uint64_t size = <uint64_t> (end - record) - HEADER_SIZE
    cdef uint32_t crc
    memcpy(record, &size, 8)
    crc = rf_masked_crc32c(record, 8)
    memcpy(record + 8, &crc, 4)
    crc = rf_masked_crc32c(record + HEADER_SIZE, size)
    memcpy(end, &crc, 4)
    return end + FOOTER_SIZE


cdef class EventBuffer:
    cdef uint8_t* data
    cdef size_t size
    cdef size_t capacity
    cdef Py_ssize_t exports

    cdef uint8_t* room(self, size_t most) except NULL
    cdef int put_simple(self, object tag, double value, int64_t step, double wall_time) except -1
    cdef int adopt(self, uint8_t* block, size_t size, size_t capacity) except -1
    cdef int put_field(
        self, uint8_t key, bytes head, const uint8_t[::1] body, step, double wall_time
    ) except -1
    cdef int put_table(
        self, tuple tags, Py_ssize_t n, const int64_t* steps, const double* wall_times,
        const double* values, str form
    ) except -1
