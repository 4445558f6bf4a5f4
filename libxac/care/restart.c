/* SPDX-License-Identifier: MIT */
#include "libxac/care/restart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "libxac/care/archiving.h"
#include "libxac/care/leftover.h"
#include "libxac/store/options.h"
#include "recovery/adopt.h"
#include "recovery/checksums.h"
#include "recovery/recover.h"

static int recover(struct xac_env *env, struct manifest *manifest)
{
        struct recovery recovery = { .directory = env->directory,
                                     .area_bytes = env->identity.area_bytes,
                                     .progress = env->progress,
                                     .progress_arg = env->progress_arg };
        int err = recover_run(&recovery, manifest); /* at once if the last one to leave has left it clean */
        if (!err && recovery.files_unknown)
                say(stderr,
                    "libxac: %s: some checksums (" CHECKSUMS_NAME_PREFIX
                    "N) are not what they were, as a power cut may "
                    "leave them: 'xac check' counts the pages of which nothing is known\n",
                    env->identity.path);
        return err;
}

/* Its times go on from the last ones, whatever the clock says. */
static void name_session(struct manifest *manifest)
{
        uint64_t now_ns = sys_wall_ns();
        manifest->session = (struct manifest_session){ .incarnation = manifest->incarnation,
                                                       .history = manifest->history,
                                                       .position = manifest->base_position,
                                                       .time_ns = now_ns,
                                                       .parent_ns = manifest_logged_last(manifest) };
        if (now_ns <= manifest->time_ns) {
                uint32_t apart = 0; /* from the time that a copy takes, which cannot ask the clock either */
                (void)sys_random(&apart, sizeof(apart));
                manifest->session.time_ns = manifest->time_ns + 1 + apart;
        }
        manifest->time_ns = manifest->session.time_ns;
}

/* The directory of its name is no archive to begin anew, whoever works without it meanwhile (R40). */
static void leave_archive(const struct xac_env *env, struct manifest_archive *archive)
{
        if (archive->path[0] && archive->device == env->identity.device && archive->inode == env->identity.inode)
                archive->is_left = 1;
        else
                memset(archive, 0, sizeof(*archive));
}

/* For tools that open it later. */
static void name_archive(const struct xac_env *env, struct manifest *manifest)
{
        const struct shared_identity *identity = &env->identity;
        struct manifest_archive *archive = &manifest->archive;
        if (!identity->archive[0]) {
                leave_archive(env, archive);
                return;
        }
        memset(archive, 0, sizeof(*archive));
        archive->device = identity->device;
        archive->inode = identity->inode;
        archive->held_bytes = identity->archive_held;
        archive->flags = (identity->archive_may_drop ? XAC_ARCHIVE_DROP : 0) |
                         (identity->archive_is_packed ? 0 : XAC_ARCHIVE_PLAIN);
        memcpy(archive->marker, identity->archive_marker, sizeof(archive->marker));
        strcpy(archive->path, identity->archive);
}

_Static_assert((int)CONTROL_PATH_BYTES <= (int)MANIFEST_PATH_BYTES, "the manifest has room for what shared memory has");

struct told {
        const struct xac_env *env;
        struct manifest *manifest;
        bool is_any, has_begun;
};

static void tell_of_adoption(void *arg, const char *sentence)
{
        struct told *told = arg;
        told->is_any = true;
        say(stderr, "libxac: %s/%s\n", told->env->identity.path, sentence);
}

/* What an archive has does not lead there. A volatile session has a history of its number already. */
static int begin_adoption(void *arg)
{
        struct told *told = arg;
        if (told->has_begun)
                return 0;
        told->manifest->history = ++told->manifest->incarnation;
        told->has_begun = true;
        return manifest_write(told->env->directory, told->manifest);
}

/* Were the data files changed while nobody had them open (R29)? */
static int adopt(struct xac_env *env, struct manifest *manifest)
{
        struct told told = { .env = env, .manifest = manifest };
        struct recovery recovery = { .directory = env->directory,
                                     .progress = env->progress,
                                     .progress_arg = env->progress_arg };
        const struct adoption adoption = { .recovery = &recovery,
                                           .is_refused = env->flags & XAC_UNCHANGED,
                                           .tell = tell_of_adoption,
                                           .begin = begin_adoption,
                                           .arg = &told };
        int err = adopt_run(&adoption, manifest);
        return !err && told.is_any ? begin_adoption(&told) : err;
}

/* Only what was closed cleanly may have been changed by others: what was not is recovered, and must agree. */
static int recover_or_adopt(struct xac_env *env, struct manifest *manifest)
{
        return manifest->is_clean && manifest->buffer < 0 ? adopt(env, manifest) : recover(env, manifest);
}

/* The log goes on where recovery, or the last close, has left it. */
static int prepare_log(struct xac_env *env, struct manifest *manifest)
{
        struct control *control = env->shared.control;
        struct log_shared *log = shared_log(&env->shared);
        log->table.segment_bytes = manifest->segment_bytes;
        memcpy(log->table.uuid, manifest->uuid, sizeof(log->table.uuid));
        int err = log_table_load(&log->table, env->directory, manifest->mode, manifest->redo_position,
                                 manifest->base_position);
        if (err)
                return err;
        log_shared_init(log, control->log_ring_bytes, manifest->incarnation, manifest->base_position);
        name_session(manifest);
        atomic_store(&log->time_ns, manifest->session.time_ns);
        archiving_begin(env, manifest);
        atomic_store(&control->checkpoint_position, manifest->base_position);
        atomic_store(&control->redo_position, manifest->redo_position);
        return 0;
}

/* The log, and the manifest that says that from now on there may be something to replay. Its generation makes
 * earlier shared memory unbelievable; what is appended has an incarnation of its own. */
static int begin_session(struct xac_env *env, struct manifest *manifest)
{
        int err = 0;
        manifest->incarnation++;
        name_archive(env, manifest);
        if (shared_is_durable(&env->shared)) {
                manifest->is_clean = 0;
                err = prepare_log(env, manifest);
        } else {
                manifest->history = manifest->incarnation; /* what it changes is in no log */
        }
        env->identity.session_ns = env->shared.control->session_ns = manifest->session.time_ns;
        return err ? err : manifest_write(env->directory, manifest);
}

int restart_env(struct xac_env *env, struct manifest *manifest)
{
        int err = shared_is_any_other_alive(&env->shared, env->identity.max_participants);
        if (err)
                return err < 0 ? err : -EBUSY;
        err = recover_or_adopt(env, manifest);
        if (err)
                return err;
        env->identity.generation = manifest->generation + 1;
        env->identity.sequence = manifest->base_sequence;
        err = shared_remove_old(&env->identity);
        if (err)
                return err;
        err = archiving_catch_up(env, manifest);
        if (err)
                return err;
        leftovers_remove_gone(env->directory, env->identity.device);
        options_fit_pool(&env->identity);
        directory_mark_make(env->directory, &env->identity.mark);
        err = shared_create(&env->shared, &env->identity);
        if (err)
                return err;
        err = begin_session(env, manifest);
        if (err)
                goto fail_session;
        files_load_entries(&env->shared, manifest);
        shared_mark_ready(&env->shared);
        return 0;

fail_session:
        shared_detach(&env->shared);
        shared_remove(&env->identity);
        return err;
}
