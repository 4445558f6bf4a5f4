/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * Damage that no crash explains is XAC_CORRUPT, with a sentence that names the file; nothing is changed then,
 * or nothing but the double-write buffer's pages; and when the damage has been undone recovery succeeds. recover_check
 * says the same without changing anything.
 */

#include "tests/recovery/crashed_stand.h"

/* ---- Looking ---- */

enum { SENTENCES = 16 };

static char sentences[SENTENCES][RECOVER_SENTENCE];
static int sentence_count;

static void hear(void *arg, const char *sentence)
{
        assert_ptr_equal(arg, sentences);
        assert_true(sentence_count < SENTENCES);
        snprintf(sentences[sentence_count++], RECOVER_SENTENCE, "%s", sentence);
}

/* Looks, and sees to it that nothing but looking is done. */
static int forbid_changes(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        assert_true(call == SYS_OPEN || call == SYS_STAT || call == SYS_PREAD || call == SYS_LIST || call == SYS_MMAP ||
                    call == SYS_MUNMAP || call == SYS_MREMAP || call == SYS_MADVISE || call == SYS_SEEK ||
                    call == SYS_RANDOM);
        return 0;
}

static int look(void)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest;
        int err;

        sentence_count = 0;
        assert_int_equal(manifest_read(directory, &manifest), 0);
        sys_fail = forbid_changes;
        err = recover_check(&recovery, &manifest, hear, sentences);
        sys_fail = NULL;
        assert_int_equal(err == 0, sentence_count == 0);
        return err;
}

static void expect_sentence(const char *part)
{
        for (int i = 0; i < sentence_count; i++)
                if (strstr(sentences[i], part))
                        return;
        for (int i = 0; i < sentence_count; i++)
                fprintf(stderr, "%s\n", sentences[i]);
        fail_msg("nothing is said of: %s", part);
}

/* Check and recovery say that it is damaged, and of what. */
static void expect_damage(const char *part)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest, as_before;

        assert_int_equal(look(), XAC_CORRUPT);
        expect_sentence(part);
        assert_int_equal(manifest_read(directory, &manifest), 0);
        as_before = manifest;
        assert_int_equal(recover_run(&recovery, &manifest), XAC_CORRUPT);
        assert_memory_equal(&manifest, &as_before, sizeof(manifest));
        assert_int_equal(manifest_read(directory, &manifest), 0);
        assert_memory_equal(&manifest, &as_before, sizeof(manifest));
        if (!strstr(recovery.damage, part))
                fail_msg("the sentence \"%s\" says nothing of: %s", recovery.damage, part);
}

/* The same, and all files are as they were. */
static void expect_damage_and_no_change(const char *part)
{
        struct crashed_files before;

        crashed_files_keep(&before, directory);
        expect_damage(part);
        crashed_files_assert_unchanged(&before, directory);
        crashed_files_drop(&before);
}

static void expect_recovery(void)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest;

        assert_int_equal(manifest_read(directory, &manifest), 0);
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        crashed_assert_recovered(crashed, &manifest);
        assert_int_equal(look(), 0);
}

static void resize(const char *name, off_t byte_len)
{
        int fd = openat(directory, name, O_RDWR | O_CLOEXEC);

        assert_int_equal(ftruncate(fd, byte_len), 0);
        close(fd);
}

static uint64_t first_in_buffer(int file)
{
        for (uint64_t page = 0; page < CRASHED_PAGES; page++)
                if (crashed->is_in_buffer[file][page])
                        return page;
        abort();
}

/* ---- No damage ---- */

static void test_a_crash_is_no_damage(void **state)
{
        (void)state;
        assert_int_equal(look(), 0);
        crashed_files_assert_unchanged(&begin, directory);
        crashed_write_file(directory, "xac.log.old", "mine", 4);
        crashed_write_file(directory, "notes", "mine", 4);
        assert_int_equal(mkdirat(directory, "folder", 0700), 0);
        assert_int_equal(look(), 0);
        expect_recovery();
        assert_int_equal(unlinkat(directory, "folder", AT_REMOVEDIR), 0);
}

