/* SPDX-License-Identifier: MIT */
#include "rewire/wire.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "rewire/mappings.h"

enum { NOTHING = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };

int wire_run(void *at, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset)
{
        void *same;
        return sys_mmap(at, byte_len, prot, flags | MAP_FIXED, fd, offset, &same);
}

int wire_run_surely(void *at, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset)
{
        int err = wire_run(at, byte_len, prot, flags, fd, offset);
        if (err && mappings_drop_ballast())
                err = wire_run(at, byte_len, prot, flags, fd, offset);
        return err ? -ENOMEM : 0;
}

int wire_nothing(void *at, uint64_t byte_len)
{
        return wire_run(at, byte_len, PROT_NONE, NOTHING, -1, 0);
}

int wire_nothing_surely(void *at, uint64_t byte_len)
{
        return wire_run_surely(at, byte_len, PROT_NONE, NOTHING, -1, 0);
}

int wire_nothing_over_all(void *at, uint64_t byte_len)
{
        int err = wire_nothing(at, byte_len);
        if (err && mappings_drop_pebble()) {
                err = wire_nothing(at, byte_len);
                mappings_make_pebble();
        }
        return err;
}
