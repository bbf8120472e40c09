"""Event and Summary messages, read into columns.

An event is read to its end before anything of it is kept, so a malformed one
leaves nothing behind but its note.
"""

from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from runfold.core.event cimport (
    AUDIO,
    BAD_HISTOGRAM,
    BAD_TENSOR,
    COLLECTED,
    EVENT,
    FILE_VERSION,
    GRAPH,
    HISTOGRAM,
    IMAGE,
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
    Advance,
    Collected,
    Item,
    Note,
    Outcome,
    Restart,
    Value,
)
from runfold.core.histogram cimport histogram_is_valid
from runfold.core.metadata cimport keep_metadata
from runfold.core.points cimport Points, add_point, free_points
from runfold.core.record cimport HEADER_SIZE
from runfold.core.tags cimport SCALARS_PLUGIN, UNKNOWN_PLUGIN, next_tag
from runfold.core.tensor cimport Tensor, parse_tensor, scalar_value, tensor_fits
from runfold.core.wire cimport (
    Cursor,
    read_bytes,
    read_fixed32,
    read_fixed64,
    read_key,
    read_varint,
    skip_field,
)

# A field's number and wire type as one number, the way they stand in the bytes.
cdef enum:
    EVENT_WALL_TIME = 1 << 3 | 1
    EVENT_STEP = 2 << 3
    EVENT_FILE_VERSION = 3 << 3 | 2
    EVENT_GRAPH = 4 << 3 | 2
    EVENT_SUMMARY = 5 << 3 | 2
    EVENT_SESSION_LOG = 7 << 3 | 2
    EVENT_RUN_METADATA = 8 << 3 | 2
    EVENT_META_GRAPH = 9 << 3 | 2
    EVENT_SOURCE = 10 << 3 | 2
    SUMMARY_VALUE = 1 << 3 | 2
    VALUE_TAG = 1 << 3 | 2
    VALUE_SIMPLE = 2 << 3 | 5
    VALUE_IMAGE = 4 << 3 | 2
    VALUE_HISTOGRAM = 5 << 3 | 2
    VALUE_AUDIO = 6 << 3 | 2
    VALUE_TENSOR = 8 << 3 | 2
    VALUE_METADATA = 9 << 3 | 2
    SESSION_STATUS = 1 << 3
    SESSION_STARTED = 1
    RUN_METADATA_TAG = 1 << 3 | 2


cdef bint make_room(void** data, size_t size, size_t* room, size_t item) noexcept nogil:
    """See that there is room for one more item; 0 when memory is out."""
    cdef size_t wanted
    cdef void* grown
    if size < room[0]:
        return 1
    wanted = room[0] * 2 if room[0] else 16
    if wanted > (<size_t> -1) // (2 * item):
        return 0
    grown = realloc(data[0], wanted * item)
    if grown == NULL:
        return 0
    data[0] = grown
    room[0] = wanted
    return 1


cdef bint add_note(Collected* into, int64_t offset, int32_t code, int32_t tag) noexcept nogil:
    if not make_room(<void**> &into.notes, into.notes_size, &into.notes_room, sizeof(Note)):
        return 0
    into.notes[into.notes_size] = Note(offset=offset, code=code, tag=tag)
    into.notes_size += 1
    return 1


cdef inline Points* points_of(Collected* into, int32_t tag) noexcept nogil:
    """The points of a tag, empty if it is new; NULL when memory is out."""
    cdef size_t room
    cdef void* grown
    if <size_t> tag >= into.points_room:
        room = into.tags.room
        grown = realloc(into.points, room * sizeof(Points))
        if grown == NULL:
            return NULL
        into.points = <Points*> grown
        memset(into.points + into.points_room, 0, (room - into.points_room) * sizeof(Points))
        into.points_room = room
    return &into.points[tag]