/* The buffer that the manifest does not name is nobody's business. */
static void test_the_other_buffer_may_hold_anything(void **state)
{
        (void)state;
        crashed_write_file(directory, DOUBLE_WRITE_NAME_0, "torn", 4);
        assert_int_equal(look(), 0);
        expect_recovery();
}

/* ---- The buffer ---- */

static void test_a_damaged_buffer(void **state)
{
        static const uint64_t offsets[] = { 0, 12, 20, 33, 41, 53, 4000, 4096, 4100, 4112 };

        (void)state;
        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, offsets[i]);
                expect_damage_and_no_change(DOUBLE_WRITE_NAME_1 ": offset ");
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, offsets[i]);
        }
        expect_recovery();
}

static uint64_t table_page(uint64_t i)
{
        uint64_t page;
        int fd = openat(directory, DOUBLE_WRITE_NAME_1, O_RDONLY | O_CLOEXEC);

        assert_int_equal(pread(fd, &page, sizeof(page), (off_t)(4096 + 24 * i)), sizeof(page));
        close(fd);
        return page;
}

/* A page of the buffer goes home. */
static void put_home(uint64_t i)
{
        const uint64_t page = table_page(i);
        char bytes[CRASHED_PAGE];
        int from = openat(directory, DOUBLE_WRITE_NAME_1, O_RDONLY | O_CLOEXEC);
        int to = openat(directory, page >> 28 ? "two" : "one", O_WRONLY | O_CLOEXEC);

        assert_int_equal(pread(from, bytes, sizeof(bytes), (off_t)(8192 + i * CRASHED_PAGE)), CRASHED_PAGE);
        assert_int_equal(pwrite(to, bytes, sizeof(bytes), (off_t)((page & 0xfffffff) * CRASHED_PAGE)), CRASHED_PAGE);
        close(from);
        close(to);
}

/* Home has another page than the buffer: what is older there may be the same by chance. */
static void spoil_home(uint64_t i)
{
        const uint64_t page = table_page(i);
        int to = openat(directory, page >> 28 ? "two" : "one", O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(to, "spoilt", 6, (off_t)((page & 0xfffffff) * CRASHED_PAGE)), 6);
        close(to);
}

static void test_a_damaged_page_in_the_buffer(void **state)
{
        uint64_t last = crashed->buffer_pages - 1;
        char part[80];

        (void)state;
        spoil_home(last);
        crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + last * CRASHED_PAGE + 5);
        snprintf(part, sizeof(part), DOUBLE_WRITE_NAME_1 ": offset %d: ", (int)(8192 + last * CRASHED_PAGE));
        expect_damage_and_no_change(part);
        expect_damage_and_no_change("wrote to two at offset ");
        crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + last * CRASHED_PAGE + 5);
        expect_recovery();
}

/* CP13: the page stands at home. Another page that stands there does not help. */
static void test_a_damaged_page_that_stands_at_home(void **state)
{
        (void)state;
        for (uint64_t i = 0; i < crashed->buffer_pages; i++) {
                put_home(i);
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + i * CRASHED_PAGE + 4095);
                assert_int_equal(look(), 0);
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, 4096 + i * 24 + 16); /* of its CRC, in the table */
                expect_damage_and_no_change(DOUBLE_WRITE_NAME_1 ": offset 4096: the table's checksum is wrong");
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, 4096 + i * 24 + 16);
                expect_recovery();
                crashed_files_put_back(&begin, directory);
                put_home(i);
                spoil_home((i + 1) % crashed->buffer_pages);
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + (i + 1) % crashed->buffer_pages * CRASHED_PAGE);
                expect_damage_and_no_change(DOUBLE_WRITE_NAME_1 ": offset ");
                crashed_files_put_back(&begin, directory);
        }
}

