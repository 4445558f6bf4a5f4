/* SPDX-License-Identifier: MIT */
#include "recovery/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "recovery/checksums_compare.h"
#include "recovery/findings.h"
#include "recovery/seal.h"

enum { PROGRESS_PAGES = 4096 };

struct adopt {
        const struct adoption *adoption;
        struct manifest *manifest;
        uint32_t file_no;
        struct checksums_note note;
        struct checksums_compare compare;
        struct checksums_batch batch; /* of new checksums: a file may differ in all of its pages */
        struct progress progress;
        bool is_writing;
        bool is_whole;      /* its checksums are those that the manifest was written for */
        bool is_of_another; /* or they, or its note, are of another moment (M1, M5) */
};

/* S12: a checksum that is not known stays so. Its sector would be written, which a power cut may harm; that would look
 * like a change by others. */
static int visit_page(void *arg, const struct checksums_page *page)
{
        struct adopt *adopt = arg;

        if (!adopt->is_writing || (page->expected == CHECKSUMS_UNKNOWN && adopt->note.state != CHECKSUMS_VOLATILE))
                return 0;
        return checksums_batch_put(&adopt->batch, page->page_no, page->checksum);
}

static void tell_progress(void *arg, uint64_t done, uint64_t total)
{
        struct adopt *adopt = arg;

        progress_tell(&adopt->progress, done, total);
}

static void tell(const struct adopt *adopt, const char *finding, const char *what)
{
        char sentence[RECOVER_SENTENCE];

        say_text(sentence, sizeof(sentence), "%s: %s: %s", adopt->manifest->file_name[adopt->file_no], finding, what);
        adopt->adoption->tell(adopt->adoption->arg, sentence);
}

static void tell_of_pages(const struct adopt *adopt, const char *what)
{
        const uint64_t before = adopt->note.size / adopt->compare.page_bytes;
        const uint64_t pages = adopt->compare.pages > before ? adopt->compare.pages : before;
        char finding[96];

        say_text(finding, sizeof(finding), "%llu of its %llu pages are not what their checksums say",
                 (unsigned long long)adopt->compare.differing, (unsigned long long)pages);
        tell(adopt, finding, what);
}

/* ---- Missing, or shorter than it was ---- */

#define REFUSED \
        "it was changed by others, or damaged, while the environment was closed, and is not opened (XAC_UNCHANGED)"

#define REFUSED_TO_READERS                                                                                             \
        "it was changed by others, or damaged, while the environment was closed, and is not opened for reading only: " \
        "'xac check' says more, and an open without XAC_RDONLY takes it as it is"

/* What is missing is what a repair had not got to: with zeros there, nobody would see that it is. */
static int judge_repair(const struct adopt *adopt, uint64_t size)
{
        if (adopt->note.state != CHECKSUMS_REPAIR || size >= adopt->note.size)
                return 0;
        tell(adopt, "a part of it is missing, and its repair was cut short", "run xac repair again");
        return XAC_CORRUPT;
}

/* NULL: it is not refused. */
static const char *refusal(const struct adopt *adopt)
{
        if (adopt->adoption->is_refused)
                return REFUSED;
        return adopt->adoption->is_looking ? REFUSED_TO_READERS : NULL;
}

static int judge_size(const struct adopt *adopt, bool is_there, uint64_t size)
{
        char finding[96];

        if (adopt->note.state != CHECKSUMS_CLOSED || size >= adopt->note.size)
                return judge_repair(adopt, size);
        if (is_there)
                say_text(finding, sizeof(finding), "it has %llu bytes, and had %llu when it was closed",
                         (unsigned long long)size, (unsigned long long)adopt->note.size);
        else
                say_text(finding, sizeof(finding), "it is missing, and had %llu bytes when it was closed",
                         (unsigned long long)adopt->note.size);
        tell(adopt, finding, refusal(adopt) ? refusal(adopt) : "what is missing is taken for zeros");
        return refusal(adopt) ? XAC_CORRUPT : 0;
}

/* Neither the file nor its checksums. */
static int judge_nothing(const struct adopt *adopt)
{
        tell(adopt, "it is missing, and so are its checksums",
             refusal(adopt) ? refusal(adopt) : "it is made anew, of zeros");
        return refusal(adopt) ? XAC_CORRUPT : 0;
}

static int adopt_missing(struct adopt *adopt, int directory)
{
        struct checksums_id id = seal_checksums_id(adopt->manifest, adopt->file_no);
        int err = checksums_open(directory, &id, O_RDONLY, &adopt->compare.checksums_fd, &adopt->note);
        const bool had_checksums = seal_is_there(adopt->manifest, adopt->file_no);

        seal_break(adopt->manifest, adopt->file_no);
        if (err == -ENOENT || err == XAC_CORRUPT)
                return had_checksums ? judge_nothing(adopt) : 0;
        if (err)
                return err;
        sys_close(adopt->compare.checksums_fd);
        return judge_size(adopt, false, 0);
}

bool adopt_expects_checksums(const struct manifest *manifest)
{
        return manifest->session.incarnation || manifest->history;
}

