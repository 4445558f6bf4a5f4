/* SPDX-License-Identifier: MIT */

/* The answer's calls, as the tests make them. */

#include <stddef.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/recovery/acts.h"

/* What it says it has written and synced happens to the disk. */
static void replay(struct disk *disk, const struct called *called)
{
        for (int i = 0; i < called->count; i++) {
                const struct event *event = &called->event[i];
                grader_check(event->file >= 0 && event->file < DISK_FILES, "there is no file %d", (int)event->file);
                size_t sector = (size_t)(event->sector - disk_first_sector(event->file));
                if (event->kind == EVENT_SYNC)
                        disk_sync(disk, event->file);
                else
                        disk_write(disk, event->file, sector * SECTOR_BYTES, event->bytes, SECTOR_BYTES);
        }
}

static int call_answer(struct log *log, bool is_recovery, bool is_guarded)
{
        static struct call call;
        static struct called called;
        struct disk *disk = log->disk;
        call = (struct call){ .is_recovery = is_recovery, .is_guarded = is_guarded, .log = *log };
        memcpy(call.sector, disk->sector, sizeof(call.sector));
        size_t got = host_ask(ACT_CALL, &call, sizeof(call), &called, sizeof(called));
        grader_check(got >= offsetof(struct called, event) && called.count >= 0 && called.count <= EVENTS_MOST &&
                             got == offsetof(struct called, event) + (size_t)called.count * sizeof(called.event[0]),
                     "the answer's process says %zu bytes", got);
        replay(disk, &called);
        *log = called.log;
        log->disk = disk;
        return called.signal;
}

void answer_recover(struct log *log)
{
        call_answer(log, true, false);
}

void answer_checkpoint(struct log *log)
{
        call_answer(log, false, false);
}

int answer_recover_guarded(struct log *log)
{
        return call_answer(log, true, true);
}

/* order[i]: which comes at place i. */
static void draw_order(int *order, int count)
{
        for (int i = 0; i < count; i++) {
                int other = (int)grader_random((uint32_t)i + 1);
                order[i] = order[other];
                order[other] = i;
        }
}

/* In an order that is drawn: what a process remembers of one disk tells nothing of the next. */
void answer_recover_all(int count, uint8_t (*disks)[DISK_SECTORS][SECTOR_BYTES], struct recovered *recovered,
                        bool is_fresh)
{
        static uint8_t drawn[DISKS_TOGETHER][DISK_SECTORS][SECTOR_BYTES];
        static struct recovered found[DISKS_TOGETHER];
        int order[DISKS_TOGETHER] = { 0 };
        draw_order(order, count);
        for (int i = 0; i < count; i++)
                memcpy(drawn[i], disks[order[i]], sizeof(drawn[i]));
        host_choose(HOST_APART);
        if (is_fresh)
                host_new();
        host_do(ACT_RECOVER, drawn, (size_t)count * sizeof(*drawn), found, (size_t)count * sizeof(*found));
        host_choose(HOST_BESIDE);
        for (int i = 0; i < count; i++)
                recovered[order[i]] = found[i];
}
