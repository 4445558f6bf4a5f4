/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_look.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/operator/operator_judge.h"
#include "tests/operator/operator_place.h"
#include "tests/support/check.h"

enum { OPTION = 4200, KILL_PERCENT = 6, KILL_US = 6000 };

/* ---- Running one ---- */

static void note(struct round *round, const char *ended)
{
        if (round->told_len < sizeof(round->told))
                round->told_len += (size_t)snprintf(round->told + round->told_len, sizeof(round->told) - round->told_len,
                                                    "%s -> %s; ", round->run.command, ended);
}

static void note_status(struct round *round)
{
        char status[32];

        snprintf(status, sizeof(status), round->run.signal ? "signal %d" : "%d",
                 round->run.signal ? round->run.signal : round->run.status);
        note(round, status);
}

static void remove_made(void)
{
        image_clear(here.made);
        rmdir(here.made);
}

/* A process that dies leaves shared memory, until the machine goes down, too. */
static void die(struct round *round)
{
        static struct tools_run clean;

        round->was_killed = true;
        round->harm.kinds |= 1U << HARM_DEATH;
        round->harm.of_kind[HARM_DEATH]++;
        round->harm.count++;
        if (chance_percent(&round->chance, 70))
                tools_run(&clean, tools_args("clean", "--force", here.store), 0);
}

static void run(struct round *round, const char *const *args, bool may_die)
{
        const bool dies = may_die && chance_percent(&round->chance, KILL_PERCENT);

        tools_run(&round->run, args, dies ? 300 + (uint32_t)chance_below(&round->chance, KILL_US) : 0);
        note_status(round);
        if (round->run.is_killed)
                die(round);
}

static bool is_done(const struct round *round)
{
        return round->run.status == TOOLS_DONE && !round->has_failed;
}

/* May it be that others have changed something, or that nobody knows? */
static bool may_be_unknown(const struct round *round)
{
        return round->harm.parts & (HARM_DATA | HARM_SUMS) || (round->harm.parts & HARM_STORE && round->harm.count > 1) ||
               round->was_killed;
}

static bool judge(struct round *round, const char *tool, bool is_harmed)
{
        return judge_verdict(round, tool, is_harmed, may_be_unknown(round)) && is_done(round);
}

/* What somebody took as it was is the content now. */
static bool is_known(const struct round *round)
{
        return !round->is_taken;
}

/* ---- What only looks ---- */

static bool check_store(struct round *round)
{
        run(round, tools_args("check", here.store), false);
        if (judge(round, "check", judge_is_store_harmed(round)) && is_known(round))
                judge_environment(round, "check", true);
        return true;
}

static bool check_backup(struct round *round)
{
        if (!round->full)
                return false;
        run(round, tools_args("check", here.full), false);
        if (judge_verdict(round, "check a backup", round->harm.parts & HARM_FULL_BACKUP,
                          round->harm.parts & HARM_FULL_BACKUP) &&
            is_done(round))
                judge_commit(round, "check a backup", here.full, round->full->commit, round->full->commit);
        return true;
}

static bool print_log(struct round *round)
{
        const bool has_pages = chance_percent(&round->chance, 50);

        run(round, tools_args("log", has_pages ? "--pages" : here.store, has_pages ? here.store : NULL), false);
        judge(round, "log", judge_is_store_harmed(round));
        return true;
}

static bool print_stat(struct round *round)
{
        run(round, tools_args("stat", here.store), false);
        judge(round, "stat", judge_is_store_harmed(round));
        return true;
}

static bool clean(struct round *round)
{
        run(round, tools_args("clean", here.store), false);
        judge(round, "clean", judge_is_store_harmed(round));
        return true;
}

/* ---- What opens it ---- */

/* What was wrong is still to be found out, or was said. */
static void judge_after(struct round *round, const char *tool)
{
        char where[128];
        bool is_short;
        const int commit = judge_find(round, here.store, where, sizeof(where), &is_short);

        if (judge_may_be(round, commit) && !is_short)
                return;
        run(round, tools_args("check", here.store), false);
        if (round->run.status == TOOLS_DONE)
                judge_fail(round, tool, "what was wrong is sound from then on", where);
}

