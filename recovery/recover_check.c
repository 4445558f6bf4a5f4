/* SPDX-License-Identifier: MIT */
#include "recovery/recover.h"

/*
 * The same look at area, log and files that recovery takes, but nothing is written and it goes on after
 * damage where there is something left to look at: each thing that is wrong is reported once.
 */

#include <errno.h>
#include <stdlib.h>

#include <xac/xac.h>

#include "recovery/findings.h"
#include "recovery/home_files.h"
#include "recovery/rebuild.h"
#include "recovery/recover_area.h"

struct check {
        struct recovery *recovery;
        const struct manifest *manifest;
        struct findings findings;
        struct home_files homes;
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

static int check_area(struct check *check)
{
        if (check->manifest->area < 0)
                return 0;
        return unless_damage(recover_area_check(check->recovery->directory, check->manifest, &check->homes,
                                                &check->findings, &check->recovery->restored));
}

static int check_log(struct check *check)
{
        struct rebuild rebuild = {
                .recovery = check->recovery,
                .manifest = check->manifest,
                .homes = &check->homes,
                .findings = &check->findings,
        };
        int err;

        if (check->manifest->is_clean)
                return 0; /* nobody will read it again */
        err = rebuild_run(&rebuild);
        rebuild_close(&rebuild);
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
        err = check_area(check);
        if (!err)
                err = check_log(check);
        if (!err && check->findings.count)
                err = XAC_CORRUPT;
        home_files_close(&check->homes);
fail_open:
        free(check);
        return err;
}
