/* SPDX-License-Identifier: MIT */

/*
 * A control group allows less memory than a data file has, and less than the pool's ceiling: the pool stays within it,
 * pages go home early, and the kernel ends nobody (R44).
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "bench/support/little_memory.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { MIB = 1 << 20, GROUP_BYTES = 96 * MIB, PAGE_BYTES = 4096, EACH = 128, FULL_MAX = 10000 };
enum { PAGES = 192 * MIB / PAGE_BYTES };

static const struct case_way {
        int flags;
        uint64_t pool_bytes;
} ways[] = {
        { XAC_VOLATILE, 0 },
        { XAC_NOSYNC, 0 },
        { XAC_VOLATILE, (uint64_t)1024 * MIB },
};

/* The pages from `first` on get its number. Others' pages may be on their way home. */
static int change(xac_env *env, char *view, uint64_t first)
{
        check_ok(xbegin(env, 0));
        for (uint64_t page = first; page < first + EACH; page++) {
                uint64_t *words = xac_page_write(env, view + page * PAGE_BYTES);
                if (!words) {
                        (void)xabort(env);
                        return XAC_FULL;
                }
                words[7] = page;
        }
        return xend(env);
}

static void change_all(xac_env *env, char *view)
{
        int full = 0;
        for (uint64_t first = 0; first < PAGES;) {
                const int err = change(env, view, first);
                if (!err) {
                        first += EACH;
                        continue;
                }
                check_equal(err, XAC_FULL);
                check(++full < FULL_MAX);
                crew_sleep_ms(1);
        }
}

static void check_all(xac_env *env, const char *view)
{
        for (uint64_t first = 0; first < PAGES; first += EACH) {
                check_ok(xbegin(env, XAC_RDONLY));
                for (uint64_t page = first; page < first + EACH; page++) {
                        const uint64_t *words = xac_page_read(env, view + page * PAGE_BYTES);
                        check(words != NULL && words[7] == page);
                }
                check_ok(xend(env));
        }
}

static void live_in(int way, void *group)
{
        const xac_options options = { .pool_bytes = ways[way].pool_bytes };
        xac_env *env;
        xac_stats stats;
        check_equal(little_memory_enter(group), 0);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | ways[way].flags, &options, &env));
        char *view = xac_mmap(env, "f", (size_t)PAGES * PAGE_BYTES, XAC_ANYWHERE);
        check(view != MAP_FAILED);
        change_all(env, view);
        check_ok(xac_stat(env, &stats));
        check(stats.pool_bytes_now < GROUP_BYTES);
        check_all(env, view);
        check_ok(xac_close(env));
}

static void more_is_written_than_the_group_may_have(int way)
{
        struct little_memory group;
        if (!little_memory_make(&group, GROUP_BYTES)) {
                check(geteuid() != 0); /* root of a machine with control groups has the right */
                isolate_skip("no control group can be made here");
        }
        const int status = crew_status(crew_fork(live_in, way, &group));
        little_memory_remove(&group);
        check_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(more_is_written_than_the_group_may_have, 0, "volatile"),
                isolated_way(more_is_written_than_the_group_may_have, 1, "not synced"),
                isolated_way(more_is_written_than_the_group_may_have, 2, "with a pool that is larger than the group"),
        };
        return cmocka_run_group_tests_name("little_memory", tests, NULL, NULL);
}