static bool scrub(struct round *round)
{
        struct chance *chance = &round->chance;
        const bool is_forced = chance_percent(chance, 5);
        const char *args[TOOLS_ARGS] = { "scrub" };
        int count = 1;

        if (chance_percent(chance, 20))
                args[count++] = chance_percent(chance, 50) ? "--quiet" : "--json";
        if (chance_percent(chance, 10))
                args[count++] = "--rate=500M";
        const bool makes_sums = chance_percent(chance, 8);
        if (makes_sums)
                args[count++] = "--sum";
        if (is_forced)
                args[count++] = "--force";
        args[count] = here.store;
        run(round, args, true);
        round->is_forced |= is_forced;
        if (judge(round, "scrub", judge_is_store_harmed(round) || round->harm.parts & HARM_ARCHIVE)) {
                /* --sum takes what it finds. */
                round->is_taken |= makes_sums && round->harm.parts;
                if (is_known(round))
                        judge_files(round, "scrub", here.store);
        }
        round->is_taken |= makes_sums && round->harm.parts;
        return true;
}

static bool recover(struct round *round)
{
        struct chance *chance = &round->chance;
        const char *args[TOOLS_ARGS] = { "recover" };
        int count = 1;
        const bool gives_up = round->harm.parts && chance_percent(chance, 15);

        if (gives_up)
                args[count++] = "--give-up-damaged";
        if (chance_percent(chance, 20))
                args[count++] = "--discard";
        args[count] = here.store;
        run(round, args, true);
        round->is_given_up |= gives_up && (round->run.status == TOOLS_DONE || round->run.is_killed);
        if (judge(round, "recover", judge_is_store_harmed(round)) && is_known(round))
                judge_after(round, "recover");
        return true;
}

static void judge_backup(struct round *round, const char *const *restores, bool is_full)
{
        if (is_full) {
                judge_files(round, "backup", here.made);
                return;
        }
        if (round->harm.parts & HARM_FULL_BACKUP)
                return;
        run(round, restores, false);
        if (judge_verdict(round, "restore", false, false) && is_done(round))
                judge_files(round, "backup --since", here.probe);
        image_clear(here.probe);
        rmdir(here.probe);
}

static bool backup(struct round *round)
{
        struct chance *chance = &round->chance;
        const bool is_full = !round->full || chance_percent(chance, 70), is_forced = chance_percent(chance, 5);
        const char *args[TOOLS_ARGS] = { "backup" };
        int count = 1;

        if (!is_full)
                args[count++] = "--since", args[count++] = here.full;
        if (is_forced)
                args[count++] = "--force";
        if (chance_percent(chance, 20))
                args[count++] = chance_percent(chance, 50) ? "--quiet" : "--json";
        args[count++] = here.store;
        args[count] = here.made;
        remove_made();
        run(round, args, true);
        round->is_forced |= is_forced;
        if (judge(round, "backup", round->harm.parts || harm_is_disturbed(&round->harm) || round->was_killed) &&
            is_known(round)) {
                image_clear(here.probe);
                rmdir(here.probe);
                judge_backup(round, tools_args("restore", here.full, here.made, here.probe), is_full);
        }
        return true;
}

/* Was it to be seen by length and time that a data file is another one? (What repair has left is damaged, whatever they say.) */
static bool was_to_be_seen(const struct round *round)
{
        return round->moment->is_closed && round->harm.seen & HARM_DATA &&
               !(round->harm.parts & ~(unsigned)HARM_DATA) && !round->was_killed && !round->was_repaired;
}

