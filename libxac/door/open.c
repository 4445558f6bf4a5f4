/* SPDX-License-Identifier: MIT */
#include "libxac/door/open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup/backup_index.h"
#include "base/byte_lock.h"
#include "base/say.h"
#include "base/sys.h"
#include "libxac/care/archiving.h"
#include "libxac/care/checkpoint.h"
#include "libxac/care/duty.h"
#include "libxac/care/restart.h"
#include "libxac/care/strangers.h"
#include "libxac/door/close.h"
#include "libxac/door/mode_file.h"
#include "libxac/door/reading.h"
#include "libxac/process/fault.h"
#include "libxac/process/registry.h"
#include "libxac/process/thread.h"
#include "libxac/store/options.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/redo.h"
#include "libxac/txn/tracing.h"
#include "libxac/view/snapshot_map.h"
#include "recovery/checksums.h"
#include "recovery/log_format.h"

/* ---- the directory ---- */

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

static int make_lock_file(struct xac_env *env, uint32_t mode)
{
        struct manifest manifest;
        int err = manifest_read(env->directory, &manifest);
        if (!err)
                mode = manifest.mode;
        else if (!(env->flags & XAC_CREATE))
                return -ENOENT;
        else if ((err = mode_file_ask(env->directory, &mode)))
                return err;
        return sys_open(env->directory, ENV_LOCK_FILE, O_RDWR | O_CREAT | O_EXCL, byte_lock_mode((mode_t)mode),
                        &env->shared.lock_fd);
}

/* The lock file is made first. One that an older version of the library has made is open to more. */
static int open_lock_file(struct xac_env *env, uint32_t mode)
{
        int err = sys_open(env->directory, ENV_LOCK_FILE, O_RDWR, 0, &env->shared.lock_fd);
        if (err == -ENOENT)
                err = make_lock_file(env, mode);
        if (err == -EEXIST) /* somebody else's, made meanwhile */
                err = sys_open(env->directory, ENV_LOCK_FILE, O_RDWR, 0, &env->shared.lock_fd);
        if (err)
                return err;
        err = check_plain(env->shared.lock_fd);
        if (!err && (err = byte_lock_tighten(env->shared.lock_fd)))
                sys_close(env->shared.lock_fd);
        return err;
}

/* The lock file may be that of a creator who died before there was a manifest, and wanted other permissions. */
static int create_manifest(struct xac_env *env, const xac_options *options, struct manifest *manifest)
{
        memset(manifest, 0, sizeof(*manifest));
        options_fill_manifest(options, manifest);
        manifest->mode = options_mode(options);
        int err = mode_file_ask(env->directory, &manifest->mode);
        if (err)
                return err;
        err = sys_chmod(env->shared.lock_fd, byte_lock_mode((mode_t)manifest->mode));
        if (err && err != -EPERM) /* that is another user's, who has it opened to us */
                return err;
        mode_file_remove_old(env->directory); /* of those who died before there was a manifest */
        err = sys_random(manifest->uuid, sizeof(manifest->uuid));
        return err ? err : manifest_create(env->directory, manifest);
}

/* Files that are made after the manifest. */
static int is_of_an_environment(void *arg, const char *name)
{
        (void)arg;
        if (strncmp(name, LOG_FILE_PREFIX, strlen(LOG_FILE_PREFIX)) == 0 || checksums_is_name(name) ||
            strcmp(name, BACKUP_INDEX_NAME) == 0)
                return XAC_CORRUPT;
        return 0;
}

/* Where log or checksums lie, somebody has taken the manifest away: a new one would make commits worthless. A backup
 * that continues another has none. */
static int create_manifest_if_new(struct xac_env *env, const xac_options *options, struct manifest *manifest)
{
        int err = sys_list(env->directory, is_of_an_environment, NULL);
        char path[PATH_MAX];
        sys_path_of(env->directory, path, sizeof(path));
        if (err == XAC_CORRUPT)
                say(stderr,
                    "libxac: %s has log or checksums, and no " MANIFEST_NAME ": somebody has taken it away; nothing is "
                    "made in its place, for commits would be lost: take it from a backup\n",
                    path);
        return err ? err : create_manifest(env, options, manifest);
}

