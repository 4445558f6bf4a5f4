/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/operator/operator_place.h"
#include "tests/operator/operator_session.h"
#include "tests/support/check.h"

/* ---- What is known not to be noticed ---- */

/*
 * docs/NEXT.md, "The files of one moment": "Nothing says how long the log was. If somebody cuts its end off, recovery
 * takes the commits in it for ones that were never made." docs/models/seal.py: "... or it is an earlier one of the same
 * session". Then any earlier commit may be the newest. The log is too short, too, for a manifest of another moment.
 *
 * recovery/log_format.h, R11: where no valid record is, "that is damage only if a valid record further on has `durable`
 * beyond that place; else it is the torn tail of the last group". Bits that rot there cost that group.
 */
static uint32_t least_with_this_log(const struct round *round, const struct moment *origin)
{
        uint32_t least = origin->least;
        const struct session_commit *commit = round->pool->record->commit;

        if (round->is_given_up || round->harm.is_log_shortened || origin != round->moment)
                return 0;
        if (!(round->harm.parts & HARM_LOG))
                return least;
        for (int groups = 0; groups < 2 && least > 0; groups++) {
                const uint64_t group_ns = commit[least].durable_ns;

                while (least > 0 && commit[least].durable_ns == group_ns)
                        least--;
        }
        return least;
}

/*
 * man/xac.1, restore: "If the archive ends before a time that was asked for, a line on standard error says so: it may
 * lack commits." How long an archive was nobody knows, either: what it has is restored. Files may have been taken from
 * it; and an environment that was harmed, or set back, may have gone on with other log than it has.
 */
uint32_t judge_least_archived(const struct round *round, uint32_t least)
{
        return judge_is_archive_in_doubt(round) ? round->full->commit : least;
}

bool judge_is_archive_in_doubt(const struct round *round)
{
        return round->harm.parts & (HARM_STORE | HARM_ARCHIVE) || harm_is_disturbed(&round->harm) ||
               round->was_killed || round->is_forced || round->is_taken || round->is_given_up;
}

/* ---- Which commits it may be as of ---- */

bool judge_is_mixed(const struct round *round)
{
        const unsigned mixes = 1U << HARM_CP | 1U << HARM_RSYNC | 1U << HARM_TAR | 1U << HARM_OLDER | 1U << HARM_BACK;

        return round->harm.kinds & mixes;
}

/* To be seen by length and time? */
static bool is_as_it_was(const struct image_file *one, const struct image_file *other)
{
        return one && other && one->byte_len == other->byte_len && one->changed.tv_sec == other->changed.tv_sec &&
               one->changed.tv_nsec == other->changed.tv_nsec;
}

/* Have they a slot in common? The other one may be harmed, or was not copied. */
static bool is_manifest_of(const struct image_file *manifest, const struct image_file *theirs)
{
        enum { SLOT = 32768 };

        for (size_t at = 0; manifest && theirs && at < 2 * (size_t)SLOT; at += SLOT)
                for (size_t other = 0; other < 2 * (size_t)SLOT; other += SLOT)
                        if (at + SLOT <= manifest->byte_len && other + SLOT <= theirs->byte_len &&
                            memcmp(manifest->bytes + at, theirs->bytes + other, SLOT) == 0)
                                return true;
        return false;
}

void judge_begin(struct round *round)
{
        static struct image now;
        const struct image_file *mine = image_find(&round->moment->store, "xac.manifest");
        const struct image_file *manifest;
        bool is_any = false;

        check(image_load(&now, here.store));
        manifest = image_find(&now, "xac.manifest");
        for (uint32_t i = 0; i < round->pool->moments; i++) {
                const struct image_file *theirs = image_find(&round->pool->moment[i].store, "xac.manifest");

                /* A session that goes on writes no manifest: several moments may have the same. */
                round->has_origin[i] = judge_is_mixed(round) && is_manifest_of(manifest, theirs);
                is_any |= round->has_origin[i];
        }
        /* Who goes on with shared memory goes on from what that has. */
        if (!is_any || image_is_same(manifest, mine) || round->has_memory)
                round->has_origin[round->moment - round->pool->moment] = true;
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                round->to_be_seen |= (unsigned)!is_as_it_was(image_find(&now, history_file[file]),
                                                             image_find(&round->moment->store, history_file[file]))
                                     << file;
        round->harmed = &now;
}

/*
 * The same two places: the log ends where the records of its session do. In log of a later moment there are more of
 * them.
 *
 * docs/NEXT.md, "The files of one moment": "Sessions that begin with the same state have the same number." The session
 * of a program that went on from an old moment is like the next one of the pool, whose log it may get.
 */
static uint32_t most_with_this_log(const struct round *round, const struct moment *origin)
{
        const struct moment *log_end = round->harm.log_end;
        const bool is_other_future = round->is_on && origin == round->moment && log_end;
        const uint32_t last = round->pool->last[is_other_future ? log_end->session : origin->session];

        if (is_other_future)
                return last > origin->most ? last : origin->most;

        /* Its own may be the later one, too. */
        return (round->harm.log_end > origin || round->moment > origin) && last > origin->most ? last : origin->most;
}