static struct stat guarded;
static uint64_t guarded_offset;

static int guard(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        struct stat st;
        const bool is_there = call == SYS_PWRITE && offset <= guarded_offset && guarded_offset < offset + byte_len;

        return is_there && !fstat(fd, &st) && st.st_ino == guarded.st_ino ? -EIO : 0;
}

/* CP13: it is not written again, which might tear it. */
static void test_what_stands_at_home_is_left_there(void **state)
{
        int guarded_pages = 0;

        (void)state;
        for (uint64_t i = 0; i < crashed->buffer_pages; i++) {
                const uint64_t page = table_page(i);
                struct recovery recovery = { .directory = directory };
                struct manifest manifest;

                if (crashed->is_touched[page >> 28][page & 0xfffffff])
                        continue;
                guarded_pages++;
                put_home(i);
                crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + i * CRASHED_PAGE + 5);
                guarded_offset = (page & 0xfffffff) * CRASHED_PAGE;
                assert_int_equal(fstatat(directory, page >> 28 ? "two" : "one", &guarded, 0), 0);
                assert_int_equal(manifest_read(directory, &manifest), 0);
                sys_fail = guard;
                assert_int_equal(recover_run(&recovery, &manifest), 0);
                sys_fail = NULL;
                crashed_assert_recovered(crashed, &manifest);
                crashed_files_put_back(&begin, directory);
        }
        assert_true(guarded_pages > 0);
}

static int fail_home_reads(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        struct stat st;

        (void)offset, (void)byte_len;
        return call == SYS_PREAD && !fstat(fd, &st) && st.st_ino == guarded.st_ino ? -EIO : 0;
}

/* Who cannot look does not know that it is lost. */
static void test_a_home_that_cannot_be_read(void **state)
{
        struct recovery recovery = { .directory = directory };
        struct manifest manifest;

        (void)state;
        put_home(0);
        crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + 5);
        assert_int_equal(fstatat(directory, table_page(0) >> 28 ? "two" : "one", &guarded, 0), 0);
        assert_int_equal(manifest_read(directory, &manifest), 0);
        sys_fail = fail_home_reads;
        assert_int_equal(recover_run(&recovery, &manifest), -EIO);
        sys_fail = NULL;
        expect_recovery();
}

static void test_a_missing_or_short_buffer(void **state)
{
        (void)state;
        resize(DOUBLE_WRITE_NAME_1, 8192 + CRASHED_PAGE);
        expect_damage_and_no_change(DOUBLE_WRITE_NAME_1 ": offset 12288: the file ends too early");
        assert_int_equal(unlinkat(directory, DOUBLE_WRITE_NAME_1, 0), 0);
        expect_damage_and_no_change(DOUBLE_WRITE_NAME_1 ": offset 0: the file is missing");
}

/* Sound by all its checksums, but of another environment: copied here. */
static void test_a_foreign_buffer(void **state)
{
        struct manifest own = crashed->manifest;

        (void)state;
        crashed->manifest.uuid[3] ^= 1;
        crashed_store_buffer(crashed);
        crashed->manifest = own;
        expect_damage_and_no_change("another environment");
        crashed_files_put_back(&begin, directory);
        expect_recovery();
}

/* ---- Data files ---- */

/* So short that a page of the buffer has no place; later, so that only a page of the log has none. */
static void test_a_cut_data_file(void **state)
{
        char part[80];

        (void)state;
        resize("one", (off_t)(first_in_buffer(0) * CRASHED_PAGE));
        snprintf(part, sizeof(part), "one: offset %d: the file ends at ", (int)(first_in_buffer(0) * CRASHED_PAGE));
        expect_damage_and_no_change(part);
        resize("one", 0);
        expect_damage_and_no_change("one: offset ");
        assert_int_equal(sentence_count, 1); /* not once for each page */
}

