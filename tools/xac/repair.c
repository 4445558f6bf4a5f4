/* SPDX-License-Identifier: MIT */

/*
 * xac repair: pages of an environment at rest that are not what their checksums say are taken from a backup, where that
 * has the very page: the checksum is of it. Where page and backup agree, and the backup's own checksum with them, it is
 * the checksum that was damaged. A file that is missing is made, one that was cut gets its length back. Anything else
 * is left as it is, and stays damaged. May be ended at any time and run again.
 *
 * This file: the command line, and both environments. repair_file.c has the rest.
 *
 * What the double-write buffer holds is left to recovery, which puts it right in any case.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <xac/xac.h>

#include "base/say.h"
#include "recovery/recover.h"
#include "recovery/recover_double_write.h"
#include "tools/xac/place.h"
#include "tools/xac/remains.h"
#include "tools/xac/repair_double_write.h"
#include "tools/xac/repair_file.h"
#include "tools/xac/repair_source.h"
#include "tools/xac/tool.h"

const char repair_help[] =
        "Usage: xac repair [--dry-run] --from=BACKUP DIR\n"
        "Takes each page of DIR that is not what its checksum says from BACKUP, the directory of another\n"
        "environment (a backup, a copy), if the checksum is that of the page there. Where the checksum is\n"
        "damaged, and both pages are the same, and what BACKUP's own checksum says, it is put right. Files that\n"
        "are missing, or were cut, are put together like that, and so are pages that the double-write buffer\n"
        "should have, after a crash. Leaves all else as it is, damaged, and says so. DIR must not be in use.\n"
        "\n"
        "  --dry-run  says what it would do\n"
        "  --help     this text\n"
        "\n"
        "Exit status: 0 nothing is left to repair, 1 something is, or it failed, 2 usage, 3 in use, 4 nothing is\n"
        "left, but files are of another moment than the rest, or pages have no checksum.\n";

/* ---- After a crash ---- */

static void print_left(void *repair_, const char *sentence)
{
        struct repair *repair = repair_;

        repair->left++;
        say(stdout, "%s: left as it is\n", sentence);
}

/* What recovery needs besides: the log, and files that are as long as it says. */
static int look_at_rest(struct repair *repair)
{
        struct recovery recovery = { .directory = repair->place.directory, .skips_checksums = true };
        const struct manifest *manifest = &repair->place.manifest;

        if (repair->left || repair->is_dry || (manifest->is_clean && manifest->buffer < 0))
                return 0;
        int err = recover_check(&recovery, manifest, print_left, repair);
        return err == XAC_CORRUPT ? 0 : err;
}

/* ---- All of it ---- */

static int repair_files(struct repair *repair)
{
        const struct manifest *manifest = &repair->place.manifest;
        int err;

        repair->page = malloc(manifest->page_bytes);
        if (!repair->page)
                return -ENOMEM;
        bool is_known;
        err = repair_double_write(repair, &is_known);
        if (!err && is_known)
                err = double_write_pages_read(repair->place.directory, manifest, &repair->buffer);
        for (uint32_t i = 0; !err && is_known && i < manifest->file_count; i++)
                err = repair_file(repair, i);
        if (!err)
                err = look_at_rest(repair);
        free(repair->page);
        double_write_contents_free(&repair->buffer);
        return err;
}

static enum tool_exit report(const struct repair *repair, int err)
{
        if (err) {
                tool_complain("%s: %s. It may be run again", repair->place.path, tool_explain(err));
                return TOOL_FAILED;
        }
        tool_label("repaired");
        if (repair->files)
                say(stdout, "%s, ", tool_count(repair->files, "file", "files"));
        say(stdout, "%s, ", tool_count(repair->pages, "page", "pages"));
        say(stdout, "%s%s\n", tool_count(repair->checksums, "checksum", "checksums"),
            repair->is_dry ? " (nothing was changed)" : "");
        tool_label("left");
        say(stdout, "%" PRIu64 "\n", repair->left);
        if (repair->left)
                return TOOL_FAILED;
        if (repair->unknown)
                tool_complain("%s: %s without a checksum: nobody knows whether they are what was written; 'xac scrub "
                              "--sum' takes them as they are",
                              repair->place.path, tool_count(repair->unknown, "page", "pages"));
        return repair->of_another || repair->unknown ? TOOL_CHANGED : TOOL_DONE;
}

/* Is the backup another one, at rest, of the same kind? */
static enum tool_exit check_backup(const struct repair *repair)
{
        const struct place *place = &repair->place;
        const struct place *backup = &repair->source.place;

        if (backup->st.st_dev == place->st.st_dev && backup->st.st_ino == place->st.st_ino) {
                tool_complain("%s and %s are the same directory: pages come from another one, a backup or a copy",
                              backup->path, place->path);
                return TOOL_FAILED;
        }
        if (backup->manifest.page_bytes != place->manifest.page_bytes) {
                tool_complain("%s has pages of another size than %s", backup->path, place->path);
                return TOOL_FAILED;
        }
        if (backup->manifest.is_clean && backup->manifest.buffer < 0 && place_is_in_use(backup) == 0)
                return TOOL_DONE;
        tool_complain("%s is in use, or needs recovery: take a backup that is at rest", backup->path);
        return TOOL_FAILED;
}

static enum tool_exit repair_held(struct repair *repair)
{
        enum tool_exit result = check_backup(repair);
        int err = result == TOOL_DONE ? place_hold(&repair->place) : 0;

        if (result != TOOL_DONE)
                return result;
        if (err == -EBUSY) {
                tool_complain("%s is in use, or somebody reads it: repair it when it is closed", repair->place.path);
                return TOOL_BUSY;
        }
        if (!err && remains_are_there(&repair->place)) {
                tool_complain(
                        "%s was left without xac_close: open and close it first, which goes on with its shared memory",
                        repair->place.path);
                return TOOL_BUSY;
        }
        if (!err)
                err = manifest_read(repair->place.directory, &repair->place.manifest);
        return report(repair, err ? err : repair_files(repair));
}

static enum tool_exit repair_from(struct repair *repair, const char *path, const char *from)
{
        enum tool_exit result = place_open_with_manifest(&repair->place, path);

        if (result != TOOL_DONE)
                return result;
        result = repair_source_open(&repair->source, from);
        if (result == TOOL_DONE) {
                result = repair_held(repair);
                repair_source_close(&repair->source);
        }
        place_close(&repair->place);
        return result;
}

enum tool_exit repair_main(int argc, char **argv)
{
        static const struct option known[] = { { "from", required_argument, NULL, 'f' },
                                               { "dry-run", no_argument, NULL, 'n' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        static struct repair repair;
        const char *from = NULL;
        const char *path;
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(repair_help, stdout);
                        return TOOL_DONE;
                }
                if (option == '?')
                        return tool_usage("repair");
                if (option == 'f')
                        from = optarg;
                else
                        repair.is_dry = true;
        }
        path = tool_operand(argc, argv, "repair");
        if (path && !from)
                tool_complain("--from=BACKUP, please: where the pages are to come from");
        return path && from ? repair_from(&repair, path, from) : tool_usage("repair");
}
