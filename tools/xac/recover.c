/* SPDX-License-Identifier: MIT */

/*
 * xac recover: recovery as the first open after a crash of the machine does it (recovery/recover.h), when one
 * wants to see it done, or done beforehand. May be ended at any time and run again.
 *
 * It is refused where it would do harm: while somebody uses the environment, and when processes that ended without
 * xac_close left commits in shared memory that may not be in the log; and for root in somebody else's environment,
 * whose owner could not open the files that recovery makes.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "recovery/adopt.h"
#include "recovery/recover.h"
#include "tools/xac/meter.h"
#include "tools/xac/place.h"
#include "tools/xac/remains.h"
#include "tools/xac/tool.h"

const char recover_help[] =
        "Usage: xac recover [OPTION]... DIR\n"
        "Makes the environment whole after a crash of the machine: restores pages from the double-write\n"
        "buffer, replays the log, writes everything home. The next open does the same. May be interrupted\n"
        "and run again. Does nothing to an environment that is clean.\n"
        "\n"
        "  --discard          although processes that ended without xac_close left their commits in shared\n"
        "                     memory: gives it up, as 'xac clean --force' does. Those not yet on disk are lost\n"
        "  --give-up-damaged  if the log is damaged: recovers the commits before the damage. Those behind it\n"
        "                     are lost, though they were durable. If pages are damaged that are nowhere else (in the\n"
        "                     double-write buffer): goes on without them, and names them. They stay damaged. Copy\n"
        "                     the directory before\n"
        "  --force            although root is not its owner\n"
        "  --help             this text\n"
        "\n"
        "Exit status: 0 done, or nothing to do, 1 damaged or failed, 2 usage,\n"
        "3 in use, or the commits are in shared memory: nothing to recover, 4 nothing to do, but files are not\n"
        "as they were closed.\n";

struct recover_options {
        bool is_discarding;
        bool gives_up_damaged;
        bool is_forced;
};

/* ---- May it run? ---- */

static enum tool_exit check_owner(const struct place *place, bool is_forced)
{
        struct stat st;

        if (is_forced || geteuid() != 0 || sys_stat_at(place->directory, MANIFEST_NAME, &st) || st.st_uid == 0)
                return TOOL_DONE;
        tool_complain("%s belongs to user %u, who could not open files that root makes: run 'xac recover' as that "
                      "user, or with --force",
                      place->path, (unsigned)st.st_uid);
        return TOOL_FAILED;
}

static enum tool_exit refuse(const struct place *place, int err)
{
        if (err == -EBUSY) {
                tool_complain("%s is in use ('xac stat' says by whom), or is read at rest: nothing to recover while a "
                              "process has it open",
                              place->path);
                return TOOL_BUSY;
        }
        tool_complain("%s/" PLACE_LOCK_FILE ": %s; recovery writes to the environment", place->path, tool_explain(err));
        return TOOL_FAILED;
}

static enum tool_exit hold(struct place *place)
{
        int err = place_make_lock_file(place);

        if (!err)
                err = place_hold(place);
        if (!err && !place->may_lock)
                err = -EACCES;
        if (err)
                return refuse(place, err);
        /* It may have been recovered, or opened and closed, since it was read. */
        err = manifest_read(place->directory, &place->manifest);
        if (!err)
                return TOOL_DONE;
        tool_complain("%s/" MANIFEST_NAME ": %s", place->path, tool_explain(err));
        return TOOL_FAILED;
}

static enum tool_exit check_remains(struct place *place, bool is_discarding)
{
        if (is_discarding || !remains_are_there(place))
                return TOOL_DONE;
        tool_complain("%s needs no recovery: its processes ended without xac_close (killed, or never closed), and all "
                      "their commits are in shared memory. Open it with a program (xac scrub is one), which goes on "
                      "with them: nothing is "
                      "lost. 'xac recover --discard' would give them up, recover from the log alone, and lose those "
                      "that were not yet on disk.",
                      place->path);
        return TOOL_BUSY;
}

/* ---- The recovery ---- */

static double seconds(uint64_t ns)
{
        return (double)ns / 1e9;
}

static void print_speed(const struct recovery *recovery, const struct meter *meter, uint64_t took_ns)
{
        uint64_t replay_ns = meter_took_ns(meter, "replay");

        tool_label("took");
        say(stdout, "%.2f s", seconds(took_ns));
        if (recovery->log_bytes && replay_ns)
                say(stdout, "; the log %.2f s, %.0f MB/s", seconds(replay_ns),
                    (double)recovery->log_bytes / 1e6 / seconds(replay_ns));
        say(stdout, "\n");
}

/* Kept until the meter has gone. */
struct lost_pages {
        FILE *stream;
        char *lines;
        size_t byte_len;
};

static void keep_lost(void *arg, const char *sentence)
{
        struct lost_pages *lost = arg;

        say(lost->stream, "LOST          %s\n", sentence);
}

static void print_lost(const struct recovery *recovery, struct lost_pages *lost)
{
        fclose(lost->stream);
        fputs(lost->lines, stdout);
        free(lost->lines);
        if (recovery->lost)
                say(stdout,
                    "GIVEN UP      %s, damaged until they are taken from a backup ('xac repair'), or the file is\n"
                    "              taken as it is (touch)\n",
                    tool_count(recovery->lost, "page", "pages"));
}