static void test_a_file_cut_below_a_page_of_the_log(void **state)
{
        struct manifest manifest = crashed->manifest;

        (void)state;
        manifest.buffer = -1;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        resize("two", 22 * CRASHED_PAGE); /* page 22 comes as a whole image */
        expect_damage_and_no_change("two: offset 90112: the file ends at 90112");
        resize("two", 22 * CRASHED_PAGE + 1); /* the rest of a page that exists may be missing */
        assert_int_equal(look(), 0);
}

static void test_a_missing_data_file(void **state)
{
        (void)state;
        assert_int_equal(renameat(directory, "two", directory, "elsewhere"), 0);
        expect_damage_and_no_change("two: it is missing");
        assert_int_equal(symlinkat("elsewhere", directory, "two"), 0);
        expect_damage("two: it is no plain file");
        assert_int_equal(unlinkat(directory, "two", 0), 0);
        assert_int_equal(mkdirat(directory, "two", 0700), 0);
        expect_damage("two: it is no plain file");
        assert_int_equal(unlinkat(directory, "two", AT_REMOVEDIR), 0);
        assert_int_equal(mkfifoat(directory, "two", 0600), 0);
        expect_damage("two: it is no plain file");
        assert_int_equal(renameat(directory, "elsewhere", directory, "two"), 0);
        expect_recovery();
}

/* A file that nothing was committed to may be gone: recovery needs it not, check says so. */
static void test_a_missing_file_without_commits(void **state)
{
        struct manifest manifest = crashed->manifest;
        struct recovery recovery = { .directory = directory };

        (void)state;
        strcpy(manifest.file_name[manifest.file_count++], "third");
        assert_int_equal(manifest_write(directory, &manifest), 0);
        assert_int_equal(look(), XAC_CORRUPT);
        expect_sentence("third: it is missing");
        assert_int_equal(recover_run(&recovery, &manifest), 0);
        crashed_assert_home(crashed, crashed->page);
}

static void test_a_page_of_no_file(void **state)
{
        struct manifest manifest = crashed->manifest;

        (void)state;
        manifest.file_count = 1;
        memset(manifest.file_name[1], 0, sizeof(manifest.file_name[1]));
        assert_int_equal(manifest_write(directory, &manifest), 0);
        expect_damage_and_no_change(MANIFEST_NAME ": it names no file number 1");
        assert_int_equal(sentence_count, 1);
}

/* ---- The log ---- */

/* A record that later ones prove to have been on disk. */
static void test_a_damaged_log(void **state)
{
        struct manifest manifest = crashed->manifest;
        uint64_t position = 0;
        char part[80];

        (void)state;
        for (int commit = 34; commit < 80; commit += 5) {
                position = crashed->position[commit];
                crashed_flip_log(directory, position + (uint64_t)commit);
                snprintf(part, sizeof(part),
                         "xac.log.%u: offset %d (position %d): ", crashed_file_of(position / CRASHED_SEGMENT),
                         (int)(LOG_HEADER_BYTES + position % CRASHED_SEGMENT), (int)position);
                expect_damage(part);
                snprintf(part, sizeof(part), "commits after %d are lost",
                         commit > CRASHED_BASE ? commit - 1 : CRASHED_BASE);
                expect_sentence(part);
                crashed_assert_home(crashed, crashed->base); /* step 1 is all that was done */
                crashed_flip_log(directory, position + (uint64_t)commit);
        }
        manifest.buffer = -1; /* without a buffer nothing at all is done */
        assert_int_equal(manifest_write(directory, &manifest), 0);
        crashed_flip_log(directory, position);
        expect_damage_and_no_change("xac.log.");
        crashed_flip_log(directory, position);
        expect_recovery();
}

/* Each segment before the one in which the newest group begins; and replay begins in the first one. The record before
 * may reach into a later one: then it is that one's file that is named. */
