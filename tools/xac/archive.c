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
#include <stdio.h>
#include <string.h>
#include <xac/xac.h>

#include "backup/backup_index.h"
#include "base/say.h"
#include "base/sys.h"
#include "recovery/archive_keep.h"
#include "recovery/archive_marker.h"
#include "recovery/log_files.h"
#include "tools/xac/archive_check.h"
#include "tools/xac/archive_list.h"
#include "tools/xac/live.h"
#include "tools/xac/moment.h"
#include "tools/xac/opening.h"
#include "tools/xac/place.h"
#include "tools/xac/remains.h"
#include "tools/xac/restore_until.h"
#include "tools/xac/tool.h"

const char archive_help[] =
        "Usage: xac archive [--plain] [--quiet] DIR ARCHIVE\n"
        "       xac archive --list [--files] [--json] ARCHIVE\n"
        "       xac archive --check [--quiet] ARCHIVE\n"
        "       xac archive --keep-since=MOMENT [--dry-run | --quiet] ARCHIVE\n"
        "       xac archive --until=MOMENT [--quiet] ARCHIVE DIR\n"
        "       xac archive --new DIR\n"
        "Keeps the log of the environment DIR in the directory ARCHIVE: the segments that are full and on disk now,\n"
        "and of a closed environment all. Programs that open it with xac_options.archive do so by themselves,\n"
        "and lose none; this here gets what no checkpoint has given up yet.\n"
        "A MOMENT is the number of a commit, or a time: '2026-11-26 13:04:05' (local, or with Z or +01:00 behind it),\n"
        "'@SECONDS' since 1970; 'newest'.\n"
        "\n"
        "  --plain              do not compress\n"
        "  --list               which commits an archive has, of when, and what is missing in between; it reads the\n"
        "                       headers of the files only\n"
        "  --files              likewise, file by file\n"
        "  --json               the same for programs (xac(1) has the fields)\n"
        "  --check              reads all of an archive, and says what is damaged or missing, with its commits\n"
        "  --keep-since=MOMENT  removes what nobody needs who has a backup of that moment\n"
        "  --dry-run            says what would be removed, and removes nothing\n"
        "  --until=MOMENT       brings DIR, a copy of the environment when it was closed, on to that moment: to the\n"
        "                       newest commit that is not later. It becomes an environment of its own\n"
        "  --new                DIR forgets which archive it had: the next open begins a new one, or goes on with\n"
        "                       another one of its own, in the directory that it names\n"
        "  --quiet              says nothing unless it fails, or the archive ends before the time of --until\n"
        "  --help               this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, or with gaps, or damaged (--list sees that of headers, --check all), 2 usage,\n"
        "3 in use; a checkpoint was quicker.\n";

struct archive_call {
        bool is_plain, is_quiet, is_dry;
        bool is_list, has_files, is_json;
        bool is_check;
        bool is_forget;
        bool is_new;
        bool is_restore;
        struct moment moment;
};

enum { TRIES = 3 };

/* ---- Keeping ---- */

/* What became of it. */
struct kept {
        struct archive_mark mark;
        bool has_taken;
        bool has_any;              /* it had some before */
        uint64_t gap_from, gap_to; /* log that the environment has given up before it was archived; equal: none */
        uint64_t gap_behind;       /* the commit that the archive ends with there; 0: not known */
};

static int read_files(void *arg, uint64_t position, void *bytes, size_t byte_len)
{
        size_t got;
        int err = log_files_read(arg, position, bytes, byte_len, &got);

        return err ? err : got == byte_len ? 0 : -ENOENT;
}

