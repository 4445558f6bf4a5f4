/* SPDX-License-Identifier: MIT */
#include "libxac/care/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

/* ---- Opening ---- */

static int identify(struct look *look, int directory, const struct manifest *manifest)
{
        struct stat st;
        int err = sys_stat(directory, &st);
        if (err)
                return err;
        look->identity = (struct shared_identity){ .device = st.st_dev,
                                                   .inode = st.st_ino,
                                                   .directory_owner = st.st_uid,
                                                   .directory_group = st.st_gid,
                                                   .page_bytes = manifest->page_bytes,
                                                   .max_participants = manifest->max_participants,
                                                   .mode = manifest->mode,
                                                   .generation = manifest->generation,
                                                   .session_ns = manifest->session.time_ns };
        memcpy(look->identity.uuid, manifest->uuid, sizeof(look->identity.uuid));
        return 0;
}

int look_open_part(const struct look *look, const char *part, int *fd)
{
        char name[SHARED_NAME_BYTES];
        struct stat st;
        shared_make_name(name, &look->identity, part);
        int err = sys_open(AT_FDCWD, name, O_RDONLY, 0, fd);
        if (err)
                return err == -ELOOP || err == -EISDIR ? -ENOENT : err;
        err = sys_stat(*fd, &st);
        if (!err && !shared_is_trusted(&st, &look->identity))
                err = -EPERM; /* it is not taken for absent: there may be commits in it */
        if (err)
                sys_close(*fd);
        return err;
}

/* What was judged is not read again: whoever made it may have changed it meanwhile. */
static int read_rest(struct look *look)
{
        const size_t judged = offsetof(struct control, commit_lock);
        return look_read(look, judged, sizeof(look->control) - judged, (char *)&look->control + judged);
}

static int open_control(struct look *look)
{
        int err = look_open_part(look, "control", &look->fd);
        if (err)
                return err;
        err = shared_check_header(look->fd, &look->identity, &look->control);
        if (!err)
                err = read_rest(look);
        if (err)
                sys_close(look->fd);
        return err == -ENODATA ? -ENOENT : err;
}

int look_open(int directory, const struct byte_lock_file *lock, const struct manifest *manifest, struct look **out)
{
        struct look *look = look_make_room(sizeof(*look));
        if (!look)
                return -ENOMEM;
        int err = identify(look, directory, manifest);
        if (!err)
                err = open_control(look);
        if (err) {
                free(look);
                return err;
        }
        const struct control *control = &look->control;
        look->lock = lock;
        look->layout = control_layout(control->max_participants, control->pool_slots, control->log_ring_bytes);
        look->processes_max = control_processes_max(control->max_participants);
        *out = look;
        return 0;
}

void look_close(struct look *look)
{
        sys_close(look->fd);
        free(look->processes);
        free(look->rows);
        free(look->log);
        free(look);
}

/* ---- Reading ---- */

void *look_make_room(uint64_t byte_len)
{
        uint64_t rounded = (byte_len + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        void *room = aligned_alloc(CACHE_LINE, rounded);
        if (room)
                memset(room, 0, rounded);
        return room;
}

int look_read(const struct look *look, uint64_t offset, uint64_t byte_len, void *to)
{
        int err = sys_read_all(look->fd, to, byte_len, offset);
        return err == -ENODATA ? -ENOENT : err; /* removed by now */
}

int look_copy(const struct look *look, uint64_t offset, uint64_t byte_len, void *out)
{
        void *bytes = look_make_room(byte_len);
        if (!bytes)
                return -ENOMEM;
        int err = look_read(look, offset, byte_len, bytes);
        if (err) {
                free(bytes);
                return err;
        }
        *(void **)out = bytes;
        return 0;
}

/* ---- Tables ---- */

static bool is_same_past(const struct control *before, const struct control *after)
{
        return !shlock_owner(&after->participant_lock) &&
               atomic_load(&before->past_commits) == atomic_load(&after->past_commits) &&
               atomic_load(&before->past_conflicts) == atomic_load(&after->past_conflicts) &&
               atomic_load(&before->past_read_faults) == atomic_load(&after->past_read_faults) &&
               atomic_load(&before->past_write_faults) == atomic_load(&after->past_write_faults);
}

static int copy_rows(struct look *look)
{
        enum { TRIES = 4 };
        struct control *before = look_make_room(sizeof(*before));
        int err = before ? 0 : -ENOMEM;
        for (int i = 0; !err && i < TRIES && (i == 0 || !is_same_past(before, &look->control)); i++) {
                memcpy(before, &look->control, sizeof(*before));
                free(look->rows);
                look->rows = NULL;
                look->rows_used = look_at_most(atomic_load(&before->rows_used), before->max_participants);
                if (look->rows_used)
                        err = look_copy(look, look->layout.rows, look->rows_used * sizeof(struct row), &look->rows);
                if (!err)
                        err = read_rest(look);
        }
        free(before);
        return err;
}

int look_copy_tables(struct look *look)
{
        int err = look_copy(look, look->layout.processes, look->processes_max * sizeof(struct process_row),
                            &look->processes);
        if (!err)
                err = copy_rows(look);
        if (!err && look->control.log_ring_bytes)
                err = look_copy(look, look->layout.log, sizeof(struct log_shared), &look->log);
        return err;
}
