"""The data collected from the events of one file: points, items, notes and restarts."""

from libc.math cimport isnan
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from runfold._core.points cimport Points, add_point, free_points
from runfold._core.tag_table cimport UNKNOWN_PLUGIN, TagTable
from runfold._core.wire cimport Cursor

cdef struct Item:
    int64_t step
    double wall_time
    int64_t record          # position of the record's header in the file
    int64_t start           # position of the value's bytes in the file; for a scalar, its bits
    int64_t length
    int32_t tag             # -1 for the run's graph, which has no tag
    int16_t form
    int16_t plugin          # from its own metadata, else from the tag; 0 if unknown

cdef struct Note:
    int64_t offset
    int32_t code
    int32_t tag

cdef struct Restart:
    int64_t step            # the writer's marker: discard everything from this step
    size_t items            # number of items before it
    size_t advances         # end of the advances before it

# A tag that gained points since the previous restart. If restarts counted all tags, a
# log of ten megabytes, half tags and half restarts, could exhaust all memory.
cdef struct Advance:
    int32_t tag
    size_t points           # number of points of the tag at the following restart

cdef struct Value:
    Cursor bytes            # the bytes that an item refers to
    double scalar
    int32_t tag
    int32_t form
    int32_t plugin
    int32_t note            # NoteCode to report, or 0
    bint is_dropped         # the note gives the reason
    bint is_first_metadata  # the tag's metadata comes from this value

cdef struct Collected:
    TagTable* tags
    bint is_in_order        # every value is an item, as stored
    const uint8_t* keep     # by tag number: whether points are stored; NULL: those of all tags
    size_t keep_size        # the points of later tags are not stored
    bint only_points        # collect nothing but points: no items, notes or restarts
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
    Value* values           # of the current event; kept only if the whole event is valid
    size_t values_size
    size_t values_room


cdef inline bint make_room(void** data, size_t size, size_t* room, size_t item) noexcept nogil:
    """Ensure that there is room for one more item; 0 when out of memory."""
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


cdef inline bint add_note(
    Collected* into, int64_t offset, int32_t code, int32_t tag
) noexcept nogil:
    if into.only_points:
        return 1
    if not make_room(<void**> &into.notes, into.notes_size, &into.notes_room, sizeof(Note)):
        return 0
    into.notes[into.notes_size] = Note(offset=offset, code=code, tag=tag)
    into.notes_size += 1
    return 1


cdef inline Points* points_of(Collected* into, int32_t tag) noexcept nogil:
    """Return the points of a tag, empty if it is new; NULL when out of memory."""
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


cdef inline bint add_item(
    Collected* into, const Value* value, int64_t step, double wall_time, int64_t record,
    int64_t start
) noexcept nogil:
    cdef Item* item
    if into.only_points:
        return 1
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


cdef inline bint keeps_points(const Collected* into, size_t tag) noexcept nogil:
    """Return whether the points of a tag are stored; others are only counted."""
    return into.keep == NULL or (tag < into.keep_size and into.keep[tag])


cdef inline bint add_scalar(
    Collected* into, int32_t tag, int64_t step, double wall_time, double value
) noexcept nogil:
    """Append a point to its tag, or count it; 0 when out of memory."""
    cdef bint is_kept = keeps_points(into, tag)
    cdef Points* points
    if into.only_points and not is_kept:
        return 1
    points = points_of(into, tag)
    if points == NULL:
        return 0
    if not into.only_points and points.restarts != into.restarts_size + 1:
        if not make_room(
            <void**> &into.advances, into.advances_size, &into.advances_room, sizeof(Advance)
        ):
            return 0
        into.advances[into.advances_size] = Advance(tag=tag, points=0)
        into.advances_size += 1
        points.restarts = into.restarts_size + 1
    if not is_kept:
        points.size += 1
        return 1
    return add_point(points, step, wall_time, value)


cdef inline bint add_restart(Collected* into, int64_t step) noexcept nogil:
    cdef Restart* restart
    cdef size_t i = 0
    if into.only_points:
        return 1
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


cdef inline void forget_metadata(Collected* into) noexcept nogil:
    """Undo the metadata that the values of a malformed event gave to their tags."""
    cdef size_t i
    for i in range(into.values_size):
        if into.values[i].is_first_metadata:
            into.tags.tags[into.values[i].tag].plugin = UNKNOWN_PLUGIN


cdef inline Value* new_value(Collected* into, int32_t form, Cursor bytes_) noexcept nogil:
    """Return room for the event's next value, or NULL; incrementing `values_size` adds it."""
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


cdef inline void count_event(Collected* into, double wall_time) noexcept nogil:
    into.events += 1
    if isnan(into.first_wall_time):
        into.first_wall_time = wall_time
    if not isnan(wall_time):
        into.last_wall_time = wall_time


cdef inline void free_collected(Collected* collected) noexcept nogil:
    cdef size_t i
    for i in range(collected.points_room):
        free_points(&collected.points[i])
    free(collected.points)
    free(collected.items)
    free(collected.notes)
    free(collected.restarts)
    free(collected.advances)
    free(collected.values)
