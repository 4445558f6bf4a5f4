/* SPDX-License-Identifier: MIT */
#include "tools/xac/repair_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "recovery/adopt.h"
#include "recovery/page_name.h"
#include "recovery/recover_double_write.h"
#include "recovery/seal.h"

static const char *name_of(const struct repair *repair)
{
        return repair->place.manifest.file_name[repair->file_no];
}

/* ---- Beginning and end of a file ----
 *
 * Who opens an environment that was closed takes a file whose time or size is not the noted one for changed by others,
 * and makes new checksums for it. Repair changes both. So that no damaged page gets a checksum like that (S13 and S14
 * of docs/models/checksums.py):
 *
 *      1. before the first change the note says CHECKSUMS_REPAIR, on disk: time and size tell nothing, checksums count
 *      2. pages, checksums, length
 *      3. these are on disk before the note says CHECKSUMS_CLOSED, with the time and the size that the file has now
 *
 * Whoever ends repair between 1 and 3 leaves pages that are not as their checksums say, which is what they were. What
 * repair leaves gets 3., too: it stays damaged. Before recovery none of this is needed: nobody adopts anything.
 */

enum { NO_SUCH_CHECKSUM = 1 }; /* the checksum of zeros is 0 */

static bool is_at_rest(const struct repair *repair)
{
        return repair->place.manifest.is_clean && repair->place.manifest.buffer < 0;
}

static int mark_begun(struct repair *repair)
{
        const struct checksums_note note = { .state = CHECKSUMS_REPAIR,
                                             .size = repair->note.size,
                                             .number = repair->note.number };

        if (repair->is_begun || repair->is_dry || !is_at_rest(repair))
                return 0;
        repair->is_begun = true;
        return checksums_put_note(repair->compare.checksums_fd, &note);
}

/* Has this repair, or one that was cut short, changed anything, or left anything? */
static bool is_to_settle(const struct repair *repair, bool is_changed)
{
        if (repair->is_dry)
                return false;
        return is_changed || repair->is_made || repair->is_begun || repair->note.state == CHECKSUMS_REPAIR ||
               repair->left != repair->left_so_far;
}

static int settle(struct repair *repair, bool is_changed)
{
        struct checksums_note note;
        int err = 0;

        if (!is_to_settle(repair, is_changed))
                return 0;
        err = sys_sync(repair->compare.data_fd);
        if (!err)
                err = sys_sync_data(repair->compare.checksums_fd);
        if (err || !is_at_rest(repair))
                return err;
        err = checksums_note_of(repair->compare.data_fd, &note);
        note.number = repair->note.number; /* it is of the same moment */
        return err ? err : checksums_put_note(repair->compare.checksums_fd, &note);
}

/* ---- One page ---- */

static uint64_t offset_of(const struct repair *repair, const struct checksums_page *page)
{
        return page->page_no * repair->place.manifest.page_bytes;
}

static int take_page(struct repair *repair, const struct checksums_page *page)
{
        int err = mark_begun(repair);

        repair->pages++;
        repair_line_add(&repair->line, page->page_no, &repair_page_taken);
        if (err || repair->is_dry)
                return err;
        return sys_write_all(repair->compare.data_fd, repair->page, repair->place.manifest.page_bytes,
                             offset_of(repair, page));
}

static int put_checksum(struct repair *repair, const struct checksums_page *page, uint32_t checksum)
{
        int err = mark_begun(repair);

        return err || repair->is_dry ? err : checksums_write(repair->compare.checksums_fd, page->page_no, &checksum, 1);
}

/* Was the page, or a part of it, cut off with the end of the file? */
static bool was_cut(const struct repair *repair, const struct checksums_page *page)
{
        return offset_of(repair, page) + repair->place.manifest.page_bytes > repair->cut_at;
}

