/* SPDX-License-Identifier: MIT */
#include "libxac/care/archiving.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "libxac/care/archive_place.h"
#include "libxac/ground/handlers.h"
#include "recovery/archive_keep.h"
#include "recovery/log_files.h"
#include "recovery/log_header.h"

enum { AFTER_FAILURE_NS = 1000000000 };

#define TAIL_NS UINT64_C(60000000000) /* so long a segment may take to fill; then what there is of it is archived */

static bool has_archive(const struct shared *shared)
{
        return shared->control->archive[0] != 0;
}

static int open_archive(const char *path, uint32_t mode, bool is_packed, struct archive *archive)
{
        archive->mode = mode;
        archive->is_packed = is_packed;
        return sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &archive->directory);
}

/* ---- Open ---- */

static int refuse_part(const struct xac_env *env, int err, const char *part)
{
        say(stderr,
            "libxac: %s: archive %s: %s has the name of the newest part, and is none that can be read: move it away\n",
            env->identity.path, env->identity.archive, part);
        return err;
}

int archiving_identify(struct xac_env *env, const xac_options *options)
{
        char *path;
        int err = 0;
        if (!options->archive)
                return 0;
        if (env->identity.is_volatile)
                return archive_place_refuse(env, -EINVAL, options->archive,
                                            "a volatile environment has no log to be kept");
        path = realpath(options->archive, NULL);
        if (!path) { /* those who have the environment open may have archived there before: then they are joined */
                env->identity.archive_away = -errno;
                path = archive_place_away(options->archive);
        }
        if (!path)
                return archive_place_refuse(env, env->identity.archive_away, options->archive,
                                            archive_place_why(env->identity.archive_away));
        if (strlen(path) >= sizeof(env->identity.archive))
                err = -ENAMETOOLONG;
        else
                strcpy(env->identity.archive, path);
        free(path);
        return err;
}

static const char *why_not_joined(struct shared *shared, const struct xac_env *env)
{
        if (shared_is_any_other_alive(shared, env->identity.max_participants) == 0)
                return has_archive(shared) ? "all who had it open with another archive were killed: open it once "
                                             "with that and close it, or run 'xac scrub' on the environment"
                                           : "all who had it open without an archive were killed: open it once "
                                             "without one and close it, or run 'xac scrub' on the environment";
        return has_archive(shared) ? "it is open with another archive, and keeps that until all have closed it"
                                   : "it is open without an archive; name one again when all have closed it";
}

int archiving_check_joined(struct xac_env *env)
{
        if (!env->identity.archive[0] || strcmp(env->identity.archive, env->shared.control->archive) == 0)
                return 0;
        archive_place_refuse(env, -EINVAL, env->identity.archive, why_not_joined(&env->shared, env));
        shared_detach(&env->shared);
        return -EINVAL;
}

static int read_files(void *arg, uint64_t position, void *bytes, size_t byte_len)
{
        size_t got;
        int err = log_files_read(arg, position, bytes, byte_len, &got);
        return err ? err : got == byte_len ? 0 : -ENOENT;
}

static uint64_t skip_files(void *arg, uint64_t position)
{
        return log_files_skip_missing(arg, position);
}

/* The log lies as recovery, or the last close, has left it. */
static int keep_rest(const struct archive *archive, struct xac_env *env, const struct manifest *manifest,
                     struct archive_mark *mark)
{
        struct log_files files;
        struct archive_source source = { .manifest = manifest,
                                         .session = manifest->session,
                                         .directory = env->directory,
                                         .read = read_files,
                                         .skip = skip_files,
                                         .arg = &files };
        uint32_t culprit;
        /* Nothing is known of a session of an older version; but whose archive it is. */
        if (!source.session.incarnation)
                source.session.incarnation = manifest->incarnation;
        int err = archive_mark_find(archive, &source, mark);
        if (err || !manifest->session.incarnation || mark->position >= manifest->base_position)
                return err;
        err = log_files_open(&files, env->directory, manifest->uuid, manifest->segment_bytes,
                             mark->position / manifest->segment_bytes, &culprit);
        if (!err)
                err = archive_keep(archive, &source, manifest->base_position, true, mark);
        log_files_close(&files);
        return err;
}

static void note_directory(struct shared_identity *identity, int directory)
{
        struct stat st;
        if (sys_stat(directory, &st))
                return;
        identity->archive_device = st.st_dev;
        identity->archive_inode = st.st_ino;
}

/* Once: the session that begins names no archive. Of a copy it is not: that lies in another directory. */
static void tell_if_left(const struct xac_env *env, const struct manifest_archive *archive)
{
        const struct shared_identity *identity = &env->identity;
        if (archive->path[0] && !archive->is_left && archive->device == identity->device &&
            archive->inode == identity->inode)
                say(stderr,
                    "libxac: %s: opened without the archive that it was used with, %s, which will lack log from "
                    "now on\n",
                    identity->path, archive->path);
}

