/* SPDX-License-Identifier: MIT */
#include "libxac/env.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/fault.h"
#include "libxac/home.h"
#include "libxac/pool.h"
#include "libxac/reclaim.h"
#include "libxac/takeover.h"
#include "libxac/thread.h"

#define GIB (UINT64_C(1) << 30)

enum {
        PAGE_BYTES_MIN = 4096,
        PAGE_BYTES_MAX = 65536,
        PARTICIPANTS_DEFAULT = 1024,
        POOL_SLOTS_MIN = 64,
        MODE_DEFAULT = 0600
};

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct xac_env *registry;

/* ---- fork (P9) ---- */

static void before_fork(void)
{
        pthread_mutex_lock(&registry_mutex);
}

static void after_fork_in_parent(void)
{
        pthread_mutex_unlock(&registry_mutex);
}

/* The child lets go of all that would keep the parent looking alive or its memory pinned. The
 * objects stay, so that calls on them can say XAC_FORKED. */
static void after_fork_in_child(void)
{
        pthread_mutex_init(&registry_mutex, NULL);
        view_unmap_all_in_child();
        for (struct xac_env *env = registry; env; env = env->next) {
                sys_close(env->shared.lock_fd);
                files_close_all(&env->files);
                shared_detach(&env->shared);
                sys_close(env->directory);
        }
        registry = NULL;
}

static void handle_forks(void)
{
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static int make_fork_guard(struct xac_env *env)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        void *page;
        pthread_once(&once, handle_forks);
        int err = sys_mmap(NULL, PAGE_BYTES_MIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &page);
        if (err)
                return err;
        err = sys_madvise(page, PAGE_BYTES_MIN, MADV_WIPEONFORK);
        if (err) {
                sys_munmap(page, PAGE_BYTES_MIN);
                return err;
        }
        env->fork_guard = page;
        *env->fork_guard = 1;
        return 0;
}

/* ---- options ---- */

static bool is_power_of_two(uint64_t n)
{
        return n && !(n & (n - 1));
}

static int check_options(const xac_options *options)
{
        if (options->page_bytes && (!is_power_of_two(options->page_bytes) || options->page_bytes < PAGE_BYTES_MIN ||
                                    options->page_bytes > PAGE_BYTES_MAX))
                return -EINVAL;
        return options->max_participants > PARTICIPANTS_MAX || options->mode & ~0777U ? -EINVAL : 0;
}

static int check_flags(int flags)
{
        const int known = XAC_CREATE | XAC_EXCL | XAC_NOSYNC | XAC_VOLATILE | XAC_TRACK | XAC_STRICT;
        if (flags & ~known || (flags & XAC_EXCL && !(flags & XAC_CREATE)))
                return -EINVAL;
        return flags & XAC_VOLATILE ? 0 : -ENOTSUP; /* durable environments are the next release's */
}

/* Half of the machine's memory, at most 4 GiB. */
static uint64_t default_pool_bytes(void)
{
        uint64_t half = sys_memory_bytes() / 2;
        return half < 4 * GIB ? half : 4 * GIB;
}

static uint32_t pool_slots(uint64_t pool_bytes, uint32_t page_bytes)
{
        uint64_t slots = (pool_bytes + page_bytes - 1) / page_bytes + 1; /* slot 0 is home */
        if (slots < POOL_SLOTS_MIN)
                slots = POOL_SLOTS_MIN;
        return slots > SLOT_MASK ? (uint32_t)SLOT_MASK : (uint32_t)slots;
}

/* ---- the directory ---- */

/* umask(2) can only be read by setting it: the mode a new file gets tells it too. */
static int mode_under_umask(int directory, uint32_t *mode)
{
        struct stat st;
        int fd;
        int err = sys_open(directory, ENV_LOCK_FILE, O_RDWR | O_CREAT | O_EXCL, (mode_t)*mode, &fd);
        if (err)
                return err;
        err = sys_stat(fd, &st);
        sys_close(fd);
        *mode = st.st_mode & 0777;
        return err;
}

