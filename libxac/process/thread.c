/* SPDX-License-Identifier: MIT */
#include "libxac/process/thread.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "base/say.h"
#include "libxac/ground/handlers.h"
#include "libxac/process/registry.h"
#include "libxac/process/unended.h"
#include "libxac/store/exclusion.h"
#include "libxac/store/home.h"
#include "libxac/store/pool.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/backlog.h"
#include "libxac/txn/redo.h"
#include "libxac/txn/tracing.h"
#include "libxac/view/touch.h"
#include "libxac/view/translation.h"
#include "libxac/view/view_mapper.h"

/* Programs install their handlers when they start, often after they have opened what they work with. */
enum { WATCHED_BEGINS = 64 };

THREAD_TLS struct thread *thread_list;

static bool has_key;      /* [registry lock] */
static pthread_key_t key; /* only for its destructor */

static void thread_exits(void *unused)
{
        (void)unused;
        registry_lock(); /* the last close, in another thread, would leave for us and free the environment */
        for (struct thread *thread = thread_list; thread; thread = thread->next_of_thread)
                if (thread->env && !env_is_forked(thread->env)) {
                        if (txn_is_open(&thread->txn))
                                unended_tell_of_thread(&thread->txn);
                        thread_leave(thread);
                }
        registry_unlock();
        thread_sweep();
        translations_free();
}

/* exit(0), or a return from main: no key's destructor runs for that thread. A program that fails knows that it did. */
static void program_exits(int status, void *unused)
{
        (void)unused;
        for (struct thread *thread = status ? NULL : thread_list; thread; thread = thread->next_of_thread)
                if (thread->env && !env_is_forked(thread->env) && txn_is_open(&thread->txn))
                        unended_tell_of_program(&thread->txn);
}

int thread_prepare_locked(void)
{
        int err = has_key ? 0 : -pthread_key_create(&key, thread_exits);
        if (err == -EAGAIN)
                say(stderr,
                    "libxac: this program has used up all keys for data of its threads (%d); without one nobody "
                    "would leave the environment when a thread ends\n",
                    PTHREAD_KEYS_MAX);
        if (err || has_key)
                return err;
        has_key = true;
        on_exit(program_exits, NULL); /* it only tells */
        return 0;
}

static void add_to_lists(struct thread *thread)
{
        struct xac_env *env = thread->env;
        pthread_mutex_lock(&env->mutex);
        thread->next_in_env = env->threads;
        env->threads = thread;
        pthread_mutex_unlock(&env->mutex);
        thread->next_of_thread = thread_list;
        thread_list = thread;
}

static void remove_from_env(struct thread *thread)
{
        struct xac_env *env = thread->env;
        pthread_mutex_lock(&env->mutex);
        struct thread **link = &env->threads;
        while (*link && *link != thread)
                link = &(*link)->next_in_env;
        if (*link)
                *link = thread->next_in_env;
        pthread_mutex_unlock(&env->mutex);
}

/* A row; one that a dead process left will do. */
static int join_participants(struct participant *self, struct shared *shared)
{
        int err = participant_join(self, shared);
        if (err != XAC_LIMIT)
                return err;
        takeover_dead(shared, control_owner_of_process(shared->process_no));
        return participant_join(self, shared);
}

static int join(struct xac_env *env, struct thread **out)
{
        if (pthread_setspecific(key, &key)) /* any value: the destructor looks at our lists */
                return -ENOMEM;
        struct thread *thread = calloc(1, sizeof(*thread));
        if (!thread)
                return -ENOMEM;
        int err = join_participants(&thread->self, &env->shared);
        if (err)
                goto fail_join;
        views_init(&thread->views, &thread->self, env->flags & XAC_TRACK);
        err = txn_init(&thread->txn, &thread->self, &env->files, &view_mapper, &thread->views, env->flags);
        if (err)
                goto fail_txn;
        thread->env = env;
        tracing_join(env, &thread->self);
        add_to_lists(thread);
        *out = thread;
        return 0;

fail_txn:
        participant_leave(&thread->self);
fail_join:
        free(thread);
        return err;
}

int thread_find_or_join(struct xac_env *env, struct thread **thread)
{
        if (env_is_forked(env))
                return XAC_FORKED;
        for (struct thread **link = &thread_list; *link; link = &(*link)->next_of_thread) {
                if ((*link)->env != env)
                        continue;
                *thread = *link; /* to the front: it is asked for again soon */
                *link = (*thread)->next_of_thread;
                (*thread)->next_of_thread = thread_list;
                thread_list = *thread;
                return 0;
        }
        return join(env, thread);
}

