/* SPDX-License-Identifier: MIT */
#include "recovery/check_checksums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "recovery/adopt.h"
#include "recovery/page_name.h"
#include "recovery/recover_double_write.h"
#include "recovery/seal.h"

enum { TOLD_MAX = 20, PROGRESS_PAGES = 4096 };

/* ---- One file ---- */

struct check {
        struct recovery *recovery;
        const struct manifest *manifest;
        struct findings *findings;
        struct double_write_contents buffer;
        uint32_t file_no;
        bool is_at_rest; /* closed: others may have changed its files */
        bool is_changed; /* by others, as its time says: what differs is no damage */
        bool is_taken;   /* an open takes it as it is */
        bool is_unknown; /* what is known of it may have been harmed */
        uint64_t differing;
        uint64_t last_lost; /* the sector of checksums that was reported last; 0: none */
        struct checksums_compare compare;
        struct progress progress;
};

__attribute__((format(printf, 2, 3))) static void note(const struct check *check, const char *format, ...)
{
        char sentence[RECOVER_SENTENCE];
        va_list args;

        va_start(args, format);
        say_text_list(sentence, sizeof(sentence), format, args);
        va_end(args);
        if (check->recovery->note)
                check->recovery->note(check->recovery->note_arg, sentence);
}

static void report_page(const struct check *check, const struct checksums_page *page)
{
        unsigned long long offset = page->page_no * check->manifest->page_bytes;
        unsigned long long in_checksums = checksums_offset(page->page_no);
        const char *name = check->manifest->file_name[check->file_no];

        if (page->bytes)
                (void)findings_add(check->findings,
                                   "%s: offset %llu: the page is not what its checksum says (" CHECKSUMS_NAME_PREFIX
                                   "%u: offset %llu): one of them is damaged",
                                   name, offset, check->file_no, in_checksums);
        else
                (void)findings_add(check->findings,
                                   "%s: offset %llu: the file ends before this page, which has a checksum "
                                   "(" CHECKSUMS_NAME_PREFIX "%u: offset %llu): it was cut",
                                   name, offset, check->file_no, in_checksums);
}

static void report_sector(const struct check *check, uint64_t page_no)
{
        const uint64_t first = page_no - page_no % CHECKSUMS_SECTOR_PAGES;

        (void)findings_add(
                check->findings,
                CHECKSUMS_NAME_PREFIX "%u: offset %llu: the checksums of %s from offset %llu to %llu are damaged; the "
                                      "pages themselves may be sound",
                check->file_no, (unsigned long long)checksums_offset(first), check->manifest->file_name[check->file_no],
                (unsigned long long)(first * check->manifest->page_bytes),
                (unsigned long long)((first + CHECKSUMS_SECTOR_PAGES) * check->manifest->page_bytes));
}

static uint64_t page_id(const struct check *check, uint64_t page_no)
{
        return page_name(check->file_no, page_no);
}

/* Was the page's checksum perhaps being written when the machine went down, or one beside it? Recovery finds out what
 * they are worth. */
static bool is_in_flight(const struct check *check, uint64_t page_no)
{
        const uint64_t first = page_no - page_no % CHECKSUMS_BLOCK_PAGES;

        return double_write_pages_has(&check->buffer, page_id(check, first),
                                      page_id(check, first + CHECKSUMS_BLOCK_PAGES - 1));
}

static int visit_lost(struct check *check, const struct checksums_page *page)
{
        if (is_in_flight(check, page->page_no)) {
                check->recovery->checksums_unknown++; /* so will recovery say */
                return 0;
        }
        if (check->last_lost == page->page_no / CHECKSUMS_SECTOR_PAGES + 1)
                return 0;
        check->last_lost = page->page_no / CHECKSUMS_SECTOR_PAGES + 1;
        report_sector(check, page->page_no);
        return 0;
}

static int visit_page(void *arg, const struct checksums_page *page)
{
        struct check *check = arg;
        int worth = CHECKSUMS_SOUND;

        if (double_write_pages_has(&check->buffer, page_id(check, page->page_no), page_id(check, page->page_no)))
                return 0;
        if (page->is_lost)
                return visit_lost(check, page);
        if (page->expected == CHECKSUMS_UNKNOWN) {
                check->recovery->checksums_unknown++;
                return 0;
        }
        if (is_in_flight(check, page->page_no))
                worth = checksums_judge_sector(check->compare.checksums_fd, page->page_no);
        if (worth == CHECKSUMS_SOUND && ++check->differing <= TOLD_MAX && !check->is_changed)
                report_page(check, page);
        check->recovery->checksums_unknown += worth == CHECKSUMS_HOLE; /* likewise */
        return worth < 0 ? worth : 0;
}

