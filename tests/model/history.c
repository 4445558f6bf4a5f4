/* SPDX-License-Identifier: MIT */
#include "tests/model/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

static void grow(void *array_, uint32_t *room, uint32_t needed, size_t element_bytes)
{
        void **array = array_;

        if (needed <= *room)
                return;
        *room = needed + needed / 2;
        *array = realloc(*array, *room * element_bytes);
        if (*array == NULL) {
                perror("model: history");
                exit(2);
        }
}

static void room_make(struct history *history, uint32_t attempts, uint32_t touches)
{
        uint32_t room_versions = history->room_touches + history->world->pages;
        uint32_t room_seen = history->room_touches;

        if (history->versions == NULL)
                room_versions = 0;
        grow(&history->attempts, &history->room_attempts, attempts, sizeof(history->attempts[0]));
        grow(&history->seen, &room_seen, touches, sizeof(history->seen[0]));
        grow(&history->versions, &room_versions, room_seen + history->world->pages, sizeof(history->versions[0]));
        history->room_touches = room_seen;
}

static void attempt_add(struct history *history, const struct record *record, uint32_t worker)
{
        struct attempt *attempt = &history->attempts[history->attempt_count++];
        int flags = script_flags(history->world, record->seed);
        bool writes = false;

        for (uint32_t i = 0; i < record->touch_count; i++)
                writes = writes || record_touches(record)[i].is_written != 0;
        *attempt = (struct attempt){
                .record = record,
                .first_touch = history->touch_count,
                .worker = worker,
                .is_published = writes && record_is_published(record),
                .is_split = writes && record_is_published(record) && (flags & XAC_SNAPSHOT_ISOLATION),
                .is_durable = (flags & XAC_DURABLE) != 0,
                .is_promised = writes && record_is_published(record) && !(flags & XAC_NOSYNC) && !history->is_nosync,
        };
        history->touch_count += record->touch_count;
}

static void attempts_collect(struct history *history, const struct record_log *logs)
{
        uint32_t attempts = 0, touches = 0;

        for (uint32_t w = 0; w < history->world->workers; w++) {
                const uint64_t *at = logs[w].words;

                history->first_attempt[w] = attempts;
                attempts += (uint32_t)logs[w].attempts;
                for (uint64_t i = 0; i < logs[w].attempts; i++) {
                        touches += ((const struct record *)at)->touch_count;
                        at += record_words((const struct record *)at);
                }
        }
        room_make(history, attempts, touches);
        history->attempt_count = history->touch_count = 0;
        for (uint32_t w = 0; w < history->world->workers; w++) {
                const uint64_t *at = logs[w].words;

                for (uint64_t i = 0; i < logs[w].attempts; i++) {
                        attempt_add(history, (const struct record *)at, w);
                        at += record_words((const struct record *)at);
                }
        }
}

/* The version of `page` with this tag, or HISTORY_NONE if nobody can have seen it. */
static uint32_t version_find(const struct history *history, const struct touch *touch, const uint64_t *initial_tag)
{
        const struct attempt *writer;
        uint64_t number = tag_attempt(touch->tag);
        uint32_t worker = tag_worker(touch->tag);

        if (touch->tag == initial_tag[touch->page])
                return touch->page;
        if (touch->tag == 0 || tag_round(touch->tag) != history->round || worker >= history->world->workers)
                return HISTORY_NONE;
        if (history->first_attempt[worker] + number >= history->attempt_count)
                return HISTORY_NONE;
        writer = &history->attempts[history->first_attempt[worker] + number];
        if (writer->record->tag != touch->tag || !writer->is_published)
                return HISTORY_NONE;
        for (uint32_t i = 0; i < writer->record->touch_count; i++) {
                const struct touch *made = &record_touches(writer->record)[i];

                if (made->page == touch->page && made->is_written != 0)
                        return history->world->pages + writer->first_touch + i;
        }
        return HISTORY_NONE;
}

static void difference(struct history *history, const char *what, uint32_t attempt, const struct touch *touch)
{
        history->differences++;
        if (history->differences > 5)
                return;
        printf("DIFFERENCE (run seed %" PRIu64 ", round %u): %s: page %u, tag %#" PRIx64 "\n", history->seed,
               history->round, what, touch->page, touch->tag);
        history_print_attempt(history, attempt);
}

static void touch_link(struct history *history, uint32_t attempt_no, uint32_t i, const uint64_t *initial_tag)
{
        const struct attempt *attempt = &history->attempts[attempt_no];
        const struct touch *touch = &record_touches(attempt->record)[i];
        struct seen *seen = &history->seen[attempt->first_touch + i];
        struct version *version;

        *seen = (struct seen){ attempt_no, version_find(history, touch, initial_tag), HISTORY_NONE };
        if (seen->version == HISTORY_NONE) {
                difference(history, "it saw a version that nobody published", attempt_no, touch);
                return;
        }
        version = &history->versions[seen->version];
        seen->next_reader = version->first_reader;
        version->first_reader = attempt->first_touch + i;
        if (!attempt->is_published || touch->is_written == 0)
                return;
        if (version->next_writer != HISTORY_NONE) {
                difference(history, "lost update: two commits replaced the same version", attempt_no, touch);
                history_print_attempt(history, version->next_writer);
        }
        version->next_writer = attempt_no;
}

void history_read(struct history *history, const struct record_log *logs, const uint64_t *initial_tag)
{
        attempts_collect(history, logs);
        for (uint32_t v = 0; v < history->world->pages + history->touch_count; v++)
                history->versions[v] = (struct version){ HISTORY_NONE, HISTORY_NONE };
        for (uint32_t a = 0; a < history->attempt_count; a++)
                for (uint32_t i = 0; i < history->attempts[a].record->touch_count; i++)
                        touch_link(history, a, i, initial_tag);
}

void history_free(struct history *history)
{
        free(history->attempts);
        free(history->seen);
        free(history->versions);
}

uint32_t history_writer(const struct history *history, uint32_t version)
{
        if (version == HISTORY_NONE || version < history->world->pages)
                return HISTORY_NONE;
        return history->seen[version - history->world->pages].attempt;
}

void history_print_attempt(const struct history *history, uint32_t attempt_no)
{
        const struct attempt *attempt = &history->attempts[attempt_no];
        const struct record *record = attempt->record;

        printf("  attempt %u: worker %u, script seed %#" PRIx64 ", flags %#x, tag %#" PRIx64 ", outcome %d%s, "
               "%u calls, %" PRIu64 " to %" PRIu64 " ns\n",
               attempt_no, attempt->worker, record->seed, (unsigned)script_flags(history->world, record->seed),
               record->tag, record->outcome, record->was_stopped ? " (stopped)" : "", record->calls, record->begin_ns,
               record->end_ns);
        for (uint32_t i = 0; i < record->touch_count; i++)
                printf("    page %3u: saw tag %#" PRIx64 "%s\n", record_touches(record)[i].page,
                       record_touches(record)[i].tag, record_touches(record)[i].is_written ? ", wrote it" : "");
}
