"""Decisions about the values of an event, and counts per tag."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from runfold._core.scanner cimport Event, Scanner, Value

cdef enum:
    FORM_COUNT = 9
    PLUGIN_COUNT = 40
    MOVES_STEP = 1
    MOVES_TIME = 2

cdef struct Count:
    int64_t seen            # values of the tag
    int64_t passed          # values not dropped by any rule except thinning
    int64_t kept
    int64_t first_step      # lowest and highest step of the values that passed
    int64_t last_step
    int64_t first_scalar    # lowest step of the scalars that passed
    int64_t forms           # one bit for each form that passed
    bint has_metadata       # an earlier value had metadata
    bint is_written         # a value was kept since `begin`


cdef class Decider(Scanner):
    cdef readonly int64_t values_changed
    cdef readonly int64_t values_shifted
    cdef readonly int64_t values_hidden
    cdef readonly list restarts  # step of each restart marker so far
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
    cdef Count* counts
    cdef size_t counts_room
    cdef int64_t[FORM_COUNT * PLUGIN_COUNT] met
    cdef list changed       # for the current event: new bytes of each value, or None

    cdef int reserve(self, size_t tag) except -1
    cdef bint decide(self, Event* event) except -1
    cdef int base_moves(self, const Event* event) noexcept
    cdef bint is_kept(self, Value* value, int64_t step) except -1
    cdef bint is_hidden(self, int64_t step) except -1
    cdef bint is_within(self, int64_t step) noexcept
    cdef bint change(self, Value* value, size_t number) except -1
