/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * The same look at double-write buffer, log and files that recovery takes, but nothing is written and it goes on after
 * damage where there is something left to look at: each thing that is wrong is reported once.
 */

#include <errno.h>
#include <stdlib.h>

#include <xac/xac.h>

#include "recovery/check_checksums.h"
#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/rebuild.h"
#include "recovery/recover_double_write.h"

struct check {
        struct recovery *recovery;
        const struct manifest *manifest;
        struct findings findings;
        struct home_files homes;
        bool is_buffer_damaged;
};

/* A file is made, durably, before the manifest names it; nobody but a user removes one. */
static void check_files(struct check *check)
{
        for (uint32_t i = 0; i < check->homes.count; i++)
                home_files_expect(&check->homes, i);
}

/* Damage is in the findings; only what keeps from looking is an error here. */
static int unless_damage(int err)
{
        return err == XAC_CORRUPT ? 0 : err;
}

static int check_buffer(struct check *check)
{
        if (check->manifest->buffer < 0)
                return 0;
        int err = recover_double_write_check(check->recovery, check->manifest, &check->homes, &check->findings);
        check->is_buffer_damaged = err == XAC_CORRUPT;
        return unless_damage(err);
}

/* Up to that commit; 0: as far as the log goes. */
static int replay(struct check *check, const struct double_write_contents *contents, uint64_t until)
{
        const bool goes_on = until && !contents->is_end;
        struct rebuild rebuild = {
                .recovery = check->recovery,
                .manifest = check->manifest,
                .homes = &check->homes,
                .findings = &check->findings,
                .listed = contents->listed.items,
                .listed_count = contents->listed.count,
                .until = until,
                .goes_on = goes_on ? contents->redo : 0,
        };
        int err = rebuild_run(&rebuild);

        rebuild_close(&rebuild);
        return err;
}

static int check_log(struct check *check)
{
        const struct manifest *manifest = check->manifest;
        struct double_write_contents contents = { 0 };
        int err = 0;

        if (manifest->is_clean) {
                const struct rebuild rebuild = { .recovery = check->recovery,
                                                 .manifest = manifest,
                                                 .findings = &check->findings };

                return unless_damage(rebuild_find_strays(&rebuild));
        }
        if (manifest->target_sequence && !check->is_buffer_damaged)
                err = recover_double_write_contents(check->recovery->directory, manifest, &check->homes,
                                                    &check->findings, &contents);
        /* As recovery does: first up to there, which needs the log up to there (CP5). */
        if (!err && manifest->target_sequence && !check->is_buffer_damaged)
                err = replay(check, &contents, manifest->target_sequence);
        if (!err && !contents.is_end)
                err = replay(check, &contents, 0);
        double_write_contents_free(&contents);
        return unless_damage(err);
}

int recover_check(struct recovery *recovery, const struct manifest *manifest,
                  void (*report)(void *arg, const char *sentence), void *arg)
{
        struct check *check = calloc(1, sizeof(*check));
        int err;

        if (!check)
                return -ENOMEM;
        findings_begin(recovery);
        *check = (struct check){ .recovery = recovery,
                                 .manifest = manifest,
                                 .findings = { .report = report, .arg = arg } };
        err = home_files_open(&check->homes, recovery->directory, manifest, false, &check->findings);
        if (err)
                goto fail_open;
        check_files(check);
        err = check_buffer(check);
        if (!err)
                err = check_log(check);
        if (!err && !recovery->skips_checksums)
                err = check_checksums(recovery, manifest, &check->findings);
        if (!err && check->findings.count)
                err = XAC_CORRUPT;
        home_files_close(&check->homes);
fail_open:
        free(check);
        return err;
}
