/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_SCRATCH_H
#define BENCH_SUPPORT_SCRATCH_H

/*
 * A place to measure in, and what to do when something goes wrong there.
 *
 * A scratch is an environment in a temporary directory (below $TMPDIR or /tmp) with one file
 * mapped by the thread that opened it. It is volatile unless is_durable was set before it is
 * opened. The process that made it removes it, at the latest when it exits.
 */

#include <stdbool.h>
#include <stddef.h>

#include <xac/xac.h>

enum { SCRATCH_PAGE = 4096, SCRATCH_PATH = 256 };

struct scratch {
        char directory[SCRATCH_PATH];
        xac_env *env;
        char *file; /* this thread's view */
        size_t pages;
        bool is_durable;
        const xac_options *options; /* NULL: the defaults */
};

/* Makes an empty directory; nothing is open yet. A few at a time. */
void scratch_make(struct scratch *scratch, size_t pages);
void scratch_remove(struct scratch *scratch);
/* Removes the shared memory of the environment in this directory, which no process has open: as the
 * death of the machine does. And what lies beside it: */
void scratch_remove_memory(const char *directory);
/* Makes, unless it is there, a directory in shared memory that belongs to this one, for a system other than
 * libxac. */
void scratch_memory_directory(const char *directory, const char *name, char path[SCRATCH_PATH]);

/* In the process and thread that will use it; `flags` are xac_open's. */
void scratch_open(struct scratch *scratch, int flags);
void scratch_close(struct scratch *scratch);

/* Gives every page a first version, and thereby a slot in the pool. */
void scratch_fill(struct scratch *scratch);

static inline char *scratch_page(const struct scratch *scratch, size_t page_no)
{
        return scratch->file + page_no * SCRATCH_PAGE;
}

/* Says what has failed and why, and ends the program. */
_Noreturn void scratch_fail(int err, const char *what);

static inline void must(int err, const char *what)
{
        if (err)
                scratch_fail(err, what);
}

/* Says whether a figure is within its limit; returns 1 if it is not, else 0. */
int scratch_verdict(const char *what, double value, double limit, const char *unit);
int scratch_verdict_least(const char *what, double value, double limit, const char *unit);

#endif
