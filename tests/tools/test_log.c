/* SPDX-License-Identifier: MIT */

/*
 * xac log: every commit is one line, with what it did; and how the log ends.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/checksum.h"
#include "recovery/bytes.h"
#include "recovery/log_record.h"
#include "tests/tools/tool.h"

/* Where the first line that has this kind and sequence says that it stands in xac.log.1. */
static uint64_t offset_of(unsigned sequence)
{
        unsigned long long offset = 0;
        unsigned found;
        const char *line;

        check_xac(0, "log", TOOL_ENV);
        for (line = strchr(tool.said, '\n'); line != NULL; line = strchr(line + 1, '\n'))
                if (sscanf(line, " %*u xac.log.1+%llu %u commit", &offset, &found) == 2 && found == sequence)
                        return offset;
        check_failed(__FILE__, __LINE__, "commit %u is not in the log:\n%s", sequence, tool.said);
}

static void every_commit_is_a_line(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "log", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 20);
        check_said("20 records, 20 commits, the newest 21; checkpoint at sequence 1.");
        check_said(", cleanly.");
}

static void a_closed_environment_has_an_empty_log(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "log", TOOL_ENV);
        check_said("The log is empty: everything up to sequence 21 is in the data files.");
}

static void ranges_are_kept_to(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_xac(0, "log", "--from", "20", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 2);
        check_xac(0, "log", "--to", "4", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 3);
        check_xac(0, "log", "--from", "7", "--to", "7", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 1);
        check_said("20 commits, the newest 21"); /* the end is that of the log all the same */
        check_xac(0, "log", "--from", "22", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 0);
}

static void pages_and_bytes_are_what_was_stored(void)
{
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        /* The 17th commit is the second to page 0: its word, the sixth, goes from 1 to 2. */
        check_xac(0, "log", "--from", "18", "--to", "18", "--pages", TOOL_ENV);
        check_said(TOOL_FILE " page 0  changes");
        check_said("bytes     40  ");
        check_not_said(" 02 ");
        check_xac(0, "log", "--from", "18", "--to", "18", "--bytes", TOOL_ENV);
        check_said("   40  02");
}

static void write_forty_bytes(int unused, void *unused_arg)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused, (void)unused_arg;
        check_ok(xbegin(env, 0));
        memset(words, 'x', 40);
        check_ok(xend(env));
        raise(SIGKILL);
}

/* Sixteen to a line. */
static void many_bytes_have_lines(void)
{
        check(WIFSIGNALED(crew_status(crew_fork(write_forty_bytes, 0, NULL))));
        tool_power_cut();
        check_xac(0, "log", "--bytes", TOOL_ENV);
        check_said("\n               16  78 78 78");
        check_said("\n               32  78 78 78 78 78 78 78 78\n");
}

static void pages_that_moved_say_from_where(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 3, 0);
        check_ok(xbegin(env, 0));
        check_ok(xac_page_move(env, words + 5 * 512, words + 3 * 512, 1));
        check_ok(xend(env));
        check_xac(0, "log", "--from", "3", "--to", "3", "--pages", TOOL_ENV);
        check_said(TOOL_FILE " page 5  moved from page 3, 0 bytes");
        check_said(TOOL_FILE " page 3  cleared, 0 bytes");
        check_ok(xac_close(env));
}

/* A transaction larger than a record: fragments, each with the number of the commit they belong to. */
static void write_much(int commits, void *unused)
{
        enum { PAGES = 2048, WORDS = PAGES * 512 };
        const xac_options options = { .pool_bytes = 64 << 20, .log_bytes = 64 << 20 };
        uint64_t value = 88172645463325252U;
        uint64_t *words;
        xac_env *env;

        (void)unused;
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        words = xac_mmap(env, TOOL_FILE, WORDS * 8, 0);
        for (int i = 0; i < commits; i++) {
                check_ok(xbegin(env, 0));
                for (unsigned word = 0; word < WORDS; word++) {
                        value ^= value << 13, value ^= value >> 7, value ^= value << 17;
                        words[word] = value;
                }
                check_ok(xend(env));
        }
        crew_exit(0); /* without closing it */
}

