"""Many objects of one plain class, made in one call."""

cdef extern from "Python.h":
    int PyObject_GenericSetAttr(object instance, object name, object value) except -1
    void PyObject_GC_UnTrack(void* instance)


def make_objects(type cls not None, dict columns not None, bint is_atomic=False):
    """Objects of a class with a field for each column, as if `__init__` had set them.

    In Python, where `names, rows = list(columns), zip(*columns.values())`:

        [unpickled(cls, dict(zip(names, row))) for row in rows]

    which neither calls `__init__` nor the `__setattr__` of a frozen dataclass.

    Args:
        cls: a class of Python, without slots.
        columns: the values of each field, lists of one length.
        is_atomic: the values are numbers or text, which refer to nothing. Then the
            garbage collector, which would walk through millions of objects again and
            again, need not know of them.
    """
    cdef tuple names = tuple(columns)
    cdef tuple values = tuple(columns.values())
    cdef Py_ssize_t width = len(names), height, row, field
    cdef list made = []
    cdef list column
    cdef object instance
    if width == 0:
        raise ValueError("objects without fields have no number")
    height = len(<list?> values[0])
    for row in range(height):
        instance = cls.__new__(cls)
        for field in range(width):
            column = <list?> values[field]
            # A list may change its length at any time: it is in other hands as well.
            if row >= len(column):
                raise ValueError(f"column {names[field]!r} is shorter than {names[0]!r}")
            PyObject_GenericSetAttr(instance, names[field], column[row])
        if is_atomic:
            PyObject_GC_UnTrack(<void*> instance)
        made.append(instance)
    return made
