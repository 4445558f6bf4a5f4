/* SPDX-License-Identifier: MIT */
#include "libxac/door/stats.h"

#include <string.h>

#include "libxac/store/pool.h"
#include "libxac/store/pool_memory.h"
#include "libxac/txn/checkpoint_due.h"
#include "rewire/mappings.h"

static void add_row(const struct row *row, xac_stats *stats)
{
        stats->commits += atomic_load(&row->commits);
        stats->conflicts += atomic_load(&row->conflicts);
        stats->read_faults += atomic_load(&row->read_faults);
        stats->write_faults += atomic_load(&row->write_faults);
        stats->participants += atomic_load(&row->state) == ROW_USED && !atomic_load(&row->is_on_duty);
}

static void add_log(const struct log_shared *log, xac_stats *stats)
{
        stats->log_groups = atomic_load(&log->groups);
        stats->log_bytes_written = atomic_load(&log->group_bytes);
        stats->log_record_bytes = atomic_load(&log->record_bytes);
        stats->archive_error = atomic_load(&log->table.held_why);
}

void stats_collect(struct shared *shared, xac_stats *stats)
{
        struct control *control = shared->control;
        memset(stats, 0, sizeof(*stats));
        stats->page_bytes = shared->page_bytes;
        stats->sequence = atomic_load(&control->sequence);
        stats->durable_sequence = atomic_load(&control->durable_sequence);
        stats->log_bytes_used = checkpoint_log_used(shared);
        stats->archive_sequence = atomic_load(&control->archive_sequence);
        stats->checkpoints = atomic_load(&control->checkpoints);
        if (shared_is_durable(shared))
                add_log(shared->log.shared, stats);
        stats->commits = atomic_load(&control->past_commits);
        stats->conflicts = atomic_load(&control->past_conflicts);
        stats->read_faults = atomic_load(&control->past_read_faults);
        stats->write_faults = atomic_load(&control->past_write_faults);
        for (uint32_t i = 0; i < atomic_load(&control->rows_used); i++)
                add_row(&shared->rows[i], stats);
        stats->mappings = mappings_in_use();
        stats->pool_bytes = (uint64_t)(control->pool_slots - 1) * shared->page_bytes;
        stats->pool_bytes_used = pool_used(shared) * shared->page_bytes;
        stats->pool_bytes_now = pool_room(shared) * shared->page_bytes;
}
