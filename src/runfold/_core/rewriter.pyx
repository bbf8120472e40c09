"""Copies event records with some of their values dropped, renamed or shifted.

Records without changes are copied byte for byte. In a changed record, all other bytes
are kept, including unknown fields.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from runfold._core.checksum cimport rf_crc32c_init
from runfold._core.decider cimport MOVES_STEP, MOVES_TIME, Decider
from runfold._core.encoder cimport (
    MAX_VARINT,
    EventBuffer,
    close_record,
    put_raw,
    put_varint,
    varint_size,
)
from runfold._core.event cimport MALFORMED, Outcome
from runfold._core.fields cimport EVENT_STEP, EVENT_SUMMARY, EVENT_WALL_TIME, SUMMARY_VALUE
from runfold._core.record cimport (
    AT_BOUNDARY,
    AT_END,
    BAD_PAYLOAD,
    FRAME_SIZE,
    HEADER_SIZE,
    WHOLE,
    Framing,
    find_reason,
    read_record,
)
from runfold._core.scanner cimport ONLY_VALUES, RESTARTS, Event, Value
from runfold._core.wire cimport (
    Cursor,
    read_bytes,
    read_fixed64,
    read_key,
    read_varint,
    skip_field,
)

rf_crc32c_init()

# Where the rewriter stops, so that the following records can be written to another file.
cpdef enum Boundary:
    AT_VERSION = 1
    AT_RESTART = 2


cdef class Rewriter(Decider):
    """Copies the records of one run's event files, applying rules; without rules it only counts."""

    cdef readonly int stop
    cdef readonly int boundary  # the boundary of the last stop
    cdef readonly uint64_t needed
    cdef readonly int64_t events
    cdef readonly int64_t events_kept
    cdef readonly int64_t events_changed
    cdef readonly int64_t bad_records
    cdef readonly double first_wall_time
    cdef readonly bint has_wall_time
    cdef bint is_fresh

    def __cinit__(self, *_, **__):
        self.begin()

    def begin(self, bint is_new_run=True):
        """Start a file; its header is not a boundary.

        In a new run, the first value of each tag must have its metadata again.
        """
        cdef size_t tag
        self.is_fresh = True
        self.previous_tag = -1
        for tag in range(self.counts_room if is_new_run else 0):
            self.counts[tag].is_written = False

    def rewrite(self, const uint8_t[::1] buffer not None, EventBuffer out=None):
        """Copy the complete records in the buffer; return the number of bytes used.

        `stop` is the reason for stopping at that position. A record with a bad payload
        is dropped and counted; a record that is not a valid event is copied
        unchanged. If `out` is None, records are only counted.
        """
        cdef const uint8_t* first = &buffer[0] if buffer.shape[0] else NULL
        cdef const uint8_t* at = first
        cdef const uint8_t* end = first + buffer.shape[0]
        cdef Cursor payload
        cdef uint64_t length
        cdef Framing framing
        self.tags.check_idle()
        while at < end:
            framing = read_record(at, end, self.max_record, &payload, &length)
            if framing == WHOLE:
                if not self.take(at, payload, out):
                    self.stop = AT_BOUNDARY
                    return at - first
            elif framing == BAD_PAYLOAD:
                self.bad_records += 1
            else:
                self.needed = length + FRAME_SIZE if length <= self.max_record else length
                self.stop = find_reason(framing)
                return at - first
            at += length + FRAME_SIZE
        self.stop = AT_END
        return at - first

    cdef bint take(self, const uint8_t* record, Cursor payload, EventBuffer out) except -1:
        """Copy one record with its changes; 0 if it is a boundary, which is left for later."""
        cdef Event event
        cdef Outcome outcome = self.read_event(payload, &event)
        cdef int boundary
        if outcome == MALFORMED:
            self.events += 1
            if not self.event_flags & ONLY_VALUES:
                self.keep(record, payload, out)
            return 1
        boundary = AT_VERSION if event.has_version else 0
        boundary = (boundary | (AT_RESTART if event.is_restart else 0)) & self.boundaries
        if boundary and not self.is_fresh:
            self.boundary = boundary
            return 0
        if not event.has_version and not event.is_restart:
            self.is_fresh = False
        self.events += 1
        if event.is_restart:
            self.restarts.append(<int64_t> event.step)
        if not self.has_wall_time:
            self.first_wall_time, self.has_wall_time = event.wall_time, True
        if self.decide(&event):
            self.write(payload, &event, out)
        else:
            self.keep(record, payload, out)
        return 1

    cdef int keep(self, const uint8_t* record, Cursor payload, EventBuffer out) except -1:
        cdef size_t size = payload.end - record + FRAME_SIZE - HEADER_SIZE
        cdef uint8_t* at
        self.events_kept += 1
        if out is not None:
            at = out.room(size)
            put_raw(at, record, size)
            out.size += size
        return 0

    cdef int write(self, Cursor payload, const Event* event, EventBuffer out) except -1:
        """Append the changed event: one event for each way in which its values are shifted."""
        cdef int moves, base = self.base_moves(event)
        cdef bint has_values
        cdef bint is_written = False
        cdef bint is_apart = (self.event_flags & ONLY_VALUES) != 0
        # An event that was empty from the start is kept.
        cdef bint has_rest = event.has_others or (event.values == 0 and not event.has_dropped)
        cdef size_t i
        if is_apart and not (event.is_restart and self.event_flags & RESTARTS):
            has_rest = False
        for moves in range(4):
            has_values = False
            for i in range(event.values):
                has_values |= self.values[i].is_kept and self.values[i].moves == moves
            if has_values or (moves == base and has_rest):
                self.write_part(payload, event, moves, moves == base or is_apart, out)
                is_written = True
        if is_written:
            self.events_kept += 1
            self.events_changed += 1
        return 0

    cdef int write_part(
        self, Cursor payload, const Event* event, int moves, bint has_others, EventBuffer out
    ) except -1:
        cdef size_t most = FRAME_SIZE + (payload.end - payload.at) + (
            event.lengths + event.values + 2) * MAX_VARINT
        cdef size_t i, number = 0
        cdef uint8_t* record
        cdef uint8_t* to
        cdef Cursor at = payload
        cdef Cursor start, body
        cdef uint32_t field, wire_type, key
        cdef uint64_t bits = 0
        cdef double wall_time
        cdef bint needs_step = not event.has_step and moves & MOVES_STEP
        if out is None:
            return 0
        for i in range(event.values):
            if self.values[i].is_changed:
                most += PyBytes_GET_SIZE(self.changed[i])
        record = out.room(most)
        to = record + HEADER_SIZE
        while at.at < at.end:
            start = at
            # The whole event was read before, so no field is malformed.
            if not read_key(&at, &field, &wire_type):
                raise ValueError("the event changed while it was being read")
            key = field << 3 | wire_type
            if needs_step and key != EVENT_WALL_TIME:
                to = self.put_step(to, 0)
                needs_step = False
            if key == EVENT_WALL_TIME and moves & MOVES_TIME:
                read_fixed64(&at, &bits)
                memcpy(&wall_time, &bits, 8)
                wall_time += self.shift_time
                to[0] = EVENT_WALL_TIME
                memcpy(to + 1, &wall_time, 8)
                to += 9
            elif key == EVENT_STEP and moves & MOVES_STEP:
                read_varint(&at, &bits)
                to = self.put_step(to, bits)
            elif key == EVENT_SUMMARY:
                read_bytes(&at, &body)
                to = self.put_summary(to, body, moves, has_others, &number)
            else:
                if not skip_field(&at, field, wire_type):
                    raise ValueError("the event changed while it was being read")
                if key in (EVENT_WALL_TIME, EVENT_STEP) or (has_others and not self.drops(key)):
                    to = put_raw(to, start.at, at.at - start.at)
        if needs_step:
            to = self.put_step(to, 0)
        out.size = close_record(record, to) - out.data
        return 0

    cdef uint8_t* put_step(self, uint8_t* to, uint64_t step) noexcept:
        step += <uint64_t> self.shift_steps
        if step == 0:
            return to
        to[0] = EVENT_STEP
        return put_varint(to + 1, step)

    cdef uint8_t* put_summary(
        self, uint8_t* to, Cursor summary, int moves, bint has_others, size_t* number
    ) except NULL:
        """Write a summary with the values that have these moves; keep other fields if requested."""
        cdef size_t size = 0
        cdef size_t first = number[0]
        cdef bint was_empty = summary.at == summary.end
        cdef Cursor at, start
        cdef uint32_t field, wire_type
        cdef Value* value
        cdef bytes message
        cdef int turn
        for turn in range(2):  # first the size, then the bytes
            at, number[0] = summary, first
            if turn:
                if size == 0 and not (was_empty and has_others):
                    break
                to[0] = EVENT_SUMMARY
                to = put_varint(to + 1, size)
            while at.at < at.end:
                start = at
                if not read_key(&at, &field, &wire_type) or not skip_field(&at, field, wire_type):
                    raise ValueError("the event changed while it was being read")
                if field << 3 | wire_type != SUMMARY_VALUE:
                    if has_others:
                        size += at.at - start.at
                        if turn:
                            to = put_raw(to, start.at, at.at - start.at)
                    continue
                value = &self.values[number[0]]
                number[0] += 1
                if not value.is_kept or value.moves != moves:
                    continue
                if not value.is_changed:
                    size += value.field.end - value.field.at
                    if turn:
                        to = put_raw(to, value.field.at, value.field.end - value.field.at)
                    continue
                message = self.changed[number[0] - 1]
                size += 1 + varint_size(len(message)) + len(message)
                if turn:
                    to[0] = SUMMARY_VALUE
                    to = put_varint(to + 1, len(message))
                    to = put_raw(to, PyBytes_AS_STRING(message), len(message))
        # `number` is now past all values of the summary, even if nothing was written.
        return to
