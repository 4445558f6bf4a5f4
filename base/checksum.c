/* SPDX-License-Identifier: MIT */
#include "base/checksum.h"

/*
 * CRC-32C three ways: the SSE4.2 instruction, the ARMv8 one, and tables of eight lanes
 * ("slicing by 8": M. Kounavis, F. Berry, ISCC 2005). All keep the remainder reflected and
 * inverted, so a sum can be continued by any of them. Which one is used is found out before
 * main() runs, as are the tables: no thread can come too early.
 */

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { LANES = 8 };

#define POLYNOMIAL_REFLECTED UINT32_C(0x82f63b78)

/* table[k][b]: what byte b, followed by k zero bytes, adds to the remainder. */
static uint32_t table[LANES][256];

static void build_table(void)
{
        for (uint32_t byte = 0; byte < 256; byte++) {
                uint32_t remainder = byte;

                for (int bit = 0; bit < 8; bit++)
                        remainder = (remainder >> 1) ^ (remainder & 1 ? POLYNOMIAL_REFLECTED : 0);
                table[0][byte] = remainder;
        }
        for (int lane = 1; lane < LANES; lane++)
                for (int byte = 0; byte < 256; byte++) {
                        uint32_t shorter = table[lane - 1][byte];

                        table[lane][byte] = (shorter >> 8) ^ table[0][shorter & 0xff];
                }
}

static uint64_t load_word(const unsigned char *bytes)
{
        uint64_t word;

        memcpy(&word, bytes, sizeof(word));
        return word;
}

static uint32_t update_portable(uint32_t crc, const unsigned char *bytes, size_t byte_len)
{
        for (; byte_len >= LANES; bytes += LANES, byte_len -= LANES) {
                uint64_t word = le64toh(load_word(bytes)) ^ crc;

                crc = 0;
                for (int lane = 0; lane < LANES; lane++)
                        crc ^= table[LANES - 1 - lane][(word >> (8 * lane)) & 0xff];
        }
        for (; byte_len > 0; bytes++, byte_len--)
                crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xff];
        return crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t update_hardware(uint32_t crc, const unsigned char *bytes,
                                                                  size_t byte_len)
{
        uint64_t wide = crc;

        for (; byte_len >= sizeof(wide); bytes += sizeof(wide), byte_len -= sizeof(wide))
                wide = __builtin_ia32_crc32di(wide, load_word(bytes));
        crc = (uint32_t)wide;
        for (; byte_len > 0; bytes++, byte_len--)
                crc = __builtin_ia32_crc32qi(crc, *bytes);
        return crc;
}

static bool has_hardware(void)
{
        __builtin_cpu_init();
        return __builtin_cpu_supports("sse4.2");
}

#elif defined(__aarch64__)

/* Written as instructions: compilers differ in when they offer the intrinsics. */
static uint32_t update_hardware(uint32_t crc, const unsigned char *bytes, size_t byte_len)
{
        for (; byte_len >= sizeof(uint64_t); bytes += sizeof(uint64_t), byte_len -= sizeof(uint64_t))
                __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(le64toh(load_word(bytes))));
        for (; byte_len > 0; bytes++, byte_len--)
                __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)*bytes));
        return crc;
}

static bool has_hardware(void)
{
        enum { HWCAP_CRC32_BIT = 1 << 7 };

        return getauxval(AT_HWCAP) & HWCAP_CRC32_BIT;
}

#else

#define update_hardware update_portable

static bool has_hardware(void)
{
        return false;
}

#endif

static uint32_t (*update)(uint32_t crc, const unsigned char *bytes, size_t byte_len) = update_portable;

__attribute__((constructor)) static void choose(void)
{
        build_table();
        if (has_hardware())
                update = update_hardware;
}

uint32_t checksum_crc32c(uint32_t crc, const void *bytes, size_t byte_len)
{
        return ~update(~crc, bytes, byte_len);
}

uint32_t checksum_crc32c_portable(uint32_t crc, const void *bytes, size_t byte_len)
{
        return ~update_portable(~crc, bytes, byte_len);
}
