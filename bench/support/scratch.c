/* SPDX-License-Identifier: MIT */
#include "bench/support/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void scratch_fail(int err, const char *what)
{
        fprintf(stderr, "%s: %s\n", what, xac_strerror(err));
        exit(EXIT_FAILURE);
}

/* What is to be removed when the process that made it exits early. */
enum { SCRATCHES = 24 };
static struct {
        char directory[SCRATCHES][SCRATCH_PATH]; /* "": none */
        pid_t maker;
} made;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
        (void)status;
        (void)kind;
        (void)place;
        return remove(path);
}

/* Or a file. */
static void remove_directory(const char *path)
{
        nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Where that of libxac lies, and where that of others: with a run of tests it goes, whatever becomes of the process
 * (tools/test-run). */
#define SHARED_MEMORY "/dev/shm"

static const char *memory_of_others(void)
{
        const char *run = getenv("XAC_TEST_RUN");

        return run ? run : SHARED_MEMORY;
}

/* Shared memory is named after the device and inode of its directory. */
static int name_memory(const char *place, const char *directory, const char *name, char path[SCRATCH_PATH])
{
        struct stat st;

        if (stat(directory, &st) != 0)
                return -errno;
        snprintf(path, SCRATCH_PATH, "%s/xac.%" PRIxMAX ".%" PRIxMAX ".%s", place, (uintmax_t)st.st_dev,
                 (uintmax_t)st.st_ino, name);
        return 0;
}

static void remove_memory_in(const char *place, const char *directory)
{
        glob_t found;
        char pattern[SCRATCH_PATH];

        if (name_memory(place, directory, "*", pattern) || glob(pattern, 0, NULL, &found) != 0)
                return;
        for (size_t i = 0; i < found.gl_pathc; i++)
                remove_directory(found.gl_pathv[i]);
        globfree(&found);
}

void scratch_remove_memory(const char *directory)
{
        remove_memory_in(memory_of_others(), directory);
        remove_memory_in(SHARED_MEMORY, directory);
}

void scratch_memory_directory(const char *directory, const char *name, char path[SCRATCH_PATH])
{
        must(name_memory(memory_of_others(), directory, name, path), directory);
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
                scratch_fail(-errno, path);
}

static void remove_made(void)
{
        for (int i = 0; i < SCRATCHES && made.maker == getpid(); i++) {
                if (!made.directory[i][0])
                        continue;
                scratch_remove_memory(made.directory[i]);
                remove_directory(made.directory[i]);
        }
}

/* The place where it stands; for "", a free one. */
static char *find_made(const char *directory)
{
        for (int i = 0; i < SCRATCHES; i++)
                if (strcmp(made.directory[i], directory) == 0)
                        return made.directory[i];
        scratch_fail(-ENOSPC, "too many scratches");
}

void scratch_make(struct scratch *scratch, size_t pages)
{
        const char *parent = getenv("TMPDIR");

        *scratch = (struct scratch){ .pages = pages };
        snprintf(scratch->directory, SCRATCH_PATH, "%s/xac-bench.XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(scratch->directory))
                scratch_fail(-errno, scratch->directory);
        if (!made.maker)
                atexit(remove_made);
        made.maker = getpid();
        memcpy(find_made(""), scratch->directory, SCRATCH_PATH);
}

void scratch_open(struct scratch *scratch, int flags)
{
        flags |= XAC_CREATE | (scratch->is_durable ? 0 : XAC_VOLATILE);
        must(xac_open(scratch->directory, flags, scratch->options, &scratch->env), "xac_open");
        scratch->file = xac_mmap(scratch->env, "pages", scratch->pages * SCRATCH_PAGE, 0);
        if (scratch->file == MAP_FAILED)
                scratch_fail(-errno, "xac_mmap");
}

void scratch_close(struct scratch *scratch)
{
        must(xac_close(scratch->env), "xac_close");
        scratch->env = NULL;
}

void scratch_fill(struct scratch *scratch)
{
        for (size_t page_no = 0; page_no < scratch->pages; page_no++) {
                must(xbegin(scratch->env, 0), "xbegin");
                long *word = xac_page_write(scratch->env, scratch_page(scratch, page_no));
                if (word)
                        *word = (long)page_no;
                must(xend(scratch->env), "xend");
        }
}

void scratch_remove(struct scratch *scratch)
{
        remove_directory(scratch->directory);
        find_made(scratch->directory)[0] = '\0';
}

int scratch_verdict(const char *what, double value, double limit, const char *unit)
{
        printf("%-58s %10.2f %s, at most %g: %s\n", what, value, unit, limit, value <= limit ? "yes" : "NO");
        return value > limit;
}

int scratch_verdict_least(const char *what, double value, double limit, const char *unit)
{
        printf("%-58s %10.2f %s, at least %g: %s\n", what, value, unit, limit, value >= limit ? "yes" : "NO");
        return value < limit;
}