static uint64_t skip_files(void *arg, uint64_t position)
{
        return log_files_skip_missing(arg, position);
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

static int open_log_files(const struct place *place, const struct archive_mark *mark, struct log_files *files)
{
        const struct manifest *manifest = &place->manifest;
        uint32_t culprit;

        return log_files_open(files, place->directory, manifest->uuid, manifest->segment_bytes,
                              mark->position / manifest->segment_bytes, &culprit);
}

/* The archive of a session cannot have more than the session has logged: then nothing would be archived any more. What
 * was given up of a log may be there. -ERANGE: it has. */
static int check_end(const struct place *place, const struct archive_mark *mark)
{
        const struct manifest *manifest = &place->manifest;
        struct log_files files;
        int err = 0;

        if (manifest->history != manifest->session.history)
                return 0;
        if (manifest->is_clean)
                return mark->position > manifest->base_position ? -ERANGE : 0;
        err = open_log_files(place, mark, &files);
        if (!err && mark->position > log_files_limit(&files))
                err = -ERANGE;
        log_files_close(&files);
        return err;
}

/* An archive goes on where it ends, or has a gap there. One that has nothing yet begins anywhere. */
static void note_gap(const struct archive_part *newest, uint64_t begin, struct kept *kept)
{
        if (!newest->to || begin <= newest->to)
                return;
        kept->gap_from = newest->to;
        kept->gap_to = begin;
        kept->gap_behind = newest->last;
}

static int keep(struct place *place, const struct archive *archive, struct kept *kept)
{
        struct archive_mark *mark = &kept->mark;
        struct archive_part newest = { 0 };
        char name[ARCHIVE_NAME_BYTES];
        const struct manifest *manifest = &place->manifest;
        struct log_files files;
        struct archive_source source = { .manifest = manifest,
                                         .session = manifest->session,
                                         .directory = place->directory,
                                         .read = read_files,
                                         .skip = skip_files,
                                         .arg = &files };
        uint64_t to = manifest->base_position;
        if (archive_newest(archive->directory, &newest, name))
                newest.to = 0;
        kept->has_any |= newest.to != 0;
        int err = archive_mark_find(archive, &source, mark);

        if (!err)
                note_gap(&newest, mark->position, kept);
        if (!err && !manifest->is_clean)
                err = find_durable(place, &to);
        if (!err && mark->position > to)
                err = check_end(place, mark);
        if (err || mark->position >= to)
                return err;
        err = open_log_files(place, mark, &files);
        if (!err) {
                const uint64_t begin = mark->position, there = skip_files(&files, begin);

                err = archive_keep(archive, &source, to, manifest->is_clean, mark);
                if (there > begin)
                        note_gap(&newest, there < to ? there : to, kept);
                kept->has_taken |= mark->position > begin && mark->next_record; /* 0 is behind a gap */
        }
        log_files_close(&files);
        return err;
}

static enum tool_exit complain_of_keep(const struct place *place, const char *path, const struct archive_mark *mark,
                                       int err)
{
        if (err == -EEXIST)
                tool_complain("%s is the archive of another environment, or of another history of this one: give it a "
                              "new directory",
                              path);
        else if (mark->culprit[0])
                tool_complain("%s/%s has the name of the newest part, and is none that can be read: move it away", path,
                              mark->culprit);
        else if (err == -ERANGE)
                tool_complain("%s has log from beyond the end of that of %s: it is damaged, or of another history of "
                              "it: give it a new directory",
                              path, place->path);
        else if (err == XAC_CORRUPT && place_is_in_use(place) == 0)
                tool_complain(
                        "%s: its log is damaged, or the archive is: 'xac check' and 'xac archive --check' say where",
                        place->path);
        else if (err == XAC_CORRUPT)
                tool_complain("%s: a checkpoint gave up log that was to be archived, or the log is damaged: try again, "
                              "or let the programs that open it archive it (xac_options.archive)",
                              place->path);
        else
                tool_complain("%s: %s", path, tool_explain(err));
        return err == XAC_CORRUPT && !mark->culprit[0] && place_is_in_use(place) != 0 ? TOOL_BUSY : TOOL_FAILED;
}

/* Others have files of their own there: an environment, a backup. Complains if it fails. */
static int open_archive(const char *path, int *directory)
{
        static const char *const taken[] = { MANIFEST_NAME, BACKUP_INDEX_NAME };
        struct stat st;
        int err = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, directory);

        if (err) {
                tool_complain("%s: %s", path, tool_explain(err));
                return err;
        }
        for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
                if (sys_stat_at(*directory, taken[i], &st) != -ENOENT) {
                        tool_complain("%s has a file %s, and so is no place for an archive: give it a directory of its "
                                      "own",
                                      path, taken[i]);
                        sys_close(*directory);
                        return -EEXIST;
                }
        return 0;
}

static bool is_marked_as_before(const struct manifest_archive *archive, const char *path)
{
        struct archive_marker marker;
        int directory;

        if (!archive_id_is_known(archive->marker))
                return opening_is_archive(path);
        if (sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory))
                return true;
        const int err = archive_marker_read(directory, &marker);
        sys_close(directory);
        return !err && memcmp(marker.id, archive->marker, sizeof(marker.id)) == 0;
}