/* Whoever may read may also search. */
static mode_t directory_mode(uint32_t mode)
{
        return (mode_t)(mode | (mode & 0444) >> 2);
}

static int open_directory(const char *dir, int flags, uint32_t mode, int *directory)
{
        int err = 0;
        if (flags & XAC_CREATE)
                err = sys_mkdir(AT_FDCWD, dir, directory_mode(mode));
        if (err && err != -EEXIST)
                return err;
        return sys_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, directory);
}

/* The lock file is made first; its mode is the environment's, whatever comes later. */
static int open_lock_file(struct xac_env *env, uint32_t mode)
{
        int err = 0;
        if (env->flags & XAC_CREATE)
                err = mode_under_umask(env->directory, &mode);
        if (err && err != -EEXIST)
                return err;
        err = sys_open(env->directory, ENV_LOCK_FILE, O_RDWR, 0, &env->shared.lock_fd);
        struct manifest manifest;
        if (err == -ENOENT && !manifest_read(env->directory, &manifest)) /* a copy of data and manifest */
                err = sys_open(env->directory, ENV_LOCK_FILE, O_RDWR | O_CREAT, (mode_t)manifest.mode,
                               &env->shared.lock_fd);
        return err;
}

static int create_manifest(struct xac_env *env, const xac_options *options, struct manifest *manifest)
{
        struct stat st;
        int err = sys_stat(env->shared.lock_fd, &st);
        if (err)
                return err;
        memset(manifest, 0, sizeof(*manifest));
        manifest->page_bytes = options->page_bytes ? options->page_bytes : PAGE_BYTES_MIN;
        manifest->max_participants = options->max_participants;
        if (manifest->max_participants < PARTICIPANTS_DEFAULT)
                manifest->max_participants = PARTICIPANTS_DEFAULT;
        manifest->mode = st.st_mode & 0777;
        err = sys_random(manifest->uuid, sizeof(manifest->uuid));
        return err ? err : manifest_create(env->directory, manifest);
}

static int read_or_create_manifest(struct xac_env *env, const xac_options *options, struct manifest *manifest)
{
        int err = manifest_read(env->directory, manifest);
        if (err == -ENOENT && env->flags & XAC_CREATE)
                return create_manifest(env, options, manifest);
        if (!err && env->flags & XAC_EXCL)
                return -EEXIST;
        return err;
}

static void identify(struct xac_env *env, const struct stat *st, const struct manifest *manifest,
                     const xac_options *options)
{
        struct shared_identity *identity = &env->identity;
        identity->device = st->st_dev;
        identity->inode = st->st_ino;
        identity->directory_owner = st->st_uid;
        identity->page_bytes = manifest->page_bytes;
        identity->max_participants = manifest->max_participants;
        identity->mode = manifest->mode;
        identity->is_volatile = env->flags & XAC_VOLATILE;
        identity->generation = manifest->generation;
        memcpy(identity->uuid, manifest->uuid, sizeof(identity->uuid));
        uint64_t pool_bytes = options->pool_bytes ? options->pool_bytes : default_pool_bytes();
        identity->pool_slots = pool_slots(pool_bytes, manifest->page_bytes);
}

/* ---- shared memory ---- */

/* 1 if any other process has the environment open, 0 if none, or an error. */
static int is_anybody_alive(struct xac_env *env)
{
        return sys_is_range_locked(env->shared.lock_fd, 1, control_processes_max(env->identity.max_participants));
}

/* New shared memory means that earlier shared memory must never be believed again. */
static int create_shared(struct xac_env *env, struct manifest *manifest)
{
        int err = is_anybody_alive(env);
        if (err)
                return err < 0 ? err : -EBUSY; /* it lives where its shared memory is not ours: a container */
        err = manifest_write(env->directory, manifest);
        if (err)
                return err;
        env->identity.generation = manifest->generation;
        err = shared_create(&env->shared, &env->identity);
        if (err)
                return err;
        files_load_names(&env->shared, manifest);
        shared_mark_ready(&env->shared);
        return 0;
}

