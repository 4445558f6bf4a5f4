/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <xac/xac.h>

#include "tools/xac/json.h"
#include "tools/xac/tool.h"
#include "tools/xac/trace_cursor.h"
#include "tools/xac/trace_page.h"
#include "tools/xac/trace_part.h"

/* What trace_page.js calls them. */
enum outcome { COMMITTED, READ_ONLY, LOST, ABORTED, OPEN };

/* A transaction that lost, as the page has it. */
struct lost {
        uint32_t bar;
        uint32_t env;
        uint64_t commit; /* that won; 0: not known */
        bool has_bytes;
        struct trace_bytes others, own;
};

struct html {
        FILE *out;
        const struct trace_file *file;
        struct trace_part part;
        uint32_t bars;
        uint64_t marks;
        uint64_t left_out; /* for which there was no room on the page */
        struct lost *lost;
        uint32_t lost_count;
        uint32_t reasons;         /* why transactions were aborted, different ones */
        struct trace_map commits; /* bars, by the commit's number and the environment */
        int err;
};

/* Calls `visit` for what lies in the part. */
static void visit_events(struct html *html,
                         void (*visit)(struct html *html, uint32_t track, struct trace_cursor *cursor))
{
        struct trace_cursor cursor;

        for (uint32_t i = 0; i < html->file->track_count; i++) {
                trace_cursor_begin(&cursor, html->file, &html->file->tracks[i]);
                while (trace_cursor_next(&cursor))
                        if (trace_part_has(&html->part, cursor.begin_ns, cursor.end_ns))
                                visit(html, i, &cursor);
        }
}

static bool has_room(struct html *html)
{
        if (html->bars + html->marks < TRACE_HTML_ITEMS_MAX)
                return true;
        html->left_out++;
        return false;
}

/* ---- Bars ---- */

/* Also what was there before the part began: then `begin` is negative. */
static void begin_item(const struct html *html, uint64_t nth, uint32_t track, uint64_t begin_ns, uint64_t end_ns)
{
        fprintf(html->out, "%s%" PRIu32 ",%" PRId64 ",%" PRIu64, nth ? ",\n" : "\n", track,
                (int64_t)begin_ns - (int64_t)html->part.from_ns, end_ns - begin_ns);
}

/* Of an event about a page: the number of its file, -1: not known; and the page. */
static void write_page(const struct html *html, uint64_t page)
{
        if (page == TRACE_PAGE_UNKNOWN)
                fprintf(html->out, ",-1,0");
        else
                fprintf(html->out, ",%" PRIu32 ",%" PRIu32, trace_page_file(page), trace_page_no(page));
}

static void write_commit(struct html *html, const struct trace_cursor *cursor)
{
        const struct trace_event *event = cursor->event;
        bool has_written = event->a != 0;

        fprintf(html->out, ",%d,%u,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64, has_written ? COMMITTED : READ_ONLY,
                trace_flags_of(event), event->a, trace_commit_read(event->b), trace_commit_written(event->b),
                cursor->end_ns - trace_cursor_xend_ns(cursor));
        if (has_written && !html->err && cursor->track->is_introduced &&
            trace_map_find(&html->commits, event->a, cursor->track->env) == TRACE_MAP_NONE)
                html->err = trace_map_add(&html->commits, event->a, cursor->track->env, html->bars);
}

static void write_lost(struct html *html, const struct trace_cursor *cursor)
{
        const struct trace_event *event = cursor->event;
        struct lost *lost = trace_list_room(html->lost, html->lost_count, sizeof(*lost));

        fprintf(html->out, ",%d,%u", LOST, trace_flags_of(event));
        write_page(html, event->a);
        fprintf(html->out, ",%" PRIu64 ",0", event->b);
        if (!lost) {
                html->err = -ENOMEM;
                return;
        }
        html->lost = lost;
        lost += html->lost_count++;
        *lost = (struct lost){ .bar = html->bars,
                               .env = cursor->track->env,
                               .commit = cursor->track->is_introduced ? event->b : 0,
                               .has_bytes = cursor->bytes != NULL };
        if (lost->has_bytes)
                trace_cursor_bytes(cursor, &lost->others, &lost->own);
}