/* What is taken there now, the archive that is away would lack. */
static bool is_away(const struct place *place, const char *path)
{
        const struct manifest_archive *archive = &place->manifest.archive;
        struct stat named, given;

        if (!place_remembers_archive(place) || stat(archive->path, &named) || stat(path, &given))
                return false;
        if (named.st_dev != given.st_dev || named.st_ino != given.st_ino || is_marked_as_before(archive, path))
                return false;
        tool_complain(
                "%s is the archive of %s, and is not what it was, or there is nothing in it: is it not mounted, or "
                "somewhere else now? If it is to begin anew, give it another directory, or 'xac archive --new %s'",
                path, place->path, place->path);
        return true;
}

static bool has_session(const struct place *place)
{
        if (place->manifest.session.incarnation)
                return true;
        tool_complain("%s has no log yet that can be archived: it was not open since it was made or restored, or only "
                      "as XAC_VOLATILE, or with an older version. Open it once",
                      place->path);
        return false;
}

static void report_keep(const struct kept *kept)
{
        tool_label("archived");
        if (!kept->has_taken && !kept->has_any) {
                say(stdout, "nothing: there is no log to take yet. It will begin behind position %" PRIu64 "\n",
                    kept->mark.position);
                return;
        }
        if (!kept->has_taken)
                say(stdout, "nothing, as there was nothing new to take: ");
        say(stdout, "up to position %" PRIu64, kept->mark.position);
        say(stdout, kept->mark.last ? ", commit %" PRIu64 "\n" : "\n", kept->mark.last);
}

/* Each time, until it has log from behind the gap: then --list and --check tell of it. */
static enum tool_exit judge_gap(const struct place *place, const char *path, const struct kept *kept)
{
        char behind[64] = "";

        if (kept->gap_to == kept->gap_from)
                return TOOL_DONE;
        if (kept->gap_behind)
                snprintf(behind, sizeof(behind), ", commit %" PRIu64, kept->gap_behind);
        tool_complain("%s: GAP: it ended at position %" PRIu64 "%s, and the log of %s begins at %" PRIu64
                      " now: what was in between was given up before it was archived",
                      path, kept->gap_from, behind, place->path, kept->gap_to);
        return TOOL_FAILED;
}

