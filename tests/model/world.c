/* SPDX-License-Identifier: MIT */
#include "tests/model/world.h"

#include <stdio.h>
#include <sys/mman.h>

#include "tests/support/check.h"

void hold_open(struct hold *hold, const struct world *world)
{
        const xac_options options = {
                .pool_bytes = world->options.pool_bytes,
                .page_bytes = world->options.page_bytes,
        };

        check_ok(xac_open(world->directory, XAC_CREATE | XAC_VOLATILE | world->options.open_flags, &options,
                          &hold->env));
}

void hold_map(struct hold *hold, const struct world *world)
{
        char name[16];

        hold->page_words = world->options.page_bytes / 8;
        for (int i = 0; i < WORLD_FILES; i++) {
                snprintf(name, sizeof(name), "file%d", i);
                hold->base[i] = xac_mmap(hold->env, name, world_file_bytes(world), 0);
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
