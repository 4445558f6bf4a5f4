/* SPDX-License-Identifier: MIT */

/*
 * xac log: the records of the redo log, decoded (recovery/log_format.h has their bytes), and how the log
 * ends. It only reads, and takes no lock: the log of an environment in use may be looked at, but its
 * end moves, and a checkpoint may recycle what was about to be read.
 *
 * The log is read twice. The first time tells which commit each fragment belongs to: fragments come before
 * the commit, and do not know its number.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/vector.h"
#include "recovery/log_reader.h"
#include "tools/xac/log_entry.h"
#include "tools/xac/place.h"
#include "tools/xac/tool.h"

const char log_help[] =
        "Usage: xac log [OPTION]... DIR\n"
        "Prints the records of the redo log since the last checkpoint, one line each: position in the\n"
        "log, file and offset, sequence of the commit, kind, bytes in the log, pages; then how it ends.\n"
        "Commits that did not wait for the disk may stand there merged, first and last as 'first-last'.\n"
        "Changes nothing. The end of a log that is in use moves.\n"
        "\n"
        "  --from SEQ  from this commit on\n"
        "  --to SEQ    up to this commit\n"
        "  --pages     also what each record did to which page\n"
        "  --bytes     also the bytes it put there\n"
        "  --help      this text\n"
        "\n"
        "Exit status: 0 the log ends as it should, 1 it is damaged or could not be read, 2 usage,\n"
        "3 a checkpoint recycled it meanwhile.\n";

struct log_options {
        uint64_t from;
        uint64_t to;
        bool has_pages;
        bool has_bytes;
};

/* The commits that a record stands for; none: both 0. */
struct span {
        uint64_t first;
        uint64_t last;
};

/* A commit, or merged ones, with fragments. */
struct fragmented {
        uint64_t transaction;
        struct span commits;
};

struct log_view {
        struct place place;
        struct log_options options;
        struct vector fragmented; /* ascending */
        struct log_reader *reader;
        uint64_t records; /* in the log, whatever is printed */
        uint64_t commits;
        uint64_t newest;
        bool is_malformed;
};

/* ---- Reading ---- */

static int remember_fragmented(struct log_view *view, uint64_t transaction, struct span commits)
{
        struct fragmented *items;
        int err = vector_reserve(&view->fragmented, view->fragmented.count + 1, sizeof(*items));

        if (err)
                return err;
        items = view->fragmented.items;
        items[view->fragmented.count++] = (struct fragmented){ .transaction = transaction, .commits = commits };
        return 0;
}

/* A base that makes no sense is left to others to report. */
static struct span merged_commits(const struct log_record *record, const unsigned char *payload)
{
        uint64_t base;

        if (!log_merged_base(payload, record->payload_len, &base) || base >= record->sequence)
                base = record->sequence - 1;
        return (struct span){ base + 1, record->sequence };
}

/* What a fragment belongs to may never have come. */
static struct span commits_of(const struct log_view *view, const struct log_record *record,
                              const unsigned char *payload)
{
        const struct fragmented *items = view->fragmented.items;

        if (record->kind == LOG_MERGED)
                return merged_commits(record, payload);
        if (record->kind == LOG_COMMIT)
                return (struct span){ record->sequence, record->sequence };
        for (uint32_t i = 0; i < view->fragmented.count; i++)
                if (items[i].transaction == record->transaction)
                        return items[i].commits;
        return (struct span){ 0, 0 };
}

/* Calls `visit` for each record; 0 at the log's end, else what was met there. */
static int for_each_record(struct log_view *view,
                           int (*visit)(struct log_view *, const struct log_record *, const unsigned char *))
{
        struct log_record record;
        const unsigned char *payload;
        int more;

        while ((more = log_reader_next(view->reader, &record, &payload)) == 1) {
                int err = visit(view, &record, payload);

                if (err)
                        return err;
        }
        return more;
}

static int visit_commit(struct log_view *view, const struct log_record *record, const unsigned char *payload)
{
        if (record->kind == LOG_FRAGMENT || !record->transaction)
                return 0;
        return remember_fragmented(view, record->transaction, commits_of(view, record, payload));
}

/* ---- Printing ---- */

/* Where a position stands on disk. */
static const char *position_place(const struct log_view *view, uint64_t position)
{
        static char text[64];
        uint64_t segment_bytes = view->place.manifest.segment_bytes;
        uint32_t file_no;
        uint64_t segment_no;

        for (uint32_t i = 0; i < log_reader_segment(view->reader, i, &file_no, &segment_no); i++) {
                if (segment_no != position / segment_bytes)
                        continue;
                snprintf(text, sizeof(text), LOG_FILE_PREFIX "%" PRIu32 "+%" PRIu64, file_no,
                         LOG_HEADER_BYTES + position % segment_bytes);
                return text;
        }
        return "(no file)";
}

