/* SPDX-License-Identifier: MIT */
#include "tests/support/disk_reads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/support/little_memory.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

void disk_reads_cool(const char *name)
{
        const int fd = open(scratch_path(name), O_RDWR | O_CLOEXEC);
        check(fd >= 0);
        check_equal(fsync(fd), 0);
        check_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
        close(fd);
}

uint64_t disk_reads_bytes(void)
{
        FILE *lines = fopen("/proc/self/io", "re");
        char line[128];
        uint64_t bytes = 0;
        check(lines != NULL);
        while (fgets(line, sizeof(line), lines))
                (void)sscanf(line, "read_bytes: %" SCNu64, &bytes);
        fclose(lines);
        return bytes;
}

uint64_t disk_reads_waits(void)
{
        struct rusage usage;
        check_equal(getrusage(RUSAGE_SELF, &usage), 0);
        return (uint64_t)usage.ru_majflt;
}

static const struct little {
        struct little_memory group;
        crew_body body;
} * little;

static void run_with_little(int index, void *unused)
{
        check_equal(little_memory_enter(&little->group), 0);
        little->body(index, unused);
}

void disk_reads_with_memory(uint64_t bytes, crew_body body, int index)
{
        static struct little made;
        made.body = body;
        little = &made;
        if (!little_memory_make(&made.group, bytes)) {
                check(geteuid() != 0); /* root of a machine with control groups has the right */
                isolate_skip("no control group can be made here");
        }
        const int status = crew_status(crew_fork(run_with_little, index, NULL));
        little_memory_remove(&made.group);
        check_equal(status, 0);
}
