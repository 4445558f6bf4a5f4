/* SPDX-License-Identifier: MIT */
#include "examples/demo/index.h"

#include <errno.h>
#include <sys/mman.h>

_Static_assert(sizeof(struct progress) == 4096, "a worker's progress fills a page");

int index_open(struct index *index, const char *directory, int flags, const xac_options *options)
{
        int err = xac_open(directory, flags, options, &index->env);
        if (err)
                return err;
        index->table = xac_mmap(index->env, "table", sizeof(*index->table), 0);
        if (index->table == MAP_FAILED)
                goto fail_map;
        index->progress = xac_mmap(index->env, "progress", WORKERS_MAX * sizeof(*index->progress), 0);
        if (index->progress == MAP_FAILED)
                goto fail_map;
        return 0;
fail_map:
        err = -errno;
        xac_close(index->env);
        return err;
}

int index_close(struct index *index)
{
        return xac_close(index->env);
}
