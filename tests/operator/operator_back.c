/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_back.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/operator/operator_judge.h"
#include "tests/operator/operator_place.h"
#include "tests/operator/operator_use.h"

enum { OPTION = 4200 };

/* ---- Restores, and the archive ---- */

/* A session that was killed early has left nothing there, or a file that was being made. */
static bool is_any_archived(const struct round *round)
{
        return round->moment->is_closed || !tools_said(&round->run, "holds no archive");
}

/* The commits that a restore may come to. */
struct aim {
        char until[128];
        uint32_t least, most;
        bool is_by_time;
};

static uint32_t newest_archived(const struct round *round)
{
        return round->moment->is_closed ? round->moment->least : 0;
}

/* As of a time between two commits, or now: a commit is not later if its own clock said so. */
static void aim_at_time(const struct round *round, struct aim *aim, struct chance *chance)
{
        const struct session_commit *commit = round->pool->record->commit;
        const uint32_t near = round->full->commit + (uint32_t)chance_below(chance, aim->most - round->full->commit + 1);
        const uint64_t until_ns = commit[near].durable_ns + 1;

        snprintf(aim->until, sizeof(aim->until), "--until=@%" PRIu64 ".%09" PRIu64, until_ns / 1000000000u,
                 until_ns % 1000000000u);
        aim->is_by_time = true;
        for (uint32_t k = aim->most; k > aim->least; k--)
                if (commit[k].durable_ns < until_ns) {
                        aim->least = k;
                        break;
                }
        while (aim->most > aim->least && commit[aim->most].begun_ns > until_ns)
                aim->most--;
}

static bool is_exchanged(const struct round *round)
{
        return round->harm.parts & HARM_MANIFEST || round->harm.is_log_shortened;
}

static struct aim draw_aim(const struct round *round, struct chance *chance)
{
        const struct moment *moment = round->moment;
        /* An environment that was exchanged for a later one may have gone on into the archive. */
        struct aim aim = { .least = newest_archived(round),
                           .most = is_exchanged(round) ? HISTORY_COMMITS : moment->most };
        const bool is_certain = moment->is_closed && moment->most > round->full->commit && !is_exchanged(round);

        if (is_certain && chance_percent(chance, 40)) {
                const uint32_t k =
                        round->full->commit + 1 + (uint32_t)chance_below(chance, aim.most - round->full->commit);

                snprintf(aim.until, sizeof(aim.until), "--until=%" PRIu64, round->pool->record->commit[k].sequence);
                aim.least = aim.most = k;
        } else if (is_certain && round->pool->record->commit[moment->most].durable_ns != UINT64_MAX &&
                   chance_percent(chance, 50)) {
                aim.least = round->full->commit;
                aim_at_time(round, &aim, chance);
        }
        if (aim.least < round->full->commit)
                aim.least = round->full->commit;
        if (aim.most < aim.least)
                aim.most = aim.least;
        return aim;
}

static void judge_restored(struct round *round, const struct aim *aim)
{
        const uint32_t least = aim->until[0] && !aim->is_by_time ? aim->least : judge_least_archived(round, aim->least);
        char where[128], detail[160];
        bool is_short;
        const int commit = judge_find(round, here.made, where, sizeof(where), &is_short);

        snprintf(detail, sizeof(detail), "commit %d, expected %u to %u%s", commit, least, aim->most,
                 round->pool->is_ahead ? ", a clock was ahead" : "");
        if (commit < 0)
                judge_fail(round, "restore --archive", "done, with content of no moment", where);
        else if ((uint32_t)commit < least || (uint32_t)commit > aim->most)
                judge_fail(round, "restore --archive",
                           aim->is_by_time ? "another commit than that of the time"
                                           : "done, with content of another moment",
                           detail);
}

bool back_by_archive(struct round *round)
{
        struct chance *chance = &round->chance;
        char archive[OPTION];

        if (!round->full)
                return false;
        const struct aim aim = draw_aim(round, chance);
        const unsigned parts = round->harm.parts & (HARM_FULL_BACKUP | HARM_ARCHIVE);
        const bool is_harmed = parts || judge_is_archive_in_doubt(round) || aim.until[0];

        snprintf(archive, sizeof(archive), "--archive=%s", here.archive);
        use_remove_made();
        use_run(round,
                aim.until[0] ? tools_args("restore", archive, aim.until, here.full, here.made)
                             : tools_args("restore", archive, here.full, here.made),
                false);
        if (aim.is_by_time && round->pool->is_ahead) {
                round->harm.of_kind[HARM_CLOCK]++;
                round->harm.count++;
        }
        if (judge_verdict(round, "restore --archive", is_harmed || !is_any_archived(round), parts) &&
            use_is_done(round))
                judge_restored(round, &aim);
        return true;
}

