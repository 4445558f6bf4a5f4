/* SPDX-License-Identifier: MIT */

/*
 * xac archive: the log of an environment, kept (recovery/archive_format.h). It archives what whole segments there are
 * now, of an environment that does not do so by itself; and looks after archives: what they have, and which gaps; what
 * is old; and data files brought on by them.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/archive_keep.h"
#include "recovery/archive_line.h"
#include "recovery/log_files.h"
#include "tools/xac/moment.h"
#include "tools/xac/place.h"
#include "tools/xac/restore_until.h"
#include "tools/xac/tool.h"

const char archive_help[] =
        "Usage: xac archive [--plain] DIR ARCHIVE\n"
        "       xac archive --list [--files] ARCHIVE\n"
        "       xac archive --keep-since=MOMENT ARCHIVE\n"
        "       xac archive --until=MOMENT ARCHIVE DIR\n"
        "Keeps the log of the environment DIR in the directory ARCHIVE: the segments that are full and on disk now,\n"
        "and of a closed environment all. Programs that open it with xac_options.archive do so by themselves,\n"
        "and lose none; this here gets what no checkpoint has given up yet.\n"
        "A MOMENT is the number of a commit, or a time: '2026-11-26 13:04:05', '@SECONDS' since 1970; 'newest'.\n"
        "\n"
        "  --plain              do not compress\n"
        "  --list               which commits an archive has, of when, and what is missing in between\n"
        "  --files              likewise, file by file\n"
        "  --keep-since=MOMENT  removes what nobody needs who has a backup of that moment\n"
        "  --until=MOMENT       brings DIR, a copy of the environment when it was closed, on to that moment: to the\n"
        "                       newest commit that is not later. It becomes an environment of its own\n"
        "  --help               this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, or (--list) damaged or with gaps, 2 usage, 3 in use; a checkpoint was "
        "quicker.\n";

struct archive_call {
        bool is_plain;
        bool is_list;
        bool has_files;
        bool is_forget;
        bool is_restore;
        struct moment moment;
};

enum { TRIES = 3 };

static int open_directory(const char *path, int *directory)
{
        int err = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, directory);

        if (err)
                tool_complain("%s: %s", path, tool_explain(err));
        return err;
}

/* ---- Keeping ---- */

static int read_files(void *arg, uint64_t position, void *bytes, size_t byte_len)
{
        size_t got;
        int err = log_files_read(arg, position, bytes, byte_len, &got);

        return err ? err : got == byte_len ? 0 : -ENOENT;
}

/* How far the log is certain to be on disk: of one that is in use, or was, what later records say. */
static int find_durable(const struct place *place, uint64_t *durable)
{
        struct log_reader *reader;
        struct log_record record;
        const unsigned char *payload;
        int more = place_open_log(place, &reader);

        *durable = 0;
        while (!more && (more = log_reader_next(reader, &record, &payload)) == 1) {
                if (record.durable > *durable)
                        *durable = record.durable;
                more = 0;
        }
        if (reader)
                log_reader_close(reader);
        return more;
}

static int keep(struct place *place, const struct archive *archive, struct archive_mark *mark)
{
        const struct manifest *manifest = &place->manifest;
        struct log_files files;
        struct archive_source source = { .manifest = manifest,
                                         .session = manifest->session,
                                         .directory = place->directory,
                                         .read = read_files,
                                         .arg = &files };
        uint64_t to = manifest->base_position;
        uint32_t culprit;
        int err = archive_mark_find(archive, &source, mark);

        if (!err && !manifest->is_clean)
                err = find_durable(place, &to);
        if (err || mark->position >= to)
                return err;
        err = log_files_open(&files, place->directory, manifest->uuid, manifest->segment_bytes,
                             mark->position / manifest->segment_bytes, &culprit);
        /* What is not there any more is a gap. */
        if (!err) {
                uint64_t there = log_files_skip_missing(&files, mark->position);

                if (there > mark->position && there != UINT64_MAX)
                        *mark = (struct archive_mark){ .position = there };
                err = archive_keep(archive, &source, to, manifest->is_clean, mark);
        }
        log_files_close(&files);
        return err;
}

static enum tool_exit complain_of_keep(const struct place *place, const char *path, int err)
{
        if (err == -EEXIST)
                tool_complain("%s is the archive of another environment, or of another history of this one: give it a "
                              "new directory",
                              path);
        else if (err == XAC_CORRUPT)
                tool_complain("%s: a checkpoint gave up log that was to be archived, or the log is damaged: try again, "
                              "or let the programs that open it archive it (xac_options.archive)",
                              place->path);
        else
                tool_complain("%s: %s", path, tool_explain(err));
        return err == XAC_CORRUPT ? TOOL_BUSY : TOOL_FAILED;
}

static enum tool_exit keep_place(struct place *place, const char *path, const struct archive_call *call)
{
        struct archive archive = { .mode = place->manifest.mode, .is_packed = !call->is_plain };
        struct archive_mark mark = { 0 };
        int err = XAC_CORRUPT;