static void fragments_have_the_number_of_their_commit(void)
{
        crew_join(crew_fork(write_much, 2, NULL));
        tool_power_cut();
        check_xac(0, "log", "--from", "3", "--to", "3", TOOL_ENV);
        check(tool_count_said(" 3 fragment ") >= 1);
        check_equal(tool_count_said(" 3 commit "), 1);
        check_not_said(" 2 fragment ");
        check_not_said(" 2 commit ");
        check_xac(0, "log", TOOL_ENV);
        check_said(" 2 fragment ");
        check_xac(0, "recover", TOOL_ENV);
}

/* ---- Commits that did not wait ---- */

static void commit_without_waiting(int commits, void *unused)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused;
        for (int i = 0; i < commits; i++)
                tool_commit(env, words, (unsigned)i % TOOL_PAGES, XAC_NOSYNC);
        check_ok(xac_sync(env));
        crew_exit(0); /* without closing it */
}

/* Whether each has a record or many have one: all are counted. */
static void commits_that_did_not_wait_are_all_counted(void)
{
        crew_join(crew_fork(commit_without_waiting, 200, NULL));
        tool_power_cut();
        check_xac(0, "log", TOOL_ENV);
        check_said("200 commits, the newest 201; checkpoint at sequence 1.");
        check_said(", cleanly.");
        check_xac(0, "stat", TOOL_ENV);
        check_said("200 commits beyond the checkpoint, up to sequence 201");
        check_xac(0, "recover", TOOL_ENV);
        check_said("replayed      200 commits, 16 pages changed");
        check_equal(tool_sum(), 200);
}

/* A log that is continued by hand. */
struct pen {
        struct log_record newest;
        uint64_t page;   /* that it changed */
        uint64_t offset; /* of the log's position 0 in xac.log.1 */
};

/* Of the newest commit, which is 2; behind its group. */
static struct pen pen_take(void)
{
        unsigned char bytes[LOG_RECORD_HEADER + 8];
        struct pen pen = { .offset = offset_of(2) };
        int fd = open(tool_path("xac.log.1"), O_RDONLY | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pread(fd, bytes, sizeof(bytes), (off_t)pen.offset), sizeof(bytes));
        close(fd);
        check(log_record_decode(bytes, &pen.newest));
        pen.page = bytes_get_u64(bytes + LOG_RECORD_HEADER);
        pen.offset -= pen.newest.position;
        pen.newest.position = log_group_end(pen.newest.position + pen.newest.byte_len);
        pen.newest.transaction = 0;
        return pen;
}

/* An entry: the word that tool_commit counts in becomes this one. Its length. */
static uint32_t make_entry(const struct pen *pen, uint32_t page_no, uint64_t word, unsigned char *bytes)
{
        log_entry_encode(bytes, pen->page + page_no, LOG_CHANGES, LOG_CHANGE_HEADER + 8);
        bytes += LOG_ENTRY_HEADER;
        bytes_put_u64(bytes, LOG_BYTES | 40 << 16 | UINT64_C(7) << 48);
        bytes_put_u64(bytes + LOG_CHANGE_HEADER, word);
        return LOG_ENTRY_HEADER + LOG_CHANGE_HEADER + 8;
}