static void test_a_missing_segment(void **state)
{
        (void)state;
        assert_true(crashed->last_group >= 2 * CRASHED_SEGMENT);
        for (uint64_t no = 1; no < crashed->last_group / CRASHED_SEGMENT; no++) {
                char name[LOG_NAME_BYTES];

                log_file_name(name, crashed_file_of(no));
                assert_int_equal(unlinkat(directory, name, 0), 0);
                expect_damage(no == 1 ? "commits after 40 are lost" : " are lost");
                crashed_files_put_back(&begin, directory);
        }
        expect_recovery();
}

/* All that the checkpoint took is home, and another one goes home in batches; the log goes on from `redo`. */
static void name_part(uint64_t redo)
{
        const uint64_t target = CRASHED_BASE + 10;
        const struct double_write_batch batch = { .position = log_round_up(crashed->position_end[target]),
                                                  .redo = redo };
        struct double_write_id id = { .sequence = target, .page_bytes = CRASHED_PAGE, .mode = 0600, .batch = &batch };
        struct manifest manifest = crashed->manifest;

        for (uint64_t i = 0; i < crashed->buffer_pages; i++)
                put_home(i);
        memcpy(id.uuid, manifest.uuid, sizeof(id.uuid));
        assert_int_equal(double_write_store(directory, 0, &id, 0, NULL, NULL, &manifest.buffer_checksum), 0);
        manifest.buffer = 0;
        manifest.target_sequence = target;
        assert_int_equal(manifest_write(directory, &manifest), 0);
}

/* Recovery needs it behind the target, where nothing may have been written. */
static void test_a_missing_segment_behind_a_target(void **state)
{
        (void)state;
        name_part(crashed->manifest.redo_position);
        assert_int_equal(look(), 0);
        expect_recovery();
        crashed_files_put_back(&begin, directory);
        name_part((uint64_t)(1 + CRASHED_SEGMENTS) * CRASHED_SEGMENT);
        expect_damage_and_no_change("the segment in which the log goes on is missing");
}

/* Nothing follows that proves it, but the manifest does: its checkpoint was taken of a longer log. */
static void test_a_log_that_ends_before_the_base(void **state)
{
        struct manifest manifest = crashed->manifest;

        (void)state;
        manifest.base_position = crashed->valid_end + LOG_BLOCK;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        expect_damage("the log ends before the checkpoint's end");
        manifest.base_position = crashed->valid_end;
        assert_int_equal(manifest_write(directory, &manifest), 0);
        expect_recovery();
}

static void test_a_foreign_segment(void **state)
{
        struct manifest own = crashed->manifest;

        (void)state;
        crashed->manifest.uuid[0] ^= 1;
        crashed_store_log(crashed);
        crashed->manifest = own;
        expect_damage("xac.log.");
}

/* Records that are right by their checksums, and wrong. */
static void append_and_expect(uint64_t sequence, uint64_t transaction, const void *payload, uint32_t payload_len)
{
        static unsigned char log[sizeof(crashed->log)];
        uint64_t end = crashed->end, durable = crashed->durable;
        char part[80];

        memcpy(log, crashed->log, sizeof(log));
        crashed_append(crashed, LOG_COMMIT, sequence, transaction, payload, payload_len);
        crashed_close_group(crashed);
        crashed_store_log(crashed);
        snprintf(part, sizeof(part), "xac.log.%u: offset %d ", crashed_file_of(end / CRASHED_SEGMENT),
                 (int)(LOG_HEADER_BYTES + end % CRASHED_SEGMENT));
        expect_damage(part);
        expect_sentence("makes no sense");
        memcpy(crashed->log, log, sizeof(log));
        crashed->end = end;
        crashed->durable = durable;
}