/* A file that nobody got to has none. */
static int adopt_without_checksums(const struct adopt *adopt, int directory)
{
        struct manifest *manifest = adopt->manifest;
        char finding[96], name[CHECKSUMS_NAME_BYTES];
        struct stat st;
        int err = sys_stat_at(directory, manifest->file_name[adopt->file_no], &st);

        seal_break(manifest, adopt->file_no);
        if (err || !st.st_size || !adopt_expects_checksums(manifest))
                return err;
        checksums_name(adopt->file_no, name);
        say_text(finding, sizeof(finding), "its checksums (%s) are missing or damaged", name);
        tell(adopt, finding,
             adopt->adoption->is_refused ? "nobody can tell whether it was changed while the environment was closed, "
                                           "and it is not opened (XAC_UNCHANGED)"
                                         : "it is taken as it is, and pages get checksums as they are written, or all "
                                           "of them by xac scrub --sum");
        return adopt->adoption->is_refused ? XAC_CORRUPT : 0;
}

/* ---- Changed ---- */

static int compare(struct adopt *adopt, bool is_writing)
{
        adopt->is_writing = is_writing;
        adopt->progress.told = 0;
        adopt->batch = (struct checksums_batch){ .fd = adopt->compare.checksums_fd };
        int err = checksums_compare(&adopt->compare);

        return err ? err : checksums_batch_flush(&adopt->batch);
}

/* The new checksums are on disk before the header says that they belong to the file as it is. Where none is new the
 * note keeps its number: until the manifest is written this is the file that it is of (M5). */
static int settle(struct adopt *adopt)
{
        const struct manifest_seal *seal = &adopt->manifest->seal[adopt->file_no];
        int err = adopt->compare.differing ? checksums_cut(adopt->compare.checksums_fd, adopt->compare.pages) : 0;

        if (!err)
                err = sys_sync_data(adopt->compare.checksums_fd);
        if (!err)
                err = checksums_note_of(adopt->compare.data_fd, &adopt->note);
        if (adopt->is_whole && !adopt->compare.differing)
                adopt->note.number = seal->number;
        if (!err)
                err = checksums_put_note(adopt->compare.checksums_fd, &adopt->note);
        return err ? err : seal_renew(adopt->adoption->recovery->directory, adopt->manifest, adopt->file_no);
}

#define LEFT_TO_WRITERS                                                                                               \
        "a volatile session did not end, so that they may be of any age; it is not opened for reading only: an open " \
        "without XAC_RDONLY takes them as they are"

/* S15. That the log does not lead there is on disk before the checksums agree. */
static int take_over(struct adopt *adopt)
{
        const bool is_volatile = adopt->note.state == CHECKSUMS_VOLATILE;
        int err;

        if (refusal(adopt) && (!is_volatile || adopt->adoption->is_looking)) {
                tell_of_pages(adopt, is_volatile ? LEFT_TO_WRITERS : refusal(adopt));
                return XAC_CORRUPT;
        }
        tell_of_pages(adopt, is_volatile
                                     ? "the machine went down in a volatile session, so that they may be of any age; "
                                       "they get new checksums"
                                     : "it was changed by others while the environment was closed; it is taken as it "
                                       "is, and they get new checksums");
        err = adopt->adoption->begin(adopt->adoption->arg);
        return err ? err : compare(adopt, true);
}

/* M5. Its pages are as its checksums say, but both are not those that the manifest is of. */
static int take_of_another(struct adopt *adopt)
{
        char finding[96], name[CHECKSUMS_NAME_BYTES];

        checksums_name(adopt->file_no, name);
        say_text(finding, sizeof(finding), "its checksums (%s) are of another moment than " MANIFEST_NAME, name);
        tell(adopt, finding, refusal(adopt) ? refusal(adopt) : "an older copy? It is taken as it is");
        return refusal(adopt) ? XAC_CORRUPT : adopt->adoption->begin(adopt->adoption->arg);
}

/* A volatile session that did not end has changed checksums, too, without the manifest. */
static int judge_seal(struct adopt *adopt)
{
        static const struct double_write_contents none;
        enum seal_verdict verdict = SEAL_WHOLE;
        struct stat st;
        int err = sys_stat(adopt->compare.data_fd, &st);
        const struct seal_files files = { adopt->compare.checksums_fd, err ? 0 : (uint64_t)st.st_size };

        if (!err)
                err = seal_judge(adopt->manifest, adopt->file_no, &files, &none, &verdict);

        if (!seal_is_there(adopt->manifest, adopt->file_no))
                return err;
        adopt->is_whole = !err && verdict == SEAL_WHOLE && !adopt->is_of_another;
        adopt->is_of_another |= verdict == SEAL_BROKEN && adopt->note.state != CHECKSUMS_VOLATILE;
        return err;
}

static int adopt_changed(struct adopt *adopt)
{
        struct stat st;
        int err = sys_stat(adopt->compare.data_fd, &st);

        if (!err)
                err = judge_size(adopt, true, (uint64_t)st.st_size);
        if (!err)
                err = judge_seal(adopt);
        if (!err)
                err = compare(adopt, false);
        if (!err && adopt->compare.differing)
                err = take_over(adopt);
        else if (!err && adopt->is_of_another)
                err = take_of_another(adopt);
        return err || adopt->adoption->is_looking ? err : settle(adopt);
}

