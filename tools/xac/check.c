/* SPDX-License-Identifier: MIT */

/*
 * xac check: is the environment as recovery needs it? Looks at the manifest's slots, at the names, kinds and
 * permissions of the files, and has recovery/ verify double-write buffer, log and data files. Changes nothing.
 *
 * It says two kinds of things: DAMAGED, after which opening fails or data are lost, and notes: what a crash
 * leaves behind, or what people should know.
 *
 * While it looks it keeps others from opening the environment, if it may: a checkpoint that moved the log
 * under its hands would look like damage.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "recovery/manifest_slot.h"
#include "recovery/recover.h"
#include "tools/xac/check_files.h"
#include "tools/xac/check_json.h"
#include "tools/xac/place.h"
#include "tools/xac/remains.h"
#include "tools/xac/tool.h"

const char check_help[] =
        "Usage: xac check [--force] [--unchanged] [--json] DIR\n"
        "Verifies the environment's manifest, double-write buffer, log and data files, each page by its\n"
        "checksum, and says precisely what is damaged where. Changes nothing. It must not be in use: a log that moves "
        "looks damaged.\n"
        "\n"
        "  --force      check it although it is in use; damage may then be reported that is none\n"
        "  --unchanged  what others have changed while it was closed, and what may have been, is damage\n"
        "  --json       says what it finds as JSON (xac(1) has the fields)\n"
        "  --help       this text\n"
        "\n"
        "Exit status: 0 sound (also if it needs recovery after a crash), 1 damaged, or it could not be\n"
        "checked, 2 usage, 3 in use, 4 neither: files were changed by others while it was closed, or are of\n"
        "another moment, and an open takes them as they are; or a power cut may have harmed some.\n";

enum { SLOTS = 2 };

struct slots {
        unsigned char bytes[SLOTS][MANIFEST_SLOT_BYTES];
        struct manifest manifest[SLOTS];
        enum manifest_slot_state state[SLOTS];
};

/* ---- The manifest ---- */

/* A file that was cut is damage like any other. */
static int read_slot(int fd, int i, struct slots *slots)
{
        int err = sys_read_all(fd, slots->bytes[i], MANIFEST_SLOT_BYTES, (uint64_t)i * MANIFEST_SLOT_BYTES);

        slots->state[i] = err ? SLOT_INVALID : manifest_slot_judge(slots->bytes[i], &slots->manifest[i]);
        return err == -ENODATA ? 0 : err;
}

static int read_slots(const struct place *place, struct slots *slots)
{
        int fd;
        int err = sys_open(place->directory, MANIFEST_NAME, O_RDONLY, 0, &fd);

        if (err)
                return err;
        for (int i = 0; i < SLOTS && !err; i++)
                err = read_slot(fd, i, slots);
        sys_close(fd);
        return err;
}

/* One bad slot is what a crash while it was written leaves; the other one counts. */
static void print_slots(const struct slots *slots, const bool is_valid[SLOTS])
{
        const uint64_t first = slots->manifest[0].generation, second = slots->manifest[1].generation;

        tool_label("manifest");
        if (!is_valid[0] || !is_valid[1])
                say(stdout, "slot %d sound, generation %" PRIu64 "\n", is_valid[1], is_valid[1] ? second : first);
        else if (first == second)
                say(stdout, "both slots sound, generation %" PRIu64 "\n", first);
        else
                say(stdout, "both slots sound, generations %" PRIu64 " and %" PRIu64 "\n", first, second);
}

static void report_slots(const struct slots *slots, bool is_json)
{
        const bool is_valid[SLOTS] = { slots->state[0] == SLOT_VALID, slots->state[1] == SLOT_VALID };

        if (!is_json)
                print_slots(slots, is_valid);
        if (is_valid[0] && is_valid[1]) {
                if (slots->manifest[0].generation != slots->manifest[1].generation)
                        check_note(MANIFEST_NAME
                                   " was being written when the machine or its last process went down; the "
                                   "newer slot counts");
        } else {
                const int good = is_valid[1];

                check_note(MANIFEST_NAME ", slot %d (offset %d) is torn or damaged; the other one counts, and the "
                                         "next write of the manifest puts it right",
                           !good, !good * MANIFEST_SLOT_BYTES);
        }
}

static enum tool_exit check_manifest(struct check *check)
{
        struct place *place = check->place;
        static struct slots slots;
        int err = read_slots(place, &slots);

