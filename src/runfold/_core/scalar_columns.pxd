"""The scalar points of many tags, and the memory that their arrays use."""

cimport numpy as cnp

from runfold._core.points cimport Points


cdef class Block:
    cdef (void*)[3] columns


cdef class ScalarPoints:
    cdef Points* points     # by tag number
    cdef size_t room
    cdef size_t count       # number of tags with points
    cdef dict made
    cdef Py_ssize_t _number(self, object tag)
    cdef tuple _make(self, size_t tag)


cdef object as_array(Block block, void* data, cnp.npy_intp size, int type_number)
