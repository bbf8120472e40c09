"""Groups items by tag and form, for files that are decoded in order."""

import numpy as np

from libc.stdint cimport int16_t

from runfold._core.collected cimport Item


def group_items(const Item[::1] items not None, Py_ssize_t tags):
    """Return one array of item indices per tag and form, in order of first appearance.

    In Python:

        groups = {}
        for number, item in enumerate(items):
            groups.setdefault((item["tag"], item["form"]), []).append(number)
        [np.array(numbers) for numbers in groups.values()]

    Raises ValueError for an item whose tag number is not less than `tags`.
    """
    cdef Py_ssize_t count = items.shape[0]
    cdef Py_ssize_t number, tag, group, size, start = 0, groups = 0
    # The newest group of each tag, -1 at first; entry 0 is for items without a tag.
    cdef Py_ssize_t[::1] newest = np.full(max(tags, 0) + 1, -1, np.intp)
    cdef Py_ssize_t[::1] group_of = np.empty(count, np.intp)
    # For each group: its form, the next older group of the same tag, and the end of its items.
    cdef int16_t[::1] forms = np.empty(count, np.int16)
    cdef Py_ssize_t[::1] older = np.empty(count, np.intp)
    cdef Py_ssize_t[::1] ends = np.empty(count, np.intp)
    grouped = np.empty(count, np.intp)
    cdef Py_ssize_t[::1] numbers = grouped
    with nogil:
        for number in range(count):
            tag = items[number].tag
            if not -1 <= tag < tags:
                break
            group = newest[tag + 1]
            while group >= 0 and forms[group] != items[number].form:
                group = older[group]
            if group < 0:
                group = groups
                groups += 1
                forms[group] = items[number].form
                older[group] = newest[tag + 1]
                newest[tag + 1] = group
                ends[group] = 0
            group_of[number] = group
            ends[group] += 1
        else:
            for group in range(groups):
                size = ends[group]
                ends[group] = start
                start += size
            for number in range(count):
                group = group_of[number]
                numbers[ends[group]] = number
                ends[group] += 1
    if start < count:
        raise ValueError(f"an item has tag number {tag}, but there are {tags} tags")
    return np.split(grouped, np.asarray(ends[:groups - 1])) if groups else []
