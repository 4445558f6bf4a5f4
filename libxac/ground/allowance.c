/* SPDX-License-Identifier: MIT */
#include "libxac/ground/allowance.h"

#include <pthread.h>
#include <unistd.h>

enum { RESERVE_PART = 8, LACKING_PART = 2, SHORT_TIMES = 2, GRANT_PART = 16, MIB = 1 << 20 };
static const uint64_t RESERVE_MAX = 1024 * (uint64_t)MIB;
static const uint64_t GRANT_MAX = 64 * (uint64_t)MIB;

/* Processes seldom move to another group: one looks where it is when it first opens an environment. A child of fork()
 * looks anew; the mutex may be locked for ever there. */
static void find_group(struct memory_group *group)
{
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static struct memory_group found;
        static pid_t found_by;
        if (pthread_mutex_trylock(&mutex)) {
                memory_group_find("", 0, group);
                return;
        }
        if (found_by != getpid())
                memory_group_find("", 0, &found);
        found_by = getpid();
        *group = found;
        pthread_mutex_unlock(&mutex);
}

void allowance_begin(struct allowance *allowance)
{
        find_group(&allowance->group);
        atomic_init(&allowance->granted, 0);
}

static uint64_t reserve_of(uint64_t limit)
{
        return limit / RESERVE_PART < RESERVE_MAX ? limit / RESERVE_PART : RESERVE_MAX;
}

uint64_t allowance_within(const struct memory_room *room)
{
        if (room->limit == UINT64_MAX)
                return UINT64_MAX;
        const uint64_t reserve = reserve_of(room->limit);
        return room->left > reserve ? room->left - reserve : 0;
}

uint64_t allowance_now(const struct allowance *allowance)
{
        struct memory_room room;
        memory_group_look(&allowance->group, &room);
        return allowance_within(&room);
}

/* Pages on their way home will be left when they are written: the kernel waits for them before it ends anybody. */
void allowance_look(const struct allowance *allowance, struct allowance_view *view)
{
        struct memory_room room;
        memory_group_look(&allowance->group, &room);
        *view = (struct allowance_view){ .most = UINT64_MAX };
        if (room.limit == UINT64_MAX)
                return;
        const uint64_t reserve = reserve_of(room.limit), left = room.left + room.dirty;
        view->most = room.limit - reserve;
        view->lacks = left < reserve / LACKING_PART ? reserve - left : 0;
        view->is_short = left < SHORT_TIMES * reserve;
}

uint64_t allowance_limit(const struct allowance *allowance)
{
        const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        struct memory_room room;
        memory_group_look(&allowance->group, &room);
        return room.limit < machine ? room.limit : machine;
}

bool allowance_take(struct allowance *allowance, uint64_t bytes)
{
        uint64_t granted = atomic_load(&allowance->granted);
        while (granted >= bytes)
                if (atomic_compare_exchange_weak(&allowance->granted, &granted, granted - bytes))
                        return true;
        const uint64_t left = allowance_now(allowance);
        if (left < bytes)
                return false;
        atomic_store(&allowance->granted, left / GRANT_PART < GRANT_MAX ? left / GRANT_PART : GRANT_MAX);
        return true;
}
