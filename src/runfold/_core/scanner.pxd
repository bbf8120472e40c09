"""The parts of an event that rewriting needs: its step, and the positions of its values."""

from libc.stdint cimport int32_t, uint32_t, uint64_t

from runfold._core.event cimport OUT_OF_MEMORY, Outcome
from runfold._core.tag_table cimport Tags
from runfold._core.wire cimport Cursor

# Flags that apply to whole events.
cpdef enum EventFlag:
    STRIP_GRAPH = 1
    STRIP_RUN_METADATA = 2
    ALL_TAGS = 4            # events without a value are also shifted
    ONLY_VALUES = 8         # drop events without a kept value
    RESTARTS = 16           # ... except restart markers

cdef struct Value:
    Cursor field            # key, length and message
    Cursor message
    Cursor name
    int32_t tag
    int32_t form
    int32_t plugin
    int32_t moves           # MOVES_STEP, MOVES_TIME
    bint has_metadata
    bint is_kept
    bint is_changed


cdef struct Event:
    uint64_t step
    double wall_time
    bint has_version
    bint is_restart
    bint has_step
    bint has_others         # anything to keep other than times and values
    bint has_dropped        # a field of the event itself is dropped
    size_t values
    size_t lengths          # steps and summaries, which can become longer


cdef class Scanner:
    cdef readonly Tags tags
    cdef int event_flags
    cdef int32_t previous_tag
    cdef Value* values      # of the event read last
    cdef size_t values_room

    cdef Outcome read_event(self, Cursor at, Event* event) except OUT_OF_MEMORY
    cdef bint drops(self, uint32_t key) noexcept
    cdef Outcome read_summary(self, Cursor at, Event* event) except OUT_OF_MEMORY
    cdef Value* new_value(self, size_t number) except NULL
    cdef Outcome read_value(self, Value* value) except OUT_OF_MEMORY
