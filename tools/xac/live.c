/* SPDX-License-Identifier: MIT */
#include "tools/xac/live.h"

#include <errno.h>
#include <inttypes.h>

#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/machine.h"
#include "tools/xac/maps.h"
#include "tools/xac/memory.h"
#include "tools/xac/process.h"

/* Others write the manifest when they create files: what was read a moment ago may be old. */
int live_take(struct place *place, struct inspection **inspection)
{
        for (;;) {
                uint64_t generation = place->manifest.generation;
                int err = inspect_take(place->directory, &place->lock, &place->manifest, inspection);

                if (err != -ENOENT)
                        return err;
                err = manifest_read(place->directory, &place->manifest);
                if (err || place->manifest.generation == generation)
                        return -ENOENT;
        }
}

static uint64_t difference(uint64_t newer, uint64_t older)
{
        return newer > older ? newer - older : 0; /* the figures are not of one moment */
}

static void print_sequence(const struct inspection *inspection)
{
        tool_label("sequence");
        say(stdout, "%" PRIu64, inspection->sequence);
        if (inspection->is_volatile)
                say(stdout, " (volatile: nothing is logged)\n");
        else
                say(stdout, ", durable %" PRIu64 ", checkpoint %" PRIu64 " (%s ago)\n", inspection->durable_sequence,
                    inspection->checkpoint_sequence,
                    tool_count(difference(inspection->sequence, inspection->checkpoint_sequence), "commit", "commits"));
        if (inspection->poison) {
                tool_label("POISONED");
                say(stdout, "a write or a sync failed: %s. It still serves reads; close it everywhere and\n",
                    tool_explain(inspection->poison));
                tool_label("");
                say(stdout, "open it again, and it recovers from the log.\n");
        }
}

static void print_checkpoint(const struct inspection *inspection)
{
        tool_label("checkpoint");
        if (inspection->checkpointer)
                say(stdout, "running, in process %" PRIu32, inspection->checkpointer);
        else
                say(stdout, "not running");
        say(stdout, "; %" PRIu64 " so far\n", inspection->checkpoints);
}

static void print_archive(const struct inspection *inspection)
{
        if (!inspection->log_held)
                return;
        tool_label("archive");
        say(stdout, "%s, up to commit %" PRIu64 "; %s of log on disk not yet there\n", inspection->archive,
            inspection->archive_sequence, tool_bytes(difference(inspection->log_durable, inspection->log_held)));
        if (!inspection->archive_error)
                return;
        tool_label("");
        say(stdout, "IT TAKES NOTHING: %s. The log grows until it does\n", tool_explain(inspection->archive_error));
}

static void print_log(const struct place *place, const struct inspection *inspection)
{
        uint64_t behind = difference(inspection->sequence, inspection->logged_sequence), in_use;

        if (inspection->is_volatile || !inspection->segment_bytes)
                return;
        in_use = difference(inspection->log_limit, inspection->log_low) / inspection->segment_bytes;
        tool_label("log");
        say(stdout, "%s since the checkpoint,\n",
            tool_bytes(difference(inspection->log_end, place->manifest.redo_position)));
        tool_label("");
        say(stdout, "of %s that force the next one; %" PRIu64 " bytes not yet on disk",
            tool_bytes(inspection->log_bytes), difference(inspection->log_end, inspection->log_durable));
        if (behind)
                say(stdout, ", %s not yet logged", tool_count(behind, "commit", "commits"));
        say(stdout, "\n");
        tool_label("segments");
        say(stdout, "%" PRIu64 " in use, %" PRIu32 " free, of %s each\n", in_use, inspection->segments_free,
            tool_bytes(inspection->segment_bytes));
        print_archive(inspection);
        tool_label("groups");
        say(stdout, "%s written\n", tool_count(inspection->groups, "group", "groups"));
}

/* The pool's ceiling is no promise of others who use the same memory. */
static void print_room(const struct inspection *inspection)
{
        uint64_t all, unused;

        if (leftovers_room(&all, &unused))
                return;
        machine_print_room();
        if (difference(inspection->pool_bytes, inspection->pool_bytes_allocated) <= unused)
                return;
        tool_label("");
        say(stdout, "TOO LITTLE for the pool to reach its ceiling: transactions may end in XAC_FULL before.\n");
        tool_label("");
        say(stdout, "Make it larger (mount -o remount,size=...; docker run --shm-size), or see 'xac stat'.\n");
}

static void print_pool(const struct inspection *inspection)
{
        uint64_t page_bytes = inspection->page_bytes;
        uint64_t used = inspection->slots_used;

        tool_label("pool");
        say(stdout, "%s used,\n", tool_bytes(used * page_bytes));
        tool_label("");
        say(stdout, "of at most %s; %s allocated\n", tool_bytes(inspection->pool_bytes),
            tool_bytes(inspection->pool_bytes_allocated));
        tool_label("");
        say(stdout, "%s, %" PRIu64 " superseded but perhaps still read, %" PRIu64 " of open transactions\n",
            tool_count(inspection->slots_published, "dirty page", "dirty pages"), inspection->slots_retired,
            inspection->slots_private);
        tool_label("shared memory");
        say(stdout, "%s, %s\n", inspection->memory,
            tool_bytes(inspection->part[0].byte_len + inspection->part[1].byte_len + inspection->part[2].byte_len));
        print_room(inspection);
        memory_print(inspection);
}

