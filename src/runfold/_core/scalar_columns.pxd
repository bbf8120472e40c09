"""The scalar points of many tags, and the memory that their arrays use."""

cimport numpy as cnp

from runfold._core.points cimport Points


# Up to this many points of a file, in all its tags, share one block of memory. An array keeps the
# whole block alive, so it must not be large.
cdef enum:
    MOST_PACKED = 4096


cdef class Block:
    cdef (void*)[3] columns


cdef class ScalarPoints:
    cdef Points* points     # by tag number
    cdef size_t room
    cdef size_t count       # number of tags with points
    cdef dict made
    # The columns of all tags in one block, which frees them; a flag, because the garbage
    # collector can clear `block` first.
    cdef bint is_packed
    cdef Block block
    cdef void settle(self) noexcept
    cdef void _drop(self, size_t tag) noexcept
    cdef int _keep(self, size_t tag, tuple points) except -1
    cdef Py_ssize_t _number(self, object tag)
    cdef tuple _make(self, size_t tag)


cdef object as_array(Block block, void* data, cnp.npy_intp size, int type_number)
