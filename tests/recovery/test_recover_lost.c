/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * Recovery that gives up pages that nobody has any more (CP14): each is named, and is found as damaged ever after;
 * whatever passes for sound is as the newest commit left it; no page of before passes for one that is lost. So wherever
 * it is interrupted, and however it is run again.
 */

#include "recovery/checksums.h"
#include "tests/recovery/crashed_stand.h"

/* So little that its checkpoint goes home in many batches. */
enum { SMALL_BUFFER = 2 * DOUBLE_WRITE_PAGES_MIN * CRASHED_PAGE };

/* ---- The stand, with checksums ---- */

static struct checksums_id checksums_id_of(uint32_t file)
{
        struct checksums_id id = { .file_no = file, .page_bytes = CRASHED_PAGE, .mode = 0600 };

        memcpy(id.uuid, crashed->manifest.uuid, sizeof(id.uuid));
        return id;
}

static int checksums_setup(void **state)
{
        int err = group_setup(state);

        for (uint32_t file = 0; !err && file < CRASHED_FILES; file++) {
                const struct checksums_id id = checksums_id_of(file);
                int fd;

                assert_int_equal(checksums_make(directory, &id, 0, &fd), 0);
                for (uint64_t page = 0; page < CRASHED_PAGES; page++) {
                        const uint32_t checksum = checksums_of(crashed->base[file][page], CRASHED_PAGE);

                        assert_int_equal(checksums_write(fd, page, &checksum, 1), 0);
                }
                sys_close(fd);
        }
        crashed_files_drop(&begin);
        crashed_files_keep(&begin, directory);
        return err;
}

/* ---- Damage ---- */

static void write_at(const char *name, const void *bytes, size_t byte_len, uint64_t offset)
{
        int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(fd, bytes, byte_len, (off_t)offset), byte_len);
        close(fd);
}

/* Page number i of the buffer that the manifest names rots, and is not at home. */
static uint64_t lose_page(const struct manifest *manifest, uint64_t i)
{
        const char *buffer = manifest->buffer ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0;
        uint64_t words[6];
        uint64_t page;
        int fd = openat(directory, buffer, O_RDONLY | O_CLOEXEC);

        assert_int_equal(pread(fd, words, sizeof(words), 40), sizeof(words)); /* count ... listed */
        i %= words[0];
        assert_int_equal(pread(fd, &page, sizeof(page), (off_t)(4096 + 24 * i)), sizeof(page));
        close(fd);
        const uint64_t listed = (words[2] * 8 + 4095) / 4096 * 4096;
        crashed_flip(directory, buffer, 4096 + (words[0] * 24 + 4095) / 4096 * 4096 + listed + i * CRASHED_PAGE + 77);
        write_at(crashed_names[page >> 28], "spoilt", 6, (page & 0xfffffff) * CRASHED_PAGE);
        return page;
}

/* ---- What is named ---- */

static char named[CRASHED_FILES * CRASHED_PAGES][RECOVER_SENTENCE];
static uint64_t named_count;

static void hear(void *arg, const char *sentence)
{
        assert_null(arg);
        assert_true(named_count < CRASHED_FILES * CRASHED_PAGES);
        snprintf(named[named_count++], RECOVER_SENTENCE, "%s", sentence);
}

static bool is_named(int file, int page)
{
        char begin_of[64];
        const int byte_len = snprintf(begin_of, sizeof(begin_of), "%s: offset %d: the page is lost",
                                      crashed_names[file], page * CRASHED_PAGE);

        for (uint64_t i = 0; i < named_count; i++)
                if (strncmp(named[i], begin_of, (size_t)byte_len) == 0)
                        return true;
        return false;
}

static int recover(struct recovery *recovery, struct manifest *manifest)
{
        int err = manifest_read(directory, manifest);

        named_count = 0;
        recovery->directory = directory;
        recovery->lose = hear;
        return err ? err : recover_run(recovery, manifest);
}

/* ---- What is left ---- */

static uint64_t sound, lost;

static void judge_page(int file, int page, const unsigned char *home, uint32_t checksum)
{
        const unsigned char *right = crashed->page[file][page], *base = crashed->base[file][page];

        if (checksum == checksums_of(home, CRASHED_PAGE)) {
                if (memcmp(home, right, CRASHED_PAGE) != 0)
                        fail_msg("page %d of file %d passes for sound, and is wrong", page, file);
                sound++;
                return;
        }
        lost++;
        if (checksum == checksums_of(base, CRASHED_PAGE) && memcmp(base, right, CRASHED_PAGE) != 0)
                fail_msg("page %d of file %d would be healed by one of before", page, file);
        if (checksum == CHECKSUMS_UNKNOWN)
                fail_msg("page %d of file %d is not known to be damaged", page, file);
}

