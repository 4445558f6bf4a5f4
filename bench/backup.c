/* SPDX-License-Identifier: MIT */

/*
 * What a backup costs the writers beside it. Several processes commit durably, each a word in a random page at a time;
 * phases without a backup and phases in which one backup follows the other, by a process of its own, alternate. The
 * figure is the ratio of the medians, and how fast the backups were.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { WRITERS_MAX = 64, SLICES = 10, BACKUPS_MAX = 1000 };

static const double SHARE_LIMIT = 0.85;

enum { ALONE, BESIDE, PHASES };
static const char *const phase_name[PHASES] = { "alone", "beside_backup" };

static struct common {
        _Atomic bool has_ended;
        _Atomic uint64_t commits[WRITERS_MAX][8]; /* a cache line each */
        _Atomic uint64_t backups;                 /* that are complete */
        _Atomic uint64_t pages;                   /* copied, or read back */
} * common;

struct experiment {
        uint64_t seconds, rounds, pages, writers, rate;
        struct samples commits[PHASES]; /* per second */
        struct samples speed;           /* of backups: bytes per second, copied or read back */
        struct scratch scratch;
};

/* ---- processes ---- */

static pid_t start(void (*body)(struct experiment *, uint64_t), struct experiment *experiment, uint64_t number)
{
        pid_t pid = fork();

        if (pid < 0)
                scratch_fail(-errno, "fork");
        if (pid)
                return pid;
        body(experiment, number);
        _exit(EXIT_SUCCESS);
}

static void await(pid_t pid, bool is_killed)
{
        int status;

        if (waitpid(pid, &status, 0) != pid || (status != 0 && !is_killed))
                scratch_fail(-ECHILD, "a process");
}

static void write_on(struct experiment *experiment, uint64_t number)
{
        struct scratch *scratch = &experiment->scratch;
        uint64_t random = 88172645463325252u + number;

        scratch_open(scratch, 0);
        while (!atomic_load(&common->has_ended)) {
                int err;

                do {
                        xbegin(scratch->env, 0);
                        uint64_t page = (measure_random(&random) >> 16) % scratch->pages;
                        uint64_t *word = xac_page_write(scratch->env, scratch_page(scratch, page));
                        if (word)
                                *word = random;
                        err = xend(scratch->env);
                } while (err == XAC_CONFLICT);
                must(err, "xend");
                atomic_fetch_add(&common->commits[number][0], 1);
        }
        scratch_close(scratch);
}

static void backup_name(const struct experiment *experiment, uint64_t number, char name[SCRATCH_PATH + 32])
{
        snprintf(name, SCRATCH_PATH + 32, "%s-backup-%" PRIu64, experiment->scratch.directory, number);
}

static int count_pages(void *last, const char *what, uint64_t done, uint64_t total)
{
        uint64_t *before = last;

        (void)what, (void)total;
        if (done > *before)
                atomic_fetch_add(&common->pages, done - *before);
        *before = done;
        return 0;
}

/* Until it is killed. */
static void back_up_on(struct experiment *experiment, uint64_t unused)
{
        struct scratch *scratch = &experiment->scratch;
        char name[SCRATCH_PATH + 32];

        (void)unused;
        scratch_open(scratch, 0);
        for (;;) {
                uint64_t last = 0;
                const xac_backup_options options = { .bytes_per_second = experiment->rate,
                                                     .progress = count_pages,
                                                     .progress_arg = &last };

                backup_name(experiment, atomic_load(&common->backups), name);
                must(xac_backup(scratch->env, name, &options), "xac_backup");
                atomic_fetch_add(&common->backups, 1);
        }
}

/* Of all backups, and of the one that was cut short. */
static void remove_backups(const struct experiment *experiment)
{
        char command[2 * SCRATCH_PATH + 64];
        const char *slash = strrchr(experiment->scratch.directory, '/');

        snprintf(command, sizeof(command), "rm -rf %s-backup-* %.*s/.%s-backup-*", experiment->scratch.directory,
                 (int)(slash - experiment->scratch.directory), experiment->scratch.directory, slash + 1);
        if (system(command) != 0)
                scratch_fail(-EIO, "rm");
        atomic_store(&common->backups, 0);
}

/* ---- measuring ---- */

static uint64_t count_commits(void)
{
        uint64_t sum = 0;

        for (int i = 0; i < WRITERS_MAX; i++)
                sum += atomic_load(&common->commits[i][0]);
        return sum;
}