static int read_or_create_manifest(struct xac_env *env, const xac_options *options, struct manifest *manifest)
{
        int err = manifest_read(env->directory, manifest);
        if (err == -ENOENT && env->flags & XAC_CREATE)
                return create_manifest_if_new(env, options, manifest);
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
        identity->joins_either = env->flags & XAC_RDONLY;
        identity->generation = manifest->generation;
        identity->session_ns = manifest->session.time_ns;
        memcpy(identity->uuid, manifest->uuid, sizeof(identity->uuid));
        sys_path_of(env->directory, identity->path, sizeof(identity->path));
        options_fill_identity(options, manifest, identity);
}

/* ---- shared memory ---- */

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
        return XAC_LIMIT;
}

/* Shared memory that was poisoned, and that nobody uses any more, is discarded: the log says what is true. */
static int is_worth_joining(struct xac_env *env)
{
        struct shared *shared = &env->shared;
        if (!shared_is_durable(shared) || !atomic_load(&shared_log(shared)->poison) ||
            shared_is_any_other_alive(shared, env->identity.max_participants))
                return 0;
        shared_detach(shared);
        return -ENOENT;
}

/* Others write the manifest when they create files: what it said a moment ago may be old. */
static int attach(struct xac_env *env, struct manifest *manifest)
{
        for (;;) {
                int err = shared_attach(&env->shared, &env->identity);
                if (!err)
                        err = archiving_check_joined(env);
                if (!err)
                        return is_worth_joining(env);
                if (err != -ENOENT)
                        return err;
                int read_err = manifest_read(env->directory, manifest);
                if (read_err)
                        return read_err;
                if (manifest->generation == env->identity.generation)
                        return -ENOENT;
                env->identity.generation = manifest->generation;
                env->identity.session_ns = manifest->session.time_ns;
        }
}

static void detach(struct xac_env *env)
{
        redo_detach(&env->shared);
        shared_detach(&env->shared);
}

/* Who only reads does not recover it, and is not the first to open it: -ECANCELED. */
static int attach_or_create(struct xac_env *env, struct manifest *manifest)
{
        int err = attach(env, manifest);
        if (err == -ENOENT)
                err = env->flags & XAC_RDONLY ? -ECANCELED : restart_env(env, manifest);
        if (err)
                return err;
        redo_attach(&env->shared, env->directory);
        err = take_process_row(&env->shared);
        if (err) {
                detach(env);
                return err;
        }
        takeover_dead(&env->shared, control_owner_of_process(env->shared.process_no));
        err = checkpoint_mark_unclean(&env->shared, env->directory);
        if (err) {
                atomic_store(&env->shared.processes[env->shared.process_no].is_used, 0);
                detach(env);
        }
        return err;
}

static void prepare_files(struct xac_env *env, const xac_options *options)
{
        files_init(&env->files, &env->shared, env->directory, options_reserve_bytes(options, env->shared.page_bytes),
                   options->address);
        env->files.checkpoint = checkpoint_run;
        env->files.chunks = &env->chunks;
        tracing_open(env);
}

/* One that could not be opened after all is not there: the same call makes it when what it lacks has come. Nobody else
 * has it open. One that has a log already is an environment. */
static void remove_new(struct xac_env *env)
{
        int err = sys_unlink(env->directory, MANIFEST_NAME);
        if (!err)
                (void)sys_sync(env->directory);
}

/* Caller holds byte 0 of the lock file. */
static int open_new_or_old(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        struct manifest manifest;
        int err = read_or_create_manifest(env, options, &manifest);
        if (!err)
                err = options_check_page_bytes(manifest.page_bytes); /* it may be from a machine of smaller pages */
        if (err)
                return err;
        identify(env, st, &manifest, options);
        err = archiving_identify(env, options);
        if (!err)
                err = attach_or_create(env, &manifest);
        if (err == -EACCES)
                strangers_tell(&env->identity);
        if (err)
                return err;
        prepare_files(env, options);
        if (env->flags & XAC_RDONLY)
                files_only_read(&env->files, NULL);
        duty_start(env); /* without it committers do its work */
        archiving_start(env);
        return 0;
}

static int open_locked(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        struct stat was;
        const bool is_new = sys_stat_at(env->directory, MANIFEST_NAME, &was) == -ENOENT;
        int err = open_new_or_old(env, st, options);
        if (err && is_new && !sys_list(env->directory, is_of_an_environment, NULL))
                remove_new(env);
        return err;
}

/* ---- open ---- */

