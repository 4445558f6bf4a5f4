/* SPDX-License-Identifier: MIT */
#include "tools/xac/archive_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/json.h"

/* ---- The archive ---- */

enum tool_exit archive_place_open(struct archive_place *place, const char *path,
                                  void (*report)(void *arg, const char *sentence))
{
        int err = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &place->directory);

        place->path = path;
        place->findings = (struct findings){ .report = report };
        if (err) {
                tool_complain("%s: %s", path, tool_explain(err));
                return TOOL_FAILED;
        }
        err = archive_line_open(&place->line, place->directory, NULL, &place->findings);
        if (!err)
                return TOOL_DONE;
        if (err == -ENOENT)
                tool_complain(place->findings.count ? "%s: no file of the archive has a header that is whole"
                                                    : "%s holds no archive",
                              path);
        else if (err != XAC_CORRUPT)
                tool_complain("%s: %s", path, tool_explain(err));
        archive_place_close(place);
        return TOOL_FAILED;
}

void archive_place_close(struct archive_place *place)
{
        archive_line_close(&place->line);
        sys_close(place->directory);
}

static void print_sentence(void *arg, const char *sentence)
{
        (void)arg;
        tool_complain("%s", sentence);
}

/* ---- Listing ---- */

#define SET_BACK_NS UINT64_C(1000000000) /* worth a word; who keeps a clock right moves it by less */

/* Pieces that go on from one another, of one session. */
struct stretch {
        uint64_t first;
        uint64_t last;
        uint64_t first_ns;
        uint64_t last_ns;
        uint64_t back_ns; /* the clock was behind that, as it had been ahead */
        uint64_t parts;
        uint64_t bytes;
};

static void stretch_add(struct stretch *stretch, const struct archive_part *part)
{
        if (part->last && !stretch->first)
                stretch->first = part->before + 1;
        if (part->last)
                stretch->last = part->last;
        if (!stretch->first_ns)
                stretch->first_ns = part->first_ns;
        if (part->last_ns)
                stretch->last_ns = part->last_ns;
        if (part->back_ns > stretch->back_ns)
                stretch->back_ns = part->back_ns;
        stretch->parts++;
        stretch->bytes += part->header_bytes + part->packed_bytes;
}

/* Lasts until the next call. */
static const char *stretch_commits(const struct stretch *stretch)
{
        static char commits[64];

        if (!stretch->first)
                return "no commit";
        snprintf(commits, sizeof(commits), "commits %" PRIu64 " to %" PRIu64, stretch->first, stretch->last);
        return commits;
}

static void stretch_print(struct stretch *stretch)
{
        if (!stretch->parts)
                return;
        say(stdout, "%s, %s to %s, %s, %s\n", stretch_commits(stretch), moment_time(stretch->first_ns),
            moment_time(stretch->last_ns), tool_count(stretch->parts, "file", "files"), tool_bytes(stretch->bytes));
        if (stretch->back_ns >= SET_BACK_NS)
                say(stdout,
                    "    the clock was set back by up to %" PRIu64 " s there: these times may be too late by as much; "
                    "--until=TIME goes by the clock, --until=SEQUENCE by none\n",
                    stretch->back_ns / 1000000000);
        *stretch = (struct stretch){ 0 };
}

/* False: nobody knows which are missing. */
static bool gap_commits(const struct archive_line *line, uint32_t i, uint64_t newest, uint64_t *first, uint64_t *last)
{
        const uint32_t next = line->piece[i].next_commits;

        newest = newest ? newest : line->piece[i].newest_before;
        *first = newest + 1;
        *last = next < line->count ? line->piece[next].part.before : 0;
        return newest && *last > newest;
}

void archive_print_gap(const struct archive_line *line, uint32_t i, uint64_t newest)
{
        uint64_t first, last;

        say(stdout, "GAP: %s", line->piece[i].gap);
        if (gap_commits(line, i, newest, &first, &last))
                say(stdout, ": commits %" PRIu64 " to %" PRIu64, first, last);
        putchar('\n');
}

static uint64_t print_line(const struct archive_line *line, bool has_files)
{
        struct stretch stretch = { 0 };
        uint64_t gaps = 0;

        for (uint32_t i = 0; i < line->count; i++) {
                const struct archive_piece *piece = &line->piece[i];
                char name[ARCHIVE_NAME_BYTES];

                if (has_files || piece->gap ||
                    (i && piece->part.session.incarnation != piece[-1].part.session.incarnation))
                        stretch_print(&stretch);
                if (piece->gap)
                        archive_print_gap(line, i, 0);
                gaps += piece->gap != NULL;
                if (has_files) {
                        archive_file_name(name, piece->part.from, piece->part.to, piece->part.session.incarnation);
                        say(stdout, "%s: ", name);
                }
                stretch_add(&stretch, &piece->part);
        }
        stretch_print(&stretch);
        return gaps;
}

/* ---- The same for programs ---- */

/* What is missing before a piece. Its commits: null, if nobody knows them. */
static void put_gap(struct json *json, const struct archive_line *line, uint32_t i)
{
        uint64_t first, last;
        const bool is_known = gap_commits(line, i, 0, &first, &last);

        json_open(json, NULL, '{');
        json_text(json, "kind", "gap");
        json_text(json, "text", line->piece[i].gap);
        json_number_if(json, "first", is_known, first);
        json_number_if(json, "last", is_known, last);
        json_close(json, '}');
}