/* One that nobody has mapped in this session is as long as it lies there. */
static uint64_t length_of(const struct place *place, const struct inspection *inspection, uint32_t file_no)
{
        struct stat st;

        if (inspection->file[file_no].byte_len || sys_stat_at(place->directory, inspection->file[file_no].name, &st))
                return inspection->file[file_no].byte_len;
        return (uint64_t)st.st_size;
}

static void print_files(const struct place *place, const struct inspection *inspection)
{
        for (uint32_t i = 0; i < inspection->file_count; i++) {
                tool_label(i ? "" : "files");
                say(stdout, "%s  %s\n", inspection->file[i].name, tool_bytes(length_of(place, inspection, i)));
        }
}

/* Whether its pid is that of a process here is told by the memory that it maps. */
static bool is_stopped(const struct inspection *inspection, uint32_t pid)
{
        return process_is_stopped(pid) && maps_have_memory(inspection, pid);
}

/* What others may be waiting for: each after a separator. */
static void print_holding(const struct inspect_holding *holding, const char *separator)
{
        static const char *const locks[INSPECT_LOCKS] = {
                [INSPECT_COMMIT_LOCK] = "commit",
                [INSPECT_POOL_LOCK] = "pool",
                [INSPECT_FILE_LOCK] = "file",
                [INSPECT_BACKLOG_LOCK] = "backlog",
                [INSPECT_CHECKPOINT_LOCK] = "checkpoint",
                [INSPECT_PARTICIPANT_LOCK] = "participant",
                [INSPECT_SEGMENT_LOCK] = "segment",
        };

        if (holding->is_writing_log) {
                say(stdout, "%sis writing the log", separator);
                if (holding->writing_ns)
                        say(stdout, " since %.1f s", (double)holding->writing_ns / 1e9);
                separator = ", ";
        }
        for (uint32_t i = 0; i < INSPECT_LOCKS; i++)
                if (holding->locks >> i & 1) {
                        say(stdout, "%sholds the %s lock", separator, locks[i]);
                        separator = ", ";
                }
}

static bool holds_any(const struct inspect_holding *holding)
{
        return holding->is_writing_log || holding->locks;
}

static void print_process(const struct inspection *inspection, const struct inspect_process *process)
{
        say(stdout, "pid %" PRIu32 "  ", process->pid);
        if (!process->is_alive)
                say(stdout, "DEAD (to be taken back by the others)");
        else
                say(stdout, "alive%s", is_stopped(inspection, process->pid) ? ", stopped" : "");
        print_holding(&process->holding, ", ");
        say(stdout, "  %s", tool_count(process->participants, "participant", "participants"));
}

static void print_processes(const struct place *place, const struct inspection *inspection)
{
        for (uint32_t i = 0; i < inspection->process_count; i++) {
                const struct inspect_process *process = &inspection->process[i];

                tool_label(i ? "" : "processes");
                print_process(inspection, process);
                if (process->is_alive)
                        maps_print(place, inspection, process->pid);
                if (process->is_alive && maps_have_memory(inspection, process->pid))
                        memory_print_process(process->pid);
                say(stdout, "\n");
        }
}

/* What it is doing, and whether it can go on with it. */
static void print_doing(const struct inspection *inspection, const struct inspect_participant *participant)
{
        const struct inspect_holding *holding = &participant->holding;
        uint64_t behind = difference(inspection->sequence, participant->snapshot);

        if (participant->snapshot)
                say(stdout, "snapshot %" PRIu64 ", %s behind", participant->snapshot,
                    tool_count(behind, "commit", "commits"));
        else if (!holds_any(holding))
                say(stdout, participant->is_asleep ? "waits for a change" : "in no transaction");
        print_holding(holding, participant->snapshot ? "; " : "");
        if (participant->is_alive && is_stopped(inspection, participant->pid))
                say(stdout, ", stopped");
}

static void print_participants(const struct inspection *inspection)
{
        for (uint32_t i = 0; i < inspection->participant_count; i++) {
                const struct inspect_participant *participant = &inspection->participant[i];

                tool_label(i ? "" : "participants");
                say(stdout, "row %" PRIu32 "  pid %" PRIu32 "  ", participant->row_no, participant->pid);
                print_doing(inspection, participant);
                if (participant->is_exclusive)
                        say(stdout, "; EXCLUSIVE: others' commits wait for its");
                if (!participant->is_alive)
                        say(stdout, "; DEAD");
                say(stdout, "\n");
                tool_label("");
                if (participant->is_on_duty)
                        say(stdout, "    writes checkpoints in the background\n");
                else
                        say(stdout,
                            "    %" PRIu64 " commits, %" PRIu64 " conflicts, %" PRIu64 " read faults, %" PRIu64
                            " write faults; shows pages in %s\n",
                            participant->commits, participant->conflicts, participant->read_faults,
                            participant->write_faults, tool_count(participant->views, "view", "views"));
        }
}

void live_print(const struct place *place, const struct inspection *inspection)
{
        print_sequence(inspection);
        print_checkpoint(inspection);
        print_log(place, inspection);
        print_pool(inspection);
        print_files(place, inspection);
        print_processes(place, inspection);
        print_participants(inspection);
}