static int take_process_row(struct shared *shared)
{
        uint32_t max = control_processes_max(shared->control->max_participants);
        for (uint32_t i = 0; i < max; i++) {
                if (atomic_load(&shared->processes[i].is_used))
                        continue; /* also if dead: its row is reused only after its takeover */
                int err = sys_lock_byte(shared->lock_fd, i + 1, false);
                if (err == -EAGAIN)
                        continue;
                if (err)
                        return err;
                shared->process_no = i;
                atomic_store(&shared->processes[i].pid, (uint32_t)getpid());
                atomic_store(&shared->processes[i].is_used, 1);
                return 0;
        }
        return XAC_BUSY;
}

/* Others write the manifest when they create files: what it said a moment ago may be old. */
static int attach(struct xac_env *env, struct manifest *manifest)
{
        for (;;) {
                int err = shared_attach(&env->shared, &env->identity);
                if (err != -ENOENT)
                        return err;
                int read_err = manifest_read(env->directory, manifest);
                if (read_err)
                        return read_err;
                if (manifest->generation == env->identity.generation)
                        return -ENOENT;
                env->identity.generation = manifest->generation;
        }
}

static int attach_or_create(struct xac_env *env, struct manifest *manifest)
{
        int err = attach(env, manifest);
        if (err == -ENOENT)
                err = create_shared(env, manifest);
        if (err)
                return err;
        err = take_process_row(&env->shared);
        if (err)
                shared_detach(&env->shared);
        else
                takeover_dead(&env->shared, control_owner_of_process(env->shared.process_no));
        return err;
}

/* Caller holds byte 0 of the lock file. */
static int open_locked(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        struct manifest manifest;
        int err = read_or_create_manifest(env, options, &manifest);
        if (err)
                return err;
        identify(env, st, &manifest, options);
        err = attach_or_create(env, &manifest);
        if (err)
                return err;
        uint64_t reserve = options->reserve_bytes ? options->reserve_bytes : 64 * GIB;
        reserve = (reserve + manifest.page_bytes - 1) / manifest.page_bytes * manifest.page_bytes;
        files_init(&env->files, &env->shared, env->directory, reserve);
        return 0;
}

/* ---- open ---- */

static struct xac_env *find_open(const struct stat *st)
{
        for (struct xac_env *env = registry; env; env = env->next)
                if (env->identity.device == st->st_dev && env->identity.inode == st->st_ino)
                        return env;
        return NULL;
}

static int open_files_of(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        int err = open_lock_file(env, options->mode ? options->mode : MODE_DEFAULT);
        if (err)
                return err;
        err = sys_lock_byte(env->shared.lock_fd, 0, true);
        if (!err) {
                err = open_locked(env, st, options);
                sys_unlock_byte(env->shared.lock_fd, 0);
        }
        if (err)
                sys_close(env->shared.lock_fd);
        return err;
}

static int open_new(int directory, const struct stat *st, int flags, const xac_options *options, struct xac_env **out)
{
        struct xac_env *env = calloc(1, sizeof(*env));
        if (!env)
                return -ENOMEM;
        env->directory = directory;
        env->flags = flags;
        env->opens = 1;
        env->progress = options->progress;
        env->progress_arg = options->progress_arg;
        pthread_mutex_init(&env->mutex, NULL);
        pthread_mutex_init(&env->shared.process_mutex, NULL);
        int err = fault_install();
        if (!err)
                err = make_fork_guard(env);
        if (err)
                goto fail_guard;
        err = open_files_of(env, st, options);
        if (err)
                goto fail_open;
        env->next = registry;
        registry = env;
        *out = env;
        return 0;

fail_open:
        sys_munmap((void *)env->fork_guard, PAGE_BYTES_MIN);
fail_guard:
        free(env);
        return err;
}