bool judge_may_be(struct round *round, int commit)
{
        for (uint32_t i = 0; i < round->pool->moments; i++) {
                const struct moment *moment = &round->pool->moment[i];

                if (!round->has_origin[i] || commit < 0 || (uint32_t)commit > most_with_this_log(round, moment))
                        continue;
                if ((uint32_t)commit >= moment->least && (uint32_t)commit <= moment->most)
                        return true;
                if ((!moment->is_closed || round->is_given_up) &&
                    (uint32_t)commit >= least_with_this_log(round, moment)) {
                        atomic_fetch_add(&round->tally->exceptions, 1);
                        return true;
                }
        }
        return false;
}

/*
 * docs/NEXT.md, "The files of one moment": "A file that grew since the last checkpoint, and its checksums, both of an
 * earlier moment, lack what it grew by". "So does a file that is cut, and whose note is harmed, where no page had been
 * written."
 */
bool judge_may_be_shorter(const struct round *round)
{
        const bool is_note_harmed = round->harm.parts & HARM_CHECKSUMS && round->harm.kinds & 1U << HARM_CUT;
        bool is_any_open = false;

        for (uint32_t i = 0; i < round->pool->moments; i++)
                is_any_open |= round->has_origin[i] && !round->pool->moment[i].is_closed;
        return (is_any_open && judge_is_mixed(round)) || is_note_harmed || round->is_given_up;
}

static bool is_shorter_than(const struct moment *moment, const struct history_content *content)
{
        for (unsigned file = 0; file < HISTORY_FILES; file++)
                if ((content->byte_len[file] + HISTORY_PAGE - 1) / HISTORY_PAGE < moment->pages[file])
                        return true;
        return false;
}

/* Than in any moment that it may be of. */
static bool is_shorter(const struct round *round, const struct history_content *content)
{
        for (uint32_t i = 0; i < round->pool->moments; i++)
                if (round->has_origin[i] && !is_shorter_than(&round->pool->moment[i], content))
                        return false;
        return true;
}

int judge_find(const struct round *round, const char *directory, char *where, size_t where_len, bool *is_short)
{
        struct history_content content;

        history_read(directory, &content);
        const int n = history_find(&round->pool->history, &content, where, where_len);
        *is_short = is_shorter(round, &content);
        history_forget(&content);
        return n;
}

/* ---- Failures ---- */

static int fault_of(const struct round *round, const char *tool, const char *rule)
{
        const struct harm *harm = &round->harm;
        const unsigned mixes = 1U << HARM_CP | 1U << HARM_RSYNC | 1U << HARM_TAR | 1U << HARM_OLDER;

        if (strcmp(tool, "check a backup") == 0)
                return 0;
        if (strstr(rule, "gap"))
                return 1;
        if (strstr(rule, "time"))
                return 6;
        if (harm->kinds & 1U << HARM_ZERO_BOTH || (harm->parts & HARM_CHECKSUMS && !(harm->kinds & mixes)))
                return 3;
        if (harm->kinds & mixes)
                return 2;
        if (harm->kinds & 1U << HARM_REMOVE && harm->parts & HARM_DATA)
                return 3;
        if (!round->moment->is_closed && harm->kinds & 1U << HARM_CUT && harm->parts & HARM_DATA)
                return 5;
        return !round->moment->is_closed && harm->parts & HARM_DOUBLE_WRITE ? 4 : 0;
}

static void tell_failure(const struct round *round, const char *name, const char *detail)
{
        const struct moment *moment = round->moment;

        printf("FAILED round %" PRIu64 ": %s%s%s\n", round->number, name, detail[0] ? ": " : "", detail);
        printf("   moment %d: %s, commits %u to %u, session %u; backups of commits %d, %d\n",
               (int)(moment - round->pool->moment), moment->is_closed ? "closed" : "not closed", moment->least,
               moment->most, moment->session, round->full ? (int)round->full->commit : -1,
               round->next ? (int)round->next->commit : -1);
        printf("   harms: %s\n   tools: %s\n   said: %s\n   replay: %s --round %" PRIu64 "\n", round->harm.what,
               round->told, round->run.said, round->seeds, round->number);
}

/* As the first tool found it. */
static void keep_harmed(const struct round *round)
{
        char path[4096];

        snprintf(path, sizeof(path), "%s/round-%" PRIu64, round->keep, round->number);
        if (mkdir(path, 0700))
                return;
        snprintf(path, sizeof(path), "%s/round-%" PRIu64 "/store", round->keep, round->number);
        image_store(round->harmed, path);
        snprintf(path, sizeof(path), "%s/round-%" PRIu64 "/archive", round->keep, round->number);
        image_store(&round->moment->archive, path);
        snprintf(path, sizeof(path), "%s/round-%" PRIu64 "/full", round->keep, round->number);
        if (round->full)
                image_store(&round->full->image, path);
}