static void print_done(const struct place *place, const struct recovery *recovery)
{
        tool_label("restored");
        say(stdout, "%s from the double-write buffer\n", tool_count(recovery->restored, "page", "pages"));
        tool_label("replayed");
        say(stdout, "%s, %s changed; %s of log\n", tool_count(recovery->commits, "commit", "commits"),
            tool_count(recovery->pages, "page", "pages"), tool_bytes(recovery->log_bytes));
        if (recovery->has_given_up) {
                tool_label("GIVEN UP");
                say(stdout, "%s\n", recovery->damage);
        }
        if (recovery->has_torn_tail) {
                tool_label("");
                say(stdout, "behind them a torn tail, which was dropped: never acknowledged as durable\n");
        }
        tool_label("sequence");
        say(stdout, "%" PRIu64 ", everything%s is in the data files\n", place->manifest.base_sequence,
            recovery->lost ? " else" : "");
}

static void complain_of_failure(const struct place *place, const struct recovery *recovery, int err)
{
        if (err == XAC_CORRUPT && recovery->is_buffer_damaged)
                tool_complain(
                        "%s is damaged: %s. Trying has lost nothing. Copy the directory before anything else. What "
                        "the double-write buffer has is nowhere else but in a backup: %srestore a backup ('xac "
                        "restore', with an archive up to the newest commit). %s",
                        place->path, recovery->damage,
                        recovery->is_buffer_known
                                ? "'xac repair --from=BACKUP' takes such pages from one that has them as "
                                  "they were; else "
                                : "",
                        recovery->may_give_up ? "'xac recover --give-up-damaged' goes on without these pages, and "
                                                "names them: they stay damaged."
                                              : "--give-up-damaged is of no use here: it gives up pages by name, and "
                                                "log.");
        else if (err == XAC_CORRUPT)
                tool_complain("%s is damaged: %s. Trying has lost nothing. Copy the directory before anything else; "
                              "'xac check' looks for more damage. Where the log is damaged, a backup and an archive "
                              "may have all ('xac restore'); 'xac recover --give-up-damaged' makes do with the "
                              "commits before, and without pages that are damaged.",
                              place->path, recovery->damage[0] ? recovery->damage : "its files do not fit together");
        else if (err == -ENOSPC)
                tool_complain("%s: no space. Nothing is lost: make room on its file system and run it again",
                              place->path);
        else
                tool_complain("%s could not be recovered: %s. Nothing is lost: it may be run again", place->path,
                              tool_explain(err));
}

/* Of what was closed. Whether pages differ, 'xac check' finds out. */
static enum tool_exit do_nothing(const struct place *place)
{
        uint32_t file_no;
        const int err = adopt_find_changed(place->directory, &place->manifest, 0, &file_no);

        say(stdout, "Nothing to do: everything up to sequence %" PRIu64 " is in the data files.\n",
            place->manifest.base_sequence);
        if (err || file_no == place->manifest.file_count)
                return TOOL_DONE;
        tool_complain("%s/%s is not as it was closed: changed by others, or of another moment ('xac check' says "
                      "more)",
                      place->path, place->manifest.file_name[file_no]);
        return TOOL_CHANGED;
}

static enum tool_exit run(struct place *place, bool gives_up_damaged)
{
        struct meter meter;
        struct lost_pages lost = { 0 };
        struct recovery recovery = { .directory = place->directory,
                                     .progress = meter_tell,
                                     .progress_arg = &meter,
                                     .lose = keep_lost,
                                     .lose_arg = &lost,
                                     .gives_up_damaged = gives_up_damaged };
        uint64_t begun_ns = sys_monotonic_ns();
        int err;

        if (place->manifest.is_clean && place->manifest.buffer < 0)
                return do_nothing(place);
        lost.stream = open_memstream(&lost.lines, &lost.byte_len);
        if (!lost.stream) {
                complain_of_failure(place, &recovery, -ENOMEM);
                return TOOL_FAILED;
        }
        meter_begin(&meter, false);
        err = recover_run(&recovery, &place->manifest);
        meter_end(&meter);
        print_lost(&recovery, &lost);
        if (err) {
                complain_of_failure(place, &recovery, err);
                return TOOL_FAILED;
        }
        print_done(place, &recovery);
        if (recovery.files_unknown)
                tool_complain(
                        "%s: %s: some are not what they were, as a power cut may leave them: 'xac check' counts the "
                        "pages",
                        place->path, tool_count(recovery.files_unknown, "file of checksums", "files of checksums"));
        print_speed(&recovery, &meter, sys_monotonic_ns() - begun_ns);
        return recovery.files_unknown ? TOOL_CHANGED : TOOL_DONE;
}

/* ---- Command line ---- */

static enum tool_exit recover_place(const char *path, const struct recover_options *options)
{
        static struct place place;
        enum tool_exit result = place_open_with_manifest(&place, path);

        if (result != TOOL_DONE)
                return result;
        result = check_owner(&place, options->is_forced);
        if (result == TOOL_DONE)
                result = hold(&place);
        if (result == TOOL_DONE)
                result = check_remains(&place, options->is_discarding);
        if (result == TOOL_DONE)
                result = run(&place, options->gives_up_damaged);
        place_close(&place);
        return result;
}

enum tool_exit recover_main(int argc, char **argv)
{
        static const struct option longs[] = { { "discard", no_argument, NULL, 'd' },
                                               { "give-up-damaged", no_argument, NULL, 'g' },
                                               { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        struct recover_options options = { 0 };
        const char *path;
        int option;

        while ((option = tool_next_option(argc, argv, ":h", longs)) != -1) {
                if (option == 'h') {
                        fputs(recover_help, stdout);
                        return TOOL_DONE;
                }
                if (option == '?')
                        return tool_usage("recover");
                if (option == 'd')
                        options.is_discarding = true;
                else if (option == 'g')
                        options.gives_up_damaged = true;
                else
                        options.is_forced = true;
        }
        path = tool_operand(argc, argv, "recover");
        return path ? recover_place(path, &options) : tool_usage("recover");
}
