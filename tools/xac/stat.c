/* SPDX-License-Identifier: MIT */

/*
 * xac stat: what an environment is. From its files when it is at rest, from its shared memory when it is in
 * use (live.c). Joins nothing and changes nothing.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "recovery/double_write.h"
#include "recovery/log_reader.h"
#include "tools/xac/live.h"
#include "tools/xac/machine.h"
#include "tools/xac/place.h"
#include "tools/xac/stat_backup.h"
#include "tools/xac/stat_json.h"
#include "tools/xac/tool.h"

const char stat_help[] =
        "Usage: xac stat [--json] [DIR]\n"
        "Says whether the environment is in use, and what it holds. At rest: checkpoint, files, log,\n"
        "and whether it needs recovery. In use: sequence, log, pool, dirty pages, processes with their\n"
        "mappings, participants with the age of their snapshots. Of a backup: of which commit, and what it\n"
        "goes on from. Changes nothing.\n"
        "Without DIR: which environments have shared memory on this machine, and which of it is left over.\n"
        "\n"
        "  --json  the same for programs (xac(1) has the fields)\n"
        "  --help  this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, or its archive takes nothing, 2 usage.\n";

/* ---- What is the same in use and at rest ---- */

static void print_identity(const struct place *place)
{
        const struct manifest *manifest = &place->manifest;
        char uuid[STAT_UUID_BYTES];

        tool_label("environment");
        say(stdout, "%s\n", place->path);
        stat_uuid(manifest->uuid, uuid);
        tool_label("uuid");
        say(stdout, "%s\n", uuid);
        tool_label("made for");
        say(stdout, "pages of %" PRIu32 " bytes, %" PRIu32 " participants, permissions %04" PRIo32 "\n",
            manifest->page_bytes, manifest->max_participants, manifest->mode);
}

/* ---- At rest ---- */

static int add_log_file(void *arg, const char *name)
{
        struct stat_look *look = arg;
        struct stat st;

        if (strncmp(name, LOG_FILE_PREFIX, strlen(LOG_FILE_PREFIX)) != 0 ||
            sys_stat_at(look->place->directory, name, &st))
                return 0;
        look->log_files++;
        look->log_files_bytes += (uint64_t)st.st_size;
        return 0;
}

/* What replay would find. */
static int read_log(const struct place *place, struct stat_log *log)
{
        struct log_reader *reader = NULL;
        struct log_record record;
        const unsigned char *payload;
        int err = place_open_log(place, &reader);

        log->newest = place->manifest.base_sequence;
        log->is_read = !err;
        while (!err && (err = log_reader_next(reader, &record, &payload)) == 1) {
                err = 0;
                if (record.sequence > log->newest) { /* merged commits: several at once */
                        log->commits += record.sequence - log->newest;
                        log->newest = record.sequence;
                }
        }
        if (log->is_read)
                log->byte_len = log_reader_end(reader) - place->manifest.redo_position;
        if (reader)
                log_reader_close(reader);
        return err;
}

static void look_at_rest(struct stat_look *look)
{
        struct stat_log *log = &look->log;

        log->newest = look->place->manifest.base_sequence;
        if (!look->place->manifest.is_clean)
                log->err = read_log(look->place, log);
        log->is_known = !log->err;
}

static void print_segments(const struct stat_look *look)
{
        tool_label("segments");
        say(stdout, "%s, %s\n", tool_count(look->log_files, "file", "files"), tool_bytes(look->log_files_bytes));
}

static void print_log(const struct stat_log *log)
{
        tool_label("log");
        if (!log->is_read) {
                say(stdout, "cannot be read: %s; 'xac check' says more\n", tool_explain(log->err));
                return;
        }
        say(stdout, "%s beyond the checkpoint, up to sequence %" PRIu64 "\n",
            tool_count(log->commits, "commit", "commits"), log->newest);
        tool_label("");
        say(stdout, "%s to read%s\n", tool_bytes(log->byte_len),
            log->err ? "; then it is DAMAGED: 'xac check' says more" : "");
}