        if (!place->manifest.session.incarnation) {
                tool_complain("%s was last open with an older version, whose log has no times: open it once",
                              place->path);
                return TOOL_FAILED;
        }
        if (open_directory(path, &archive.directory))
                return TOOL_FAILED;
        if (place->manifest.is_clean)
                (void)place_hold(place);
        for (int i = 0; i < TRIES && err == XAC_CORRUPT; i++) {
                err = manifest_read(place->directory, &place->manifest);
                if (!err)
                        err = keep(place, &archive, &mark);
        }
        sys_close(archive.directory);
        if (err)
                return complain_of_keep(place, path, err);
        tool_label("archived");
        printf("up to position %" PRIu64, mark.position);
        printf(mark.last ? ", commit %" PRIu64 "\n" : "\n", mark.last);
        return TOOL_DONE;
}

static enum tool_exit run_keep(const char *dir, const char *path, const struct archive_call *call)
{
        static struct place place;
        enum tool_exit result = place_open_with_manifest(&place, dir);

        if (result != TOOL_DONE)
                return result;
        result = keep_place(&place, path, call);
        place_close(&place);
        return result;
}

/* ---- Listing ---- */

static void print_sentence(void *arg, const char *sentence)
{
        (void)arg;
        tool_complain("%s", sentence);
}

/* Pieces that go on from one another, of one session. */
struct stretch {
        uint64_t first;
        uint64_t last;
        uint64_t first_ns;
        uint64_t last_ns;
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
        stretch->parts++;
        stretch->bytes += part->header_bytes + part->packed_bytes;
}

static void stretch_print(struct stretch *stretch)
{
        char commits[64] = "no commit";

        if (!stretch->parts)
                return;
        if (stretch->first)
                snprintf(commits, sizeof(commits), "commits %" PRIu64 " to %" PRIu64, stretch->first, stretch->last);
        printf("%s, %s to %s, %s, %s\n", commits, moment_time(stretch->first_ns), moment_time(stretch->last_ns),
               tool_count(stretch->parts, "file", "files"), tool_bytes(stretch->bytes));
        *stretch = (struct stretch){ 0 };
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
                        printf("GAP: %s\n", piece->gap);
                gaps += piece->gap != NULL;
                if (has_files) {
                        archive_file_name(name, piece->part.from, piece->part.to, piece->part.session.incarnation);
                        printf("%s: ", name);
                }
                stretch_add(&stretch, &piece->part);
        }
        stretch_print(&stretch);
        return gaps;
}

static int open_line(const char *path, int directory, struct archive_line *line, struct findings *findings)
{
        int err = archive_line_open(line, directory, NULL, findings);

        if (err == -ENOENT)
                tool_complain("%s holds no archive", path);
        else if (err && err != XAC_CORRUPT)
                tool_complain("%s: %s", path, tool_explain(err));
        return err;
}

static enum tool_exit run_on_line(const char *path, const struct archive_call *call)
{
        struct findings findings = { .report = print_sentence };
        struct archive_line line;
        uint64_t gaps = 0, removed;
        int directory;

        if (open_directory(path, &directory))
                return TOOL_FAILED;
        int err = open_line(path, directory, &line, &findings);
        if (!err && call->is_list) {
                gaps = print_line(&line, call->has_files);
        } else if (!err) {
                bool is_time = call->moment.kind == RESTORE_TIME;

                err = archive_line_forget(&line, directory, is_time ? 0 : call->moment.value,
                                          is_time ? call->moment.value : 0, &removed);
                if (err)
                        tool_complain("%s: %s", path, tool_explain(err));
                tool_label("removed");
                printf("%s\n", tool_count(removed, "file", "files"));
        }
        archive_line_close(&line);
        sys_close(directory);
        return err || gaps || findings.count ? TOOL_FAILED : TOOL_DONE;
}

/* ---- Command line ---- */

static enum tool_exit run(int argc, char **argv, const struct archive_call *call)
{
        int wanted = call->is_list || call->is_forget ? 1 : 2;

        if (argc - optind != wanted) {
                tool_complain(wanted == 1 ? "an archive, please" : "an environment and an archive, please");
                return tool_usage("archive");
        }
        if (wanted == 1)
                return run_on_line(argv[optind], call);
        return call->is_restore ? restore_until_moment(argv[optind + 1], argv[optind], &call->moment)
                                : run_keep(argv[optind], argv[optind + 1], call);
}

/* False, after a complaint. */
static bool take_option(int option, struct archive_call *call)
{
        switch (option) {
        case 'p':
                call->is_plain = true;
                return true;
        case 'f':
                call->has_files = true;
                call->is_list = true;
                return true;
        case 'l':
                call->is_list = true;
                return true;
        case 'k':
                call->is_forget = true;
                if (!moment_parse(optarg, "--keep-since", &call->moment))
                        return false;
                if (call->moment.kind == RESTORE_NEWEST)
                        call->moment.value = UINT64_MAX;
                return true;
        case 'u':
                call->is_restore = true;
                return moment_parse(optarg, "--until", &call->moment);
        default:
                return false;
        }
}

enum tool_exit archive_main(int argc, char **argv)
{
        static const struct option known[] = { { "plain", no_argument, NULL, 'p' },
                                               { "list", no_argument, NULL, 'l' },
                                               { "files", no_argument, NULL, 'f' },
                                               { "keep-since", required_argument, NULL, 'k' },
                                               { "until", required_argument, NULL, 'u' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        struct archive_call call = { 0 };
        int option;

        while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
                if (option == 'h') {
                        fputs(archive_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(option, &call))
                        return tool_usage("archive");
        }
        if (call.is_list + call.is_forget + call.is_restore > 1) {
                tool_complain("one thing at a time: --list, --keep-since or --until");
                return tool_usage("archive");
        }
        return run(argc, argv, &call);
}
