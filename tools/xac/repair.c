/* SPDX-License-Identifier: MIT */

/*
 * xac repair: pages of an environment at rest that are not what their checksums say are taken from a backup, where that
 * has the very page: the checksum is of it. Where page and backup agree, it is the checksum that was damaged. A file
 * that is missing is made, one that was cut gets its length back. Anything else is left as it is. May be ended at any
 * time and run again.
 *
 * What the double-write area holds is left to recovery, which puts it right in any case.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/adopt.h"
#include "recovery/check_sums.h"
#include "tools/xac/place.h"
#include "tools/xac/remains.h"
#include "tools/xac/tool.h"

const char repair_help[] =
        "Usage: xac repair [--dry-run] --from=BACKUP DIR\n"
        "Takes each page of DIR that is not what its checksum says from BACKUP, the directory of another\n"
        "environment (a backup, a copy), if the checksum is that of the page there. Where both pages are the\n"
        "same it puts the checksum right. Files that are missing, or were cut, are put together like that.\n"
        "Leaves all else as it is, and says so. DIR must not be in use.\n"
        "\n"
        "  --dry-run  says what it would do\n"
        "  --help     this text\n"
        "\n"
        "Exit status: 0 nothing is left to repair, 1 something is, or it failed, 2 usage, 3 in use.\n";

struct repair {
        struct place place;
        struct place backup;
        struct area_contents area;
        bool is_dry;
        /* So far: made or lengthened, taken from the backup, put right, left as they are. */
        uint64_t files, pages, sums, left;
        /* The file at hand. */
        uint32_t file_no;
        int backup_fd; /* -1: the backup has none */
        unsigned char *page;
        struct sums_compare compare;
};

/* ---- One page ---- */

static uint64_t offset_of(const struct repair *repair, const struct sums_page *page)
{
        return page->page_no * repair->place.manifest.page_bytes;
}

static void say(const struct repair *repair, const struct sums_page *page, const char *what)
{
        printf("%s: offset %" PRIu64 ": %s\n", repair->place.manifest.file_name[repair->file_no],
               offset_of(repair, page), what);
}

/* The same page of the backup; what it has not is zeros. */
static int read_backup(struct repair *repair, const struct sums_page *page)
{
        const uint32_t page_bytes = repair->place.manifest.page_bytes;
        const uint64_t offset = offset_of(repair, page);
        struct stat st;
        uint64_t there;
        int err = sys_stat(repair->backup_fd, &st);

        if (err)
                return err;
        there = (uint64_t)st.st_size > offset ? (uint64_t)st.st_size - offset : 0;
        if (there > page_bytes)
                there = page_bytes;
        memset(repair->page, 0, page_bytes);
        return sys_read_all(repair->backup_fd, repair->page, (size_t)there, offset);
}

static int take_page(struct repair *repair, const struct sums_page *page)
{
        repair->pages++;
        say(repair, page, "the page is taken from the backup");
        return repair->is_dry ? 0
                              : sys_write_all(repair->compare.data_fd, repair->page, repair->place.manifest.page_bytes,
                                              offset_of(repair, page));
}

static int take_sum(struct repair *repair, const struct sums_page *page)
{
        repair->sums++;
        if (!page->is_lost) /* of those there are many at once */
                say(repair, page, "the page is the backup's: its checksum is made anew");
        return repair->is_dry ? 0 : sums_write(repair->compare.sums_fd, page->page_no, &page->sum, 1);
}

static int leave(struct repair *repair, const struct sums_page *page, const char *why)
{
        repair->left++;
        say(repair, page, why);
        return 0;
}

static int visit_page(void *arg, const struct sums_page *page)
{
        struct repair *repair = arg;
        const uint64_t id = (uint64_t)repair->file_no << PLACE_PAGE_NO_BITS | page->page_no;
        uint32_t sum;
        int err;

        if (area_pages_has(&repair->area, id, id) || (page->expected == SUMS_UNKNOWN && !page->is_lost))
                return 0;
        if (repair->backup_fd < 0)
                return leave(repair, page, "the backup has no such file: left as it is");
        err = read_backup(repair, page);
        if (err)
                return err;
        sum = sums_of(repair->page, repair->place.manifest.page_bytes);
        if (sum == page->expected)
                return take_page(repair, page);
        if (page->bytes && memcmp(page->bytes, repair->page, repair->place.manifest.page_bytes) == 0)
                return take_sum(repair, page);
        return leave(repair, page,
                     page->is_lost ? "its checksum is damaged, and the backup's page is another: left as it is"
                                   : "the backup's page is another than the checksum is of: left as it is");
}

/* ---- One file ---- */

/* The file of that name; -1: there is none. */
static int open_backup_file(const struct repair *repair, const char *name, int *fd)
{
        const struct manifest *backup = &repair->backup.manifest;
        int err = -ENOENT;

        for (uint32_t i = 0; i < backup->file_count && err; i++)
                if (strcmp(backup->file_name[i], name) == 0)
                        err = sys_open(repair->backup.directory, name, O_RDONLY | O_NONBLOCK, 0, fd);
        if (err)
                *fd = -1;
        return err == -ENOENT ? 0 : err;
}

/* As if it had been closed now: what is on disk is what it is to be. */
static int settle(const struct repair *repair)
{
        const struct manifest *manifest = &repair->place.manifest;
        struct sums_note note;
        int err = sys_sync(repair->compare.data_fd);

        if (!err)
                err = sys_sync_data(repair->compare.sums_fd);
        if (err || !manifest->is_clean || manifest->area >= 0 || repair->left)
                return err;
        err = sums_note_of(repair->compare.data_fd, &note);
        return err ? err : sums_put_note(repair->compare.sums_fd, &note);
}