/* One more record; its position. */
static uint64_t pen_write(struct pen *pen, uint32_t kind, uint64_t sequence, const unsigned char *payload,
                          uint32_t payload_len)
{
        unsigned char bytes[256] = { 0 };
        uint32_t byte_len = log_record_len(payload_len);
        int fd = open(tool_path("xac.log.1"), O_WRONLY | O_CLOEXEC);
        uint64_t position = pen->newest.position;

        check(fd >= 0 && byte_len <= sizeof(bytes));
        pen->newest.kind = kind;
        pen->newest.sequence = sequence;
        pen->newest.payload_len = payload_len;
        pen->newest.payload_crc = checksum_crc32c(0, payload, payload_len);
        log_record_encode(bytes, &pen->newest);
        memcpy(bytes + LOG_RECORD_HEADER, payload, payload_len);
        check_equal(pwrite(fd, bytes, byte_len, (off_t)(pen->offset + position)), byte_len);
        close(fd);
        pen->newest.position += byte_len;
        return position;
}

/* Commit 2 to page 0; 3 to 5, merged, with a fragment; 6, merged. */
static void make_merged(uint64_t base)
{
        unsigned char payload[128];
        struct pen pen;
        uint32_t len;

        tool_work(0, 1, TOOL_KILL);
        tool_power_cut();
        pen = pen_take();
        pen.newest.transaction = pen.newest.position;
        pen_write(&pen, LOG_FRAGMENT, 0, payload, make_entry(&pen, 4, 9, payload));
        log_merged_encode(payload, base);
        len = LOG_MERGED_HEADER + make_entry(&pen, 3, 7, payload + LOG_MERGED_HEADER);
        pen_write(&pen, LOG_MERGED, 5, payload, len);
        pen.newest.transaction = 0;
        log_merged_encode(payload, 5);
        pen_write(&pen, LOG_MERGED, 6, payload, LOG_MERGED_HEADER);
}

static void merged_commits_say_which_they_are(void)
{
        make_merged(2);
        check_xac(0, "log", "--pages", TOOL_ENV);
        check_said("        3-5 fragment ");
        check_said("        3-5 merged ");
        check_said("          6 merged ");
        check_said(TOOL_FILE " page 3  changes, 16 bytes\n        bytes     40  8 bytes");
        check_said("4 records, 5 commits, the newest 6;");
        check_not_said("MALFORMED");
        check_xac(0, "stat", TOOL_ENV);
        check_said("5 commits beyond the checkpoint, up to sequence 6");
        check_xac(0, "recover", TOOL_ENV);
        check_said("replayed      5 commits, 3 pages changed");
        check_equal(tool_sum(), 1 + 7 + 9);
}

static void ranges_find_merged_commits(void)
{
        make_merged(2);
        for (char sequence[] = "3"; sequence[0] <= '5'; sequence[0]++) {
                check_xac(0, "log", "--from", sequence, "--to", sequence, TOOL_ENV);
                check_said(" 3-5 fragment ");
                check_said(" 3-5 merged ");
                check_not_said(" 6 merged ");
                check_not_said(" 2 commit ");
        }
        check_xac(0, "log", "--from", "6", TOOL_ENV);
        check_not_said(" 3-5 ");
        check_said(" 6 merged ");
        check_xac(0, "log", "--to", "2", TOOL_ENV);
        check_not_said(" merged ");
}

/* Valid by their checksums, but they do not join on. */
static void merged_commits_after_a_gap_are_damage(void)
{
        make_merged(3);
        check_xac(0, "log", TOOL_ENV);
        check_said(" 4-5 merged ");
        check_xac(1, "check", TOOL_ENV);
        check_said("makes no sense");
        check_xac(1, "recover", TOOL_ENV);
        check_said("makes no sense");
}

/* ---- Damage ---- */

/* The end of the last group is missing on disk: nobody was told that it was there. */
static void a_torn_tail_is_no_damage(void)
{
        uint64_t offset;

        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        offset = offset_of(21);
        tool_damage("xac.log.1", offset + 60, 4);
        check_xac(0, "log", TOOL_ENV);
        check_said("torn tail");
        check_said("19 commits, the newest 20");
        check_not_said("DAMAGED");
        check_xac(0, "stat", TOOL_ENV);
        check_said("up to sequence 20\n");
        check_equal(tool_sum(), 19);
}

