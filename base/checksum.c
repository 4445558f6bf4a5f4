/* SPDX-License-Identifier: MIT */
#include "base/checksum.h"

/*
 * CRC-32C three ways: the SSE4.2 instruction, the ARMv8 one, and tables of eight lanes
 * ("slicing by 8": M. Kounavis, F. Berry, ISCC 2005). All keep the remainder reflected and
 * inverted, so a checksum can be continued by any of them. Which one is used is found out before
 * main() runs, as are the tables: no thread can come too early.
 *
 * The instructions take three cycles each, and one may begin in every cycle. So a page is three blocks side by side,
 * whose remainders are put together: a remainder goes past a block of zeros by a table (M. Adler, crc32c.c, 2013).
 */

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { LANES = 8, BLOCK = 1344 /* three are most of a page of 4,096 bytes */ };

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

/* past_block[k][b]: what byte k of a remainder, of value b, becomes behind BLOCK zero bytes. */
static uint32_t past_block[4][256];

static inline uint32_t go_past_block(uint32_t crc)
{
        return past_block[0][crc & 0xff] ^ past_block[1][(crc >> 8) & 0xff] ^ past_block[2][(crc >> 16) & 0xff] ^
               past_block[3][crc >> 24];
}

/* Of the bits alone first: what becomes of a sum is the sum of what becomes of its parts. */
static void build_past_block(uint32_t (*update_by)(uint32_t crc, const unsigned char *bytes, size_t byte_len))
{
        static const unsigned char zeros[BLOCK];

        for (int k = 0; k < 4; k++)
                for (uint32_t byte = 1; byte < 256; byte++) {
                        const uint32_t lowest = byte & -byte;

                        past_block[k][byte] = byte == lowest ? update_by(byte << (8 * k), zeros, BLOCK)
                                                             : past_block[k][lowest] ^ past_block[k][byte ^ lowest];
                }
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t update_hardware(uint32_t crc, const unsigned char *bytes,
                                                                  size_t byte_len)
{
        uint64_t wide = crc;

        while (byte_len >= (size_t)3 * BLOCK) {
                uint64_t second = 0, third = 0;

                for (const unsigned char *end = bytes + BLOCK; bytes < end; bytes += sizeof(wide)) {
                        wide = __builtin_ia32_crc32di(wide, load_word(bytes));
                        second = __builtin_ia32_crc32di(second, load_word(bytes + BLOCK));
                        third = __builtin_ia32_crc32di(third, load_word(bytes + 2UL * BLOCK));
                }
                wide = go_past_block(go_past_block((uint32_t)wide) ^ (uint32_t)second) ^ (uint32_t)third;
                bytes += 2UL * BLOCK;
                byte_len -= 3UL * BLOCK;
        }
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
static uint32_t step(uint32_t crc, uint64_t word)
{
        __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(le64toh(word)));
        return crc;
}

static uint32_t update_hardware(uint32_t crc, const unsigned char *bytes, size_t byte_len)
{
        while (byte_len >= (size_t)3 * BLOCK) {
                uint32_t second = 0, third = 0;

                for (const unsigned char *end = bytes + BLOCK; bytes < end; bytes += sizeof(uint64_t)) {
                        crc = step(crc, load_word(bytes));
                        second = step(second, load_word(bytes + BLOCK));
                        third = step(third, load_word(bytes + 2UL * BLOCK));
                }
                crc = go_past_block(go_past_block(crc) ^ second) ^ third;
                bytes += 2UL * BLOCK;
                byte_len -= 3UL * BLOCK;
        }
        for (; byte_len >= sizeof(uint64_t); bytes += sizeof(uint64_t), byte_len -= sizeof(uint64_t))
                crc = step(crc, load_word(bytes));
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
        if (!has_hardware())
                return;
        build_past_block(update_hardware); /* by blocks too short to need it */
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
