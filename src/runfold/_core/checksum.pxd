"""CRC32C for the other modules. A module that uses it calls `rf_crc32c_init` on import."""

from libc.stdint cimport uint8_t, uint32_t


cdef extern from "crc32c.h" nogil:
    const char* rf_crc32c_init()
    uint32_t rf_crc32c(uint32_t crc, const uint8_t* data, size_t size)
    uint32_t rf_crc32c_by_table(uint32_t crc, const uint8_t* data, size_t size)
    uint32_t rf_masked_crc32c(const uint8_t* data, size_t size)
