"""The forms and notes of values in an event, and the function that collects them."""

from libc.stdint cimport int64_t

from runfold._core.collected cimport Collected
from runfold._core.wire cimport Cursor

# The form in which a value is stored. Its kind also depends on the plugin.
cpdef enum Form:
    NOTHING = 0             # only metadata, as for hparams
    SCALAR = 1
    HISTOGRAM = 2
    IMAGE = 3
    AUDIO = 4
    TENSOR = 5
    GRAPH = 6
    META_GRAPH = 7
    RUN_METADATA = 8
    # Only if a file is decoded in order:
    FILE_VERSION = 9
    SOURCE = 10
    SUMMARY = 11            # a summary without values
    EVENT = 12              # none of the above

cpdef enum NoteCode:
    BAD_PAYLOAD_CHECKSUM = 1
    MALFORMED_EVENT = 2
    BAD_TENSOR = 3
    BAD_HISTOGRAM = 4
    UNKNOWN_WALL_TIME = 5
    ROUNDED_INTEGER = 6
    RECORD_TOO_LONG = 7

cdef enum Outcome:
    OUT_OF_MEMORY = -1
    MALFORMED = 0
    COLLECTED = 1

cdef Outcome collect_event(Collected* into, Cursor event, int64_t record) noexcept nogil
