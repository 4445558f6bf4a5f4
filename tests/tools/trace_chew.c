/* SPDX-License-Identifier: MIT */
#include "tests/tools/trace_chew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/json_check.h"
#include "tools/xac/trace_report.h"

static uint64_t count_of(const char *text, size_t byte_len, const char *word)
{
        const char *end = text + byte_len;
        uint64_t count = 0;

        for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, strlen(word))) != NULL;
             at += strlen(word))
                count++;
        return count;
}

static uint64_t open_tracks(const struct trace_file *file)
{
        uint64_t count = 0;

        for (uint32_t i = 0; i < file->track_count; i++)
                count += file->tracks[i].is_open;
        return count;
}

/* Conflicts whose winner is in the trace. */
static uint64_t known_losses(const struct trace_sum *sum)
{
        uint64_t count = 0;

        for (uint32_t i = 0; i < sum->pair_count; i++)
                if (sum->pairs[i].winner != TRACE_WINNER_NOT_TRACED && sum->pairs[i].winner != TRACE_WINNER_NOT_KNOWN)
                        count += sum->pairs[i].conflicts;
        return count;
}

static bool is_perfetto(const struct trace_report *report, const char *text, size_t byte_len)
{
        const uint64_t arrows = known_losses(report->sum);

        return json_check(text, byte_len) && count_of(text, byte_len, "{\"ph\":\"s\"") == arrows &&
               count_of(text, byte_len, "{\"ph\":\"f\"") == arrows &&
               count_of(text, byte_len, "{\"ph\":\"X\"") == report->sum->events + open_tracks(&report->file);
}

static bool is_json(const struct trace_report *report, const char *text, size_t byte_len)
{
        (void)report;
        return json_check(text, byte_len);
}

static bool is_text(const struct trace_report *report, const char *text, size_t byte_len)
{
        const uint64_t damages = report->file.damage_count;

        for (size_t i = 0; i < byte_len; i++)
                if ((unsigned char)text[i] < 0x20 && text[i] != '\n')
                        return false;
        return count_of(text, byte_len, "\nDAMAGED ") ==
               (damages > TRACE_FILE_DAMAGES ? TRACE_FILE_DAMAGES + 1 : damages);
}

static bool print(const struct trace_report *report, void (*write)(const struct trace_report *report, FILE *to),
                  bool (*is_right)(const struct trace_report *report, const char *text, size_t byte_len))
{
        char *text = NULL;
        size_t byte_len = 0;
        FILE *to = open_memstream(&text, &byte_len);
        bool result;

        if (!to)
                return false;
        write(report, to);
        result = fclose(to) == 0 && is_right(report, text, byte_len);
        free(text);
        return result;
}

/* What is counted in several ways is the same. */
static bool is_consistent(const struct trace_report *report)
{
        const struct trace_sum *sum = report->sum;
        const struct trace_sum_track *all = &sum->all;
        uint64_t events = 0, by_page = 0, by_pair = 0, by_sharing = 0, by_fault = 0;

        for (uint32_t i = 0; i < report->file.track_count; i++)
                events += report->file.tracks[i].events;
        for (uint32_t i = 0; i < sum->page_count; i++)
                by_page += sum->pages[i].conflicts;
        for (uint32_t i = 0; i < sum->pair_count; i++)
                by_pair += sum->pairs[i].conflicts;
        for (int i = 0; i < TRACE_SHARINGS; i++)
                by_sharing += sum->by_sharing[i];
        for (int i = 0; i < TRACE_SUM_FAULTS; i++)
                by_fault += sum->faults[i].count;
        return events == sum->events && by_page + sum->other_pages.conflicts + sum->unknown_pages == all->conflicts &&
               by_pair + sum->other_pairs.conflicts == all->conflicts && by_sharing == all->conflicts &&
               by_fault == all->faults && sum->writers.count == all->commits && sum->readers.count == all->reads &&
               sum->events == all->commits + all->reads + all->conflicts + all->aborts + all->faults +
                                      sum->groups.count + sum->checkpoints.count + sum->pauses.count + sum->waits.count;
}

static const char *wrong_in(const struct trace_report *report)
{
        if (!is_consistent(report))
                return "figures that contradict each other";
        if (!print(report, trace_report_text, is_text))
                return "the text";
        if (!print(report, trace_report_json, is_json))
                return "the JSON";
        return print(report, trace_report_perfetto, is_perfetto) ? NULL : "what Perfetto is given";
}

bool trace_chew(const void *bytes, size_t byte_len, struct trace_chewed *chewed, const char **what)
{
        struct trace_report report = { .path = (char[]){ "a trace" }, .top = 3 };

        *chewed = (struct trace_chewed){ .err = trace_file_read(&report.file, bytes, byte_len) };
        *what = NULL;
        if (chewed->err)
                return true;
        *what = "memory";
        chewed->err = trace_winners_find(&report.file, &report.winners);
        if (!chewed->err)
                chewed->err = trace_sum_up(&report.file, &report.winners, &report.sum);
        if (!chewed->err) {
                chewed->damages = report.file.damage_count;
                chewed->events = report.sum->events;
                chewed->tracks = report.file.track_count;
                *what = wrong_in(&report);
                trace_sum_free(report.sum);
        }
        trace_winners_free(&report.winners);
        trace_file_close(&report.file);
        return !*what;
}
