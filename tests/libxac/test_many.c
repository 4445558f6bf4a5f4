/* SPDX-License-Identifier: MIT */

/*
 * Many files, threads and processes; and the codes at the ends of the tables.
 */

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { FILES = 64 };

static xac_env *seat_of_all;

static uint64_t *file_map(xac_env *env, int number, size_t length)
{
        char name[32];

        snprintf(name, sizeof(name), "file-%d", number);
        return xac_mmap(env, name, length, 0);
}

static void sixty_four_files_in_one_transaction(void)
{
        uint64_t *file[FILES];
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        for (int i = 0; i < FILES; i++) {
                file[i] = file_map(env, i, 8192);
                check(file[i] != MAP_FAILED);
        }
        run_until_committed(env, 0) for (int i = 0; i < FILES; i++)
        {
                file[i][i] = (uint64_t)i + 1;
                *(uint64_t *)xac_page_write(env, file[i] + 600) = (uint64_t)i + 2;
        }
        check_map_fails(file_map(env, FILES, 4096), EMFILE);
        check_map_fails(file_map(env, FILES, 4096), EMFILE);
        check(file_map(env, 3, 8192) == file[3]);
        check_ok(xac_close(env));
        check_equal(scratch_file_size(scratch_path("env/file-64")), -ENOENT);

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        for (int i = FILES - 1; i >= 0; i--)
                file[i] = file_map(env, i, 0);
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < FILES; i++)
                check_equal(file[i][i] + file[i][600], 2 * i + 3);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* Different processes map different files at the same time. */
static void map_some(int index, void *unused)
{
        xac_env *env;
        uint64_t *words;

        (void)unused;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        for (int i = 0; i < 24; i++) {
                words = file_map(env, (i * 5 + index * 11) % 40, 4096 * (size_t)(1 + (i + index) % 3));
                check(words != MAP_FAILED);
                run_until_committed(env, 0) words[0]++;
        }
        check_ok(xac_close(env));
}

static void processes_may_create_files_at_once(void)
{
        uint64_t total = 0;
        xac_env *env;

        crew_processes(4, map_some, NULL);
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        for (int i = 0; i < 40; i++) {
                uint64_t *words = file_map(env, i, 4096);

                check_ok(xbegin(env, XAC_RDONLY));
                total += words[0];
                check_ok(xend(env));
        }
        check_equal(total, 4 * 24);
        check_ok(xac_close(env));
}

/* Threads that stay, more than there are processors. */
struct crowd {
        struct crew_barrier barrier;
        int size;
        _Atomic int refused;
        _Atomic int served;
};

static void crowd_member(int index, void *crowd_)
{
        struct crowd *crowd = crowd_;

        seat_take(index % 4 == 0 ? 0 : WAY_DECLARED);
        for (int i = 0; i < 10; i++)
                seat_commit_add(seat_word(index % SEAT_PAGES, 0));
        crew_barrier_wait(&crowd->barrier, (uint32_t)crowd->size);
        check_equal(seat_stat(participants), crowd->size);
        crew_barrier_wait(&crowd->barrier, (uint32_t)crowd->size);
        seat_leave(0);
}

static void a_crowd_of_threads_works(void)
{
        struct crowd *crowd = crew_shared(sizeof(*crowd));
        uint64_t total = 0;

        crowd->size = 200;
        crew_threads(crowd->size, crowd_member, crowd);
        seat_take(0);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                total += (uint64_t)seat_commit_get(seat_word(page, 0));
        check_equal(total, 2000);
        seat_leave(0);
}

static void a_crowd_of_processes_works(void)
{
        struct crowd *crowd = crew_shared(sizeof(*crowd));

        crowd->size = 24;
        crew_processes(crowd->size, crowd_member, crowd);
        seat_take(0);
        check_equal(seat_commit_get(seat_word(5, 0)), 10);
        seat_leave(0);
}

/* More threads than there are rows: the last ones are told, and it passes. */
enum { ROWS = 1024, TOO_MANY = ROWS + 76 };

static void one_of_too_many(int index, void *crowd_)
{
        struct crowd *crowd = crowd_;
        int code = xbegin(seat_of_all, 0);

        (void)index;
        check(code == 0 || code == XAC_LIMIT);
        atomic_fetch_add(code == 0 ? &crowd->served : &crowd->refused, 1);
        crew_barrier_wait(&crowd->barrier, TOO_MANY);
        if (code == 0)
                check_ok(xabort(seat_of_all));
        else
                check_map_fails(xac_mmap(seat_of_all, "words", 4096, 0), EMFILE);
        crew_barrier_wait(&crowd->barrier, TOO_MANY);
}

