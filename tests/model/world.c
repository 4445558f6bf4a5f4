/* SPDX-License-Identifier: MIT */
#include "tests/model/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/scratch.h"

enum { LOG_BYTES = 1 << 20 }; /* so small that checkpoints go on all the time */

void hold_open(struct hold *hold, const struct world *world)
{
        const xac_options options = {
                .pool_bytes = world->options.pool_bytes,
                .page_bytes = world->options.page_bytes,
                .log_bytes = LOG_BYTES,
        };

        check_ok(xac_open(world->directory, XAC_CREATE | world->options.open_flags, &options, &hold->env));
}

void hold_map(struct hold *hold, const struct world *world)
{
        char name[16];

        const int flags = world->options.access == ACCESS_COMPILED ? XAC_SHARED : 0;

        hold->page_words = world->options.page_bytes / 8;
        for (int i = 0; i < WORLD_FILES; i++) {
                snprintf(name, sizeof(name), "file%d", i);
                hold->base[i] = xac_mmap(hold->env, name, world_file_bytes(world), flags);
                check(hold->base[i] != MAP_FAILED);
        }
}

void hold_unmap(struct hold *hold)
{
        for (int i = 0; i < WORLD_FILES; i++)
                check_ok(xac_munmap(hold->env, hold->base[i]));
}

void hold_close(struct hold *hold)
{
        check_ok(xac_close(hold->env));
        hold->env = NULL;
}

/* Its parts are named after the device and inode of the directory. */
void world_remove_shared_memory(const struct world *world)
{
        static const char *const parts[] = { "control", "heads", "pool" };
        char name[128];
        struct stat st;

        check_equal(stat(world->directory, &st), 0);
        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                snprintf(name, sizeof(name), "/dev/shm/xac.%" PRIxMAX ".%" PRIxMAX ".%s", (uintmax_t)st.st_dev,
                         (uintmax_t)st.st_ino, parts[i]);
                (void)unlink(name);
        }
        check_equal(scratch_shared_memory_of(world->directory), 0);
}