/* Zeros in the place of a page of which nothing is known are damage all the same. */
static int leave(struct repair *repair, const struct checksums_page *page, const struct repair_outcome *why)
{
        repair->left++;
        repair_line_add(&repair->line, page->page_no, why);
        return page->is_lost && was_cut(repair, page) ? put_checksum(repair, page, NO_SUCH_CHECKSUM) : 0;
}

/* The pages are the same, but zeros may be what a disk, or who cut the file, has left of a page. */
static bool is_same(const struct repair *repair, const struct checksums_page *page)
{
        if (page->is_lost ? was_cut(repair, page) : page->checksum == 0)
                return false;
        return page->bytes && memcmp(page->bytes, repair->page, repair->place.manifest.page_bytes) == 0;
}

/* The backup's page is not the one that the checksum is of. Where that is sound, both pages may be older: a disk loses
 * writes, too. */
static int judge_other(struct repair *repair, const struct checksums_page *page)
{
        enum repair_trust trust;
        int err = repair_source_judge(&repair->source, page->page_no, repair->page, &trust);

        if (err)
                return err;
        if (trust == REPAIR_ROTTEN)
                return leave(repair, page, &repair_rotten);
        if (!is_same(repair, page))
                return leave(repair, page, page->is_lost ? &repair_another_lost : &repair_another);
        if (trust == REPAIR_NO_CHECKSUM)
                return leave(repair, page, &repair_unsure);
        if (!page->is_lost)
                return leave(repair, page, &repair_another);
        repair->checksums++;
        repair_line_add(&repair->line, page->page_no, &repair_checksum_made);
        return put_checksum(repair, page, page->checksum);
}

static int visit_page(void *arg, const struct checksums_page *page)
{
        struct repair *repair = arg;
        const uint64_t id = page_name(repair->file_no, page->page_no);
        int err;

        if (double_write_pages_has(&repair->buffer, id, id))
                return 0;
        if (page->expected == CHECKSUMS_UNKNOWN && !page->is_lost) {
                repair->unknown++;
                return 0;
        }
        if (repair->source.data_fd < 0)
                return leave(repair, page, &repair_no_file);
        err = repair_source_read(&repair->source, page->page_no, repair->page);
        if (err)
                return err;
        if (checksums_of(repair->page, repair->place.manifest.page_bytes) == page->expected)
                return take_page(repair, page);
        return judge_other(repair, page);
}

/* ---- A file that is missing, or was cut ---- */

static bool replace_unknown(uint32_t *checksums, uint64_t count)
{
        bool is_any = false;

        for (uint64_t i = 0; i < count; i++) {
                is_any |= checksums[i] == CHECKSUMS_UNKNOWN;
                checksums[i] = checksums[i] == CHECKSUMS_UNKNOWN ? NO_SUCH_CHECKSUM : checksums[i];
        }
        return is_any;
}

/* Pages there whose checksums are not known get some that are not those of zeros. Where the checksums are damaged
 * leave() does that, once the pages before have got theirs. */
static int mark_cut(const struct repair *repair, uint64_t size)
{
        const uint32_t page_bytes = repair->place.manifest.page_bytes;
        const uint64_t end = (repair->note.size + page_bytes - 1) / page_bytes;
        uint32_t checksums[CHECKSUMS_SECTOR_PAGES];
        int err = 0;

        for (uint64_t first = size / page_bytes, count; !err && first < end; first += count) {
                uint64_t lost;

                count = CHECKSUMS_SECTOR_PAGES - first % CHECKSUMS_SECTOR_PAGES;
                if (count > end - first)
                        count = end - first;
                err = checksums_read(repair->compare.checksums_fd, first, checksums, count, &lost);
                if (!err && !lost && replace_unknown(checksums, count))
                        err = checksums_write(repair->compare.checksums_fd, first, checksums, count);
        }
        return err ? err : sys_sync_data(repair->compare.checksums_fd);
}

