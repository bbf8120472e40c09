"""Sound records found in the bytes of a broken file, wherever they stand."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.checksum cimport rf_crc32c_init, rf_masked_crc32c
from runfold._core.record cimport FRAME_SIZE, HEADER_SIZE, WHOLE, read_record
from runfold._core.wire cimport Cursor

rf_crc32c_init()


def walk(const uint8_t[::1] buffer not None, int64_t start, uint64_t limit):
    """Step over sound records from byte `start` on; gives where the last of them ends."""
    cdef int64_t size = buffer.shape[0]
    cdef const uint8_t* first = &buffer[0] if size else NULL
    cdef const uint8_t* at
    cdef Cursor payload
    cdef uint64_t length
    if not 0 <= start <= size:
        raise ValueError(f"byte {start} lies outside of a buffer of {size}")
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
    """Find the first byte from `start` on at which a sound record stands.

    `beyond` is how many bytes of the file follow those in the buffer. Gives
    (offset, missing, spent): with 0 missing the record is sound; otherwise its header
    is, and so many bytes beyond the buffer are needed to know. (size of the buffer,
    0, spent) means that there is none; the last 11 bytes may yet begin one.

    `spent` are the bytes of payloads that were checked in vain. Headers whose
    payload is longer than what is left of `budget` are passed over: else a file
    of nothing but sound headers would take the square of its size.
    """
    cdef int64_t size = buffer.shape[0], offset = start, missing = 0
    cdef const uint8_t* first = &buffer[0] if size else NULL
    cdef const uint8_t* at
    cdef uint64_t length, spent = 0
    cdef uint32_t stored
    if not 0 <= start <= size or beyond < 0:
        raise ValueError(f"byte {start} lies outside of a buffer of {size}")
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