cdef bint add_item(Collected* into, const Value* value, int64_t step, double wall_time,
                   int64_t record, int64_t start) noexcept nogil:
    cdef Item* item
    if not make_room(<void**> &into.items, into.items_size, &into.items_room, sizeof(Item)):
        return 0
    item = &into.items[into.items_size]
    item.step = step
    item.wall_time = wall_time
    item.record = record
    item.start = start
    item.length = value.bytes.end - value.bytes.at
    item.tag = value.tag
    item.form = <int16_t> value.form
    item.plugin = <int16_t> value.plugin
    into.items_size += 1
    return 1


cdef inline bint add_scalar(
    Collected* into, int32_t tag, int64_t step, double wall_time, double value
) noexcept nogil:
    """Append a point to those of its tag; 0 when memory is out."""
    cdef Points* points = points_of(into, tag)
    if points == NULL:
        return 0
    if points.restarts != into.restarts_size + 1:
        if not make_room(
            <void**> &into.advances, into.advances_size, &into.advances_room, sizeof(Advance)
        ):
            return 0
        into.advances[into.advances_size] = Advance(tag=tag, points=0)
        into.advances_size += 1
        points.restarts = into.restarts_size + 1
    return add_point(points, step, wall_time, value)


cdef bint add_scalar_item(Collected* into, int32_t tag, int64_t step, double wall_time,
                          double scalar, int64_t record) noexcept nogil:
    """Append a scalar to the items; 0 when memory is out."""
    cdef Value value
    cdef int64_t bits
    value.bytes.at = value.bytes.end = NULL
    value.tag = tag
    value.form = SCALAR
    value.plugin = UNKNOWN_PLUGIN
    memcpy(&bits, &scalar, 8)
    return add_item(into, &value, step, wall_time, record, bits)


cdef bint add_restart(Collected* into, int64_t step) noexcept nogil:
    cdef Restart* restart
    cdef size_t i = 0
    if not make_room(
        <void**> &into.restarts, into.restarts_size, &into.restarts_room, sizeof(Restart)
    ):
        return 0
    restart = &into.restarts[into.restarts_size]
    restart.step = step
    restart.items = into.items_size
    restart.advances = into.advances_size
    if into.restarts_size:
        i = into.restarts[into.restarts_size - 1].advances
    for i in range(i, into.advances_size):
        into.advances[i].points = into.points[into.advances[i].tag].size
    into.restarts_size += 1
    return 1


cdef void forget_metadata(Collected* into) noexcept nogil:
    """Take back what the values of a malformed event said of their tags."""
    cdef size_t i
    for i in range(into.values_size):
        if into.values[i].is_first_metadata:
            into.tags.tags[into.values[i].tag].plugin = UNKNOWN_PLUGIN


cdef bint read_tensor(Value* value, Cursor message, bint is_in_order) noexcept nogil:
    """Take a tensor of one number as a scalar, unless another plugin owns it."""
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


cdef Value* new_value(Collected* into, int32_t form, Cursor bytes_) noexcept nogil:
    """Room for the event's next value, which counts once `values_size` says so; NULL if none."""
    cdef Value* value
    if not make_room(<void**> &into.values, into.values_size, &into.values_room, sizeof(Value)):
        return NULL
    value = &into.values[into.values_size]
    value.bytes = bytes_
    value.form = form
    value.tag = -1
    value.plugin = UNKNOWN_PLUGIN
    value.note = 0
    value.is_dropped = False
    value.is_first_metadata = False
    return value