static void tell_progress(void *arg, uint64_t done, uint64_t total)
{
        struct check *check = arg;

        progress_tell(&check->progress, done, total);
}

static void report_rest(const struct check *check)
{
        const char *name = check->manifest->file_name[check->file_no];

        if (check->is_changed && check->differing)
                note(check,
                     "%s was changed since the environment was closed, in %llu pages: an open takes it as it is, and "
                     "makes new checksums, unless the program says XAC_UNCHANGED",
                     name, (unsigned long long)check->differing);
        else if (check->differing > TOLD_MAX)
                (void)findings_add(check->findings, "%s: %llu more pages are not what their checksums say", name,
                                   (unsigned long long)(check->differing - TOLD_MAX));
}

/* M4. Others may change a file that is closed, but what they cut is gone. */
static int report_cut(const struct check *check, const struct checksums_note *noted)
{
        struct stat st;
        int err = sys_stat(check->compare.data_fd, &st);

        if (!err && noted->state != CHECKSUMS_MADE && (uint64_t)st.st_size < noted->size)
                (void)findings_add(check->findings, "%s has %llu bytes, and had %llu%s: it was cut",
                                   check->manifest->file_name[check->file_no], (unsigned long long)st.st_size,
                                   (unsigned long long)noted->size, check->is_at_rest ? " when it was closed" : "");
        return err;
}

static void note_state(struct check *check, const struct checksums_note *noted)
{
        const char *name = check->manifest->file_name[check->file_no];

        if (noted->is_lost) { /* a power cut may have done that: who adopts a file, or lengthens it, notes it anew */
                check->is_unknown = true;
                note(check, CHECKSUMS_NAME_PREFIX "%u: offset 4096: what it notes of %s is harmed%s", check->file_no,
                     name, check->is_at_rest ? ": the next open compares all pages" : "");
        }
        if (noted->state == CHECKSUMS_REPAIR && check->is_at_rest)
                note(check, "a repair of %s was cut short: run 'xac repair' again", name);
}

/* ---- Its seal ---- */

#define CHECKSUMS_OF_ANOTHER                                                                                          \
        CHECKSUMS_NAME_PREFIX "%u and %s are of another moment than " MANIFEST_NAME ": an older copy? An open takes " \
                              "them as they are, unless the program says XAC_UNCHANGED"

/* Where the file's time says that nobody has changed it, nobody had a reason to change its checksums. */
static void report_broken(struct check *check, const struct checksums_note *noted)
{
        const char *name = check->manifest->file_name[check->file_no];

        if (noted->state == CHECKSUMS_VOLATILE && check->is_at_rest)
                note(check,
                     "the machine went down while %s was written in a volatile session (XAC_VOLATILE): its pages may "
                     "be of any age",
                     name);
        else if (check->is_changed)
                note(check, CHECKSUMS_OF_ANOTHER, check->file_no, name);
        else
                (void)findings_add(check->findings,
                                   CHECKSUMS_NAME_PREFIX
                                   "%u: the checksums of %s are not those that " MANIFEST_NAME
                                   " was written for: they were changed, or are of another moment",
                                   check->file_no, name);
}

static int check_seal(struct check *check, int checksums_fd, const struct checksums_note *noted)
{
        const char *name = check->manifest->file_name[check->file_no];
        enum seal_verdict verdict;
        struct stat st;

        if (!seal_is_there(check->manifest, check->file_no))
                return 0;
        int err = sys_stat(check->compare.data_fd, &st);
        const struct seal_files files = { checksums_fd, err ? 0 : (uint64_t)st.st_size };
        if (!err)
                err = seal_judge(check->manifest, check->file_no, &files, &check->buffer, &verdict);
        if (err)
                return err;
        if (check->is_at_rest && seal_is_of_another(check->manifest, check->file_no, noted)) {
                check->is_changed = check->is_taken = true;
                if (verdict == SEAL_WHOLE)
                        note(check, CHECKSUMS_OF_ANOTHER, check->file_no, name);
        }
        check->is_taken |= check->is_changed && verdict == SEAL_BROKEN;
        if (verdict == SEAL_BROKEN)
                report_broken(check, noted);
        if (verdict == SEAL_BROKEN_BESIDE) {
                check->is_unknown = true;
                note(check,
                     CHECKSUMS_NAME_PREFIX
                     "%u: some checksums of %s beside those that were being written are not what they "
                     "were: a power cut may have done that, or somebody else",
                     check->file_no, name);
        }
        return 0;
}

