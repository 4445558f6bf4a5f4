/* SPDX-License-Identifier: MIT */

/* The figures of the summary, for programs. */

#include "tools/xac/trace_report.h"

#include <inttypes.h>

#include "tools/xac/json.h"
#include "tools/xac/trace_words.h"

static void put_counts(struct json *json, const struct trace_sum_track *track)
{
        json_number(json, "commits", track->commits);
        json_number(json, "reads", track->reads);
        json_number(json, "conflicts", track->conflicts);
        json_number(json, "aborts", track->aborts);
        json_number(json, "faults", track->faults);
        json_number(json, "transactions_ns", track->took_ns);
        json_number(json, "lost_ns", track->lost_ns);
        json_number(json, "transactions_processor_ns", track->took_processor_ns);
        json_number(json, "lost_processor_ns", track->lost_processor_ns);
}

static void put_track(struct json *json, const struct trace_report *report, uint32_t index)
{
        static const char *const ends[] = { [0] = "open", [TRACE_END_LEFT] = "left", [TRACE_END_DIED] = "died" };
        const struct trace_file_track *track = &report->file.tracks[index];

        json_open(json, NULL, '{');
        json_number(json, "track", track->no);
        json_text(json, "program", track->program);
        json_number(json, "pid", track->pid);
        json_number(json, "tid", track->tid);
        json_bool(json, "background", track->is_background);
        json_number(json, "environment", track->env);
        json_number(json, "begin_ns", track->begin_ns);
        json_number(json, "end_ns", track->end_ns);
        json_text(json, "end", ends[track->how]);
        if (track->is_open)
                json_number(json, "open_since_ns", track->open_ns);
        json_number(json, "lost_events", track->lost);
        put_counts(json, &report->sum->tracks[index]);
        json_close(json, '}');
}

static void put_ranges(struct json *json, const struct trace_report *report, const char *key,
                       const struct trace_ranges *ranges)
{
        json_open(json, key, '[');
        for (uint32_t i = 0; i < ranges->count; i++) {
                json_open(json, NULL, '{');
                json_number(json, "first", ranges->range[i].first);
                json_number(json, "last", ranges->range[i].last);
                if (ranges->range[i].track != TRACE_RANGES_SEVERAL)
                        json_number(json, "by_track", report->file.tracks[ranges->range[i].track].no);
                json_close(json, '}');
        }
        json_close(json, ']');
}

static void put_sharings(struct json *json, const uint64_t by_sharing[TRACE_SHARINGS])
{
        for (enum trace_sharing i = TRACE_SHARING_APART; i < TRACE_SHARINGS; i++)
                json_number(json, trace_words_sharing(i), by_sharing[i]);
}

/* Nothing, where nobody has looked for a heap. */
static void put_heap(struct json *json, const struct trace_report *report, const struct trace_sum_page *page)
{
        const struct trace_heap *heap = trace_heap_of(&report->heaps, page->env, page->page);
        const uint32_t page_bytes = report->file.envs[page->env].page_bytes;
        const struct trace_heap_root *root;
        uint32_t at = 0, first, last;

        if (!heap)
                return;
        json_number(json, "heap_offset", (uint64_t)trace_page_no(page->page) * page_bytes);
        json_open(json, "heap_roots", '[');
        while ((root = trace_heap_next(heap, &at, page->page, page_bytes, &first, &last)) != NULL) {
                json_open(json, NULL, '{');
                json_text(json, "name", root->name);
                json_number(json, "offset", root->offset);
                json_number(json, "size", root->size);
                json_number(json, "first", first);
                json_number(json, "last", last);
                json_close(json, '}');
        }
        json_close(json, ']');
}

static void put_page(struct json *json, const struct trace_report *report, const struct trace_sum_page *page)
{
        char advice[TRACE_WORDS_BYTES];

        trace_words_advice(&report->file, page, advice);
        json_open(json, NULL, '{');
        json_number(json, "environment", page->env);
        json_text(json, "file", trace_file_name(&report->file, page->env, trace_page_file(page->page)));
        json_number(json, "file_number", trace_page_file(page->page));
        json_number(json, "page", trace_page_no(page->page));
        json_number(json, "conflicts", page->conflicts);
        json_number(json, "lost_ns", page->lost_ns);
        json_number(json, "lost_processor_ns", page->lost_processor_ns);
        json_text(json, "sharing", trace_words_sharing(page->sharing));
        put_sharings(json, page->by_sharing);
        put_ranges(json, report, "others_changed", &page->others);
        put_ranges(json, report, "losers_changed", &page->own);
        put_heap(json, report, page);
        json_text(json, "advice", advice);
        json_close(json, '}');
}

static void put_pair(struct json *json, const struct trace_report *report, const struct trace_sum_pair *pair)
{
        json_open(json, NULL, '{');
        json_number(json, "loser", report->file.tracks[pair->loser].no);
        if (pair->winner < report->file.track_count)
                json_number(json, "winner", report->file.tracks[pair->winner].no);
        else
                json_text(json, "winner", pair->winner == TRACE_WINNER_NOT_TRACED ? "not traced" : "not known");
        json_number(json, "conflicts", pair->conflicts);
        json_number(json, "apart", pair->apart);
        json_number(json, "lost_ns", pair->lost_ns);
        json_number(json, "lost_processor_ns", pair->lost_processor_ns);
        json_close(json, '}');
}

