/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * The steps of recover.h, in order. Each leaves the disk in a state from which all of them lead to the same
 * end:
 *
 *      before 4   the old manifest rules: its double-write buffer and its log are untouched, home is as of its
 *                 checkpoint
 *      after 4    the new one rules: nothing has been logged since, its buffer holds all that may not be home
 *
 * and between the batches of a checkpoint the same, with some pages as of the one that is to come.
 *
 * The manifest must be certain to be on disk before anything else is written (manifest_read_settled): home
 * may not get ahead of the one that a power cut would bring back, nor may its buffer be overwritten.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "recovery/adopt.h"
#include "recovery/double_write.h"
#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/lost.h"
#include "recovery/rebuild.h"
#include "recovery/recover_double_write.h"
#include "recovery/recover_home.h"
#include "recovery/seal.h"

enum { PROGRESS_PAGES = 1024 };

/* On the heap: callers may have small stacks. */
struct recover {
        struct recovery *recovery;
        struct manifest manifest; /* as on disk */
        struct findings findings;
        struct home_files homes;
        struct rebuild rebuild;
        struct lost lost;
        bool was_clean;
};

/* The first damage found is the one that says most. */
static void keep_sentence(void *arg, const char *sentence)
{
        struct recovery *recovery = arg;

        if (!recovery->damage[0])
                strncpy(recovery->damage, sentence, sizeof(recovery->damage) - 1);
}

/* ---- 1. buffer -> home ---- */

struct restore {
        struct home_files *homes;
        struct lost *lost;
        uint64_t found; /* the page that was found at home last */
        struct progress progress;
        uint64_t done;
        uint64_t total;
};

static int restore_page(void *arg, const struct page_image *image)
{
        struct restore *restore = arg;
        const bool is_home = image->page == restore->found;
        int err = is_home ? home_files_keep(restore->homes, image) : home_files_put(restore->homes, image);

        progress_tell(&restore->progress, ++restore->done, restore->total);
        return err;
}

static int find_at_home(void *arg, uint64_t page, uint32_t checksum, void *bytes)
{
        struct restore *restore = arg;
        int err = home_files_find(restore->homes, page, checksum, bytes);

        if (!err)
                restore->found = page;
        return err;
}

/* CP14. What it was then tells a page of a backup that is the same. */
static int lose_page(void *arg, const struct double_write_damage *damage)
{
        const struct restore *restore = arg;
        int err = lost_add(restore->lost, damage->page, false);

        return err ? err : home_files_lose_known(restore->homes, damage->page, damage->checksum);
}

static int restore_buffer(struct recover *recover)
{
        struct recovery *recovery = recover->recovery;
        struct restore restore = {
                .homes = &recover->homes,
                .lost = &recover->lost,
                .found = UINT64_MAX,
                .progress = { .recovery = recovery, .what = "restore", .step = PROGRESS_PAGES },
        };
        const struct double_write_visitor visitor = { .visit = restore_page,
                                                      .find = find_at_home,
                                                      .lose = recovery->gives_up_damaged ? lose_page : NULL,
                                                      .arg = &restore };
        struct double_write_damage damage;
        int err;

        if (recover->manifest.buffer < 0)
                return 0;
        err = recover_double_write_check(recovery, &recover->manifest, &recover->homes, &recover->findings);
        restore.total = recovery->restored;
        recovery->is_buffer_damaged = err == XAC_CORRUPT;
        if (!err)
                err = recover_double_write_read(recovery->directory, &recover->manifest, &visitor, &recover->homes,
                                                &recover->findings, &damage);
        if (!err)
                err = home_files_sync(&recover->homes);
        recovery->restored = restore.done;
        return err;
}

/* ---- 2. to 5. ---- */

/* CP14: what the log makes of pages that are lost is lost as well, and that is on disk before anything is named that
 * would have it read no more. Those pages stand at the goal, as others do: what was moved from them has nothing to go
 * on from. */
static int give_up_pages(struct recover *recover, struct vector *listed)
{
        const struct rebuild *rebuild = &recover->rebuild;
        uint32_t count;
        const uint64_t *pages = replay_lost(rebuild->replay, &count);
        int err = 0;

        for (uint64_t i = 0; i < rebuild->pages; i++)
                lost_remove(&recover->lost, replay_page(rebuild->replay, i).page);
        for (uint32_t i = 0; !err && i < count; i++) {
                err = lost_add(&recover->lost, pages[i], true);
                if (!err)
                        err = home_files_lose(&recover->homes, pages[i]);
        }
        if (err || !count)
                return err;
        recover->recovery->has_lost = true;
        err = batches_list_add(listed, pages, NULL, count);
        return err ? err : home_files_sync(&recover->homes);
}