/* Beside others who have it open. -ECANCELED: nobody has any more. */
static int join_for_reading(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        int err = byte_lock_wait_in_turn(env->shared.lock_fd, 0);
        if (err)
                return err;
        err = open_locked(env, st, options);
        sys_unlock_byte(env->shared.lock_fd, 0);
        if (err == -ECANCELED && shared_is_any_other_alive(&env->shared, env->identity.max_participants) == 1)
                err = -EBUSY; /* their shared memory is not ours to see */
        return err;
}

/* In the way that the environment is in, which may change meanwhile. */
static int try_to_read(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        struct manifest manifest;
        int err = manifest_read(env->directory, &manifest);
        if (!err)
                err = options_check_page_bytes(manifest.page_bytes);
        if (err)
                return err;
        identify(env, st, &manifest, options);
        err = reading_begin(env);
        if (err == READING_BESIDE)
                err = join_for_reading(env, st, options);
        else if (!err && !(err = reading_open(env)))
                prepare_files(env, options);
        if (err)
                reading_end(env);
        else
                files_only_read(&env->files, env->at_rest);
        if (err)
                sys_close(env->shared.lock_fd);
        return err;
}

static int open_for_reading(struct xac_env *env, const struct stat *st, const xac_options *given)
{
        enum { TRIES = 100 };
        xac_options options = *given;
        int err = -ECANCELED;
        options.archive = NULL; /* that is for those who write */
        for (int i = 0; err == -ECANCELED && i < TRIES; i++)
                err = try_to_read(env, st, &options);
        return err == -ECANCELED ? -EBUSY : err;
}

static int open_files_of(struct xac_env *env, const struct stat *st, const xac_options *options)
{
        if (env->flags & XAC_RDONLY)
                return open_for_reading(env, st, options);
        int err = open_lock_file(env, options_mode(options));
        if (err)
                return err;
        err = byte_lock_wait_in_turn(env->shared.lock_fd, 0);
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
        env->close_last = close_last_locked;
        env->progress = options->progress;
        env->progress_arg = options->progress_arg;
        pthread_mutex_init(&env->mutex, NULL);
        pthread_mutex_init(&env->shared.participant_mutex, NULL);
        pthread_mutex_init(&env->shared.file_mutex, NULL);
        int err = fault_install();
        if (!err)
                err = thread_prepare_locked();
        if (!err)
                err = registry_make_fork_guard(env);
        if (err)
                goto fail_guard;
        err = chunks_open(&env->chunks, options_scan_bytes(options), snapshot_map_empty_shelf, env);
        if (err)
                goto fail_chunks;
        err = open_files_of(env, st, options);
        if (err)
                goto fail_open;
        registry_add_locked(env);
        *out = env;
        return 0;

fail_open:
        chunks_close(&env->chunks);
fail_chunks:
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
        if ((flags ^ env->flags) & (XAC_VOLATILE | XAC_RDONLY))
                return -EINVAL;
        env->opens++;
        return 0;
}

static void tell_of_limit(const char *dir)
{
        say(stderr,
            "libxac: %s: this process may not have files as long as the environment's shared memory, the longest of "
            "which has %llu bytes, nearly all holes (RLIMIT_FSIZE): 'ulimit -f unlimited', or a limit beyond that\n",
            dir, (unsigned long long)SHARED_HEADS_BYTES);
}

static void tell_of_device(const char *dir)
{
        uint64_t all, unused;
        if (sys_space(SHARED_DIRECTORY, &all, &unused) == -ENOENT)
                say(stderr,
                    "libxac: %s: there is no " SHARED_DIRECTORY
                    ", where shared memory lies: 'mount -t tmpfs tmpfs " SHARED_DIRECTORY
                    "' (in a chroot, under its root)\n",
                    dir);
        else
                say(stderr,
                    "libxac: %s: /proc/sys/kernel/random/boot_id is not there, and nothing else tells whether shared "
                    "memory is of this boot: 'mount -t proc proc /proc' (in a chroot, under its root)\n",
                    dir);
}

static int open_registered(const char *dir, int flags, const xac_options *options, struct xac_env **env)
{
        struct stat st;
        int directory;
        int err = open_directory(dir, flags, options_mode(options), &directory);
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
        int err = options_check_flags(flags);
        if (!err)
                err = options_check(options);
        if (err)
                return err;
        registry_lock();
        err = open_registered(dir, flags, options, env);
        registry_unlock();
        if (err == -EFBIG)
                tell_of_limit(dir);
        if (err == -ENODEV)
                tell_of_device(dir);
        return err;
}
