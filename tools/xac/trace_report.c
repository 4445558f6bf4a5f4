/* SPDX-License-Identifier: MIT */
#include "tools/xac/trace_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/say.h"
#include "tools/xac/tool.h"
#include "tools/xac/trace_words.h"

enum { MARK_COUNT = 5 };

static const uint32_t marks[MARK_COUNT - 1] = { 5000, 9000, 9900, 9990 };

static void print_label(FILE *to, const char *label)
{
        say(to, "%-*s", TOOL_COLUMN, label);
}

static void print_ns(FILE *to, uint64_t ns)
{
        char text[TRACE_WORDS_BYTES];

        trace_words_ns(ns, text);
        say(to, " %9s", text);
}

static void print_more(FILE *to, uint64_t all, uint64_t top)
{
        if (all > top)
                say(to, "  and %" PRIu64 " more (--top)\n", all - top);
}

/* Those that made room for others. */
static void print_rest(FILE *to, const struct trace_sum_rest *rest, const char *what)
{
        if (rest->count)
                say(to,
                    "  and up to %" PRIu64 " %s with few conflicts, of which there are no figures: %" PRIu64
                    " in all\n",
                    rest->count, what, rest->conflicts);
}

/* ---- What it is ---- */

static void print_moment(const struct trace_report *report, FILE *to)
{
        time_t seconds = (time_t)(report->file.header.real_ns / 1000000000);
        struct tm calendar;
        char text[64], took[TRACE_WORDS_BYTES];

        if (!localtime_r(&seconds, &calendar) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S%z", &calendar))
                snprintf(text, sizeof(text), "?");
        trace_words_ns(report->file.span_ns, took);
        print_label(to, "span");
        say(to, "%s, from %s on\n", took, text);
}

static void print_environments(const struct trace_report *report, FILE *to)
{
        for (uint32_t i = 0; i < report->file.env_count; i++) {
                if (!report->file.envs[i].path[0])
                        continue;
                print_label(to, "environment");
                say(to, "%s, pages of %" PRIu32 " bytes\n", report->file.envs[i].path, report->file.envs[i].page_bytes);
        }
}

/* A part of a whole. */
static double percent(uint64_t part, uint64_t whole)
{
        return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_transactions(const struct trace_report *report, FILE *to)
{
        const struct trace_sum_track *all = &report->sum->all;
        char text[TRACE_WORDS_BYTES];

        print_label(to, "transactions");
        say(to, "%" PRIu64 " wrote, %" PRIu64 " only read; %" PRIu64 " lost (%.1f %%), %" PRIu64 " were undone\n",
            all->commits, all->reads, all->conflicts,
            percent(all->conflicts, all->commits + all->reads + all->conflicts), all->aborts);
        trace_words_ns(all->lost_ns, text);
        print_label(to, "time lost");
        say(to, "%s in transactions that lost, %.1f %% of the time in transactions\n", text,
            percent(all->lost_ns, all->took_ns));
        print_label(to, "");
        if (!report->sum->has_processor) {
                say(to,
                    "by the clock: who waited for a processor is counted, too, which this trace does not tell apart\n");
                return;
        }
        trace_words_ns(all->lost_processor_ns, text);
        say(to, "%s of it had a processor, %.1f %% of the time in transactions that had one\n", text,
            percent(all->lost_processor_ns, all->took_processor_ns));
}

/* In transactions that lost. */
static void print_lost(const struct trace_report *report, FILE *to, uint64_t lost_ns, uint64_t processor_ns)
{
        char text[TRACE_WORDS_BYTES];

        trace_words_ns(lost_ns, text);
        say(to, ", %s lost", text);
        trace_words_ns(processor_ns, text);
        if (report->sum->has_processor)
                say(to, ", %s of it with a processor", text);
}

/* What the figures leave out. */
static void print_gaps(const struct trace_report *report, FILE *to)
{
        const struct trace_file *file = &report->file;

        print_label(to, "events");
        say(to, "%" PRIu64 ", and %" PRIu64 " that found no room are lost%s\n", report->sum->events, file->lost,
            file->lost ? ": all figures are too small" : "");
        if (file->header.untraced) {
                print_label(to, "not traced");
                say(to, "%s found no room\n", tool_count(file->header.untraced, "participant", "participants"));
        }
        if (file->header.ended) {
                print_label(to, "ended early");
                say(to, "%s\n", trace_words_ended(file->header.ended));
        }
}

/* ---- Participants ---- */

static const struct trace_report *ordered; /* for qsort */

static int by_conflicts(const void *a_, const void *b_)
{
        uint32_t a = *(const uint32_t *)a_;
        uint32_t b = *(const uint32_t *)b_;
        const struct trace_sum_track *of_a = &ordered->sum->tracks[a];
        const struct trace_sum_track *of_b = &ordered->sum->tracks[b];

        if (of_a->conflicts != of_b->conflicts)
                return of_a->conflicts < of_b->conflicts ? 1 : -1;
        if (of_a->commits != of_b->commits)
                return of_a->commits < of_b->commits ? 1 : -1;
        return a < b ? -1 : a > b;
}

static void print_track(const struct trace_report *report, FILE *to, uint32_t index)
{
        const struct trace_sum_track *track = &report->sum->tracks[index];
        char name[TRACE_WORDS_BYTES], end[TRACE_WORDS_BYTES];

        trace_words_track(&report->file, index, name);
        trace_words_end(&report->file.tracks[index], end);
        say(to, "  %-32s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64 " %10" PRIu64 " %8" PRIu64 "%s%s\n", name,
            track->commits, track->reads, track->conflicts, track->aborts, track->faults,
            report->file.tracks[index].lost, end[0] ? "  " : "", end);
}

/* Those in which most was lost, and after them as many of those who died. Returns how many that is. */
static uint64_t print_first(const struct trace_report *report, FILE *to, const uint32_t *order)
{
        uint64_t told = 0;

        for (uint32_t i = 0; i < report->file.track_count; i++) {
                bool has_died = report->file.tracks[order[i]].how == TRACE_END_DIED;

                if (i >= report->top && (!has_died || told >= 2 * report->top))
                        continue;
                print_track(report, to, order[i]);
                told++;
        }
        return told;
}

static void print_tracks(const struct trace_report *report, FILE *to)
{
        uint32_t count = report->file.track_count;
        uint32_t *order = count ? calloc(count, sizeof(*order)) : NULL;

        say(to, "\nParticipants: %" PRIu32 ", of which %" PRIu32 " died\n", count, report->sum->died);
        if (!order)
                return;
        for (uint32_t i = 0; i < count; i++)
                order[i] = i;
        ordered = report;
        qsort(order, count, sizeof(*order), by_conflicts);
        say(to, "  %-32s %10s %10s %10s %8s %10s %8s\n", "program pid/thread", "wrote", "only read", "conflicts",
            "undone", "faults", "lost ev.");
        print_more(to, count, print_first(report, to, order));
        free(order);
}

/* ---- Conflicts ---- */

enum { ROOTS_TOLD = 4 };

/* Where the page lies in a heap, and what of it has a name. */
static void print_heap(const struct trace_report *report, FILE *to, const struct trace_sum_page *page)
{
        const struct trace_heap *heap = trace_heap_of(&report->heaps, page->env, page->page);
        const uint32_t page_bytes = report->file.envs[page->env].page_bytes;
        const struct trace_heap_root *root;
        uint32_t at = 0, first, last, told = 0;

        if (!heap)
                return;
        say(to, "    the page is at offset %" PRIu64 " of the heap", (uint64_t)trace_page_no(page->page) * page_bytes);
        while ((root = trace_heap_next(heap, &at, page->page, page_bytes, &first, &last)) != NULL)
                if (told++ < ROOTS_TOLD)
                        say(to, ", root '%s' (at offset %" PRIu64 ") in its bytes %" PRIu32 "-%" PRIu32, root->name,
                            root->offset, first, last);
        if (told > ROOTS_TOLD)
                say(to, ", and %" PRIu32 " more roots", told - ROOTS_TOLD);
        say(to, "%s\n", told ? "" : ", where no root lies");
}

static void print_page(const struct trace_report *report, FILE *to, const struct trace_sum_page *page)
{
        static const char *const verdicts[TRACE_SHARINGS] = { "FALSE SHARING", "True sharing", "Readers lose",
                                                              "Not known" };
        const uint64_t *by = page->by_sharing;
        char text[TRACE_WORDS_BYTES], ranges[TRACE_RANGES_TEXT];

        trace_words_page(&report->file, page->env, page->page, text);
        say(to, "  %s: %s", text, tool_count(page->conflicts, "conflict", "conflicts"));
        print_lost(report, to, page->lost_ns, page->lost_processor_ns);
        putc('\n', to);
        say(to,
            "    %" PRIu64 " changed bytes that the winner did not change, %" PRIu64 " the same bytes, %" PRIu64
            " none of the page, %" PRIu64 " not known\n",
            by[TRACE_SHARING_APART], by[TRACE_SHARING_SAME], by[TRACE_SHARING_READ], by[TRACE_SHARING_UNKNOWN]);
        if (page->others.count) {
                trace_ranges_text(&page->others, ranges);
                say(to, "    others changed %s%s\n", ranges, page->others.is_merged ? " at most" : "");
        }
        if (page->own.count) {
                trace_ranges_text(&page->own, ranges);
                say(to, "    losers changed %s%s\n", ranges, page->own.is_merged ? " at most" : "");
        }
        print_heap(report, to, page);
        trace_words_advice(&report->file, page, text);
        say(to, "    %s: %s.\n", verdicts[page->sharing], text);
}

static void print_pages(const struct trace_report *report, FILE *to)
{
        const struct trace_sum *sum = report->sum;

        if (!sum->all.conflicts)
                return;
        say(to, "\nPages on which transactions lost: %" PRIu32 "\n", sum->page_count);
        for (uint32_t i = 0; i < sum->page_count && i < report->top; i++)
                print_page(report, to, &sum->pages[i]);
        print_more(to, sum->page_count, report->top);
        print_rest(to, &sum->other_pages, "pages");
        if (sum->unknown_pages)
                say(to, "  %s on a page that is not known\n", tool_count(sum->unknown_pages, "conflict", "conflicts"));
        say(to, "  Changed bytes are known to a sixty-fourth of a page, the first and the last exactly. Which bytes\n"
                "  a transaction only read nobody knows: bytes that look free of conflicts may still be read.\n");
}

static void print_pairs(const struct trace_report *report, FILE *to)
{
        const struct trace_sum *sum = report->sum;

        if (!sum->pair_count)
                return;
        say(to, "\nWho lost to whom: %" PRIu32 " pairs\n", sum->pair_count);
        for (uint32_t i = 0; i < sum->pair_count && i < report->top; i++) {
                const struct trace_sum_pair *pair = &sum->pairs[i];
                char loser[TRACE_WORDS_BYTES], winner[TRACE_WORDS_BYTES];

                trace_words_track(&report->file, pair->loser, loser);
                trace_words_track(&report->file, pair->winner, winner);
                say(to, "  %10" PRIu64 "  %s to %s", pair->conflicts, loser, winner);
                print_lost(report, to, pair->lost_ns, pair->lost_processor_ns);
                if (pair->apart)
                        say(to, ", %" PRIu64 " by false sharing", pair->apart);
                putc('\n', to);
        }
        print_more(to, sum->pair_count, report->top);
        print_rest(to, &sum->other_pairs, "pairs");
        if (report->winners.left_out)
                say(to, "  %s to commits that nobody looked for, as more than %d won\n",
                    tool_count(report->winners.left_out, "conflict was lost", "conflicts were lost"),
                    TRACE_WINNERS_MAX);
}

/* ---- Times ---- */

static void print_marks(FILE *to, const char *label, const struct histogram *took)
{
        if (!took->count)
                return;
        say(to, "  %-30s %10" PRIu64, label, took->count);
        for (int i = 0; i < MARK_COUNT - 1; i++)
                print_ns(to, histogram_at(took, marks[i]));
        print_ns(to, took->most);
        putc('\n', to);
}

static void print_times(const struct trace_report *report, FILE *to)
{
        const struct trace_sum *sum = report->sum;

        say(to, "\nHow long it took\n  %-30s %10s %9s %9s %9s %9s %9s\n", "", "count", "p50", "p90", "p99", "p99.9",
            "max");
        print_marks(to, "transactions that wrote", &sum->writers);
        print_marks(to, "  to the disk, from xend() on", &sum->durable);
        print_marks(to, "transactions that only read", &sum->readers);
        print_marks(to, "groups to the log", &sum->groups.took);
        print_marks(to, "checkpoints", &sum->checkpoints.took);
        print_marks(to, "pauses after a conflict", &sum->pauses.took);
        print_marks(to, "waits in xac_wait()", &sum->waits.took);
}

static void print_kinds(const struct trace_report *report, FILE *to)
{
        const struct trace_sum_kind *groups = &report->sum->groups;
        const struct trace_sum_kind *checkpoints = &report->sum->checkpoints;
        const struct trace_sum_kind *pauses = &report->sum->pauses;

        if (groups->count)
                say(to, "  %.1f commits in a group to the log on average, %" PRIu64 " at most; %" PRIu64 " failed\n",
                    (double)groups->items / (double)groups->count, groups->most_items, groups->failed);
        if (checkpoints->count)
                say(to,
                    "  %" PRIu64 " pages brought home by checkpoints, %" PRIu64 " at most by one; %" PRIu64 " failed\n",
                    checkpoints->items, checkpoints->most_items, checkpoints->failed);
        if (pauses->count)
                say(to, "  %" PRIu64 " losses in a row at most; %" PRIu64 " times all others had to wait\n",
                    pauses->most_items, pauses->exclusive);
}

static void print_faults(const struct trace_report *report, FILE *to)
{
        static const char *const causes[TRACE_SUM_FAULTS] = { "by a load, first touch of the page",
                                                              "by a store, first touch of the page",
                                                              "by a load, touched before",
                                                              "by a store, after the page was read" };

        if (!report->sum->all.faults)
                return;
        say(to, "\nPage faults in views: %" PRIu64 "\n", report->sum->all.faults);
        for (int i = 0; i < TRACE_SUM_FAULTS; i++) {
                const struct trace_sum_fault *fault = &report->sum->faults[i];

                if (!fault->count)
                        continue;
                say(to, "  %10" PRIu64 "  %s,", fault->count, causes[i]);
                print_ns(to, fault->took_ns / fault->count);
                say(to, " each\n");
        }
}

/* ---- All ---- */

static void print_damage(const struct trace_report *report, FILE *to)
{
        const struct trace_file *file = &report->file;

        if (file->damage_count)
                putc('\n', to);
        for (uint64_t i = 0; i < file->damage_count && i < TRACE_FILE_DAMAGES; i++)
                say(to, "DAMAGED at byte %" PRIu64 ": %s.\n", file->damage[i].offset, file->damage[i].text);
        if (file->damage_count > TRACE_FILE_DAMAGES)
                say(to, "DAMAGED in %" PRIu64 " more places.\n", file->damage_count - TRACE_FILE_DAMAGES);
}

void trace_report_text(const struct trace_report *report, FILE *to)
{
        print_label(to, "trace");
        say(to, "%s, %s\n", report->path, tool_bytes(report->file.byte_len));
        print_moment(report, to);
        print_environments(report, to);
        print_transactions(report, to);
        print_gaps(report, to);
        print_tracks(report, to);
        print_pages(report, to);
        print_pairs(report, to);
        print_times(report, to);
        print_kinds(report, to);
        print_faults(report, to);
        print_damage(report, to);
}
