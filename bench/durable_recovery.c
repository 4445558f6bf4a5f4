/* SPDX-License-Identifier: MIT */

/*
 * How long it takes to come back. A process commits until the log is as long as is wanted, each time
 * waiting for the disk, and is killed; then the shared memory is removed: that is what the death of the
 * machine leaves. The log is read once, for it was written past the page cache, and replay is to be
 * measured, not the disk. The progress callback of xac_open tells the phases apart. What is found must
 * be all that was committed.
 *
 * Each commit changes slots of 64 bytes in many pages at random. A slot takes 88 bytes of the log, as many as the
 * record of a commit that changes one word, and like that sends replay to another page; but a long log of single
 * words, each waited for, would take hours. (Commits that do not wait would be logged merged.)
 *
 * Then the environment is closed and opened: after a clean close there is nothing to replay.
 */

#include "bench/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/durable_experiments.h"
#include "bench/support/scratch.h"

enum {
        PAGES = 16384,
        SLOT_WORDS = 8, /* the first counts its changes, the others follow from it */
        SLOTS = SCRATCH_PAGE / sizeof(uint64_t) / SLOT_WORDS,
        SLOTS_AT_ONCE = 256,
        ASK_EVERY = 16,
        CLEAN_OPENS = 20,
        MIB = 1 << 20
};

static const double REPLAY_LEAST_MB = 400, OPEN_LIMIT_MS = 20;

enum {
        OPEN_AFTER_CRASH,
        REPLAY,
        REPLAY_CPU,
        REPLAY_RATE,
        CHECKPOINT,
        LOG,
        COMMITS,
        CHANGES,
        OPEN_AFTER_CLOSE,
        METRICS
};
static const struct metric {
        const char *name, *unit;
        int digits;
} metrics[METRICS] = {
        [OPEN_AFTER_CRASH] = { "open_after_crash", "ms", 0 },
        [REPLAY] = { "replay", "ms", 0 },
        [REPLAY_CPU] = { "replay_cpu", "ms", 0 },
        [REPLAY_RATE] = { "replay_rate", "MB_per_second", 0 },
        [CHECKPOINT] = { "final_checkpoint", "ms", 0 },
        [LOG] = { "log", "bytes", 0 },
        [COMMITS] = { "commits_replayed", "number", 0 },
        [CHANGES] = { "changes_replayed", "number", 0 },
        [OPEN_AFTER_CLOSE] = { "open_after_close", "ms", 2 },
};

/* Shared with the process that commits. */
struct progress {
        _Atomic uint64_t commits, log_bytes;
        _Atomic int is_done;
};

struct experiment {
        struct durable *durable;
        xac_options options;
        struct progress *progress;
        struct samples samples[METRICS];
};

/* ---- commits, then death ---- */

/* What word w of a slot is after so many changes. */
static uint64_t slot_word(uint64_t changes, int w)
{
        uint64_t random = changes * SLOT_WORDS + (uint64_t)w;

        return changes && w ? measure_random(&random) : changes;
}

static void change_slot(const struct scratch *scratch, uint64_t random)
{
        uint64_t *page = xac_page_write(scratch->env, scratch_page(scratch, (random >> 16) % PAGES));
        uint64_t *slot = page ? page + (random >> 40) % SLOTS * SLOT_WORDS : NULL;

        for (int w = SLOT_WORDS - 1; slot && w >= 0; w--)
                slot[w] = slot_word(slot[0] + 1, w);
}

static void commit_one(const struct scratch *scratch, uint64_t *random)
{
        must(xbegin(scratch->env, 0), "xbegin");
        for (int i = 0; i < SLOTS_AT_ONCE; i++)
                change_slot(scratch, measure_random(random));
        must(xend(scratch->env), "xend");
}

static uint64_t log_used(const struct scratch *scratch)
{
        xac_stats stats;
        must(xac_stat(scratch->env, &stats), "xac_stat");
        return stats.log_bytes_used;
}

/* Never returns: it is killed. */
static _Noreturn void run_committer(const struct experiment *experiment, struct scratch *scratch)
{
        const uint64_t wanted = experiment->durable->log_mib * MIB;
        struct progress *progress = experiment->progress;
        uint64_t random = 88172645463325252u;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        scratch_open(scratch, 0);
        while (atomic_load(&progress->log_bytes) < wanted) {
                for (int i = 0; i < ASK_EVERY; i++)
                        commit_one(scratch, &random);
                atomic_fetch_add(&progress->commits, ASK_EVERY);
                atomic_store(&progress->log_bytes, log_used(scratch));
        }
        atomic_store(&progress->is_done, 1);
        for (;;)
                pause();
}