/* Up to the goal, which is filled in where it is the newest commit. */
static int bring_home(struct recover *recover, struct recover_goal *goal, struct vector *listed)
{
        struct rebuild *rebuild = &recover->rebuild;

        *rebuild = (struct rebuild){ .recovery = recover->recovery,
                                     .manifest = &recover->manifest,
                                     .homes = &recover->homes,
                                     .findings = &recover->findings,
                                     .until = goal->sequence,
                                     .goes_on = goal->is_end ? 0 : goal->redo,
                                     .listed = listed->items,
                                     .listed_count = listed->count };
        int err = rebuild_run(rebuild);
        recover->homes.keeps_unknown = true;
        if (!err && !goal->sequence)
                *goal = (struct recover_goal){ replay_sequence(rebuild->replay), rebuild->end, rebuild->end, true };
        if (!err)
                err = give_up_pages(recover, listed);
        if (!err) {
                const struct recover_home home = { recover->recovery, &recover->manifest, &recover->homes, rebuild,
                                                   listed };

                err = recover_home_run(&home, goal);
        }
        rebuild_close(rebuild);
        return err;
}

/* CP5: a checkpoint that was going home in batches. CP12: where that was recovery's, the log has been looked at, and
 * ends there: looked at from there on, what is left of a group that was being written may look like more. */
static int finish_target(struct recover *recover)
{
        const struct manifest *manifest = &recover->manifest;
        struct double_write_contents contents;
        int err = recover_double_write_contents(recover->recovery->directory, manifest, &recover->homes,
                                                &recover->findings, &contents);
        struct recover_goal goal = { manifest->target_sequence, contents.position, contents.redo, contents.is_end };

        recover->recovery->is_buffer_damaged = err == XAC_CORRUPT;

        if (!err)
                err = bring_home(recover, &goal, &contents.listed);
        double_write_contents_free(&contents);
        return err;
}

static int bring_newest_home(struct recover *recover)
{
        struct recover_goal goal = { 0 };
        struct vector listed = { 0 };
        int err = bring_home(recover, &goal, &listed);

        vector_free(&listed, sizeof(uint64_t));
        return err;
}

/* ---- 0. Are the files those that the manifest is of? ---- */

/* `buffer` is NULL where it is damaged, which restore_buffer says: then the seal tells nothing. */
static int judge_seal(struct recover *recover, uint32_t file_no, const struct double_write_contents *buffer,
                      enum seal_verdict *verdict)
{
        const struct manifest *manifest = &recover->manifest;
        struct home_file *file = &recover->homes.file[file_no];
        const struct seal_files files = { file->checksums_fd, file->size };
        int err = 0;

        *verdict = SEAL_WHOLE;
        if (file->fd >= 0 && buffer && seal_is_there(manifest, file_no)) {
                err = seal_judge(manifest, file_no, &files, buffer, verdict);
                if (!err && *verdict == SEAL_WHOLE && file->checksums_fd < 0 && file->size)
                        *verdict = SEAL_LOST; /* a file that is new has them before it has bytes */
        }
        const bool is_taken = recover->recovery->gives_up_damaged && (*verdict == SEAL_BROKEN || !buffer);
        file->is_harmed = *verdict == SEAL_BROKEN_BESIDE;
        return !err && (*verdict == SEAL_LOST || is_taken) ? home_files_distrust(&recover->homes, file_no) : err;
}

/* M1, M4. What a power cut may have done is not looked at: then nothing is known of some pages. */
static int judge_file(struct recover *recover, uint32_t file_no, const struct double_write_contents *buffer)
{
        const struct home_file *file = &recover->homes.file[file_no];
        struct checksums_note note = { .state = CHECKSUMS_OPEN };
        enum seal_verdict verdict = SEAL_WHOLE;
        int err = file->checksums_fd < 0 ? 0 : checksums_get_note(file->checksums_fd, &note);

        if (!err && file->fd < 0 && note.state != CHECKSUMS_MADE && note.size)
                return home_files_expect(&recover->homes, file_no);
        if (!err && file->fd >= 0 && note.state != CHECKSUMS_MADE && file->size < note.size)
                return findings_add(&recover->findings, "%s has %llu bytes, and had %llu: it was cut", file->name,
                                    (unsigned long long)file->size, (unsigned long long)note.size);
        if (!err)
                err = judge_seal(recover, file_no, buffer, &verdict);
        if (!err && verdict == SEAL_LOST)
                seal_break(&recover->manifest, file_no);
        recover->recovery->files_unknown += verdict == SEAL_LOST || verdict == SEAL_BROKEN_BESIDE;
        if (!err && verdict == SEAL_BROKEN)
                return findings_add(&recover->findings,
                                    CHECKSUMS_NAME_PREFIX
                                    "%u: the checksums of %s are not those that " MANIFEST_NAME
                                    " was written for: they were changed, or are of another moment",
                                    file_no, file->name);
        return err;
}