static void too_many_participants_are_xac_busy(void)
{
        const xac_options options = { .max_participants = ROWS };
        struct crowd *crowd = crew_shared(sizeof(*crowd));
        uint64_t *words;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), &options, &seat_of_all));
        words = xac_mmap(seat_of_all, "words", 4096, 0);
        check(words != MAP_FAILED);
        for (int round = 0; round < 2; round++) {
                atomic_store(&crowd->served, 0);
                atomic_store(&crowd->refused, 0);
                crew_threads(TOO_MANY, one_of_too_many, crowd);
                /* This thread has one row as well. */
                check(atomic_load(&crowd->served) >= ROWS - 1);
                check(atomic_load(&crowd->refused) > 0);
                run_until_committed(seat_of_all, 0) words[0]++;
        }
        check_ok(xac_close(seat_of_all));
}

/* Rows of the killed are taken back when they are needed. */
static void one_to_be_killed(int index, void *turn)
{
        (void)index;
        seat_take(WAY_DECLARED);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        crew_turn_pass(turn);
        for (;;)
                crew_sleep_ms(1000);
}

static void rows_of_the_killed_are_taken_back(void)
{
        const xac_options options = { .max_participants = 8 };
        struct crew_turn *turn = crew_shared(sizeof(*turn));
        xac_env *env;

        /* Somebody holds it open throughout: it is never made anew. */
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), &options, &env));
        for (uint32_t i = 0; i < 300; i++) {
                pid_t pid = crew_fork(one_to_be_killed, 0, turn);

                crew_turn_await(turn, i + 1);
                crew_kill(pid);
        }
        seat_take(WAY_DECLARED);
        check_equal(seat_commit_add(0), 1);
        seat_leave(0);
        check_ok(xac_close(env));
}

/*
 * The kernel gives a process 65,530 mappings: every second page written needs two each. The
 * view must do with less (P7).
 */

enum { SCATTERED = 36000 };

static size_t scattered_word(unsigned i)
{
        return seat_word(2 * (size_t)i, i % 512);
}

static void scattered_write(uint64_t value)
{
        for (unsigned i = 0; i < SCATTERED; i++)
                seat_put(scattered_word(i), value + i);
}

static void scattered_check(uint64_t value)
{
        for (unsigned i = 0; i < SCATTERED; i++)
                check_equal(seat_get(scattered_word(i)), value == 0 ? 0 : value + i);
}

static void more_pages_than_mappings_are_written(int way)
{
        const xac_options options = { .pool_bytes = (uint64_t)SCATTERED * 3 * 4096 };

        if (scratch_shared_memory_free() < 3 * options.pool_bytes)
                isolate_skip("too little shared memory");
        seat.way = way;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(way), &options, &seat.env));
        seat.words = xac_mmap(seat.env, "words", 2 * (size_t)SCATTERED * 4096, 0);
        check(seat.words != MAP_FAILED);
        check_ok(xbegin(seat.env, 0));
        scattered_write(1);
        scattered_check(1);
        check_ok(xbegin(seat.env, 0));
        for (unsigned i = 0; i < SCATTERED; i += 9)
                seat_put(scattered_word(i), 7);
        check_ok(xabort(seat.env));
        scattered_check(1);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        scattered_check(1);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0));
        scattered_write(100);
        check_ok(xabort(seat.env));
        check_ok(xac_checkpoint(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        scattered_check(1);
        check_ok(xend(seat.env));
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(sixty_four_files_in_one_transaction),
                isolated_test(processes_may_create_files_at_once),
                isolated_test(a_crowd_of_threads_works),
                isolated_test(a_crowd_of_processes_works),
                isolated_test(too_many_participants_are_xac_busy),
                isolated_test(rows_of_the_killed_are_taken_back),
                isolated_way_in_memory(more_pages_than_mappings_are_written, 0, "view"),
                isolated_way_in_memory(more_pages_than_mappings_are_written, WAY_TRACK, "tracked view"),
        };
        return cmocka_run_group_tests_name("many", tests, NULL, NULL);
}
