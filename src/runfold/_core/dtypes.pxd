"""TensorFlow's element types: their sizes, and the numbers that their bits represent."""

from libc.math cimport INFINITY, NAN, fabs, ldexp
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum DataType:
    DT_FLOAT = 1
    DT_DOUBLE = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 5
    DT_INT8 = 6
    DT_STRING = 7
    DT_COMPLEX64 = 8
    DT_INT64 = 9
    DT_BOOL = 10
    DT_QINT8 = 11
    DT_QUINT8 = 12
    DT_QINT32 = 13
    DT_BFLOAT16 = 14
    DT_QINT16 = 15
    DT_QUINT16 = 16
    DT_UINT16 = 17
    DT_COMPLEX128 = 18
    DT_HALF = 19
    DT_UINT32 = 22
    DT_UINT64 = 23
    DT_FLOAT8_E5M2 = 24
    DT_FLOAT8_E4M3FN = 25


cdef inline int number_size(int dtype) noexcept nogil:
    """Return the size in bytes of one real number of this dtype; 0 if it is not a real number."""
    if dtype in (DT_FLOAT, DT_INT32, DT_UINT32, DT_QINT32):
        return 4
    elif dtype in (DT_DOUBLE, DT_INT64, DT_UINT64):
        return 8
    elif dtype in (DT_HALF, DT_BFLOAT16, DT_INT16, DT_UINT16, DT_QINT16, DT_QUINT16):
        return 2
    elif dtype in (DT_INT8, DT_UINT8, DT_QINT8, DT_QUINT8, DT_BOOL):
        return 1
    elif dtype in (DT_FLOAT8_E5M2, DT_FLOAT8_E4M3FN):
        return 1
    return 0


cdef inline double half_number(uint16_t bits) noexcept nogil:
    cdef int exponent = (bits >> 10) & 31
    cdef int mantissa = bits & 1023
    cdef double number
    if exponent == 31:
        number = NAN if mantissa else INFINITY
    elif exponent == 0:
        number = ldexp(mantissa, -24)
    else:
        number = ldexp(1024 + mantissa, exponent - 25)
    return -number if bits & 0x8000 else number


cdef inline double float8_e4m3fn_number(uint8_t bits) noexcept nogil:
    """Four bits of exponent, three of mantissa; no infinities, and one NaN of each sign."""
    cdef int exponent = (bits >> 3) & 15
    cdef int mantissa = bits & 7
    cdef double number
    if bits & 0x7F == 0x7F:
        number = NAN
    elif exponent == 0:
        number = ldexp(mantissa, -9)
    else:
        number = ldexp(8 + mantissa, exponent - 10)
    return -number if bits & 0x80 else number


cdef inline double float_number(uint32_t bits) noexcept nogil:
    cdef float number
    memcpy(&number, &bits, 4)
    return number


cdef inline bint is_rounded(uint64_t magnitude, double number) noexcept nogil:
    """Return whether a 64-bit integer lost digits in the conversion to a double."""
    return number >= 18446744073709551616.0 or <uint64_t> number != magnitude


cdef inline int to_number(int dtype, uint64_t bits, double* out) noexcept nogil:
    """Convert `bits` to a number; return 1, or 2 if it had to be rounded."""
    cdef int64_t signed_bits
    if dtype == DT_FLOAT:
        out[0] = float_number(<uint32_t> bits)
    elif dtype == DT_DOUBLE:
        memcpy(out, &bits, 8)
    elif dtype in (DT_INT32, DT_QINT32):
        out[0] = <int32_t> bits
    elif dtype in (DT_INT16, DT_QINT16):
        out[0] = <int16_t> bits
    elif dtype in (DT_INT8, DT_QINT8):
        out[0] = <int8_t> bits
    elif dtype in (DT_UINT8, DT_QUINT8):
        out[0] = <uint8_t> bits
    elif dtype in (DT_UINT16, DT_QUINT16):
        out[0] = <uint16_t> bits
    elif dtype == DT_UINT32:
        out[0] = <uint32_t> bits
    elif dtype == DT_INT64:
        signed_bits = <int64_t> bits
        out[0] = <double> signed_bits
        return 2 if is_rounded(bits if signed_bits >= 0 else ~bits + 1, fabs(out[0])) else 1
    elif dtype == DT_UINT64:
        out[0] = <double> bits
        return 2 if is_rounded(bits, out[0]) else 1
    elif dtype == DT_BOOL:
        out[0] = bits != 0
    elif dtype == DT_HALF:
        out[0] = half_number(<uint16_t> bits)
    elif dtype == DT_BFLOAT16:
        out[0] = float_number(<uint32_t> <uint16_t> bits << 16)
    elif dtype == DT_FLOAT8_E5M2:
        out[0] = half_number(<uint16_t> (<uint8_t> bits << 8))
    elif dtype == DT_FLOAT8_E4M3FN:
        out[0] = float8_e4m3fn_number(<uint8_t> bits)
    return 1
