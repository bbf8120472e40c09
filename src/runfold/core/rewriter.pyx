"""Event records copied with some of their values left out, renamed or moved in time.

A record that nothing changes is copied as it is. In one that changes, every byte
that was not asked to change stays, fields that nobody knows included.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from runfold.core.checksum cimport rf_crc32c_init
from runfold.core.encoder cimport (
    MAX_VARINT,
    EventBuffer,
    close_record,
    put_raw,
    put_varint,
    varint_size,
)
from runfold.core.event cimport MALFORMED, SCALAR, Outcome
from runfold.core.record cimport (
    BAD_LENGTH,
    BAD_PAYLOAD,
    FRAME_SIZE,
    HEADER_SIZE,
    TORN,
    WHOLE,
    ZEROS,
    Framing,
    read_record,
)
from runfold.core.scanner cimport (
    ALL_TAGS,
    EVENT_STEP,
    EVENT_SUMMARY,
    EVENT_WALL_TIME,
    ONLY_VALUES,
    RESTARTS,
    SUMMARY_VALUE,
    VALUE_TAG,
    Event,
    Scanner,
    Value,
)
from runfold.core.tags cimport Tags
from runfold.core.wire cimport (
    Cursor,
    read_bytes,
    read_fixed64,
    read_key,
    read_varint,
    skip_field,
)

rf_crc32c_init()

# What a tag's values must bear, bit by bit; a tag without a byte has IN_SCOPE alone.
cpdef enum TagFlag:
    DROP = 1                # none is kept
    IN_SCOPE = 2            # the rules for kinds, steps and times hold for it
    STEPLESS = 4            # its steps mean nothing: it describes the run
    ASK = 8                 # `replace` is asked for its new bytes
    UNTHINNED = 16          # `every` thins none of it

# What a value of a form and a plugin must bear.
cpdef enum KindFlag:
    STRIP = 1
    HAS_NO_STEPS = 2

# Where to stop, so that what follows can go elsewhere.
cpdef enum Boundary:
    AT_VERSION = 1
    AT_RESTART = 2

cpdef enum Stop:
    ENDED = 0               # every byte was used
    NEEDS_MORE = 1          # the bytes end within a record
    IS_UNWRITTEN = 2        # zeros to the end
    IS_BAD_LENGTH = 3
    IS_LONG = 4
    AT_BOUNDARY = 5

FORMS = 9
PLUGINS = 40

cdef enum:
    FORM_COUNT = 9
    PLUGIN_COUNT = 40
    MOVES_STEP = 1
    MOVES_TIME = 2


cdef struct Count:
    int64_t seen            # values of the tag
    int64_t passed          # those that no rule but thinning drops
    int64_t kept
    int64_t first_step      # the lowest and highest of those that passed
    int64_t last_step
    int64_t first_scalar    # the lowest of those that are scalars
    int64_t forms           # a bit for each form that passed
    bint has_metadata       # some value seen so far carried metadata
    bint is_written         # a value was kept since `begin`


cdef inline bint is_beyond(int64_t step, int64_t limit) noexcept:
    return limit <= step and limit != INT64_MAX  # which stands for none


cdef class Rewriter(Scanner):
    """Copies the records of one run's event files by rules; without any it only counts.

    Args:
        tags: the run's, known from a first pass or empty.
        flags: a TagFlag mask for each tag number; those beyond are IN_SCOPE.
        names: the new name of each tag number, as bytes, or None.
        kinds: a KindFlag mask for each form and plugin.
        events: an EventFlag mask.
        keeps, cuts: rows of (first, last) steps, both inclusive; a value is kept
            within any of the first, if there are some, and in none of the second.
        limit: values of any tag from this step on are dropped; the highest drops none.
        limits: the same by how many restart markers came before the value; those
            that it drops are counted as hidden.
        every: of a tag's values only those at multiples of it, its first and last.
        lasts: for each tag number which of the values that pass is the last.
        shift_steps, shift_time: what is added.
        boundaries: a Boundary mask.
        replace: function of the bytes of a value, for tags with ASK.
        max_record: longer records are not read.
    """

    cdef readonly int stop
    cdef readonly int boundary  # which one it stopped at last
    cdef readonly uint64_t needed
    cdef readonly int64_t events
    cdef readonly int64_t events_kept
    cdef readonly int64_t events_changed
    cdef readonly int64_t values_changed
    cdef readonly int64_t bad_records
    cdef readonly int64_t values_hidden
    cdef readonly list restarts  # the step of each restart marker so far
    cdef readonly double first_wall_time
    cdef readonly bint has_wall_time
    cdef const uint8_t[::1] flags
    cdef list names
    cdef const uint8_t[:, ::1] kinds
    cdef const int64_t[:, ::1] keeps
    cdef const int64_t[:, ::1] cuts
    cdef const int64_t[::1] lasts
    cdef const int64_t[::1] limits
    cdef int boundaries
    cdef int64_t limit, every, shift_steps
    cdef double shift_time
    cdef object replace
    cdef uint64_t max_record
    cdef bint is_fresh
    cdef Count* counts
    cdef size_t counts_room
    cdef int64_t[FORM_COUNT * PLUGIN_COUNT] met
    cdef list changed       # of the event at hand: new bytes of a value, or None

    def __cinit__(
        self, Tags tags not None, *, flags=None, list names=None, kinds=None, int events=4,
        keeps=None, cuts=None, int64_t limit=INT64_MAX, limits=None, int64_t every=0,
        lasts=None, int64_t shift_steps=0, double shift_time=0.0, int boundaries=0, replace=None,
        uint64_t max_record=256 << 20,
    ):
        self.flags = np.empty(0, np.uint8) if flags is None else flags
        self.names = names or []
        if kinds is None:
            kinds = np.zeros((FORM_COUNT, PLUGIN_COUNT), np.uint8)
        if kinds.shape != (FORM_COUNT, PLUGIN_COUNT):
            raise ValueError(f"kinds must be of shape {(FORM_COUNT, PLUGIN_COUNT)}")
        self.kinds = kinds
        self.keeps = _spans(keeps)
        self.cuts = _spans(cuts)
        self.lasts = np.empty(0, np.int64) if lasts is None else lasts
        self.limits = np.empty(0, np.int64) if limits is None else limits
        self.restarts = []
        if every < 0:
            raise ValueError("every must not be negative")
        self.event_flags, self.boundaries = events, boundaries
        self.limit, self.every = limit, every
        self.shift_steps, self.shift_time = shift_steps, shift_time
        self.replace = replace
        self.max_record = min(max_record, <uint64_t> 1 << 62)
        self.changed = []
        self.begin()

    def __dealloc__(self):
        free(self.counts)

    def begin(self, bint is_new_run=True):
        """Begin a file: its header is no boundary.

        In a new run the first value of a tag is to carry its metadata again.
        """
        cdef size_t tag
        self.is_fresh = True
        self.previous_tag = -1
        for tag in range(self.counts_room if is_new_run else 0):
            self.counts[tag].is_written = False

    def count(self):
        """What was counted, with a row for each tag number.

        Its columns: values seen, passed and kept, the lowest and highest step that
        passed, the lowest of a scalar, and a bit for each form that passed.
        """
        cdef size_t size = min(self.counts_room, self.tags.table.size), tag
        found = np.zeros((size, 7), np.int64)
        cdef int64_t[:, ::1] out = found
        for tag in range(size):
            out[tag, 0] = self.counts[tag].seen
            out[tag, 1] = self.counts[tag].passed
            out[tag, 2] = self.counts[tag].kept
            out[tag, 3] = self.counts[tag].first_step
            out[tag, 4] = self.counts[tag].last_step
            out[tag, 5] = self.counts[tag].first_scalar
            out[tag, 6] = self.counts[tag].forms
        return found

    def count_kinds(self):
        """How many values were seen of each form and plugin, as an array."""
        found = np.zeros((FORM_COUNT, PLUGIN_COUNT), np.int64)
        cdef int64_t[:, ::1] out = found
        cdef int form, plugin
        for form in range(FORM_COUNT):
            for plugin in range(PLUGIN_COUNT):
                out[form, plugin] = self.met[form * PLUGIN_COUNT + plugin]
        return found

    def rewrite(self, const uint8_t[::1] buffer not None, EventBuffer out=None):
        """Copy the records that lie whole in the buffer; gives how many bytes were used.

        `stop` then says why no more were. A record with a bad payload is left out
        and counted, one that is no valid event is copied as it is. Without `out`
        everything is only counted.
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
                if framing == TORN:
                    self.stop = NEEDS_MORE
                elif framing == ZEROS:
                    self.stop = IS_UNWRITTEN
                else:
                    self.stop = IS_BAD_LENGTH if framing == BAD_LENGTH else IS_LONG
                return at - first
            at += length + FRAME_SIZE
        self.stop = ENDED
        return at - first

    cdef bint take(self, const uint8_t* record, Cursor payload, EventBuffer out) except -1:
        """Copy one record as it must become; 0 where it is a boundary, which stays for later."""
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

    cdef int reserve(self, size_t tag) except -1:
        cdef void* grown
        cdef size_t room, i
        if tag < self.counts_room:
            return 0
        room = max(2 * self.counts_room, tag + 16)
        grown = realloc(self.counts, room * sizeof(Count))
        if grown == NULL:
            raise MemoryError
        self.counts = <Count*> grown
        memset(&self.counts[self.counts_room], 0, (room - self.counts_room) * sizeof(Count))
        for i in range(self.counts_room, room):
            self.counts[i].first_step = self.counts[i].first_scalar = INT64_MAX
            self.counts[i].last_step = INT64_MIN
        self.counts_room = room
        return 0

    # Deciding

    cdef bint decide(self, Event* event) except -1:
        """Say of each value what becomes of it; whether anything of the event changes."""
        cdef bint is_changed = event.has_dropped
        cdef bint has_kept = False
        cdef Value* value
        cdef size_t i
        if self.changed:
            self.changed.clear()
        for i in range(event.values):
            value = &self.values[i]
            self.met[value.form * PLUGIN_COUNT + value.plugin] += 1
            value.is_kept = self.is_kept(value, <int64_t> event.step)
            value.is_changed = False
            if not value.is_kept:
                is_changed = True
                continue
            has_kept = True
            if self.change(value, i):
                is_changed = True
            is_changed |= value.moves != 0
        if self.event_flags & ONLY_VALUES and not has_kept:
            return True
        return is_changed or self.base_moves(event) != 0

    cdef int base_moves(self, const Event* event) noexcept:
        """How an event moves that has no values, or what it has besides."""
        cdef int moves = 0
        if not self.event_flags & ALL_TAGS:
            return 0
        if self.shift_time != 0:
            moves |= MOVES_TIME
        if self.shift_steps != 0 and event.is_restart:
            moves |= MOVES_STEP
        return moves

    cdef bint is_kept(self, Value* value, int64_t step) except -1:
        cdef Count* count
        cdef int flags = IN_SCOPE
        cdef int kind = self.kinds[value.form, value.plugin]
        cdef bint has_steps
        cdef int64_t number
        self.reserve(value.tag)
        count = &self.counts[value.tag]
        if value.tag < self.flags.shape[0]:
            flags = self.flags[value.tag]
        has_steps = not (kind & HAS_NO_STEPS or flags & STEPLESS)
        count.seen += 1
        if value.has_metadata:
            count.has_metadata = True
        if flags & DROP or (has_steps and is_beyond(step, self.limit)):
            return 0
        if flags & IN_SCOPE:
            if kind & STRIP or (has_steps and not self.is_within(step)):
                return 0
        if has_steps and self.is_hidden(step):
            self.values_hidden += 1
            return 0
        number = count.passed
        count.passed += 1
        count.first_step = min(count.first_step, step)
        count.last_step = max(count.last_step, step)
        count.forms |= 1 << value.form
        if value.form == SCALAR:
            count.first_scalar = min(count.first_scalar, step)
        if flags & IN_SCOPE:
            if flags & UNTHINNED:
                pass
            elif self.every > 1 and has_steps and step % self.every and number:
                if value.tag >= self.lasts.shape[0] or number != self.lasts[value.tag]:
                    return 0
            if has_steps and self.shift_steps:
                value.moves |= MOVES_STEP
            if self.shift_time != 0:
                value.moves |= MOVES_TIME
        count.kept += 1
        return 1

    cdef bint is_hidden(self, int64_t step) except -1:
        cdef Py_ssize_t passed
        if self.limits.shape[0] == 0:
            return 0
        passed = len(self.restarts)
        return passed < self.limits.shape[0] and is_beyond(step, self.limits[passed])

    cdef bint is_within(self, int64_t step) noexcept:
        cdef Py_ssize_t i
        cdef bint is_in = self.keeps.shape[0] == 0
        for i in range(self.keeps.shape[0]):
            is_in |= self.keeps[i, 0] <= step <= self.keeps[i, 1]
        for i in range(self.cuts.shape[0]):
            is_in &= not self.cuts[i, 0] <= step <= self.cuts[i, 1]
        return is_in

    cdef bint change(self, Value* value, size_t number) except -1:
        """Make the new bytes of a value that does not stay as it is."""
        cdef Count* count = &self.counts[value.tag]
        cdef bint needs_metadata = (
            count.has_metadata and not count.is_written and not value.has_metadata)
        cdef bytes message = None
        count.is_written = True
        name = self.names[value.tag] if value.tag < len(self.names) else None
        if name is not None:
            message = rename(value.message, name)
        if needs_metadata:
            if message is None:
                message = as_bytes(value.message)
            metadata = self.tags.metadata(value.tag)
            message += b"\x4a" + varint(len(metadata)) + metadata
        if value.tag < self.flags.shape[0] and self.flags[value.tag] & ASK:
            old = as_bytes(value.message) if message is None else message
            new = self.replace(old)
            if new != old:
                message = new
        if message is None:
            return 0
        while len(self.changed) <= <Py_ssize_t> number:
            self.changed.append(None)
        self.changed[number] = message
        value.is_changed = True
        self.values_changed += 1
        return 1

    # Writing

    cdef int write(self, Cursor payload, const Event* event, EventBuffer out) except -1:
        """Append the event as it becomes: an event for each way in which its values move."""
        cdef int moves, base = self.base_moves(event)
        cdef bint has_values
        cdef bint is_written = False
        cdef bint is_apart = (self.event_flags & ONLY_VALUES) != 0
        # An event that was empty from the start stays.
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
            # The whole event was read before: no field is malformed.
            if not read_key(&at, &field, &wire_type):
                raise ValueError("the event changed while it was read")
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
                    raise ValueError("the event changed while it was read")
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
        """Write a summary with those of its values that move so, and all else if asked to."""
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
                    raise ValueError("the event changed while it was read")
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
        # Every value of the summary was passed, also where nothing was written.
        return to


cdef bytes rename(Cursor message, bytes name):
    """A value with another tag; all else as it is."""
    cdef list parts = [b"\x0a" + varint(len(name)) + name]
    cdef Cursor at = message
    cdef Cursor start
    cdef uint32_t field, wire_type
    while at.at < at.end:
        start = at
        if not read_key(&at, &field, &wire_type) or not skip_field(&at, field, wire_type):
            raise ValueError("the value changed while it was read")
        if field << 3 | wire_type != VALUE_TAG:
            start.end = at.at
            parts.append(as_bytes(start))
    return b"".join(parts)


cdef bytes as_bytes(Cursor span):
    return (<const char*> span.at)[:span.end - span.at]


cdef bytes varint(uint64_t value):
    cdef uint8_t[MAX_VARINT] out
    return (<char*> out)[:put_varint(out, value) - out]


def _spans(rows):
    found = np.empty((0, 2), np.int64) if rows is None else np.asarray(rows, np.int64)
    return np.ascontiguousarray(found.reshape(-1, 2))
