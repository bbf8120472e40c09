"""Parser for HistogramProto: its totals, and the positions of its buckets."""

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy

from runfold._core.wire cimport BYTES, FIXED64, Cursor, read_bytes, read_key, skip_field

cdef enum HistogramField:
    MIN = 1
    SUM_SQUARES = 5
    BUCKET_LIMIT = 6
    BUCKET = 7

cdef struct Histogram:
    double[5] totals   # min, max, num, sum, sum_squares
    int64_t limits     # number of bucket_limit values
    int64_t buckets    # number of bucket values


cdef inline bint parse_histogram(
    Cursor message, Histogram* out, double* limits, double* buckets
) noexcept nogil:
    """Parse a serialized HistogramProto; 0 if it is malformed.

    If `limits` is NULL, the buckets are only counted; otherwise both arrays must have
    room for all buckets.
    """
    cdef uint32_t field, wire_type
    cdef Cursor numbers
    cdef int64_t size
    cdef int i
    for i in range(5):
        out.totals[i] = 0
    out.limits = 0
    out.buckets = 0
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return 0
        if wire_type == FIXED64 and MIN <= field <= BUCKET:
            numbers.at = message.at
            if not skip_field(&message, field, wire_type):
                return 0
            numbers.end = message.at
        elif wire_type == BYTES and BUCKET_LIMIT <= field <= BUCKET:
            if not read_bytes(&message, &numbers):
                return 0
        elif skip_field(&message, field, wire_type):
            continue
        else:
            return 0
        size = numbers.end - numbers.at
        if size & 7:
            return 0
        if field <= SUM_SQUARES:
            memcpy(&out.totals[field - MIN], numbers.at, 8)
        elif field == BUCKET_LIMIT:
            if limits != NULL and size:
                memcpy(limits + out.limits, numbers.at, size)
            out.limits += size >> 3
        else:
            if limits != NULL and size:
                memcpy(buckets + out.buckets, numbers.at, size)
            out.buckets += size >> 3
    return 1


cdef inline bint histogram_is_valid(Cursor message) noexcept nogil:
    """Return whether the message is well-formed and has as many limits as buckets."""
    cdef Histogram histogram
    if not parse_histogram(message, &histogram, NULL, NULL):
        return 0
    return histogram.limits == histogram.buckets
