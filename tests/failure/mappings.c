/* SPDX-License-Identifier: MIT */

/*
 * P7: kernel mappings are a budget. A view in which no two neighbours are written needs a mapping
 * for each page, and the kernel allows a process 65,530 by default (vm.max_map_count): so a view
 * must be able to forget mappings and fault them in again, also of pages that the open
 * transaction has written. Here many more pages than that are written and read, each apart
 * from the others; the real number of mappings is read from /proc/self/maps on the way.
 *
 * XAC_TEST_LONG=1 does it with 200,000 pages and more; else fewer do, yet more than fit.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <xac/xac.h>

#include "rewire/mappings.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

enum {
        PAGE_BYTES = 4096,
        APART = 2, /* every other page */
        LONG = 200000,
        QUICK = 36000, /* 72,000 mappings, would they be kept */
        SAMPLE_STEP = 1000,
        SPARE = 1000, /* ballast, tables of up to 64 views, what the C library maps meanwhile */
        SECONDS = 100,
        PROCESSES = 3,
        VIEWS = 64
};

static const uint64_t POOL_BYTES = UINT64_C(2) << 30;

static uint32_t page_count(void)
{
        return getenv("XAC_TEST_LONG") ? LONG : QUICK;
}

/* ---- Mappings ---- */

static long mappings_limit(void)
{
        FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
        long limit = 0;

        check(file != NULL && fscanf(file, "%ld", &limit) == 1);
        fclose(file);
        return limit;
}

static long count_mappings(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char text[1 << 16];
        long lines = 0;
        size_t got;

        check(maps != NULL);
        while ((got = fread(text, 1, sizeof(text), maps)) > 0)
                for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + got - at))) != NULL; at++)
                        lines++;
        fclose(maps);
        return lines;
}

/* The most there were, of all and as the library counts those of views; and what the program
 * has by itself. */
static long most_mappings, own_mappings;
static uint64_t most_counted;

/* Looks whenever the library counts clearly more than it ever did: near each peak. */
static void sample(void)
{
        uint64_t counted = mappings_in_use();
        long now;

        if (counted < most_counted + SAMPLE_STEP)
                return;
        most_counted = counted;
        now = count_mappings();
        if (now > most_mappings)
                most_mappings = now;
        check(now <= (long)counted + own_mappings + SPARE);
}

/* ---- The environment ---- */

static xac_env *env;
static uint64_t *views[VIEWS];
static uint64_t began_ns;

/* Slots, home and what is rewritten, all in shared memory. */
static void check_room(void)
{
        struct statvfs room;

        check_equal(statvfs("/dev/shm", &room), 0);
        if ((uint64_t)room.f_bavail * room.f_frsize < (uint64_t)page_count() * 6 * PAGE_BYTES)
                isolate_skip("/dev/shm is too small here");
}

static void open_env(void)
{
        const xac_options options = { .pool_bytes = POOL_BYTES };

        check_room();
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        own_mappings = count_mappings();
        began_ns = crew_clock_ns();
}

static void map_file(int i, uint32_t pages)
{
        char name[16];

        snprintf(name, sizeof(name), "file%d", i);
        views[i] = xac_mmap(env, name, (size_t)pages * APART * PAGE_BYTES, 0);
        check(views[i] != MAP_FAILED);
}

static uint64_t *word_of(int view, uint32_t i)
{
        return views[view] + (size_t)i * APART * (PAGE_BYTES / 8);
}

static uint64_t value_of(int view, uint32_t i, uint64_t round)
{
        return (round << 40) + ((uint64_t)view << 32) + i + 1;
}

static void say_how_it_went(const char *what, uint32_t pages)
{
        xac_stats stats;

        check_ok(xac_stat(env, &stats));
        dprintf(STDOUT_FILENO, "%s: %u pages in %.2f s, %ld mappings at most (of %ld), counted as %llu now\n", what,
                pages, (double)(crew_clock_ns() - began_ns) / 1e9, most_mappings, mappings_limit(),
                (unsigned long long)stats.mappings);
        check(most_mappings > 0);
        check(most_mappings <= mappings_limit() / 2 + own_mappings + SPARE); /* half is the program's */
}

/* Read through the view, in an order that is not the one they were written in. */
static void check_pages(int view, uint32_t first, uint32_t count, uint64_t round)
{
        check_ok(xbegin(env, XAC_RDONLY));
        for (uint32_t i = first + count; i-- > first;) {
                check_equal(*word_of(view, i), value_of(view, i, round));
                sample();
        }
        check_ok(xend(env));
}

