/* SPDX-License-Identifier: MIT */
#include "tools/xac/top_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/say.h"
#include "tools/xac/json.h"

enum { PAGES_SHOWN = 10, BAR = 20, TIME_BYTES = 40 };

static uint64_t difference(uint64_t newer, uint64_t older)
{
        return newer > older ? newer - older : 0; /* the figures are not of one moment */
}

static double seconds_held(const struct sample *sample, const struct sample_participant *participant)
{
        return (double)(sample->at_ns - participant->snapshot_ns) / 1e9;
}

static const char *file_name(const struct sample *sample, uint32_t file_no)
{
        return file_no < sample->now->file_count ? sample->now->file[file_no].name : "?";
}

/* The log that the next checkpoint makes dispensable. */
static uint64_t log_used(const struct place *place, const struct sample *sample)
{
        return difference(sample->now->log_end, place->manifest.redo_position);
}

static uint64_t pool_used(const struct sample *sample)
{
        return sample->now->slots_used * sample->now->page_bytes;
}

static struct tm local_time(void)
{
        time_t now = time(NULL);
        struct tm local = { .tm_year = 0 };

        (void)localtime_r(&now, &local);
        return local;
}

/* ---- The whole ---- */

static void print_title(FILE *out, const struct place *place, const struct sample *sample)
{
        struct tm local = local_time();
        char now[TIME_BYTES];

        strftime(now, sizeof(now), "%H:%M:%S", &local);
        say(out, "%s  %s  ", now, place->path);
        if (sample->state == SAMPLE_AT_REST)
                say(out, "at rest: nobody uses it\n");
        else if (sample->state == SAMPLE_UNSEEN)
                say(out, "in use, by processes whose shared memory cannot be seen from here\n");
        else if (sample->state == SAMPLE_ABANDONED)
                say(out, "its processes ended without xac_close\n");
        else
                say(out, "in use by %s, %s\n", tool_count(sample->processes, "process", "processes"),
                    tool_count(sample->participant_count, "participant", "participants"));
}

/* Large figures without a fraction. */
static int places(double rate)
{
        return rate < 100 ? 1 : 0;
}

static void print_totals(FILE *out, const struct sample *sample)
{
        const struct rates *total = &sample->total;
        double ended = total->commits + total->conflicts, faults = total->read_faults + total->write_faults;

        say(out, "%-12s", "each second");
        if (sample->seconds <= 0) {
                say(out, "not known yet\n\n");
                return;
        }
        say(out, "%.*f commits, %.*f conflicts (%.1f %%)\n", places(total->commits), total->commits,
            places(total->conflicts), total->conflicts, ended > 0 ? total->conflicts / ended * 100 : 0);
        say(out, "%-12s%.*f faults: %.*f by loads, %.*f by stores\n", "", places(faults), faults,
            places(total->read_faults), total->read_faults, places(total->write_faults), total->write_faults);
}

static void print_sequence(FILE *out, const struct sample *sample)
{
        const struct inspection *now = sample->now;

        say(out, "%-12s%" PRIu64, "sequence", now->sequence);
        if (now->is_volatile)
                say(out, " (volatile: nothing is logged)");
        else
                say(out, ", durable %" PRIu64 ", checkpoint %" PRIu64, now->durable_sequence, now->checkpoint_sequence);
        if (now->checkpointer)
                say(out, "; checkpoint running in %" PRIu32, now->checkpointer);
        if (now->poison)
                say(out, "; POISONED: %s", tool_explain(now->poison));
        say(out, "\n");
}

/* Without the exact bytes. */
static const char *amount(uint64_t byte_len)
{
        char *text = (char *)(uintptr_t)tool_bytes(byte_len);
        char *exact = strstr(text, " (");

        if (exact)
                *exact = '\0';
        return text;
}

static void print_bar(FILE *out, const char *label, uint64_t used, uint64_t of)
{
        int filled = of ? (int)((double)(used < of ? used : of) / (double)of * BAR + 0.5) : 0;

        say(out, "%-12s[%.*s%*s] %s of %s", label, filled, "####################", BAR - filled, "", amount(used),
            amount(of));
}

