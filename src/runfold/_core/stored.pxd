"""Parsers for Summary.Value and SessionLog: their fields and positions."""

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from runfold._core.event cimport AUDIO, HISTOGRAM, IMAGE, NOTHING, SCALAR, TENSOR
from runfold._core.fields cimport (
    SESSION_STARTED,
    SESSION_STATUS,
    VALUE_AUDIO,
    VALUE_FLOAT64,
    VALUE_HISTOGRAM,
    VALUE_IMAGE,
    VALUE_METADATA,
    VALUE_SIMPLE,
    VALUE_TAG,
    VALUE_TENSOR,
)
from runfold._core.wire cimport (
    Cursor,
    read_bytes,
    read_fixed32,
    read_fixed64,
    read_key,
    read_varint,
    skip_field,
)

cdef struct StoredValue:
    Cursor name
    Cursor body             # of a tensor, histogram, image or clip
    Cursor metadata
    float simple
    double float64          # see VALUE_FLOAT64
    int32_t form
    bint has_metadata
    bint has_float64


cdef inline bint read_stored_value(Cursor at, StoredValue* value) noexcept nogil:
    """Find the fields of a Summary.Value; 0 if it is malformed.

    If a field has several values, the last one is used, as in protobuf.
    """
    cdef uint32_t field, wire_type, key, bits
    cdef uint64_t long_bits
    value.name.at = value.name.end = NULL
    value.body.at = value.body.end = NULL
    value.metadata.at = value.metadata.end = NULL
    value.form = NOTHING
    value.has_metadata = value.has_float64 = False
    value.simple = 0
    while at.at < at.end:
        if not read_key(&at, &field, &wire_type):
            return 0
        key = field << 3 | wire_type
        if key == VALUE_TAG:
            if not read_bytes(&at, &value.name):
                return 0
        elif key == VALUE_SIMPLE:
            if not read_fixed32(&at, &bits):
                return 0
            memcpy(&value.simple, &bits, 4)
            value.form = SCALAR
        elif key in (VALUE_TENSOR, VALUE_HISTOGRAM, VALUE_IMAGE, VALUE_AUDIO):
            if not read_bytes(&at, &value.body):
                return 0
            if key == VALUE_TENSOR:
                value.form = TENSOR
            elif key == VALUE_HISTOGRAM:
                value.form = HISTOGRAM
            else:
                value.form = IMAGE if key == VALUE_IMAGE else AUDIO
        elif key == VALUE_METADATA:
            if not read_bytes(&at, &value.metadata):
                return 0
            value.has_metadata = True
        elif key == VALUE_FLOAT64:
            if not read_fixed64(&at, &long_bits):
                return 0
            memcpy(&value.float64, &long_bits, 8)
            value.has_float64 = True
        elif not skip_field(&at, field, wire_type):
            return 0
    return 1


cdef inline double stored_number(const StoredValue* value) noexcept nogil:
    """Return the float64 of a scalar if it rounds to its `simple_value`, else `simple_value`.

    A program that changes `simple_value` and keeps unknown fields leaves a float64
    that no longer matches.
    """
    cdef float rounded
    if value.has_float64:
        rounded = <float> value.float64
        if rounded != rounded and value.simple != value.simple:
            return value.float64
        if memcmp(&rounded, &value.simple, 4) == 0:
            return value.float64
    return value.simple


cdef inline bint read_session_log(Cursor log, bint* is_start) noexcept nogil:
    """Determine whether a SessionLog starts a session; 0 if it is malformed."""
    cdef uint32_t field, wire_type
    cdef uint64_t status
    while log.at < log.end:
        if not read_key(&log, &field, &wire_type):
            return 0
        if field << 3 | wire_type == SESSION_STATUS:
            if not read_varint(&log, &status):
                return 0
            is_start[0] = status == SESSION_STARTED
        elif not skip_field(&log, field, wire_type):
            return 0
    return 1
