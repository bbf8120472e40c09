"""CRC32C, with the processor's instruction if available."""

from libc.stdint cimport uint8_t

from runfold._core.checksum cimport (
    rf_crc32c,
    rf_crc32c_by_table,
    rf_crc32c_init,
    rf_masked_crc32c,
)

IMPLEMENTATION = rf_crc32c_init().decode()


def crc32c(const uint8_t[::1] data not None):
    """Return the CRC32C of `data`, computed by `IMPLEMENTATION`."""
    if data.shape[0] == 0:
        return 0
    return rf_crc32c(0, &data[0], data.shape[0])


def crc32c_by_table(const uint8_t[::1] data not None):
    """Return the CRC32C of `data` from the table, as on processors without the instruction."""
    if data.shape[0] == 0:
        return 0
    return rf_crc32c_by_table(0, &data[0], data.shape[0])


def masked_crc32c(const uint8_t[::1] data not None):
    """Return the CRC32C as TFRecord stores it: rotated and offset."""
    if data.shape[0] == 0:
        return rf_masked_crc32c(NULL, 0)
    return rf_masked_crc32c(&data[0], data.shape[0])
