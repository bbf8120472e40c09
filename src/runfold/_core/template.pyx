"""Splits events into templates and numbers, and joins them again byte for byte.

A training loop writes the same event over and over: only its wall time, its step
and its number change. `take_apart` finds the events that consist only of templates
and numbers in protobuf's canonical form; `put_together` creates the same bytes
again.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from runfold._core.checksum cimport rf_crc32c_init
from runfold._core.encoder cimport (
    BOTH,
    DOUBLE,
    EVENT_ROOM,
    SINGLE,
    close_record,
    put_event_head,
    put_varint,
    varint_size,
)
from runfold._core.record cimport (
    BAD_PAYLOAD,
    FRAME_SIZE,
    HEADER_SIZE,
    WHOLE,
    Framing,
    read_record,
)
from runfold._core.tag_table cimport Tags
from runfold._core.wire cimport Cursor, read_bytes, read_fixed64, read_varint

rf_crc32c_init()

PART = np.dtype(
    [
        ("record", np.int64),
        ("start", np.int64),
        ("length", np.int64),
        ("step", np.int64),
        ("wall_time", np.float64),
        ("value", np.float64),
        ("index", np.int32),
        ("template", np.int32),
    ]
)

# Special values of `index`, for parts that do not hold the value of a rebuildable event.
EVENT, BROKEN = -1, -2
TEMPLATE_HEAD = HEAD

cdef struct Part:
    int64_t record          # position of the record in the file
    int64_t start           # position of the bytes of the value, event or broken range
    int64_t length
    int64_t step
    double wall_time
    double value
    int32_t index           # index of the value in its event, or EVENT or BROKEN
    int32_t template_       # -1: the value's own bytes are needed

assert PART.itemsize == sizeof(Part)

cdef struct Parts:
    Part* data
    size_t size
    size_t room


cdef bint add_part(Parts* parts, Part part) noexcept nogil:
    cdef void* grown
    cdef size_t room
    if parts.size == parts.room:
        room = parts.room * 2 if parts.room else 256
        if room > (<size_t> -1) // (2 * sizeof(Part)):
            return 0
        grown = realloc(parts.data, room * sizeof(Part))
        if grown == NULL:
            return 0
        parts.data = <Part*> grown
        parts.room = room
    parts.data[parts.size] = part
    parts.size += 1
    return 1


cdef inline bint read_length(Cursor* at, Cursor* body) noexcept nogil:
    """Read a byte string whose length has the shortest encoding."""
    cdef const uint8_t* before = at.at
    if not read_bytes(at, body):
        return 0
    return <size_t> (body.at - before) == varint_size(body.end - body.at)


cdef int take_event(
    Parts* parts, Tags templates, int32_t* previous, Cursor event, int64_t record
) noexcept nogil:
    """Add the values of an event; 0 if its form is not canonical, -1 when out of memory."""
    cdef const uint8_t* payload = event.at
    cdef const uint8_t* before
    cdef uint64_t bits = 0, step = 0
    cdef Part part
    cdef Cursor body, message
    cdef size_t first = parts.size
    part.record = record
    part.index = 0
    part.wall_time = 0
    part.value = 0
    part.template_ = -1
    if event.at < event.end and event.at[0] == 0x09:
        event.at += 1
        if not read_fixed64(&event, &bits) or bits == 0:
            return 0
        memcpy(&part.wall_time, &bits, 8)
        if not isfinite(part.wall_time):
            return 0
    if event.at < event.end and event.at[0] == 0x10:
        event.at += 1
        before = event.at
        if not read_varint(&event, &step) or step == 0:
            return 0
        if <size_t> (event.at - before) != varint_size(step):
            return 0
    part.step = <int64_t> step
    if event.at == event.end:
        return 0
    if event.at[0] in (0x22, 0x42, 0x4A):  # graph, run metadata, meta graph
        event.at += 1
        if not read_length(&event, &body) or event.at != event.end:
            return 0
        part.start = record + HEADER_SIZE + (body.at - payload)
        part.length = body.end - body.at
        return 1 if add_part(parts, part) else -1
    if event.at[0] != 0x2A:
        return 0
    event.at += 1
    if not read_length(&event, &body) or event.at != event.end or body.at == body.end:
        return 0
    while body.at < body.end:
        if body.at[0] == 0x0A:
            body.at += 1
            if read_length(&body, &message):
                part.start = record + HEADER_SIZE + (message.at - payload)
                part.length = message.end - message.at
                part.template_ = find_template(templates, previous, message, &part.value)
                if part.template_ == -2 or not add_part(parts, part):
                    return -1
                part.index += 1
                continue
        parts.size = first
        return 0
    return 1


cdef int64_t take_records(
    Parts* parts, Tags templates, const uint8_t* data, int64_t size, int64_t base, uint64_t limit
) noexcept nogil:
    """Split complete records; return their size in bytes, or -1 when out of memory."""
    cdef const uint8_t* at = data
    cdef const uint8_t* end = data + size
    cdef int32_t previous = -1
    cdef uint64_t length
    cdef int64_t record
    cdef Framing framing
    cdef Cursor payload
    cdef Part part
    cdef int taken
    while at < end:
        framing = read_record(at, end, limit, &payload, &length)
        record = base + (at - data)
        if framing == WHOLE:
            taken = take_event(parts, templates, &previous, payload, record)
            if taken < 0:
                return -1
            if taken == 0:
                part = Part(
                    record=record, start=record + HEADER_SIZE, length=<int64_t> length, step=0,
                    wall_time=0, value=0, index=-1, template_=-1)
                if not add_part(parts, part):
                    return -1
        elif framing == BAD_PAYLOAD:
            part = Part(
                record=record, start=record, length=<int64_t> length + FRAME_SIZE, step=0,
                wall_time=0, value=0, index=-2, template_=-1)
            if not add_part(parts, part):
                return -1
        else:
            break
        at += length + FRAME_SIZE
    return at - data


def take_apart(const uint8_t[::1] data not None, int64_t base, Tags templates not None,
               uint64_t limit):
    """Return the parts of the complete records in `data`, which starts at byte `base` of a file.

    Returns:
        parts: an array of `PART`, in file order.
        size: the size of the records in bytes; the rest is torn, broken or empty.
    """
    cdef Parts parts
    cdef int64_t size
    cdef const uint8_t* first = &data[0] if data.shape[0] else NULL
    memset(&parts, 0, sizeof(Parts))
    templates.check_idle()
    templates.is_busy = True
    try:
        with nogil:
            size = take_records(
                &parts, templates, first, data.shape[0], base, min(limit, <uint64_t> 1 << 62))
        if size < 0:
            raise MemoryError("out of memory for the parts of an event file")
        taken = PyBytes_FromStringAndSize(
            <const char*> parts.data, <Py_ssize_t> (parts.size * sizeof(Part)))
    finally:
        templates.is_busy = False
        free(parts.data)
    return np.frombuffer(taken, PART), size


def fill(bytes template not None, double value):
    """Return a serialized `Summary.Value`: a template with a number in it."""
    cdef const uint8_t* source = <const uint8_t*> PyBytes_AS_STRING(template)
    cdef size_t size = check_template(template)
    out = PyBytes_FromStringAndSize(NULL, size)
    put_value(<uint8_t*> PyBytes_AS_STRING(out), source, size, value)
    return out


cdef size_t check_template(bytes template) except? 0:
    """Return the length of a template's value. Raises ValueError if its number is outside it."""
    cdef const uint8_t* head = <const uint8_t*> PyBytes_AS_STRING(template)
    cdef size_t size = len(template)
    if not HEAD <= size <= LONGEST + HEAD or head[2] not in (SINGLE, DOUBLE, BOTH) or (
        head[0] + (<size_t> head[1] << 8) + head[2] > size - HEAD
    ):
        raise ValueError("a template must contain the position of its number")
    return size - HEAD


