/* SPDX-License-Identifier: MIT */

/*
 * xac backup: a copy of an environment as of one commit, which may be in use meanwhile. It opens the environment as any
 * program does, and leaves the rest to xac_backup().
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <xac/xac.h>

#include "base/say.h"
#include "base/sys.h"
#include "tools/xac/interrupt.h"
#include "tools/xac/json.h"
#include "tools/xac/meter.h"
#include "tools/xac/opening.h"
#include "tools/xac/tool.h"

const char backup_help[] =
        "Usage: xac backup [OPTION]... DIR DESTINATION\n"
        "Copies the environment DIR, as of one durable commit, into the new directory DESTINATION. Others may\n"
        "use it meanwhile, and wait for nothing. The copy is verified, and is there as a whole or not at all:\n"
        "an environment of its own, which opens as it is.\n"
        "\n"
        "DESTINATION - writes the same as an archive of tar to standard output:\n"
        "\n"
        "    xac backup DIR - | ssh HOST tar -x -C EMPTY-DIRECTORY\n"
        "\n"
        "  --since BACKUP  copies only the pages that have changed since an earlier backup, of which the file\n"
        "                  xac.backup is enough. 'xac restore' puts them together\n"
        "  --rate BYTES    reads no more than that in a second; K, M or G behind it: KiB, MiB, GiB\n"
        "  --force         although root is not its owner, who could not open the files that root makes in it; or\n"
        "                  although its archive takes nothing, which then lacks what is given up of the log\n"
        "  --quiet         says nothing unless it fails\n"
        "  --json          says what was done as JSON, and nothing else\n"
        "  --help          this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, and nothing is left, 2 usage, 4 the same as 1, as files are not as they\n"
        "were closed: changed by others, or of another moment; or done, of pages without a checksum.\n";

struct backup_call {
        const char *directory;
        const char *destination;
        bool is_json, is_quiet;
        bool is_forced;
        xac_backup_options options;
};

/* ---- What was done ---- */

/* Standard output is the archive's, if there is one. */
static FILE *report_to(const struct backup_call *call)
{
        return strcmp(call->destination, "-") == 0 ? stderr : stdout;
}

static void print_json(const struct backup_call *call, const xac_backup_result *result, double seconds)
{
        struct json json = { .to = report_to(call) };

        json_open(&json, NULL, '{');
        json_text(&json, "destination", call->destination);
        json_text(&json, "since", call->options.since);
        json_number(&json, "sequence", result->sequence);
        json_number(&json, "since_sequence", result->since_sequence);
        json_number(&json, "files", result->files);
        json_number(&json, "pages", result->pages);
        json_number(&json, "pages_copied", result->pages_copied);
        json_number(&json, "bytes_copied", result->bytes_copied);
        json_number(&json, "pages_unknown", result->pages_unknown);
        json_number(&json, "milliseconds", (uint64_t)(seconds * 1000));
        json_close(&json, '}');
        fputc('\n', json.to);
}

static void print_report(const struct backup_call *call, const xac_backup_result *result, double seconds)
{
        FILE *to = report_to(call);

        say(to, "sequence      %" PRIu64 "\n", result->sequence);
        if (result->since_sequence)
                say(to, "since         %" PRIu64 "\n", result->since_sequence);
        say(to, "copied        %s of %s, in %s: %s\n", tool_count(result->pages_copied, "page", "pages"),
            tool_count(result->pages, "page", "pages"), tool_count(result->files, "file", "files"),
            tool_bytes(result->bytes_copied));
        say(to, "took          %.2f s\n", seconds);
}

/* ---- The backup ---- */

static enum tool_exit back_up(xac_env *env, const struct backup_call *call)
{
        xac_backup_result result;
        xac_backup_options options = call->options;
        struct meter meter;
        const uint64_t begun_ns = sys_monotonic_ns();
        int err;

        meter_begin(&meter, call->is_quiet || call->is_json);
        options.result = &result;
        options.progress = meter_go_on;
        options.progress_arg = &meter;
        err = xac_backup(env, call->destination, &options);
        meter_end(&meter);
        if (err) {
                tool_complain("%s", err == -ECANCELED ? "interrupted; nothing is left of the backup" : result.problem);
                return TOOL_FAILED;
        }
        if (call->is_json || !call->is_quiet)
                (call->is_json ? print_json : print_report)(call, &result,
                                                            (double)(sys_monotonic_ns() - begun_ns) / 1e9);
        if (!result.pages_unknown)
                return TOOL_DONE;
        tool_complain(
                "%s: %s without a checksum: nobody knows whether they are what was written; 'xac scrub --sum' takes "
                "them as they are",
                call->directory, tool_count(result.pages_unknown, "page", "pages"));
        return TOOL_CHANGED;
}

static enum tool_exit open_and_back_up(const struct backup_call *call)
{
        xac_env *env;
        enum tool_exit result;
        int err;

        const struct opening opening = {
                .path = call->directory, .command = "backup", .is_forced = call->is_forced, .may_be_volatile = true
        };
        interrupt_catch();
        result = opening_open(&opening, &env);
        if (result != TOOL_DONE)
                return result;
        result = back_up(env, call);
        err = xac_close(env);
        if (err)
                tool_complain("%s: closing it: %s", call->directory, tool_explain(err));
        if (result != TOOL_DONE)
                interrupt_follow();
        return result;
}

/* ---- Command line ---- */

static bool take_option(int option, struct backup_call *call)
{
        switch (option) {
        case 's':
                call->options.since = optarg;
                return true;
        case 'r':
                return tool_bytes_option(optarg, "--rate", &call->options.bytes_per_second);
        case 'j':
                call->is_json = true;
                return true;
        case 'q':
                call->is_quiet = true;
                return true;
        case 'f':
                call->is_forced = true;
                return true;
        default:
                return false;
        }
}

enum tool_exit backup_main(int argc, char **argv)
{
        static const struct option known[] = { { "since", required_argument, NULL, 's' },
                                               { "rate", required_argument, NULL, 'r' },
                                               { "json", no_argument, NULL, 'j' },
                                               { "quiet", no_argument, NULL, 'q' },
                                               { "force", no_argument, NULL, 'f' },
                                               { "help", no_argument, NULL, 'h' },
                                               { 0 } };
        struct backup_call call = { 0 };
        int option;

        while ((option = tool_next_option(argc, argv, ":h", known)) != -1) {
                if (option == 'h') {
                        fputs(backup_help, stdout);
                        return TOOL_DONE;
                }
                if (!take_option(option, &call))
                        return tool_usage("backup");
        }
        if (argc - optind != 2) {
                tool_complain("an environment's directory and where the backup is to be, please");
                return tool_usage("backup");
        }
        call.directory = argv[optind];
        call.destination = argv[optind + 1];
        if (strcmp(call.destination, "-") == 0 && isatty(STDOUT_FILENO)) {
                tool_complain("an archive is nothing for a terminal: send it to a file, or through a pipe");
                return TOOL_USAGE;
        }
        return open_and_back_up(&call);
}
