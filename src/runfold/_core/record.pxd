"""TFRecord framing: length (8 bytes), its checksum (4), payload, its checksum (4)."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.checksum cimport rf_masked_crc32c
from runfold._core.wire cimport Cursor

cdef enum:
    HEADER_SIZE = 12
    FRAME_SIZE = 16         # header and footer around a payload

cdef enum Framing:
    WHOLE                   # a record with a readable payload
    BAD_PAYLOAD             # a record whose payload fails its checksum
    TORN                    # the bytes end within the record
    ZEROS                   # zeros from within the record to the end: not yet written
    BAD_LENGTH              # the length fails its checksum, so later boundaries are unknown
    TOO_LONG                # a length above the limit

cpdef enum StopReason:
    """Why reading stopped."""
    AT_END = 0              # every byte was read
    IS_TORN = 1             # the bytes end within a record; more may follow
    IS_ZEROS = 2            # only zeros from within a record to the end: not yet written
    HAS_BAD_LENGTH = 3      # record boundaries are unknown from here
    IS_TOO_LONG = 4         # a record above the limit
    AT_BOUNDARY = 5         # a record that the caller must handle before reading continues


cdef inline StopReason find_reason(Framing framing) noexcept nogil:
    """Return why reading stops; `framing` must be neither WHOLE nor BAD_PAYLOAD."""
    if framing == TORN:
        return IS_TORN
    if framing == ZEROS:
        return IS_ZEROS
    return HAS_BAD_LENGTH if framing == BAD_LENGTH else IS_TOO_LONG


cdef inline bint is_zeros(const uint8_t* at, const uint8_t* end) noexcept nogil:
    while at < end and at[0] == 0:
        at += 1
    return at == end


cdef inline Framing read_record(
    const uint8_t* at, const uint8_t* end, uint64_t limit, Cursor* payload, uint64_t* length
) noexcept nogil:
    """Classify the bytes at `at`. The length is 0 if the header is torn or bad.

    Nothing is computed from a length before it is known to fit, so lengths such as
    2**64 - 1 cannot overflow.

    If a writer's pages reach the disk late, a reader finds zeros in their place.
    The zeros can start at any byte of a record, so a checksum that fails because of them
    is not an error: the record will be complete later.
    """
    cdef uint32_t stored
    cdef bint is_tail
    length[0] = 0
    if end - at < HEADER_SIZE:
        return TORN
    memcpy(length, at, 8)
    memcpy(&stored, at + 8, 4)
    if stored != rf_masked_crc32c(at, 8):
        is_tail = length[0] <= limit and is_zeros(at + HEADER_SIZE - 1, end)
        length[0] = 0
        return ZEROS if is_tail else BAD_LENGTH
    if length[0] > limit:
        return TOO_LONG
    if <uint64_t> (end - at) < length[0] + FRAME_SIZE:
        return TORN
    payload.at = at + HEADER_SIZE
    payload.end = payload.at + length[0]
    memcpy(&stored, payload.end, 4)
    if stored != rf_masked_crc32c(payload.at, length[0]):
        return ZEROS if is_zeros(payload.end + FRAME_SIZE - HEADER_SIZE - 1, end) else BAD_PAYLOAD
    return WHOLE
