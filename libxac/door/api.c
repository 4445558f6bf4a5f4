/* SPDX-License-Identifier: MIT */
#include <xac/translate.h>
#include <xac/xac.h>

/*
 * The public functions: argument checks and nothing else. What they promise stands in the manual
 * pages; what they do, in the modules they call.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/zeros.h"
#include "libxac/care/backup.h"
#include "libxac/care/scrub.h"
#include "libxac/care/snapshot.h"
#include "libxac/door/close.h"
#include "libxac/door/open.h"
#include "libxac/door/stats.h"
#include "libxac/ground/handlers.h"
#include "libxac/process/alive.h"
#include "libxac/process/retry.h"
#include "libxac/process/thread.h"
#include "libxac/process/unended.h"
#include "libxac/process/wait.h"
#include "libxac/view/snapshot_map.h"
#include "libxac/view/touch.h"
#include "libxac/view/translation.h"

/* From here to leave() a fault in a view is nobody's (I8). */
static inline int enter(xac_env *env, struct thread **thread)
{
        if (!env)
                return -EINVAL;
        int err = thread_of(env, thread);
        if (!err)
                (*thread)->is_in_library = true;
        return err;
}

static int leave(struct thread *thread, int result)
{
        thread->is_in_library = false;
        return result;
}

/* What calls the program back, with locks in its hands, is no cancellation point because of that. */
struct uncancelled {
        int before;
};

static struct uncancelled uncancelled_begin(void)
{
        struct uncancelled uncancelled;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &uncancelled.before);
        return uncancelled;
}

static int uncancelled_end(struct uncancelled uncancelled, int result)
{
        pthread_setcancelstate(uncancelled.before, NULL);
        return result;
}

int xac_open(const char *dir, int flags, const xac_options *options, xac_env **env)
{
        if (env)
                *env = NULL;
        if (!dir || !env)
                return -EINVAL;
        struct uncancelled uncancelled = uncancelled_begin();
        return uncancelled_end(uncancelled, open_env(dir, flags, options, env));
}

int xac_close(xac_env *env)
{
        if (!env)
                return -EINVAL;
        struct uncancelled uncancelled = uncancelled_begin();
        return uncancelled_end(uncancelled, close_env(env));
}

int xac_retain(xac_env *env)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, close_retain(thread));
}

int xac_release(xac_env *env)
{
        return env ? close_give_up(env) : -EINVAL;
}

/* mmap(2)'s way to fail; codes that are not errno become the nearest. */
static void *map_failed(int err)
{
        switch (err) {
        case XAC_LIMIT:
                errno = EMFILE;
                break;
        case XAC_FORKED:
                errno = ECHILD;
                break;
        case XAC_CORRUPT:
        case XAC_FORMAT:
        case XAC_POISONED:
                errno = EIO;
                break;
        default:
                errno = -err;
        }
        return MAP_FAILED;
}

void *xac_mmap(xac_env *env, const char *file, size_t length, int flags)
{
        struct thread *thread;
        void *base = NULL;
        int err = flags & ~(XAC_ANYWHERE | XAC_SHARED) ? -EINVAL : enter(env, &thread);
        if (!err)
                err = leave(thread, thread_map(thread, file, length, flags, &base));
        return err ? map_failed(err) : base;
}

int xac_munmap(xac_env *env, void *view)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, thread_unmap(thread, view));
}

static int check_begin_flags(int flags)
{
        const int known = XAC_RDONLY | XAC_SNAPSHOT_ISOLATION | XAC_NOSYNC | XAC_DURABLE | XAC_NESTED;
        if (flags & ~known)
                return -EINVAL;
        return flags & XAC_DURABLE && !(flags & XAC_RDONLY) ? -EINVAL : 0;
}

/* A call of its own, so that an outermost xbegin() saves no registers for it. */
static __attribute__((noinline)) int begin_inside(struct txn *txn, int flags, const void *from)
{
        int err = unended_check(txn, flags, from);
        if (!err)
                err = txn_begin(txn, flags);
        if (!err)
                txn->from = from;
        return err;
}

static inline int begin(xac_env *env, int flags, const void *from, struct thread **thread)
{
        int err = check_begin_flags(flags);
        if (!err)
                err = enter(env, thread);
        if (err)
                return err;
        struct txn *txn = &(*thread)->txn;
        if (txn_is_open(txn))
                return leave(*thread, begin_inside(txn, flags, from));
        txn->from = from;
        return leave(*thread, txn_begin(txn, flags));
}

int xbegin(xac_env *env, int flags)
{
        struct thread *thread;
        return begin(env, flags, __builtin_return_address(0), &thread);
}

