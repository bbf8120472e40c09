"""What is collected from the events of one file, and the function that collects it."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t

from runfold.core.points cimport Points
from runfold.core.tags cimport TagTable
from runfold.core.wire cimport Cursor

# The form in which a value is stored. Which kind it is also depends on the plugin.
cpdef enum Form:
    NOTHING = 0             # metadata alone, as hparams are stored
    SCALAR = 1
    HISTOGRAM = 2
    IMAGE = 3
    AUDIO = 4
    TENSOR = 5
    GRAPH = 6
    META_GRAPH = 7
    RUN_METADATA = 8
    # Only where a file is decoded in order:
    FILE_VERSION = 9
    SOURCE = 10
    SUMMARY = 11            # a summary of no values
    EVENT = 12              # nothing of the above

cpdef enum NoteCode:
    BAD_PAYLOAD_CHECKSUM = 1
    MALFORMED_EVENT = 2
    BAD_TENSOR = 3
    BAD_HISTOGRAM = 4
    UNKNOWN_WALL_TIME = 5
    ROUNDED_INTEGER = 6
    RECORD_TOO_LONG = 7

cdef struct Item:
    int64_t step
    double wall_time
    int64_t record          # where the record's header is in the file
    int64_t start           # where the value's bytes are in the file; a scalar: the bits of it
    int64_t length
    int32_t tag             # -1: the graph of the run has no tag
    int16_t form
    int16_t plugin          # of its own metadata, else of the tag; 0 while none is known

cdef struct Note:
    int64_t offset
    int32_t code
    int32_t tag

cdef struct Restart:
    int64_t step            # the writer's own word: forget everything from this step on
    size_t items            # how many items came before it
    size_t advances         # where the advances end that came before it

# A tag that got points since the restart before. Restarts that counted all tags
# would let a log of ten megabytes, half tags and half restarts, fill any memory.
cdef struct Advance:
    int32_t tag
    size_t points           # how many the tag had at the restart that followed

cdef struct Value:
    Cursor bytes            # what an item points at
    double scalar
    int32_t tag
    int32_t form
    int32_t plugin
    int32_t note            # a NoteCode to leave, or 0
    bint is_dropped         # the note says why
    bint is_first_metadata  # the tag got its metadata from this value

cdef struct Collected:
    TagTable* tags
    bint is_in_order        # every value is an item, as it is stored
    int32_t previous_tag
    int64_t events
    double first_wall_time
    double last_wall_time
    Points* points          # by tag number
    size_t points_room
    Item* items
    size_t items_size
    size_t items_room
    Note* notes
    size_t notes_size
    size_t notes_room
    Restart* restarts
    size_t restarts_size
    size_t restarts_room
    Advance* advances
    size_t advances_size
    size_t advances_room
    Value* values           # of the event being read: kept only if all of it is sound
    size_t values_size
    size_t values_room

cdef enum Outcome:
    OUT_OF_MEMORY = -1
    MALFORMED = 0
    COLLECTED = 1

cdef bint add_note(Collected* into, int64_t offset, int32_t code, int32_t tag) noexcept nogil
cdef Outcome collect_event(Collected* into, Cursor event, int64_t record) noexcept nogil
cdef void free_collected(Collected* collected) noexcept nogil