int archiving_catch_up(struct xac_env *env, const struct manifest *manifest)
{
        const struct shared_identity *identity = &env->identity;
        struct archive_mark mark = { 0 };
        struct archive archive;
        if (!identity->archive[0]) {
                tell_if_left(env, &manifest->archive);
                return 0;
        }
        if (identity->archive_away)
                return archive_place_refuse(env, identity->archive_away, identity->archive,
                                            archive_place_why(identity->archive_away));
        int err = open_archive(identity->archive, manifest->mode, identity->archive_is_packed, &archive);
        if (!err) {
                err = archive_place_recognize(env, manifest, archive.directory);
                if (err) {
                        sys_close(archive.directory);
                        return err;
                }
                note_directory(&env->identity, archive.directory);
                err = keep_rest(&archive, env, manifest, &mark);
                if (!err) { /* else it is told when it takes nothing */
                        (void)archive_claim(&archive);
                        archive_place_mark(env, &archive, manifest);
                }
                sys_close(archive.directory);
        }
        if (err == -EEXIST)
                return archive_place_refuse(
                        env, err, identity->archive,
                        "of another environment, or of another history of this one, as a restored copy has: name a "
                        "new directory");
        if (err && mark.culprit[0])
                refuse_part(env, err, mark.culprit);
        else if (err)
                archive_place_refuse(env, err, identity->archive, xac_strerror(err));
        return identity->archive_may_drop ? 0 : err;
}

void archiving_begin(struct xac_env *env, const struct manifest *manifest)
{
        struct control *control = env->shared.control;
        struct log_table *table = &shared_log(&env->shared)->table;
        if (!has_archive(&env->shared))
                return;
        control->session = manifest->session;
        control->archive_device = env->identity.archive_device;
        control->archive_inode = env->identity.archive_inode;
        memcpy(control->archive_marker, env->identity.archive_marker, sizeof(control->archive_marker));
        atomic_store(&control->archive_record, manifest->session.position);
        atomic_store(&control->archive_sequence, manifest->base_sequence);
        atomic_store(&control->archived_ns, sys_monotonic_ns());
        atomic_store(&control->archive_level_ns, sys_monotonic_ns());
        table->held_most = env->identity.archive_held;
        table->held_may_drop = env->identity.archive_may_drop;
        atomic_store(&table->held, manifest->session.position);
}

/* ---- While it is in use ---- */

/* Segments stay where they are as long as they are held. */
static int read_table(void *arg, uint64_t position, void *bytes, size_t byte_len)
{
        struct xac_env *env = arg;
        struct log_table *table = &env->shared.log.shared->table;
        uint64_t segment_no = position / table->segment_bytes;
        const struct log_segment_entry *entry = &table->segment[segment_no % LOG_SEGMENTS_MAX];
        char name[LOG_NAME_BYTES];
        int fd;
        if (position < atomic_load(&table->held) || atomic_load(&entry->segment_no) != segment_no)
                return -ENOENT;
        log_file_name(name, atomic_load(&entry->file_no));
        int err = sys_open(env->directory, name, O_RDONLY, 0, &fd);
        if (err)
                return err;
        err = sys_read_all(fd, bytes, byte_len, LOG_HEADER_BYTES + position % table->segment_bytes);
        sys_close(fd);
        if (!err && position < atomic_load(&table->held))
                err = -ENOENT; /* dropped, and perhaps used again */
        return err;
}

/* The log up to `to`, segment by segment, so that each can be recycled at once. */
static int keep_up_to(const struct archive *archive, struct xac_env *env, uint64_t to, bool has_tail)
{
        struct control *control = env->shared.control;
        struct log_table *table = &env->shared.log.shared->table;
        struct manifest manifest;
        struct archive_source source = { .manifest = &manifest,
                                         .session = control->session,
                                         .directory = env->directory,
                                         .read = read_table,
                                         .arg = env };
        uint64_t held = atomic_load(&table->held);
        int err = manifest_read(env->directory, &manifest);
        while (!err && held < to) {
                struct archive_mark mark = { .position = held, .next_record = atomic_load(&control->archive_record) };
                uint64_t end = (held / table->segment_bytes + 1) * table->segment_bytes;
                if (end > to && !has_tail)
                        break;
                err = archive_keep(archive, &source, end < to ? end : to, end >= to && has_tail, &mark);
                if (err)
                        break;
                atomic_store(&control->archive_record, mark.next_record);
                if (mark.last)
                        atomic_store(&control->archive_sequence, mark.last);
                if (atomic_compare_exchange_strong(&table->held, &held, mark.position))
                        held = mark.position;
        }
        return err;
}

