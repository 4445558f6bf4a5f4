/* SPDX-License-Identifier: MIT */

/*
 * xac trace: what programs recorded with XAC_TRACE: who lost to whom on which bytes, and what could be done about it.
 *
 *      trace_file, trace_cursor    reads the file; knows what makes no sense, and (trace_data) what is a hole
 *      trace_winner                who won a conflict
 *      trace_sum                   all figures
 *      trace_report, trace_json,
 *      trace_perfetto              prints them; trace_words has the words
 *      trace_html, trace_page      the page; trace_part says how much of the trace is in it
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xac/xac.h>

#include "tools/xac/text.h"
#include "tools/xac/tool.h"
#include "tools/xac/trace_heap_find.h"
#include "tools/xac/trace_html.h"
#include "tools/xac/trace_report.h"
#include "trace/trace.h"

const char trace_help[] =
        "Usage: xac trace [OPTION]... FILE\n"
        "Tells what is in the trace FILE, which programs record that are started with XAC_TRACE=FILE:\n"
        "who took part, which pages transactions lost on, to whom, and what could be done about it; how\n"
        "long commits took; what else took time. A trace that is being written may be looked at.\n"
        "\n"
        "  --top N           tell at most N participants, pages and pairs; 10 if not given\n"
        "  --heap            name the roots of a heap that lie on these pages: opens the environments that were "
        "traced,\n"
        "                    as 'xac heap' does\n"
        "  --json            the same figures, for programs\n"
        "  --perfetto OUT    write OUT, which ui.perfetto.dev and chrome://tracing show\n"
        "  --html OUT        write OUT, a page that shows the trace in a browser: all of it, or of a large one\n"
        "                    the part with most conflicts\n"
        "  --from S, --to S  of the page: the part from there to there, in seconds\n"
        "  --help            this text\n"
        "\n"
        "Exit status: 0 done, 1 the file is damaged or no trace, OUT could not be written, or a heap\n"
        "not be read, 2 usage.\n";

enum { TOP_DEFAULT = 10, SECONDS_MAX = 1000000000 };

static int write_perfetto(const struct trace_report *report, FILE *to)
{
        trace_report_perfetto(report, to);
        return 0;
}

static int write_html(const struct trace_report *report, FILE *to)
{
        return trace_html_write(to, &report->file, report->path, report->from_ns, report->to_ns);
}

/* Files that can be written besides, each by an option that names it. */
static const struct output {
        const char *option;
        int (*write)(const struct trace_report *report, FILE *to);
} outputs[] = {
        { "perfetto", write_perfetto },
        { "html", write_html },
};

enum { OUTPUT_HTML = 1, OUTPUTS = sizeof(outputs) / sizeof(outputs[0]), OPTION_OUTPUT = 256 };

struct trace_options {
        uint64_t top;
        bool is_json;
        bool has_heaps;
        bool is_help;
        bool is_part;
        double from, to;             /* seconds */
        const char *output[OUTPUTS]; /* paths, or NULL */
};

/* ---- Reading ---- */

/* What processes that were killed have left in shared memory comes to the file first, if file and memory are this
 * user's. Else nothing is opened for writing, and it is read without. */
static int load(struct trace_report *report, const char *path)
{
        int err;

        (void)trace_settle(path);
        err = trace_file_open(path, &report->file);
        if (err)
                return err;
        report->path = text_copy(path, strlen(path));
        err = report->path ? trace_winners_find(&report->file, &report->winners) : -ENOMEM;
        if (err)
                return err;
        return trace_sum_up(&report->file, &report->winners, &report->sum);
}

static void unload(struct trace_report *report)
{
        if (report->sum)
                trace_sum_free(report->sum);
        trace_heaps_free(&report->heaps);
        trace_winners_free(&report->winners);
        trace_file_close(&report->file);
        free(report->path);
}

/* ---- Files that are written ---- */

static bool is_same_file(const char *one, const char *other)
{
        struct stat first, second;

        return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
}

/* The trace is read while they are written; and none takes the place of another. */
static bool are_outputs_apart(const char *trace, const struct trace_options *options)
{
        for (int i = 0; i < OUTPUTS; i++) {
                const char *path = options->output[i];

                if (path && is_same_file(path, trace)) {
                        tool_complain("--%s would overwrite the trace %s: name another file", outputs[i].option, trace);
                        return false;
                }
                for (int j = 0; path && j < i; j++)
                        if (options->output[j] && strcmp(path, options->output[j]) == 0) {
                                tool_complain("--%s and --%s name the same file", outputs[j].option, outputs[i].option);
                                return false;
                        }
        }
        return true;
}