xac_scope xac_scope_begin(xac_env *env, int flags)
{
        struct thread *thread;
        xac_scope scope = { .env = env };
        scope.err = begin(env, flags, __builtin_return_address(0), &thread);
        if (!scope.err) {
                scope.depth = thread->txn.depth;
                scope.id = thread->txn.begun;
        }
        return scope;
}

void xac_scope_leave(xac_scope *scope)
{
        struct thread *thread = scope->err ? NULL : thread_find(scope->env);
        if (!thread)
                return; /* or the environment was closed before the scope was left */
        thread->is_in_library = true;
        if (txn_has_level(&thread->txn, scope->depth, scope->id)) {
                unended_check_scope(&thread->txn, scope->depth);
                txn_abort_to(&thread->txn, scope->depth - 1);
        }
        leave(thread, 0);
}

int xend(xac_env *env)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, txn_end(&thread->txn));
}

int xabort(xac_env *env)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, txn_abort(&thread->txn));
}

int xac_run(xac_env *env, int flags, int (*body)(void *arg), void *arg)
{
        struct thread *thread;
        int err = check_begin_flags(flags);
        if (!err && !body)
                err = -EINVAL;
        if (!err)
                err = enter(env, &thread);
        return err ? err : leave(thread, retry_run(thread, flags, body, arg));
}

int xac_wait(xac_env *env, const struct timespec *timeout)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, wait_for_change(thread, timeout));
}

int xac_snapshot_open(xac_env *env, int flags, xac_snapshot **snapshot)
{
        if (snapshot)
                *snapshot = NULL;
        return env && snapshot ? snapshot_open(env, flags, snapshot) : -EINVAL;
}

int xac_snapshot_open_at(xac_env *env, uint64_t sequence, xac_snapshot **snapshot)
{
        if (snapshot)
                *snapshot = NULL;
        return env && snapshot ? snapshot_open_at(env, sequence, snapshot) : -EINVAL;
}

int xac_snapshot_refresh(xac_snapshot *snapshot, xac_snapshot **fresh)
{
        if (fresh)
                *fresh = NULL;
        return snapshot && fresh ? snapshot_refresh(snapshot, fresh) : -EINVAL;
}

const void *xac_snapshot_map(xac_snapshot *snapshot, const char *file, size_t *length)
{
        const void *base = NULL;
        int err = snapshot && file ? snapshot_map_file(snapshot, file, &base, length) : -EINVAL;
        return err ? map_failed(err) : base;
}

uint64_t xac_snapshot_sequence(const xac_snapshot *snapshot)
{
        return snapshot ? snapshot_sequence(snapshot) : 0;
}

int xac_snapshot_find(xac_snapshot *snapshot, const char *file, xac_snapshot_file *found)
{
        return snapshot && file && found ? snapshot_find_file(snapshot, file, found) : -EINVAL;
}

const void *xac_snapshot_page(const xac_snapshot *snapshot, uint32_t number, uint64_t page)
{
        return snapshot_page(snapshot, number, page);
}

int xac_snapshot_lend(xac_snapshot *snapshot, const void *page)
{
        return snapshot ? snapshot_lend(snapshot, page) : -EINVAL;
}

int xac_snapshot_check(const xac_snapshot *snapshot)
{
        return snapshot ? snapshot_check(snapshot) : -EINVAL;
}

void xac_snapshot_take_back(xac_snapshot *snapshot, const void *page)
{
        if (snapshot)
                snapshot_take_back(snapshot, page);
}

int xac_snapshot_retain(xac_snapshot *snapshot)
{
        return snapshot ? snapshot_retain(snapshot) : -EINVAL;
}

int xac_snapshot_release(xac_snapshot *snapshot)
{
        return snapshot ? snapshot_release(snapshot) : -EINVAL;
}

int xac_snapshot_close(xac_snapshot *snapshot)
{
        return snapshot ? snapshot_close(snapshot) : -EINVAL;
}

int xac_advise(xac_env *env, const void *addr, size_t length, int access)
{
        struct thread *thread;
        if (access != XAC_READ && access != XAC_WRITE && access != XAC_WILLNEED)
                return -EINVAL;
        struct snapshot_map *map = snapshot_map_find(addr);
        if (map && map->env == env)
                return access == XAC_READ    ? snapshot_map_advise(map, addr, length)
                       : access == XAC_WRITE ? -EACCES
                                             : 0; /* the kernel reads ahead there */
        int err = enter(env, &thread);
        if (err)
                return err;
        if (access == XAC_WILLNEED)
                return leave(thread, touch_expect(&thread->txn, addr, length));
        return leave(thread, touch_range(&thread->txn, addr, length, access == XAC_WRITE ? TOUCH_WRITE : TOUCH_READ));
}

