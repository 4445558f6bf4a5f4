/* SPDX-License-Identifier: MIT */

/*
 * xac restore: an environment from a full backup and those that continue it (backup/restore.h).
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "backup/restore.h"
#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/interrupt.h"
#include "tools/xac/json.h"
#include "tools/xac/meter.h"
#include "tools/xac/owner.h"
#include "tools/xac/restore_until.h"
#include "tools/xac/tool.h"

const char restore_help[] =
        "Usage: xac restore [--owner=USER[:GROUP]] [--quiet] [--json] BACKUP [INCREMENTAL]... DIR\n"
        "       xac restore --archive=ARCHIVE [--until=MOMENT] [--quiet] BACKUP [INCREMENTAL]... DIR\n"
        "       xac restore --check [--quiet] [--json] BACKUP [INCREMENTAL]...\n"
        "Puts a full backup, and those that continue it ('xac backup --since'), in their order, together to a\n"
        "new environment in the directory DIR, which is not there yet or empty, as of the last of them. Each page is "
        "compared with what was\n"
        "backed up; the environment is there as a whole or not at all. The backups stay as they are.\n"
        "\n"
        "With an archive of the log it is then taken on to a later commit or time (xac help archive).\n"
        "\n"
        "  --archive=ARCHIVE  where the log is kept; goes neither with --check nor with --json\n"
        "  --until=MOMENT     how far; as far as it goes if this is not given\n"
        "  --owner=USER[:GROUP]  whose its files are to be; for root. Without it they are of the owner of the empty\n"
        "           directory DIR that was there, or else of the last backup\n"
        "  --check  reads and compares everything, and writes nothing\n"
        "  --quiet  says nothing unless it fails, or the archive ends before that time\n"
        "  --json   says what was done as JSON, and nothing else\n"
        "  --help   this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, and nothing is left, 2 usage.\n";

struct restore_call {
        struct restore_order order;
        bool is_check;
        bool is_json, is_quiet;
        const char *archive; /* NULL: no further */
        struct moment until;
};

static void print_json(const struct restore_call *call, const struct restore_result *result, double seconds)
{
        struct json json = { .to = stdout };

        json_open(&json, NULL, '{');
        json_text(&json, "destination", call->order.destination);
        json_number(&json, "sequence", result->sequence);
        json_number(&json, "files", result->files);
        json_number(&json, "pages", result->pages);
        json_number(&json, "bytes", result->byte_len);
        json_number(&json, "milliseconds", (uint64_t)(seconds * 1000));
        json_close(&json, '}');
        putchar('\n');
}

static void print_report(const struct restore_call *call, const struct restore_result *result, double seconds)
{
        tool_label("sequence");
        say(stdout, "%" PRIu64 "\n", result->sequence);
        tool_label(call->is_check ? "sound" : "restored");
        say(stdout, "%s, in %s: %s\n", tool_count(result->pages, "page", "pages"),
            tool_count(result->files, "file", "files"), tool_bytes(result->byte_len));
        tool_label("took");
        say(stdout, "%.2f s\n", seconds);
}

/* ---- Further, by an archive ---- */

/* Where the archive goes on from is in the last backup. */
static enum tool_exit begin_further(const struct restore_call *call, struct restore_further *further)
{
        static struct backup_index index;
        struct trouble trouble = { "" };
        struct restore_until *restore = &further->restore;

        *further = (struct restore_further){ .path = call->order.destination,
                                             .archive = call->archive,
                                             .moment = &call->until,
                                             .is_quiet = call->is_quiet };
        if (backup_index_load(&index, call->order.backups[call->order.count - 1], &trouble)) {
                tool_complain("%s", trouble.text);
                return TOOL_FAILED;
        }
        memcpy(restore->uuid, index.source, sizeof(restore->uuid));
        restore->base = index.sequence;
        restore->base_ns = (index.time + 1) * UINT64_C(1000000000);
        restore->history = index.manifest.session.history;
        restore->session_ns = index.manifest.session.time_ns;
        backup_index_free(&index);
        return TOOL_DONE;
}

