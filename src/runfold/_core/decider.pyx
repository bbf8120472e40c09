"""Decides for each value of an event whether to keep, drop, shift or change it.

The rules come from the caller. All values are counted by tag.
"""

import numpy as np

from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from runfold._core.encoder cimport MAX_VARINT, put_varint
from runfold._core.event cimport SCALAR
from runfold._core.fields cimport VALUE_TAG
from runfold._core.scanner cimport ALL_TAGS, ONLY_VALUES, Event, Scanner, Value
from runfold._core.tag_table cimport Tags
from runfold._core.wire cimport Cursor, read_key, skip_field

# Bits that apply to the values of a tag; tags without an entry have IN_SCOPE only.
cpdef enum TagFlag:
    DROP = 1                # drop all values
    IN_SCOPE = 2            # rules for kinds, steps and times apply
    STEPLESS = 4            # describes the run, so its steps have no meaning
    ASK = 8                 # call `replace` for new bytes
    UNTHINNED = 16          # exempt from thinning by `every`

# Bits that apply to the values of a form and plugin.
cpdef enum KindFlag:
    STRIP = 1
    HAS_NO_STEPS = 2

FORMS = FORM_COUNT
PLUGINS = PLUGIN_COUNT


cdef inline bint is_beyond(int64_t step, int64_t limit) noexcept:
    return limit <= step and limit != INT64_MAX  # INT64_MAX means no limit


cdef class Decider(Scanner):
    """Decides what to do with each value of an event; without rules it only counts.

    Args:
        tags: the tags of the run, known from a first pass or empty.
        flags: a TagFlag mask for each tag number; further tags are IN_SCOPE.
        names: the new name of each tag number as bytes, or None.
        kinds: a KindFlag mask for each form and plugin.
        events: an EventFlag mask.
        keeps, cuts: rows of (first, last) steps, both inclusive; a value is kept if it is
            within any of `keeps` (or `keeps` is empty) and within none of `cuts`.
        limit: drop values of any tag at or after this step; the highest step means no
            limit.
        limits: limits[k] is the limit for values that follow k restart markers; values
            dropped by these limits are counted as hidden.
        every: keep only a tag's first value, its last, and those at multiples of this
            step.
        lasts: for each tag number, the index of the last value that passes.
        shift_steps, shift_time: added to steps and wall times.
        boundaries: a Boundary mask of the rewriter.
        replace: a function that returns the new bytes of a value, for tags with ASK.
        max_record: longer records are not read.
    """

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
            raise ValueError(f"kinds must have shape {(FORM_COUNT, PLUGIN_COUNT)}")
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

    def __dealloc__(self):
        free(self.counts)

    def count(self):
        """Return the counts, with one row per tag number.

        Columns: values seen, passed and kept, the lowest and highest step that
        passed, the lowest step of a scalar, and one bit for each form that passed.
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
        """Return the number of values seen for each form and plugin, as an array."""
        found = np.zeros((FORM_COUNT, PLUGIN_COUNT), np.int64)
        cdef int64_t[:, ::1] out = found
        cdef int form, plugin
        for form in range(FORM_COUNT):
            for plugin in range(PLUGIN_COUNT):
                out[form, plugin] = self.met[form * PLUGIN_COUNT + plugin]
        return found

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

    cdef bint decide(self, Event* event) except -1:
        """Decide on each value; return whether anything in the event changes."""
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
            if value.moves:
                is_changed = True
                self.values_shifted += 1
        if self.event_flags & ONLY_VALUES and not has_kept:
            return True
        return is_changed or self.base_moves(event) != 0

    cdef int base_moves(self, const Event* event) noexcept:
        """Return how an event without values, or the rest of an event, is shifted."""
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
        """Create the new bytes of a value that changes."""
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


cdef bytes rename(Cursor message, bytes name):
    """Return a value with a new tag and everything else unchanged."""
    cdef list parts = [b"\x0a" + varint(len(name)) + name]
    cdef Cursor at = message
    cdef Cursor start
    cdef uint32_t field, wire_type
    while at.at < at.end:
        start = at
        if not read_key(&at, &field, &wire_type) or not skip_field(&at, field, wire_type):
            raise ValueError("the value changed while it was being read")
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
