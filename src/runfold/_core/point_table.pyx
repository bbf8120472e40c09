"""The points of one tag in many runs, collected in one call.

A source is either the `ScalarPoints` of a run or a pair of arrays, (steps, values). Creating
arrays for each run would take far more time and memory than reading a few points.
"""

import numpy as np

cimport numpy as cnp
from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from runfold._core.points cimport Points
from runfold._core.scalar_columns cimport ScalarPoints

cnp.import_array()

cdef int64_t LOWEST = <int64_t> 1 << 63


cdef struct View:
    const int64_t* steps
    const double* wall_times    # only of `ScalarPoints`
    const double* values
    size_t size


cdef int view_arrays(object steps, object values, View* view) except -1:
    """Set the view to two contiguous arrays, which the caller must keep alive."""
    if not (cnp.PyArray_Check(steps) and cnp.PyArray_Check(values)):
        raise TypeError("expected arrays of steps and values")
    if (
        cnp.PyArray_TYPE(steps) != cnp.NPY_INT64 or cnp.PyArray_TYPE(values) != cnp.NPY_FLOAT64
        or cnp.PyArray_NDIM(steps) != 1 or cnp.PyArray_NDIM(values) != 1
        or not (cnp.PyArray_ISCARRAY_RO(steps) and cnp.PyArray_ISCARRAY_RO(values))
        or cnp.PyArray_SIZE(steps) != cnp.PyArray_SIZE(values)
    ):
        raise ValueError("expected contiguous int64 steps and float64 values of equal size")
    view.steps = <const int64_t*> cnp.PyArray_DATA(steps)
    view.values = <const double*> cnp.PyArray_DATA(values)
    view.size = cnp.PyArray_SIZE(steps)
    return 0


cdef int view_points(ScalarPoints source, Py_ssize_t tag, View* view) except -1:
    """Set the view to the points of a tag; empty if there are none."""
    cdef const Points* points
    view.size = 0
    if 0 <= tag < <Py_ssize_t> source.room and source.points[tag].size:
        points = &source.points[tag]
        view.size = points.size
        if points.room:
            view.steps = points.steps.column
            view.wall_times = points.wall_times.column
            view.values = points.values.column
        else:
            view.steps = &points.steps.only
            view.wall_times = &points.wall_times.only
            view.values = &points.values.only
    elif source.made:
        made = source.made.get(tag)
        if made is not None:
            view_arrays(made[0], made[1], view)
            view.wall_times = view.values
            return view_arrays(made[0], made[2], view)
    return 0


cdef int view_source(object source, Py_ssize_t tag, View* view) except -1:
    if isinstance(source, ScalarPoints):
        return view_points(<ScalarPoints> source, tag, view)
    if not isinstance(source, tuple) or len(<tuple> source) != 2:
        raise TypeError("expected ScalarPoints, or a pair of arrays")
    return view_arrays((<tuple> source)[0], (<tuple> source)[1], view)


cdef Py_ssize_t check_size(tuple sources, const int32_t[::1] tags) except -1:
    if tags.shape[0] != len(sources):
        raise ValueError(f"{len(sources)} sources need as many tags, not {tags.shape[0]}")
    return len(sources)


def join_points(list sources not None, const int32_t[::1] tags not None):
    """Return the points of a tag in all sources that have any, one source after the other.

    Args:
        sources: the runs.
        tags: the number of the tag in each source; ignored for arrays.

    Returns:
        found: the indices of the sources with points.
        sizes: the number of points of each of these.
        steps, values: all points.
    """
    cdef tuple held = tuple(sources)
    cdef Py_ssize_t count = check_size(held, tags), i, used = 0
    cdef size_t total = 0, at = 0
    cdef View view
    found = np.empty(count, np.intp)
    sizes = np.empty(count, np.int64)
    cdef Py_ssize_t[::1] found_out = found
    cdef int64_t[::1] sizes_out = sizes
    for i in range(count):
        view_source(held[i], tags[i], &view)
        if view.size:
            found_out[used] = i
            sizes_out[used] = view.size
            used += 1
            total += view.size
    steps, values = np.empty(total, np.int64), np.empty(total)
    cdef int64_t[::1] steps_out = steps
    cdef double[::1] values_out = values
    for i in range(used):
        view_source(held[found_out[i]], tags[found_out[i]], &view)
        if <int64_t> view.size != sizes_out[i]:
            raise RuntimeError("another thread has changed the points of a run")
        memcpy(&steps_out[at], view.steps, view.size * 8)
        memcpy(&values_out[at], view.values, view.size * 8)
        at += view.size
    return found[:used].copy(), sizes[:used].copy(), steps, values


