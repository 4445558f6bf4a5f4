/* SPDX-License-Identifier: MIT */

/*
 * What the parts of an archive make up (recovery/archive_line.h), however many there are: headers alone, without a log.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "recovery/archive_line.h"
#include "recovery/log_format.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { MANY = 20000, SEGMENT = 65536, FIRST = 16 /* block of the log */ };

static int directory;

static void begin(void)
{
        check_equal(mkdir(scratch_path("archive"), 0700), 0);
        check_ok(sys_open(AT_FDCWD, scratch_path("archive"), O_RDONLY | O_DIRECTORY, 0, &directory));
}

/* A part of one block; what is in it is not looked at. */
static void make_part(uint64_t number, uint64_t last, uint64_t first_ns, uint64_t last_ns)
{
        static unsigned char header[ARCHIVE_HEADER_MAX];
        const uint64_t from = (FIRST + number) * LOG_BLOCK, to = from + LOG_BLOCK;
        struct archive_part part = { .segment_bytes = SEGMENT,
                                     .page_bytes = 4096,
                                     .from = from,
                                     .to = to,
                                     .session = { .incarnation = 1, .position = (uint64_t)FIRST * LOG_BLOCK },
                                     .first_record = from,
                                     .next_record = to,
                                     .before = last ? last - 1 : 0,
                                     .last = last,
                                     .oldest = from,
                                     .first_ns = first_ns,
                                     .last_ns = last_ns,
                                     .packing = ARCHIVE_ZSTD,
                                     .packed_bytes = 1 };
        const struct archive_files none = { .count = 0 };
        char name[ARCHIVE_NAME_BYTES];
        int fd;

        archive_header_encode(header, &part, &none);
        archive_file_name(name, from, to, 1);
        check_ok(sys_open(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd));
        check_ok(sys_write_all(fd, header, part.header_bytes + part.packed_bytes, 0));
        sys_close(fd);
}

static void open_line(struct archive_line *line)
{
        struct findings findings = { .report = NULL };

        check_ok(archive_line_open(line, directory, NULL, &findings));
}

/* Of this process. */
static uint64_t processor_us(void)
{
        struct rusage usage;

        check_equal(getrusage(RUSAGE_SELF, &usage), 0);
        return (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec +
               (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
}

/* For none of them a time is known, so that it is looked for up to the end. To read the headers takes longer. */
static void times_of_many_parts_are_found_at_once(void)
{
        struct archive_line line;

        begin();
        for (unsigned i = 0; i < MANY; i++)
                make_part(i, 0, 0, 0);
        const uint64_t begun_us = processor_us();
        open_line(&line);
        const uint64_t opened_us = processor_us();
        check_equal(line.count, MANY);
        check_equal(archive_line_old(&line, 0, 1), MANY - 1);
        check(processor_us() - opened_us < (opened_us - begun_us) / 2);
        archive_line_close(&line);
}

/* Where the groups end, times are: of commits 2 in part 0, 3 in part 2, and 4 behind a gap. */
static void what_is_looked_for_is_found(void)
{
        struct archive_line line;

        begin();
        make_part(0, 2, 0, 0);
        make_part(1, 0, 0, 0);
        make_part(2, 3, 50, 60);
        make_part(4, 0, 40, 45); /* the clock was set back */
        make_part(5, 4, 0, 0);
        open_line(&line);
        check_equal(line.count, 5);
        static const uint64_t newest_ns[] = { 50, 50, 60, 45, 0 };
        static const uint64_t earliest_ns[] = { 40, 40, 40, 40, UINT64_MAX };
        static const uint64_t newest_before[] = { 0, 2, 2, 3, 3 };
        static const uint32_t next_commits[] = { 0, 2, 2, 4, 4 };
        for (uint32_t i = 0; i < line.count; i++) {
                check_equal(line.piece[i].newest_ns, newest_ns[i]);
                check_equal(line.piece[i].earliest_ns, earliest_ns[i]);
                check_equal(line.piece[i].newest_before, newest_before[i]);
                check_equal(line.piece[i].next_commits, next_commits[i]);
                check_equal(line.piece[i].gap != NULL, i == 3);
        }
        archive_line_close(&line);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                { "times_of_many_parts_are_found_at_once", isolate_run, NULL, NULL,
                  &(struct isolated){ .once = times_of_many_parts_are_found_at_once, .in_memory = 1 } },
                isolated_test(what_is_looked_for_is_found),
        };

        return cmocka_run_group_tests_name("recovery/archive_line", tests, NULL, NULL);
}