/* What was cut off is zeros, whose checksums tell where it was something else. */
static int lengthen(struct recover *recover, uint32_t file_no)
{
        struct home_file *file = &recover->homes.file[file_no];
        struct checksums_note note;
        int err = file->checksums_fd < 0 || file->fd < 0 ? -ENOENT : checksums_get_note(file->checksums_fd, &note);

        if (err || note.state == CHECKSUMS_MADE || file->size >= note.size)
                return err == -ENOENT || err == XAC_CORRUPT ? 0 : err;
        err = sys_truncate(file->fd, note.size);
        if (!err)
                err = sys_sync(file->fd);
        if (!err)
                file->size = note.size;
        return err;
}

/* Who gives up what is damaged takes the file and its checksums as they are. */
static int take_file(struct recover *recover, uint32_t file_no, const struct double_write_contents *buffer)
{
        enum seal_verdict verdict;
        int err = judge_seal(recover, file_no, buffer, &verdict);

        if (!err)
                err = lengthen(recover, file_no);
        seal_break(&recover->manifest, file_no);
        return err;
}

static int judge_files(struct recover *recover)
{
        int (*judge)(struct recover *, uint32_t, const struct double_write_contents *) =
                recover->recovery->gives_up_damaged ? take_file : judge_file;
        struct double_write_contents buffer;
        int err = double_write_pages_read(recover->recovery->directory, &recover->manifest, &buffer);
        const bool is_damaged = err == XAC_CORRUPT;

        if (is_damaged)
                err = 0;
        for (uint32_t i = 0; !err && i < recover->homes.count; i++)
                err = judge(recover, i, is_damaged ? NULL : &buffer);
        double_write_contents_free(&buffer);
        return err;
}

/* ---- 6. manifest ---- */

static int forget_buffer(struct recover *recover)
{
        struct manifest *manifest = &recover->manifest;
        const int directory = recover->recovery->directory;
        struct seal_change change = { .is_of_recovery = true };

        if (manifest->buffer < 0)
                return 0;
        int err = adopt_note_recovered(directory, manifest);
        if (!err)
                err = seal_change_begin(&change, directory, manifest);
        if (recover->was_clean && recover->recovery->has_lost)
                manifest->history = ++manifest->incarnation;
        manifest->buffer = -1;
        manifest->buffer_checksum = 0;
        if (!err)
                err = seal_change_end(&change, directory, manifest);
        seal_change_free(&change);
        return err ? err : manifest_write(directory, manifest);
}

/* ---- All of it ---- */

static void tell_of_lost(const struct recover *recover)
{
        struct recovery *recovery = recover->recovery;

        recovery->lost = recover->lost.pages.count;
        if (recovery->lose)
                lost_tell(&recover->lost, &recover->homes, recovery->lose, recovery->lose_arg);
}

static int recover_steps(struct recover *recover)
{
        recover->was_clean = recover->manifest.is_clean;
        int err = judge_files(recover);

        if (!err)
                err = restore_buffer(recover);
        if (!err && recover->manifest.target_sequence)
                err = finish_target(recover);
        if (!err && !recover->manifest.is_clean)
                err = bring_newest_home(recover);
        return err ? err : forget_buffer(recover);
}

int recover_run(struct recovery *recovery, struct manifest *manifest)
{
        struct recover *recover;
        int err;

        findings_begin(recovery);
        if (manifest->is_clean && manifest->buffer < 0)
                return 0;
        recover = calloc(1, sizeof(*recover));
        if (!recover)
                return -ENOMEM;
        recover->recovery = recovery;
        recover->findings = (struct findings){ .report = keep_sentence, .arg = recovery };
        err = manifest_read_settled(recovery->directory, &recover->manifest);
        if (!err)
                err = home_files_open(&recover->homes, recovery->directory, &recover->manifest, true,
                                      &recover->findings);
        if (!err) {
                recover->homes.gives_up = recovery->gives_up_damaged;
                err = recover_steps(recover);
                if (!err)
                        tell_of_lost(recover);
                home_files_close(&recover->homes);
        }
        lost_free(&recover->lost);
        if (!err)
                *manifest = recover->manifest;
        free(recover);
        return err;
}
