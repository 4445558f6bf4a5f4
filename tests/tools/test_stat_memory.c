/* SPDX-License-Identifier: MIT */

/* xac stat: what memory processes have taken, and which limit says how much more the pool may get. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/support/little_memory.h"
#include "tests/tools/tool.h"

enum { GROUP_MIB = 64, POOL_MIB = 256 };

/* Has an environment open, in the group if there is one, until its turn comes. */
struct member {
        const struct little_memory *group;
        struct crew_turn *turn;
};

static void be_member(int unused, void *member_)
{
        const struct member *member = member_;
        const xac_options options = { .pool_bytes = (uint64_t)POOL_MIB << 20 };
        xac_env *env;

        (void)unused;
        if (member->group)
                check_ok(little_memory_enter(member->group));
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        crew_turn_pass(member->turn);
        crew_turn_await(member->turn, 2);
        check_ok(xac_close(env));
}

static pid_t start_member(const struct member *member)
{
        pid_t pid = crew_fork(be_member, 0, (void *)(uintptr_t)member);

        crew_turn_await(member->turn, 1);
        return pid;
}

static void end_member(const struct member *member, pid_t pid)
{
        crew_turn_pass(member->turn);
        crew_join(pid);
}

static void the_group_that_leaves_least_is_told(void)
{
        struct little_memory group;
        struct member member = { &group, crew_shared(sizeof(*member.turn)) };
        char text[64];

        if (geteuid() != 0)
                skip();
        check(little_memory_make(&group, (uint64_t)GROUP_MIB << 20));
        const pid_t pid = start_member(&member);
        check_xac(0, "stat", TOOL_ENV);
        snprintf(text, sizeof(text), "more for the pool: the control group of pid %d allows", (int)pid);
        check_said(text);
        check_said(group.path);
        check_said("left of 64 MiB (67108864 bytes)");
        check_said(" of shared memory touched, ");
        check_xac(0, "stat", "--json", TOOL_ENV);
        snprintf(text, sizeof(text), "\"group_of_pid\": %d", (int)pid);
        check_said(text);
        check_said("\"group_limit\": 67108864");
        check_said("\"shared_bytes\": ");
        end_member(&member, pid);
        little_memory_remove(&group);
}

static void without_a_limit_the_ceiling_is_told(void)
{
        struct member member = { NULL, crew_shared(sizeof(*member.turn)) };
        const pid_t pid = start_member(&member);

        check_xac(0, "stat", TOOL_ENV);
        check_said(" more for the pool");
        end_member(&member, pid);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_group_that_leaves_least_is_told),
                isolated_test(without_a_limit_the_ceiling_is_told),
        };
        return cmocka_run_group_tests_name("xac stat, memory", tests, NULL, NULL);
}