static void visit_bar(struct html *html, uint32_t track, struct trace_cursor *cursor)
{
        enum trace_kind kind = trace_kind_of(cursor->event);

        if ((kind != TRACE_COMMIT && kind != TRACE_CONFLICT && kind != TRACE_ABORT) || !has_room(html))
                return;
        begin_item(html, html->bars, track, cursor->begin_ns, cursor->end_ns);
        if (kind == TRACE_COMMIT)
                write_commit(html, cursor);
        else if (kind == TRACE_CONFLICT)
                write_lost(html, cursor);
        else
                fprintf(html->out, ",%d,%u,%d,0,0,0", ABORTED, trace_flags_of(cursor->event), (int)cursor->event->a);
        html->bars++;
}

static void write_bars(struct html *html)
{
        fprintf(html->out, ",\n\"bars\":[");
        visit_events(html, visit_bar);
        for (uint32_t i = 0; i < html->file->track_count; i++) {
                const struct trace_file_track *track = &html->file->tracks[i];

                if (!track->is_open || !trace_part_has(&html->part, track->open_ns, track->end_ns) || !has_room(html))
                        continue;
                begin_item(html, html->bars, i, track->open_ns,
                           track->end_ns > track->open_ns ? track->end_ns : track->open_ns);
                fprintf(html->out, ",%d,0,0,0,0,0", OPEN);
                html->bars++;
        }
        fprintf(html->out, "]");
}

/* ---- Conflicts ---- */

static void write_bytes(const struct html *html)
{
        const char *separator = "";

        fprintf(html->out, ",\n\"bytes\":[");
        for (uint32_t i = 0; i < html->lost_count; i++) {
                const struct lost *lost = &html->lost[i];

                if (!lost->has_bytes)
                        continue;
                fprintf(html->out,
                        "%s\n[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",\"%" PRIx64 "\",\"%" PRIx64
                        "\"]",
                        separator, lost->bar, lost->others.first, lost->others.last, lost->own.first, lost->own.last,
                        lost->others.parts, lost->own.parts);
                separator = ",";
        }
        fprintf(html->out, "]");
}

static void write_arrows(const struct html *html)
{
        const char *separator = "";

        fprintf(html->out, ",\n\"arrows\":[");
        for (uint32_t i = 0; i < html->lost_count; i++) {
                const struct lost *lost = &html->lost[i];
                uint32_t winner =
                        lost->commit ? trace_map_find(&html->commits, lost->commit, lost->env) : TRACE_MAP_NONE;

                if (winner == TRACE_MAP_NONE)
                        continue;
                fprintf(html->out, "%s\n%" PRIu32 ",%" PRIu32, separator, winner, lost->bar);
                separator = ",";
        }
        fprintf(html->out, "]");
}

/* ---- Marks ---- */

static void visit_mark(struct html *html, uint32_t track, struct trace_cursor *cursor)
{
        const struct trace_event *event = cursor->event;
        enum trace_kind kind = trace_kind_of(event);

        if (kind == TRACE_COMMIT || kind == TRACE_CONFLICT || kind == TRACE_ABORT || !has_room(html))
                return;
        begin_item(html, html->marks++, track, cursor->begin_ns, cursor->end_ns);
        fprintf(html->out, ",%d,%u", (int)kind, trace_flags_of(event));
        if (kind == TRACE_FAULT)
                write_page(html, event->a);
        else
                fprintf(html->out, ",%" PRIu64 ",%" PRIu64, event->a, event->b);
}

/* ---- What is said of the whole ---- */

static void write_track(FILE *out, const struct trace_file_track *track)
{
        fprintf(out, "{\"program\":");
        json_quote(out, track->program);
        fprintf(out,
                ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"row\":%" PRIu32 ",\"env\":%" PRId64 ",\"background\":%s}",
                track->pid, track->tid, track->row, track->is_introduced ? (int64_t)track->env : -1,
                track->is_background ? "true" : "false");
}