static void put_times(struct json *json, const char *key, const struct histogram *took)
{
        json_open(json, key, '{');
        json_number(json, "count", took->count);
        json_number(json, "sum_ns", took->sum);
        json_number(json, "p50_ns", histogram_at(took, 5000));
        json_number(json, "p90_ns", histogram_at(took, 9000));
        json_number(json, "p99_ns", histogram_at(took, 9900));
        json_number(json, "p99.9_ns", histogram_at(took, 9990));
        json_number(json, "max_ns", took->most);
        json_close(json, '}');
}

static void put_kind(struct json *json, const char *key, const struct trace_sum_kind *kind, const char *items)
{
        json_open(json, key, '{');
        json_number(json, "failed", kind->failed);
        if (items) {
                json_number(json, items, kind->items);
                json_number(json, "most", kind->most_items);
        }
        json_number(json, "exclusive", kind->exclusive);
        put_times(json, "took", &kind->took);
        json_close(json, '}');
}

static void put_head(struct json *json, const struct trace_report *report)
{
        const struct trace_file *file = &report->file;

        json_text(json, "trace", report->path);
        json_number(json, "bytes", file->byte_len);
        json_number(json, "span_ns", file->span_ns);
        json_signed(json, "begin_real_ns", file->header.real_ns);
        json_number(json, "events", report->sum->events);
        json_number(json, "lost_events", file->lost);
        json_number(json, "odd_events", file->odd_events);
        json_number(json, "untraced_participants", file->header.untraced);
        json_text(json, "ended", trace_words_ended(file->header.ended));
        json_number(json, "died", report->sum->died);
        json_bool(json, "has_processor_ns", report->sum->has_processor);
        put_counts(json, &report->sum->all);
        put_sharings(json, report->sum->by_sharing);
        json_number(json, "conflicts_on_unknown_pages", report->sum->unknown_pages);
        json_number(json, "conflicts_tried_again", report->sum->tried_again);
        json_number(json, "conflicts_on_pages_left_out", report->sum->other_pages.conflicts);
        json_number(json, "conflicts_of_pairs_left_out", report->sum->other_pairs.conflicts);
}

static void put_environments(struct json *json, const struct trace_file *file)
{
        json_open(json, "environments", '[');
        for (uint32_t i = 0; i < file->env_count; i++) {
                json_open(json, NULL, '{');
                json_text(json, "path", file->envs[i].path);
                json_number(json, "page_bytes", file->envs[i].page_bytes);
                json_close(json, '}');
        }
        json_close(json, ']');
}

static void put_lists(struct json *json, const struct trace_report *report)
{
        const struct trace_sum *sum = report->sum;

        json_open(json, "tracks", '[');
        for (uint32_t i = 0; i < report->file.track_count; i++)
                put_track(json, report, i);
        json_close(json, ']');
        json_open(json, "pages", '[');
        for (uint32_t i = 0; i < sum->page_count && i < report->top; i++)
                put_page(json, report, &sum->pages[i]);
        json_close(json, ']');
        json_open(json, "pairs", '[');
        for (uint32_t i = 0; i < sum->pair_count && i < report->top; i++)
                put_pair(json, report, &sum->pairs[i]);
        json_close(json, ']');
}

static void put_kinds(struct json *json, const struct trace_sum *sum)
{
        put_times(json, "writers", &sum->writers);
        put_times(json, "writers_durable", &sum->durable);
        put_times(json, "readers", &sum->readers);
        put_kind(json, "groups", &sum->groups, "commits");
        put_kind(json, "checkpoints", &sum->checkpoints, "pages");
        put_kind(json, "pauses", &sum->pauses, "losses");
        put_kind(json, "waits", &sum->waits, NULL);
        json_open(json, "fault_causes", '{');
        for (unsigned i = 0; i < TRACE_SUM_FAULTS; i++) {
                json_open(json, trace_words_fault(i), '{');
                json_number(json, "count", sum->faults[i].count);
                json_number(json, "took_ns", sum->faults[i].took_ns);
                json_close(json, '}');
        }
        json_close(json, '}');
}

static void put_damage(struct json *json, const struct trace_file *file)
{
        json_number(json, "damages", file->damage_count);
        json_open(json, "damage", '[');
        for (uint64_t i = 0; i < file->damage_count && i < TRACE_FILE_DAMAGES; i++) {
                json_open(json, NULL, '{');
                json_number(json, "offset", file->damage[i].offset);
                json_text(json, "what", file->damage[i].text);
                json_close(json, '}');
        }
        json_close(json, ']');
}

void trace_report_json(const struct trace_report *report, FILE *to)
{
        struct json json = { .to = to };

        json_open(&json, NULL, '{');
        put_head(&json, report);
        put_environments(&json, &report->file);
        put_lists(&json, report);
        put_kinds(&json, report->sum);
        put_damage(&json, &report->file);
        json_close(&json, '}');
}