/* ---- Telling ---- */

static bool write_output(const struct trace_report *report, const struct output *output, const char *path)
{
        FILE *to = fopen(path, "we");
        bool is_written;

        if (!to) {
                tool_complain("%s: %s", path, strerror(errno));
                return false;
        }
        is_written = output->write(report, to) == 0 && fflush(to) == 0 && !ferror(to);
        if (fclose(to) != 0 || !is_written) {
                tool_complain("%s could not be written", path);
                return false;
        }
        return true;
}

static enum tool_exit tell(const struct trace_report *report, const struct trace_options *options)
{
        enum tool_exit result = TOOL_DONE;

        if (options->is_json)
                trace_report_json(report, stdout);
        else
                trace_report_text(report, stdout);
        for (int i = 0; i < OUTPUTS; i++)
                if (options->output[i] && !write_output(report, &outputs[i], options->output[i]))
                        result = TOOL_FAILED;
        if (!report->file.damage_count)
                return result;
        tool_complain("%s is damaged: that is what can be read", report->path);
        return TOOL_FAILED;
}

static const char *why_not(int err)
{
        switch (err) {
        case XAC_CORRUPT:
                return "it is no trace";
        case -EFBIG:
                return "somebody else may write to it, so it would be copied into memory first, and is too long for "
                       "that: copy it";
        default:
                return tool_explain(err);
        }
}

static enum tool_exit tell_of(const char *path, const struct trace_options *options)
{
        struct trace_report report = { .top = options->top,
                                       .from_ns = (uint64_t)(options->from * 1e9),
                                       .to_ns = (uint64_t)(options->to * 1e9) };
        enum tool_exit result = TOOL_FAILED;
        int err = load(&report, path);

        if (err)
                tool_complain("%s: %s", path, why_not(err));
        else if (options->has_heaps && !trace_heaps_find(&report.heaps, &report.file, report.sum, report.top))
                result = tell(&report, options) == TOOL_DONE ? TOOL_FAILED : result; /* without names */
        else
                result = tell(&report, options);
        unload(&report);
        return result;
}

/* ---- Command line ---- */

static bool parse(int argc, char **argv, struct trace_options *options)
{
        struct option longs[7 + OUTPUTS] = {
                { "top", required_argument, NULL, 't' }, { "json", no_argument, NULL, 'j' },
                { "heap", no_argument, NULL, 'n' },      { "from", required_argument, NULL, 'f' },
                { "to", required_argument, NULL, 'u' },  { "help", no_argument, NULL, 'h' }
        };
        bool is_right = true;
        int option;

        for (int i = 0; i < OUTPUTS; i++)
                longs[6 + i] = (struct option){ outputs[i].option, required_argument, NULL, OPTION_OUTPUT + i };
        while (is_right && (option = tool_next_option(argc, argv, ":h", longs)) != -1) {
                if (option == 't')
                        is_right = tool_number(optarg, "--top", &options->top);
                else if (option == 'f' && (options->is_part = true))
                        is_right = tool_seconds(optarg, "--from", 0, SECONDS_MAX, &options->from);
                else if (option == 'u' && (options->is_part = true))
                        is_right = tool_seconds(optarg, "--to", options->from, SECONDS_MAX, &options->to);
                else if (option == 'j')
                        options->is_json = true;
                else if (option == 'n')
                        options->has_heaps = true;
                else if (option == 'h')
                        options->is_help = true;
                else if (option >= OPTION_OUTPUT)
                        options->output[option - OPTION_OUTPUT] = optarg;
                else
                        is_right = false;
        }
        return is_right;
}

enum tool_exit trace_main(int argc, char **argv)
{
        struct trace_options options = { .top = TOP_DEFAULT, .to = SECONDS_MAX };

        if (!parse(argc, argv, &options))
                return tool_usage("trace");
        if (options.is_help) {
                fputs(trace_help, stdout);
                return TOOL_DONE;
        }
        if (argc - optind != 1) {
                tool_complain("the file of a trace, please");
                return tool_usage("trace");
        }
        if (options.is_part && !options.output[OUTPUT_HTML]) {
                tool_complain("--from and --to say what is on the page: give --html OUT, too");
                return tool_usage("trace");
        }
        return are_outputs_apart(argv[optind], &options) ? tell_of(argv[optind], &options) : TOOL_USAGE;
}