/* What has been checked is what is restored then. */
static void restore_checked(struct round *round, bool has_next, uint32_t commit)
{
        image_clear(here.probe);
        rmdir(here.probe);
        use_run(round,
                tools_args("restore", here.full, has_next ? here.next : here.probe, has_next ? here.probe : NULL),
                false);
        if (judge_verdict(round, "restore", false, false) && use_is_done(round))
                judge_commit(round, "restore --check", here.probe, commit, commit);
}

bool back_restore(struct round *round)
{
        const bool has_next = round->next && chance_percent(&round->chance, 60);
        const bool is_check = chance_percent(&round->chance, 40);
        const char *const tool = is_check ? "restore --check" : "restore";
        const char *args[TOOLS_ARGS] = { "restore" };
        int count = 1;

        if (!round->full)
                return false;
        const uint32_t commit = has_next ? round->next->commit : round->full->commit;
        const unsigned parts = round->harm.parts & (has_next ? HARM_BACKUPS : HARM_FULL_BACKUP);

        if (is_check)
                args[count++] = "--check";
        args[count++] = here.full;
        if (has_next)
                args[count++] = here.next;
        if (!is_check)
                args[count++] = here.made;
        use_remove_made();
        use_run(round, args, !is_check);
        if (!judge_verdict(round, tool, parts || harm_is_disturbed(&round->harm), parts) || !use_is_done(round))
                return true;
        if (is_check)
                restore_checked(round, has_next, commit);
        else
                judge_commit(round, tool, here.made, commit, commit);
        return true;
}

bool back_look(struct round *round)
{
        const char *const way[] = { "--list", "--check" };
        const bool is_harmed = judge_is_archive_in_doubt(round);

        use_run(round, tools_args("archive", way[chance_below(&round->chance, 2)], here.archive), false);
        judge_verdict(round, "archive --check", is_harmed || !is_any_archived(round), false);
        return true;
}

bool back_keep(struct round *round)
{
        use_run(round, tools_args("archive", here.store, here.archive), true);
        use_judge(round, "archive", judge_is_store_harmed(round) || round->harm.parts & HARM_ARCHIVE);
        return true;
}

/* ---- Gaps ---- */

/* A program goes on where all is there again: the commit that it finds, or -1. */
static int go_on(struct round *round)
{
        const struct session open = { .history = &round->pool->history,
                                      .record = round->pool->record,
                                      .store = here.store,
                                      .archive = here.archive };
        char line[512], where[128] = "";
        bool is_short;
        int code, commit = -1;
        const int status = session_run(&open, &code, line, sizeof(line));

        snprintf(round->run.command, sizeof(round->run.command), "a program when all is there again (%d, %d)", status,
                 code);
        use_note(round, status ? "1" : "0");
        if (status)
                judge_fail(round, "a program", "is refused when all is there again: a gap", line);
        else if (!judge_may_be(round, commit = judge_find(round, here.store, where, sizeof(where), &is_short)))
                judge_fail(round, "a program", "content of no moment when all is there again", where);
        return round->has_failed ? -1 : commit;
}

void back_look_for_gap(struct round *round)
{
        char archive[OPTION], where[128], detail[192];
        bool is_short;

        harm_heal(&round->harm);
        const int commit = go_on(round);
        if (commit < 0 || !round->full || round->harm.parts & HARM_FULL_BACKUP)
                return;
        snprintf(archive, sizeof(archive), "--archive=%s", here.archive);
        use_remove_made();
        use_run(round, tools_args("restore", archive, here.full, here.made), false);
        if (!judge_verdict(round, "restore --archive", true, false))
                return;
        const int restored = judge_find(round, here.made, where, sizeof(where), &is_short);
        snprintf(detail, sizeof(detail), "the environment is as of commit %d, what is restored of %d", commit,
                 restored);
        if (!use_is_done(round) || restored != commit)
                judge_fail(round, "restore --archive", "a gap in the archive", detail);
}