static bool is_same_directory(const char *one, const char *other)
{
        struct stat a, b;

        return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Who has the environment open is to archive what fills no segment yet, too. */
static enum tool_exit judge_archiver(struct place *place, const char *path, const struct kept *kept)
{
        struct inspection *inspection = NULL;
        enum tool_exit result = TOOL_DONE;

        if (kept->has_taken || place_is_in_use(place) != 1 || live_take(place, &inspection))
                return TOOL_DONE;
        if (inspection->log_held && inspection->archive_error && inspection->log_durable > kept->mark.position &&
            is_same_directory(inspection->archive, path)) {
                tool_complain("%s: %s of log on disk are not taken, as the programs that have %s open cannot: %s", path,
                              tool_bytes(inspection->log_durable - kept->mark.position), place->path,
                              tool_explain(inspection->archive_error));
                result = TOOL_FAILED;
        }
        inspect_free(inspection);
        return result;
}

/* A checkpoint may be quicker. */
static int keep_with_patience(struct place *place, const struct archive *archive, struct kept *kept)
{
        int err = XAC_CORRUPT;

        for (int i = 0; i < TRIES && (err == XAC_CORRUPT || err == -ERANGE); i++) {
                err = manifest_read(place->directory, &place->manifest);
                if (!err)
                        err = keep(place, archive, kept);
        }
        return err;
}

static enum tool_exit keep_place(struct place *place, const char *path, const struct archive_call *call)
{
        struct archive archive = { .mode = place->manifest.mode, .is_packed = !call->is_plain };
        struct kept kept = { 0 };
        enum tool_exit result;

        if (!has_session(place) || is_away(place, path) || open_archive(path, &archive.directory))
                return TOOL_FAILED;
        if (place->manifest.is_clean)
                (void)place_hold(place);
        int err = keep_with_patience(place, &archive, &kept);
        sys_close(archive.directory);
        if (err)
                return complain_of_keep(place, path, &kept.mark, err);
        result = judge_archiver(place, path, &kept);
        if (!call->is_quiet && result == TOOL_DONE && (kept.has_taken || kept.gap_to == kept.gap_from))
                report_keep(&kept);
        return judge_gap(place, path, &kept) == TOOL_DONE ? result : TOOL_FAILED;
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

/* ---- Forgetting which it was ---- */

/* Its shared memory would be of an older manifest, and nobody would go on with it. */
static enum tool_exit forget(struct place *place)
{
        int err = place->has_lock_file ? place_hold(place) : 0;

        if (err == -EBUSY || (!err && remains_are_there(place))) {
                tool_complain("%s is in use, or was not closed and is to go on with what is in shared memory: it keeps "
                              "its archive until all have closed it",
                              place->path);
                return TOOL_BUSY;
        }
        if (!err)
                err = manifest_read(place->directory, &place->manifest);
        memset(&place->manifest.archive, 0, sizeof(place->manifest.archive));
        if (!err)
                err = manifest_write(place->directory, &place->manifest);
        if (!err)
                return TOOL_DONE;
        tool_complain("%s: %s", place->path, tool_explain(err));
        return TOOL_FAILED;
}

static enum tool_exit run_new(const char *dir)
{
        static struct place place;
        enum tool_exit result = place_open_with_manifest(&place, dir);

        if (result != TOOL_DONE)
                return result;
        result = forget(&place);
        place_close(&place);
        return result;
}

/* ---- Command line ---- */

static bool is_of_archive_alone(const struct archive_call *call)
{
        return call->is_list || call->is_check || call->is_forget;
}

static enum tool_exit run_on_archive(const char *path, const struct archive_call *call)
{
        const struct archive_forget forget = { call->moment, call->is_dry, call->is_quiet };

        if (call->is_forget)
                return archive_forget_run(path, &forget);
        return call->is_check ? archive_check_run(path, call->is_quiet)
                              : archive_list_run(path, call->has_files, call->is_json);
}

static enum tool_exit run(int argc, char **argv, const struct archive_call *call)
{
        int wanted = is_of_archive_alone(call) || call->is_new ? 1 : 2;

        if (argc - optind != wanted) {
                tool_complain(call->is_new  ? "an environment, please"
                              : wanted == 1 ? "an archive, please"
                                            : "an environment and an archive, please");
                return tool_usage("archive");
        }
        if (call->is_new)
                return run_new(argv[optind]);
        if (wanted == 1)
                return run_on_archive(argv[optind], call);
        return call->is_restore ? restore_until_moment(argv[optind + 1], argv[optind], &call->moment, call->is_quiet)
                                : run_keep(argv[optind], argv[optind + 1], call);
}

/* Those without an argument. */
static bool take_flag(int option, struct archive_call *call)
{
        bool *const flag = option == 'p'   ? &call->is_plain
                           : option == 'q' ? &call->is_quiet
                           : option == 'n' ? &call->is_dry
                           : option == 'l' ? &call->is_list
                           : option == 'f' ? &call->has_files
                           : option == 'j' ? &call->is_json
                           : option == 'c' ? &call->is_check
                           : option == 'w' ? &call->is_new
                                           : NULL;

        if (flag)
                *flag = true;
        call->is_list |= call->has_files;
        return flag;
}

/* False, after a complaint. */
static bool take_option(int option, struct archive_call *call)
{
        switch (option) {
        case 'k':
                call->is_forget = true;
                return moment_parse(optarg, "--keep-since", &call->moment);
        case 'u':
                call->is_restore = true;
                return moment_parse(optarg, "--until", &call->moment);
        default:
                return take_flag(option, call);
        }
}

static bool is_sensible(const struct archive_call *call)
{
        if (call->is_list + call->is_check + call->is_forget + call->is_restore + call->is_new > 1)
                tool_complain("one thing at a time: --list, --check, --keep-since, --until or --new");
        else if (call->is_dry && !call->is_forget)
                tool_complain("--dry-run is for --keep-since");
        else if (call->is_json && !call->is_list)
                tool_complain("--json is for --list");
        else if (call->is_quiet && (call->is_list || call->is_dry))
                tool_complain("--list and --dry-run are there to say something: not with --quiet");
        else
                return true;
        return false;
}

enum tool_exit archive_main(int argc, char **argv)
{
        static const struct option known[] = { { "plain", no_argument, NULL, 'p' },
                                               { "list", no_argument, NULL, 'l' },
                                               { "files", no_argument, NULL, 'f' },
                                               { "json", no_argument, NULL, 'j' },
                                               { "check", no_argument, NULL, 'c' },
                                               { "new", no_argument, NULL, 'w' },
                                               { "keep-since", required_argument, NULL, 'k' },
                                               { "dry-run", no_argument, NULL, 'n' },
                                               { "until", required_argument, NULL, 'u' },
                                               { "quiet", no_argument, NULL, 'q' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        struct archive_call call = { 0 };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(archive_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(option, &call))
                        return tool_usage("archive");
        }
        return is_sensible(&call) ? run(argc, argv, &call) : tool_usage("archive");
}