cdef Outcome read_value(Collected* into, Cursor message) noexcept nogil:
    """Read one Summary.Value into the values of the event."""
    cdef Value* value = new_value(into, NOTHING, message)
    cdef Cursor at = message
    cdef Cursor name, body, metadata
    cdef uint32_t field, wire_type, key, bits
    cdef float simple
    cdef Outcome outcome
    cdef bint has_metadata = False
    if value == NULL:
        return OUT_OF_MEMORY
    name.at = name.end = metadata.at = metadata.end = NULL
    while at.at < at.end:
        if not read_key(&at, &field, &wire_type):
            return MALFORMED
        key = field << 3 | wire_type
        if key == VALUE_TAG:
            if not read_bytes(&at, &name):
                return MALFORMED
        elif key == VALUE_SIMPLE:
            if not read_fixed32(&at, &bits):
                return MALFORMED
            memcpy(&simple, &bits, 4)
            value.scalar = simple
            value.form = SCALAR
        elif key in (VALUE_TENSOR, VALUE_HISTOGRAM, VALUE_IMAGE, VALUE_AUDIO):
            if not read_bytes(&at, &body):
                return MALFORMED
            # Of several, the last counts, as for protobuf.
            if key == VALUE_TENSOR:
                value.form = TENSOR
            elif key == VALUE_HISTOGRAM:
                value.form = HISTOGRAM
            else:
                value.form = IMAGE if key == VALUE_IMAGE else AUDIO
        elif key == VALUE_METADATA:
            if not read_bytes(&at, &metadata):
                return MALFORMED
            has_metadata = True
        elif not skip_field(&at, field, wire_type):
            return MALFORMED
    if value.form == NOTHING and not has_metadata and not into.is_in_order:
        return COLLECTED
    value.tag = next_tag(into.tags, into.previous_tag, name)
    if value.tag < 0:
        return OUT_OF_MEMORY
    into.previous_tag = value.tag
    into.values_size += 1
    value.plugin = into.tags.tags[value.tag].plugin
    if has_metadata:
        outcome = keep_metadata(
            into.tags, value.tag, metadata, &value.plugin, &value.is_first_metadata)
        if outcome != COLLECTED:
            return outcome
    if value.form == TENSOR:
        if not read_tensor(value, body, into.is_in_order):
            return MALFORMED
    elif value.form == HISTOGRAM and not into.is_in_order and not histogram_is_valid(body):
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


cdef bint read_session_log(Cursor log, bint* is_start) noexcept nogil:
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
    """Add the values of a sound event to the columns; 0 when memory is out."""
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


cdef struct Plain:
    double wall_time
    uint64_t step
    Cursor name
    float scalar


cdef bint read_plain(Cursor event, Plain* out) noexcept nogil:
    """Read an event that is one simple value in the shape that every writer gives it.

    Nearly all events are: wall time, step, and a summary of one value with a tag
    and a number, each length a single byte. Knowing the shape saves the walk
    through four levels of fields, a quarter of the time; 0 means: take the walk.
    """
    cdef size_t left = event.end - event.at
    cdef const unsigned char* at = event.at
    if left < 24 or at[0] != EVENT_WALL_TIME or at[9] != EVENT_STEP:
        return 0
    memcpy(&out.wall_time, at + 1, 8)
    event.at = at + 10
    if not read_varint(&event, &out.step):
        return 0
    at = event.at
    left = event.end - at
    if left < 11 or left > 0x7F or not isfinite(out.wall_time):
        return 0
    out.name.at = at + 6
    out.name.end = event.end - 5
    memcpy(&out.scalar, event.end - 4, 4)
    return (
        at[0] == EVENT_SUMMARY and at[1] == left - 2
        and at[2] == SUMMARY_VALUE and at[3] == left - 4
        and at[4] == VALUE_TAG and at[5] == left - 11
        and out.name.end[0] == VALUE_SIMPLE
    )


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


cdef void count_event(Collected* into, double wall_time) noexcept nogil:
    into.events += 1
    if isnan(into.first_wall_time):
        into.first_wall_time = wall_time
    if not isnan(wall_time):
        into.last_wall_time = wall_time


cdef Outcome collect_event(Collected* into, Cursor event, int64_t record) noexcept nogil:
    """Read one serialised Event whose record starts at byte `record` of the file."""
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


cdef void free_collected(Collected* collected) noexcept nogil:
    cdef size_t i
    for i in range(collected.points_room):
        free_points(&collected.points[i])
    free(collected.points)
    free(collected.items)
    free(collected.notes)
    free(collected.restarts)
    free(collected.advances)
    free(collected.values)