/* Where the note does not tell it, the file ends with the last page that is known not to be zeros. */
static int find_size(struct repair *repair)
{
        struct checksums_note *note = &repair->note;
        uint32_t checksums[CHECKSUMS_SECTOR_PAGES];
        uint64_t entries;
        int err = checksums_count(repair->compare.checksums_fd, &entries);

        if (err || !is_at_rest(repair) || note->state == CHECKSUMS_CLOSED || note->state == CHECKSUMS_REPAIR)
                return err;
        note->size = 0;
        struct stretch data = { .fd = repair->compare.checksums_fd };
        for (uint64_t first = 0; !err; first += CHECKSUMS_SECTOR_PAGES) {
                first = checksums_skip_hole(&data, first);
                if (first >= entries)
                        break;
                err = checksums_read(repair->compare.checksums_fd, first, checksums, CHECKSUMS_SECTOR_PAGES, NULL);
                for (uint64_t i = 0; !err && i < CHECKSUMS_SECTOR_PAGES; i++)
                        if (checksums[i] != CHECKSUMS_UNKNOWN && checksums[i] != 0)
                                note->size = (first + i + 1) * repair->place.manifest.page_bytes;
        }
        return err;
}

/* What stands behind what is left are zeros, or pages that come from the backup. */
static int lengthen(struct repair *repair)
{
        const struct checksums_note *note = &repair->note;
        struct stat st;
        int err = sys_stat(repair->compare.data_fd, &st);

        if (err || (uint64_t)st.st_size >= note->size)
                return err;
        repair->cut_at = (uint64_t)st.st_size;
        if (!repair->is_made) {
                repair->files++;
                say(stdout, "%s: %llu bytes long, as it was closed\n", name_of(repair), (unsigned long long)note->size);
        }
        if (repair->is_dry)
                return 0;
        err = mark_begun(repair);
        if (!err)
                err = mark_cut(repair, (uint64_t)st.st_size);
        return err ? err : sys_truncate(repair->compare.data_fd, note->size);
}

/* Root makes it for those whom the manifest belongs to. Others give away what they may. */
static int make_file(struct repair *repair)
{
        const int directory = repair->place.directory;
        const mode_t mode = (mode_t)repair->place.manifest.mode;
        struct stat st;
        int fd;
        int err = sys_stat_at(directory, MANIFEST_NAME, &st);

        if (!err)
                err = mark_begun(repair);
        if (!err)
                err = sys_open(directory, name_of(repair), O_RDWR | O_CREAT | O_EXCL, mode, &fd);
        if (err)
                return err;
        err = sys_chown(fd, st.st_uid, st.st_gid);
        if (!err || err == -EPERM)
                err = sys_chmod(fd, mode);
        if (!err)
                err = sys_sync(directory);
        if (err)
                sys_close(fd);
        else
                repair->compare.data_fd = fd;
        return err;
}

/* By its checksums all of it can be taken from the backup. Where nothing is to be changed it is looked at as if it were
 * there, and empty. */
static int remake_file(struct repair *repair)
{
        say(stdout, "%s: is missing: made anew\n", name_of(repair));
        repair->files++;
        repair->is_made = true;
        return repair->is_dry ? sys_open(AT_FDCWD, "/dev/null", O_RDONLY, 0, &repair->compare.data_fd)
                              : make_file(repair);
}

/* ---- One file ---- */

