/* SPDX-License-Identifier: MIT */

/*
 * The file that says what a backup is: as it was after encoding and decoding, and no other bytes are believed.
 * Checksums of pages see every bit.
 */

#include <errno.h>

#include "backup/backup_index.h"
#include "backup/page_checksum.h"
#include "base/checksum.h"
#include "base/zeros.h"
#include "recovery/bytes.h"
#include "tests/backup/stand.h"
#include "tests/support/chance.h"

static void make(struct backup_index *index)
{
        memset(index, 0, sizeof(*index));
        index->manifest = (struct manifest){ .generation = 3,
                                             .page_bytes = 4096,
                                             .max_participants = 1024,
                                             .mode = 0600,
                                             .file_count = 2,
                                             .segment_bytes = 65536,
                                             .file_name = { "alpha", "beta" } };
        manifest_begin_log(&index->manifest, 77);
        memset(index->id, 1, sizeof(index->id));
        memset(index->since, 2, sizeof(index->since));
        index->sequence = 77;
        index->file[0] = (struct backup_file){ .byte_len = 100 * 4096, .mode = 0640 };
        index->file[1] = (struct backup_file){ .byte_len = UINT64_C(1) << 40, .mode = 0600 };
        for (uint64_t i = 0; i < 50; i++)
                check_ok(backup_index_add(index, 0, i + (i > 20) * 40, i * 12345, i % 10 < 3));
        check_ok(backup_index_add(index, 1, (UINT64_C(1) << 28) - 1, UINT64_MAX, true));
}

static void what_was_encoded_is_decoded(void)
{
        static struct backup_index index, again;
        unsigned char *bytes;
        size_t byte_len;
        uint64_t here = 0;

        make(&index);
        check_ok(backup_index_encode(&index, &bytes, &byte_len));
        check_ok(backup_index_decode(&again, bytes, byte_len));
        check_equal(again.sequence, 77);
        check_equal(again.pages_here, index.pages_here);
        check(memcmp(again.id, index.id, sizeof(index.id)) == 0 && !backup_index_is_full(&again));
        check(memcmp(&again.manifest, &index.manifest, sizeof(index.manifest)) == 0);
        for (uint64_t page = 0; page < 100; page++) {
                const struct backup_run *run = backup_index_find(&again, 0, page);
                const uint64_t i = page > 20 ? page - 40 : page;

                check(!run == (page > 20 && page <= 60) || page > 89);
                if (!run)
                        continue;
                check_equal(backup_index_checksum(&again, 0, run, page), i * 12345);
                check_equal(run->is_here, i % 10 < 3);
                if (run->is_here)
                        check_equal(run->here_at + (page - run->first), here++);
        }
        check(backup_index_find(&again, 1, (UINT64_C(1) << 28) - 1) && !backup_index_find(&again, 1, 0));
        backup_index_free(&again);
        backup_index_free(&index);
        free(bytes);
}

static void bytes_that_are_others_are_refused(void)
{
        static struct backup_index index, again;
        unsigned char *bytes;
        size_t byte_len;

        make(&index);
        check_ok(backup_index_encode(&index, &bytes, &byte_len));
        for (size_t at = 0; at < byte_len; at += at < 200 || at > 32000 ? 1 : 97)
                for (int bit = 0; bit < 8; bit += 3) {
                        bytes[at] ^= (unsigned char)(1 << bit);
                        check(backup_index_decode(&again, bytes, byte_len) != 0);
                        bytes[at] ^= (unsigned char)(1 << bit);
                }
        for (size_t length = 0; length < byte_len; length += length < 33000 ? 111 : 1)
                check(backup_index_decode(&again, bytes, length) != 0);
        backup_index_free(&index);
        free(bytes);
}

/* With a checksum that is right: what makes no sense is refused, and nothing is read beyond the end. */
static void sense_is_looked_for_behind_the_checksum(void)
{
        static struct backup_index index, again;
        struct chance chance = { chance_seed() };
        unsigned char *bytes, *changed;
        size_t byte_len;
        unsigned refused = 0;

        make(&index);
        check_ok(backup_index_encode(&index, &bytes, &byte_len));
        changed = malloc(byte_len);
        check(changed != NULL);
        for (int i = 0; i < 20000; i++) {
                const size_t behind = 32896, at = behind + chance_below(&chance, byte_len - behind - 8);

                memcpy(changed, bytes, byte_len);
                bytes_put_u64(changed + at, chance_next(&chance) >> chance_below(&chance, 64));
                bytes_put_u32(changed + 12,
                              checksum_crc32c(checksum_crc32c(0, changed, 12), changed + 16, byte_len - 16));
                if (backup_index_decode(&again, changed, byte_len))
                        refused++;
                else
                        backup_index_free(&again);
        }
        check(refused > 2000);
        backup_index_free(&index);
        free(changed);
        free(bytes);
}

/* Also of a backup whose manifest could be of the first version, which is given the backup's own number. */
static void no_commit_has_the_number_zero(void)
{
        static struct backup_index index, again;

        for (uint64_t time_ns = 0; time_ns < 2; time_ns++) {
                unsigned char *bytes;
                size_t byte_len;

                make(&index);
                index.sequence = 0;
                index.manifest.time_ns = time_ns;
                check_ok(backup_index_encode(&index, &bytes, &byte_len));
                check_equal(backup_index_decode(&again, bytes, byte_len), XAC_CORRUPT);
                backup_index_free(&index);
                free(bytes);
        }
}

/* No file of an environment has more pages than a page's name has numbers for. */
static void a_file_is_as_long_as_it_can_be(void)
{
        static struct backup_index index, again;
        unsigned char *bytes;
        size_t byte_len;

        for (uint64_t more = 0; more < 2; more++) {
                make(&index);
                index.file[0].byte_len = (UINT64_C(1) << 40) + more * 4096;
                check_ok(backup_index_encode(&index, &bytes, &byte_len));
                check_equal(backup_index_decode(&again, bytes, byte_len), more ? XAC_CORRUPT : 0);
                if (!more)
                        backup_index_free(&again);
                backup_index_free(&index);
                free(bytes);
        }
}

static void a_checksum_sees_each_bit_and_where_it_is(void)
{
        unsigned char page[4096] = { 0 };
        const uint64_t zeros = page_checksum(page, sizeof(page));

        check(are_zeros(page, sizeof(page)));
        for (size_t bit = 0; bit < 8 * sizeof(page); bit++) {
                uint64_t checksum;

                page[bit / 8] ^= (unsigned char)(1 << bit % 8);
                checksum = page_checksum(page, sizeof(page));
                check(checksum >> 32 != zeros >> 32 && (uint32_t)checksum != (uint32_t)zeros);
                check(!are_zeros(page, sizeof(page)));
                page[bit / 8] = 0;
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_was_encoded_is_decoded),
                isolated_test(bytes_that_are_others_are_refused),
                isolated_test(sense_is_looked_for_behind_the_checksum),
                isolated_test(no_commit_has_the_number_zero),
                isolated_test(a_file_is_as_long_as_it_can_be),
                isolated_test(a_checksum_sees_each_bit_and_where_it_is),
        };
        return cmocka_run_group_tests_name("index of a backup", tests, NULL, NULL);
}
