"""Finds intact records in the bytes of a broken file, wherever they are."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.checksum cimport rf_crc32c_init, rf_masked_crc32c
from runfold._core.record cimport FRAME_SIZE, HEADER_SIZE, WHOLE, read_record
from runfold._core.wire cimport Cursor

rf_crc32c_init()


def walk(const uint8_t[::1] buffer not None, int64_t start, uint64_t limit):
    """Skip intact records from byte `start`; return the end of the last one."""
    cdef int64_t size = buffer.shape[0]
    cdef const uint8_t* first = &buffer[0] if size else NULL
    cdef const uint8_t* at
    cdef Cursor payload
    cdef uint64_t length
    if not 0 <= start <= size:
        raise ValueError(f"byte {start} is outside a buffer of {size} bytes")
    at = first + start
    limit = min(limit, <uint64_t> 1 << 62)
    with nogil:
        while at < first + size and read_record(
            at, first + size, limit, &payload, &length
        ) == WHOLE:
            at += length + FRAME_SIZE
    return at - first


def seek(
    const uint8_t[::1] buffer not None, int64_t start, int64_t beyond, uint64_t limit,
    uint64_t budget,
):
    """Find the first intact record at byte `start` or later.

    `beyond` is the number of bytes of the file after the buffer. Returns (offset,
    missing, spent). If `missing` is 0, the record is intact. Otherwise only its header is
    known to be intact, and `missing` more bytes beyond the buffer are needed to check the
    rest. (size of the buffer, 0, spent) means that no record was found, although one may
    start in the last 11 bytes.

    `spent` is the number of payload bytes that were checked without success.
    Headers with a payload longer than the rest of `budget` are skipped: otherwise a
    file of nothing but valid headers would take quadratic time.
    """
    cdef int64_t size = buffer.shape[0], offset = start, missing = 0
    cdef const uint8_t* first = &buffer[0] if size else NULL
    cdef const uint8_t* at
    cdef uint64_t length, spent = 0
    cdef uint32_t stored
    if not 0 <= start <= size or beyond < 0:
        raise ValueError(f"byte {start} is outside a buffer of {size} bytes")
    limit = min(limit, <uint64_t> 1 << 62)
    with nogil:
        while size - offset >= HEADER_SIZE:
            at = first + offset
            memcpy(&length, at, 8)
            memcpy(&stored, at + 8, 4)
            if (
                length <= limit
                and length <= budget - spent
                and stored == rf_masked_crc32c(at, 8)
            ):
                missing = <int64_t> length + FRAME_SIZE - (size - offset)
                if 0 < missing <= beyond:
                    break
                if missing <= 0:
                    memcpy(&stored, at + HEADER_SIZE + length, 4)
                    if stored == rf_masked_crc32c(at + HEADER_SIZE, length):
                        break
                    spent += length
            missing = 0
            offset += 1
        else:
            offset = size
    return offset, max(missing, 0), spent