static int adopt_opened(struct adopt *adopt)
{
        bool is_unchanged;
        struct stat st;
        int err = checksums_is_unchanged(adopt->compare.data_fd, &adopt->note, &is_unchanged);

        if (!err)
                err = sys_stat(adopt->compare.data_fd, &st);
        if (!err)
                err = judge_repair(adopt, (uint64_t)st.st_size);
        adopt->is_of_another = seal_is_of_another(adopt->manifest, adopt->file_no, &adopt->note);
        return err || (is_unchanged && !adopt->is_of_another) ? err : adopt_changed(adopt);
}

static int open_data(int directory, const char *name, int *fd)
{
        struct stat st;
        int err = sys_open(directory, name, O_RDONLY | O_NONBLOCK, 0, fd);

        /* What is there and cannot be opened now, or by this user, is not missing. */
        if (err)
                return err == -ENOTDIR || err == -ELOOP || err == -ENXIO ? -ENOENT : err;
        err = sys_stat(*fd, &st);
        if (!err && !S_ISREG(st.st_mode))
                err = -ENOENT;
        if (err)
                sys_close(*fd);
        return err;
}

/* Neither a data file nor checksums that are not there, or not to be believed, are this one's business. */
static int open_both(int directory, const struct manifest *manifest, uint32_t i, int flags,
                     struct checksums_compare *compare, struct checksums_note *note)
{
        struct checksums_id id = seal_checksums_id(manifest, i);
        int err = open_data(directory, manifest->file_name[i], &compare->data_fd);

        compare->data_fd = err ? -1 : compare->data_fd;
        if (err)
                return err;
        err = checksums_open(directory, &id, flags, &compare->checksums_fd, note);
        if (err)
                sys_close(compare->data_fd);
        return err == XAC_CORRUPT ? -ENOENT : err;
}

static int adopt_file(const struct adoption *adoption, struct manifest *manifest, uint32_t i)
{
        struct adopt adopt = { .adoption = adoption,
                               .manifest = manifest,
                               .file_no = i,
                               .progress = { .recovery = adoption->recovery, .what = "sum", .step = PROGRESS_PAGES } };
        int err;

        adopt.compare = (struct checksums_compare){
                .page_bytes = manifest->page_bytes, .visit = visit_page, .progress = tell_progress, .arg = &adopt
        };
        err = open_both(adoption->recovery->directory, manifest, i, adoption->is_looking ? O_RDONLY : O_RDWR,
                        &adopt.compare, &adopt.note);
        if (err == -ENOENT && adopt.compare.data_fd < 0)
                return adopt_missing(&adopt, adoption->recovery->directory);
        if (err == -ENOENT)
                return adopt_without_checksums(&adopt, adoption->recovery->directory);
        if (err)
                return err;
        err = adopt_opened(&adopt);
        sys_close(adopt.compare.checksums_fd);
        sys_close(adopt.compare.data_fd);
        return err;
}

int adopt_run(const struct adoption *adoption, struct manifest *manifest)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < manifest->file_count; i++)
                err = adopt_file(adoption, manifest, i);
        return err;
}

/* Who has no checksums cannot tell, nor can anybody else. */
static int is_changed(int directory, const struct manifest *manifest, uint32_t file_no)
{
        struct checksums_compare both;
        struct checksums_note note;
        bool is_unchanged;
        int err = open_both(directory, manifest, file_no, O_RDONLY, &both, &note);

        if (err)
                return err == -ENOENT ? adopt_expects_checksums(manifest) && both.data_fd >= 0 : err;
        err = checksums_is_unchanged(both.data_fd, &note, &is_unchanged);
        sys_close(both.checksums_fd);
        sys_close(both.data_fd);
        return err ? err : !is_unchanged || seal_is_of_another(manifest, file_no, &note);
}

int adopt_find_changed(int directory, const struct manifest *manifest, uint32_t from, uint32_t *file_no)
{
        for (*file_no = from; *file_no < manifest->file_count; ++*file_no) {
                int found = is_changed(directory, manifest, *file_no);

                if (found)
                        return found < 0 ? found : 0;
        }
        return 0;
}

int adopt_note_recovered(int directory, struct manifest *manifest)
{
        int result = 0;

        for (uint32_t i = 0; i < manifest->file_count; i++) {
                struct checksums_compare both;
                struct checksums_note note;

                int err = open_both(directory, manifest, i, O_RDWR, &both, &note);

                if (!err) {
                        err = checksums_note_of(both.data_fd, &note);
                        if (!err)
                                err = checksums_put_note(both.checksums_fd, &note);
                        if (!err)
                                manifest->seal[i].number = note.number;
                        sys_close(both.checksums_fd);
                        sys_close(both.data_fd);
                }
                if (err && err != -ENOENT && !result)
                        result = err;
        }
        return result;
}
