/* SPDX-License-Identifier: MIT */

/*
 * The shared memory without processes: everybody was killed, or the directory was copied.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

/* Of an environment in which nothing was committed yet. */
static uint64_t first_sequence;

static long long sequence_now(uint64_t unused)
{
        (void)unused;
        return (long long)seat_stat(sequence);
}

static struct actor *killed_after(int way, int commits, int inside)
{
        struct actor *victim = actor_start(WAY_PROCESS);

        actor_do(victim, seat_take, (uint64_t)way);
        if (first_sequence == 0)
                first_sequence = (uint64_t)actor_do(victim, sequence_now, 0);
        for (int i = 0; i < commits; i++)
                actor_do(victim, seat_commit_add, seat_word(i % SEAT_PAGES, 2));
        if (inside) {
                actor_do(victim, seat_begin, 0);
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        actor_do(victim, seat_add, seat_word(page, 2));
        }
        return victim;
}

static void the_next_opener_finds_everything_committed(int way)
{
        actor_kill(killed_after(way, 3 * SEAT_PAGES, 0));
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        seat_take((uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 2)), 3);
        check_equal(seat_stat(sequence) - first_sequence, 3 * SEAT_PAGES);
        check_equal(seat_commit_add(seat_word(0, 2)), 4);
        seat_leave(0);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(seat_word(0, 2)), 4);
        check_equal(seat_commit_get(seat_word(SEAT_PAGES - 1, 2)), 3);
        seat_leave(0);
}

static void and_nothing_that_was_not(int way)
{
        struct actor *first = killed_after(way, SEAT_PAGES, 1);
        struct actor *second = killed_after(way, SEAT_PAGES, 1);

        actor_kill(first);
        actor_kill(second);
        seat_take((uint64_t)way);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 2)), 2);
        seat_leave(0);
}

/* Again and again, without anybody closing it properly. */
static void generations_of_the_killed_add_up(int way)
{
        for (int i = 0; i < 10; i++)
                actor_kill(killed_after(way, SEAT_PAGES, i % 2));
        seat_take((uint64_t)way);
        check_equal(seat_stat(sequence) - first_sequence, 10 * SEAT_PAGES);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 2)), 10);
        seat_leave(0);
}

/* Killed without warning in the middle of commits, checkpoints and growth. */
static void work_without_end(int index, void *acknowledged_)
{
        uint64_t *acknowledged = acknowledged_;
        uint64_t i = 0;

        seat_take(index % 2 ? WAY_DECLARED : 0);
        for (;; i++) {
                uint64_t value = (uint64_t)seat_commit_add(seat_word(index, 2));

                __atomic_store_n(&acknowledged[index], value, __ATOMIC_SEQ_CST);
                if (i % 50 == 49)
                        check_ok(xac_checkpoint(seat.env));
                if (i % 70 == 69)
                        check(xac_mmap(seat.env, "words", (SEAT_PAGES + i) * 4096, 0) == seat.words);
        }
}

static void acknowledged_commits_survive_sigkill(void)
{
        enum { WORKERS = 3 };
        uint64_t *acknowledged = crew_shared(WORKERS * sizeof(uint64_t));
        struct chance chance = { chance_seed() };
        pid_t pids[WORKERS];

        for (int round = 0; round < 6; round++) {
                for (int i = 0; i < WORKERS; i++)
                        pids[i] = crew_fork(work_without_end, i, acknowledged);
                crew_sleep_ms(30 + (unsigned)chance_below(&chance, 30));
                for (int i = 0; i < WORKERS; i++)
                        crew_kill(pids[i]);
                if (round % 2 == 0)
                        continue; /* the next workers attach */
                seat_take(0);
                for (int i = 0; i < WORKERS; i++) {
                        uint64_t value = (uint64_t)seat_commit_get(seat_word(i, 2));

                        check(value >= acknowledged[i] && value <= acknowledged[i] + 2);
                        acknowledged[i] = value;
                }
                seat_leave(0);
        }
}

/* Killed while they open, create, map and close for the first time. */
static void open_add_close_forever(int index, void *acknowledged_)
{
        uint64_t *acknowledged = acknowledged_;

        for (;;) {
                uint64_t value;

                seat_take(index % 2 ? WAY_DECLARED : 0);
                value = (uint64_t)seat_commit_add(seat_word(index, 2));
                __atomic_store_n(&acknowledged[index], value, __ATOMIC_SEQ_CST);
                seat_leave(0);
        }
}

