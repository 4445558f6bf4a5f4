/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * The steps of recover.h, in order. Each leaves the disk in a state from which all of them lead to the same
 * end:
 *
 *      before 4   the old manifest rules: its area and its log are untouched, home is as of its checkpoint
 *      after 4    the new one rules: nothing has been logged since, its area holds all that may not be home
 *
 * The manifest must be certain to be on disk before anything else is written (manifest_read_settled): home
 * may not get ahead of the one that a power cut would bring back, nor may its area be overwritten.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/hook.h"
#include "recovery/area.h"
#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/rebuild.h"
#include "recovery/recover_area.h"

enum { PROGRESS_PAGES = 1024 };

/* On the heap: callers may have small stacks. */
struct recover {
        struct recovery *recovery;
        struct manifest manifest; /* as on disk */
        struct findings findings;
        struct home_files homes;
        struct rebuild rebuild;
};

/* The first damage found is the one that says most. */
static void keep_sentence(void *arg, const char *sentence)
{
        struct recovery *recovery = arg;

        if (!recovery->damage[0])
                strncpy(recovery->damage, sentence, sizeof(recovery->damage) - 1);
}

/* ---- 1. area -> home ---- */

struct restore {
        struct home_files *homes;
        struct progress progress;
        uint64_t done;
        uint64_t total;
};

static int restore_page(void *arg, const struct page_image *image)
{
        struct restore *restore = arg;
        int err = home_files_put(restore->homes, image);

        progress_tell(&restore->progress, ++restore->done, restore->total);
        return err;
}

static int restore_area(struct recover *recover)
{
        struct recovery *recovery = recover->recovery;
        struct restore restore = {
                .homes = &recover->homes,
                .progress = { .recovery = recovery, .what = "restore", .step = PROGRESS_PAGES },
        };
        int err;

        if (recover->manifest.area < 0)
                return 0;
        err = recover_area_check(recovery->directory, &recover->manifest, &recover->homes, &recover->findings,
                                 &restore.total);
        if (!err)
                err = recover_area_read(recovery->directory, &recover->manifest, restore_page, &restore,
                                        &recover->homes, &recover->findings);
        if (!err)
                err = home_files_sync(&recover->homes);
        recovery->restored = restore.done;
        return err;
}

/* ---- 3. pages -> area, 5. pages -> home ---- */

struct images {
        const struct replay *replay;
        struct progress progress;
        uint64_t total;
};

static struct page_image next_image(void *arg, uint64_t i)
{
        struct images *images = arg;

        progress_tell(&images->progress, i + 1, images->total);
        return replay_page(images->replay, i);
}

static int write_area(struct recover *recover, int which, uint32_t *checksum)
{
        const struct recovery *recovery = recover->recovery;
        struct images images = {
                .replay = recover->rebuild.replay,
                .progress = { .recovery = recovery, .what = "checkpoint", .step = PROGRESS_PAGES },
                .total = recovery->pages,
        };
        struct area_id id = recover_area_id(&recover->manifest);
        int err;

        id.sequence = replay_sequence(recover->rebuild.replay);
        err = area_write(recovery->directory, which, &id, recovery->pages, next_image, &images, checksum);
        hook_step(HOOK_AREA_WRITTEN);
        return err;
}

static int write_home(struct recover *recover)
{
        int err = 0;

        for (uint64_t i = 0; !err && i < recover->recovery->pages; i++) {
                struct page_image image = replay_page(recover->rebuild.replay, i);

                err = home_files_put(&recover->homes, &image);
        }
        if (!err)
                err = home_files_sync(&recover->homes);
        hook_step(HOOK_HOME_WRITTEN);
        return err;
}

/* ---- 4. and 6. manifest ---- */

/* The checkpoint that recovery ends with: nothing is logged behind it yet, so it is clean also while its
 * pages are still in the area only. */
static int name_checkpoint(struct recover *recover, int area, uint32_t checksum)
{
        struct manifest *manifest = &recover->manifest;
        int err;

        manifest->base_sequence = replay_sequence(recover->rebuild.replay);
        manifest->base_position = recover->rebuild.end;
        manifest->redo_position = recover->rebuild.end;
        manifest->incarnation++;
        manifest->area = area;
        manifest->area_checksum = checksum;
        manifest->is_clean = 1;
        err = manifest_write(recover->recovery->directory, manifest);
        hook_step(HOOK_MANIFEST_NAMED);
        return err;
}

static int forget_area(struct recover *recover)
{
        if (recover->manifest.area < 0)
                return 0;
        recover->manifest.area = -1;
        recover->manifest.area_checksum = 0;
        return manifest_write(recover->recovery->directory, &recover->manifest);
}

/* ---- All of it ---- */

/* Steps 3 to 5. Without a page that changed there is nothing to keep safe. */
static int checkpoint(struct recover *recover)
{
        int which = recover->manifest.area == 0 ? 1 : 0;
        uint32_t checksum = 0;
        int err = 0;

        if (!recover->recovery->pages)
                return name_checkpoint(recover, -1, 0);
        if (hook_has_bug(HOOK_BUG_REPLAY_AT_HOME))
                err = write_home(recover);
        if (!err)
                err = write_area(recover, which, &checksum);
        if (!err)
                err = name_checkpoint(recover, which, checksum);
        if (!err)
                err = write_home(recover);
        return err;
}

static int recover_steps(struct recover *recover)
{
        struct recovery *recovery = recover->recovery;
        int err = restore_area(recover);

        if (!err && !recover->manifest.is_clean) {
                recover->rebuild = (struct rebuild){ .recovery = recovery,
                                                     .manifest = &recover->manifest,
                                                     .homes = &recover->homes,
                                                     .findings = &recover->findings };
                err = rebuild_run(&recover->rebuild);
                if (!err)
                        err = checkpoint(recover);
                rebuild_close(&recover->rebuild);
        }
        return err ? err : forget_area(recover);
}

int recover_run(struct recovery *recovery, struct manifest *manifest)
{
        struct recover *recover;
        int err;

        findings_begin(recovery);
        if (manifest->is_clean && manifest->area < 0)
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
                err = recover_steps(recover);
                home_files_close(&recover->homes);
        }
        if (!err)
                *manifest = recover->manifest;
        free(recover);
        return err;
}