static void await_committer(const struct experiment *experiment, pid_t pid)
{
        struct progress *progress = experiment->progress;

        while (!atomic_load(&progress->is_done)) {
                if (waitpid(pid, NULL, WNOHANG) != 0) {
                        fprintf(stderr, "the committer has died\n");
                        exit(EXIT_FAILURE);
                }
                durable_progress("recovery: %" PRIu64 " of %" PRIu64 " MiB of log written",
                                 atomic_load(&progress->log_bytes) / MIB, experiment->durable->log_mib);
                usleep(100000);
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        durable_progress_end();
}

static void read_file(int directory, const char *name)
{
        static char bytes[MIB];
        int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                scratch_fail(-errno, name);
        while (read(fd, bytes, sizeof(bytes)) > 0)
                ;
        close(fd);
}

/* Brings the log into the page cache. */
static void warm_log(const struct scratch *scratch)
{
        DIR *all = opendir(scratch->directory);
        const struct dirent *entry;

        if (!all)
                scratch_fail(-errno, "opendir");
        while ((entry = readdir(all)) != NULL)
                if (strncmp(entry->d_name, "xac.log.", 8) == 0)
                        read_file(dirfd(all), entry->d_name);
        closedir(all);
}

/* The environment as a crash of the machine leaves it. */
static void make_wreck(const struct experiment *experiment, struct scratch *scratch)
{
        memset(experiment->progress, 0, sizeof(*experiment->progress));
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
                scratch_fail(-errno, "fork");
        if (pid == 0)
                run_committer(experiment, scratch);
        await_committer(experiment, pid);
        scratch_remove_memory(scratch->directory);
        warm_log(scratch);
}

/* ---- coming back ---- */

/* What the callback has told. The last it says about the log is how much of it there was. */
struct phases {
        uint64_t restored_ns, replayed_ns;
        uint64_t replayed_cpu_ns; /* processor time of this process */
        uint64_t log_bytes;
};

static uint64_t cpu_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void hear(void *arg, const char *what, uint64_t done, uint64_t total)
{
        struct phases *phases = arg;

        if (strcmp(what, "restore") == 0)
                phases->restored_ns = measure_now_ns();
        if (strcmp(what, "replay") == 0) {
                phases->replayed_ns = measure_now_ns();
                phases->replayed_cpu_ns = cpu_ns();
                phases->log_bytes = done;
        }
        if (total)
                durable_progress("recovery: %s, %" PRIu64 " %%", what, 100 * done / total);
}

static uint64_t changes_made(const struct experiment *experiment)
{
        return atomic_load(&experiment->progress->commits) * SLOTS_AT_ONCE;
}

/* How often the page's slots were changed, if each is as it was left then. */
static uint64_t count_changes(const uint64_t *page)
{
        uint64_t count = 0;

        for (size_t word = 0; page && word < (size_t)SLOTS * SLOT_WORDS; word++) {
                const uint64_t changes = page[word / SLOT_WORDS * SLOT_WORDS];
                if (page[word] != slot_word(changes, (int)(word % SLOT_WORDS)))
                        return 0;
                count += word % SLOT_WORDS ? 0 : changes;
        }
        return count;
}

static void check_all(const struct experiment *experiment, const struct scratch *scratch)
{
        uint64_t sum = 0;

        must(xbegin(scratch->env, XAC_RDONLY), "xbegin");
        for (size_t p = 0; p < PAGES; p++)
                sum += count_changes(xac_page_read(scratch->env, scratch_page(scratch, p)));
        must(xend(scratch->env), "xend");
        if (sum == changes_made(experiment))
                return;
        fprintf(stderr, "recovery is WRONG: %" PRIu64 " changes of %" PRIu64 "\n", sum, changes_made(experiment));
        exit(EXIT_FAILURE);
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
        return (double)(to_ns - from_ns) / 1000000;
}

/* Replay is what happens from the call to the last word about the log; the rest is the checkpoint that
 * recovery ends with, and new shared memory. */
static void open_wreck(struct experiment *experiment, struct scratch *scratch)
{
        struct phases phases = { 0 };
        xac_options options = experiment->options;
        const uint64_t begin_ns = measure_now_ns(), begin_cpu_ns = cpu_ns();

        options.progress = hear;
        options.progress_arg = &phases;
        must(xac_open(scratch->directory, 0, &options, &scratch->env), "xac_open after a crash");
        const uint64_t end_ns = measure_now_ns();
        durable_progress_end();
        if (!phases.replayed_ns || phases.restored_ns) {
                fprintf(stderr, "recovery had %s\n", phases.restored_ns ? "an area to restore" : "nothing to replay");
                exit(EXIT_FAILURE);
        }
        struct samples *samples = experiment->samples;
        samples_add(&samples[OPEN_AFTER_CRASH], ms(begin_ns, end_ns));
        samples_add(&samples[REPLAY], ms(begin_ns, phases.replayed_ns));
        samples_add(&samples[REPLAY_CPU], ms(begin_cpu_ns, phases.replayed_cpu_ns));
        samples_add(&samples[REPLAY_RATE], (double)phases.log_bytes / 1000 / ms(begin_ns, phases.replayed_ns));
        samples_add(&samples[CHECKPOINT], ms(phases.replayed_ns, end_ns));
        samples_add(&samples[LOG], (double)phases.log_bytes);
        samples_add(&samples[COMMITS], (double)atomic_load(&experiment->progress->commits));
        samples_add(&samples[CHANGES], (double)changes_made(experiment));
        scratch->file = xac_mmap(scratch->env, "pages", scratch->pages * SCRATCH_PAGE, 0);
        if (scratch->file == MAP_FAILED)
                scratch_fail(-errno, "xac_mmap");
}

static void open_clean(struct experiment *experiment, struct scratch *scratch)
{
        for (int i = 0; i < CLEAN_OPENS; i++) {
                const uint64_t begin_ns = measure_now_ns();
                must(xac_open(scratch->directory, 0, &experiment->options, &scratch->env), "xac_open");
                samples_add(&experiment->samples[OPEN_AFTER_CLOSE], ms(begin_ns, measure_now_ns()));
                scratch_close(scratch);
        }
}

static void measure(struct experiment *experiment)
{
        struct scratch scratch;

        scratch_make(&scratch, PAGES);
        scratch.is_durable = true;
        scratch.options = &experiment->options;
        make_wreck(experiment, &scratch);
        open_wreck(experiment, &scratch);
        check_all(experiment, &scratch);
        scratch_close(&scratch);
        open_clean(experiment, &scratch);
        scratch_remove(&scratch);
}

static int print_results(const struct experiment *experiment)
{
        const struct samples *samples = experiment->samples;

        printf("\nRecovery from the log alone, %d pages changed, %" PRIu64
               " repetitions: median (minimum to maximum)\n\n",
               PAGES, experiment->durable->repetitions);
        for (int metric = 0; metric < METRICS; metric++) {
                char text[DURABLE_TEXT];
                printf("%-18s %-40s %s\n", metrics[metric].name,
                       durable_spread(text, &samples[metric], 1, metrics[metric].digits), metrics[metric].unit);
        }
        printf("\n");
        return scratch_verdict_least("replay", samples_median(&samples[REPLAY_RATE]), REPLAY_LEAST_MB, "MB/s") +
               scratch_verdict("opening after a clean close", samples_median(&samples[OPEN_AFTER_CLOSE]), OPEN_LIMIT_MS,
                               "ms");
}

/* The log shall not be cut by a checkpoint on the way. */
int durable_recovery(struct durable *durable)
{
        static struct experiment experiment;

        experiment.durable = durable;
        experiment.options.log_bytes = 8 * durable->log_mib * MIB;
        experiment.progress = durable_shared(sizeof(*experiment.progress));
        for (uint64_t r = 0; r < durable->repetitions; r++)
                measure(&experiment);
        int missed = print_results(&experiment);
        for (int metric = 0; metric < METRICS; metric++) {
                struct csv_series series = {
                        "libxac", 1, 1, durable->log_mib, metrics[metric].name, metrics[metric].unit
                };
                csv_rows(&durable->csv, &series, &experiment.samples[metric]);
                samples_free(&experiment.samples[metric]);
        }
        munmap(experiment.progress, sizeof(*experiment.progress));
        return missed;
}
