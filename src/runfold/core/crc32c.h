/* CRC32C (Castagnoli), masked the way TFRecord files store it.
 *
 * The processor's own instruction does 8 bytes in 3 cycles on x86-64 (SSE 4.2)
 * and arm64 (CRC extension); a table does one byte at a time elsewhere. Which
 * one is chosen once, at import, by asking the processor: a wheel built on one
 * machine runs on an older one.
 */
#ifndef RUNFOLD_CRC32C_H
#define RUNFOLD_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t (*rf_crc32c_fn)(uint32_t crc, const uint8_t *data, size_t size);

static uint32_t rf_crc32c_table[256];

static uint32_t rf_crc32c_by_table(uint32_t crc, const uint8_t *data, size_t size) {
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = rf_crc32c_table[(crc ^ data[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}

#if (defined(__x86_64__) || defined(_M_X64))
#  define RF_CRC32C_HARDWARE "sse4.2"
#  ifdef _MSC_VER
#    include <intrin.h>
#    define RF_TARGET
static int rf_crc32c_is_supported(void) {
    int info[4];
    __cpuid(info, 1);
    return (info[2] >> 20) & 1;
}
#  else
#    define RF_TARGET __attribute__((target("sse4.2")))
static int rf_crc32c_is_supported(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") != 0;
}
#  endif
#  include <nmmintrin.h>
#  define RF_CRC8(crc, byte) _mm_crc32_u8((crc), (byte))
#  define RF_CRC64(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#elif defined(__aarch64__) && (defined(__GNUC__) || defined(__clang__))
#  define RF_CRC32C_HARDWARE "arm64-crc"
#  include <arm_acle.h>
#  if defined(__clang__)
#    define RF_TARGET __attribute__((target("crc")))
#  else
#    define RF_TARGET __attribute__((target("+crc")))
#  endif
#  if defined(__linux__)
#    include <sys/auxv.h>
#    ifndef HWCAP_CRC32
#      define HWCAP_CRC32 (1 << 7)
#    endif
static int rf_crc32c_is_supported(void) { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#  elif defined(__APPLE__)
static int rf_crc32c_is_supported(void) { return 1; } /* every Apple arm64 has it */
#  else
static int rf_crc32c_is_supported(void) { return 0; }
#  endif
#  define RF_CRC8(crc, byte) __crc32cb((crc), (byte))
#  define RF_CRC64(crc, word) __crc32cd((crc), (word))
#endif

#ifdef RF_CRC32C_HARDWARE
RF_TARGET static uint32_t rf_crc32c_by_hardware(uint32_t crc, const uint8_t *data, size_t size) {
    crc = ~crc;
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        crc = RF_CRC64(crc, word);
    }
    for (; size; data++, size--)
        crc = RF_CRC8(crc, *data);
    return ~crc;
}
#endif

static rf_crc32c_fn rf_crc32c = rf_crc32c_by_table;

/* Fill the table and choose the implementation; returns its name. */
static const char *rf_crc32c_init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
        rf_crc32c_table[i] = crc;
    }
#ifdef RF_CRC32C_HARDWARE
    if (rf_crc32c_is_supported()) {
        rf_crc32c = rf_crc32c_by_hardware;
        return RF_CRC32C_HARDWARE;
    }
#endif
    return "table";
}

static inline uint32_t rf_masked_crc32c(const uint8_t *data, size_t size) {
    uint32_t crc = rf_crc32c(0, data, size);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
