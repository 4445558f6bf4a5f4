/* SPDX-License-Identifier: MIT */
#include "tools/xac/top_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/json.h"
#include "tools/xac/live_json.h"
#include "tools/xac/moment.h"

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

static void put_rates(struct json *json, const struct rates *rates)
{
        json_fraction(json, "commits", rates->commits, 1);
        json_fraction(json, "conflicts", rates->conflicts, 1);
        json_fraction(json, "read_faults", rates->read_faults, 1);
        json_fraction(json, "write_faults", rates->write_faults, 1);
}

static void put_participants(struct json *json, const struct sample *sample)
{
        json_open(json, "participants", '[');
        for (uint32_t i = 0; i < sample->participant_count; i++) {
                const struct sample_participant *participant = &sample->participant[i];
                const struct inspect_participant *now = &participant->now;

                json_open(json, NULL, '{');
                json_number(json, "row", now->row_no);
                json_number(json, "pid", now->pid);
                json_bool(json, "alive", now->is_alive);
                json_bool(json, "exclusive", now->is_exclusive);
                json_bool(json, "waits", now->is_asleep);
                put_rates(json, &participant->rates);
                if (now->snapshot) {
                        json_number(json, "snapshot", now->snapshot);
                        json_fraction(json, "held", seconds_held(sample, participant), 3);
                }
                json_close(json, '}');
        }
        json_close(json, ']');
}

static void put_pages(struct json *json, const struct sample *sample)
{
        json_open(json, "pages", '[');
        for (uint32_t i = 0; i < sample->page_count; i++) {
                json_open(json, NULL, '{');
                json_text(json, "file", file_name(sample, sample->page[i].file_no));
                json_number(json, "page", sample->page[i].page_no);
                json_fraction(json, "changes", sample->page[i].changes, 1);
                json_close(json, '}');
        }
        json_close(json, ']');
}

static void put_oldest(struct json *json, const struct sample *sample)
{
        const struct sample_participant *oldest = sample->oldest;

        if (!oldest) {
                json_null(json, "oldest");
                return;
        }
        json_open(json, "oldest", '{');
        json_number(json, "snapshot", oldest->now.snapshot);
        json_number(json, "row", oldest->now.row_no);
        json_number(json, "pid", oldest->now.pid);
        json_number(json, "behind", difference(sample->now->sequence, oldest->now.snapshot));
        json_fraction(json, "held", seconds_held(sample, oldest), 3);
        json_close(json, '}');
}

static void put_log(struct json *json, const struct place *place, const struct sample *sample)
{
        const struct inspection *now = sample->now;

        if (now->is_volatile) {
                json_null(json, "log");
                return;
        }
        json_number(json, "durable", now->durable_sequence);
        json_number(json, "checkpoint", now->checkpoint_sequence);
        json_open(json, "log", '{');
        json_number(json, "used", log_used(place, sample));
        json_number(json, "limit", now->log_bytes);
        json_fraction(json, "groups", sample->groups, 1);
        json_fraction(json, "bytes", sample->log_bytes, 1);
        json_close(json, '}');
}

static void put_memory(struct json *json, const struct place *place, const struct sample *sample)
{
        const struct inspection *now = sample->now;

        json_number(json, "sequence", now->sequence);
        json_number(json, "checkpointer", now->checkpointer);
        json_signed(json, "poison", now->poison);
        json_fraction(json, "seconds", sample->seconds, 3);
        json_open(json, "total", '{');
        put_rates(json, &sample->total);
        json_close(json, '}');
        put_log(json, place, sample);
        live_put_archive(json, now);
        json_open(json, "pool", '{');
        json_number(json, "used", pool_used(sample));
        json_number(json, "limit", now->pool_bytes);
        json_number(json, "dirty", now->slots_published);
        json_number(json, "superseded", now->slots_retired);
        json_number(json, "open", now->slots_private);
        json_close(json, '}');
        put_oldest(json, sample);
        put_participants(json, sample);
        put_pages(json, sample);
}

void top_report_print_json(FILE *out, const struct place *place, const struct sample *sample)
{
        static const char *const states[] = { [SAMPLE_AT_REST] = "at rest",
                                              [SAMPLE_UNSEEN] = "unseen",
                                              [SAMPLE_ABANDONED] = "abandoned",
                                              [SAMPLE_IN_USE] = "in use" };
        struct json json = { .to = out, .is_line = true };

        json_open(&json, NULL, '{');
        json_text(&json, "time", moment_iso(sys_wall_ns()));
        json_text(&json, "environment", place->path);
        json_text(&json, "state", states[sample->state]);
        json_number(&json, "processes", sample->processes);
        if (sample->now)
                put_memory(&json, place, sample);
        json_close(&json, '}');
}
