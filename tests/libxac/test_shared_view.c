/* SPDX-License-Identifier: MIT */

/*
 * XAC_SHARED: threads with one address, and a transaction each. One that is alone may touch it; where there are two, no
 * page is ever shown, and a touch is explained.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/translate.h>
#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { BYTES = 16 * 4096, THREADS = 4, ADDITIONS = 2000 };

static xac_env *open_env(int flags)
{
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE | flags, NULL, &env));
        return env;
}

static volatile uint64_t *map(xac_env *env, int flags)
{
        return xac_mmap(env, "words", BYTES, flags);
}

static volatile uint64_t *map_shared(xac_env *env)
{
        volatile uint64_t *words = map(env, XAC_SHARED);

        check(words != MAP_FAILED);
        return words;
}

static void add_one(xac_env *env, volatile uint64_t *word)
{
        run_until_committed(env, 0)
        {
                volatile uint64_t *place = xac_page_write(env, (void *)word);
                check(place != NULL);
                ++*place;
        }
}

static void add_without_touching(int index, void *arg)
{
        xac_env *env = ((void **)arg)[0];
        volatile uint64_t *words = map_shared(env);

        check(words == ((void **)arg)[1]);
        for (int i = 0; i < ADDITIONS; i++)
                add_one(env, words + (index + i) % 7 * 512);
}

static void threads_have_one_address(void)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map_shared(env);
        void *both[] = { env, (void *)words };
        uint64_t sum = 0;

        crew_threads(THREADS, add_without_touching, both);
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < 7; i++)
                sum += words[i * 512]; /* alone again: by faults */
        check_ok(xend(env));
        check_equal(sum, THREADS * ADDITIONS);
        check_ok(xac_close(env));
}

static void one_thread_alone_may_touch_it(void)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map_shared(env);

        check_ok(xbegin(env, 0));
        words[0] = 1;
        check_equal(*(const uint64_t *)xac_for_read((void *)words), 1);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

static void join_is_refused(int index, void *arg)
{
        (void)index;
        check_map_fails((void *)map(arg, XAC_SHARED), EBUSY);
}

static void join_succeeds(int index, void *arg)
{
        (void)index;
        map_shared(arg);
}

static void join_what_is_shown(int unused, void *nothing)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map_shared(env);

        (void)unused;
        (void)nothing;
        check_ok(xbegin(env, 0));
        words[0] = 1;
        check_ok(xend(env));
        crew_threads(1, join_is_refused, env);
        check_ok(xac_close(env));
}

static void a_refusal_is_explained(void)
{
        struct crash said;

        crash_run(join_what_is_shown, 0, NULL, &said);
        check_equal(said.status, 0);
        check_equal(crash_lines(&said), 1);
        check(strstr(said.said, "'words' in ") && strstr(said.said, "another thread of this process has touched"));
}

/* Where a page is shown, it is shown to all threads of the process. */
static void a_view_that_shows_pages_is_not_joined(void)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map_shared(env);

        crew_threads(1, join_succeeds, env);
        check_ok(xbegin(env, 0));
        words[0] = 1;
        crew_threads(1, join_is_refused, env);
        check_ok(xend(env));
        crew_threads(1, join_is_refused, env);
        check_ok(xac_munmap(env, (void *)words));
        map_shared(env);
        crew_threads(1, join_succeeds, env);
        check_ok(xac_close(env));
}

/* What is written in vain must not be shown either, as the others may come later. */
static void what_is_lost_is_not_shown(void)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map_shared(env);

        check_ok(xbegin(env, XAC_RDONLY));
        if (xac_in_window((void *)words)) /* else it is not translated */
                *(uint64_t *)xac_for_write((void *)words) = 1;
        crew_threads(1, join_succeeds, env);
        check_code(xend(env), xac_in_window((void *)words) ? XAC_WROTE : 0);
        check_ok(xac_close(env));
}

static void an_own_view_and_a_shared_one_do_not_meet(void)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map(env, 0);

        check(words != MAP_FAILED);
        if (xac_in_window((void *)words)) /* else each lies where there is room */
                crew_threads(1, join_is_refused, env);
        check_map_fails((void *)map(env, XAC_SHARED), EBUSY);
        check_ok(xac_munmap(env, (void *)words));
        words = map_shared(env);
        check(map(env, 0) == words); /* the thread has one already */
        check_ok(xac_close(env));
}