static void judge_file(int file, bool are_named)
{
        static unsigned char home[CRASHED_PAGES][CRASHED_PAGE];
        const struct checksums_id id = checksums_id_of((uint32_t)file);
        uint32_t checksums[CRASHED_PAGES];
        struct checksums_note note;
        int checksums_fd, fd = openat(directory, crashed_names[file], O_RDONLY | O_CLOEXEC);

        memset(home, 0, sizeof(home));
        assert_true(pread(fd, home, sizeof(home), 0) > (CRASHED_PAGES - 1) * CRASHED_PAGE);
        assert_int_equal(checksums_open(directory, &id, O_RDONLY, &checksums_fd, &note), 0);
        assert_int_equal(note.state, CHECKSUMS_CLOSED);
        assert_int_equal(checksums_read(checksums_fd, 0, checksums, CRASHED_PAGES, NULL), 0);
        for (int page = 0; page < CRASHED_PAGES; page++) {
                const uint64_t before = lost;

                judge_page(file, page, home[page], checksums[page]);
                if (are_named && is_named(file, page) != (lost > before))
                        fail_msg("page %d of file %d: named, or damaged, but not both", page, file);
        }
        sys_close(checksums_fd);
        close(fd);
}

/* At its end; are_named: nothing was given up by an earlier one. */
static void judge(const struct manifest *manifest, bool are_named)
{
        struct manifest found;

        sound = lost = 0;
        for (int file = 0; file < CRASHED_FILES; file++)
                judge_file(file, are_named);
        assert_int_equal(sound + lost, CRASHED_FILES * CRASHED_PAGES);
        assert_int_equal(manifest_read(directory, &found), 0);
        assert_memory_equal(&found, manifest, sizeof(found));
        assert_int_equal(found.base_sequence, CRASHED_NEWEST);
        assert_int_equal(found.buffer, -1);
        assert_int_equal(found.target_sequence, 0);
        assert_int_equal(found.is_clean, 1);
}

/* ---- Tests ---- */

static void give_up(uint64_t area_bytes)
{
        struct recovery recovery = { .gives_up_damaged = true, .area_bytes = area_bytes };
        struct manifest manifest;

        assert_int_equal(recover(&recovery, &manifest), 0);
        judge(&manifest, true);
        assert_true(recovery.has_lost);
        assert_int_equal(recovery.lost, lost);
        assert_int_equal(recovery.lost, named_count);
        assert_true(manifest.history > crashed->manifest.history);
        assert_true(manifest.incarnation > crashed->manifest.incarnation);
}

static void test_each_page(void **state)
{
        uint64_t total = 0;

        (void)state;
        for (uint64_t i = 0; i < crashed->buffer_pages; i++) {
                for (int is_small = 0; is_small < 2; is_small++) {
                        struct recovery recovery = { 0 };
                        struct manifest manifest;

                        crashed_files_put_back(&begin, directory);
                        lose_page(&crashed->manifest, i);
                        assert_int_equal(recover(&recovery, &manifest), XAC_CORRUPT);
                        assert_true(recovery.is_buffer_damaged && recovery.may_give_up);
                        give_up(is_small ? SMALL_BUFFER : 0);
                        total += lost;
                }
        }
        assert_true(total > 0);
}

/* The checkpoint left it so, and the log does not go on from it: then who has it like that can heal it. */
static void test_what_no_commit_changed_is_healed_by_the_page(void **state)
{
        int healed = 0;

        (void)state;
        for (uint64_t i = 0; i < crashed->buffer_pages; i++) {
                crashed_files_put_back(&begin, directory);
                const uint64_t id = lose_page(&crashed->manifest, i);
                const int file = (int)(id >> 28), page = (int)(id & 0xfffffff);

                if (crashed->is_touched[file][page])
                        continue;
                give_up(0);
                assert_true(is_named(file, page));
                assert_non_null(strstr(named[0], "'xac repair'"));
                write_at(crashed_names[file], crashed->base[file][page],
                         file && page == CRASHED_PAGES - 1 ? CRASHED_LAST : CRASHED_PAGE,
                         (uint64_t)page * CRASHED_PAGE);
                const uint64_t before = lost;
                sound = lost = 0;
                for (int f = 0; f < CRASHED_FILES; f++)
                        judge_file(f, false);
                assert_int_equal(lost, before - 1);
                healed++;
        }
        assert_true(healed > 0);
}

static void test_what_has_no_checksums_is_not_given_up(void **state)
{
        struct recovery recovery = { .gives_up_damaged = true };
        struct crashed_files as_before;
        struct manifest manifest;

        (void)state;
        assert_int_equal(unlinkat(directory, lose_page(&crashed->manifest, 0) >> 28 ? "xac.sums.1" : "xac.sums.0", 0),
                         0);
        crashed_files_keep(&as_before, directory);
        assert_int_equal(recover(&recovery, &manifest), XAC_CORRUPT);
        assert_true(recovery.is_buffer_damaged && recovery.is_buffer_known && !recovery.may_give_up);
        assert_non_null(strstr(recovery.damage, "cannot be given up"));
        crashed_files_assert_unchanged(&as_before, directory);
        crashed_files_drop(&as_before);
}