static void killing_openers_and_closers_loses_nothing(void)
{
        enum { WORKERS = 3, ROUNDS = 60 };
        uint64_t *acknowledged = crew_shared(WORKERS * sizeof(uint64_t));
        struct chance chance = { chance_seed() };
        pid_t pids[WORKERS];

        for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < WORKERS; i++)
                        pids[i] = crew_fork(open_add_close_forever, i, acknowledged);
                for (int i = 0; i < WORKERS; i++) {
                        const struct timespec pause = { .tv_nsec = (long)chance_below(&chance, 4000000) };

                        nanosleep(&pause, NULL);
                        crew_kill(pids[i]);
                }
                if (round % 4 == 1)
                        continue;
                seat_take(0);
                for (int i = 0; i < WORKERS; i++) {
                        uint64_t value = (uint64_t)seat_commit_get(seat_word(i, 2));

                        /* Each killed one may have committed once more than it said. */
                        check(value >= acknowledged[i] && value <= acknowledged[i] + 2);
                        acknowledged[i] = value;
                }
                seat_leave(0);
        }
}

static void copy_file(const char *from, const char *to)
{
        long long size = scratch_file_size(from);
        char *bytes = malloc((size_t)size + 1);

        check(size >= 0 && bytes != NULL);
        scratch_read_file(from, bytes, (size_t)size);
        scratch_write_file(to, bytes, (size_t)size);
        free(bytes);
}

static void copy_directory(const char *from, const char *to)
{
        DIR *all = opendir(scratch_path(from));
        struct dirent *entry;
        char name[600];

        check(all != NULL);
        check_equal(mkdir(scratch_path(to), 0700), 0);
        while ((entry = readdir(all)) != NULL) {
                char source[600];

                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
                snprintf(name, sizeof(name), "%s/%s", to, entry->d_name);
                copy_file(scratch_path(source), scratch_path(name));
        }
        closedir(all);
}

/* Shared memory is tied to the directory: a copy is an environment of its own. */
static void a_copy_of_a_closed_directory_opens(void)
{
        xac_env *copy;
        uint64_t *words;

        seat_take(0);
        seat_commit_add(0);
        seat_leave(0);
        copy_directory("env", "copy");
        seat_take(0);
        check_ok(xac_open(scratch_path("copy"), XAC_VOLATILE, NULL, &copy));
        check(copy != seat.env);
        words = xac_mmap(copy, "words", 0, XAC_ANYWHERE);
        check(words != MAP_FAILED);
        check_equal(seat_commit_add(0), 2);
        check_ok(xbegin(copy, 0));
        check_equal(words[0], 1);
        words[0] = 10;
        check_ok(xend(copy));
        check_equal(seat_commit_get(0), 2);
        check_ok(xac_close(copy));
        seat_leave(0);
}

/* A new directory under the old name is another environment, also when the old one's shared
 * memory was left by the killed. */
static void a_renamed_directory_keeps_its_shared_memory(void)
{
        actor_kill(killed_after(0, 5, 0));
        check_equal(rename(scratch_path("env"), scratch_path("moved")), 0);
        seat_take(0);
        check_equal(seat_commit_get(seat_word(0, 2)), 0);
        seat_leave(0);
        check_equal(rename(scratch_path("env"), scratch_path("new")), 0);
        check_equal(rename(scratch_path("moved"), scratch_path("env")), 0);
        seat_take(0);
        check_equal(seat_commit_get(seat_word(0, 2)), 1);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(the_next_opener_finds_everything_committed),
                isolated_by_access(and_nothing_that_was_not),
                isolated_by_access(generations_of_the_killed_add_up),
                isolated_test(acknowledged_commits_survive_sigkill),
                isolated_test(killing_openers_and_closers_loses_nothing),
                isolated_test(a_copy_of_a_closed_directory_opens),
                isolated_test(a_renamed_directory_keeps_its_shared_memory),
        };
        return cmocka_run_group_tests_name("attach", tests, NULL, NULL);
}
