"""Reads Event and Summary messages into columns.

An event is read to its end before any of it is kept, so a malformed event leaves
only a note.
"""

from libc.math cimport NAN, isfinite
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.collected cimport (
    Collected,
    Value,
    add_item,
    add_note,
    add_restart,
    add_scalar,
    count_event,
    forget_metadata,
    new_value,
)
from runfold._core.event cimport (
    BAD_HISTOGRAM,
    BAD_TENSOR,
    COLLECTED,
    EVENT,
    FILE_VERSION,
    GRAPH,
    HISTOGRAM,
    MALFORMED,
    META_GRAPH,
    NOTHING,
    OUT_OF_MEMORY,
    ROUNDED_INTEGER,
    RUN_METADATA,
    SCALAR,
    SOURCE,
    SUMMARY,
    TENSOR,
    UNKNOWN_WALL_TIME,
    Outcome,
)
from runfold._core.fields cimport (
    EVENT_FILE_VERSION,
    EVENT_GRAPH,
    EVENT_META_GRAPH,
    EVENT_RUN_METADATA,
    EVENT_SESSION_LOG,
    EVENT_SOURCE,
    EVENT_STEP,
    EVENT_SUMMARY,
    EVENT_WALL_TIME,
    RUN_METADATA_TAG,
    SUMMARY_VALUE,
)
from runfold._core.histogram_proto cimport histogram_is_valid
from runfold._core.metadata cimport keep_metadata
from runfold._core.plain cimport Plain, read_plain
from runfold._core.record cimport HEADER_SIZE
from runfold._core.stored cimport (
    StoredValue,
    read_session_log,
    read_stored_value,
    stored_number,
)
from runfold._core.tag_table cimport SCALARS_PLUGIN, UNKNOWN_PLUGIN, next_tag
from runfold._core.tensor_proto cimport Tensor, parse_tensor, scalar_value, tensor_fits
from runfold._core.wire cimport (
    Cursor,
    read_bytes,
    read_fixed64,
    read_key,
    read_varint,
    skip_field,
)


cdef bint add_scalar_item(Collected* into, int32_t tag, int64_t step, double wall_time,
                          double scalar, int64_t record) noexcept nogil:
    """Append a scalar to the items; 0 when out of memory."""
    cdef Value value
    cdef int64_t bits
    value.bytes.at = value.bytes.end = NULL
    value.tag = tag
    value.form = SCALAR
    value.plugin = UNKNOWN_PLUGIN
    memcpy(&bits, &scalar, 8)
    return add_item(into, &value, step, wall_time, record, bits)


cdef bint read_tensor(Value* value, Cursor message, bint is_in_order) noexcept nogil:
    """Read a tensor with one number as a scalar, unless another plugin owns it."""
    cdef Tensor tensor
    cdef int answer = 0
    if not parse_tensor(message, &tensor):
        return 0
    if is_in_order:
        return 1
    if value.plugin <= SCALARS_PLUGIN:
        answer = scalar_value(&tensor, &value.scalar)
    if answer > 0:
        value.form = SCALAR
        value.note = ROUNDED_INTEGER if answer == 2 else 0
    elif answer < 0 or not tensor_fits(&tensor):
        value.note = BAD_TENSOR
        value.is_dropped = True
    return 1


cdef Outcome read_value(Collected* into, Cursor message) noexcept nogil:
    """Read one Summary.Value into the values of the event."""
    cdef Value* value = new_value(into, NOTHING, message)
    cdef StoredValue stored
    cdef Outcome outcome
    if value == NULL:
        return OUT_OF_MEMORY
    if not read_stored_value(message, &stored):
        return MALFORMED
    if stored.form == NOTHING and not stored.has_metadata and not into.is_in_order:
        return COLLECTED
    value.form = stored.form
    value.tag = next_tag(into.tags, into.previous_tag, stored.name)
    if value.tag < 0:
        return OUT_OF_MEMORY
    into.previous_tag = value.tag
    into.values_size += 1
    value.plugin = into.tags.tags[value.tag].plugin
    if stored.has_metadata:
        outcome = keep_metadata(
            into.tags, value.tag, stored.metadata, &value.plugin, &value.is_first_metadata)
        if outcome != COLLECTED:
            return outcome
    if value.form == SCALAR:
        # In file order, the value of a scalar is the field that TensorBoard reads: `simple_value`.
        value.scalar = stored.simple if into.is_in_order else stored_number(&stored)
    elif value.form == TENSOR:
        if not read_tensor(value, stored.body, into.is_in_order):
            return MALFORMED
    elif value.form == HISTOGRAM and not into.is_in_order:
        if not histogram_is_valid(stored.body):
            value.note = BAD_HISTOGRAM
            value.is_dropped = True
    return COLLECTED


cdef Outcome read_summary(Collected* into, Cursor summary) noexcept nogil:
    cdef uint32_t field, wire_type
    cdef Cursor message
    cdef Outcome outcome
    while summary.at < summary.end:
        if not read_key(&summary, &field, &wire_type):
            return MALFORMED
        if field << 3 | wire_type == SUMMARY_VALUE:
            if not read_bytes(&summary, &message):
                return MALFORMED
            outcome = read_value(into, message)
            if outcome != COLLECTED:
                return outcome
        elif not skip_field(&summary, field, wire_type):
            return MALFORMED
    return COLLECTED


cdef Outcome add_payload(Collected* into, int32_t form, Cursor bytes_, Cursor* tag) noexcept nogil:
    """Keep a graph or run metadata of the event as one of its values."""
    cdef Value* value = new_value(into, form, bytes_)
    if value == NULL:
        return OUT_OF_MEMORY
    if tag != NULL:
        value.tag = next_tag(into.tags, into.previous_tag, tag[0])
        if value.tag < 0:
            return OUT_OF_MEMORY
        into.previous_tag = value.tag
    into.values_size += 1
    return COLLECTED


