/* SPDX-License-Identifier: MIT */

/*
 * From the log into the archive (recovery/archive_keep.h), of a log that is given up in part: behind a gap the first
 * record is looked for.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/archive_keep.h"
#include "recovery/log_record.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { INCARNATION = 3, SEGMENT = LOG_SEGMENT_MAX };

static unsigned char *log_bytes; /* segment 1 */

static int read_log(void *arg, uint64_t position, void *bytes, size_t byte_len)
{
        (void)arg;
        if (position < SEGMENT || position + byte_len > 2 * (uint64_t)SEGMENT)
                return -ENOENT;
        memcpy(bytes, log_bytes + (position - SEGMENT), byte_len);
        return 0;
}

/* A record that is damaged, but for its header. */
static void put_record(uint64_t position, uint32_t payload_len)
{
        const struct log_record record = { .position = position,
                                           .sequence = 2,
                                           .incarnation = INCARNATION,
                                           .kind = LOG_COMMIT,
                                           .payload_len = payload_len,
                                           .payload_crc = 1 };

        log_record_encode(log_bytes + (position - SEGMENT), &record);
}

/* A pad that is whole. */
static void put_pad(uint64_t position)
{
        log_pad_encode(log_bytes + (position - SEGMENT), position, LOG_BLOCK, position, INCARNATION, 1, 1);
}

static void make_log(void)
{
        log_bytes = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        check(log_bytes != MAP_FAILED);
        check_equal(mkdir(scratch_path("archive"), 0700), 0);
}

/* Segment 1, behind a gap, of a log that was given up. */
static void keep(struct archive_mark *mark)
{
        static struct manifest manifest = { .page_bytes = 4096, .segment_bytes = SEGMENT, .history = INCARNATION };
        const struct archive_source source = { .manifest = &manifest,
                                               .session = { .incarnation = INCARNATION },
                                               .directory = AT_FDCWD,
                                               .read = read_log };
        struct archive archive = { .mode = 0600 };

        check_ok(sys_open(AT_FDCWD, scratch_path("archive"), O_RDONLY | O_DIRECTORY, 0, &archive.directory));
        *mark = (struct archive_mark){ .position = SEGMENT };
        check_ok(archive_keep(&archive, &source, 2 * (uint64_t)SEGMENT, false, mark));
        check_equal(mark->position, 2 * (uint64_t)SEGMENT);
        sys_close(archive.directory);
}

static uint64_t processor_us(void)
{
        struct rusage usage;

        check_equal(getrusage(RUSAGE_SELF, &usage), 0);
        return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
               (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Each claims the longest payload that there can be. */
static void a_header_in_each_block_is_no_log(void)
{
        struct archive_mark mark;

        make_log();
        for (uint64_t at = SEGMENT; at < 2 * (uint64_t)SEGMENT; at += LOG_BLOCK)
                put_record(at, LOG_RECORD_MAX - LOG_RECORD_HEADER);
        const uint64_t begun_us = processor_us();
        check(checksum_crc32c(0, log_bytes, SEGMENT) != 0);
        const uint64_t once_us = processor_us() - begun_us;
        keep(&mark);
        check_equal(mark.next_record, 0); /* a gap */
        /* Usually 7 times; the kernel's part of it has taken 80 times. All payloads together are 1024 times as long. */
        check(processor_us() - begun_us < 300 * (once_us + 1000));
}

/* However many are damaged before it, if they lie side by side. */
static void the_first_whole_record_is_found(void)
{
        const uint64_t whole = 2 * (uint64_t)SEGMENT - LOG_BLOCK;
        struct archive_mark mark;
        struct archive_part part;
        char name[ARCHIVE_NAME_BYTES];
        int directory;

        make_log();
        for (uint64_t at = SEGMENT; at < whole; at += LOG_BLOCK)
                put_record(at, LOG_BLOCK - LOG_RECORD_HEADER);
        put_pad(whole);
        keep(&mark);
        check_ok(sys_open(AT_FDCWD, scratch_path("archive"), O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(archive_newest(directory, &part, name));
        check_equal(part.first_record, whole);
        check_equal(part.next_record, 2 * (uint64_t)SEGMENT);
        sys_close(directory);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                { "a_header_in_each_block_is_no_log", isolate_run, NULL, NULL,
                  &(struct isolated){ .once = a_header_in_each_block_is_no_log, .in_memory = 1 } },
                { "the_first_whole_record_is_found", isolate_run, NULL, NULL,
                  &(struct isolated){ .once = the_first_whole_record_is_found, .in_memory = 1 } },
        };

        return cmocka_run_group_tests_name("recovery/archive_keep", tests, NULL, NULL);
}
