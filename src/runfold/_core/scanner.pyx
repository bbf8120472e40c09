"""Reads events for rewriting: locates everything, decodes nothing."""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from runfold._core.event cimport (
    COLLECTED,
    MALFORMED,
    OUT_OF_MEMORY,
    SCALAR,
    TENSOR,
    Outcome,
)
from runfold._core.fields cimport (
    EVENT_FILE_VERSION,
    EVENT_GRAPH,
    EVENT_META_GRAPH,
    EVENT_RUN_METADATA,
    EVENT_SESSION_LOG,
    EVENT_STEP,
    EVENT_SUMMARY,
    EVENT_WALL_TIME,
    SUMMARY_VALUE,
)
from runfold._core.metadata cimport keep_metadata
from runfold._core.stored cimport StoredValue, read_session_log, read_stored_value
from runfold._core.tag_table cimport SCALARS_PLUGIN, Tags, next_tag
from runfold._core.tensor_proto cimport Tensor, parse_tensor, scalar_value
from runfold._core.wire cimport (
    Cursor,
    read_bytes,
    read_fixed64,
    read_key,
    read_varint,
    skip_field,
)


cdef class Scanner:
    """Reads the events of a run one after the other; the current values are in `values`.

    Args:
        tags: the tags of the run; new tags are added.
    """

    def __cinit__(self, Tags tags not None, *_, **__):
        self.tags = tags
        self.event_flags = ALL_TAGS
        self.previous_tag = -1

    def __dealloc__(self):
        free(self.values)

    cdef Outcome read_event(self, Cursor at, Event* event) except OUT_OF_MEMORY:
        cdef uint32_t field, wire_type, key
        cdef uint64_t bits
        cdef Cursor body
        cdef Outcome outcome
        memset(event, 0, sizeof(Event))
        while at.at < at.end:
            if not read_key(&at, &field, &wire_type):
                return MALFORMED
            key = field << 3 | wire_type
            if key == EVENT_WALL_TIME:
                if not read_fixed64(&at, &bits):
                    return MALFORMED
                memcpy(&event.wall_time, &bits, 8)
            elif key == EVENT_STEP:
                if not read_varint(&at, &event.step):
                    return MALFORMED
                event.has_step = True
                event.lengths += 1
            elif key == EVENT_SUMMARY:
                if not read_bytes(&at, &body):
                    return MALFORMED
                event.lengths += 1
                outcome = self.read_summary(body, event)
                if outcome != COLLECTED:
                    return outcome
            else:
                body = at
                if not skip_field(&at, field, wire_type):
                    return MALFORMED
                if key == EVENT_FILE_VERSION:
                    event.has_version = True
                elif key == EVENT_SESSION_LOG:
                    event.is_restart = is_start(body)
                if self.drops(key):
                    event.has_dropped = True
                else:
                    event.has_others = True
        return COLLECTED

    cdef bint drops(self, uint32_t key) noexcept:
        """Return whether a field of the event itself is dropped."""
        if self.event_flags & ONLY_VALUES:
            if key in (EVENT_FILE_VERSION, EVENT_GRAPH, EVENT_META_GRAPH, EVENT_RUN_METADATA):
                return True
            if key == EVENT_SESSION_LOG:
                return not self.event_flags & RESTARTS
        if key in (EVENT_GRAPH, EVENT_META_GRAPH):
            return (self.event_flags & STRIP_GRAPH) != 0
        return key == EVENT_RUN_METADATA and (self.event_flags & STRIP_RUN_METADATA) != 0

    cdef Outcome read_summary(self, Cursor at, Event* event) except OUT_OF_MEMORY:
        cdef uint32_t field, wire_type
        cdef Cursor start
        cdef Value* value
        cdef Outcome outcome
        while at.at < at.end:
            start = at
            if not read_key(&at, &field, &wire_type):
                return MALFORMED
            if field << 3 | wire_type == SUMMARY_VALUE:
                value = self.new_value(event.values)
                if not read_bytes(&at, &value.message):
                    return MALFORMED
                value.field.at, value.field.end = start.at, at.at
                outcome = self.read_value(value)
                if outcome != COLLECTED:
                    return outcome
                event.values += 1
            elif skip_field(&at, field, wire_type):
                event.has_others = True
            else:
                return MALFORMED
        return COLLECTED

    cdef Value* new_value(self, size_t number) except NULL:
        cdef void* grown
        if number == self.values_room:
            grown = realloc(self.values, (2 * number + 8) * sizeof(Value))
            if grown == NULL:
                raise MemoryError
            self.values = <Value*> grown
            self.values_room = 2 * number + 8
        memset(&self.values[number], 0, sizeof(Value))
        return &self.values[number]

    cdef Outcome read_value(self, Value* value) except OUT_OF_MEMORY:
        cdef StoredValue stored
        cdef bint is_first
        cdef Tensor tensor
        cdef double number
        cdef Outcome outcome
        if not read_stored_value(value.message, &stored):
            return MALFORMED
        value.name, value.form = stored.name, stored.form
        value.has_metadata = stored.has_metadata
        value.tag = next_tag(&self.tags.table, self.previous_tag, value.name)
        if value.tag < 0:
            raise MemoryError
        self.previous_tag = value.tag
        value.plugin = self.tags.table.tags[value.tag].plugin
        if value.has_metadata:
            outcome = keep_metadata(
                &self.tags.table, value.tag, stored.metadata, &value.plugin, &is_first)
            if outcome == OUT_OF_MEMORY:
                raise MemoryError
            if outcome != COLLECTED:
                return outcome
        if value.form == TENSOR and value.plugin <= SCALARS_PLUGIN:
            if parse_tensor(stored.body, &tensor) and scalar_value(&tensor, &number) > 0:
                value.form = SCALAR
        return COLLECTED


cdef bint is_start(Cursor field) noexcept:
    """Return whether a session log, preceded by its length, starts a session."""
    cdef Cursor log
    cdef bint found = False
    return read_bytes(&field, &log) and read_session_log(log, &found) and found