void judge_fail(struct round *round, const char *tool, const char *rule, const char *detail)
{
        char name[TALLY_CLASS];
        const int fault = fault_of(round, tool, rule);
        const char *state = round->moment->is_closed ? "closed" : "not closed";

        if (fault)
                snprintf(name, sizeof(name), "%s: %s [%s, fault %d]", tool, rule, state, fault);
        else
                snprintf(name, sizeof(name), "%s: %s [%s%s]", tool, rule, state,
                         (round->moment->is_closed || strcmp(tool, "check a backup") == 0) &&
                                         round->harm.seen & (HARM_DATA | HARM_BACKUPS)
                                 ? ", changed by others"
                                 : "");
        const uint64_t count = tally_failure(round->tally, name, round->number);
        round->has_failed = true;
        if (count == 1 && round->keep)
                keep_harmed(round);
        if (count <= 2 || round->is_verbose)
                tell_failure(round, name, detail);
}

/* ---- Verdicts ---- */

bool judge_is_store_harmed(const struct round *round)
{
        return round->harm.parts & HARM_STORE || harm_is_disturbed(&round->harm) || round->was_killed;
}

bool judge_verdict(struct round *round, const char *tool, bool is_harmed, bool may_be_unknown)
{
        struct tools_run *run = &round->run;
        char detail[64];

        tally_verdict(round->tally, tool, run->is_killed ? TALLY_KILLED : run->status < 0 ? TALLY_SIGNAL : run->status);
        if (run->is_killed)
                return false;
        snprintf(detail, sizeof(detail), "signal %d, status %d", run->signal, run->status);
        if (run->hung)
                judge_fail(round, tool, "hangs", detail);
        else if (run->status < 0 || run->status > TOOLS_UNKNOWN || run->status == TOOLS_USAGE)
                judge_fail(round, tool, "ended by a signal, or with a strange status", detail);
        else if (run->status == TOOLS_FAILED && run->said_len == 0)
                judge_fail(round, tool, "failed without a word", detail);
        else if (run->status == TOOLS_IN_USE && !round->was_killed && !round->has_memory)
                judge_fail(round, tool, "in use by nobody", detail);
        else if (run->status == TOOLS_UNKNOWN && !may_be_unknown)
                judge_fail(round, tool, "the third verdict where nobody changed anything", detail);
        else if (run->status == TOOLS_FAILED && !is_harmed)
                judge_fail(round, tool, "alarm", detail);
        return !round->has_failed;
}

/* ---- Content ---- */

static void judge_found(struct round *round, const char *tool, int commit, bool is_short, const char *where)
{
        char detail[192];

        snprintf(detail, sizeof(detail), "as of commit %d", commit);
        if (commit < 0)
                judge_fail(round, tool, "sound, over content of no moment", where);
        else if (!judge_may_be(round, commit))
                judge_fail(round, tool, "sound, over content of another moment", detail);
        else if (is_short && judge_may_be_shorter(round))
                atomic_fetch_add(&round->tally->exceptions, 1);
        else if (is_short)
                judge_fail(round, tool, "sound, over a file that is too short", detail);
}

void judge_files(struct round *round, const char *tool, const char *directory)
{
        char where[128];
        bool is_short;
        const int commit = judge_find(round, directory, where, sizeof(where), &is_short);

        judge_found(round, tool, commit, is_short && directory == here.store, where);
}

void judge_commit(struct round *round, const char *tool, const char *directory, uint32_t least, uint32_t most)
{
        char where[128], detail[192];
        bool is_short;
        const int commit = judge_find(round, directory, where, sizeof(where), &is_short);

        snprintf(detail, sizeof(detail), "commit %d, expected %u to %u (%s)", commit, least, most,
                 commit < 0 ? where : "");
        if (commit < 0)
                judge_fail(round, tool, "done, with content of no moment", detail);
        else if ((uint32_t)commit < least || (uint32_t)commit > most)
                judge_fail(round, tool, "done, with content of another moment", detail);
}

void judge_environment(struct round *round, const char *tool, bool must_open)
{
        const struct session open = { .history = &round->pool->history,
                                      .record = round->pool->record,
                                      .store = here.probe };
        static struct image copy;
        const size_t mark = image_mark();
        char line[512], where[128];
        bool is_short;
        int code;

        check(image_load(&copy, here.store));
        check_equal(image_store(&copy, here.probe), 0);
        image_forget(mark);
        const int status = session_run(&open, &code, line, sizeof(line));
        if (status > 1) {
                judge_fail(round, "open", "ended by a signal, or an assertion", line);
        } else if (status == 1) {
                snprintf(where, sizeof(where), "%d", code);
                if (must_open)
                        judge_fail(round, tool, "sound, and an open is refused", where);
        } else {
                const int commit = judge_find(round, here.probe, where, sizeof(where), &is_short);

                judge_found(round, tool, commit, is_short, where);
        }
        image_clear(here.probe);
}