static void check_plain_file(int view, uint32_t count, uint64_t round)
{
        char path[32];
        FILE *file;

        snprintf(path, sizeof(path), "env/file%d", view);
        file = fopen(scratch_path(path), "re");
        check(file != NULL);
        for (uint32_t i = 0; i < count; i++) {
                off_t at = (off_t)i * APART * PAGE_BYTES;
                uint64_t value;

                check(pread(fileno(file), &value, sizeof(value), at) == sizeof(value));
                check_equal(value, value_of(view, i, round));
        }
        fclose(file);
}

/* ---- Tests ---- */

static void write_pages(int view, uint32_t first, uint32_t count, uint64_t round)
{
        for (uint32_t i = first; i < first + count; i++) {
                *word_of(view, i) = value_of(view, i, round);
                sample();
        }
}

static void one_transaction_writes_them_all(void)
{
        uint32_t count = 2 * page_count();

        open_env();
        map_file(0, count);
        check_ok(xbegin(env, 0));
        write_pages(0, 0, count, 1);
        for (uint32_t i = 0; i < count; i += 7)
                check_equal(*word_of(0, i), value_of(0, i, 1));
        check_ok(xend(env));
        say_how_it_went("one transaction", count);
        check_pages(0, 0, count, 1);
        say_how_it_went("and read again", count);
        check_ok(xac_close(env));
        check_plain_file(0, count, 1);
}

static void many_transactions_write_them(void)
{
        const uint32_t batch = 100;
        uint32_t count = page_count();

        open_env();
        map_file(0, count);
        for (uint32_t first = 0; first < count; first += batch) {
                check_ok(xbegin(env, 0));
                write_pages(0, first, batch, 1);
                check_ok(xend(env));
                sample();
        }
        say_how_it_went("many transactions", count);
        check_pages(0, 0, count, 1);
        check_ok(xac_close(env));
        check_plain_file(0, count, 1);
}

/* Undone writes leave no mapping that shows them. */
static void an_abort_of_them_all_shows_nothing(void)
{
        uint32_t count = page_count();

        open_env();
        map_file(0, count);
        check_ok(xbegin(env, 0));
        write_pages(0, 0, count, 1);
        check_ok(xend(env));
        check_ok(xbegin(env, 0));
        write_pages(0, 0, count, 2);
        check_ok(xbegin(env, 0));
        write_pages(0, 0, count / 2, 3);
        check_ok(xabort(env));
        for (uint32_t i = 0; i < count; i += 5)
                check_equal(*word_of(0, i), value_of(0, i, 2));
        check_ok(xabort(env));
        check_pages(0, 0, count, 1);
        say_how_it_went("undone", count);
        check_ok(xac_close(env));
        check_plain_file(0, count, 1);
}

/* ---- Several processes ---- */

static struct crew_barrier *barrier;

/* Each writes its share, then all read everything, while the last rewrites what it wrote. */
static void member(int index, void *unused)
{
        uint32_t count = page_count();
        uint32_t share = count / PROCESSES;

        (void)unused;
        open_env();
        map_file(0, count);
        crew_barrier_wait(barrier, PROCESSES);
        for (int piece = 0; piece < 4; piece++) {
                int code;

                do {
                        check_ok(xbegin(env, 0));
                        write_pages(0, (uint32_t)index * share + (uint32_t)piece * (share / 4), share / 4, 1);
                        code = xend(env);
                } while (code == XAC_CONFLICT);
                check_ok(code);
        }
        crew_barrier_wait(barrier, PROCESSES);
        for (int other = 0; other < PROCESSES; other++)
                check_pages(0, (uint32_t)other * share, share / 4 * 4, 1);
        say_how_it_went("one of several processes", count);
        crew_barrier_wait(barrier, PROCESSES);
        check_ok(xac_close(env));
}

static void several_processes_do_it_at_once(void)
{
        barrier = crew_shared(sizeof(*barrier));
        crew_processes(PROCESSES, member, NULL);
}

/* ---- Many views ---- */

static void many_views_share_the_budget(void)
{
        uint32_t each = page_count() / VIEWS;

        open_env();
        for (int view = 0; view < VIEWS; view++)
                map_file(view, each);
        for (uint64_t round = 1; round <= 2; round++) {
                check_ok(xbegin(env, 0));
                for (int view = 0; view < VIEWS; view++)
                        write_pages(view, 0, each, round);
                check_ok(xend(env));
        }
        for (int view = 0; view < VIEWS; view++)
                check_pages(view, 0, each, 2);
        say_how_it_went("64 views", each * VIEWS);
        check_ok(xac_close(env));
        for (int view = 0; view < VIEWS; view++)
                check_plain_file(view, each, 2);
}

