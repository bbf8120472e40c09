"""The scalar points of one tag: three columns that grow together."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

cdef struct Points:
    int64_t* steps
    double* wall_times
    double* values
    size_t size
    size_t room
    size_t restarts         # one more than there were when its last point came; 0: no point yet


cdef inline bint grow_column(void** column, size_t room) noexcept nogil:
    cdef void* grown = realloc(column[0], room * 8)
    if grown == NULL:
        return 0
    column[0] = grown
    return 1


cdef inline bint grow_points(Points* points) noexcept nogil:
    # Doubling from a small start: ten thousand tags with one point each stay
    # small. Each column has a block of its own because realloc moves a large
    # block by its pages, without copying it or touching new memory.
    cdef size_t room = points.room * 2 if points.room else 32
    if room > (<size_t> -1) // 64:
        return 0
    if not (
        grow_column(<void**> &points.steps, room)
        and grow_column(<void**> &points.wall_times, room)
        and grow_column(<void**> &points.values, room)
    ):
        return 0
    points.room = room
    return 1


cdef inline bint add_point(
    Points* points, int64_t step, double wall_time, double value
) noexcept nogil:
    """Append one point; 0 when memory is out."""
    if points.size == points.room and not grow_points(points):
        return 0
    points.steps[points.size] = step
    points.wall_times[points.size] = wall_time
    points.values[points.size] = value
    points.size += 1
    return 1


cdef inline void free_points(Points* points) noexcept nogil:
    """Forget all points and give their memory back."""
    free(points.steps)
    free(points.wall_times)
    free(points.values)
    memset(points, 0, sizeof(Points))
