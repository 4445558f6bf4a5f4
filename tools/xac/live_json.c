/* SPDX-License-Identifier: MIT */
#include "tools/xac/live_json.h"

#include "tools/xac/maps.h"
#include "tools/xac/memory.h"
#include "tools/xac/process.h"
#include "tools/xac/tool.h"

static uint64_t difference(uint64_t newer, uint64_t older)
{
        return newer > older ? newer - older : 0; /* the figures are not of one moment */
}

void live_put_archive(struct json *json, const struct inspection *inspection)
{
        const int err = inspection->archive_error;

        if (!inspection->log_held) {
                json_null(json, "archive");
                return;
        }
        json_open(json, "archive", '{');
        json_text(json, "path", inspection->archive);
        json_number(json, "sequence", inspection->archive_sequence);
        json_number(json, "behind_commits", difference(inspection->durable_sequence, inspection->archive_sequence));
        json_number(json, "behind_bytes", difference(inspection->log_durable, inspection->log_held));
        json_fraction(json, "waits_seconds", (double)inspection->archive_waits_ns / 1e9, 3);
        json_text(json, "error", err ? tool_explain(err) : NULL);
        json_close(json, '}');
}

static void put_pool(struct json *json, const struct inspection *inspection)
{
        json_open(json, "pool", '{');
        json_number(json, "used", inspection->slots_used * inspection->page_bytes);
        json_number(json, "limit", inspection->pool_bytes);
        json_number(json, "allocated", inspection->pool_bytes_allocated);
        json_number(json, "dirty", inspection->slots_published);
        json_number(json, "superseded", inspection->slots_retired);
        json_number(json, "open", inspection->slots_private);
        json_close(json, '}');
}

static void put_process(struct json *json, const struct inspection *inspection, const struct inspect_process *process)
{
        const bool is_here = process->is_alive && maps_have_memory(inspection, process->pid);
        const bool is_stopped = is_here && process_is_stopped(process->pid);

        json_open(json, NULL, '{');
        json_number(json, "pid", process->pid);
        json_bool(json, "alive", process->is_alive);
        json_bool(json, "stopped", is_stopped);
        json_number(json, "participants", process->participants);
        memory_put_process(json, is_here ? process->pid : 0);
        json_close(json, '}');
}

static void put_participant(struct json *json, const struct inspection *inspection,
                            const struct inspect_participant *participant)
{
        const uint64_t snapshot = participant->snapshot;

        json_open(json, NULL, '{');
        json_number(json, "row", participant->row_no);
        json_number(json, "pid", participant->pid);
        json_bool(json, "alive", participant->is_alive);
        json_bool(json, "on_duty", participant->is_on_duty);
        json_bool(json, "exclusive", participant->is_exclusive);
        json_bool(json, "waits", participant->is_asleep);
        json_number_if(json, "snapshot", snapshot, snapshot);
        json_number_if(json, "behind", snapshot, difference(inspection->sequence, snapshot));
        json_number(json, "commits", participant->commits);
        json_number(json, "conflicts", participant->conflicts);
        json_number(json, "read_faults", participant->read_faults);
        json_number(json, "write_faults", participant->write_faults);
        json_close(json, '}');
}

void live_put_memory(struct json *json, const struct inspection *inspection)
{
        if (inspection) {
                put_pool(json, inspection);
                memory_put(json, inspection);
        } else {
                json_null(json, "pool");
                json_null(json, "memory");
        }
        json_open(json, "process_list", '[');
        for (uint32_t i = 0; inspection && i < inspection->process_count; i++)
                put_process(json, inspection, &inspection->process[i]);
        json_close(json, ']');
        json_open(json, "participants", '[');
        for (uint32_t i = 0; inspection && i < inspection->participant_count; i++)
                put_participant(json, inspection, &inspection->participant[i]);
        json_close(json, ']');
}