/* What stands behind what is left are zeros, or pages that come from the backup. */
static int lengthen(struct repair *repair, const struct sums_note *note)
{
        struct stat st;
        int err = sys_stat(repair->compare.data_fd, &st);

        if (err || note->state != SUMS_CLOSED || (uint64_t)st.st_size >= note->size)
                return err;
        repair->files++;
        printf("%s: %llu bytes long, as it was closed\n", repair->place.manifest.file_name[repair->file_no],
               (unsigned long long)note->size);
        return repair->is_dry ? 0 : sys_truncate(repair->compare.data_fd, note->size);
}

static int repair_opened(struct repair *repair, const struct sums_note *note)
{
        const uint64_t done = repair->files + repair->pages + repair->sums;
        int err = open_backup_file(repair, repair->place.manifest.file_name[repair->file_no], &repair->backup_fd);

        if (!err)
                err = lengthen(repair, note);
        if (!err)
                err = sums_compare(&repair->compare);
        if (!err && !repair->is_dry && repair->files + repair->pages + repair->sums != done)
                err = settle(repair);
        if (repair->backup_fd >= 0)
                sys_close(repair->backup_fd);
        return err;
}

/* By its checksums all of it can be taken from the backup. -ENOENT: it is not made. */
static int make_file(struct repair *repair, const char *name)
{
        const struct sums_id id = adopt_sums_id(&repair->place.manifest, repair->file_no);
        const mode_t mode = (mode_t)repair->place.manifest.mode;
        struct sums_note note;

        if (sums_open(repair->place.directory, &id, O_RDONLY, &repair->compare.sums_fd, &note)) {
                printf("%s: is missing, and so are its checksums: left as it is\n", name);
                repair->left++;
                return -ENOENT;
        }
        sys_close(repair->compare.sums_fd);
        printf("%s: is missing: made anew\n", name);
        repair->files++;
        if (repair->is_dry)
                return -ENOENT;
        int err = sys_open(repair->place.directory, name, O_RDWR | O_CREAT, mode, &repair->compare.data_fd);
        if (!err)
                err = sys_chmod(repair->compare.data_fd, mode);
        return err ? err : sys_sync(repair->place.directory);
}

static int repair_file(struct repair *repair, uint32_t file_no)
{
        const struct manifest *manifest = &repair->place.manifest;
        const struct sums_id id = adopt_sums_id(manifest, file_no);
        const int access = repair->is_dry ? O_RDONLY : O_RDWR;
        struct sums_note note;
        int err = sys_open(repair->place.directory, manifest->file_name[file_no], access | O_NONBLOCK, 0,
                           &repair->compare.data_fd);

        repair->file_no = file_no;
        if (err == -ENOENT)
                err = make_file(repair, manifest->file_name[file_no]);
        if (err)
                return err == -ENOENT ? 0 : err;
        err = sums_open(repair->place.directory, &id, access, &repair->compare.sums_fd, &note);
        if (!err) {
                err = repair_opened(repair, &note);
                sys_close(repair->compare.sums_fd);
        } else if (err == XAC_CORRUPT || err == -ENOENT) {
                printf("%s: " SUMS_NAME_PREFIX "%" PRIu32
                       " %s: nothing is known of its pages (remove it, and 'xac scrub "
                       "--sum' makes new ones)\n",
                       manifest->file_name[file_no], file_no,
                       err == -ENOENT ? "is missing" : "is damaged, or another environment's");
                repair->left++;
                err = 0;
        }
        sys_close(repair->compare.data_fd);
        return err;
}

/* ---- All of it ---- */

static int repair_files(struct repair *repair)
{
        const struct manifest *manifest = &repair->place.manifest;
        int err = area_pages_read(repair->place.directory, manifest, &repair->area);

        repair->compare =
                (struct sums_compare){ .page_bytes = manifest->page_bytes, .visit = visit_page, .arg = repair };
        repair->page = malloc(manifest->page_bytes);
        if (!err && !repair->page)
                err = -ENOMEM;
        for (uint32_t i = 0; !err && i < manifest->file_count; i++)
                err = repair_file(repair, i);
        free(repair->page);
        area_contents_free(&repair->area);
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
                printf("%s, ", tool_count(repair->files, "file", "files"));
        printf("%s, ", tool_count(repair->pages, "page", "pages"));
        printf("%s%s\n", tool_count(repair->sums, "checksum", "checksums"),
               repair->is_dry ? " (nothing was changed)" : "");
        tool_label("left");
        printf("%" PRIu64 "\n", repair->left);
        return repair->left ? TOOL_FAILED : TOOL_DONE;
}

/* Is the backup one, at rest, of the same kind? */
static enum tool_exit check_backup(const struct repair *repair)
{
        if (repair->backup.manifest.page_bytes != repair->place.manifest.page_bytes) {
                tool_complain("%s has pages of another size than %s", repair->backup.path, repair->place.path);
                return TOOL_FAILED;
        }
        if (repair->backup.manifest.is_clean && repair->backup.manifest.area < 0 &&
            place_is_in_use(&repair->backup) == 0)
                return TOOL_DONE;
        tool_complain("%s is in use, or needs recovery: take a backup that is at rest", repair->backup.path);
        return TOOL_FAILED;
}

static enum tool_exit repair_held(struct repair *repair)
{
        enum tool_exit result = check_backup(repair);
        int err = result == TOOL_DONE ? place_hold(&repair->place) : 0;

        if (result != TOOL_DONE)
                return result;
        if (err == -EBUSY) {
                tool_complain("%s is in use: repair it when it is at rest", repair->place.path);
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
        result = place_open_with_manifest(&repair->backup, from);
        if (result == TOOL_DONE) {
                result = repair_held(repair);
                place_close(&repair->backup);
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

        while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
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