/* The same directory once more: the same object, if it is open the same way. */
static int open_again(struct xac_env *env, int flags)
{
        if (flags & XAC_EXCL)
                return -EEXIST;
        env->opens++;
        return 0;
}

static int open_registered(const char *dir, int flags, const xac_options *options, struct xac_env **env)
{
        struct stat st;
        int directory;
        int err = open_directory(dir, flags, options->mode ? options->mode : MODE_DEFAULT, &directory);
        if (err)
                return err;
        err = sys_stat(directory, &st);
        *env = err ? NULL : find_open(&st);
        if (!err && *env)
                err = open_again(*env, flags);
        else if (!err && !(err = open_new(directory, &st, flags, options, env)))
                return 0;
        sys_close(directory);
        if (err)
                *env = NULL;
        return err;
}

int env_open(const char *dir, int flags, const xac_options *options, struct xac_env **env)
{
        static const xac_options defaults;
        if (!options)
                options = &defaults;
        int err = check_flags(flags);
        if (!err)
                err = check_options(options);
        if (err)
                return err;
        pthread_mutex_lock(&registry_mutex);
        err = open_registered(dir, flags, options, env);
        pthread_mutex_unlock(&registry_mutex);
        return err;
}

/* ---- close ---- */

static bool is_another_thread_in_transaction(struct xac_env *env)
{
        bool is_any = false;
        pthread_mutex_lock(&env->mutex);
        for (struct thread *thread = env->threads; thread; thread = thread->next_in_env)
                is_any |= txn_is_open(&thread->txn) && thread != thread_list;
        pthread_mutex_unlock(&env->mutex);
        return is_any;
}

/* The last process brings everything home, and then the shared memory may go. */
static int write_home_as_last(struct xac_env *env)
{
        struct participant self;
        takeover_dead(&env->shared, control_owner_of_process(env->shared.process_no));
        int err = participant_join(&self, &env->shared);
        if (err)
                return err;
        struct home_writer writer = { .self = &self,
                                      .files = &env->files,
                                      .progress = env->progress,
                                      .progress_arg = env->progress_arg,
                                      .may_wait = true };
        err = home_write(&writer);
        reclaim_hand_over(&self);
        pool_flush(&self);
        participant_leave(&self);
        return err;
}

/* Caller holds byte 0 of the lock file. */
static int leave_locked(struct xac_env *env)
{
        int err = is_anybody_alive(env);
        if (err == 0) {
                err = write_home_as_last(env);
                if (!err)
                        shared_remove(&env->identity);
        } else if (err > 0) {
                err = 0;
        }
        atomic_store(&env->shared.processes[env->shared.process_no].is_used, 0);
        return err;
}

static void remove_from_registry(struct xac_env *env)
{
        struct xac_env **link = &registry;
        while (*link != env)
                link = &(*link)->next;
        *link = env->next;
}

static int close_last(struct xac_env *env)
{
        if (is_another_thread_in_transaction(env))
                return -EBUSY;
        while (env->threads)
                thread_leave(env->threads);
        thread_sweep();
        sys_lock_byte(env->shared.lock_fd, 0, true);
        int err = leave_locked(env);
        sys_close(env->shared.lock_fd); /* and with it all its locks */
        remove_from_registry(env);
        files_close_all(&env->files);
        shared_detach(&env->shared);
        sys_close(env->directory);
        sys_munmap((void *)env->fork_guard, PAGE_BYTES_MIN);
        pthread_mutex_destroy(&env->mutex);
        pthread_mutex_destroy(&env->shared.process_mutex);
        free(env);
        return err;
}

int env_close(struct xac_env *env)
{
        int err = 0;
        if (env_is_forked(env))
                return XAC_FORKED;
        pthread_mutex_lock(&registry_mutex);
        if (env->opens > 1)
                env->opens--;
        else
                err = close_last(env);
        pthread_mutex_unlock(&registry_mutex);
        return err;
}
