/* SPDX-License-Identifier: MIT */
#include "libxac/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "libxac/shared.h"
#include "libxac/waiters.h"

/* What is read of the control part, and where it is open. */
struct look {
        struct shared_identity identity;
        int lock_fd;
        int fd;
        struct control_layout layout;
        struct control control;
        struct log_shared *log; /* NULL in a volatile environment */
        struct process_row *processes;
        uint32_t processes_max;
        struct row *rows;
        uint32_t rows_used;
};

/* ---- Reading ---- */

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
                                                   .generation = manifest->generation };
        memcpy(look->identity.uuid, manifest->uuid, sizeof(look->identity.uuid));
        return 0;
}

/* Zeroed memory from the heap, for what is aligned to cache lines. */
static void *make_room(uint64_t byte_len)
{
        uint64_t rounded = (byte_len + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        void *room = aligned_alloc(CACHE_LINE, rounded);
        if (room)
                memset(room, 0, rounded);
        return room;
}

/* A copy of a stretch of the control part, on the heap. */
static int copy(const struct look *look, uint64_t offset, uint64_t byte_len, void *out)
{
        void *bytes = make_room(byte_len);
        if (!bytes)
                return -ENOMEM;
        int err = sys_read_all(look->fd, bytes, byte_len, offset);
        if (err) {
                free(bytes);
                return err == -ENODATA ? -ENOENT : err; /* removed by now */
        }
        *(void **)out = bytes;
        return 0;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
        return value < limit ? value : limit;
}

static int copy_tables(struct look *look)
{
        const struct control *control = &look->control;
        look->layout = control_layout(control->max_participants, control->pool_slots, control->log_ring_bytes);
        look->processes_max = control_processes_max(control->max_participants);
        look->rows_used = at_most(atomic_load(&control->rows_used), control->max_participants);
        int err =
                copy(look, look->layout.processes, look->processes_max * sizeof(struct process_row), &look->processes);
        if (!err && look->rows_used)
                err = copy(look, look->layout.rows, look->rows_used * sizeof(struct row), &look->rows);
        if (!err && control->log_ring_bytes)
                err = copy(look, look->layout.log, sizeof(struct log_shared), &look->log);
        return err;
}

static int open_control(struct look *look)
{
        char name[SHARED_NAME_BYTES];
        shared_make_name(name, &look->identity, "control");
        int err = sys_open(AT_FDCWD, name, O_RDONLY, 0, &look->fd);
        if (err)
                return err == -ELOOP ? -ENOENT : err;
        err = shared_check_header(look->fd, &look->identity, &look->control);
        if (!err)
                err = sys_read_all(look->fd, &look->control, sizeof(look->control), 0);
        if (err)
                sys_close(look->fd);
        return err == -ENODATA ? -ENOENT : err;
}

/* ---- Who is there ---- */

static bool is_process_alive(const struct look *look, uint32_t process_no)
{
        return sys_is_byte_locked(look->lock_fd, process_no + 1) != 0;
}

static uint32_t pid_of(const struct look *look, uint32_t process_no)
{
        return process_no < look->processes_max ? atomic_load(&look->processes[process_no].pid) : 0;
}

/* The pid of the owner of a lock; 0: it is free, or its owner is dead. */
static uint32_t pid_of_holder(const struct look *look, const struct shlock *lock)
{
        uint32_t owner = shlock_owner(lock);
        if (!owner)
                return 0;
        uint32_t process_no = look->processes_max;
        if (owner > PARTICIPANTS_MAX)
                process_no = owner - PARTICIPANTS_MAX - 1;
        else if (owner - 1 < look->rows_used)
                process_no = atomic_load(&look->rows[owner - 1].process_no);
        return process_no < look->processes_max && is_process_alive(look, process_no) ? pid_of(look, process_no) : 0;
}

static uint64_t since_ns(uint64_t began_ns)
{
        uint64_t now_ns = sys_monotonic_ns();
        return began_ns && began_ns < now_ns ? now_ns - began_ns : 0; /* another time namespace has another clock */
}

static struct inspect_holding holding_of(const struct look *look, uint32_t owner)
{
        const struct control *control = &look->control;
        const struct shlock *const locks[INSPECT_LOCKS] = {
                [INSPECT_COMMIT_LOCK] = &control->commit_lock,
                [INSPECT_POOL_LOCK] = &control->pool_lock,
                [INSPECT_FILE_LOCK] = &control->file_lock,
                [INSPECT_BACKLOG_LOCK] = &control->backlog_lock,
                [INSPECT_CHECKPOINT_LOCK] = &control->checkpoint_lock,
                [INSPECT_PARTICIPANT_LOCK] = &control->participant_lock,
        };
        struct inspect_holding holding = { .locks = 0 };
        for (uint32_t i = 0; i < INSPECT_LOCKS; i++)
                if (shlock_owner(locks[i]) == owner)
                        holding.locks |= UINT32_C(1) << i;
        holding.is_writing_log = look->log && atomic_load(&look->log->leader) == owner;
        if (holding.is_writing_log)
                holding.writing_ns = since_ns(atomic_load(&look->log->lead_ns));
        return holding;
}

static int list_processes(const struct look *look, struct inspection *inspection)
{
        inspection->process = calloc(look->processes_max, sizeof(*inspection->process));
        if (!inspection->process)
                return -ENOMEM;
        for (uint32_t i = 0; i < look->processes_max; i++)
                if (atomic_load(&look->processes[i].is_used))
                        inspection->process[inspection->process_count++] = (struct inspect_process){
                                .process_no = i,
                                .pid = pid_of(look, i),
                                .is_alive = is_process_alive(look, i),
                                .holding = holding_of(look, control_owner_of_process(i)),
                        };
        return 0;
}

static struct inspect_process *process_of(struct inspection *inspection, uint32_t process_no)
{
        for (uint32_t i = 0; i < inspection->process_count; i++)
                if (inspection->process[i].process_no == process_no)
                        return &inspection->process[i];
        return NULL;
}

static void describe_participant(const struct look *look, uint32_t row_no, struct inspection *inspection)
{
        const struct row *row = &look->rows[row_no];
        uint32_t process_no = atomic_load(&row->process_no);
        struct inspect_process *process = process_of(inspection, process_no);
        struct inspect_participant *participant = &inspection->participant[inspection->participant_count++];
        *participant = (struct inspect_participant){
                .row_no = row_no,
                .pid = pid_of(look, process_no),
                .is_alive = process && process->is_alive,
                .is_on_duty = atomic_load(&row->is_on_duty),
                .is_exclusive =
                        control_exclusive_owner(atomic_load(&look->control.exclusive)) == control_owner_of_row(row_no),
                .is_asleep = atomic_load(&row->waiter) != WAITER_AWAKE,
                .snapshot = atomic_load(&row->snapshot),
                .holding = holding_of(look, control_owner_of_row(row_no)),
                .commits = atomic_load(&row->commits),
                .conflicts = atomic_load(&row->conflicts),
                .read_faults = atomic_load(&row->read_faults),
                .write_faults = atomic_load(&row->write_faults),
                .views = atomic_load(&row->reads_rings),
        };
        if (process && !participant->is_on_duty)
                process->participants++;
}

static int list_participants(const struct look *look, struct inspection *inspection)
{
        inspection->participant = calloc((size_t)look->rows_used + 1, sizeof(*inspection->participant));
        if (!inspection->participant)
                return -ENOMEM;
        for (uint32_t i = 0; i < look->rows_used; i++)
                if (atomic_load(&look->rows[i].state) == ROW_USED)
                        describe_participant(look, i, inspection);
        return 0;
}

/* ---- How full it is ---- */

static int list_files(const struct look *look, struct inspection *inspection)
{
        uint32_t count = at_most(atomic_load(&look->control.file_count), FILES_MAX);
        inspection->file = calloc((size_t)count + 1, sizeof(*inspection->file));
        if (!inspection->file)
                return -ENOMEM;
        for (uint32_t i = 0; i < count; i++) {
                const struct file_entry *entry = &look->control.file[i];
                memcpy(inspection->file[i].name, entry->name, sizeof(entry->name));
                inspection->file[i].name[sizeof(entry->name) - 1] = '\0';
                inspection->file[i].byte_len = atomic_load(&entry->byte_len);
        }
        inspection->file_count = count;
        return 0;
}

static void count_slot(const struct slot *slot, bool is_alias, struct inspection *inspection)
{
        enum slot_state state = slot_state(slot);
        inspection->slots_used += !is_alias && state != SLOT_FREE;
        if (slot_is_kept(slot))
                return; /* what it holds is counted with the aliases */
        inspection->slots_private += state == SLOT_PRIVATE;
        inspection->slots_published += state == SLOT_PUBLISHED;
        inspection->slots_retired += state == SLOT_RETIRED;
}

static int count_range(const struct look *look, uint32_t first, uint32_t end, struct inspection *inspection)
{
        enum { AT_ONCE = 16384 };
        for (; first < end; first += AT_ONCE) {
                uint32_t count = at_most(end - first, AT_ONCE);
                struct slot *slots;
                int err = copy(look, look->layout.slots + first * sizeof(struct slot), count * sizeof(struct slot),
                               &slots);
                if (err)
                        return err;
                for (uint32_t i = 0; i < count; i++)
                        count_slot(&slots[i], first >= look->control.pool_slots, inspection);
                free(slots);
        }
        return 0;
}

static int count_slots(const struct look *look, struct inspection *inspection)
{
        uint32_t pool_slots = look->control.pool_slots;
        uint32_t end = at_most(atomic_load(&look->control.slots_allocated), pool_slots);
        uint32_t aliases_end =
                at_most(atomic_load(&look->control.aliases_end), pool_slots + control_aliases_max(pool_slots));
        int err = count_range(look, 1, end, inspection);
        if (!err)
                err = count_range(look, pool_slots, aliases_end, inspection);
        if (err)
                return err;
        inspection->pool_bytes = (uint64_t)(look->control.pool_slots - 1) * look->control.page_bytes;
        inspection->pool_bytes_allocated = (uint64_t)(end ? end - 1 : 0) * look->control.page_bytes;
        return 0;
}

static int look_at_parts(const struct look *look, struct inspection *inspection)
{
        static const char *const names[INSPECT_PARTS] = { "control", "heads", "pool" };
        shared_make_name(inspection->memory, &look->identity, "*");
        for (uint32_t i = 0; i < INSPECT_PARTS; i++) {
                enum { BLOCK = 512 };
                char name[SHARED_NAME_BYTES];
                struct stat st;
                shared_make_name(name, &look->identity, names[i]);
                int err = sys_stat_at(AT_FDCWD, name, &st);
                if (err)
                        return err;
                inspection->part[i] = (struct inspect_part){ .device = st.st_dev,
                                                             .inode = st.st_ino,
                                                             .byte_len = (uint64_t)st.st_blocks * BLOCK };
        }
        return 0;
}

static void describe_log(const struct look *look, struct inspection *inspection)
{
        const struct log_shared *log = look->log;
        if (!log)
                return;
        inspection->durable_sequence = atomic_load(&look->control.durable_sequence);
        inspection->logged_sequence = control_logged_locked(&look->control); /* of a copy: nobody changes it */
        inspection->log_bytes = look->control.log_bytes;
        inspection->log_end = atomic_load(&log->end);
        inspection->log_durable = atomic_load(&log->durable);
        inspection->log_low = atomic_load(&log->table.low);
        inspection->log_limit = atomic_load(&log->table.limit);
        inspection->segment_bytes = log->table.segment_bytes;
        inspection->segments_free = log->table.free_count;
        inspection->groups = atomic_load(&log->groups);
        inspection->poison = atomic_load(&log->poison);
}

static void describe(const struct look *look, struct inspection *inspection)
{
        const struct control *control = &look->control;
        inspection->is_volatile = control->is_volatile;
        inspection->page_bytes = control->page_bytes;
        inspection->max_participants = control->max_participants;
        inspection->sequence = atomic_load(&control->sequence);
        inspection->checkpoint_sequence = atomic_load(&control->checkpoint_sequence);
        inspection->checkpoints = atomic_load(&control->checkpoints);
        inspection->checkpointer = pid_of_holder(look, &control->checkpoint_lock);
        describe_log(look, inspection);
}

static int fill(const struct look *look, struct inspection *inspection)
{
        describe(look, inspection);
        int err = list_processes(look, inspection);
        if (!err)
                err = list_participants(look, inspection);
        if (!err)
                err = list_files(look, inspection);
        if (!err)
                err = count_slots(look, inspection);
        if (!err)
                err = look_at_parts(look, inspection);
        return err;
}

int inspect_take(int directory, int lock_fd, const struct manifest *manifest, struct inspection **out)
{
        struct look *look = make_room(sizeof(*look));
        struct inspection *inspection = calloc(1, sizeof(*inspection));
        int err = look && inspection ? 0 : -ENOMEM;
        if (!err)
                err = identify(look, directory, manifest);
        if (!err)
                err = open_control(look);
        if (err)
                goto out;
        look->lock_fd = lock_fd;
        err = copy_tables(look);
        if (!err)
                err = fill(look, inspection);
        sys_close(look->fd);
        free(look->processes);
        free(look->rows);
        free(look->log);
out:
        free(look);
        if (err)
                inspect_free(inspection);
        else
                *out = inspection;
        return err;
}

void inspect_free(struct inspection *inspection)
{
        if (!inspection)
                return;
        free(inspection->file);
        free(inspection->process);
        free(inspection->participant);
        free(inspection);
}