/* Once, not each time that it is tried: by whoever notices. */
static void tell_if_new(const struct xac_env *env, int before, int err)
{
        const char *path = env->shared.control->archive;
        if (err && err != before)
                say(stderr, "libxac: %s: archive %s takes nothing: %s; the log grows until it does\n",
                    env->identity.path, path, archive_place_why(err));
        else if (!err && before)
                say(stderr, "libxac: %s: archive %s takes the log again\n", env->identity.path, path);
}

static int keep(struct xac_env *env, uint64_t to, bool has_tail)
{
        struct control *control = env->shared.control;
        struct archive archive;
        int err = open_archive(control->archive, control->mode, control->archive_is_packed, &archive);
        if (!err) {
                err = archive_place_check(control, archive.directory);
                if (!err)
                        err = keep_up_to(&archive, env, to, has_tail);
                sys_close(archive.directory);
        }
        tell_if_new(env, atomic_exchange(&env->shared.log.shared->table.held_why, err), err);
        atomic_store(&control->archive_again_ns, err ? sys_monotonic_ns() + AFTER_FAILURE_NS : 0);
        if (!err) {
                atomic_store(&control->archived_ns, sys_monotonic_ns());
                atomic_store(&control->archive_level_ns, sys_monotonic_ns());
        }
        return err;
}

int archiving_finish(struct xac_env *env)
{
        struct shared *shared = &env->shared;
        uint32_t owner = control_owner_of_process(shared->process_no);
        if (!has_archive(shared))
                return 0;
        shlock_lock(&shared->control->archive_lock, owner, &shared->liveness);
        int err = keep(env, log_durable(&shared->log), true);
        shlock_unlock(&shared->control->archive_lock);
        return err;
}

/* ---- The thread ---- */

/* What is there of a segment, once a minute: a restore reaches what is older than that. */
static bool is_tail_due(const struct shared *shared)
{
        return atomic_load(&shared->log.shared->table.held) < log_durable(&shared->log) &&
               sys_monotonic_ns() - atomic_load(&shared->control->archived_ns) >= TAIL_NS;
}

static bool is_segment_due(const struct shared *shared)
{
        const struct log_table *table = &shared->log.shared->table;
        uint64_t segment_no = atomic_load(&table->held) / table->segment_bytes;
        return (segment_no + 1) * table->segment_bytes <= log_durable(&shared->log);
}

static bool is_due(const struct shared *shared)
{
        return (is_segment_due(shared) || is_tail_due(shared)) &&
               sys_monotonic_ns() >= atomic_load(&shared->control->archive_again_ns);
}

static void work(struct xac_env *env)
{
        struct shared *shared = &env->shared;
        if (shlock_try(&shared->control->archive_lock, control_owner_of_process(shared->process_no)))
                return;
        if (is_due(shared))
                (void)keep(env, log_durable(&shared->log), is_tail_due(shared));
        shlock_unlock(&shared->control->archive_lock);
}

/* Who looks at it from outside learns since when log has been waiting. */
static void note_if_level(const struct shared *shared)
{
        if (atomic_load(&shared->log.shared->table.held) >= log_durable(&shared->log))
                atomic_store(&shared->control->archive_level_ns, sys_monotonic_ns());
}

static void *run(void *arg)
{
        struct xac_env *env = arg;
        while (!atomic_load(&env->archive_stops)) {
                uint32_t seen = atomic_load(&env->archive_calls);
                if (is_due(&env->shared))
                        work(env);
                note_if_level(&env->shared);
                if (!atomic_load(&env->archive_stops))
                        sys_futex_wait((const uint32_t *)&env->archive_calls, seen, AFTER_FAILURE_NS);
        }
        return NULL;
}

void archiving_call(struct xac_env *env)
{
        if (!env->has_archive_thread || !is_due(&env->shared))
                return;
        atomic_fetch_add(&env->archive_calls, 1);
        sys_futex_wake((const uint32_t *)&env->archive_calls, 1);
}

void archiving_start(struct xac_env *env)
{
        if (!has_archive(&env->shared))
                return;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        atomic_store(&env->archive_stops, false);
        env->has_archive_thread = !pthread_create(&env->archive_thread, NULL, run, env);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void archiving_stop(struct xac_env *env)
{
        if (!env->has_archive_thread)
                return;
        atomic_store(&env->archive_stops, true);
        atomic_fetch_add(&env->archive_calls, 1);
        sys_futex_wake((const uint32_t *)&env->archive_calls, 1);
        sys_join(env->archive_thread);
        env->has_archive_thread = false;
}