def find_ends(list sources not None, const int32_t[::1] tags not None):
    """Return the points of a tag with the lowest and highest step in each source that has any.

    If several points have the lowest step, the first of them counts, and the last of those with
    the highest step. This equals a stable sort of each source by step.

    Args:
        sources, tags: as in `join_points`.

    Returns:
        found: the indices of the sources with points.
        first, last: the values at the lowest and at the highest step.
        last_steps: the highest steps.
    """
    cdef tuple held = tuple(sources)
    cdef Py_ssize_t count = check_size(held, tags), i, used = 0
    cdef size_t at, low, high
    cdef View view
    found = np.empty(count, np.intp)
    first, last = np.empty(count), np.empty(count)
    last_steps = np.empty(count, np.int64)
    cdef Py_ssize_t[::1] found_out = found
    cdef double[::1] first_out = first
    cdef double[::1] last_out = last
    cdef int64_t[::1] steps_out = last_steps
    for i in range(count):
        view_source(held[i], tags[i], &view)
        if not view.size:
            continue
        low = high = 0
        for at in range(1, view.size):
            if view.steps[at] >= view.steps[high]:
                high = at
            elif view.steps[at] < view.steps[low]:
                low = at
        found_out[used] = i
        first_out[used] = view.values[low]
        last_out[used] = view.values[high]
        steps_out[used] = view.steps[high]
        used += 1
    return tuple([column[:used].copy() for column in (found, first, last, last_steps)])


def stack_points(list points not None, const int32_t[::1] tags not None, size_t most):
    """Return the points of a tag if all `ScalarPoints` have the same steps; otherwise None.

    None also if there are no points or more than `most`, if the steps do not increase, or if a
    value or wall time is NaN.

    Returns:
        steps: those of each `ScalarPoints`.
        wall_times, values: with a row for each `ScalarPoints`.
    """
    cdef tuple held = tuple(points)
    cdef Py_ssize_t count = check_size(held, tags), i
    cdef size_t size, at
    cdef View view
    if count == 0:
        return None
    view_points(<ScalarPoints?> held[0], tags[0], &view)
    size = view.size
    if not 0 < size <= most:
        return None
    steps = np.empty(size, np.int64)
    wall_times, values = np.empty((count, size)), np.empty((count, size))
    cdef int64_t[::1] steps_out = steps
    cdef double[:, ::1] times_out = wall_times
    cdef double[:, ::1] values_out = values
    for i in range(count):
        view_points(<ScalarPoints?> held[i], tags[i], &view)
        if view.size != size:
            return None
        if i == 0:
            memcpy(&steps_out[0], view.steps, size * 8)
            for at in range(1, size):
                if steps_out[at] <= steps_out[at - 1]:
                    return None
        elif memcmp(view.steps, &steps_out[0], size * 8) != 0:
            return None
        for at in range(size):
            if isnan(view.values[at]) or isnan(view.wall_times[at]):
                return None
        memcpy(&times_out[i, 0], view.wall_times, size * 8)
        memcpy(&values_out[i, 0], view.values, size * 8)
    return steps, wall_times, values


def find_last_steps(list points not None, bytes skipped not None):
    """Return the highest step of all tags of each `ScalarPoints`, and which of them have points.

    Args:
        points: the runs.
        skipped: a byte for each tag number, not zero if the tag is ignored.
    """
    cdef tuple held = tuple(points)
    cdef Py_ssize_t count = len(held), i, tag
    cdef const uint8_t* skips = skipped
    cdef Py_ssize_t skips_size = len(skipped)
    cdef ScalarPoints source
    cdef View view
    cdef size_t at
    cdef int64_t highest
    steps, has_any = np.empty(count, np.int64), np.empty(count, np.bool_)
    cdef int64_t[::1] steps_out = steps
    cdef uint8_t[::1] has_out = has_any.view(np.uint8)
    for i in range(count):
        source = <ScalarPoints?> held[i]
        highest = LOWEST
        has_out[i] = 0
        for tag in range(<Py_ssize_t> source.room):
            if (tag < skips_size and skips[tag]) or not source.points[tag].size:
                continue
            view_points(source, tag, &view)
            has_out[i] = 1
            for at in range(view.size):
                highest = max(highest, view.steps[at])
        for key, made in list(source.made.items()) if source.made else ():
            tag = key
            if tag < skips_size and skips[tag]:
                continue
            view_arrays(made[0], made[2], &view)
            has_out[i] |= view.size > 0
            for at in range(view.size):
                highest = max(highest, view.steps[at])
        steps_out[i] = highest
    return steps, has_any


def list_tags(list points not None):
    """Return the tags with points in any `ScalarPoints`: (index of the first one, tag number).

    They are in order of first appearance.
    """
    cdef tuple held = tuple(points)
    cdef Py_ssize_t i, tag, room = 0
    cdef ScalarPoints source
    for i in range(len(held)):
        source = <ScalarPoints?> held[i]
        room = max(room, <Py_ssize_t> source.room, 1 + max(source.made, default=-1))
    seen = np.zeros(room, np.uint8)
    cdef uint8_t[::1] is_seen = seen
    found = []
    for i in range(len(held)):
        source = <ScalarPoints> held[i]
        if source.made:
            tags = list(source)
            for made in tags:
                tag = made
                if tag < room and not is_seen[tag]:
                    is_seen[tag] = 1
                    found.append((i, tag))
            continue
        for tag in range(min(<Py_ssize_t> source.room, room)):
            if source.points[tag].size and not is_seen[tag]:
                is_seen[tag] = 1
                found.append((i, tag))
    return found
