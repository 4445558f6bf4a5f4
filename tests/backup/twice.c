/* SPDX-License-Identifier: MIT */

/*
 * A backup during which every page changes twice. A process commits durably, some pages at a time, in an order by
 * chance, each page once and then once more; the backup is held up so that it has copied as large a share of the pages
 * as the process has changed. What that holds back may make the pool and the double-write buffers larger, never the
 * log: how large they become is noted, and compared with the ceilings that are promised (docs/DESIGN.md, "Checkpoints
 * in batches"). The backup must be a prefix of the commits, and the environment have all of them.
 *
 *      twice [--mib N] [--log-mib N] [--seed N]
 */

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        PAGE_BYTES = 4096,
        WORDS = PAGE_BYTES / 8,
        PAGES_OF_A_COMMIT = 64,
        PASSES = 2,
        LOOK_MS = 20,
        BUFFER_MIB = 4,
        LOG_OVERDUE = 4, /* times log_bytes: then commits wait for a checkpoint */
        MIB = 1 << 20
};

static struct {
        uint64_t mib, log_mib;
} options = { 24, 2 };

static struct shared {
        _Atomic uint64_t commits; /* that the writer was told of */
        _Atomic bool has_begun;   /* the backup has its snapshot */
} * shared;

/* The most that was seen. */
static struct {
        uint64_t log, buffer, pool;
} most;

static uint32_t *order; /* of the pages, the same in both passes */

static uint64_t pages(void)
{
        return options.mib * MIB / PAGE_BYTES;
}

static uint64_t commits_of_a_pass(void)
{
        return pages() / PAGES_OF_A_COMMIT;
}

static void draw_order(void)
{
        struct chance chance = { chance_seed() };

        order = calloc(pages(), sizeof(*order));
        check(order != NULL);
        for (uint32_t i = 0; i < pages(); i++) {
                uint32_t other = (uint32_t)chance_below(&chance, i + 1);

                order[i] = order[other];
                order[other] = i;
        }
}

/* ---- The environment ---- */

static uint64_t *open_words(const char *name, xac_env **env)
{
        const xac_options opening = { .log_bytes = options.log_mib * MIB, .area_bytes = (uint64_t)BUFFER_MIB * MIB };

        check_ok(xac_open(scratch_path(name), XAC_CREATE, &opening, env));
        uint64_t *words = xac_mmap(*env, "words", options.mib * MIB, 0);
        check(words != MAP_FAILED);
        return words;
}

/* Each word of a page follows from its number and from how often it has been changed. */
static uint64_t value_of(uint64_t page, uint64_t word, uint64_t changes)
{
        return chance_mix(page * WORDS + word) + changes;
}

/* `numbers` NULL: pages `first` and up. */
static void commit_pages(xac_env *env, uint64_t *words, uint64_t first, const uint32_t *numbers, uint64_t changes)
{
        check_ok(xbegin(env, 0));
        for (uint64_t i = 0; i < PAGES_OF_A_COMMIT; i++) {
                const uint64_t page = numbers ? numbers[first + i] : first + i;

                uint64_t *bytes = xac_page_write(env, words + page * WORDS);

                check(bytes != NULL);
                for (uint64_t k = 0; k < WORDS; k++)
                        bytes[k] = value_of(page, k, changes);
        }
        check_ok(xend(env));
}

static void fill(int unused, void *arg)
{
        xac_env *env;
        uint64_t *words = open_words("env", &env);

        (void)unused, (void)arg;
        for (uint64_t first = 0; first < pages(); first += PAGES_OF_A_COMMIT)
                commit_pages(env, words, first, NULL, 0);
        check_ok(xac_close(env));
}

/* ---- The writer ---- */

static void write_twice(int unused, void *arg)
{
        xac_env *env;
        uint64_t *words = open_words("env", &env);

        (void)unused, (void)arg;
        while (!atomic_load(&shared->has_begun))
                crew_sleep_ms(1);
        for (uint64_t i = 0; i < PASSES * commits_of_a_pass(); i++) {
                const uint64_t in_pass = i % commits_of_a_pass();

                commit_pages(env, words, in_pass * PAGES_OF_A_COMMIT, order, 1 + i / commits_of_a_pass());
                atomic_store(&shared->commits, i + 1);
        }
        check_ok(xac_close(env));
}

/* ---- The backup ---- */

static uint64_t bytes_of(const char *name)
{
        const long long size = scratch_file_size(scratch_path(name));

        return size > 0 ? (uint64_t)size : 0;
}

static void keep_most(uint64_t *so_far, uint64_t now)
{
        *so_far = now > *so_far ? now : *so_far;
}

