/* SPDX-License-Identifier: MIT */
#include "tests/failure/remains.h"

#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

enum { PAGES = WORLD_USUAL_PAGES };

struct world_truth remains_at_home;

void remains_of_closed(void)
{
        world_make_truth();
        world_set_directory(scratch_path("env"));
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        check_ok(world_map(1, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(world_close());
}

/* Both end as if killed: nothing is closed. */
static void write_home_and_die(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        check_ok(world_open(XAC_CREATE, NULL));
        check_ok(world_map(0, PAGES));
        for (uint32_t page = 0; page < PAGES; page++)
                check_ok(world_commit_one(0, page));
        check_ok(xac_checkpoint(world.env));
        _exit(0);
}

static void commit_and_die(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        check_ok(world_open(0, NULL));
        check_ok(world_map(0, PAGES));
        for (uint32_t page = 0; page < PAGES; page += 2)
                check_ok(world_commit_one(0, page));
        _exit(0);
}

void remains_of_killed(void)
{
        world_make_truth();
        world_set_directory(scratch_path("env"));
        crew_join(crew_fork(write_home_and_die, 0, NULL));
        remains_at_home = *world_truth;
        crew_join(crew_fork(commit_and_die, 0, NULL));
        check_equal(scratch_shared_memory_of(world_directory()), WORLD_PARTS);
}

static void prove(int unused, void *unused_)
{
        (void)unused, (void)unused_;
        world_prove(true);
        world_check_files();
}

void remains_prove(void)
{
        crew_join(crew_fork(prove, 0, NULL));
}
