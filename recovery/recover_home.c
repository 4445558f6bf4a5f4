/* SPDX-License-Identifier: MIT */
#include "recovery/recover_home.h"

#include <errno.h>

#include "base/hook.h"
#include "recovery/adopt.h"
#include "recovery/batches.h"
#include "recovery/double_write.h"
#include "recovery/recover_double_write.h"
#include "recovery/seal.h"

enum { PROGRESS_PAGES = 1024 };

struct work {
        const struct recover_home *home;
        const struct recover_goal *goal;
        struct batches batches;
        struct vector pages; /* of uint64_t: all of them, ascending */
        struct progress progress;
        uint64_t told;

        /* The batch: */
        uint32_t limit;          /* of pages */
        const uint32_t *indices; /* of its pages among all */
        uint32_t count;
        bool is_last;
};

static struct page_image image_of(const struct work *work, uint64_t i)
{
        return replay_page(work->home->rebuild->replay, work->indices[i]);
}

/* ---- 3. pages -> buffer ---- */

static struct page_image next_image(void *arg, uint64_t i)
{
        struct work *work = arg;

        progress_tell(&work->progress, ++work->told, work->pages.count);
        return image_of(work, i);
}

static int write_buffer(struct work *work, int which, uint32_t *checksum)
{
        const struct recover_home *home = work->home;
        const struct recovery *recovery = home->recovery;
        struct double_write_id id = recover_double_write_id(home->manifest);
        struct double_write_batch batch = { .position = work->goal->position,
                                            .redo = work->goal->redo,
                                            .is_end = work->goal->is_end,
                                            .listed = home->listed->items,
                                            .listed_count = home->listed->count };

        id.sequence = work->goal->sequence;
        id.batch = work->is_last ? NULL : &batch;
        id.keep_bytes = double_write_keep_bytes(recovery->area_bytes);
        int err = double_write_store(recovery->directory, which, &id, work->count, next_image, work, checksum);
        hook_step(HOOK_DOUBLE_WRITE_STORED);
        return err;
}

/* ---- 4. manifest ---- */

/* The log ends there. That is so from the first batch on, whoever goes on from it. */
static void name_end(struct manifest *manifest, const struct recovery *recovery)
{
        if (recovery->has_given_up)
                manifest->history = manifest->incarnation; /* R36 */
        if (recovery->time_ns > manifest->time_ns)
                manifest->time_ns = recovery->time_ns;
}

static void name_goal(struct manifest *manifest, const struct recover_goal *goal)
{
        manifest->target_sequence = 0;
        manifest->base_sequence = goal->sequence;
        manifest->base_position = goal->position;
        manifest->redo_position = goal->redo;
        if (!goal->is_end)
                return;
        manifest->incarnation++;
        manifest->is_clean = 1; /* also while its pages are still in the buffer only */
}

static int write_name(const struct work *work, int buffer, uint32_t checksum)
{
        struct manifest *manifest = work->home->manifest;
        const int directory = work->home->recovery->directory;
        struct seal_change change = { .is_of_recovery = true };
        int err = seal_change_begin(&change, directory, manifest);

        manifest->buffer = buffer;
        manifest->buffer_checksum = checksum;
        if (work->home->recovery->has_lost)
                manifest->history = manifest->incarnation; /* CP14: what the buffer before had is given up now */
        if (work->goal->is_end)
                name_end(manifest, work->home->recovery);
        if (work->is_last)
                name_goal(manifest, work->goal);
        else
                manifest->target_sequence = work->goal->sequence;
        if (!err)
                err = seal_change_end(&change, directory, manifest);
        seal_change_free(&change);
        return err ? err : manifest_write(directory, manifest);
}

static int name_batch(const struct work *work, int buffer, uint32_t checksum)
{
        int err = write_name(work, buffer, checksum);

        hook_step(HOOK_MANIFEST_NAMED);
        return err;
}

/* ---- 5. pages -> home ---- */

static int write_home(const struct work *work)
{
        int err = 0;

        for (uint32_t i = 0; !err && i < work->count; i++) {
                struct page_image image = image_of(work, i);

                err = home_files_put(work->home->homes, &image);
        }
        if (!err)
                err = home_files_sync(work->home->homes);
        hook_step(HOOK_HOME_WRITTEN);
        return err;
}

/* ---- All of it ---- */

static void take_batch(struct work *work)
{
        work->count = batches_next(&work->batches, work->limit, &work->indices);
        work->is_last = batches_are_done(&work->batches);
}

/* As much of it as the disk has room for. */
static int write_buffer_that_fits(struct work *work, int which, uint32_t *checksum)
{
        int err = write_buffer(work, which, checksum);

        while (err == -ENOSPC && work->limit > DOUBLE_WRITE_PAGES_MIN) {
                work->limit /= 2;
                work->told -= work->count;
                batches_again(&work->batches);
                take_batch(work);
                err = write_buffer(work, which, checksum);
        }
        return err;
}

static int bring_batch_home(struct work *work)
{
        int which = work->home->manifest->buffer == 0;
        uint32_t checksum = 0;
        int err = 0;

        if (!work->count) { /* then it is the only one, and there is nothing to keep safe */
                err = adopt_note_recovered(work->home->recovery->directory, work->home->manifest);
                return err ? err : name_batch(work, -1, 0);
        }
        if (hook_has_bug(HOOK_BUG_REPLAY_AT_HOME))
                err = write_home(work);
        if (!err)
                err = write_buffer_that_fits(work, which, &checksum);
        if (!err)
                err = name_batch(work, which, checksum);
        if (!err)
                err = write_home(work);
        if (err || work->is_last)
                return err;
        /* CP4: the next buffer has the pages of this one, too. */
        return batches_list_add(work->home->listed, work->pages.items, work->indices, work->count);
}

static int list_pages(struct work *work)
{
        const struct rebuild *rebuild = work->home->rebuild;
        int err = vector_reserve(&work->pages, (uint32_t)rebuild->pages, sizeof(uint64_t));

        for (uint64_t i = 0; !err && i < rebuild->pages; i++)
                ((uint64_t *)work->pages.items)[work->pages.count++] = replay_page(rebuild->replay, i).page;
        return err;
}

static int plan(struct work *work)
{
        struct batches_wanted wanted = { 0 };
        int err = list_pages(work);

        wanted.pages = work->pages.items;
        wanted.count = work->pages.count;
        wanted.moves = replay_moves(work->home->rebuild->replay, &wanted.move_count);
        return err ? err : batches_plan(&work->batches, &wanted);
}

int recover_home_run(const struct recover_home *home, const struct recover_goal *goal)
{
        struct work work = {
                .home = home,
                .goal = goal,
                .limit = double_write_pages_max(home->recovery->area_bytes, home->manifest->page_bytes),
                .progress = { .recovery = home->recovery, .what = "checkpoint", .step = PROGRESS_PAGES },
        };
        int err = plan(&work);

        while (!err && !work.is_last) {
                take_batch(&work);
                err = bring_batch_home(&work);
        }
        batches_free(&work.batches);
        vector_free(&work.pages, sizeof(uint64_t));
        return err;
}
