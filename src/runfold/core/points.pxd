"""The scalar points of one tag, growing in one block: steps, wall times, values."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef struct Points:
    int64_t* steps          # the start of the block; NULL while there is none
    double* wall_times
    double* values
    size_t size
    size_t room
    size_t restarts         # one more than there were when its last point came; 0: no point yet


cdef inline bint grow_points(Points* points) noexcept nogil:
    # Doubling from a small start: ten thousand tags with one point each stay
    # small, and pages of a large block that were never touched cost nothing.
    cdef size_t room = points.room * 2 if points.room else 32
    cdef char* block
    if room > (<size_t> -1) // 64:
        return 0
    block = <char*> malloc(room * 24)
    if block == NULL:
        return 0
    if points.size:
        memcpy(block, points.steps, points.size * 8)
        memcpy(block + room * 8, points.wall_times, points.size * 8)
        memcpy(block + room * 16, points.values, points.size * 8)
    free(points.steps)
    points.steps = <int64_t*> block
    points.wall_times = <double*> (block + room * 8)
    points.values = <double*> (block + room * 16)
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