        if (!err)
                err = manifest_read(place->directory, &place->manifest);
        if (!err) {
                check->has_manifest = true;
                report_slots(&slots, check->is_json);
                return TOOL_DONE;
        }
        if (err == -ENOENT)
                place_complain_of_none(place);
        else if (err == XAC_CORRUPT)
                check_damage(MANIFEST_NAME ": neither slot (offsets 0 and %d) is valid, so nothing is known of the "
                                           "rest; restore the environment from a backup ('xac restore'): a manifest "
                                           "of another time belongs to files of that time",
                             MANIFEST_SLOT_BYTES);
        else if (err == XAC_FORMAT)
                check_damage(MANIFEST_NAME ": made by another version of libxac; use the xac of that version");
        else
                tool_complain("%s/" MANIFEST_NAME ": %s", place->path, tool_explain(err));
        return TOOL_FAILED;
}

/* ---- The rest ---- */

static void report_damage(void *arg, const char *sentence)
{
        (void)arg;
        check_damage("%s", sentence);
}

static void report_log(const struct place *place, const struct recovery *recovery)
{
        tool_label("log");
        if (place->manifest.is_clean) {
                say(stdout, "nothing beyond the checkpoint at sequence %" PRIu64 "\n", place->manifest.base_sequence);
        } else {
                say(stdout, "%s beyond the checkpoint at sequence %" PRIu64 ",\n",
                    tool_count(recovery->commits, "commit", "commits"), place->manifest.base_sequence);
                tool_label("");
                say(stdout, "%s, %s changed\n", tool_bytes(recovery->log_bytes),
                    tool_count(recovery->pages, "page", "pages"));
        }
}

static void report_buffer(const struct place *place)
{
        tool_label("double-write");
        if (place->manifest.buffer < 0)
                say(stdout, "none\n");
        else
                say(stdout, "xac.area.%" PRId32 "\n", place->manifest.buffer);
}

static void report_torn_tail(const struct recovery *recovery)
{
        if (recovery->has_torn_tail)
                check_note("the log has a torn tail: a group of commits was being written when the machine "
                           "or its last process went down; none of them had been acknowledged as durable");
}

static void report_note(void *arg, const char *sentence)
{
        (void)arg;
        check_note("%s", sentence);
}

static void report_checksums(const struct recovery *recovery)
{
        tool_label("checksums");
        if (recovery->skips_checksums) {
                say(stdout, "not compared: pages may be going home ('xac scrub' compares them)\n");
                return;
        }
        say(stdout, "%s compared\n",
            tool_count(recovery->checksums_pages - recovery->checksums_unknown, "page", "pages"));
        if (!recovery->checksums_unknown && !recovery->checksums_missing)
                return;
        tool_label("");
        if (recovery->checksums_missing)
                say(stdout, "%s without any, which an open begins\n",
                    tool_count(recovery->checksums_missing, "file", "files"));
        else
                say(stdout, "%s without one yet: 'xac scrub --sum' makes them\n",
                    tool_count(recovery->checksums_unknown, "page", "pages"));
}

/* What an open would take as it is. */
static enum tool_exit judge_files(const struct recovery *recovery, bool is_strict)
{
        if (!recovery->files_changed && !recovery->files_unknown && !recovery->checksums_unknown)
                return TOOL_DONE;
        if (!is_strict)
                return TOOL_CHANGED;
        check_damage("files were changed by others, or may have been (--unchanged): see the notes");
        return TOOL_FAILED;
}

static void report_rest(const struct check *check)
{
        if (!check->is_json) {
                report_log(check->place, &check->recovery);
                report_checksums(&check->recovery);
        }
        report_torn_tail(&check->recovery);
}

static enum tool_exit check_rest(struct check *check)
{
        struct place *place = check->place;
        struct recovery *recovery = &check->recovery;
        int err = check_files(place);

        *recovery = (struct recovery){ .directory = place->directory,
                                       .note = report_note,
                                       .skips_checksums = place_is_in_use(place) != 0 };
        if (!err)
                err = recover_check(recovery, &place->manifest, report_damage, NULL);
        if (err == -ENOENT && place_is_in_use(place) != 0)
                return TOOL_BUSY;
        if (err && err != XAC_CORRUPT) {
                tool_complain("%s could not be checked: %s", place->path, tool_explain(err));
                return TOOL_FAILED;
        }
        if (!check->is_json)
                report_buffer(place);
        if (check_damage_count())
                return TOOL_FAILED;
        check->has_recovery = true;
        report_rest(check);
        return judge_files(recovery, check->is_strict);
}

/* Files alone do not tell what is next: 'xac recover' is refused where there is shared memory to go on with. */
static const char *what_is_next(const struct place *place, bool has_remains)
{
        if (place_is_in_use(place) != 0)
                return "; in use";
        if (has_remains)
                return "; needs no recovery: the next open goes on with the shared memory";
        if (!place->manifest.is_clean || place->manifest.buffer >= 0)
                return "; needs recovery, which the next open does, or 'xac recover'";
        return "";
}

