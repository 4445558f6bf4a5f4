/* SPDX-License-Identifier: MIT */
#include "libxac/process/registry.h"

#include <sys/mman.h>

#include "base/sys.h"
#include "libxac/ground/handlers.h"
#include "libxac/store/at_rest.h"
#include "libxac/store/ranges.h"
#include "libxac/store/window.h"
#include "libxac/txn/tracing.h"
#include "libxac/view/snapshot_map.h"
#include "libxac/view/translation.h"
#include "rewire/mappings.h"

enum { GUARD_BYTES = 4096 };

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct xac_env *registry;

void registry_lock(void)
{
        pthread_mutex_lock(&registry_mutex);
}

void registry_unlock(void)
{
        pthread_mutex_unlock(&registry_mutex);
}

struct xac_env *registry_find_locked(const struct stat *directory)
{
        for (struct xac_env *env = registry; env; env = env->next)
                if (env->identity.device == directory->st_dev && env->identity.inode == directory->st_ino)
                        return env;
        return NULL;
}

void registry_add_locked(struct xac_env *env)
{
        env->next = registry;
        registry = env;
}

void registry_remove_locked(struct xac_env *env)
{
        struct xac_env **link = &registry;
        while (*link != env)
                link = &(*link)->next;
        *link = env->next;
}

void registry_hold(struct xac_env *env)
{
        registry_lock();
        env->holds++;
        registry_unlock();
}

int registry_release(struct xac_env *env)
{
        registry_lock();
        env->holds--;
        int err = env->opens || env->holds ? 0 : env->close_last(env);
        registry_unlock();
        return err;
}

static void before_fork(void)
{
        registry_lock();
        window_lock();
        handlers_lock();
}

static void after_fork_in_parent(void)
{
        handlers_unlock();
        window_unlock();
        registry_unlock();
}

static void after_fork_in_child(void)
{
        translations_forget();
        snapshot_map_forget_in_child();
        ranges_unmap_all_in_child();
        mappings_forget_in_child();
        for (struct xac_env *env = registry; env; env = env->next) {
                sys_close(env->shared.lock_fd);
                if (env->at_rest)
                        at_rest_forget_in_child(env->at_rest);
                files_close_all(&env->files);
                shared_detach(&env->shared);
                sys_close(env->directory);
                chunks_forget_in_child(&env->chunks);
                tracing_forget_in_child(env);
        }
        registry = NULL;
        after_fork_in_parent(); /* the same locks, taken before the fork by this thread */
}

static int handles_forks; /* or why not */

/* Before anybody can hold the lock: a child of a first open's neighbour would inherit it taken. */
__attribute__((constructor)) static void handle_forks(void)
{
        handles_forks = -pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int registry_make_fork_guard(struct xac_env *env)
{
        void *page;
        if (handles_forks)
                return handles_forks;
        int err = sys_mmap(NULL, GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &page);
        if (err)
                return err;
        err = sys_madvise(page, GUARD_BYTES, MADV_WIPEONFORK);
        if (err) {
                sys_munmap(page, GUARD_BYTES);
                return err;
        }
        env->fork_guard = page;
        *env->fork_guard = 1;
        return 0;
}

void registry_free_fork_guard(struct xac_env *env)
{
        sys_munmap((void *)env->fork_guard, GUARD_BYTES);
}
