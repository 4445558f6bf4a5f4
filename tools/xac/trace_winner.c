/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_winner.h"

#include <errno.h>
#include <stdlib.h>

static int want(struct trace_winners *winners, uint64_t commit, uint32_t env)
{
        struct trace_winner *list;

        if (commit == 0 || trace_map_find(&winners->of, commit, env) != TRACE_MAP_NONE)
                return 0;
        if (winners->count == TRACE_WINNERS_MAX) {
                winners->left_out++;
                return 0;
        }
        list = trace_list_room(winners->list, winners->count, sizeof(*list));
        if (!list)
                return -ENOMEM;
        winners->list = list;
        list[winners->count] = (struct trace_winner){ .track = TRACE_WINNER_NOT_TRACED };
        return trace_map_add(&winners->of, commit, env, winners->count++);
}

static void found(struct trace_winners *winners, const struct trace_cursor *cursor, uint32_t track)
{
        uint32_t index = trace_map_find(&winners->of, cursor->event->a, cursor->track->env);

        if (index != TRACE_MAP_NONE)
                winners->list[index] = (struct trace_winner){ cursor->begin_ns, cursor->end_ns, track };
}

/* One whose beginning is missing may be of any environment. */
static int visit_track(const struct trace_file *file, struct trace_winners *winners, uint32_t track,
                       enum trace_kind kind)
{
        struct trace_cursor cursor;
        int err = 0;

        trace_cursor_begin(&cursor, file, &file->tracks[track]);
        if (!cursor.track->is_introduced)
                return 0;
        while (!err && trace_cursor_next(&cursor)) {
                if (trace_kind_of(cursor.event) != kind)
                        continue;
                if (kind == TRACE_CONFLICT)
                        err = want(winners, cursor.event->b, cursor.track->env);
                else
                        found(winners, &cursor, track);
        }
        return err;
}

int trace_winners_find(const struct trace_file *file, struct trace_winners *winners)
{
        int err = 0;

        *winners = (struct trace_winners){ 0 };
        for (uint32_t i = 0; !err && i < file->track_count; i++)
                err = visit_track(file, winners, i, TRACE_CONFLICT);
        for (uint32_t i = 0; !err && winners->count && i < file->track_count; i++)
                err = visit_track(file, winners, i, TRACE_COMMIT);
        if (err)
                trace_winners_free(winners);
        return err;
}

void trace_winners_free(struct trace_winners *winners)
{
        free(winners->list);
        trace_map_free(&winners->of);
        *winners = (struct trace_winners){ 0 };
}

const struct trace_winner *trace_winner_of(const struct trace_winners *winners, const struct trace_cursor *cursor)
{
        uint32_t index = trace_map_find(&winners->of, cursor->event->b, cursor->track->env);

        if (index == TRACE_MAP_NONE || winners->list[index].track == TRACE_WINNER_NOT_TRACED)
                return NULL;
        return &winners->list[index];
}

uint32_t trace_winner_track(const struct trace_winners *winners, const struct trace_cursor *cursor)
{
        const struct trace_winner *winner = trace_winner_of(winners, cursor);

        if (winner)
                return winner->track;
        if (winners->left_out && trace_map_find(&winners->of, cursor->event->b, cursor->track->env) == TRACE_MAP_NONE)
                return TRACE_WINNER_NOT_KNOWN;
        return cursor->event->b ? TRACE_WINNER_NOT_TRACED : TRACE_WINNER_NOT_KNOWN;
}