static bool program(struct round *round)
{
        const struct session open = { .history = &round->pool->history,
                                      .record = round->pool->record,
                                      .store = here.store,
                                      .archive = here.archive };
        const bool is_harmed = judge_is_store_harmed(round) || round->harm.parts & HARM_ARCHIVE;
        char line[512], where[128];
        bool is_short;
        int code;
        const int status = session_run(&open, &code, line, sizeof(line));

        /* A program that names an empty directory begins an archive there (xac_open(3)). */
        round->is_forced |= round->harm.is_away && round->harm.is_empty;
        snprintf(round->run.command, sizeof(round->run.command), "a program (%d, %d%s%s)", status, code, line[0] ? ": " : "",
                 line);
        note(round, status ? "1" : "0");
        tally_verdict(round->tally, "a program", status > 1 ? TALLY_SIGNAL : status);
        round->run.said[0] = '\0';
        if (status > 1)
                judge_fail(round, "a program", "ended by a signal, or an assertion", line);
        else if (status && !is_harmed)
                judge_fail(round, "a program", "is refused what nobody has harmed", line);
        if (status || round->has_failed || !is_known(round))
                return true;
        if (!judge_may_be(round, judge_find(round, here.store, where, sizeof(where), &is_short)) && !line[0] &&
            was_to_be_seen(round))
                judge_fail(round, "a program", "takes what others have changed without a word", where);
        else if (line[0])
                round->is_taken = round->harm.parts;
        else
                judge_after(round, "a program");
        return true;
}

/* ---- What changes it ---- */

/* Log and manifest are not its business. */
static bool repair(struct round *round)
{
        const bool is_dry = chance_percent(&round->chance, 20);
        char from[OPTION];

        if (!round->full)
                return false;
        snprintf(from, sizeof(from), "--from=%s", here.full);
        run(round, tools_args("repair", from, is_dry ? "--dry-run" : here.store, is_dry ? here.store : NULL), !is_dry);
        round->was_repaired |= !is_dry;
        if (judge(round, "repair", judge_is_store_harmed(round) || round->harm.parts & HARM_FULL_BACKUP) && !is_dry &&
            is_known(round))
                judge_environment(round, "repair", !(round->harm.parts & (HARM_LOG | HARM_MANIFEST)));
        return true;
}

/* ---- Restores, and the archive ---- */

/* The commits that a restore may come to. */
struct aim {
        char until[128];
        uint32_t least, most;
        bool is_whole;    /* the archive has them all */
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
        return round->harm.parts & HARM_MANIFEST;
}

static struct aim draw_aim(const struct round *round, struct chance *chance)
{
        const struct moment *moment = round->moment;
        /* An environment that was exchanged for a later one may have gone on into the archive. */
        struct aim aim = { .least = newest_archived(round), .most = is_exchanged(round) ? HISTORY_COMMITS : moment->most };
        const bool is_certain = moment->is_closed && moment->most > round->full->commit && !is_exchanged(round);

        if (is_certain && chance_percent(chance, 40)) {
                const uint32_t k = round->full->commit + 1 + (uint32_t)chance_below(chance, aim.most - round->full->commit);

                snprintf(aim.until, sizeof(aim.until), "--until=%" PRIu64, round->pool->record->commit[k].sequence);
                aim.least = aim.most = k;
        } else if (is_certain && round->pool->record->commit[moment->most].durable_ns != UINT64_MAX && chance_percent(chance, 50)) {
                aim.least = round->full->commit;
                aim_at_time(round, &aim, chance);
        }
        if (aim.least < round->full->commit)
                aim.least = round->full->commit;
        if (aim.most < aim.least)
                aim.most = aim.least;
        return aim;
}

/* An environment that was harmed, or set back, may have gone on with other log than the archive has. */
static bool is_archive_in_doubt(const struct round *round)
{
        return round->harm.parts & (HARM_STORE | HARM_ARCHIVE) || harm_is_disturbed(&round->harm) || round->was_killed ||
               round->is_forced || round->is_taken || round->is_given_up;
}

static void judge_restored(struct round *round, const struct aim *aim)
{
        uint32_t commit_least = aim->least;
        char where[128], detail[160];
        bool is_short;
        const int commit = judge_find(round, here.made, where, sizeof(where), &is_short);

        /* An archive does not know how long it was. What it has is restored, and a time behind it is said to be. */
        if (is_archive_in_doubt(round) && (!aim->until[0] || aim->is_by_time))
                commit_least = round->full->commit;
        snprintf(detail, sizeof(detail), "commit %d, expected %u to %u%s", commit, commit_least, aim->most,
                 round->pool->is_ahead ? ", a clock was ahead" : "");
        if (commit < 0)
                judge_fail(round, "restore --archive", "done, with content of no moment", where);
        else if ((uint32_t)commit < commit_least || (uint32_t)commit > aim->most)
                judge_fail(round, "restore --archive",
                           aim->is_by_time ? "another commit than that of the time" : "done, with content of another moment",
                           detail);
}