static void print_room(FILE *out, const struct place *place, const struct sample *sample)
{
        const struct inspection *now = sample->now;

        if (!now->is_volatile) {
                print_bar(out, "log", log_used(place, sample), now->log_bytes);
                say(out, " that force a checkpoint\n%-12seach second %.*f writes, %s\n", "", places(sample->groups),
                    sample->groups, amount((uint64_t)sample->log_bytes));
        }
        print_bar(out, "pool", pool_used(sample), now->pool_bytes);
        say(out, "\n%-12s%s, %" PRIu64 " superseded, %" PRIu64 " of open transactions\n", "",
            tool_count(now->slots_published, "dirty page", "dirty pages"), now->slots_retired, now->slots_private);
}

static void print_oldest(FILE *out, const struct sample *sample)
{
        const struct sample_participant *oldest = sample->oldest;
        const struct inspection *now = sample->now;

        say(out, "%-12s", "oldest");
        if (oldest)
                say(out, "snapshot %" PRIu64 " of row %" PRIu32 ", pid %" PRIu32 ": %s behind, for %.1f s",
                    oldest->now.snapshot, oldest->now.row_no, oldest->now.pid,
                    tool_count(difference(now->sequence, oldest->now.snapshot), "commit", "commits"),
                    seconds_held(sample, oldest));
        else
                say(out, "nobody holds a snapshot");
        if (now->pinned && (!oldest || now->pinned < oldest->now.snapshot))
                say(out, "; the library itself: %" PRIu64, now->pinned);
        say(out, "\n");
}

/* ---- Participants and pages ---- */

static const char *doing(const struct inspect_participant *participant)
{
        if (!participant->is_alive)
                return "  DEAD";
        if (participant->is_exclusive)
                return "  EXCLUSIVE: others' commits wait for its";
        if (participant->holding.is_writing_log)
                return "  writes the log";
        if (participant->is_asleep)
                return "  waits for a change";
        return participant->snapshot ? "  in a transaction" : "";
}

static void print_participant(FILE *out, const struct sample *sample, const struct sample_participant *participant)
{
        const struct rates *rates = &participant->rates;

        say(out, "%6" PRIu32 " %9" PRIu32 " %11.1f %11.1f %10.1f%s", participant->now.row_no, participant->now.pid,
            rates->commits, rates->conflicts, rates->read_faults + rates->write_faults, doing(&participant->now));
        if (participant->now.snapshot && seconds_held(sample, participant) > 0)
                say(out, " for %.1f s", seconds_held(sample, participant));
        say(out, "\n");
}

static void print_participants(FILE *out, const struct sample *sample, uint32_t count)
{
        uint32_t left_out;

        if (count > sample->participant_count)
                count = sample->participant_count;
        left_out = sample->participant_count - count;
        say(out, "\n%6s %9s %11s %11s %10s\n", "row", "pid", "commits/s", "conflicts/s", "faults/s");
        for (uint32_t i = 0; i < count; i++)
                print_participant(out, sample, &sample->participant[i]);
        if (left_out)
                say(out, "%6s %s that did less\n", "...", tool_count(left_out, "participant", "participants"));
}

static void print_pages(FILE *out, const struct sample *sample, uint32_t count)
{
        say(out, "\n%11s %10s  file (changes are estimated from a sample)\n", "changes/s", "page");
        for (uint32_t i = 0; i < sample->page_count && i < count; i++)
                say(out, "%11.1f %10" PRIu64 "  %s\n", sample->page[i].changes, sample->page[i].page_no,
                    file_name(sample, sample->page[i].file_no));
}

/* Of so many lines for both lists: the pages get up to ten, and at least a third. */
static uint32_t share_of_pages(const struct sample *sample, unsigned lines)
{
        uint32_t wanted = sample->page_count < PAGES_SHOWN ? sample->page_count : PAGES_SHOWN;
        uint32_t rest = lines > sample->participant_count ? lines - sample->participant_count : 0;
        uint32_t share = rest > lines / 3 ? rest : lines / 3;

        return wanted < share ? wanted : share;
}

void top_report_print(FILE *out, const struct place *place, const struct sample *sample, unsigned lines)
{
        enum { OTHER_LINES = 14 }; /* of a whole report */
        uint32_t pages = PAGES_SHOWN, participants = UINT32_MAX;

        print_title(out, place, sample);
        if (!sample->now)
                return;
        if (lines) {
                lines = lines > OTHER_LINES ? lines - OTHER_LINES : 0;
                pages = share_of_pages(sample, lines);
                participants = lines - pages;
        }
        print_totals(out, sample);
        print_sequence(out, sample);
        print_room(out, place, sample);
        print_oldest(out, sample);
        print_participants(out, sample, participants);
        if (sample->page_count && pages)
                print_pages(out, sample, pages);
}

