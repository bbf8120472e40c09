"""Decoding of one stretch of one file, for the modules that decode many files."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from runfold._core.collected cimport Collected
from runfold._core.record cimport StopReason
from runfold._core.scalar_columns cimport ScalarPoints
from runfold._core.tag_table cimport Tags


cdef struct Progress:
    Collected collected
    int64_t offset          # position of the next record in the file
    uint64_t needed         # bytes that the next record needs
    uint64_t limit
    StopReason stop


cdef class Decoder:
    cdef Progress progress
    cdef readonly Tags tags
    cdef bytes _keep


cdef bint decode_stretch(Progress* file, const uint8_t* data, size_t size) noexcept nogil
cdef object take_items(Collected* collected)
cdef list list_notes(const Collected* collected)
cdef list list_restarts(const Collected* collected)