/* ---- The program uses the mappings itself ---- */

/* Takes all but `left` of the mappings the kernel allows this process: single pages, of which no
 * two neighbours can become one mapping. */
static char *take_mappings(long left, size_t *byte_len)
{
        long wanted = mappings_limit() - count_mappings() - left;
        char *area;

        *byte_len = (size_t)wanted * PAGE_BYTES;
        area = mmap(NULL, *byte_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        check(area != MAP_FAILED);
        for (long i = 1; i < wanted; i += 2)
                if (mprotect(area + i * PAGE_BYTES, PAGE_BYTES, PROT_READ))
                        break;
        return area;
}

/* With hardly any mapping left a transaction may fail, but with a code; and it passes. */
static void a_program_that_takes_them_itself_gets_codes(void)
{
        enum { PAGES = 4000 };
        int failed = 0;

        open_env();
        map_file(0, PAGES);
        check_ok(xbegin(env, 0));
        write_pages(0, 0, PAGES, 1);
        check_ok(xend(env));
        for (long left = 0; left < 64; left = left * 2 + 1) {
                size_t byte_len;
                char *area;
                int code;

                /* A view that shows nothing has nothing to give back. */
                check_ok(xac_checkpoint(env));
                check_ok(xbegin(env, 0));
                check_ok(xabort(env));
                area = take_mappings(left, &byte_len);
                code = xbegin(env, 0);

                if (!code) {
                        for (uint32_t i = 0; i < PAGES; i++)
                                *word_of(0, i) = value_of(0, i, 7);
                        code = xend(env);
                }
                failed += code != 0;
                check(code == 0 || code == -ENOMEM);
                check_equal(munmap(area, byte_len), 0);
                check_pages(0, 0, PAGES, code ? 1 : 7);
                check_ok(xbegin(env, 0));
                write_pages(0, 0, PAGES, 1);
                check_ok(xend(env));
        }
        dprintf(STDOUT_FILENO, "with few mappings left: %d of 7 transactions failed\n", failed);
        check_ok(xac_close(env));
        check_plain_file(0, PAGES, 1);
}

static _Atomic bool noise_is_over;

/* Another thread of the program, that always finds a use for a mapping that is free. */
static void *make_noise(void *arg)
{
        enum { TAKEN = 4 };
        void *taken[TAKEN];

        (void)arg;
        while (!atomic_load(&noise_is_over)) {
                for (int i = 0; i < TAKEN; i++)
                        taken[i] = mmap(NULL, PAGE_BYTES, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                                        -1, 0);
                for (int i = 0; i < TAKEN; i++)
                        if (taken[i] != MAP_FAILED)
                                munmap(taken[i], PAGE_BYTES);
        }
        return NULL;
}

/* A view that was never touched has no lists of its pages. */
static void so_does_the_first_touch_of_a_view(void)
{
        enum { ROUNDS = 8 };
        pthread_t noise;

        open_env();
        check_equal(pthread_create(&noise, NULL, make_noise, NULL), 0);
        for (int view = 0; view < ROUNDS; view++) {
                size_t byte_len;
                char *area;
                int code;

                map_file(view, 1);
                area = take_mappings(0, &byte_len);
                code = xbegin(env, 0);
                if (!code) {
                        *word_of(view, 0) = 7;
                        code = xend(env);
                }
                check(code == 0 || code == -ENOMEM);
                check_equal(munmap(area, byte_len), 0);
        }
        atomic_store(&noise_is_over, true);
        check_equal(pthread_join(noise, NULL), 0);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(one_transaction_writes_them_all, SECONDS),
                isolated_timed(many_transactions_write_them, SECONDS),
                isolated_timed(an_abort_of_them_all_shows_nothing, SECONDS),
                isolated_timed(several_processes_do_it_at_once, SECONDS),
                isolated_timed(many_views_share_the_budget, SECONDS),
                isolated_timed(a_program_that_takes_them_itself_gets_codes, SECONDS),
                isolated_timed(so_does_the_first_touch_of_a_view, SECONDS),
        };

        places_prefer_memory(); /* gigabytes, for a moment */
        return cmocka_run_group_tests_name("mappings", tests, NULL, NULL);
}
