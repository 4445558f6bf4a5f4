/* SPDX-License-Identifier: MIT */
#include "rewire/map.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "rewire/mappings.h"

enum { NOTHING = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

int map_run(void *at, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset)
{
        void *same;
        return sys_mmap(at, byte_len, prot, flags | MAP_FIXED, fd, offset, &same);
}

int map_run_surely(void *at, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset)
{
        int err = map_run(at, byte_len, prot, flags, fd, offset);
        if (err && mappings_drop_ballast())
                err = map_run(at, byte_len, prot, flags, fd, offset);
        return err ? -ENOMEM : 0;
}

int map_nothing(void *at, uint64_t byte_len)
{
        return map_run(at, byte_len, PROT_NONE, NOTHING, -1, 0);
}

int map_nothing_surely(void *at, uint64_t byte_len)
{
        return map_run_surely(at, byte_len, PROT_NONE, NOTHING, -1, 0);
}

int map_nothing_over_all(void *at, uint64_t byte_len)
{
        int err = map_nothing(at, byte_len);
        if (err && mappings_drop_pebble()) {
                err = map_nothing(at, byte_len);
                mappings_make_pebble();
        }
        return err;
}
