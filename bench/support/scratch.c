/* SPDX-License-Identifier: MIT */
#include "bench/support/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void scratch_fail(int err, const char *what)
{
        fprintf(stderr, "%s: %s\n", what, xac_strerror(err));
        exit(EXIT_FAILURE);
}

/* What is to be removed when the process that made it exits early. */
static struct {
        char directory[SCRATCH_PATH];
        pid_t maker;
} made;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
        (void)status;
        (void)kind;
        (void)place;
        return remove(path);
}

static void remove_directory(const char *path)
{
        nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_made(void)
{
        if (made.maker == getpid() && made.directory[0])
                remove_directory(made.directory);
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
        memcpy(made.directory, scratch->directory, SCRATCH_PATH);
}

void scratch_open(struct scratch *scratch, int flags)
{
        must(xac_open(scratch->directory, XAC_CREATE | XAC_VOLATILE | flags, NULL, &scratch->env),
             "xac_open");
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
        made.directory[0] = '\0';
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