static void put_stretch(struct json *json, struct stretch *stretch, const char *name)
{
        if (!stretch->parts)
                return;
        json_open(json, NULL, '{');
        json_text(json, "kind", name ? "file" : "stretch");
        if (name)
                json_text(json, "name", name);
        json_number_if(json, "first", stretch->first, stretch->first);
        json_number_if(json, "last", stretch->first, stretch->last);
        json_text(json, "first_time", moment_iso(stretch->first_ns));
        json_text(json, "last_time", moment_iso(stretch->last_ns));
        json_fraction(json, "clock_set_back_seconds", (double)stretch->back_ns / 1e9, 3);
        json_number(json, "files", stretch->parts);
        json_number(json, "bytes", stretch->bytes);
        json_close(json, '}');
        *stretch = (struct stretch){ 0 };
}

static uint64_t put_line(struct json *json, const struct archive_line *line, bool has_files)
{
        struct stretch stretch = { 0 };
        uint64_t gaps = 0;

        for (uint32_t i = 0; i < line->count; i++) {
                const struct archive_piece *piece = &line->piece[i];
                char name[ARCHIVE_NAME_BYTES];

                if (piece->gap || (i && piece->part.session.incarnation != piece[-1].part.session.incarnation))
                        put_stretch(json, &stretch, NULL);
                if (piece->gap)
                        put_gap(json, line, i);
                gaps += piece->gap != NULL;
                stretch_add(&stretch, &piece->part);
                if (!has_files)
                        continue;
                archive_file_name(name, piece->part.from, piece->part.to, piece->part.session.incarnation);
                put_stretch(json, &stretch, name);
        }
        put_stretch(json, &stretch, NULL);
        return gaps;
}

static enum tool_exit list_as_json(const char *path, bool has_files)
{
        static struct archive_place place;
        struct json json = { .to = stdout };
        enum tool_exit result = archive_place_open(&place, path, print_sentence);
        const bool is_open = result == TOOL_DONE;
        uint64_t gaps = 0;

        json_open(&json, NULL, '{');
        json_text(&json, "archive", path);
        json_open(&json, "parts", '[');
        if (is_open)
                gaps = put_line(&json, &place.line, has_files);
        json_close(&json, ']');
        if (gaps || place.findings.count)
                result = TOOL_FAILED;
        json_number_if(&json, "gaps", is_open, gaps);
        json_number(&json, "damages", place.findings.count);
        json_text(&json, "error", tool_last_complaint());
        json_number(&json, "status", result);
        json_close(&json, '}');
        if (is_open)
                archive_place_close(&place);
        return result;
}

enum tool_exit archive_list_run(const char *path, bool has_files, bool is_json)
{
        static struct archive_place place;
        enum tool_exit result;

        if (is_json)
                return list_as_json(path, has_files);
        result = archive_place_open(&place, path, print_sentence);
        if (result != TOOL_DONE)
                return result;
        if (print_line(&place.line, has_files) || place.findings.count)
                result = TOOL_FAILED;
        archive_place_close(&place);
        return result;
}

/* ---- What is old ---- */

static struct stretch stretch_of(const struct archive_line *line, uint32_t count)
{
        struct stretch stretch = { 0 };

        for (uint32_t i = 0; i < count; i++)
                stretch_add(&stretch, &line->piece[i].part);
        return stretch;
}

/* A slip of the finger is not to cost the archive: what it cannot have, nobody has a backup of. */
static bool is_plausible(const struct archive_place *place, const struct moment *since)
{
        const struct stretch all = stretch_of(&place->line, place->line.count);

        if (since->kind == RESTORE_SEQUENCE && since->value > all.last)
                tool_complain("%s has no commit %" PRIu64 ", but %s: nothing was removed", place->path, since->value,
                              stretch_commits(&all));
        else if (since->kind == RESTORE_TIME && since->value > sys_wall_ns())
                tool_complain("%s is yet to come; %s has %s, up to %s: nothing was removed", moment_time(since->value),
                              place->path, stretch_commits(&all), moment_time(all.last_ns));
        else
                return true;
        return false;
}

static int forget_old(const struct archive_place *place, const struct archive_forget *forget)
{
        const struct moment *since = &forget->since;
        const uint64_t sequence = since->kind == RESTORE_SEQUENCE ? since->value
                                  : since->kind == RESTORE_NEWEST ? UINT64_MAX
                                                                  : 0;
        const uint64_t time_ns = since->kind == RESTORE_TIME ? since->value : 0;
        uint64_t removed = archive_line_old(&place->line, sequence, time_ns);
        const struct stretch old = stretch_of(&place->line, (uint32_t)removed);
        int err = 0;

        if (!forget->is_dry)
                err = archive_line_forget(&place->line, place->directory, sequence, time_ns, &removed);
        if (err)
                tool_complain("%s: %s", place->path, tool_explain(err));
        if (forget->is_quiet)
                return err;
        tool_label(forget->is_dry ? "would remove" : "removed");
        say(stdout, "%s%s%s\n", tool_count(removed, "file", "files"), removed && !err ? ": " : "",
            removed && !err ? stretch_commits(&old) : "");
        return err;
}

enum tool_exit archive_forget_run(const char *path, const struct archive_forget *forget)
{
        static struct archive_place place;
        enum tool_exit result = archive_place_open(&place, path, print_sentence);

        if (result != TOOL_DONE)
                return result;
        if (!is_plausible(&place, &forget->since) || forget_old(&place, forget) || place.findings.count)
                result = TOOL_FAILED;
        archive_place_close(&place);
        return result;
}
