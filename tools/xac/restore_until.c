/* SPDX-License-Identifier: MIT */
#include "tools/xac/restore_until.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/meter.h"
#include "tools/xac/place.h"

#define SET_BACK_NS UINT64_C(1000000000) /* worth a word; who keeps a clock right moves it by less */

static enum tool_exit complain_of_range(const char *path, const struct restore_until *restore)
{
        char before[64] = "", after[64] = "";

        if (restore->before)
                snprintf(before, sizeof(before), "; the nearest before is commit %" PRIu64, restore->before);
        if (restore->after)
                snprintf(after, sizeof(after), "; the nearest after is commit %" PRIu64, restore->after);
        tool_complain("%s cannot be taken there: %s%s%s. Nothing was changed", path, restore->damage, before, after);
        return TOOL_FAILED;
}

/* A gap or damage: people want to know how far it goes all the same. */
static void complain_of_damage(const char *archive, const struct restore_until *restore)
{
        const char *why = restore->damage[0] ? restore->damage : "it is damaged";

        if (!restore->before)
                tool_complain("%s: %s", archive, why);
        else if (restore->before == restore->base)
                tool_complain("%s: %s; no commit after %" PRIu64 ", that of the backup, can be reached", archive, why,
                              restore->base);
        else
                tool_complain("%s: %s; --until=%" PRIu64 " goes as far as it goes", archive, why, restore->before);
}

static enum tool_exit complain(const char *path, const char *archive, const struct restore_until *restore, int err)
{
        if (err == -ERANGE)
                return complain_of_range(path, restore);
        if (err == -ENOENT)
                tool_complain("%s holds no archive", archive);
        else if (err == XAC_CORRUPT)
                complain_of_damage(archive, restore);
        else if (err == -EOPNOTSUPP)
                tool_complain("%s is compressed by zstd, which this build does not have", archive);
        else
                tool_complain("%s: %s", path, tool_explain(err));
        return TOOL_FAILED;
}

void restore_further_report(const struct restore_further *further)
{
        const struct restore_until *restore = &further->restore;

        tool_label("sequence");
        say(stdout, "%" PRIu64 "\n", restore->sequence);
        tool_label("time");
        say(stdout, "%s\n", moment_time(restore->time_ns));
        tool_label("replayed");
        say(stdout, "%s, %s changed\n", tool_count(restore->commits, "commit", "commits"),
            tool_count(restore->pages, "page", "pages"));
}

void restore_further_warn(const struct restore_further *further)
{
        const struct restore_until *restore = &further->restore;

        if (restore->set_back_ns >= SET_BACK_NS)
                tool_complain("the clock was set back by up to %" PRIu64 " s, about commit %" PRIu64
                              ": times from before that, and of it, are those of a clock that "
                              "was not right; --until=SEQUENCE is not misled",
                              restore->set_back_ns / 1000000000, restore->set_back);
        if (restore->kind == RESTORE_TIME && restore->is_end)
                tool_complain("%s ends there: if there were commits after %" PRIu64
                              " and up to that time, it does not have them",
                              further->archive, restore->sequence);
}

enum tool_exit restore_further_run(struct restore_further *further)
{
        struct restore_until *restore = &further->restore;
        struct meter meter;
        int err = sys_open(AT_FDCWD, further->archive, O_RDONLY | O_DIRECTORY, 0, &restore->archive);

        if (err) {
                tool_complain("%s: %s", further->archive, tool_explain(err));
                return TOOL_FAILED;
        }
        restore->kind = further->moment->kind;
        restore->target = further->moment->value;
        meter_begin(&meter, further->is_quiet);
        restore->progress = meter_tell;
        /* cppcheck-suppress autoVariables ; nobody calls it later */
        restore->progress_arg = &meter;
        err = restore_until_run(restore);
        meter_end(&meter);
        sys_close(restore->archive);
        return err ? complain(further->path, further->archive, restore, err) : TOOL_DONE;
}

/* Nobody may have it open, and it must have been closed. */
static enum tool_exit hold(struct place *place, struct restore_until *restore)
{
        int err = place->has_lock_file ? place_hold(place) : 0;

        if (err == -EBUSY) {
                tool_complain("%s is in use: an archive is for a copy, or for what was restored from a backup",
                              place->path);
                return TOOL_BUSY;
        }
        if (!err)
                err = restore_until_base(restore, place->directory);
        if (!err)
                return TOOL_DONE;
        if (err == -EBUSY)
                tool_complain("%s was not closed: 'xac recover' it first", place->path);
        else
                tool_complain("%s: %s", place->path, tool_explain(err));
        return TOOL_FAILED;
}

enum tool_exit restore_until_moment(const char *path, const char *archive, const struct moment *moment, bool is_quiet)
{
        static struct place place;
        static struct restore_further further;
        struct stat st;
        enum tool_exit result = place_open_with_manifest(&place, path);

        if (result != TOOL_DONE)
                return result;
        further = (struct restore_further){ .path = path, .archive = archive, .moment = moment, .is_quiet = is_quiet };
        result = hold(&place, &further.restore);
        if (result == TOOL_DONE)
                result = restore_further_run(&further);
        if (result == TOOL_DONE && !is_quiet)
                restore_further_report(&further);
        if (result == TOOL_DONE)
                restore_further_warn(&further);
        else if (sys_stat_at(place.directory, MANIFEST_NAME, &st) == -ENOENT)
                tool_complain("%s is no environment any more: begin again, with another copy", path);
        place_close(&place);
        return result;
}