def put_together(
    list templates not None,
    const int64_t[::1] records not None,
    const int32_t[::1] numbers not None,
    const int64_t[::1] steps not None,
    const double[::1] wall_times not None,
    const double[::1] values not None,
):
    """Return the framed events of the given scalars; scalars of one record share one event.

    Args:
        templates: all templates, by number.
        records: the start of each scalar's event; equal values are adjacent.
        numbers: the template number of each scalar.
        steps, wall_times, values: the columns of the scalars; an event uses the step and
            wall time of its first scalar.

    Raises ValueError for a missing or invalid template.
    """
    cdef Py_ssize_t n = records.shape[0], i = 0, j, k
    cdef size_t most = 0, size
    cdef const uint8_t* template_
    cdef uint8_t* record
    cdef uint8_t* at
    if not (n == numbers.shape[0] == steps.shape[0] == wall_times.shape[0] == values.shape[0]):
        raise ValueError("the columns differ in length")
    for i in range(n):
        if not 0 <= numbers[i] < len(templates):
            raise ValueError(f"there is no template {numbers[i]}")
    sizes = [check_template(template) for template in templates]
    cdef int64_t[::1] lengths = np.array([*sizes, 0], np.int64)
    for i in range(n):
        most += EVENT_ROOM + 22 + lengths[numbers[i]]
    out = bytearray(most)
    if n == 0:
        return bytes(out)
    cdef uint8_t[::1] view = out
    record = &view[0]
    i = 0
    while i < n:
        j = i
        size = 0
        while j < n and records[j] == records[i]:
            size += 1 + varint_size(lengths[numbers[j]]) + lengths[numbers[j]]
            j += 1
        at = put_event_head(record + HEADER_SIZE, steps[i], wall_times[i])
        at[0] = 0x2A
        at = put_varint(at + 1, size)
        for k in range(i, j):
            at[0] = 0x0A
            at = put_varint(at + 1, lengths[numbers[k]])
            template_ = <const uint8_t*> PyBytes_AS_STRING(<bytes?> templates[numbers[k]])
            at = put_value(at, template_, lengths[numbers[k]], values[k])
        record = close_record(record, at)
        i = j
    size = record - &view[0]
    return bytes(memoryview(out)[:size])
