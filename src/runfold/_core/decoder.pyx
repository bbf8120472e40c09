"""Decodes event files piece by piece, many files per call.

`decode` takes a buffer with a stretch of each file and processes all of them
without the GIL. `take` then hands over the collected data together with its memory,
so the points of a long series are never copied.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from runfold._core.checksum cimport rf_crc32c_init
from runfold._core.collected cimport (
    Item,
    Restart,
    add_note,
    free_collected,
    keeps_points,
)
from runfold._core.event cimport (
    BAD_PAYLOAD_CHECKSUM,
    MALFORMED,
    MALFORMED_EVENT,
    OUT_OF_MEMORY,
    RECORD_TOO_LONG,
    Outcome,
    collect_event,
)
from runfold._core.points cimport Points
from runfold._core.record cimport (
    AT_END,
    BAD_PAYLOAD,
    FRAME_SIZE,
    IS_TOO_LONG,
    WHOLE,
    Framing,
    find_reason,
    read_record,
)
from runfold._core.scalar_columns cimport Block, ScalarPoints, as_array
from runfold._core.tag_table cimport Tags
from runfold._core.wire cimport Cursor

cnp.import_array()
rf_crc32c_init()

# Longer records are rejected before anything is allocated for them.
MAX_RECORD = 256 << 20

# Far enough below the maximum that adding the size of any buffer cannot overflow.
cdef int64_t MAX_OFFSET = <int64_t> 1 << 62

ITEM = np.dtype(
    [
        ("step", np.int64),
        ("wall_time", np.float64),
        ("record", np.int64),
        ("start", np.int64),
        ("length", np.int64),
        ("tag", np.int32),
        ("form", np.int16),
        ("plugin", np.int16),
    ]
)
assert ITEM.itemsize == sizeof(Item)
NO_ITEMS = np.empty(0, ITEM)
NO_ITEMS.flags.writeable = False


cdef struct Stretch:
    Progress* file
    size_t start
    size_t size


cdef bint decode_stretch(Progress* file, const uint8_t* data, size_t size) noexcept nogil:
    """Read the complete records in `data`; 0 when out of memory."""
    cdef const uint8_t* at = data
    cdef const uint8_t* end = data + size
    cdef Cursor payload
    cdef uint64_t length
    cdef Framing framing
    cdef Outcome outcome
    while at < end:
        framing = read_record(at, end, file.limit, &payload, &length)
        if framing == WHOLE:
            outcome = collect_event(&file.collected, payload, file.offset)
            if outcome == OUT_OF_MEMORY:
                return 0
            if outcome == MALFORMED:
                if not add_note(&file.collected, file.offset, MALFORMED_EVENT, -1):
                    return 0
        elif framing == BAD_PAYLOAD:
            if not add_note(&file.collected, file.offset, BAD_PAYLOAD_CHECKSUM, -1):
                return 0
        else:
            file.stop = find_reason(framing)
            # A length near 2**64 must not wrap around to a small number.
            file.needed = length + FRAME_SIZE if length <= <uint64_t> -1 - FRAME_SIZE else length
            return 1
        at += length + FRAME_SIZE
        file.offset += length + FRAME_SIZE
    file.stop = AT_END
    file.needed = 0
    return 1


cdef ScalarPoints take_points(Collected* collected):
    """Take over the points of all tags, leaving none."""
    cdef ScalarPoints taken = ScalarPoints()
    cdef size_t tag
    if collected.keep != NULL:
        for tag in range(collected.points_room):
            if not keeps_points(collected, tag):  # counted, without columns
                memset(&collected.points[tag], 0, sizeof(Points))
    taken.points = collected.points
    taken.room = collected.points_room
    collected.points = NULL
    collected.points_room = 0
    taken.settle()
    return taken


cdef inline void free_room(void** data, size_t* size, size_t* room) noexcept:
    free(data[0])
    data[0] = NULL
    size[0] = room[0] = 0


cdef object take_items(Collected* collected):
    """Move all items to an array that owns their memory, and return it."""
    cdef Block block = Block()
    cdef cnp.npy_intp size = collected.items_size * sizeof(Item)
    block.columns[0] = collected.items
    collected.items = NULL
    collected.items_size = collected.items_room = 0
    return as_array(block, block.columns[0], size, cnp.NPY_UINT8).view(ITEM)


cdef list list_notes(const Collected* collected):
    cdef size_t i
    return [
        (collected.notes[i].offset, collected.notes[i].code, collected.notes[i].tag)
        for i in range(collected.notes_size)
    ]


cdef list list_restarts(const Collected* collected):
    cdef const Restart* restart
    cdef size_t i, at = 0
    found = []
    for i in range(collected.restarts_size):
        restart = &collected.restarts[i]
        points = {}
        while at < restart.advances:
            points[collected.advances[at].tag] = collected.advances[at].points
            at += 1
        found.append((restart.step, restart.items, points))
    return found


cdef class Decoder:
    """The content of one event file, from the bytes passed to `decode` so far.

    Args:
        tags: the tags of the run that the file belongs to.
        offset: the position in the file of the first byte that `decode` will get.
        limit: records longer than this many bytes are not read.
        is_in_order: return every value, including scalars, as an item in file order and
            in its stored form; other events become items that mark their presence.
        keep: by tag number, a byte that is not zero if the tag's points are stored. The points
            of other tags are only counted, as are those of tags beyond its end. Default: the
            points of all tags are stored.
        only_points: collect only points, without items, notes, restarts and counts.
    """

    def __cinit__(self, Tags tags not None, int64_t offset=0, uint64_t limit=MAX_RECORD,
                  bint is_in_order=False, bytes keep=None, bint only_points=False):
        if not 0 <= offset <= MAX_OFFSET:
            raise ValueError(f"offset {offset} is out of range")
        self.tags = tags
        self.progress.collected.tags = &tags.table
        self.progress.collected.is_in_order = is_in_order
        self.progress.collected.only_points = only_points
        if keep is not None:
            self._keep = keep
            self.progress.collected.keep = keep
            self.progress.collected.keep_size = len(keep)
        self.progress.collected.previous_tag = -1
        self.progress.collected.first_wall_time = NAN
        self.progress.collected.last_wall_time = NAN
        self.progress.offset = offset
        # A higher limit would have no effect, because a length plus its frame would overflow.
        self.progress.limit = min(limit, <uint64_t> 1 << 62)

    def __dealloc__(self):
        free_collected(&self.progress.collected)

    @property
    def offset(self):
        """Position of the next record in the file."""
        return self.progress.offset

    @property
    def needed(self):
        """Number of bytes from `offset` that the next record is known to need."""
        return self.progress.needed

    @property
    def stop(self):
        """Why decoding stopped at `offset`: a `StopReason`."""
        return <int> self.progress.stop

    @property
    def events(self):
        """Number of valid events read."""
        return self.progress.collected.events

    @property
    def first_wall_time(self):
        """Wall time of the first event, or NaN if there is none."""
        return self.progress.collected.first_wall_time

    @property
    def last_wall_time(self):
        """Wall time of the last event, or NaN if there is none."""
        return self.progress.collected.last_wall_time

    def position(self):
        """Return the position in the file and what was counted, for `resume`."""
        return (
            self.offset, self.needed, self.stop, self.events,
            self.first_wall_time, self.last_wall_time,
        )

    def resume(self, int64_t offset, uint64_t needed, int stop, int64_t events,
               double first_wall_time, double last_wall_time):
        """Continue at the `position` of another decoder; this one must not have decoded anything.

        Its tags must be equal to those of the other decoder.
        """
        self.tags.check_idle()
        if self.progress.offset or self.progress.collected.events:
            raise ValueError("this decoder has already decoded something")
        if not 0 <= offset <= MAX_OFFSET or not 0 <= stop <= <int> IS_TOO_LONG:
            raise ValueError(f"offset {offset} or stop {stop} is out of range")
        self.progress.offset = offset
        self.progress.needed = needed
        self.progress.stop = <StopReason> stop
        self.progress.collected.events = events
        self.progress.collected.first_wall_time = first_wall_time
        self.progress.collected.last_wall_time = last_wall_time

    def counts(self):
        """Return the tags with points since the last `take`, and how many, stored or not."""
        cdef const Collected* collected = &self.progress.collected
        cdef size_t tag, at = 0
        self.tags.check_idle()
        for tag in range(collected.points_room):
            at += collected.points[tag].size > 0
        tags, counts = np.empty(at, np.int32), np.empty(at, np.int64)
        cdef int32_t[::1] tags_out = tags
        cdef int64_t[::1] counts_out = counts
        at = 0
        for tag in range(collected.points_room):
            if collected.points[tag].size:
                tags_out[at] = tag
                counts_out[at] = collected.points[tag].size
                at += 1
        return tags, counts

    def skip(self):
        """Skip the record at `offset`, which is longer than the limit, and add a note."""
        cdef uint64_t length = self.progress.needed
        self.tags.check_idle()
        if self.progress.stop != IS_TOO_LONG:
            raise ValueError("there is no record to skip")
        if length > <uint64_t> MAX_OFFSET or self.progress.offset > MAX_OFFSET - <int64_t> length:
            raise ValueError(f"{length} bytes from {self.progress.offset} are out of range")
        if not add_note(&self.progress.collected, self.progress.offset, RECORD_TOO_LONG, -1):
            raise MemoryError
        self.progress.offset += length
        self.progress.stop = AT_END
        self.progress.needed = 0

    def take(self):
        """Return the data collected since the last call, and release it.

        Returns:
            scalars: tag number -> (steps, wall_times, values), a `ScalarPoints`.
            items: an array of `ITEM`, one for each value that is not a scalar.
            notes: (offset, NoteCode, tag number or -1) for each problem.
            restarts: (step, items before it, {tag number: points before it}), with only
                the tags that gained points since the previous restart.
        """
        cdef Collected* collected = &self.progress.collected
        self.tags.check_idle()
        notes = list_notes(collected)
        restarts = list_restarts(collected)
        # Keep no room: most files are read once, and there can be a hundred thousand of them.
        free_room(<void**> &collected.notes, &collected.notes_size, &collected.notes_room)
        free_room(<void**> &collected.restarts, &collected.restarts_size, &collected.restarts_room)
        free_room(<void**> &collected.advances, &collected.advances_size, &collected.advances_room)
        free_room(<void**> &collected.values, &collected.values_size, &collected.values_room)
        scalars = take_points(collected)
        items = take_items(collected) if collected.items_size else NO_ITEMS
        return scalars, items, notes, restarts


def decode(list decoders not None, const uint8_t[::1] buffer not None,
           const int64_t[::1] starts not None, const int64_t[::1] ends not None):
    """Decode one stretch of each of many files in a single call, without the GIL.

    Args:
        decoders: one per file; the stretch starts at the decoder's offset.
        buffer: the stretches, in any order.
        starts, ends: the position of each file's stretch in the buffer.

    Afterwards each decoder is positioned after its last complete record, with the
    reason in `stop`. Files that share their tags are decoded in the given order.
    """
    # Copied, because another thread could change the list or the arrays during decoding.
    cdef tuple held = tuple(decoders)
    cdef size_t count = len(held), i
    cdef Stretch* stretches
    cdef const uint8_t* data = &buffer[0] if buffer.shape[0] else NULL
    cdef bint has_memory = True
    cdef Decoder decoder
    if <size_t> starts.shape[0] != count or <size_t> ends.shape[0] != count:
        raise ValueError(f"{count} decoders need {count} starts and ends")
    stretches = <Stretch*> calloc(count + 1, sizeof(Stretch))
    if stretches == NULL:
        raise MemoryError
    try:
        for i in range(count):
            decoder = <Decoder?> held[i]
            decoder.tags.check_idle()
            decoder.tags.own_memory()
            stretches[i] = cut_stretch(&decoder.progress, buffer.shape[0], starts[i], ends[i])
        for i in range(count):
            (<Decoder> held[i]).tags.is_busy = True
        with nogil:
            for i in range(count):
                has_memory = decode_stretch(
                    stretches[i].file, data + stretches[i].start, stretches[i].size)
                if not has_memory:
                    break
        for i in range(count):
            (<Decoder> held[i]).tags.is_busy = False
    finally:
        free(stretches)
    if not has_memory:
        raise MemoryError("out of memory for the columns of an event file")


cdef Stretch cut_stretch(Progress* file, int64_t size, int64_t start, int64_t end) except *:
    if not 0 <= start <= end <= size:
        raise ValueError(f"bytes {start} to {end} are outside a buffer of {size} bytes")
    return Stretch(file=file, start=start, size=end - start)