cdef Outcome read_run_metadata(Collected* into, Cursor message) noexcept nogil:
    cdef uint32_t field, wire_type
    cdef Cursor whole = message
    cdef Cursor tag
    tag.at = tag.end = message.end
    while message.at < message.end:
        if not read_key(&message, &field, &wire_type):
            return MALFORMED
        if field << 3 | wire_type == RUN_METADATA_TAG:
            if not read_bytes(&message, &tag):
                return MALFORMED
        elif not skip_field(&message, field, wire_type):
            return MALFORMED
    return add_payload(into, RUN_METADATA, whole, &tag)


cdef bint keep_values(Collected* into, int64_t step, double wall_time, int64_t record,
                      const unsigned char* payload) noexcept nogil:
    """Add the values of a valid event to the columns; 0 when out of memory."""
    cdef const Value* value
    cdef size_t i
    cdef int64_t start
    for i in range(into.values_size):
        value = &into.values[i]
        if value.note and not add_note(into, record, value.note, value.tag):
            return 0
        if value.is_dropped:
            continue
        if value.form == SCALAR:
            if into.is_in_order:
                if not add_scalar_item(into, value.tag, step, wall_time, value.scalar, record):
                    return 0
            elif not add_scalar(into, value.tag, step, wall_time, value.scalar):
                return 0
        else:
            start = record + HEADER_SIZE + (value.bytes.at - payload)
            if not add_item(into, value, step, wall_time, record, start):
                return 0
    return 1


cdef Outcome keep_plain(Collected* into, const Plain* plain, int64_t record) noexcept nogil:
    cdef int32_t tag = next_tag(into.tags, into.previous_tag, plain.name)
    if tag < 0:
        return OUT_OF_MEMORY
    into.previous_tag = tag
    if into.is_in_order:
        if not add_scalar_item(
            into, tag, <int64_t> plain.step, plain.wall_time, plain.scalar, record
        ):
            return OUT_OF_MEMORY
    elif not add_scalar(into, tag, <int64_t> plain.step, plain.wall_time, plain.scalar):
        return OUT_OF_MEMORY
    count_event(into, plain.wall_time)
    return COLLECTED


cdef Outcome collect_event(Collected* into, Cursor event, int64_t record) noexcept nogil:
    """Read one serialized Event whose record starts at byte `record` of the file."""
    cdef Outcome outcome = read_event(into, event, record)
    if outcome == MALFORMED:
        forget_metadata(into)
    return outcome


cdef Outcome read_event(Collected* into, Cursor event, int64_t record) noexcept nogil:
    cdef const unsigned char* payload = event.at
    cdef uint32_t field, wire_type, key
    cdef uint64_t bits, step = 0
    cdef double wall_time = 0
    cdef Cursor body
    cdef bint is_start = False
    cdef bint has_wall_time = False
    cdef bint has_summary = False
    cdef Outcome outcome = COLLECTED
    cdef Plain plain
    if read_plain(event, &plain):
        return keep_plain(into, &plain, record)
    into.values_size = 0
    while event.at < event.end:
        if not read_key(&event, &field, &wire_type):
            return MALFORMED
        key = field << 3 | wire_type
        if key == EVENT_WALL_TIME:
            if not read_fixed64(&event, &bits):
                return MALFORMED
            memcpy(&wall_time, &bits, 8)
            has_wall_time = True
        elif key == EVENT_STEP:
            if not read_varint(&event, &step):
                return MALFORMED
        elif key == EVENT_SUMMARY:
            if not read_bytes(&event, &body):
                return MALFORMED
            outcome = read_summary(into, body)
            has_summary = True
        elif key == EVENT_SESSION_LOG:
            if not read_bytes(&event, &body) or not read_session_log(body, &is_start):
                return MALFORMED
        elif key == EVENT_GRAPH:
            if not read_bytes(&event, &body):
                return MALFORMED
            outcome = add_payload(into, GRAPH, body, NULL)
        elif key == EVENT_META_GRAPH:
            if not read_bytes(&event, &body):
                return MALFORMED
            outcome = add_payload(into, META_GRAPH, body, NULL)
        elif key == EVENT_RUN_METADATA:
            if not read_bytes(&event, &body):
                return MALFORMED
            outcome = read_run_metadata(into, body)
        elif into.is_in_order and key in (EVENT_FILE_VERSION, EVENT_SOURCE):
            if not read_bytes(&event, &body):
                return MALFORMED
            outcome = add_payload(
                into, FILE_VERSION if key == EVENT_FILE_VERSION else SOURCE, body, NULL)
        elif not skip_field(&event, field, wire_type):
            return MALFORMED
        if outcome != COLLECTED:
            return outcome
    if into.is_in_order:
        if into.values_size == 0:
            body.at = body.end = payload
            outcome = add_payload(into, SUMMARY if has_summary else EVENT, body, NULL)
            if outcome != COLLECTED:
                return outcome
    elif not isfinite(wall_time):
        wall_time = NAN
        if not add_note(into, record, UNKNOWN_WALL_TIME, -1):
            return OUT_OF_MEMORY
    count_event(into, wall_time if has_wall_time else NAN)
    if is_start and not add_restart(into, <int64_t> step):
        return OUT_OF_MEMORY
    if not keep_values(into, <int64_t> step, wall_time, record, payload):
        return OUT_OF_MEMORY
    return COLLECTED
