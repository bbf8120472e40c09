"""The scalar points of one tag: three columns that grow together."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

# A single point is stored in place of the pointers, because a log can have a million
# tags with one point each.
cdef union Steps:
    int64_t* column
    int64_t only

cdef union Numbers:
    double* column
    double only

cdef struct Points:
    Steps steps
    Numbers wall_times
    Numbers values
    size_t size
    size_t room             # 0: no columns yet, and at most one point
    size_t restarts         # 1 + number of restarts before its last point; 0: no point yet

cdef enum:
    FIRST_ROOM = 4
    SECOND_ROOM = 32


cdef inline void free_columns(Points* points) noexcept nogil:
    """Free the memory of the columns; the initial columns share one block."""
    if points.room:
        free(points.steps.column)
    if points.room > FIRST_ROOM:
        free(points.wall_times.column)
        free(points.values.column)


cdef inline bint make_columns(Points* points) noexcept nogil:
    """Move the points to the initial columns, or from those to larger ones; 0 if out of memory."""
    cdef size_t room = SECOND_ROOM if points.room else FIRST_ROOM
    cdef int64_t* steps
    cdef double* wall_times
    cdef double* values
    if room == FIRST_ROOM:
        steps = <int64_t*> malloc(3 * FIRST_ROOM * 8)
        if steps == NULL:
            return 0
        wall_times = <double*> (steps + FIRST_ROOM)
        values = wall_times + FIRST_ROOM
        steps[0] = points.steps.only
        wall_times[0] = points.wall_times.only
        values[0] = points.values.only
    else:
        steps = <int64_t*> malloc(SECOND_ROOM * 8)
        wall_times = <double*> malloc(SECOND_ROOM * 8)
        values = <double*> malloc(SECOND_ROOM * 8)
        if steps == NULL or wall_times == NULL or values == NULL:
            free(steps)
            free(wall_times)
            free(values)
            return 0
        memcpy(steps, points.steps.column, FIRST_ROOM * 8)
        memcpy(wall_times, points.wall_times.column, FIRST_ROOM * 8)
        memcpy(values, points.values.column, FIRST_ROOM * 8)
        free_columns(points)
    points.steps.column = steps
    points.wall_times.column = wall_times
    points.values.column = values
    points.room = room
    return 1


cdef inline bint grow_column(void** column, size_t room) noexcept nogil:
    cdef void* grown = realloc(column[0], room * 8)
    if grown == NULL:
        return 0
    column[0] = grown
    return 1


cdef inline bint grow_points(Points* points) noexcept nogil:
    # Each large column has its own block, because realloc moves a large block by remapping its
    # pages, without copying it or touching new memory.
    cdef size_t room = points.room * 2
    if points.room <= FIRST_ROOM:
        return make_columns(points)
    if room > (<size_t> -1) // 64:
        return 0
    if not (
        grow_column(<void**> &points.steps.column, room)
        and grow_column(<void**> &points.wall_times.column, room)
        and grow_column(<void**> &points.values.column, room)
    ):
        return 0
    points.room = room
    return 1


cdef inline bint add_point(
    Points* points, int64_t step, double wall_time, double value
) noexcept nogil:
    """Append one point; 0 when out of memory."""
    if points.size >= points.room:
        if points.size == 0:
            points.steps.only = step
            points.wall_times.only = wall_time
            points.values.only = value
            points.size = 1
            return 1
        if not grow_points(points):
            return 0
    points.steps.column[points.size] = step
    points.wall_times.column[points.size] = wall_time
    points.values.column[points.size] = value
    points.size += 1
    return 1


cdef inline int64_t* pack_columns(const Points* points, Points* packed, int64_t* at) noexcept nogil:
    """Copy the columns to `at`, let `packed` use them there, and return the end of the copy."""
    cdef size_t size = points.size
    if points.room:
        memcpy(at, points.steps.column, size * 8)
        memcpy(at + size, points.wall_times.column, size * 8)
        memcpy(at + 2 * size, points.values.column, size * 8)
    else:
        at[0] = points.steps.only
        memcpy(at + 1, &points.wall_times.only, 8)
        memcpy(at + 2, &points.values.only, 8)
    packed.steps.column = at
    packed.wall_times.column = <double*> (at + size)
    packed.values.column = <double*> (at + 2 * size)
    packed.size = packed.room = size
    packed.restarts = points.restarts
    return at + 3 * size


cdef inline void free_points(Points* points) noexcept nogil:
    """Remove all points and free their memory."""
    free_columns(points)
    memset(points, 0, sizeof(Points))
