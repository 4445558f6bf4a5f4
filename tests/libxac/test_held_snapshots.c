/* SPDX-License-Identifier: MIT */

/*
 * Many snapshots of many files, held in turn by one process or several, beside a writer, with little memory for copies.
 * Each read is what was committed at the snapshot's moment. What cannot be had is refused by a call, and never by a
 * signal.
 *
 * Each commit writes its number into the first page of each file, and into one of the others. So one number tells all
 * of what a snapshot shows.
 *
 *      test_held_snapshots                    a few, for `make check`
 *      test_held_snapshots --snapshots 100000 --held 2000 --files 64 --scan-bytes 4194304 --processes 2
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        PAGES = 4,
        PAGE_WORDS = 512,
        FILES_MAX = 64,
        NAME_BYTES = 16,
        PARTICIPANTS = 8192,
        WRITER_PAUSE_US = 300,
        POOL_BYTES = 1 << 30
};

static uint64_t snapshots = 300, held_most = 60, files = 8, scan_bytes = 1, processes = 2;

/* What all processes share. */
struct tally {
        _Atomic uint64_t opened, read, refused_opens, refused_maps, commits, full;
        _Atomic bool is_over;
};

static struct tally *tally;

struct held {
        xac_snapshot *snapshot;
        uint64_t number; /* of the commit that it shows; 0: not known yet */
        const uint64_t *words[FILES_MAX];
};

static void name_file(char name[NAME_BYTES], uint64_t file)
{
        snprintf(name, NAME_BYTES, "f%u", (unsigned)file);
}

static xac_env *open_all(uint64_t **words)
{
        const xac_options options = { .scan_bytes = scan_bytes,
                                      .max_participants = PARTICIPANTS,
                                      .pool_bytes = POOL_BYTES };
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        for (uint64_t file = 0; words && file < files; file++) {
                char name[NAME_BYTES];

                name_file(name, file);
                words[file] = xac_mmap(env, name, (size_t)PAGES * PAGE_WORDS * sizeof(uint64_t), XAC_ANYWHERE);
                check(words[file] != MAP_FAILED);
        }
        return env;
}

/* ---- The writer ---- */

static int write_next(xac_env *env, uint64_t **words)
{
        check_ok(xbegin(env, 0));
        const uint64_t next = words[0][0] + 1;
        for (uint64_t file = 0; file < files; file++) {
                words[file][0] = next;
                words[file][next % PAGES * PAGE_WORDS + 1] = next;
        }
        return xend(env);
}

static void write_until_it_is_over(xac_env *env, uint64_t **words)
{
        while (!tally->is_over) {
                const int err = write_next(env, words);

                tally->commits += !err;
                tally->full += err == XAC_FULL;
                check(!err || err == XAC_FULL || err == -ENOSPC);
                usleep(WRITER_PAUSE_US);
        }
}

/* ---- Readers ---- */

/* The newest commit up to `number` that wrote that page. */
static uint64_t expected(uint64_t number, uint64_t page)
{
        const uint64_t back = (number + PAGES - page) % PAGES;

        return number > back ? number - back : 0;
}

static void check_file(struct held *held, uint64_t file)
{
        const uint64_t *words = held->words[file];

        if (!held->number)
                held->number = words[0];
        check_equal(words[0], held->number);
        for (uint64_t page = 0; page < PAGES; page++)
                check_equal(words[page * PAGE_WORDS + 1], expected(held->number, page));
        tally->read++;
}

static void map_and_check(struct held *held, uint64_t file)
{
        char name[NAME_BYTES];

        if (!held->words[file]) {
                name_file(name, file);
                const void *words = xac_snapshot_map(held->snapshot, name, NULL);
                if (words == MAP_FAILED) {
                        check(errno == ENOMEM || errno == EMFILE);
                        tally->refused_maps++;
                        return;
                }
                held->words[file] = words;
        }
        check_file(held, file);
}

static void let_go(struct held *held)
{
        if (held->snapshot)
                check_ok(xac_snapshot_close(held->snapshot));
        *held = (struct held){ .snapshot = NULL };
}

/* One in eight maps all files, the others one or two. */
static void take(xac_env *env, struct held *held, struct chance *chance)
{
        const int err = xac_snapshot_open(env, 0, &held->snapshot);

        if (err) {
                held->snapshot = NULL;
                check(err == XAC_LIMIT || err == -ENOMEM || err == -ENOSPC || err == -EAGAIN);
                tally->refused_opens++;
                return;
        }
        tally->opened++;
        const bool is_of_all = chance_below(chance, 8) == 0;
        const uint64_t first = chance_below(chance, files);
        const uint64_t count = is_of_all ? files : 1 + chance_below(chance, 2);
        for (uint64_t i = 0; i < count; i++)
                map_and_check(held, (first + i) % files);
}

/* What was read is read again, when others have long taken its copies. */
static void read_again(struct held *held, struct chance *chance)
{
        const uint64_t file = chance_below(chance, files);

        if (held->snapshot)
                map_and_check(held, file);
}

static void read_many(int index, void *unused)
{
        struct chance chance = { chance_seed() + (uint64_t)index };
        struct held *all = calloc(held_most, sizeof(*all));
        xac_env *env = open_all(NULL);

        (void)unused;
        check(all != NULL);
        for (uint64_t i = 0; i < snapshots / processes; i++) {
                struct held *held = &all[i % held_most];

                read_again(held, &chance);
                let_go(held);
                take(env, held, &chance);
                read_again(&all[chance_below(&chance, held_most)], &chance);
        }
        for (uint64_t i = 0; i < held_most; i++)
                let_go(&all[i]);
        free(all);
        check_ok(xac_close(env));
}

static void write_all(int unused, void *unused_too)
{
        uint64_t *words[FILES_MAX];
        xac_env *env = open_all(words);

        (void)unused, (void)unused_too;
        write_until_it_is_over(env, words);
        check_ok(xac_close(env));
}

/* The readers find the files, and something in them. */
static void make_all(int unused, void *unused_too)
{
        uint64_t *words[FILES_MAX];
        xac_env *env = open_all(words);

        (void)unused, (void)unused_too;
        check_ok(write_next(env, words));
        check_ok(xac_close(env));
}

static void run_all(int unused, void *unused_too)
{
        const uint64_t begun_ns = crew_clock_ns();

        crew_join(crew_fork(make_all, unused, unused_too));
        const pid_t writer = crew_fork(write_all, 0, NULL);
        crew_processes((int)processes, read_many, NULL);
        tally->is_over = true;
        crew_join(writer);
        printf("%llu snapshots, %llu reads, %llu opens and %llu maps refused, %llu commits, %llu without room, %.1f "
               "s\n",
               (unsigned long long)tally->opened, (unsigned long long)tally->read,
               (unsigned long long)tally->refused_opens, (unsigned long long)tally->refused_maps,
               (unsigned long long)tally->commits, (unsigned long long)tally->full,
               (double)(crew_clock_ns() - begun_ns) / 1e9);
        check(tally->read >= snapshots / 2);
}

int main(int argc, char **argv)
{
        const struct program_option known[] = {
                { "snapshots", .number = &snapshots }, { "held", .number = &held_most },
                { "files", .number = &files },         { "scan-bytes", .number = &scan_bytes },
                { "processes", .number = &processes }, { .name = NULL }
        };

        program_options(argc, argv, known);
        check(files > 0 && files <= FILES_MAX && processes > 0 && held_most > 0);
        program_begin(true);
        tally = crew_shared(sizeof(*tally));
        return program_run(run_all, NULL);
}