/* ---- All of it ---- */

static int compare_file(struct check *check, const struct checksums_note *noted)
{
        bool is_unchanged = true;
        int err = 0;

        if (check->is_at_rest)
                err = checksums_is_unchanged(check->compare.data_fd, noted, &is_unchanged);
        if (!err)
                err = report_cut(check, noted);
        check->is_changed = !is_unchanged;
        note_state(check, noted);
        if (!err)
                err = check_seal(check, check->compare.checksums_fd, noted);
        if (!err)
                err = checksums_compare(&check->compare);
        if (err == XAC_CORRUPT) {
                (void)findings_add(check->findings, "%s is longer than a data file can be",
                                   check->manifest->file_name[check->file_no]);
                err = 0;
        }
        check->recovery->checksums_pages += check->compare.pages;
        if (!err)
                report_rest(check);
        return err;
}

/* A file without any is one that nobody got to, or whose checksums somebody has removed: one that is new has them
 * before it has bytes. */
static int check_without_checksums(struct check *check)
{
        static const struct checksums_note none = { .state = CHECKSUMS_OPEN };
        const struct manifest *manifest = check->manifest;
        struct stat st;
        int err = sys_stat(check->compare.data_fd, &st);

        if (err)
                return err;
        check->recovery->checksums_missing++;
        if (manifest->is_clean ? adopt_expects_checksums(manifest)
                               : st.st_size && seal_is_there(manifest, check->file_no)) {
                check->is_unknown = true;
                note(check,
                     "%s: its checksums (" CHECKSUMS_NAME_PREFIX
                     "%u) are missing, so that nobody can tell whether it was changed",
                     manifest->file_name[check->file_no], check->file_no);
        }
        return check->is_at_rest ? 0 : check_seal(check, -1, &none);
}

static int check_file(struct check *check, uint32_t file_no)
{
        const struct manifest *manifest = check->manifest;
        const struct checksums_id id = seal_checksums_id(manifest, file_no);
        struct checksums_compare *compare = &check->compare;
        struct checksums_note noted;
        int err = sys_open(check->recovery->directory, manifest->file_name[file_no], O_RDONLY | O_NONBLOCK, 0,
                           &compare->data_fd);

        check->file_no = file_no;
        check->progress.told = 0;
        check->is_changed = check->is_taken = check->is_unknown = false;
        check->differing = 0;
        check->last_lost = 0;
        if (err)
                return 0; /* somebody else's finding */
        err = checksums_open(check->recovery->directory, &id, O_RDONLY, &compare->checksums_fd, &noted);
        if (!err) {
                err = compare_file(check, &noted);
                sys_close(compare->checksums_fd);
        } else if (err == XAC_CORRUPT) {
                (void)findings_add(check->findings,
                                   CHECKSUMS_NAME_PREFIX "%u: its header is damaged, or another environment's, so that "
                                                         "nothing in it is known to be true",
                                   file_no);
                err = 0;
        } else if (err == -ENOENT) {
                err = check_without_checksums(check);
        }
        sys_close(compare->data_fd);
        check->recovery->files_changed += check->is_taken || (check->is_changed && check->differing);
        check->recovery->files_unknown += check->is_unknown;
        return err;
}

/* ---- All of them ---- */

int check_checksums(struct recovery *recovery, const struct manifest *manifest, struct findings *findings)
{
        struct check check = { .recovery = recovery,
                               .manifest = manifest,
                               .findings = findings,
                               .is_at_rest = manifest->is_clean && manifest->buffer < 0,
                               .progress = { .recovery = recovery, .what = "sum", .step = PROGRESS_PAGES } };
        int err = double_write_pages_read(recovery->directory, manifest, &check.buffer);

        check.compare = (struct checksums_compare){
                .page_bytes = manifest->page_bytes, .visit = visit_page, .progress = tell_progress, .arg = &check
        };
        if (err == XAC_CORRUPT) /* nobody knows what was going home */
                err = 0;
        else
                for (uint32_t i = 0; !err && i < manifest->file_count; i++)
                        err = check_file(&check, i);
        double_write_contents_free(&check.buffer);
        return err;
}