static void print_buffer(const struct place *place)
{
        struct stat st;
        const char *name = place->manifest.buffer ? DOUBLE_WRITE_NAME_1 : DOUBLE_WRITE_NAME_0;

        tool_label("double-write");
        if (place->manifest.buffer < 0)
                say(stdout, "none");
        else if (sys_stat_at(place->directory, name, &st))
                say(stdout, "%s, which is MISSING", name);
        else
                say(stdout, "%s, %s", name, tool_bytes((uint64_t)st.st_size));
        if (place->manifest.target_sequence)
                say(stdout, "; a batch of a checkpoint to sequence %" PRIu64, place->manifest.target_sequence);
        putchar('\n');
}

/* Where its first view in a process lies, and how long it may become. */
static void print_address(struct manifest_place place)
{
        if (place.units)
                say(stdout, ", at 0x%" PRIx64 ", up to %" PRIu64 " GiB", (uint64_t)place.first << MANIFEST_UNIT_SHIFT,
                    (uint64_t)place.units << (MANIFEST_UNIT_SHIFT - 30));
}

static void print_files(const struct place *place)
{
        for (uint32_t i = 0; i < place->manifest.file_count; i++) {
                const char *name = place->manifest.file_name[i];
                struct stat st;

                tool_label(i ? "" : "files");
                if (sys_stat_at(place->directory, name, &st))
                        say(stdout, "%s  MISSING", name);
                else
                        say(stdout, "%s  %s", name, tool_bytes((uint64_t)st.st_size));
                print_address(place->manifest.file_place[i]);
                say(stdout, "\n");
        }
}

static void print_archive(const struct place *place)
{
        if (!place_remembers_archive(place))
                return;
        tool_label("archive");
        if (place_has_archive(place))
                say(stdout, "%s, which the last session named\n", place->manifest.archive.path);
        else
                say(stdout, "none in the last session; before that %s\n", place->manifest.archive.path);
}

static enum tool_exit print_at_rest(const struct stat_look *look)
{
        const struct place *place = look->place;

        tool_label("sequence");
        say(stdout, "%" PRIu64 " as of the checkpoint\n", place->manifest.base_sequence);
        if (!place->manifest.is_clean)
                print_log(&look->log);
        print_segments(look);
        print_buffer(place);
        print_archive(place);
        print_files(place);
        return stat_backup_print(place, true) < 0 ? TOOL_FAILED : TOOL_DONE;
}

/* ---- Which of the two ---- */

static bool needs_recovery(const struct place *place)
{
        return !place->manifest.is_clean || place->manifest.buffer >= 0;
}

static void print_state(const struct place *place, const struct inspection *inspection, int in_use)
{
        uint32_t alive = 0;

        for (uint32_t i = 0; inspection && i < inspection->process_count; i++)
                alive += inspection->process[i].is_alive;
        tool_label("state");
        if (in_use && inspection)
                say(stdout, "in use by %s\n", tool_count(alive, "process", "processes"));
        else if (in_use)
                say(stdout,
                    "in use, by processes whose shared memory cannot be seen from here (a container, or no /proc?);\n"
                    "              what follows is from the files, as of the last checkpoint\n");
        else if (inspection)
                say(stdout,
                    "its processes ended without xac_close (killed, or never closed); all their commits are\n"
                    "              in shared memory. The next open goes on with it, and the last close removes\n"
                    "              it. To give it up, as a power cut would:\n"
                    "              xac clean --force xac.%" PRIxMAX ".%" PRIxMAX "\n",
                    (uintmax_t)place->st.st_dev, (uintmax_t)place->st.st_ino);
        else if (needs_recovery(place))
                say(stdout, "at rest, needs recovery: the next open does it, or 'xac recover'\n");
        else
                say(stdout, "at rest, clean\n");
}

static enum tool_exit complain_of_memory(const struct place *place, int err)
{
        if (err == -EPERM)
                tool_complain("%s: its shared memory is that of a user whom this one does not trust for it ('xac clean "
                              "%s' of "
                              "root removes what a stranger has made in advance)",
                              place->path, place->path);
        else
                tool_complain("%s: its shared memory cannot be read: %s", place->path, tool_explain(err));
        return TOOL_FAILED;
}

