/* SPDX-License-Identifier: MIT */
#include "tests/limits/limits_ground.h"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/check.h"

#define MIB (UINT64_C(1) << 20)

bool ground_make(void)
{
        return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
               mount("xac-disk", GROUND_DISK, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=96m") == 0 &&
               mount("xac-shm", GROUND_SHM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=96m") == 0;
}

void ground_become_user(void)
{
        check(setgroups(0, NULL) == 0 && setgid(GROUND_USER) == 0 && setuid(GROUND_USER) == 0);
        check_equal(prctl(PR_SET_DUMPABLE, 1), 0); /* to look at its own descriptors */
        check_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
}

int ground_open_env(const char *path, int flags, xac_env **env)
{
        const xac_options options = {
                .pool_bytes = 16 * MIB, .log_bytes = 4 * MIB, .area_bytes = 8 * MIB, .scan_bytes = 16 * MIB
        };

        return xac_open(path, flags, &options, env);
}

static int fill(void *ground_)
{
        struct ground *ground = ground_;

        for (uint64_t page = 1; page < GROUND_WORDS_PAGES; page++)
                ground->words[page * GROUND_PAGE_WORDS] = page;
        return 0;
}

void ground_open(struct ground *ground)
{
        check_ok(ground_open_env(GROUND_ENV, XAC_CREATE, &ground->env));
        ground->words = xac_mmap(ground->env, "words", GROUND_WORDS_PAGES * GROUND_PAGE_WORDS * sizeof(uint64_t), 0);
        ground->many = xac_mmap(ground->env, "many", GROUND_MANY_PAGES * GROUND_PAGE_WORDS * sizeof(uint64_t), 0);
        check(ground->words != MAP_FAILED && ground->many != MAP_FAILED);
        if (ground->words[GROUND_PAGE_WORDS] == 0)
                check_ok(xac_run(ground->env, 0, fill, ground));
        check_ok(xac_heap_open(ground->env, "heap", XAC_CREATE, &ground->heap));
        check_ok(xac_arena_open_env(ground->env, "tree", XAC_ARENA_VIEW, &ground->arena));
        check_ok(xac_tree_open(ground->arena, "all", XAC_TREE_CREATE, NULL, &ground->tree));
        check_ok(xac_snapshot_open(ground->env, 0, &ground->snapshot));
}

void ground_close_users(struct ground *ground)
{
        if (ground->snapshot)
                check_ok(xac_snapshot_close(ground->snapshot));
        xac_tree_close(ground->tree);
        check_ok(xac_arena_close(ground->arena));
        check_ok(xac_heap_close(ground->heap));
}

static int add(void *ground)
{
        ((struct ground *)ground)->words[0]++;
        return 0;
}

int ground_count(struct ground *ground, int flags)
{
        const int err = xac_run(ground->env, flags, add, ground);

        if (err == XAC_POISONED)
                ground->told->doubtful++;
        else if (!err)
                ground->told->acknowledged++;
        return err;
}

void ground_check(struct ground *ground)
{
        check_ok(xbegin(ground->env, XAC_RDONLY));
        const uint64_t counter = ground->words[0];
        for (uint64_t page = 1; page < GROUND_WORDS_PAGES; page++)
                check_equal(ground->words[page * GROUND_PAGE_WORDS], page);
        check_ok(xend(ground->env));
        check(counter >= ground->told->acknowledged);
        check(counter <= ground->told->acknowledged + ground->told->doubtful);
}