enum touched { READ, WRITTEN, READ_OUTSIDE };

struct company {
        xac_env *env;
        enum touched touched;
};

static void touch_in_company(int index, void *arg)
{
        const struct company *company = arg;
        volatile uint64_t *words = map_shared(company->env);

        (void)index;
        if (company->touched != READ_OUTSIDE)
                check_ok(xbegin(company->env, 0));
        if (company->touched == WRITTEN)
                words[600] = 1;
        else
                check(words[600] != 123456789);
}

static void touch_beside_another(int touched, void *unused)
{
        struct company company = { open_env(0), (enum touched)touched };

        (void)unused;
        map_shared(company.env);
        crew_threads(1, touch_in_company, &company);
}

static void a_touch_in_company_is_explained(void)
{
        struct crash crash;

        for (int touched = READ; touched <= READ_OUTSIDE; touched++) {
                crash_run(touch_beside_another, touched, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check_equal(crash_lines(&crash), 1);
                check(strstr(crash.said, "words") && strstr(crash.said, "0x12c0") && strstr(crash.said, "XAC_SHARED"));
                check(strstr(crash.said, "touch_in_company") || strstr(crash.said, "test_shared_view"));
                check((touched == READ_OUTSIDE) == (strstr(crash.said, "outside of a transaction") != NULL));
                check((touched == READ_OUTSIDE) != (strstr(crash.said, "is not translated") != NULL));
                check_ok(xac_close(open_env(0))); /* takes over from the dead */
        }
}

static int compare_words(const void *one, const void *other)
{
        return (int)(uint64_t)((uintptr_t)one - (uintptr_t)other);
}

static void sort_in_company(int index, void *env)
{
        volatile uint64_t *words = map_shared(env);

        (void)index;
        check_ok(xbegin(env, 0));
        qsort((void *)words, 100, sizeof(*words), compare_words);
}

static void sort_beside_another(int unused, void *nothing)
{
        xac_env *env = open_env(0);

        (void)unused;
        (void)nothing;
        map_shared(env);
        crew_threads(1, sort_in_company, env);
}

/* The name of a function in a library says nothing of what in the program is to be changed. */
static void a_touch_by_a_library_names_its_caller(void)
{
        struct crash crash;
        const char *second;

        crash_run(sort_beside_another, 0, NULL, &crash);
        check_equal(crash.signal, SIGSEGV);
        second = strchr(crash.said, '\n');
        check(second && strstr(second, "the call was made by") && strstr(second, "test_shared_view"));
        check_ok(xac_close(open_env(0)));
}

static void advise_in_company(int index, void *env)
{
        volatile uint64_t *words = map_shared(env);

        (void)index;
        check_ok(xbegin(env, 0));
        check_code(xac_advise(env, (void *)words, BYTES, XAC_WRITE), -EBUSY);
        *(uint64_t *)xac_page_write(env, (void *)words) = 1;
        check_ok(xend(env));
}

static void pages_are_announced_only_by_one_alone(void)
{
        xac_env *env = open_env(0);
        volatile uint64_t *words = map_shared(env);

        crew_threads(1, advise_in_company, env);
        check_ok(xbegin(env, 0));
        check_ok(xac_advise(env, (void *)words, BYTES, XAC_WRITE));
        words[3] = 3;
        check_ok(xend(env));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(threads_have_one_address),
                isolated_test(one_thread_alone_may_touch_it),
                isolated_test(a_view_that_shows_pages_is_not_joined),
                isolated_test(a_refusal_is_explained),
                isolated_test(what_is_lost_is_not_shown),
                isolated_test(an_own_view_and_a_shared_one_do_not_meet),
                isolated_test(a_touch_in_company_is_explained),
                isolated_test(a_touch_by_a_library_names_its_caller),
                isolated_test(pages_are_announced_only_by_one_alone),
        };
        return cmocka_run_group_tests_name("shared view", tests, NULL, NULL);
}