/* It complains by itself. */
static int go_further(void *further_, int directory)
{
        struct restore_further *further = further_;

        further->restore.directory = directory;
        return restore_further_run(further) == TOOL_DONE ? interrupt_check() : -ECANCELED;
}

/* ---- All of it ---- */

static void report(const struct restore_call *call, const struct restore_result *result, double seconds)
{
        if (call->is_json)
                print_json(call, result, seconds);
        else if (!call->is_quiet)
                print_report(call, result, seconds);
}

static enum tool_exit restore(const struct restore_call *call)
{
        static struct restore_further further;
        struct restore_result result;
        struct trouble trouble = { "" };
        struct meter meter;
        struct restore_order order = call->order;
        const uint64_t begun_ns = sys_monotonic_ns();
        int err;

        if (call->archive) {
                if (begin_further(call, &further) != TOOL_DONE)
                        return TOOL_FAILED;
                order.go_on = go_further;
                order.go_on_arg = &further;
        }
        interrupt_catch();
        meter_begin(&meter, call->is_quiet || call->is_json);
        order.progress = (struct backup_progress){ meter_go_on, &meter };
        err = restore_run(&order, &result, &trouble);
        meter_end(&meter);
        if (err) {
                if (interrupt_check())
                        tool_complain("interrupted; nothing is left of what was restored");
                else if (err != -ECANCELED)
                        tool_complain("%s", trouble.text);
                interrupt_follow();
                return TOOL_FAILED;
        }
        report(call, &result, (double)(sys_monotonic_ns() - begun_ns) / 1e9);
        if (call->archive && !call->is_quiet)
                restore_further_report(&further);
        if (call->archive)
                restore_further_warn(&further);
        return TOOL_DONE;
}

/* The backups, and where they are to go. */
static bool take_operands(int argc, char **argv, struct restore_call *call)
{
        const int operands = argc - optind;
        const int backups = call->is_check ? operands : operands - 1;

        if (backups < 1) {
                tool_complain(call->is_check ? "a full backup, please, and those that continue it"
                                             : "a full backup, please, those that continue it, and a new directory");
                return false;
        }
        call->order.backups = (const char *const *)argv + optind;
        call->order.count = (uint32_t)backups;
        call->order.destination = call->is_check ? NULL : argv[argc - 1];
        return true;
}

/* False, after a complaint or without one. */
static bool take_option(int option, struct restore_call *call)
{
        switch (option) {
        case 'c':
                call->is_check = true;
                return true;
        case 'j':
                call->is_json = true;
                return true;
        case 'q':
                call->is_quiet = true;
                return true;
        case 'a':
                call->archive = optarg;
                return true;
        case 'o':
                return owner_parse(optarg, &call->order.owner);
        case 'u':
                return moment_parse(optarg, "--until", &call->until);
        default:
                return false;
        }
}

static bool is_sensible(const struct restore_call *call)
{
        if (call->is_check && call->order.owner.is_given) {
                tool_complain("--owner is for what is written: not with --check");
                return false;
        }
        if (!call->archive && call->until.kind == RESTORE_NEWEST)
                return true;
        if (!call->archive)
                tool_complain("--until needs an --archive");
        else if (call->is_check || call->is_json)
                tool_complain("--archive goes neither with --check nor with --json");
        else
                return true;
        return false;
}

enum tool_exit restore_main(int argc, char **argv)
{
        static const struct option known[] = {
                { "check", no_argument, NULL, 'c' },         { "json", no_argument, NULL, 'j' },
                { "archive", required_argument, NULL, 'a' }, { "until", required_argument, NULL, 'u' },
                { "owner", required_argument, NULL, 'o' },   { "quiet", no_argument, NULL, 'q' },
                { "help", no_argument, NULL, 'h' },          { 0 }
        };
        struct restore_call call = { 0 };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(restore_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(option, &call))
                        return tool_usage("restore");
        }
        if (!is_sensible(&call) || !take_operands(argc, argv, &call))
                return tool_usage("restore");
        return restore(&call);
}
