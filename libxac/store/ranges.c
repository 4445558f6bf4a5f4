/* SPDX-License-Identifier: MIT */
#include "libxac/store/ranges.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/sys.h"

enum {
        RANGES_MAX = 1 << 16,
        REMOVED_MAX = 256,
        NAMES_MAX = 64,
        NAME_BYTES = 256 /* of a data file */
};

/* An entry is taken while its end is not 0, and counts while its base is not 0. */
static struct {
        _Atomic enum range_of whose;
        _Atomic uintptr_t base;
        _Atomic uintptr_t end;
        _Atomic(const char *) file;
} ranges[RANGES_MAX];
static _Atomic uint32_t ranges_used;

/* A ring. An entry counts while its end is not 0. Who reads a name while it is replaced prints a wrong one: it is in
 * the last line of a program. */
static struct {
        _Atomic uintptr_t base;
        _Atomic uintptr_t end;
        char name[NAME_BYTES];
} removed[REMOVED_MAX];
static _Atomic uint32_t removed_next;

/* Of files whose views were the parent's, or its parent's: the memory that their names stood in is gone. */
static char names[NAMES_MAX][NAME_BYTES];
static uint32_t names_used;

static void raise_used(uint32_t to)
{
        uint32_t used = atomic_load(&ranges_used);
        while (used < to && !atomic_compare_exchange_weak(&ranges_used, &used, to))
                ;
}

static void clear(uint32_t i)
{
        atomic_store(&ranges[i].base, 0);
        atomic_store(&ranges[i].end, 0);
}

/* An old view is forgotten where a new one is, so that their number does not grow from child to child. */
static void forget_parents(uintptr_t from, uintptr_t to)
{
        for (uint32_t i = 0; names_used && i < atomic_load(&ranges_used); i++) {
                uintptr_t base = atomic_load(&ranges[i].base);
                if (base && atomic_load(&ranges[i].whose) == RANGE_PARENTS && base < to &&
                    atomic_load(&ranges[i].end) > from &&
                    atomic_compare_exchange_strong(&ranges[i].base, &base, 0)) /* else another thread has */
                        atomic_store(&ranges[i].end, 0);
        }
}

static int add(uintptr_t base, uintptr_t end, const char *file)
{
        for (uint32_t i = 0; i < RANGES_MAX; i++) {
                uintptr_t free_end = 0;
                if (!atomic_compare_exchange_strong(&ranges[i].end, &free_end, end))
                        continue;
                atomic_store(&ranges[i].whose, RANGE_OWN);
                atomic_store(&ranges[i].file, file);
                atomic_store(&ranges[i].base, base);
                raise_used(i + 1);
                return 0;
        }
        return -ENOMEM;
}

int ranges_add(const void *base, size_t byte_len, const char *file)
{
        const uintptr_t from = (uintptr_t)base, to = from + byte_len;
        forget_parents(from, to);
        int err = add(from, to, file);
        if (err) {
                forget_parents(0, UINTPTR_MAX);
                err = add(from, to, file);
        }
        return err;
}

static void remember(uintptr_t base, uintptr_t end, const char *name)
{
        const uint32_t i = atomic_fetch_add(&removed_next, 1) % REMOVED_MAX;
        atomic_store(&removed[i].end, 0);
        strncpy(removed[i].name, name ? name : "", NAME_BYTES - 1);
        atomic_store(&removed[i].base, base);
        atomic_store(&removed[i].end, end);
}

void ranges_remove(const void *base)
{
        for (uint32_t i = 0; i < atomic_load(&ranges_used); i++) {
                if (atomic_load(&ranges[i].base) != (uintptr_t)base || atomic_load(&ranges[i].whose) != RANGE_OWN)
                        continue;
                remember((uintptr_t)base, atomic_load(&ranges[i].end), atomic_load(&ranges[i].file));
                clear(i);
                return;
        }
}

bool ranges_find_removed(const void *addr, const char **file, uint64_t *offset)
{
        const uint32_t next = atomic_load(&removed_next);
        for (uint32_t age = 1; age <= REMOVED_MAX; age++) {
                const uint32_t i = (next - age) % REMOVED_MAX;
                const uintptr_t base = atomic_load(&removed[i].base);
                if ((uintptr_t)addr < base || (uintptr_t)addr >= atomic_load(&removed[i].end))
                        continue;
                *offset = (uintptr_t)addr - base;
                *file = removed[i].name;
                return true;
        }
        return false;
}

bool ranges_find(const void *addr, enum range_of whose, const char **file, uint64_t *offset)
{
        for (uint32_t i = 0; i < atomic_load(&ranges_used); i++) {
                uintptr_t base = atomic_load(&ranges[i].base);
                if (!base || (uintptr_t)addr < base || (uintptr_t)addr >= atomic_load(&ranges[i].end) ||
                    atomic_load(&ranges[i].whose) != whose)
                        continue;
                *offset = (uintptr_t)addr - base;
                *file = atomic_load(&ranges[i].file);
                return true;
        }
        return false;
}

/* NULL: there are too many. */
static const char *keep_name(const char *name)
{
        uint32_t i = 0;
        while (i < names_used && strncmp(names[i], name, NAME_BYTES) != 0)
                i++;
        if (i == NAMES_MAX)
                return NULL;
        if (i == names_used) {
                strncpy(names[i], name, NAME_BYTES - 1);
                names_used++;
        }
        return names[i];
}

void ranges_unmap_all_in_child(void)
{
        for (uint32_t i = 0; i < atomic_load(&ranges_used); i++) {
                uintptr_t base = atomic_load(&ranges[i].base);
                if (!base)
                        clear(i); /* a thread of the parent's was adding it */
                if (!base || atomic_load(&ranges[i].whose) == RANGE_PARENTS)
                        continue;
                sys_munmap((void *)base, atomic_load(&ranges[i].end) - base);
                atomic_store(&ranges[i].file, keep_name(atomic_load(&ranges[i].file)));
                atomic_store(&ranges[i].whose, RANGE_PARENTS);
        }
}