static void measure_phase(struct experiment *experiment, int phase)
{
        pid_t backup = phase == BESIDE ? start(back_up_on, experiment, 0) : 0;

        usleep(200000); /* it has begun */
        const uint64_t phase_ns = measure_now_ns(), pages = atomic_load(&common->pages);
        for (int i = 0; i < SLICES; i++) {
                const uint64_t begun_ns = measure_now_ns(), begun = count_commits();

                usleep((useconds_t)(experiment->seconds * 1000000 / SLICES));
                samples_add(&experiment->commits[phase],
                            (double)(count_commits() - begun) * 1e9 / (double)(measure_now_ns() - begun_ns));
        }
        if (!backup)
                return;
        samples_add(&experiment->speed, (double)(atomic_load(&common->pages) - pages) * SCRATCH_PAGE * 1e9 /
                                                (double)(measure_now_ns() - phase_ns));
        kill(backup, SIGKILL);
        await(backup, true);
        remove_backups(experiment);
        usleep(500000);
}

static void measure(struct experiment *experiment)
{
        pid_t writers[WRITERS_MAX] = { 0 };

        scratch_make(&experiment->scratch, experiment->pages);
        experiment->scratch.is_durable = true;
        scratch_open(&experiment->scratch, 0);
        scratch_fill(&experiment->scratch);
        must(xac_checkpoint(experiment->scratch.env), "xac_checkpoint");
        scratch_close(&experiment->scratch);
        for (uint64_t i = 0; i < experiment->writers; i++)
                writers[i] = start(write_on, experiment, i);
        sleep(1); /* warms up */
        for (uint64_t round = 0; round < experiment->rounds; round++)
                for (int phase = 0; phase < PHASES; phase++)
                        measure_phase(experiment, phase);
        atomic_store(&common->has_ended, true);
        for (uint64_t i = 0; i < experiment->writers; i++)
                await(writers[i], false);
        scratch_remove(&experiment->scratch);
}

/* ---- results ---- */

static int print_results(const struct experiment *experiment)
{
        printf("\n%" PRIu64 " durable writers over %" PRIu64 " pages; %" PRIu64 " phases of %" PRIu64
               " s of each kind, in turn\n\n",
               experiment->writers, experiment->pages, experiment->rounds, experiment->seconds);
        printf("%-15s %14s %14s %14s\n", "phase", "commits/s", "min", "max");
        for (int phase = 0; phase < PHASES; phase++)
                printf("%-15s %14.0f %14.0f %14.0f\n", phase_name[phase], samples_median(&experiment->commits[phase]),
                       samples_min(&experiment->commits[phase]), samples_max(&experiment->commits[phase]));
        printf("\nbackups: %.0f MB/s, copied or read back\n\n", samples_median(&experiment->speed) / 1e6);
        return scratch_verdict_least("writers beside a backup, of alone",
                                     samples_median(&experiment->commits[BESIDE]) /
                                             samples_median(&experiment->commits[ALONE]),
                                     SHARE_LIMIT, "times");
}

static void write_csv(const struct experiment *experiment, const char *path)
{
        struct csv csv;

        csv_open(&csv, path, "backup");
        for (int phase = 0; phase < PHASES; phase++) {
                struct csv_series series = { "libxac",         (int)experiment->writers, 1,
                                             experiment->rate, phase_name[phase],        "transactions_per_second" };
                csv_rows(&csv, &series, &experiment->commits[phase]);
        }
        struct csv_series series = { "libxac", 1, 1, experiment->rate, "backup", "bytes_per_second" };
        csv_rows(&csv, &series, &experiment->speed);
        csv_close(&csv);
}

int main(int argc, char **argv)
{
        struct experiment experiment = { .seconds = 4, .rounds = 5, .pages = 65536, .writers = 4 };
        const char *csv_path = "backup.csv";
        bool check = false;
        const struct option_spec options[] = {
                OPTION_NUMBER("seconds", experiment.seconds, "seconds of a phase"),
                OPTION_NUMBER("rounds", experiment.rounds, "phases of each kind"),
                OPTION_NUMBER("pages", experiment.pages, "pages of the file"),
                OPTION_NUMBER("writers", experiment.writers, "processes that commit"),
                OPTION_NUMBER("rate", experiment.rate, "bytes that a backup reads in a second at most; 0: no limit"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("check", check, "exit status 1 if writers slow down too much"),
                OPTION_END,
        };
        options_parse(argc, argv, "Durable writers with and without backups beside them.", options);
        if (experiment.writers < 1 || experiment.writers > WRITERS_MAX)
                options_refuse("--writers: 1 to 64", "");

        common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (common == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        measure(&experiment);
        int exceeded = print_results(&experiment);
        write_csv(&experiment, csv_path);
        return check && exceeded ? EXIT_FAILURE : EXIT_SUCCESS;
}