static void print_heading(void)
{
        say(stdout, "%-12s %-22s %10s %-9s %8s %6s\n", "position", "file+offset", "sequence", "kind", "bytes", "pages");
}

static const char *span_text(struct span commits)
{
        static char text[48];

        if (commits.last == 0)
                return "-";
        if (commits.first == commits.last)
                snprintf(text, sizeof(text), "%" PRIu64, commits.last);
        else
                snprintf(text, sizeof(text), "%" PRIu64 "-%" PRIu64, commits.first, commits.last);
        return text;
}

static void print_record(struct log_view *view, const struct log_record *record, const unsigned char *payload,
                         struct span commits)
{
        static const char *const kinds[] = {
                [LOG_COMMIT] = "commit", [LOG_FRAGMENT] = "fragment", [LOG_MERGED] = "merged"
        };
        uint32_t head = record->kind == LOG_MERGED ? LOG_MERGED_HEADER : 0;
        uint32_t entries_len = record->payload_len - head;

        say(stdout, "%-12" PRIu64 " %-22s %10s %-9s %8" PRIu32 " %6" PRIu64 "\n", record->position,
            position_place(view, record->position), span_text(commits), kinds[record->kind],
            log_record_len(record->payload_len),
            log_entry_count(payload + head, entries_len, view->place.manifest.page_bytes));
        if (view->options.has_pages &&
            !log_entry_print_all(&view->place, payload + head, entries_len, view->options.has_bytes))
                view->is_malformed = true;
}

/* Is any of them asked for? A fragment without a commit has no number that could be. */
static bool is_asked_for(const struct log_options *options, struct span commits)
{
        if (commits.last == 0)
                return options->from == 0 && options->to == UINT64_MAX;
        return commits.last >= options->from && commits.first <= options->to;
}

static int visit_print(struct log_view *view, const struct log_record *record, const unsigned char *payload)
{
        struct span commits = commits_of(view, record, payload);

        view->records++;
        if (record->kind != LOG_FRAGMENT) {
                view->commits += commits.last - commits.first + 1;
                view->newest = commits.last;
        }
        if (is_asked_for(&view->options, commits))
                print_record(view, record, payload, commits);
        return 0;
}

static void print_end(struct log_view *view)
{
        uint64_t end = log_reader_end(view->reader);

        say(stdout, "%s, %s", tool_count(view->records, "record", "records"),
            tool_count(view->commits, "commit", "commits"));
        if (view->commits)
                say(stdout, ", the newest %" PRIu64, view->newest);
        say(stdout, "; checkpoint at sequence %" PRIu64 ".\n", view->place.manifest.base_sequence);
        say(stdout, "The log ends at position %" PRIu64 ", %s", end, position_place(view, end));
        if (place_is_in_use(&view->place) != 0)
                say(stdout, "; the environment is in use, so the end moves.\n");
        else if (log_reader_has_torn_tail(view->reader))
                say(stdout, ", with a torn tail: a group of commits was being written when the machine or its\n"
                            "last process went down. None of them had been acknowledged as durable;\n"
                            "recovery drops them. This is no damage.\n");
        else
                say(stdout, ", cleanly.\n");
}

/* ---- The reader ---- */

static void close_reader(struct log_view *view)
{
        if (view->reader)
                log_reader_close(view->reader);
        view->reader = NULL;
}

/* While it is in use, files come and go between a look at the directory and their being opened. */
static int open_reader(struct log_view *view)
{
        enum { TRIES = 10 };
        int err = place_open_log(&view->place, &view->reader);

        for (int i = 1; err && i < TRIES && place_is_in_use(&view->place) != 0; i++) {
                close_reader(view);
                err = manifest_read(view->place.directory, &view->place.manifest);
                if (!err)
                        err = place_open_log(&view->place, &view->reader);
        }
        return err;
}

/* ---- When it does not end well ---- */

/* Has a checkpoint moved the log on since the manifest was read? */
static bool is_recycled(struct log_view *view)
{
        struct manifest now;

        return !manifest_read(view->place.directory, &now) &&
               (now.redo_position != view->place.manifest.redo_position ||
                now.incarnation != view->place.manifest.incarnation);
}