/* Who watches exit statuses is to learn that the log grows, and that a restore ends before now. */
static enum tool_exit judge_archive(const struct stat_look *look)
{
        const struct inspection *inspection = look->inspection;

        if (!inspection || !inspection->log_held || !inspection->archive_error)
                return TOOL_DONE;
        tool_complain("%s: its archive %s takes nothing: %s", look->path, inspection->archive,
                      tool_explain(inspection->archive_error));
        return TOOL_FAILED;
}

static enum tool_exit print_text(const struct stat_look *look)
{
        print_identity(look->place);
        print_state(look->place, look->inspection, look->in_use);
        if (!look->inspection)
                return print_at_rest(look);
        live_print(look->place, look->inspection);
        return stat_backup_print(look->place, true) < 0 ? TOOL_FAILED : TOOL_DONE;
}

static enum tool_exit look_at(struct stat_look *look, bool is_json)
{
        struct place *place = look->place;
        enum tool_exit result = TOOL_DONE;
        int err;

        look->in_use = place_is_in_use(place);
        if (look->in_use < 0) {
                tool_complain("%s: whether it is in use cannot be found out: %s", place->path,
                              tool_explain(look->in_use));
                return TOOL_FAILED;
        }
        err = place->has_lock_file ? live_take(place, &look->inspection) : -ENOENT;
        (void)sys_list(place->directory, add_log_file, look);
        if (!look->inspection)
                look_at_rest(look);
        if (!is_json)
                result = print_text(look);
        if (err && err != -ENOENT)
                return complain_of_memory(place, err);
        return result == TOOL_DONE ? judge_archive(look) : result;
}

/* The environment is gone: what it has left in /dev/shm may not be. */
static void hint_at_leftovers(const char *path)
{
        struct leftover *all;
        uint32_t count, gone = 0;

        if (machine_find(path, &all, &count))
                return;
        for (uint32_t i = 0; i < count; i++)
                gone += all[i].kind == LEFTOVER_HOMELESS || all[i].kind == LEFTOVER_GONE ||
                        all[i].kind == LEFTOVER_REPLACED;
        free(all);
        if (gone > 0)
                tool_complain("%s: its shared memory is left: xac clean %s", path, path);
}

/* One that goes on from another has pages alone. */
static bool is_part_of_backups(const char *path, bool is_json)
{
        static struct place place;
        struct stat st;
        bool is_part = false;

        if (stat(path, &st) || !S_ISDIR(st.st_mode) || eaccess(path, R_OK | X_OK)) /* who opens it next complains */
                return false;
        if (place_open(&place, path) != TOOL_DONE)
                return false;
        if (sys_stat_at(place.directory, MANIFEST_NAME, &st) == -ENOENT)
                is_part = is_json ? stat_backup_is_one(path) : stat_backup_print(&place, false) == 1;
        place_close(&place);
        return is_part;
}

static enum tool_exit run(const char *path, bool is_json)
{
        static struct place place;
        struct stat_look look = { .path = path };
        enum tool_exit result = TOOL_DONE;

        if (!is_part_of_backups(path, is_json)) {
                result = place_open_with_manifest(&place, path);
                if (result == TOOL_DONE) {
                        look.place = &place;
                        result = look_at(&look, is_json);
                } else {
                        hint_at_leftovers(path);
                }
        }
        if (is_json)
                result = stat_json_print(&look, result);
        inspect_free(look.inspection);
        if (look.place)
                place_close(&place);
        return result;
}

/* ---- Command line ---- */

enum tool_exit stat_main(int argc, char **argv)
{
        static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        const char *path;
        bool is_json = false;
        int option;

        while ((option = tool_next_option(argc, argv, ":h", longs)) != -1) {
                if (option == 'h') {
                        fputs(stat_help, stdout);
                        return TOOL_DONE;
                }
                if (option != 'j')
                        return tool_usage("stat");
                is_json = true;
        }
        if (optind == argc)
                return is_json ? machine_print_json() : machine_print();
        path = tool_operand(argc, argv, "stat");
        return path ? run(path, is_json) : tool_usage("stat");
}
