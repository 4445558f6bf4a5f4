/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_moments.h"

/* Which moment a response shares. */

#include <errno.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

static xac_env *env;
static uint64_t *word;

static void commit(void)
{
        check_ok(xbegin(env, 0));
        ++*(uint64_t *)xac_page_write(env, word);
        check_ok(xend(env));
}

static void open_there(void)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        word = xac_mmap(env, "counters", 4096, 0);
        check(word != (void *)-1);
        commit();
}

/* Who has seen a commit by its name does not share a moment before it. */
static void nobody_sees_less_than_before(void)
{
        struct serve_moments moments = { 0 };
        struct serve_moment *first, *named, *shared, *again;
        xac_snapshot *snapshot;

        open_there();
        moments.env = env;
        check_ok(serve_moments_take(&moments, 0, 0, 1, &first));
        commit();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        const uint64_t sequence = xac_snapshot_sequence(snapshot);
        check_ok(serve_moments_take(&moments, sequence, 0, 1, &named));
        check_ok(serve_moments_take(&moments, 0, 0, 2, &shared));
        check(shared == first);
        check_ok(serve_moments_take(&moments, 0, sequence, 2, &again));
        check(xac_snapshot_sequence(again->snapshot) >= sequence);
        serve_moment_leave(first);
        serve_moment_leave(named);
        serve_moment_leave(shared);
        serve_moment_leave(again);
        check(!serve_moments_oldest(&moments));
        check_ok(xac_snapshot_close(snapshot));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = { isolated_test(nobody_sees_less_than_before) };

        return cmocka_run_group_tests_name("moments of xac serve", tests, NULL, NULL);
}
