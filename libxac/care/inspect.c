/* SPDX-License-Identifier: MIT */
#include "libxac/care/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "libxac/care/look.h"
#include "libxac/ground/waiters.h"

/* ---- Who is there ---- */

static bool is_process_alive(const struct look *look, uint32_t process_no)
{
        return byte_lock_is_held(look->lock, process_no + 1, 1) != 0;
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
                [INSPECT_SEGMENT_LOCK] = look->log ? &look->log->table.lock : NULL,
        };
        struct inspect_holding holding = { .locks = 0 };
        for (uint32_t i = 0; i < INSPECT_LOCKS; i++)
                if (locks[i] && shlock_owner(locks[i]) == owner)
                        holding.locks |= UINT32_C(1) << i;
        holding.is_writing_log = look->log && log_leader(look->log) == owner;
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
        uint32_t count = look_at_most(atomic_load(&look->control.file_count), FILES_MAX);
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
                uint32_t count = look_at_most(end - first, AT_ONCE);
                struct slot *slots;
                int err = look_copy(look, look->layout.slots + first * sizeof(struct slot), count * sizeof(struct slot),
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
        uint32_t end = look_at_most(atomic_load(&look->control.slots_allocated), pool_slots);
        uint32_t aliases_end =
                look_at_most(atomic_load(&look->control.aliases_end), pool_slots + control_aliases_max(pool_slots));
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

static uint64_t archive_waits_ns(const struct control *control)
{
        const uint64_t level_ns = atomic_load(&control->archive_level_ns), now_ns = sys_monotonic_ns();
        return level_ns && now_ns > level_ns ? now_ns - level_ns : 0;
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
        inspection->log_held = atomic_load(&log->table.held);
        if (inspection->log_held && inspection->log_held < inspection->log_durable)
                inspection->archive_waits_ns = archive_waits_ns(&look->control);
        inspection->archive_sequence = atomic_load(&look->control.archive_sequence);
        memcpy(inspection->archive, look->control.archive, sizeof(inspection->archive));
        inspection->archive[sizeof(inspection->archive) - 1] = '\0';
        inspection->archive_error = atomic_load(&log->table.held_why);
        inspection->segment_bytes = log->table.segment_bytes;
        inspection->segments_free = log->table.free_count;
        inspection->groups = atomic_load(&log->groups);
        inspection->poison = atomic_load(&log->poison);
}

/* The oldest snapshot that is no participant's, but keeps versions like one; 0: none does. */
static uint64_t oldest_pin(const struct control *control)
{
        const uint64_t pins[] = { atomic_load(&control->checkpoint_snapshot), atomic_load(&control->backlog_base),
                                  atomic_load(&control->backlog_next) };
        uint64_t oldest = 0;
        for (uint32_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++)
                if (pins[i] && (!oldest || pins[i] < oldest))
                        oldest = pins[i];
        return oldest;
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
        inspection->past_commits = atomic_load(&control->past_commits);
        inspection->past_conflicts = atomic_load(&control->past_conflicts);
        inspection->past_read_faults = atomic_load(&control->past_read_faults);
        inspection->past_write_faults = atomic_load(&control->past_write_faults);
        inspection->pinned = oldest_pin(control);
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

int inspect_take(int directory, const struct byte_lock_file *lock, const struct manifest *manifest,
                 struct inspection **out)
{
        struct inspection *inspection = calloc(1, sizeof(*inspection));
        struct look *look;
        if (!inspection)
                return -ENOMEM;
        int err = look_open(directory, lock, manifest, &look);
        if (err)
                goto fail_open;
        err = look_copy_tables(look);
        if (!err)
                err = fill(look, inspection);
        look_close(look);
        if (err)
                goto fail_open;
        *out = inspection;
        return 0;
fail_open:
        inspect_free(inspection);
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

/* ---- Memory ---- */

void inspect_room(uint32_t pid, struct inspect_room *room)
{
        struct memory_group group;
        struct memory_room left;
        memory_group_find("", pid, &group);
        memory_group_look(&group, &left);
        *room = (struct inspect_room){ .more = allowance_within(&left), .left = left.left, .limit = left.limit };
        memcpy(room->group, group.path, sizeof(room->group));
}