/* Where its checksums are not those that the manifest was written for, they tell nothing of what its pages were. */
static int judge_seal(struct repair *repair)
{
        const struct manifest *manifest = &repair->place.manifest;
        enum seal_verdict verdict = SEAL_WHOLE;
        struct stat st;
        int err = sys_stat(repair->compare.data_fd, &st);
        const struct seal_files files = { repair->compare.checksums_fd, err ? 0 : (uint64_t)st.st_size };

        if (!err && seal_is_there(manifest, repair->file_no) && repair->left == repair->left_so_far)
                err = seal_judge(manifest, repair->file_no, &files, &repair->buffer, &verdict);
        if (!err && verdict == SEAL_BROKEN_BESIDE) {
                repair->of_another++;
                say(stdout,
                    "%s: some of its checksums (" CHECKSUMS_NAME_PREFIX "%" PRIu32
                    ") are not what they were, as a power cut may leave them\n",
                    name_of(repair), repair->file_no);
        } else if (!err && verdict != SEAL_BROKEN && is_at_rest(repair) &&
                   seal_is_of_another(manifest, repair->file_no, &repair->note)) {
                repair->of_another++;
                say(stdout,
                    "%s and " CHECKSUMS_NAME_PREFIX "%" PRIu32 ": of another moment than " MANIFEST_NAME
                    ": an older copy? An open takes them as they are\n",
                    name_of(repair), repair->file_no);
        }
        if (err || verdict != SEAL_BROKEN)
                return err;
        repair->left++;
        say(stdout,
            "%s: its checksums (" CHECKSUMS_NAME_PREFIX "%" PRIu32 ") are not those that " MANIFEST_NAME
            " was written for: pages of another moment, or lost ones, may look sound; restore the whole directory\n",
            name_of(repair), repair->file_no);
        return 0;
}

/* Its checksums are open. */
static int repair_opened(struct repair *repair)
{
        const uint64_t done = repair->files + repair->pages + repair->checksums;
        int err = repair_source_open_file(&repair->source, name_of(repair));

        repair->cut_at = UINT64_MAX;
        if (!err)
                err = lengthen(repair);
        if (!err)
                err = checksums_compare(&repair->compare);
        repair_line_end(&repair->line);
        if (!err)
                err = settle(repair, repair->files + repair->pages + repair->checksums != done);
        if (!err)
                err = judge_seal(repair);
        repair_source_close_file(&repair->source);
        return err;
}

static void leave_file(struct repair *repair, bool is_there, int err)
{
        repair->left++;
        if (!is_there)
                say(stdout, "%s: is missing, and so are its checksums: left as it is\n", name_of(repair));
        else
                say(stdout,
                    "%s: " CHECKSUMS_NAME_PREFIX "%" PRIu32
                    " %s: nothing is known of its pages (remove it, and 'xac scrub --sum' makes new ones)\n",
                    name_of(repair), repair->file_no,
                    err == -ENOENT ? "is missing" : "is damaged, or another environment's");
}

static int repair_with_checksums(struct repair *repair, bool is_there)
{
        int err = find_size(repair);

        if (!err && !is_there)
                err = remake_file(repair);
        if (err)
                return err;
        err = repair_opened(repair);
        if (!is_there)
                sys_close(repair->compare.data_fd);
        return err;
}

int repair_file(struct repair *repair, uint32_t file_no)
{
        const struct manifest *manifest = &repair->place.manifest;
        const struct checksums_id id = seal_checksums_id(manifest, file_no);
        const int access = repair->is_dry ? O_RDONLY : O_RDWR;

        repair->file_no = file_no;
        repair->compare =
                (struct checksums_compare){ .page_bytes = manifest->page_bytes, .visit = visit_page, .arg = repair };
        repair->is_made = false;
        repair->is_begun = false;
        repair->left_so_far = repair->left;
        repair->line = (struct repair_line){ .name = name_of(repair), .page_bytes = manifest->page_bytes };
        int err = sys_open(repair->place.directory, name_of(repair), access | O_NONBLOCK, 0, &repair->compare.data_fd);
        const bool is_there = !err;

        if (err && err != -ENOENT)
                return err;
        err = checksums_open(repair->place.directory, &id, access, &repair->compare.checksums_fd, &repair->note);
        if (!err) {
                err = repair_with_checksums(repair, is_there);
                sys_close(repair->compare.checksums_fd);
        } else if (err == XAC_CORRUPT || err == -ENOENT) {
                leave_file(repair, is_there, err);
                err = 0;
        }
        if (is_there)
                sys_close(repair->compare.data_fd);
        return err;
}
