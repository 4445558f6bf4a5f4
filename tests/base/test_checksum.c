/* SPDX-License-Identifier: MIT */
#include "base/checksum.h"

/* CRC-32C against published values, a bit-by-bit model, and itself in pieces. */

#include "tests/base/scratch.h"

#include "tests/support/chance.h"

typedef uint32_t checksum_function(uint32_t crc, const void *bytes, size_t byte_len);

static checksum_function *const both[] = { checksum_crc32c, checksum_crc32c_portable };

/* The definition, one bit at a time. */
static uint32_t model(uint32_t crc, const unsigned char *bytes, size_t byte_len)
{
        crc = ~crc;
        for (size_t i = 0; i < byte_len; i++)
                for (int bit = 0; bit < 8; bit++) {
                        uint32_t feedback = (crc ^ (uint32_t)(bytes[i] >> bit)) & 1;

                        crc = (crc >> 1) ^ (feedback ? UINT32_C(0x82f63b78) : 0);
                }
        return ~crc;
}

/* RFC 3720, appendix B.4; and the check value of the CRC catalogues. */
static void test_published_values(void **state)
{
        static const unsigned char scsi_read[48] = { 0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                                                     0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                                     0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0 };
        unsigned char zeros[32] = { 0 }, ones[32], up[32], down[32];

        (void)state;
        memset(ones, 0xff, sizeof(ones));
        for (int i = 0; i < 32; i++) {
                up[i] = (unsigned char)i;
                down[i] = (unsigned char)(31 - i);
        }
        for (int i = 0; i < 2; i++) {
                assert_int_equal(both[i](0, zeros, sizeof(zeros)), 0x8a9136aa);
                assert_int_equal(both[i](0, ones, sizeof(ones)), 0x62a8ab43);
                assert_int_equal(both[i](0, up, sizeof(up)), 0x46dd794e);
                assert_int_equal(both[i](0, down, sizeof(down)), 0x113fdb5c);
                assert_int_equal(both[i](0, scsi_read, sizeof(scsi_read)), 0xd9963a56);
                assert_int_equal(both[i](0, "123456789", 9), 0xe3069283);
                assert_int_equal(both[i](0, "", 0), 0);
                assert_int_equal(both[i](0x12345678, "", 0), 0x12345678);
        }
}

static void test_random_lengths_alignments_and_pieces(void **state)
{
        enum { ROUNDS = 1500, BYTES = 10000 }; /* three blocks side by side, and more than once */
        static unsigned char bytes[BYTES];
        struct chance chance = { .state = chance_seed() };

        (void)state;
        for (int i = 0; i < BYTES; i++)
                bytes[i] = (unsigned char)chance_next(&chance);
        for (int round = 0; round < ROUNDS; round++) {
                size_t from = chance_below(&chance, 64);
                size_t byte_len = chance_below(&chance, BYTES - 64);
                size_t cut = byte_len ? chance_below(&chance, byte_len) : 0;
                uint32_t begin = (uint32_t)chance_next(&chance);
                uint32_t expected = model(begin, bytes + from, byte_len);

                for (int first = 0; first < 2; first++) {
                        uint32_t part = both[first](begin, bytes + from, cut);

                        if (both[first](begin, bytes + from, byte_len) != expected ||
                            both[!first](part, bytes + from + cut, byte_len - cut) != expected)
                                fail_msg("round %d: from %zu, %zu bytes cut at %zu", round, from, byte_len, cut);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_published_values),
                cmocka_unit_test(test_random_lengths_alignments_and_pieces),
        };

        return cmocka_run_group_tests_name("base/checksum", tests, NULL, NULL);
}
