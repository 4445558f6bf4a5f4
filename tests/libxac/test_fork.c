/* SPDX-License-Identifier: MIT */

/*
 * P9: a child of fork has no environment until it opens one; the parent does not notice.
 */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static int never(void *unused)
{
        (void)unused;
        check(!"the body must not run");
        return 0;
}

static void child_tries_everything(int index, void *unused)
{
        xac_stats stats;

        (void)index;
        (void)unused;
        for (int i = 0; i < 2; i++) {
                check_code(xbegin(seat.env, 0), XAC_FORKED);
                check_code(xbegin(seat.env, XAC_RDONLY), XAC_FORKED);
                check_code(xend(seat.env), XAC_FORKED);
                check_code(xabort(seat.env), XAC_FORKED);
                check_code(xac_run(seat.env, 0, never, NULL), XAC_FORKED);
                check_code(xac_advise(seat.env, seat.words, 8, XAC_READ), XAC_FORKED);
                check(xac_page_read(seat.env, seat.words) == NULL);
                check(xac_page_write(seat.env, seat.words) == NULL);
                check_map_fails(xac_mmap(seat.env, "words", 4096, 0), ECHILD);
                check_map_fails(xac_mmap(seat.env, "new", 4096, 0), ECHILD);
                check_code(xac_munmap(seat.env, seat.words), XAC_FORKED);
                check_code(xac_checkpoint(seat.env), XAC_FORKED);
                check_code(xac_sync(seat.env), XAC_FORKED);
                check_code(xac_stat(seat.env, &stats), XAC_FORKED);
                check_equal(xac_self(seat.env), 0);
                check_code(xac_alive(seat.env, 1), XAC_FORKED);
                check_code(xac_close(seat.env), XAC_FORKED);
        }
        check_equal(scratch_file_size(scratch_path("env/new")), -ENOENT);
}

static void calls_in_the_child_are_xac_forked(void)
{
        seat_take(0);
        seat_commit_add(0);
        crew_join(crew_fork(child_tries_everything, 0, NULL));
        check_equal(seat_commit_add(0), 2);

        /* Also when the parent was inside a transaction, which goes on. */
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        crew_join(crew_fork(child_tries_everything, 0, NULL));
        seat_add(seat_word(1, 0));
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 3);
        check_equal(seat_commit_get(seat_word(1, 0)), 1);
        seat_leave(0);
}

static void child_looks_at_the_view(int index, void *unused)
{
        unsigned char resident[SEAT_PAGES];

        (void)index;
        (void)unused;
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check(mincore((char *)seat.words + page * 4096, 4096, &resident[page]) != 0 && errno == ENOMEM);
}

/* crash_run's child touches what the parent had mapped, read-write even. */
static void child_touches(int write, void *unused)
{
        volatile uint64_t *word = seat.words;

        (void)unused;
        if (write)
                *word = 1;
        else
                check(*word != 12345678);
}