static void look(xac_env *env)
{
        xac_stats stats;

        check_ok(xac_stat(env, &stats));
        keep_most(&most.pool, stats.pool_bytes_used);
        keep_most(&most.log, stats.log_bytes_used);
        keep_most(&most.buffer, bytes_of("env/xac.area.0") + bytes_of("env/xac.area.1"));
}

/* Until the writer has changed twice as large a share of the pages as has been copied. */
static int hold_up(void *env, const char *what, uint64_t done, uint64_t total)
{
        const uint64_t all = PASSES * commits_of_a_pass();
        const uint64_t wanted = what[0] != 'b' ? all : all * done / total;

        atomic_store(&shared->has_begun, true);
        while (atomic_load(&shared->commits) < wanted) {
                look(env);
                crew_sleep_ms(LOOK_MS);
        }
        return 0;
}

static void back_up(int unused, void *arg)
{
        static xac_backup_result result;
        xac_env *env;

        (void)unused, (void)arg;
        (void)open_words("env", &env);
        const xac_backup_options wanted = {
                .bytes_per_second = UINT64_MAX, .progress = hold_up, .progress_arg = env, .result = &result
        };
        if (xac_backup(env, scratch_path("backup"), &wanted))
                check_failed(__FILE__, __LINE__, "%s", result.problem);
        check_equal(atomic_load(&shared->commits), PASSES * commits_of_a_pass());
        printf("at most: %" PRIu64 " MiB of versions in the pool, %" PRIu64
               " MiB of log to replay, both buffers %" PRIu64 " MiB, for %" PRIu64 " MiB that changed twice\n",
               most.pool / MIB, most.log / MIB, most.buffer / MIB, options.mib);
        fflush(stdout);
        check(most.pool >= options.mib * MIB); /* or the pages have not changed while the backup was there */
        check(most.log <= (LOG_OVERDUE + 1) * options.log_mib * MIB);
        check(most.buffer <= 2 * (2 * options.mib + BUFFER_MIB) * MIB);
        check_ok(xac_close(env));
}

/* ---- What must be there ---- */

static uint64_t changes_of(const uint64_t *words, uint64_t page)
{
        const uint64_t changes = words[page * WORDS] - value_of(page, 0, 0);

        for (uint64_t i = 1; i < WORDS; i++)
                check_equal(words[page * WORDS + i], value_of(page, i, changes));
        return changes;
}

/* The first commits, all of them and no other: how many. */
static uint64_t prefix_of(const uint64_t *words)
{
        uint64_t commits = 0;

        for (uint64_t i = 0; i < pages(); i++)
                commits += changes_of(words, i);
        check_equal(commits % PAGES_OF_A_COMMIT, 0);
        commits /= PAGES_OF_A_COMMIT;
        for (uint64_t i = 0; i < pages(); i++) {
                const uint64_t in_pass = i / PAGES_OF_A_COMMIT;
                const uint64_t expected = commits / commits_of_a_pass() + (in_pass < commits % commits_of_a_pass());

                check_equal(changes_of(words, order[i]), expected);
        }
        return commits;
}

static void read_all(int is_backup, void *arg)
{
        xac_env *env;
        const uint64_t *words = open_words(is_backup ? "backup" : "env", &env);

        (void)arg;
        check_ok(xbegin(env, XAC_RDONLY));
        const uint64_t commits = prefix_of(words);
        check_ok(xend(env));
        check_ok(xac_close(env));
        printf("%s: as of commit %" PRIu64 " of %" PRIu64 "\n", is_backup ? "the backup" : "the environment", commits,
               PASSES * commits_of_a_pass());
        fflush(stdout);
        check(is_backup ? commits <= commits_of_a_pass() / 10 : commits == PASSES * commits_of_a_pass());
}

static void run(int unused, void *arg)
{
        (void)unused, (void)arg;
        draw_order();
        shared = crew_shared(sizeof(*shared));
        crew_join(crew_fork(fill, 0, NULL));
        pid_t writer = crew_fork(write_twice, 0, NULL);
        pid_t backup = crew_fork(back_up, 0, NULL);
        crew_join(backup);
        crew_join(writer);
        crew_join(crew_fork(read_all, true, NULL));
        crew_join(crew_fork(read_all, false, NULL));
        free(order);
}

int main(int argc, char **argv)
{
        const struct program_option known[] = {
                { .name = "mib", .number = &options.mib },
                { .name = "log-mib", .number = &options.log_mib },
                { .name = NULL },
        };

        program_options(argc, argv, known);
        program_begin(false);
        return program_run(run, NULL);
}