/* ---- JSON ---- */

static void print_rates_json(FILE *out, const struct rates *rates)
{
        say(out, "\"commits\":%.1f,\"conflicts\":%.1f,\"read_faults\":%.1f,\"write_faults\":%.1f", rates->commits,
            rates->conflicts, rates->read_faults, rates->write_faults);
}

static void print_participants_json(FILE *out, const struct sample *sample)
{
        say(out, ",\"participants\":[");
        for (uint32_t i = 0; i < sample->participant_count; i++) {
                const struct sample_participant *participant = &sample->participant[i];
                const struct inspect_participant *now = &participant->now;

                say(out, "%s{\"row\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"alive\":%s,\"exclusive\":%s,\"waits\":%s,",
                    i ? "," : "", now->row_no, now->pid, now->is_alive ? "true" : "false",
                    now->is_exclusive ? "true" : "false", now->is_asleep ? "true" : "false");
                print_rates_json(out, &participant->rates);
                if (now->snapshot)
                        say(out, ",\"snapshot\":%" PRIu64 ",\"held\":%.3f", now->snapshot,
                            seconds_held(sample, participant));
                say(out, "}");
        }
        say(out, "]");
}

static void print_pages_json(FILE *out, const struct sample *sample)
{
        say(out, ",\"pages\":[");
        for (uint32_t i = 0; i < sample->page_count; i++) {
                say(out, "%s{\"file\":", i ? "," : "");
                json_quote(out, file_name(sample, sample->page[i].file_no));
                say(out, ",\"page\":%" PRIu64 ",\"changes\":%.1f}", sample->page[i].page_no, sample->page[i].changes);
        }
        say(out, "]");
}

static void print_oldest_json(FILE *out, const struct sample *sample)
{
        const struct sample_participant *oldest = sample->oldest;

        if (oldest)
                say(out,
                    ",\"oldest\":{\"snapshot\":%" PRIu64 ",\"row\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"behind\":%" PRIu64
                    ",\"held\":%.3f}",
                    oldest->now.snapshot, oldest->now.row_no, oldest->now.pid,
                    difference(sample->now->sequence, oldest->now.snapshot), seconds_held(sample, oldest));
        else
                say(out, ",\"oldest\":null");
}

static void print_memory_json(FILE *out, const struct place *place, const struct sample *sample)
{
        const struct inspection *now = sample->now;

        say(out, ",\"sequence\":%" PRIu64 ",\"checkpointer\":%" PRIu32 ",\"poison\":%d,\"seconds\":%.3f", now->sequence,
            now->checkpointer, now->poison, sample->seconds);
        say(out, ",\"total\":{");
        print_rates_json(out, &sample->total);
        if (now->is_volatile)
                say(out, "},\"log\":null");
        else
                say(out,
                    "},\"durable\":%" PRIu64 ",\"checkpoint\":%" PRIu64 ",\"log\":{\"used\":%" PRIu64
                    ",\"limit\":%" PRIu64 ",\"groups\":%.1f,\"bytes\":%.1f}",
                    now->durable_sequence, now->checkpoint_sequence, log_used(place, sample), now->log_bytes,
                    sample->groups, sample->log_bytes);
        say(out,
            ",\"pool\":{\"used\":%" PRIu64 ",\"limit\":%" PRIu64 ",\"dirty\":%" PRIu64 ",\"superseded\":%" PRIu64
            ",\"open\":%" PRIu64 "}",
            pool_used(sample), now->pool_bytes, now->slots_published, now->slots_retired, now->slots_private);
        print_oldest_json(out, sample);
        print_participants_json(out, sample);
        print_pages_json(out, sample);
}

void top_report_print_json(FILE *out, const struct place *place, const struct sample *sample)
{
        static const char *const states[] = { [SAMPLE_AT_REST] = "at rest",
                                              [SAMPLE_UNSEEN] = "unseen",
                                              [SAMPLE_ABANDONED] = "abandoned",
                                              [SAMPLE_IN_USE] = "in use" };
        struct tm local = local_time();
        char now[TIME_BYTES];

        strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S%z", &local);
        say(out, "{\"time\":\"%s\",\"environment\":", now);
        json_quote(out, place->path);
        say(out, ",\"state\":\"%s\",\"processes\":%" PRIu32, states[sample->state], sample->processes);
        if (sample->now)
                print_memory_json(out, place, sample);
        say(out, "}\n");
}