static void report_result(const struct place *place, enum tool_exit result, bool has_remains)
{
        tool_label("result");
        if (result == TOOL_CHANGED)
                say(stdout,
                    "NOT KNOWN TO BE SOUND: see the notes. Nothing was changed.\n"
                    "Pages without a checksum get one of what they are by 'xac scrub --sum'. If you, or a program "
                    "of yours, have changed files while it was closed, all is well: the\n"
                    "next open takes them as they are. If not, they are of another moment than the rest:\n"
                    "restore the whole directory, or copy it again as a whole.\n");
        else if (result != TOOL_DONE)
                say(stdout,
                    "DAMAGED, in %s. Nothing was changed.\n"
                    "Copy the directory before anything else. An open may stop at the same place, or go on\n"
                    "with what is wrong. 'xac repair' takes files and pages that are not what their checksums\n"
                    "say from a backup. Otherwise restore the whole directory: a file from another moment does\n"
                    "not go with the rest. Where the log is damaged (xac.log.N), or pages in the double-write buffer\n"
                    "(xac.area.N), and no backup with an archive has more, 'xac recover --give-up-damaged' "
                    "recovers\n"
                    "the commits before the damage, and all pages but those, which it names.\n",
                    tool_count(check_damage_count(), "place", "places"));
        else
                say(stdout, "sound%s\n", what_is_next(place, has_remains));
}

/* ---- In use? ---- */

static enum tool_exit begin(struct place *place, bool is_forced)
{
        int err = place_hold_to_look(place);

        if (!err)
                return TOOL_DONE;
        if (err != -EBUSY) {
                tool_complain("%s/" PLACE_LOCK_FILE ": %s", place->path, tool_explain(err));
                return TOOL_FAILED;
        }
        if (!is_forced) {
                tool_complain("%s is in use: check it when it is at rest, or a copy of it taken at rest ('xac "
                              "stat' says who uses it; --force checks all the same)",
                              place->path);
                return TOOL_BUSY;
        }
        check_note("it is in use: its log moves, so that damage may be reported that is none");
        return TOOL_DONE;
}

/* Only where it is in use: a checkpoint recycled the log, or a file of it went away between two looks. */
static bool has_moved_on(const struct place *place, enum tool_exit result)
{
        struct manifest now;

        return result == TOOL_BUSY ||
               (!manifest_read(place->directory, &now) && now.generation != place->manifest.generation);
}

static enum tool_exit check_all(struct check *check)
{
        struct place *place = check->place;
        enum tool_exit result = begin(place, check->is_forced);

        if (result != TOOL_DONE)
                return result;
        result = check_manifest(check);
        if (result != TOOL_DONE)
                return result;
        check->has_remains = place_is_in_use(place) == 0 && remains_are_there(place);
        if (check->has_remains)
                check_note("its processes ended without xac_close (killed, or never closed), and left commits in "
                           "shared memory that may not be in the files; the next open goes on with them");
        result = check_rest(check);
        if (result != TOOL_DONE && has_moved_on(place, result)) {
                tool_complain("%s moved on while it was checked: what was reported may be no damage; run it again",
                              place->path);
                return TOOL_BUSY;
        }
        if (!check->is_json && (result == TOOL_DONE || result == TOOL_CHANGED || check_damage_count()))
                report_result(place, result, check->has_remains);
        return result;
}

static enum tool_exit run(struct check *check)
{
        static struct place place;
        struct json json = { .to = stdout };
        enum tool_exit result;

        if (check->is_json)
                check_json_begin(&json, check);
        result = place_open(&place, check->path);
        if (result == TOOL_DONE) {
                check->place = &place;
                result = check_all(check);
        }
        if (check->is_json)
                check_json_end(&json, check, result);
        if (check->place)
                place_close(&place);
        return result;
}

enum tool_exit check_main(int argc, char **argv)
{
        static const struct option longs[] = { { "force", no_argument, NULL, 'f' },
                                               { "unchanged", no_argument, NULL, 'u' },
                                               { "json", no_argument, NULL, 'j' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        struct check check = { 0 };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", longs)) != -1) {
                if (option == 'h') {
                        fputs(check_help, stdout);
                        return TOOL_DONE;
                }
                if (option == '?')
                        return tool_usage("check");
                check.is_forced |= option == 'f';
                check.is_strict |= option == 'u';
                check.is_json |= option == 'j';
        }
        check.path = tool_operand(argc, argv, "check");
        return check.path ? run(&check) : tool_usage("check");
}