struct thread *thread_find(const struct xac_env *env)
{
        struct thread *thread = thread_list;
        while (thread && thread->env != env)
                thread = thread->next_of_thread;
        return thread && !env_is_forked(thread->env) ? thread : NULL;
}

struct view *thread_find_view(const void *addr, struct thread **thread)
{
        for (*thread = thread_list; *thread; *thread = (*thread)->next_of_thread) {
                if (!(*thread)->env || env_is_forked((*thread)->env))
                        continue;
                struct view *view = views_find(&(*thread)->views, addr);
                if (view)
                        return view;
        }
        return NULL;
}

static int map_new(struct thread *thread, uint32_t file_no, int flags, struct view **view)
{
        struct files *files = &thread->env->files;
        int err = view_create(files, file_no, files_byte_len(files, file_no), flags, view);
        if (err)
                return err;
        views_add(&thread->views, *view);
        tracing_name(&thread->self, file_no, files->shared->control->file[file_no].name);
        return 0;
}

int thread_map(struct thread *thread, const char *file, uint64_t byte_len, int flags, void **base)
{
        uint32_t file_no;
        handlers_look();
        handlers_watch(WATCHED_BEGINS);
        translation_prepare();
        struct files *files = &thread->env->files;
        int err = flags & XAC_ANYWHERE ? files_open(files, file, byte_len, &file_no)
                                       : files_open_in_place(files, file, byte_len, &file_no);
        if (!err && files_byte_len(files, file_no) > files->file[file_no].reserve_bytes)
                err = -ENOMEM; /* another process let it grow beyond what home is mapped for here */
        if (err)
                return err;
        struct view *view = thread->views.by_file[file_no];
        if (!view)
                err = map_new(thread, file_no, flags, &view);
        else if (flags & XAC_SHARED && !view->address->is_shared)
                err = -EBUSY;
        else if (files_byte_len(files, file_no) > view->reserve_bytes)
                err = -ENOMEM;
        else
                view->uses++;
        if (!err)
                *base = view->base;
        return err;
}

int thread_unmap(struct thread *thread, const void *base)
{
        struct views *views = &thread->views;
        struct view *view = base ? views_find(views, base) : NULL;
        if (!view || view->base != base)
                return XAC_NOVIEW;
        if (view->uses > 1) {
                view->uses--;
                return 0;
        }
        if (txn_is_open(&thread->txn))
                return -EBUSY; /* what it has read there must still be validated */
        views_remove(views, view);
        view_destroy(view);
        return 0;
}

int thread_checkpoint(struct thread *thread)
{
        struct txn *txn = &thread->txn;
        struct home_writer writer = { .self = &thread->self,
                                      .files = &thread->env->files,
                                      .is_in_use = txn_is_open(txn) ? touch_uses_page : NULL,
                                      .in_use_arg = txn,
                                      .keeps_all = txn->is_read_only, /* touch.c: look_at */
                                      .progress = thread->env->progress,
                                      .progress_arg = thread->env->progress_arg,
                                      .may_wait = true };
        return home_checkpoint(&writer);
}

/* In a volatile environment only what is home outlives the machine. */
int thread_sync(struct thread *thread)
{
        struct shared *shared = thread->self.shared;
        if (!shared_is_durable(shared))
                return thread->env->flags & XAC_RDONLY ? -EROFS : thread_checkpoint(thread);
        int err = log_poison(&shared->log);
        if (!err)
                err = backlog_log(&thread->self, &thread->env->files);
        return err ? err : redo_wait(&thread->self, log_end(&shared->log));
}

static void release_views(struct views *views)
{
        for (uint32_t i = 0; i < FILES_MAX; i++) {
                struct view *view = views->by_file[i];
                if (!view)
                        continue;
                views_remove(views, view);
                view_destroy(view);
        }
}

void thread_leave(struct thread *thread)
{
        struct participant *self = &thread->self;
        thread->is_in_library = true;
        remove_from_env(thread);
        txn_abort_all(&thread->txn);
        release_views(&thread->views);
        exclusion_end(self);
        reclaim_hand_over(self);
        pool_flush(self);
        txn_free(&thread->txn);
        tracing_leave(self);
        invariant(!self->free.count && !self->retired.count);
        participant_leave(self);
        thread->env = NULL;
}

void thread_sweep(void)
{
        for (struct thread **link = &thread_list; *link;) {
                struct thread *thread = *link;
                if (thread->env) {
                        link = &thread->next_of_thread;
                        continue;
                }
                *link = thread->next_of_thread;
                free(thread);
        }
}
