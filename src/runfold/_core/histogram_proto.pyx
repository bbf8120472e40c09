"""Decodes many HistogramProto messages to a few flat columns."""

from collections import namedtuple

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

from runfold._core.histogram_proto cimport Histogram, histogram_is_valid, parse_histogram
from runfold._core.wire cimport Cursor

HistogramColumns = namedtuple(
    "HistogramColumns",
    ["min", "max", "num", "sum", "sum_squares", "offsets", "right_edges", "counts", "valid"],
)


def decode_histograms(messages):
    """Return the columns of many serialized HistogramProto messages.

    The buckets of message i are `right_edges[offsets[i]:offsets[i + 1]]` and the
    same slice of `counts`; the totals have one number per message. A message that
    is malformed, or has different numbers of limits and buckets, is not `valid`: it
    has no buckets, and its totals are NaN.
    """
    # Copies, because the caller's buffers could change or be closed during decoding.
    cdef list owned = [
        message if type(message) is bytes else bytes(memoryview(message)) for message in messages
    ]
    cdef int64_t count = len(owned)
    cdef int64_t i
    cdef int column
    cdef Histogram histogram
    totals = np.empty((5, count))
    offsets = np.zeros(count + 1, np.int64)
    valid = np.zeros(count, np.bool_)
    cdef double[:, ::1] total = totals
    cdef int64_t[::1] offset = offsets
    cdef uint8_t[::1] is_valid = valid.view(np.uint8)
    cdef double[::1] edge, number
    cdef Cursor* cursors = <Cursor*> malloc((count + 1) * sizeof(Cursor))
    if cursors == NULL:
        raise MemoryError
    try:
        for i in range(count):
            cursors[i].at = <const uint8_t*> PyBytes_AS_STRING(owned[i])
            cursors[i].end = cursors[i].at + PyBytes_GET_SIZE(owned[i])
        with nogil:
            for i in range(count):
                is_valid[i] = parse_histogram(cursors[i], &histogram, NULL, NULL) and (
                    histogram.limits == histogram.buckets
                )
                offset[i + 1] = offset[i] + (histogram.buckets if is_valid[i] else 0)
                for column in range(5):
                    total[column, i] = histogram.totals[column] if is_valid[i] else NAN
        right_edges = np.empty(offsets[count])
        counts = np.empty(offsets[count])
        if right_edges.size:
            edge = right_edges
            number = counts
            with nogil:
                for i in range(count):
                    if offset[i + 1] > offset[i]:
                        parse_histogram(
                            cursors[i], &histogram, &edge[offset[i]], &number[offset[i]]
                        )
    finally:
        free(cursors)
    return HistogramColumns(*totals, offsets, right_edges, counts, valid)


def is_valid_histogram(const uint8_t[::1] data not None):
    """Return whether a HistogramProto is well-formed and has as many limits as buckets."""
    cdef Cursor message
    message.at = &data[0] if data.shape[0] else NULL
    message.end = message.at + data.shape[0]
    return histogram_is_valid(message)
