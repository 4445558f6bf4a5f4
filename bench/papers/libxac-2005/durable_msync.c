/* SPDX-License-Identifier: MIT */

/*
 * Table 4.8 of the thesis: msync, and fsync, on a mapped file of 10,000 pages of which one random
 * page has been modified. Neither is atomic. Beside them a durable transaction that modifies one
 * random page of as many. In turn: one of each, so many times.
 */

#include "bench/papers/libxac-2005/thesis_durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/support/scratch.h"

enum { PAGES = 10000, REPETITIONS = 1000, SHOW_EVERY = 100 };
enum { MSYNC, FSYNC, TRANSACTION, WAYS };
static const char *const way_names[WAYS] = { "msync", "fsync", "libxac" };

struct experiment {
        struct scratch scratch;
        int fd;
        char *mapping;
        uint64_t random;
        struct samples us[WAYS];
};

static void open_file(struct experiment *experiment)
{
        static const char zeros[SCRATCH_PAGE];
        char path[SCRATCH_PATH + 16];

        snprintf(path, sizeof(path), "%s/plain", experiment->scratch.directory);
        experiment->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        for (int i = 0; i < PAGES && experiment->fd >= 0; i++)
                if (write(experiment->fd, zeros, SCRATCH_PAGE) != SCRATCH_PAGE)
                        scratch_fail(-errno, path);
        if (experiment->fd < 0 || fsync(experiment->fd) != 0)
                scratch_fail(-errno, path);
        experiment->mapping =
                mmap(NULL, (size_t)PAGES * SCRATCH_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, experiment->fd, 0);
        if (experiment->mapping == MAP_FAILED)
                scratch_fail(-errno, "mmap");
}

static void close_file(struct experiment *experiment)
{
        munmap(experiment->mapping, (size_t)PAGES * SCRATCH_PAGE);
        close(experiment->fd);
}

static void modify_and_sync(struct experiment *experiment, size_t page_no, int way)
{
        volatile long *word = (long *)(void *)(experiment->mapping + page_no * SCRATCH_PAGE);
        ++*word;
        int err = way == MSYNC ? msync(experiment->mapping, (size_t)PAGES * SCRATCH_PAGE, MS_SYNC)
                               : fsync(experiment->fd);
        if (err)
                scratch_fail(-errno, way_names[way]);
}

static void modify_and_commit(struct experiment *experiment, size_t page_no)
{
        must(xbegin(experiment->scratch.env, 0), "xbegin");
        long *word = xac_page_write(experiment->scratch.env, scratch_page(&experiment->scratch, page_no));
        if (word)
                ++*word;
        must(xend(experiment->scratch.env), "xend");
}

static void measure(struct experiment *experiment)
{
        for (int i = 0; i < REPETITIONS; i++) {
                if (i % SHOW_EVERY == 0)
                        durable_progress("msync: %d of %d", i, REPETITIONS);
                for (int way = 0; way < WAYS; way++) {
                        size_t page_no = (measure_random(&experiment->random) >> 16) % PAGES;
                        const uint64_t start_ns = measure_now_ns();
                        if (way == TRANSACTION)
                                modify_and_commit(experiment, page_no);
                        else
                                modify_and_sync(experiment, page_no, way);
                        samples_add(&experiment->us[way], (double)(measure_now_ns() - start_ns) / 1000);
                }
        }
        durable_progress_end();
}

int durable_msync(struct durable *durable)
{
        static struct experiment experiment = { .random = 88172645463325252u };

        scratch_make(&experiment.scratch, PAGES);
        experiment.scratch.is_durable = true;
        scratch_open(&experiment.scratch, 0);
        open_file(&experiment);
        measure(&experiment);
        close_file(&experiment);
        scratch_close(&experiment.scratch);
        scratch_remove(&experiment.scratch);

        printf("\nOne random page of %d modified and made durable, microseconds (minimum to maximum)\n\n", PAGES);
        for (int way = 0; way < WAYS; way++) {
                char text[DURABLE_TEXT];
                struct csv_series series = { way_names[way], 1, 1, PAGES, "one_page_durable", "us" };
                printf("%-8s %s\n", way_names[way], durable_spread(text, &experiment.us[way], 1, 1));
                csv_rows(&durable->csv, &series, &experiment.us[way]);
                samples_free(&experiment.us[way]);
        }
        return 0;
}