static bool restore_by_archive(struct round *round)
{
        struct chance *chance = &round->chance;
        char archive[OPTION];

        if (!round->full)
                return false;
        const struct aim aim = draw_aim(round, chance);
        const unsigned parts = round->harm.parts & (HARM_FULL_BACKUP | HARM_ARCHIVE);
        const bool is_harmed = parts || is_archive_in_doubt(round) || aim.until[0];

        snprintf(archive, sizeof(archive), "--archive=%s", here.archive);
        remove_made();
        run(round,
            aim.until[0] ? tools_args("restore", archive, aim.until, here.full, here.made)
                         : tools_args("restore", archive, here.full, here.made),
            false);
        if (judge_verdict(round, "restore --archive", is_harmed, parts) && is_done(round))
                judge_restored(round, &aim);
        return true;
}

/* What has been checked is what is restored then. */
static void restore_checked(struct round *round, bool has_next, uint32_t commit)
{
        image_clear(here.probe);
        rmdir(here.probe);
        run(round, tools_args("restore", here.full, has_next ? here.next : here.probe, has_next ? here.probe : NULL), false);
        if (judge_verdict(round, "restore", false, false) && is_done(round))
                judge_commit(round, "restore --check", here.probe, commit, commit);
}

static bool restore(struct round *round)
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
        remove_made();
        run(round, args, !is_check);
        if (!judge_verdict(round, tool, parts || harm_is_disturbed(&round->harm), parts) || !is_done(round))
                return true;
        if (is_check)
                restore_checked(round, has_next, commit);
        else
                judge_commit(round, tool, here.made, commit, commit);
        return true;
}

static bool look_at_archive(struct round *round)
{
        const char *const way[] = { "--list", "--check" };
        const bool is_harmed = is_archive_in_doubt(round) || round->moment->archive.count == 0;

        run(round, tools_args("archive", way[chance_below(&round->chance, 2)], here.archive), false);
        judge_verdict(round, "archive --check", is_harmed, false);
        return true;
}

static bool keep_log(struct round *round)
{
        run(round, tools_args("archive", here.store, here.archive), true);
        judge(round, "archive", judge_is_store_harmed(round) || round->harm.parts & HARM_ARCHIVE);
        return true;
}

/* ---- All of them ---- */

bool look_once(struct round *round)
{
        static bool (*const tools[])(struct round *round) = {
                check_store, check_store, check_store, check_backup,       scrub,   scrub,           recover,  backup,
                backup,      repair,      repair,      restore_by_archive, restore, look_at_archive, keep_log, program,
                print_log,   print_stat,  clean,       restore_by_archive,
        };

        return tools[chance_below(&round->chance, sizeof(tools) / sizeof(tools[0]))](round);
}

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

        snprintf(round->run.command, sizeof(round->run.command), "a program when all is there again (%d, %d)", status, code);
        note(round, status ? "1" : "0");
        if (status)
                judge_fail(round, "a program", "is refused when all is there again: a gap", line);
        else if (!judge_may_be(round, commit = judge_find(round, here.store, where, sizeof(where), &is_short)))
                judge_fail(round, "a program", "content of no moment when all is there again", where);
        return round->has_failed ? -1 : commit;
}

void look_for_gap(struct round *round)
{
        char archive[OPTION], where[128], detail[192];
        bool is_short;

        harm_heal(&round->harm);
        const int commit = go_on(round);
        if (commit < 0 || !round->full || round->harm.parts & HARM_FULL_BACKUP)
                return;
        snprintf(archive, sizeof(archive), "--archive=%s", here.archive);
        remove_made();
        run(round, tools_args("restore", archive, here.full, here.made), false);
        if (!judge_verdict(round, "restore --archive", true, false))
                return;
        const int restored = judge_find(round, here.made, where, sizeof(where), &is_short);
        snprintf(detail, sizeof(detail), "the environment is as of commit %d, what is restored of %d", commit, restored);
        if (!is_done(round) || restored != commit)
                judge_fail(round, "restore --archive", "a gap in the archive", detail);
}
