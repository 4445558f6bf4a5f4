/* SPDX-License-Identifier: MIT */
#include "libxac/door/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/byte_lock.h"
#include "base/say.h"
#include "base/sys.h"
#include "libxac/care/look.h"
#include "libxac/store/at_rest.h"
#include "libxac/txn/redo.h"
#include "recovery/adopt.h"

enum { LOG_RING_PAGES = 16 /* nothing is logged */ };

/* ---- Locks ---- */

/* The lock of one who may not write to the file would stop those who may (byte_lock.h): so it is not opened. */
static int open_lock_file(struct xac_env *env, bool *may_join, bool *is_there)
{
        int *fd = &env->shared.lock_fd;
        struct stat st;
        int err = sys_open(env->directory, ENV_LOCK_FILE, O_RDWR | O_NONBLOCK, 0, fd);
        *may_join = !err;
        *is_there = err != -ENOENT;
        if (err == -EROFS)
                err = sys_open(env->directory, ENV_LOCK_FILE, O_RDONLY | O_NONBLOCK, 0, fd);
        if (err) {
                *fd = -1;
                return err == -ENOENT || err == -EACCES || err == -EPERM || err == -EROFS ? 0 : err;
        }
        err = sys_stat(*fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = XAC_CORRUPT;
        if (err || (!*may_join && byte_lock_mode(st.st_mode & 0777) != (st.st_mode & 0777))) {
                sys_close(*fd);
                *fd = -1;
        }
        return err;
}

/* Where /proc does not tell, the manifest and the notes do (at_rest.h). Bytes from `first` on. */
static int is_locked_from(const struct xac_env *env, uint32_t first)
{
        struct stat st;
        const uint32_t processes = control_processes_max(env->identity.max_participants);
        if (env->shared.lock_fd >= 0)
                return sys_is_range_locked(env->shared.lock_fd, first, 1 + processes - first);
        if (sys_stat_at(env->directory, ENV_LOCK_FILE, &st))
                return 0;
        const struct byte_lock_file lock = { .fd = -1, .device = st.st_dev, .inode = st.st_ino };
        return byte_lock_is_held(&lock, first, 1 + processes - first) == 1;
}

/* Who opens it has byte 0, and his own byte before he gives that up; by then the manifest is not clean. */
static int is_in_use(const struct xac_env *env)
{
        const bool is_clean = at_rest_manifest(env->at_rest)->is_clean;
        return is_locked_from(env, is_clean || env->shared.lock_fd >= 0 ? 1 : 0);
}

/* ---- What state it is in ---- */

static int refuse_in_use(const struct xac_env *env)
{
        struct stat st;
        const bool is_there = !sys_stat_at(env->directory, ENV_LOCK_FILE, &st);
        if (env->shared.lock_fd >= 0) {
                say(stderr,
                    "libxac: %s: others have it open, and here it is on a read-only mount: who reads beside them has "
                    "to "
                    "lock a byte of " ENV_LOCK_FILE ", by a path where it may be written\n",
                    env->identity.path);
                return -EROFS;
        }
        say(stderr,
            "libxac: %s: others have it open, and who reads beside them has to write to " ENV_LOCK_FILE " and to its "
            "shared memory, as user %u may; else it can be opened when all have closed it\n",
            env->identity.path, (unsigned)(is_there ? st.st_uid : env->identity.directory_owner));
        return -EACCES;
}

/* Unless somebody has brought it into order meanwhile: another look. */
static int refuse_unclean(const struct xac_env *env, const char *what)
{
        if (at_rest_check(env->at_rest))
                return -ECANCELED;
        say(stderr,
            "libxac: %s: %s: a user who may write to it (user %u owns it) opens it once without XAC_RDONLY, or "
            "runs 'xac scrub'\n",
            env->identity.path, what, (unsigned)env->identity.directory_owner);
        return -EUCLEAN;
}

/* A session without a log has not said in the manifest that it has begun. Its processes may be dead, and what they have
 * committed in shared memory. */
static int check_memory(struct xac_env *env, const struct manifest *manifest)
{
        struct look *look;
        if (!manifest->history || manifest->history != manifest->incarnation)
                return 0;
        int err = look_open(env->directory, NULL, manifest, &look);
        if (err == -ENOENT)
                return 0;
        if (!err)
                look_close(look);
        else if (err != -EACCES && err != -EPERM)
                return err;
        return refuse_unclean(
                env, "it was used with XAC_VOLATILE, and what was committed then may be in shared memory alone");
}

/* The lock file that is missing may be made meanwhile, by who is the first to open the environment: another look. */
static int judge(struct xac_env *env, bool may_join, bool is_lock_there)
{
        const struct manifest *manifest = at_rest_manifest(env->at_rest);
        int used = is_in_use(env);
        if (used < 0)
                return used;
        if (used && !is_lock_there)
                return -ECANCELED;
        if (used)
                return may_join ? READING_BESIDE : refuse_in_use(env);
        if (!manifest->is_clean || manifest->buffer >= 0)
                return refuse_unclean(env, "it was not closed, and what its log has is not in its files yet");
        return check_memory(env, manifest);
}

int reading_begin(struct xac_env *env)
{
        bool may_join, is_lock_there;
        int err = open_lock_file(env, &may_join, &is_lock_there);
        if (!err && env->shared.lock_fd >= 0)
                err = byte_lock_share_in_turn(env->shared.lock_fd, 0);
        if (!err)
                err = at_rest_begin(env->directory, &env->at_rest);
        if (!err)
                err = judge(env, may_join, is_lock_there);
        if (err == READING_BESIDE) {
                sys_unlock_byte(env->shared.lock_fd, 0);
                reading_end(env);
        }
        return err;
}

/* ---- At rest ---- */

/* Only the last one is kept: after it the open is refused. */
static void keep_sentence(void *sentence, const char *text)
{
        snprintf(sentence, RECOVER_SENTENCE, "%s", text);
}

/* Files that a medium or a copy has given other times are compared with their checksums. */
static int check_files(struct xac_env *env)
{
        char sentence[RECOVER_SENTENCE] = "";
        struct manifest manifest = *at_rest_manifest(env->at_rest);
        struct recovery recovery = { .directory = env->directory,
                                     .progress = env->progress,
                                     .progress_arg = env->progress_arg };
        const struct adoption adoption = { .recovery = &recovery,
                                           .is_refused = env->flags & XAC_UNCHANGED,
                                           .is_looking = true,
                                           .tell = keep_sentence,
                                           .arg = sentence };
        int err = adopt_run(&adoption, &manifest);
        if (at_rest_check(env->at_rest))
                return -ECANCELED; /* what was found may be a writer's work: another look */
        if (sentence[0])
                say(stderr, "libxac: %s/%s\n", env->identity.path, sentence);
        return err;
}

static void identify(struct xac_env *env, const struct manifest *manifest)
{
        struct shared_identity *identity = &env->identity;
        identity->is_volatile = false; /* all that there is, is on disk */
        identity->generation = manifest->generation;
        identity->session_ns = manifest->session.time_ns;
        identity->sequence = manifest->base_sequence;
        identity->log_ring_bytes = (uint64_t)LOG_RING_PAGES * manifest->page_bytes;
}

static int make_memory(struct xac_env *env)
{
        const struct manifest *manifest = at_rest_manifest(env->at_rest);
        identify(env, manifest);
        int err = shared_create_alone(&env->shared, &env->identity);
        if (err)
                return err;
        struct control *control = env->shared.control;
        log_shared_init(shared_log(&env->shared), control->log_ring_bytes, manifest->incarnation,
                        manifest->base_position);
        atomic_store(&shared_log(&env->shared)->time_ns, manifest->time_ns);
        atomic_store(&control->checkpoint_position, manifest->base_position);
        atomic_store(&control->redo_position, manifest->base_position);
        files_load_entries(&env->shared, manifest);
        redo_attach(&env->shared, env->directory);
        env->shared.process_no = 0;
        atomic_store(&env->shared.processes[0].is_used, 1);
        shared_mark_ready(&env->shared);
        return 0;
}

int reading_open(struct xac_env *env)
{
        int err = check_files(env);
        return err ? err : make_memory(env);
}

void reading_end(struct xac_env *env)
{
        if (env->at_rest)
                at_rest_end(env->at_rest);
        env->at_rest = NULL;
}
