"""Creates many objects of one plain class in one call."""

cdef extern from "Python.h":
    int PyObject_GenericSetAttr(object instance, object name, object value) except -1
    void PyObject_GC_UnTrack(void* instance)


def make_objects(type cls not None, dict columns not None, bint is_atomic=False):
    """Return objects of a class with one field per column, as if set by `__init__`.

    In Python, with `names, rows = list(columns), zip(*columns.values())`:

        [unpickled(cls, dict(zip(names, row))) for row in rows]

    Neither `__init__` nor the `__setattr__` of a frozen dataclass is called.

    Args:
        cls: a Python class without slots.
        columns: the values of each field, as lists of equal length.
        is_atomic: the values are numbers or strings, which refer to no other objects.
            The objects are then not tracked by the garbage collector, which would
            otherwise traverse millions of them repeatedly.
    """
    cdef tuple names = tuple(columns)
    cdef tuple values = tuple(columns.values())
    cdef Py_ssize_t width = len(names), height, row, field
    cdef list made = []
    cdef list column
    cdef object instance
    if width == 0:
        raise ValueError("at least one column is required")
    height = len(<list?> values[0])
    for row in range(height):
        instance = cls.__new__(cls)
        for field in range(width):
            column = <list?> values[field]
            # The length of a list can change at any time, because other code can refer to it.
            if row >= len(column):
                raise ValueError(f"column {names[field]!r} is shorter than {names[0]!r}")
            PyObject_GenericSetAttr(instance, names[field], column[row])
        if is_atomic:
            PyObject_GC_UnTrack(<void*> instance)
        made.append(instance)
    return made