static void print_damage(struct log_view *view)
{
        struct log_damage damage;

        log_reader_damage(view->reader, &damage);
        say(stdout, "DAMAGED at position %" PRIu64, damage.position);
        if (damage.file_no != UINT32_MAX)
                say(stdout, ", " LOG_FILE_PREFIX "%" PRIu32 "+%" PRIu64, damage.file_no, damage.offset);
        say(stdout, ": %s.\n", damage.what ? damage.what : "the log makes no sense");
        say(stdout, "Recovery stops here, and changes nothing. 'xac check' looks at the rest.\n");
}

/* The end of a log in use moves while it is looked at: one look may meet a group half written, and a later one of which
 * all is there. That is no damage, and the next look does not find it in the same place. */
static bool is_moving_end(struct log_view *view)
{
        struct log_damage damage, again;
        struct log_record record;
        const unsigned char *payload;
        int more;

        if (place_is_in_use(&view->place) == 0)
                return false;
        log_reader_damage(view->reader, &damage);
        close_reader(view);
        if (open_reader(view))
                return false;
        while ((more = log_reader_next(view->reader, &record, &payload)) == 1 && record.position < damage.position)
                ;
        log_reader_damage(view->reader, &again);
        return more >= 0 || (more == XAC_CORRUPT && again.position != damage.position);
}

static enum tool_exit end_badly(struct log_view *view, int err)
{
        if (is_recycled(view)) {
                tool_complain("%s: a checkpoint recycled the log while it was read: run it again", view->place.path);
                return TOOL_BUSY;
        }
        if (err == XAC_CORRUPT && view->reader && is_moving_end(view)) {
                print_end(view);
                return TOOL_DONE;
        }
        if (err == XAC_CORRUPT && view->reader)
                print_damage(view);
        else
                tool_complain("%s: the log cannot be read: %s", view->place.path, tool_explain(err));
        return TOOL_FAILED;
}

static int read_twice(struct log_view *view)
{
        int err = open_reader(view);

        if (err)
                return err;
        for_each_record(view, visit_commit); /* what ends it will be met again */
        close_reader(view);
        err = open_reader(view);
        if (err)
                return err;
        print_heading();
        return for_each_record(view, visit_print);
}

static enum tool_exit print_log(struct log_view *view)
{
        int err;

        if (view->place.manifest.is_clean) {
                say(stdout, "The log is empty: everything up to sequence %" PRIu64 " is in the data files%s.\n",
                    view->place.manifest.base_sequence,
                    place_is_in_use(&view->place) != 0 ? ", and nothing was logged since" : "");
                return TOOL_DONE;
        }
        err = read_twice(view);
        if (err)
                return end_badly(view, err);
        print_end(view);
        return view->is_malformed ? TOOL_FAILED : TOOL_DONE;
}

/* ---- Command line ---- */

static bool parse(int argc, char **argv, struct log_options *options, bool *is_help)
{
        static const struct option longs[] = {
                { "from", required_argument, NULL, 'f' }, { "to", required_argument, NULL, 't' },
                { "pages", no_argument, NULL, 'p' },      { "bytes", no_argument, NULL, 'b' },
                { "help", no_argument, NULL, 'h' },       { NULL, 0, NULL, 0 }
        };
        bool is_right = true;
        int option;

        options->to = UINT64_MAX;
        while (is_right && (option = tool_next_option(argc, argv, ":h", longs)) != -1) {
                if (option == 'f')
                        is_right = tool_number(optarg, "--from", &options->from);
                else if (option == 't')
                        is_right = tool_number(optarg, "--to", &options->to);
                else if (option == 'p')
                        options->has_pages = true;
                else if (option == 'b')
                        options->has_pages = options->has_bytes = true;
                else if (option == 'h')
                        *is_help = true;
                else
                        is_right = false;
        }
        return is_right;
}

enum tool_exit log_main(int argc, char **argv)
{
        static struct log_view view;
        bool is_help = false;
        const char *path;
        enum tool_exit result;

        if (!parse(argc, argv, &view.options, &is_help))
                return tool_usage("log");
        if (is_help) {
                fputs(log_help, stdout);
                return TOOL_DONE;
        }
        path = tool_operand(argc, argv, "log");
        if (!path)
                return tool_usage("log");
        result = place_open_with_manifest(&view.place, path);
        if (result != TOOL_DONE)
                return result;
        result = print_log(&view);
        close_reader(&view);
        vector_free(&view.fragmented, sizeof(struct fragmented));
        place_close(&view.place);
        return result;
}
