/* SPDX-License-Identifier: MIT */
#include "libxac/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/fault.h"
#include "libxac/registry.h"
#include "libxac/takeover.h"

#define GIB (UINT64_C(1) << 30)
#define RESERVE_DEFAULT (16 * GIB) /* a thousand threads with several views each still fit */

enum {
        PAGE_BYTES_DEFAULT = 4096,
        PAGE_BYTES_MAX = 65536,
        PARTICIPANTS_DEFAULT = 1024,
        POOL_SLOTS_MIN = 64,
        MODE_DEFAULT = 0600
};

/* ---- options ---- */

static bool is_power_of_two(uint64_t n)
{
        return n && !(n & (n - 1));
}

/* No smaller than what the machine can map singly. */
static uint32_t page_bytes_min(void)
{
        return (uint32_t)sysconf(_SC_PAGESIZE);
}

static int check_page_bytes(uint32_t page_bytes)
{
        bool is_right = is_power_of_two(page_bytes) && page_bytes >= page_bytes_min() && page_bytes <= PAGE_BYTES_MAX;
        return is_right ? 0 : -EINVAL;
}

static int check_options(const xac_options *options)
{
        if (options->max_participants > PARTICIPANTS_MAX || options->mode & ~0777U)
                return -EINVAL;
        return options->page_bytes ? check_page_bytes(options->page_bytes) : 0;
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

/* A FIFO or a device in its place would take no locks, or worse. */
static int check_plain(int fd)
{
        struct stat st;
        int err = sys_stat(fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = XAC_CORRUPT;
        if (err)
                sys_close(fd);
        return err;
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
        return err ? err : check_plain(env->shared.lock_fd);
}

static int create_manifest(struct xac_env *env, const xac_options *options, struct manifest *manifest)
{
        struct stat st;
        int err = sys_stat(env->shared.lock_fd, &st);
        if (err)
                return err;
        memset(manifest, 0, sizeof(*manifest));
        manifest->page_bytes = options->page_bytes;
        if (!manifest->page_bytes)
                manifest->page_bytes = page_bytes_min() > PAGE_BYTES_DEFAULT ? page_bytes_min() : PAGE_BYTES_DEFAULT;
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
        identity->directory_group = st->st_gid;
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

/* New shared memory means that earlier shared memory must never be believed again. */
static int create_shared(struct xac_env *env, struct manifest *manifest)
{
        int err = shared_is_any_other_alive(&env->shared, env->identity.max_participants);
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
        if (!err)
                err = check_page_bytes(manifest.page_bytes); /* it may be from a machine of smaller pages */
        if (err)
                return err;
        identify(env, st, &manifest, options);
        err = attach_or_create(env, &manifest);
        if (err)
                return err;
        uint64_t reserve = options->reserve_bytes ? options->reserve_bytes : RESERVE_DEFAULT;
        reserve = (reserve + manifest.page_bytes - 1) / manifest.page_bytes * manifest.page_bytes;
        files_init(&env->files, &env->shared, env->directory, reserve);
        return 0;
}

/* ---- open ---- */

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
                err = registry_make_fork_guard(env);
        if (err)
                goto fail_guard;
        err = open_files_of(env, st, options);
        if (err)
                goto fail_open;
        registry_add_locked(env);
        *out = env;
        return 0;

fail_open:
        registry_free_fork_guard(env);
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
        *env = err ? NULL : registry_find_locked(&st);
        if (!err && *env)
                err = open_again(*env, flags);
        else if (!err && !(err = open_new(directory, &st, flags, options, env)))
                return 0;
        sys_close(directory);
        if (err)
                *env = NULL;
        return err;
}

int open_env(const char *dir, int flags, const xac_options *options, struct xac_env **env)
{
        static const xac_options defaults;
        if (!options)
                options = &defaults;
        int err = check_flags(flags);
        if (!err)
                err = check_options(options);
        if (err)
                return err;
        registry_lock();
        err = open_registered(dir, flags, options, env);
        registry_unlock();
        return err;
}