static void test_senseless_records(void **state)
{
        static unsigned char payload[LOG_ENTRY_HEADER + CRASHED_PAGE];

        (void)state;
        log_entry_encode(payload, crashed_page_id(0, 2), LOG_IMAGE, CRASHED_PAGE);
        append_and_expect(CRASHED_NEWEST + 2, 0, payload, sizeof(payload)); /* one commit is missing */
        append_and_expect(CRASHED_NEWEST, 0, payload, sizeof(payload));     /* one comes twice */
        append_and_expect(CRASHED_NEWEST + 1, CRASHED_SEGMENT + 8, payload, sizeof(payload)); /* no fragments */
        append_and_expect(CRASHED_NEWEST + 1, 0, payload, sizeof(payload) - 8);
        log_entry_encode(payload, crashed_page_id(0, 2), LOG_CHANGES, 8);
        payload[LOG_ENTRY_HEADER] = 9; /* a change of no kind */
        append_and_expect(CRASHED_NEWEST + 1, 0, payload, LOG_ENTRY_HEADER + 8);
        crashed_store_log(crashed);
        expect_recovery();
}

/* ---- Several at once; errors ---- */

static void test_all_damage_is_reported(void **state)
{
        (void)state;
        spoil_home(0);
        crashed_flip(directory, DOUBLE_WRITE_NAME_1, 8192 + 99);
        crashed_flip_log(directory, crashed->position[50]);
        assert_int_equal(renameat(directory, "one", directory, "elsewhere"), 0);
        assert_int_equal(look(), XAC_CORRUPT);
        expect_sentence(DOUBLE_WRITE_NAME_1 ": offset ");
        expect_sentence("one: it is missing");
        assert_int_equal(sentence_count, 2); /* without a home there is nothing to replay on */
        assert_int_equal(renameat(directory, "elsewhere", directory, "one"), 0);
        assert_int_equal(look(), XAC_CORRUPT);
        expect_sentence("xac.log.");
        assert_int_equal(sentence_count, 2);
}

/* What kept it from looking is an error, no damage. */
static void test_check_with_every_call_failing(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                struct recovery recovery = { .directory = directory };
                int err;

                sentence_count = 0;
                scratch_fail(nth, -EIO, 0);
                err = recover_check(&recovery, &crashed->manifest, hear, sentences);
                if (!scratch_failed()) {
                        assert_int_equal(err, 0);
                        break;
                }
                assert_true(err == -EIO || err == -ENOMEM || err == 0);
                assert_int_equal(sentence_count, 0);
        }
}

#define DAMAGE_TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
        const struct CMUnitTest tests[] = {
                DAMAGE_TEST(test_a_crash_is_no_damage),
                DAMAGE_TEST(test_the_other_buffer_may_hold_anything),
                DAMAGE_TEST(test_a_damaged_buffer),
                DAMAGE_TEST(test_a_damaged_page_in_the_buffer),
                DAMAGE_TEST(test_a_damaged_page_that_stands_at_home),
                DAMAGE_TEST(test_what_stands_at_home_is_left_there),
                DAMAGE_TEST(test_a_home_that_cannot_be_read),
                DAMAGE_TEST(test_a_missing_or_short_buffer),
                DAMAGE_TEST(test_a_foreign_buffer),
                DAMAGE_TEST(test_a_cut_data_file),
                DAMAGE_TEST(test_a_file_cut_below_a_page_of_the_log),
                DAMAGE_TEST(test_a_missing_data_file),
                DAMAGE_TEST(test_a_missing_file_without_commits),
                DAMAGE_TEST(test_a_page_of_no_file),
                DAMAGE_TEST(test_a_damaged_log),
                DAMAGE_TEST(test_a_missing_segment),
                DAMAGE_TEST(test_a_missing_segment_behind_a_target),
                DAMAGE_TEST(test_a_log_that_ends_before_the_base),
                DAMAGE_TEST(test_a_foreign_segment),
                DAMAGE_TEST(test_senseless_records),
                DAMAGE_TEST(test_all_damage_is_reported),
                DAMAGE_TEST(test_check_with_every_call_failing),
        };

        return cmocka_run_group_tests_name("recovery/recover: damage", tests, group_setup, group_teardown);
}
