/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_look.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/operator/operator_judge.h"
#include "tests/operator/operator_place.h"
#include "tests/operator/operator_use.h"

enum { OPTION = 4200 };

/* ---- What only looks ---- */

bool look_check(struct round *round)
{
        use_run(round, tools_args("check", here.store), false);
        if (use_judge(round, "check", judge_is_store_harmed(round)) && use_is_known(round))
                judge_environment(round, "check", true);
        return true;
}

bool look_check_backup(struct round *round)
{
        if (!round->full)
                return false;
        use_run(round, tools_args("check", here.full), false);
        if (judge_verdict(round, "check a backup", round->harm.parts & HARM_FULL_BACKUP,
                          round->harm.parts & HARM_FULL_BACKUP) &&
            use_is_done(round))
                judge_commit(round, "check a backup", here.full, round->full->commit, round->full->commit);
        return true;
}

bool look_log(struct round *round)
{
        const bool has_pages = chance_percent(&round->chance, 50);

        use_run(round, tools_args("log", has_pages ? "--pages" : here.store, has_pages ? here.store : NULL), false);
        use_judge(round, "log", judge_is_store_harmed(round));
        return true;
}

bool look_stat(struct round *round)
{
        use_run(round, tools_args("stat", here.store), false);
        use_judge(round, "stat", judge_is_store_harmed(round));
        return true;
}

bool look_clean(struct round *round)
{
        use_run(round, tools_args("clean", here.store), false);
        use_judge(round, "clean", judge_is_store_harmed(round) || round->has_memory);
        return true;
}

/* ---- What opens it ---- */

/* What was wrong is still to be found out, or was said. */
static void judge_after(struct round *round, const char *tool)
{
        char where[128];
        bool is_short;
        const int commit = judge_find(round, here.store, where, sizeof(where), &is_short);

        if (judge_may_be(round, commit) && (!is_short || judge_may_be_shorter(round)))
                return;
        use_run(round, tools_args("check", here.store), false);
        if (round->run.status == TOOLS_DONE)
                judge_fail(round, tool, "what was wrong is sound from then on", where);
}

bool look_scrub(struct round *round)
{
        struct chance *chance = &round->chance;
        const bool is_forced = chance_percent(chance, 5);
        const char *args[TOOLS_ARGS] = { "scrub" };
        int count = 1;

        if (chance_percent(chance, 20))
                args[count++] = chance_percent(chance, 50) ? "--quiet" : "--json";
        if (chance_percent(chance, 10))
                args[count++] = "--rate=500M";
        const bool makes_checksums = chance_percent(chance, 8);
        if (makes_checksums)
                args[count++] = "--sum";
        if (is_forced)
                args[count++] = "--force";
        args[count] = here.store;
        use_run(round, args, true);
        round->is_forced |= is_forced;
        if (use_judge(round, "scrub", judge_is_store_harmed(round) || round->harm.parts & HARM_ARCHIVE)) {
                /* --sum takes what it finds. */
                round->is_taken |= makes_checksums && round->harm.parts;
                if (use_is_known(round))
                        judge_files(round, "scrub", here.store);
        }
        round->is_taken |= makes_checksums && round->harm.parts;
        return true;
}

bool look_recover(struct round *round)
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
        use_run(round, args, true);
        round->is_given_up |= gives_up && (round->run.status == TOOLS_DONE || round->run.is_killed);
        /* man/xac.1: "Checksums that are not those that the manifest was written for are taken as they are". */
        round->is_taken |= round->is_given_up && judge_is_mixed(round);
        if (use_judge(round, "recover", judge_is_store_harmed(round)) && use_is_known(round))
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
        use_run(round, restores, false);
        if (judge_verdict(round, "restore", false, false) && use_is_done(round))
                judge_files(round, "backup --since", here.probe);
        image_clear(here.probe);
        rmdir(here.probe);
}

bool look_backup(struct round *round)
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
        use_remove_made();
        use_run(round, args, true);
        round->is_forced |= is_forced;
        if (use_judge(round, "backup", round->harm.parts || harm_is_disturbed(&round->harm) || round->was_killed) &&
            use_is_known(round)) {
                image_clear(here.probe);
                rmdir(here.probe);
                judge_backup(round, tools_args("restore", here.full, here.made, here.probe), is_full);
        }
        return true;
}

/* Of the file that the sentence names, or of any. */
static bool is_to_be_seen(const struct round *round, const char *sentence)
{
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                if (strstr(sentence, history_file[file]))
                        return round->to_be_seen >> file & 1;
        return round->to_be_seen != 0;
}

/* Was it to be seen by length and time that the data file that is wrong is another one? (What repair has left is
 * damaged, whatever they say.) */
static bool was_to_be_seen(const struct round *round, const char *wrong)
{
        return round->moment->is_closed && is_to_be_seen(round, wrong) && !(round->harm.parts & ~(unsigned)HARM_DATA) &&
               !round->was_killed && !round->was_repaired;
}

bool look_program(struct round *round)
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
        snprintf(round->run.command, sizeof(round->run.command), "a program (%d, %d%s%s)", status, code,
                 line[0] ? ": " : "", line);
        use_note(round, status ? "1" : "0");
        tally_verdict(round->tally, "a program", status > 1 ? TALLY_SIGNAL : status);
        round->run.said[0] = '\0';
        if (status > 1)
                judge_fail(round, "a program", "ended by a signal, or an assertion", line);
        else if (status && !is_harmed)
                judge_fail(round, "a program", "is refused what nobody has harmed", line);
        if (status || round->has_failed || !use_is_known(round))
                return true;
        if (!judge_may_be(round, judge_find(round, here.store, where, sizeof(where), &is_short)) && !line[0] &&
            was_to_be_seen(round, where))
                judge_fail(round, "a program", "takes what others have changed without a word", where);
        else if (line[0])
                round->is_taken = round->harm.parts;
        else
                judge_after(round, "a program");
        return true;
}

/* ---- What changes it ---- */

/* Log and manifest are not its business. */
bool look_repair(struct round *round)
{
        const bool is_dry = chance_percent(&round->chance, 20);
        char from[OPTION];

        if (!round->full)
                return false;
        snprintf(from, sizeof(from), "--from=%s", here.full);
        use_run(round, tools_args("repair", from, is_dry ? "--dry-run" : here.store, is_dry ? here.store : NULL),
                !is_dry);
        round->was_repaired |= !is_dry;
        if (use_judge(round, "repair", judge_is_store_harmed(round) || round->harm.parts & HARM_FULL_BACKUP) &&
            !is_dry && use_is_known(round))
                judge_environment(round, "repair", !(round->harm.parts & (HARM_LOG | HARM_MANIFEST)));
        return true;
}