const void *xac_page_read(xac_env *env, const void *addr)
{
        struct thread *thread;
        if (enter(env, &thread))
                return NULL;
        const void *bytes = touch_page_read(&thread->txn, addr);
        leave(thread, 0);
        return bytes;
}

void *xac_page_write(xac_env *env, void *addr)
{
        struct thread *thread;
        if (enter(env, &thread))
                return NULL;
        void *bytes = touch_page_write(&thread->txn, addr);
        leave(thread, 0);
        return bytes;
}

/* The same with an address alone. Where there is nothing to be translated to, the access itself is to fault: between
 * transactions, in no view of this thread, and in a signal handler that has interrupted us. */
static inline struct view *enter_view(const void *addr, struct thread **thread)
{
        struct view *view = thread_find_view(addr, thread);
        if (!view || !txn_is_open(&(*thread)->txn) || (*thread)->is_in_library || translation_is_busy())
                return NULL;
        (*thread)->is_in_library = true;
        return view;
}

const void *xac_translate_read(const void *addr)
{
        struct thread *thread;
        void *found = translation_find(addr, TRANSLATED_READ);
        if (found)
                return found;
        struct view *view = enter_view(addr, &thread);
        if (!view)
                return addr;
        addr = touch_translate_read(&thread->txn, view, addr);
        leave(thread, 0);
        return addr;
}

void *xac_translate_write(void *addr)
{
        struct thread *thread;
        void *found = translation_find(addr, TRANSLATED_WRITE);
        if (found)
                return found;
        struct view *view = enter_view(addr, &thread);
        if (!view)
                return addr;
        addr = touch_translate_write(&thread->txn, view, addr);
        leave(thread, 0);
        return addr;
}

int xac_page_move(xac_env *env, void *to, void *from, size_t pages)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, touch_move(&thread->txn, to, from, pages));
}

uint64_t xac_txn_id(xac_env *env)
{
        struct thread *thread;
        if (!env || thread_of(env, &thread) || !txn_is_open(&thread->txn))
                return 0;
        return thread->txn.turn;
}

uint64_t xac_self(xac_env *env)
{
        struct thread *thread;
        uint64_t id = 0;
        if (!enter(env, &thread))
                leave(thread, alive_name(thread, &id));
        return id;
}

/* Does not join: who only watches needs no row. */
int xac_alive(xac_env *env, uint64_t id)
{
        if (!env || !id)
                return -EINVAL;
        return env_is_forked(env) ? XAC_FORKED : alive_find(&env->shared, id);
}

int xac_checkpoint(xac_env *env)
{
        struct thread *thread;
        int err = enter(env, &thread);
        if (err)
                return err;
        return leave(thread, env->flags & XAC_RDONLY ? -EROFS : thread_checkpoint(thread));
}

int xac_sync(xac_env *env)
{
        struct thread *thread;
        int err = enter(env, &thread);
        return err ? err : leave(thread, thread_sync(thread));
}

int xac_backup(xac_env *env, const char *destination, const xac_backup_options *options)
{
        if (!env || !destination)
                return -EINVAL;
        if (options && (options->stream < 0 || !are_zeros(options->reserved, sizeof(options->reserved))))
                return -EINVAL;
        if (env_is_forked(env))
                return XAC_FORKED;
        pthread_testcancel();
        struct uncancelled uncancelled = uncancelled_begin();
        return uncancelled_end(uncancelled, backup_env(env, destination, options));
}

int xac_scrub(xac_env *env, const xac_scrub_options *options, xac_scrub_result *result)
{
        static const xac_scrub_options defaults;
        xac_scrub_result counts = { 0 };
        if (!options)
                options = &defaults;
        if (!env || options->flags & ~(uint32_t)XAC_SCRUB_SUM ||
            !are_zeros(options->reserved, sizeof(options->reserved)))
                return -EINVAL;
        if (env->flags & XAC_RDONLY && options->flags & XAC_SCRUB_SUM)
                return -EROFS;
        pthread_testcancel();
        struct uncancelled uncancelled = uncancelled_begin();
        int err = uncancelled_end(uncancelled, scrub_env(env, options, &counts));
        if (result)
                *result = counts;
        return err;
}

int xac_stat(xac_env *env, xac_stats *stats)
{
        struct thread *thread;
        if (!stats)
                return -EINVAL;
        int err = enter(env, &thread);
        if (err)
                return err;
        handlers_look();
        stats_collect(&env->shared, stats);
        return leave(thread, 0);
}