static void damage_is_told_where_it_is(void)
{
        char expected[80];
        uint64_t offset;

        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        offset = offset_of(10);
        tool_damage("xac.log.1", offset + 8, 1);
        check_xac(1, "log", TOOL_ENV);
        snprintf(expected, sizeof(expected), "xac.log.1+%llu: ", (unsigned long long)offset);
        check_said("DAMAGED at position");
        check_said(expected);
        check_equal(tool_count_said(" commit "), 8);
}

static void a_log_in_use_may_be_read(void)
{
        uint64_t before;
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        for (unsigned i = 0; i < 6; i++)
                tool_commit(env, words, i, 0);
        before = tool_fingerprint(TOOL_ENV);
        check_xac(0, "log", TOOL_ENV);
        check_equal(tool_fingerprint(TOOL_ENV), before);
        check_equal(tool_count_said(" commit "), 6);
        check_said("in use, so the end moves");
        check_ok(xac_checkpoint(env));
        tool_commit(env, words, 0, 0);
        check_xac(0, "log", TOOL_ENV);
        check_equal(tool_count_said(" commit "), 1);
        check_said("checkpoint at sequence 7.");
        check_ok(xac_close(env));
}

/* Only what a second look does not find was the moving end. */
static void damage_in_a_log_in_use_is_damage(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        for (unsigned i = 0; i < 20; i++)
                tool_commit(env, words, i % TOOL_PAGES, 0);
        tool_damage("xac.log.1", offset_of(10) + 8, 1);
        check_xac(1, "log", TOOL_ENV);
        check_said("DAMAGED at position");
        check_equal(tool_count_said(" commit "), 8);
        check_ok(xac_close(env));
}

/* While a process commits and makes checkpoints as fast as it can, each look gives lines or says that
 * a checkpoint came between. */
static void commit_and_recycle(int unused, void *stop_)
{
        const xac_options options = { .pool_bytes = 8 << 20, .log_bytes = TOOL_SEGMENT };
        const _Atomic int *stop = stop_;
        uint64_t *words;
        xac_env *env;

        (void)unused;
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        words = xac_mmap(env, TOOL_FILE, TOOL_PAGES * 4096, 0);
        for (unsigned i = 0; !*stop; i++)
                tool_commit(env, words, i % TOOL_PAGES, 0);
        check_ok(xac_close(env));
}

static void a_log_that_is_recycled_meanwhile_is_no_damage(void)
{
        _Atomic int *stop = crew_shared(sizeof(*stop));
        pid_t writer;

        tool_work(0, 1, TOOL_CLOSE);
        writer = crew_fork(commit_and_recycle, 0, (void *)(uintptr_t)stop);
        for (int i = 0; i < 30; i++) {
                int status = tool_xac(tool_args("log", TOOL_ENV));

                check_not_said("DAMAGED");
                check(status == 0 || status == 3);
        }
        *stop = 1;
        crew_join(writer);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(every_commit_is_a_line),
                isolated_test(a_closed_environment_has_an_empty_log),
                isolated_test(ranges_are_kept_to),
                isolated_test(pages_and_bytes_are_what_was_stored),
                isolated_test(many_bytes_have_lines),
                isolated_test(pages_that_moved_say_from_where),
                isolated_test(fragments_have_the_number_of_their_commit),
                isolated_test(commits_that_did_not_wait_are_all_counted),
                isolated_test(merged_commits_say_which_they_are),
                isolated_test(ranges_find_merged_commits),
                isolated_test(merged_commits_after_a_gap_are_damage),
                isolated_test(a_torn_tail_is_no_damage),
                isolated_test(damage_is_told_where_it_is),
                isolated_test(a_log_in_use_may_be_read),
                isolated_test(damage_in_a_log_in_use_is_damage),
                isolated_test(a_log_that_is_recycled_meanwhile_is_no_damage),
        };
        return cmocka_run_group_tests_name("xac log", tests, NULL, NULL);
}
