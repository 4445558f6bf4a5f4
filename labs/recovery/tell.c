/* SPDX-License-Identifier: MIT */

#include "labs/recovery/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_WORDS = 3, EVENTS_TOLD = 36 };

void tell(struct text *text, const char *format, ...)
{
        va_list arguments;
        if (text->used >= sizeof(text->bytes))
                return;
        va_start(arguments, format);
        text->used += (size_t)vsnprintf(text->bytes + text->used, sizeof(text->bytes) - text->used, format, arguments);
        va_end(arguments);
}

/* A line for the writes to one page, record or slot. Returns how many events it told. */
static int tell_write(struct text *text, const struct trace *trace, int number, int end)
{
        const struct event *event = &trace->event[number];
        char name[60];
        int count = 1;
        bool is_pair = event->file != DISK_MANIFEST && (event->sector - disk_first_sector(event->file)) % 2 == 0 &&
                       number + 1 < end && event[1].kind == EVENT_WRITE && event[1].sector == event->sector + 1;
        disk_sector_name(event->sector, name, sizeof(name));
        if (is_pair) {
                if (event->file == DISK_LOG)
                        snprintf(name, sizeof(name), "log, sectors %d and %d", event->sector, event->sector + 1);
                else
                        *strrchr(name, ',') = '\0';
                count = 2;
        }
        tell(text, "    write to %s\n", name);
        return count;
}

/* A line for an event. Returns how many events it told. */
static int tell_event(struct text *text, const struct trace *trace, int number, int end)
{
        const struct event *event = &trace->event[number];
        const struct event *before = NULL; /* the last mark */
        if (event->kind == EVENT_WRITE)
                return tell_write(text, trace, number, end);
        if (event->kind == EVENT_SYNC)
                tell(text, "    sync of %s\n", disk_file_name(event->file));
        else if (event->kind == EVENT_CALL)
                tell(text, "%s\n", event->call);
        if (event->kind != EVENT_MARK)
                return 1;
        for (int i = number - 1; i >= 0 && before == NULL; i--)
                if (trace->event[i].kind == EVENT_MARK)
                        before = &trace->event[i];
        if (before != NULL && event->acknowledged > before->acknowledged)
                tell(text, "commit %d is acknowledged\n", event->acknowledged);
        else if (before != NULL && event->appended > before->appended)
                tell(text, "log_append(), commit %d\n", event->appended);
        return 1;
}

void tell_events(struct text *text, const struct trace *trace, int cut)
{
        static struct text ignored;
        int groups = 0, skipped = 0;
        for (int i = 0; i < cut; groups++, ignored.used = 0)
                i += tell_event(&ignored, trace, i, cut);
        if (groups > EVENTS_TOLD) {
                skipped = groups - EVENTS_TOLD;
                tell(text, "(%d steps are not shown)\n", skipped);
        }
        for (int i = 0, group = 0; i < cut; group++, ignored.used = 0)
                i += tell_event(group < skipped ? &ignored : text, trace, i, cut);
}

/* Where image_spoil() has been. */
static void tell_spoilt(struct text *text, const struct image *image)
{
        for (enum disk_file file = DISK_AREA_0; file <= DISK_HOME; file++) {
                if (image->spoilt[file] == 0)
                        continue;
                tell(text, "    %s, page", disk_file_name(file));
                for (int page = 0; page < PAGES; page++)
                        if (image->spoilt[file] >> page & 1)
                                tell(text, " %d", page);
                tell(text, ": garbage, for the manifest says that nobody needs to read there\n");
        }
}

void tell_cut(struct text *text, const struct generation *generation)
{
        static const char *const fates[] = { "arrived", "what it held before", "half of what was written (torn)",
                                             "garbage" };
        char name[60];
        tell_events(text, &generation->trace, generation->cut);
        tell(text, "the power fails. Of %d sectors that were not synced,", generation->image->unsynced);
        if (generation->image->lost == 0)
                tell(text, " all have arrived\n");
        else
                tell(text, " all but %d have arrived; on disk are\n", generation->image->lost);
        for (int sector = 0; sector < DISK_SECTORS; sector++) {
                if (generation->image->fate[sector] == FATE_ARRIVED)
                        continue;
                disk_sector_name(sector, name, sizeof(name));
                tell(text, "    %s: %s\n", name, fates[generation->image->fate[sector]]);
        }
        tell_spoilt(text, generation->image);
}

static int count_differences(int64_t a[PAGES][PAGE_WORDS], int64_t b[PAGES][PAGE_WORDS])
{
        int count = 0;
        for (int word = 0; word < WORDS; word++)
                count += a[word / PAGE_WORDS][word % PAGE_WORDS] != b[word / PAGE_WORDS][word % PAGE_WORDS];
        return count;
}

void tell_pages(struct text *text, struct generation *generation, struct log *log)
{
        struct history *history = &generation->history;
        int nearest = generation->acknowledged;
        for (int k = nearest + 1; k <= generation->appended; k++)
                if (count_differences(history->state[k], log->page) <
                    count_differences(history->state[nearest], log->page))
                        nearest = k;
        tell(text, "beside the state after commit %d:", nearest);
        for (int word = 0, shown = 0; word < WORDS; word++) {
                char value[32];
                int64_t is = log->page[word / PAGE_WORDS][word % PAGE_WORDS];
                int64_t should = history->state[nearest][word / PAGE_WORDS][word % PAGE_WORDS];
                snprintf(value, sizeof(value), is == IMAGES_GARBAGE ? "garbage" : "%lld", (long long)is);
                if (is != should && shown++ < SHOWN_WORDS)
                        tell(text, "\n    page %d, word %d holds %s, should hold %lld", word / PAGE_WORDS,
                             word % PAGE_WORDS, value, (long long)should);
        }
}

void tell_demand(struct text *text, const struct generation *generation)
{
        if (generation->acknowledged == generation->appended)
                tell(text, "must find the state after commit %d", generation->appended);
        else
                tell(text, "must find the state after commit %d, or a later one up to %d", generation->acknowledged,
                     generation->appended);
}