static void test_nor_is_a_buffer_whose_table_is_damaged(void **state)
{
        static const uint64_t offsets[] = { 3, 60, 4096 + 5 };
        struct manifest manifest;

        (void)state;
        for (int i = 0; i < 3; i++) {
                struct recovery recovery = { .gives_up_damaged = true };
                struct crashed_files as_before;

                crashed_files_put_back(&begin, directory);
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, offsets[i]);
                crashed_files_keep(&as_before, directory);
                assert_int_equal(recover(&recovery, &manifest), XAC_CORRUPT);
                assert_true(recovery.is_buffer_damaged && !recovery.is_buffer_known && !recovery.may_give_up);
                assert_false(recovery.has_lost);
                crashed_files_assert_unchanged(&as_before, directory);
                crashed_files_drop(&as_before);
        }
}

/* With damage of the log: what lies behind it is given up, and what lies before goes on without the page. */
static void test_with_damage_of_the_log(void **state)
{
        struct recovery recovery = { .gives_up_damaged = true };
        struct manifest manifest;

        (void)state;
        lose_page(&crashed->manifest, 0);
        crashed_flip_log(directory, crashed->position[80]);
        assert_int_equal(recover(&recovery, &manifest), 0);
        assert_true(recovery.has_given_up && recovery.has_lost);
        assert_int_equal(manifest.base_sequence, 79);
}

/* ---- Interruptions ---- */

static int cut_at, cut_seen;

static int cut(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        cut_seen += call == SYS_PWRITE || call == SYS_SYNC || call == SYS_TRUNCATE || call == SYS_CHMOD;
        return cut_seen >= cut_at ? -EIO : 0;
}

static bool is_interrupted_at(int nth, uint64_t area_bytes, bool gives_up_damaged)
{
        struct recovery recovery = { .gives_up_damaged = gives_up_damaged, .area_bytes = area_bytes };
        struct manifest manifest;

        cut_at = nth;
        cut_seen = 0;
        sys_fail = cut;
        (void)recover(&recovery, &manifest);
        sys_fail = NULL;
        return cut_seen >= nth;
}

/* Without being told to give up anything it is refused, or comes to the same end. */
static void run_again_untold(uint64_t area_bytes)
{
        struct recovery recovery = { .area_bytes = area_bytes };
        struct manifest manifest;
        int err = recover(&recovery, &manifest);

        assert_true(err == 0 || err == XAC_CORRUPT);
        assert_int_equal(recovery.lost, 0);
        if (!err)
                judge(&manifest, false);
}

static void run_again(uint64_t area_bytes)
{
        struct recovery recovery = { .gives_up_damaged = true, .area_bytes = area_bytes };
        struct manifest manifest;

        assert_int_equal(recover(&recovery, &manifest), 0);
        judge(&manifest, false);
        assert_true(manifest.history > crashed->manifest.history);
}

static void test_interrupted_anywhere_and_run_again(void **state)
{
        (void)state;
        for (int i = 0; i < 4; i++) {
                const uint64_t area_bytes = i % 2 ? SMALL_BUFFER : 0, nth_page = chance_next(&crashed->chance);
                int nth = 1;

                for (bool is_cut = true; is_cut; nth++) {
                        crashed_files_put_back(&begin, directory);
                        lose_page(&crashed->manifest, nth_page);
                        lose_page(&crashed->manifest, nth_page + 1);
                        is_cut = is_interrupted_at(nth, area_bytes, true);
                        if (nth % 2)
                                run_again_untold(area_bytes);
                        run_again(area_bytes);
                }
                assert_true(nth > (i % 2 ? 40 : 12));
        }
}

/* A recovery is interrupted, while its checkpoint goes home in batches, or after it; then its buffer rots. */
static void test_the_buffer_of_a_recovery(void **state)
{
        int damaged = 0;
        bool is_cut = true;

        (void)state;
        for (int nth = 1; is_cut; nth++) {
                struct manifest manifest;

                crashed_files_put_back(&begin, directory);
                is_cut = is_interrupted_at(nth, SMALL_BUFFER, false);
                assert_int_equal(manifest_read(directory, &manifest), 0);
                if (manifest.buffer < 0 || (!manifest.target_sequence && !manifest.is_clean))
                        continue;
                damaged++;
                lose_page(&manifest, (uint64_t)nth);
                give_up(SMALL_BUFFER);
        }
        assert_true(damaged > 20);
}

#define LOST_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
        const struct CMUnitTest tests[] = {
                LOST_TEST(test_each_page),
                LOST_TEST(test_what_no_commit_changed_is_healed_by_the_page),
                LOST_TEST(test_what_has_no_checksums_is_not_given_up),
                LOST_TEST(test_nor_is_a_buffer_whose_table_is_damaged),
                LOST_TEST(test_with_damage_of_the_log),
                LOST_TEST(test_interrupted_anywhere_and_run_again),
                LOST_TEST(test_the_buffer_of_a_recovery),
        };

        return cmocka_run_group_tests_name("recovery/recover: lost pages are given up", tests, checksums_setup,
                                           group_teardown);
}
