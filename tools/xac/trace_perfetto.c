/* SPDX-License-Identifier: MIT */

/*
 * The trace event format of Chrome, as an array of JSON, which Perfetto shows, too: a bar ("X") for what took time, in
 * a row for each track; a row's name ("M"); an arrow from the commit that won to the transaction that lost ("s", "f");
 * a mark for a death ("i"). Times are in microseconds.
 *
 * Two tracks may be of one thread, in two environments: so the number of a row is one more than that of the track, and
 * its name tells the thread.
 */

#include "tools/xac/trace_report.h"

#include <inttypes.h>

#include "tools/xac/json.h"
#include "tools/xac/trace_words.h"

struct drawing {
        const struct trace_report *report;
        FILE *to;
        uint64_t arrows;
};

static void draw_time(FILE *to, const char *key, uint64_t ns)
{
        fprintf(to, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* All but the closing brace. */
static void draw(const struct drawing *drawing, uint32_t track_no, const char *phase, const char *name,
                 uint64_t begin_ns)
{
        const struct trace_file_track *track = &drawing->report->file.tracks[track_no];

        fprintf(drawing->to, ",\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu64 ",\"name\":", phase, track->pid,
                (uint64_t)track->no + 1); /* 0 would be the idle thread */
        json_quote(drawing->to, name);
        draw_time(drawing->to, "ts", begin_ns);
}

/* ---- Names ---- */

static void draw_name(const struct drawing *drawing, uint32_t track_no, const char *what, const char *name)
{
        draw(drawing, track_no, "M", what, 0);
        fputs(",\"args\":{\"name\":", drawing->to);
        json_quote(drawing->to, name);
        fputs("}}", drawing->to);
}

static void draw_names(const struct drawing *drawing, uint32_t track_no)
{
        const struct trace_file *file = &drawing->report->file;
        const struct trace_file_track *track = &file->tracks[track_no];
        char name[TRACE_WORDS_BYTES];

        draw_name(drawing, track_no, "process_name", track->program);
        if (track->is_background)
                snprintf(name, sizeof(name), "background, %.1500s", file->envs[track->env].path);
        else
                snprintf(name, sizeof(name), "thread %" PRIu32 ", %.1500s", track->tid, file->envs[track->env].path);
        draw_name(drawing, track_no, "thread_name", name);
}

/* ---- Arrows ---- */

/* Within the bar, at its end. */
static uint64_t tip_of(uint64_t begin_ns, uint64_t end_ns)
{
        return end_ns > begin_ns ? end_ns - 1 : end_ns;
}

static void draw_arrow(struct drawing *drawing, uint32_t loser, const struct trace_cursor *cursor)
{
        const struct trace_winner *winner = trace_winner_of(&drawing->report->winners, cursor);

        if (!winner)
                return;
        drawing->arrows++;
        draw(drawing, winner->track, "s", "lost to", tip_of(winner->begin_ns, winner->end_ns));
        fprintf(drawing->to, ",\"cat\":\"conflict\",\"id\":%" PRIu64 "}", drawing->arrows);
        draw(drawing, loser, "f", "lost to", tip_of(cursor->begin_ns, cursor->end_ns));
        fprintf(drawing->to, ",\"cat\":\"conflict\",\"bp\":\"e\",\"id\":%" PRIu64 "}", drawing->arrows);
}

/* ---- Bars ---- */

static void draw_page(const struct drawing *drawing, const struct trace_cursor *cursor, const char *key)
{
        char text[TRACE_WORDS_BYTES];

        if (cursor->event->a == TRACE_PAGE_UNKNOWN)
                return;
        trace_words_page(cursor->file, cursor->track->env, cursor->event->a, text);
        fprintf(drawing->to, "\"%s\":", key);
        json_quote(drawing->to, text);
}

static void draw_changed(const struct drawing *drawing, const struct trace_cursor *cursor)
{
        struct trace_bytes others, own;

        if (!cursor->bytes)
                return;
        trace_cursor_bytes(cursor, &others, &own);
        if (others.first <= others.last)
                fprintf(drawing->to, ",\"others changed\":\"%" PRIu32 "-%" PRIu32 "\"", others.first, others.last);
        if (own.first <= own.last)
                fprintf(drawing->to, ",\"it changed\":\"%" PRIu32 "-%" PRIu32 "\"", own.first, own.last);
}

static void draw_args(const struct drawing *drawing, const struct trace_cursor *cursor)
{
        const struct trace_event *event = cursor->event;
        FILE *to = drawing->to;

        switch (trace_kind_of(event)) {
        case TRACE_COMMIT:
                fprintf(to, "\"number\":%" PRIu64 ",\"pages read\":%" PRIu32 ",\"pages written\":%" PRIu32, event->a,
                        trace_commit_read(event->b), trace_commit_written(event->b));
                break;
        case TRACE_CONFLICT:
                fprintf(to, "\"lost to\":%" PRIu64 "%s", event->b, event->a == TRACE_PAGE_UNKNOWN ? "" : ",");
                draw_page(drawing, cursor, "page");
                draw_changed(drawing, cursor);
                break;
        case TRACE_ABORT:
                fprintf(to, "\"reason\":%" PRId64, (int64_t)event->a);
                break;
        case TRACE_FAULT:
                draw_page(drawing, cursor, trace_words_fault(trace_sum_fault_index(trace_flags_of(event))));
                break;
        case TRACE_PAUSE:
                fprintf(to, "\"lost in a row\":%" PRIu64, event->a);
                break;
        case TRACE_GROUP:
                fprintf(to, "\"commits\":%" PRIu64 ",\"newest\":%" PRIu64, event->a, event->b);
                break;
        case TRACE_CHECKPOINT:
                fprintf(to, "\"pages\":%" PRIu64 ",\"up to\":%" PRIu64, event->a, event->b);
                break;
        default:
                break;
        }
}

static const char *bar_name(const struct trace_event *event)
{
        if (trace_kind_of(event) == TRACE_COMMIT && !event->a)
                return "read";
        return trace_words_kind(trace_kind_of(event));
}

static void draw_track(struct drawing *drawing, uint32_t track_no)
{
        const struct trace_file_track *track = &drawing->report->file.tracks[track_no];
        struct trace_cursor cursor;

        draw_names(drawing, track_no);
        trace_cursor_begin(&cursor, &drawing->report->file, track);
        while (trace_cursor_next(&cursor)) {
                draw(drawing, track_no, "X", bar_name(cursor.event), cursor.begin_ns);
                draw_time(drawing->to, "dur", cursor.end_ns - cursor.begin_ns);
                fputs(",\"args\":{", drawing->to);
                draw_args(drawing, &cursor);
                fputs("}}", drawing->to);
                if (trace_kind_of(cursor.event) == TRACE_CONFLICT)
                        draw_arrow(drawing, track_no, &cursor);
        }
        if (track->is_open) {
                draw(drawing, track_no, "X", "open when it died", track->open_ns);
                draw_time(drawing->to, "dur", track->end_ns - track->open_ns);
                fputs("}", drawing->to);
        }
        if (track->how == TRACE_END_DIED) {
                draw(drawing, track_no, "i", "died", track->end_ns);
                fputs(",\"s\":\"t\"}", drawing->to);
        }
}

void trace_report_perfetto(const struct trace_report *report, FILE *to)
{
        struct drawing drawing = { .report = report, .to = to };

        fputs("[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"trace\",\"args\":{\"file\":", to);
        json_quote(to, report->path);
        fputs("}}", to);
        for (uint32_t i = 0; i < report->file.track_count; i++)
                draw_track(&drawing, i);
        fputs("\n]\n", to);
}