static void write_names(FILE *out, const struct trace_file *file)
{
        fprintf(out, ",\n\"environments\":[");
        for (uint32_t i = 0; i < file->env_count; i++) {
                fprintf(out, "%s{\"path\":", i ? "," : "");
                json_quote(out, file->envs[i].path ? file->envs[i].path : "");
                fprintf(out, ",\"page_bytes\":%" PRIu32 "}", file->envs[i].page_bytes);
        }
        fprintf(out, "],\n\"files\":[");
        for (uint32_t i = 0; i < file->name_count; i++) {
                fprintf(out, "%s[%" PRIu32 ",%" PRIu32 ",", i ? "," : "", file->names[i].env, file->names[i].file_no);
                json_quote(out, file->names[i].text);
                fprintf(out, "]");
        }
        fprintf(out, "],\n\"tracks\":[");
        for (uint32_t i = 0; i < file->track_count; i++) {
                fprintf(out, i ? ",\n" : "\n");
                write_track(out, &file->tracks[i]);
        }
        fprintf(out, "]");
}

static uint64_t missing_events(const struct trace_file *file)
{
        uint64_t missing = file->odd_events;

        for (uint32_t i = 0; i < file->track_count; i++)
                missing += file->tracks[i].missing;
        return missing;
}

static void write_whole(const struct html *html, const char *name)
{
        const struct trace_file *file = html->file;

        fprintf(html->out, "{\"trace\":");
        json_quote(html->out, name);
        fprintf(html->out,
                ",\"real_ms\":%" PRId64 ",\"span\":%" PRIu64 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64
                ",\"cause\":\"%s\","
                "\"all\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"missing\":%" PRIu64 ",\"damage\":%" PRIu64,
                file->header.real_ns / 1000000, file->span_ns, html->part.from_ns, html->part.to_ns,
                html->part.is_narrowed ? "conflicts" : "asked", html->part.all, file->lost, missing_events(file),
                file->damage_count);
        write_names(html->out, file);
}

/* Why transactions were aborted, in words. */
static void visit_reason(struct html *html, uint32_t track, struct trace_cursor *cursor)
{
        int reason = (int)cursor->event->a;

        (void)track;
        if (trace_kind_of(cursor->event) != TRACE_ABORT || reason == 0 || html->err ||
            html->reasons == TRACE_HTML_REASONS_MAX ||
            trace_map_find(&html->commits, (uint64_t)(int64_t)reason, UINT32_MAX) != TRACE_MAP_NONE)
                return;
        html->err = trace_map_add(&html->commits, (uint64_t)(int64_t)reason, UINT32_MAX, 0);
        html->reasons++;
        fprintf(html->out, ",\"%d\":", reason);
        json_quote(html->out, tool_explain(reason));
}

static void write_lines(FILE *out, const char *const *lines)
{
        for (; *lines; lines++)
                fputs(*lines, out);
}

int trace_html_write(FILE *out, const struct trace_file *file, const char *name, uint64_t from_ns, uint64_t to_ns)
{
        struct html html = { .out = out, .file = file };

        if (to_ns > file->span_ns)
                to_ns = file->span_ns + 1;
        html.err = trace_part_choose(file, from_ns, to_ns, TRACE_HTML_EVENTS_MAX, &html.part);
        if (html.err)
                return html.err;
        write_lines(out, trace_page_head);
        write_whole(&html, name);
        write_bars(&html);
        write_bytes(&html);
        write_arrows(&html);
        fprintf(out, ",\n\"marks\":[");
        visit_events(&html, visit_mark);
        fprintf(out, "],\n\"reasons\":{\"0\":\"by xabort()\"");
        visit_events(&html, visit_reason);
        fprintf(out, "},\"left_out\":%" PRIu64 ",\"items\":%" PRIu64 "}\n", html.left_out, html.bars + html.marks);
        write_lines(out, trace_page_tail);
        free(html.lost);
        trace_map_free(&html.commits);
        return html.err;
}