static void views_are_unmapped_in_the_child(void)
{
        struct crash crash;

        seat_take(0);
        seat_commit_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        seat_get(seat_word(9, 0));
        crew_join(crew_fork(child_looks_at_the_view, 0, NULL));
        for (int write = 0; write < 2; write++) {
                crash_run(child_touches, write, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check(strcmp(crash.said, "libxac: access to words at offset 0x0: a view of the parent process; "
                                         "open the environment in the child\n") == 0);
        }
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

/* ---- A child that is made inside of a body ---- */

struct forking_body {
        int result;     /* what the child returns from the body */
        bool is_nested; /* in an inner one */
        bool exits;     /* its thread ends there */
        pid_t child;
};

static int fork_and_return(void *forking_)
{
        struct forking_body *forking = forking_;

        if (forking->is_nested) {
                forking->is_nested = false;
                return xac_run(seat.env, 0, fork_and_return, forking);
        }
        seat_add(0);
        forking->child = fork();
        check(forking->child >= 0);
        if (forking->child)
                return 0;
        if (forking->exits)
                pthread_exit(NULL);
        return forking->result;
}

/* In the child all that the parent has begun ends with XAC_FORKED; the parent's commit holds. */
static void run_a_body_that_forks(struct forking_body *forking)
{
        const uint64_t before = seat_commit_get(0);
        int status;
        int err = xac_run(seat.env, 0, fork_and_return, forking);

        if (!forking->child) {
                check_code(err, XAC_FORKED);
                check_code(xend(seat.env), XAC_FORKED);
                _exit(0);
        }
        check_ok(err);
        check_equal(waitpid(forking->child, &status, 0), forking->child);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check_equal(seat_commit_get(0), before + 1);
}

static void the_child_leaves_a_body(void)
{
        static const int results[] = { 0, 1, XAC_CONFLICT, -ENOENT };

        seat_take(0);
        for (size_t i = 0; i < 2 * sizeof(results) / sizeof(results[0]); i++)
                run_a_body_that_forks(&(struct forking_body){ .result = results[i / 2], .is_nested = i % 2 });
        seat_leave(0);
}

/* The child's only thread ends, and with it the child. */
static void the_childs_thread_ends_in_a_body(void)
{
        seat_take(0);
        for (int is_nested = 0; is_nested < 2; is_nested++)
                run_a_body_that_forks(&(struct forking_body){ .exits = true, .is_nested = is_nested });
        seat_leave(0);
}

/* ---- What the child is told of the parent's views ---- */

enum generation { CHILD, GRANDCHILD, CHILD_WITH_VIEWS_OF_ITS_OWN, CHILD_OF_ONE_WITH_VIEWS, GENERATIONS };

static uint64_t *parents_words;

static void touch_parents_view(int generation, void *unused)
{
        (void)unused;
        if (generation == CHILD_WITH_VIEWS_OF_ITS_OWN || generation == CHILD_OF_ONE_WITH_VIEWS) {
                /* Its own would lie there, where there is room now, but for this. */
                check_equal(setenv("XAC_ANYWHERE", "1", 1), 0);
                check(mmap(parents_words, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                      parents_words);
                seat_take(0);
                check_equal(seat_commit_get(0), 1);
                munmap(parents_words, 4096);
        }
        if (generation == GRANDCHILD || generation == CHILD_OF_ONE_WITH_VIEWS) {
                int status = crew_status(crew_fork(touch_parents_view, CHILD, NULL));

                check(WIFSIGNALED(status));
                raise(WTERMSIG(status));
        }
        ((volatile uint64_t *)parents_words)[seat_word(2, 1)] = 1;
}

static void the_child_is_told_whose_view_it_touches(void)
{
        seat_take(0);
        parents_words = seat.words;
        seat_commit_add(0);
        for (int generation = 0; generation < GENERATIONS; generation++) {
                struct crash crash;

                crash_run(touch_parents_view, generation, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check(strstr(crash.said, "libxac: access to words at offset 0x2008: a view of the parent process; "
                                         "open the environment in the child\n") != NULL);
        }
        seat_leave(0);
}

/* What the child has mapped there since is its own business: nothing is said of it. */
static void touch_own_mapping(int index, void *unused)
{
        (void)index, (void)unused;
        check(mmap(parents_words, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == parents_words);
        *(volatile uint64_t *)parents_words = 1;
}

static void nothing_is_said_of_the_childs_own_memory(void)
{
        struct crash crash;

        seat_take(0);
        parents_words = seat.words;
        crash_run(touch_own_mapping, 0, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        check_equal(crash_lines(&crash), 0);
        seat_leave(0);
}

static unsigned long address_space_pages(void)
{
        FILE *file = fopen("/proc/self/statm", "re");
        unsigned long pages;

        check(file != NULL && fscanf(file, "%lu", &pages) == 1);
        fclose(file);
        return pages;
}

/* Each opens the environment, maps, and forks the next. */
static void forking_generation(int left, void *pages_)
{
        unsigned long *pages = pages_;

        seat_take(0);
        check_equal(seat_commit_add(0), 40 - left + 1);
        pages[left] = address_space_pages();
        if (left > 0)
                crew_join(crew_fork(forking_generation, left - 1, pages));
        else
                check_equal(seat_stat(participants), 1 + 40);
        seat_leave(0);
}

/* A view reserves 16 GiB: forty of them would be 640. */
static void views_do_not_pile_up_from_child_to_child(void)
{
        unsigned long *pages = crew_shared(41 * sizeof(*pages));

        crew_join(crew_fork(forking_generation, 40, pages));
        check(pages[0] < pages[40] + 10 * (UINT64_C(16) << 30) / 4096);
}

static void child_opens_itself(int index, void *env_of_parent)
{
        xac_env *parents = env_of_parent;

        seat_take((uint64_t)index);
        check_equal(seat_commit_get(0), 1);
        check_equal(seat_commit_add(0), 2);
        check_equal(seat_commit_add(seat_word(5, 0)), 1);
        if (seat.env != parents)
                check_code(xbegin(parents, 0), XAC_FORKED);
        seat_leave(0);
}

static void the_child_may_open_it_itself(int way)
{
        seat_take((uint64_t)way);
        seat_commit_add(0);
        crew_join(crew_fork(child_opens_itself, way, seat.env));
        check_equal(seat_commit_get(0), 2);
        check_equal(seat_commit_get(seat_word(5, 0)), 1);
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        check_equal(seat_stat(participants), 1);
        seat_leave(0);
}

static void child_of_child(int index, void *env)
{
        if (index == 0)
                crew_join(crew_fork(child_of_child, 1, env));
        else if (index == 1)
                child_tries_everything(0, NULL);
        if (index == 0)
                child_opens_itself(0, env);
}

static void the_grandchild_is_forked_too(void)
{
        seat_take(0);
        seat_commit_add(0);
        crew_join(crew_fork(child_of_child, 0, seat.env));
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

static void child_exits(int index, void *unused)
{
        (void)unused;
        if (index == 1)
                raise(SIGKILL);
}

/* However the child ends, it takes nothing with it. */
static void the_parent_outlives_its_children(void)
{
        pid_t pid;
        int status;

        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        crew_join(crew_fork(child_exits, 0, NULL));
        pid = crew_fork(child_exits, 1, NULL);
        status = crew_status(pid);
        check(WIFSIGNALED(status));
        pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(1);
        }
        crew_join(pid);
        seat_add(0);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 2);
        check(scratch_shared_memory_of(scratch_path("env")) > 0);
        seat_leave(0);
}

/*
 * The child inherits the parent's descriptors; what says that the parent lives must not be
 * among them: when the parent is killed, its rows are taken back though the child lives.
 */

static void child_lingers(int index, void *turn)
{
        (void)index;
        prctl(PR_SET_PDEATHSIG, 0); /* it shall outlive its parent */
        crew_turn_pass(turn);
        crew_turn_await(turn, 2);
}

static void parent_forks_and_dies(int index, void *turn)
{
        (void)index;
        seat_take(0);
        seat_commit_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        crew_fork(child_lingers, 0, turn);
        crew_turn_await(turn, 1);
        raise(SIGKILL);
}

static void a_lingering_child_does_not_keep_a_dead_parent_alive(void)
{
        struct crew_turn *turn = crew_shared(sizeof(*turn));
        struct leeway left;

        crew_status(crew_fork(parent_forks_and_dies, 0, turn));
        seat_take(0);
        check_equal(seat_commit_get(0), 1);
        check_equal(seat_commit_add(0), 2);
        left = leeway_of(5000);
        while (seat_stat(participants) > 1) {
                seat_commit_add(1);
                check(leeway_is_left(&left));
        }
        seat_leave(0);
        check_equal(scratch_shared_memory_of(scratch_path("env")), 0);
        crew_turn_pass(turn);
}

/* AddressSanitizer's allocator does not mind fork() (gcc 12): a lock of it that another thread held stays locked in the
 * child for ever. So nobody forks before the busy threads have allocated what they need; those that the library has for
 * itself, in durable environments, cannot be waited for. */
static void skip_where_the_allocator_hangs(void)
{
#if defined(__SANITIZE_ADDRESS__)
        if (seat_is_durable())
                isolate_skip("AddressSanitizer's allocator may hang after fork()");
#endif
}

/* Forks while other threads are in the middle of things. */
struct forking {
        _Atomic int busy; /* threads that have begun */
        _Atomic int is_over;
};

enum { FORKING_THREADS = 3 }; /* the first forks, the others are busy */

static void await_busy_threads(struct forking *forking)
{
        while (forking->busy < FORKING_THREADS - 1)
                crew_sleep_ms(1);
}

static void busy_or_forking(int index, void *forking_)
{
        struct forking *forking = forking_;

        if (index > 0) {
                seat_take(index == 1 ? 0 : WAY_DECLARED);
                seat_commit_add(seat_word(index, 0));
                forking->busy++;
                while (!forking->is_over)
                        seat_commit_add(seat_word(index, 0));
                seat_leave(0);
                return;
        }
        seat_take(0);
        await_busy_threads(forking);
        for (int i = 0; i < 20; i++) {
                seat_commit_add(0);
                crew_join(crew_fork(child_tries_everything, 0, NULL));
        }
        forking->is_over = 1;
        check_equal(seat_commit_get(0), 20);
        seat_leave(0);
}

static void forking_under_busy_threads_is_safe(void)
{
        struct forking *forking = crew_shared(sizeof(*forking));

        skip_where_the_allocator_hangs();
        crew_threads(FORKING_THREADS, busy_or_forking, forking);
}

static void child_opens_while_the_parent_works(int index, void *unused)
{
        (void)unused;
        for (int i = 0; i < 10; i++) {
                seat_take(index % 2 ? WAY_DECLARED : 0);
                seat_commit_add(seat_word(30, 0));
                seat_leave(0);
        }
}

static void busy_or_forking_openers(int index, void *forking_)
{
        struct forking *forking = forking_;

        if (index > 0) {
                busy_or_forking(index, forking);
                return;
        }
        await_busy_threads(forking);
        for (int i = 0; i < 10; i++)
                crew_join(crew_fork(child_opens_while_the_parent_works, i, NULL));
        forking->is_over = 1;
}

static void children_may_open_under_busy_threads(void)
{
        struct forking *forking = crew_shared(sizeof(*forking));

        skip_where_the_allocator_hangs();
        crew_threads(FORKING_THREADS, busy_or_forking_openers, forking);
        seat_take(0);
        check_equal(seat_commit_get(seat_word(30, 0)), 100);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(calls_in_the_child_are_xac_forked),
                isolated_test(views_are_unmapped_in_the_child),
                isolated_test(the_child_leaves_a_body),
                isolated_test(the_childs_thread_ends_in_a_body),
                isolated_test(the_child_is_told_whose_view_it_touches),
                isolated_test(nothing_is_said_of_the_childs_own_memory),
                isolated_test(views_do_not_pile_up_from_child_to_child),
                isolated_by_access(the_child_may_open_it_itself),
                isolated_test(the_grandchild_is_forked_too),
                isolated_test(the_parent_outlives_its_children),
                isolated_test(a_lingering_child_does_not_keep_a_dead_parent_alive),
                isolated_test(forking_under_busy_threads_is_safe),
                isolated_test(children_may_open_under_busy_threads),
        };
        return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
