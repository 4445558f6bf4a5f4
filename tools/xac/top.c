/* SPDX-License-Identifier: MIT */

/*
 * xac top: what happens in an environment, each second. Looks at its shared memory as xac stat does, again and again:
 * joins nothing, waits for nobody, changes nothing.
 */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "tools/xac/place.h"
#include "tools/xac/sampler.h"
#include "tools/xac/screen.h"
#include "tools/xac/tool.h"
#include "tools/xac/top_report.h"

const char top_help[] =
        "Usage: xac top [--interval SECONDS] [--count N] [--json] DIR\n"
        "Shows what happens in the environment, each second: commits, conflicts and page faults, of each\n"
        "participant and in all; the pages that change most (a sample); how full log and pool are; who holds\n"
        "the oldest snapshot, and for how long. On a terminal it is drawn anew again and again, until q or\n"
        "Ctrl-C; elsewhere each sample is some lines. Changes nothing, and disturbs nobody.\n"
        "\n"
        "  --interval SECONDS  between two samples (1; from 0.1 to 3600)\n"
        "  --count N           ends after so many samples\n"
        "  --json              one line of JSON for each sample\n"
        "  --help              this text\n"
        "\n"
        "Exit status: 0 done, 1 failed, 2 usage.\n";

struct top {
        struct place place;
        struct sampler sampler;
        double interval;
        uint64_t count; /* samples to go; 0: no end */
        bool is_json;
        bool is_open; /* the place */
};

/* ---- Showing ---- */

/* 0, -ENOMEM, or -EIO: the output cannot be written. */
static int show_on_screen(const struct top *top)
{
        size_t byte_len = 0;
        char *text = NULL;
        FILE *out = open_memstream(&text, &byte_len);
        int err = 0;

        if (!out)
                return -ENOMEM;
        top_report_print(out, &top->place, &top->sampler.sample, screen_lines());
        if (fclose(out))
                err = -ENOMEM;
        else
                screen_draw(text, byte_len);
        free(text);
        return err ? err : ferror(stdout) ? -EIO : 0;
}

static int show(const struct top *top)
{
        if (top->is_json)
                top_report_print_json(stdout, &top->place, &top->sampler.sample);
        else if (screen_lines())
                return show_on_screen(top);
        else
                top_report_print(stdout, &top->place, &top->sampler.sample, 0);
        if (!top->is_json)
                fputc('\n', stdout);
        return fflush(stdout) ? -EIO : 0;
}

/* ---- Taking samples ---- */

/* Between two samples the pages are looked at so often that it takes some hundredths of one processor at most. */
static uint64_t next_look_ns(const struct top *top, uint64_t begun_ns, uint64_t looks)
{
        const uint64_t least_ns = 50000000, share = 50;
        uint64_t each_ns = looks ? top->sampler.looking_ns / looks * share : 0;

        return begun_ns + (each_ns > least_ns ? each_ns : least_ns);
}

/* Until the next sample is due. */
static enum screen_event wait_and_look(struct top *top, uint64_t due_ns)
{
        for (uint64_t looks = 0;; looks++) {
                uint64_t next_ns = next_look_ns(top, sys_monotonic_ns(), looks);
                enum screen_event event = screen_wait(next_ns < due_ns ? next_ns : due_ns);

                if (event == SCREEN_RESIZED)
                        (void)show(top);
                if (event == SCREEN_END || next_ns >= due_ns)
                        return event;
                sampler_look(&top->sampler);
        }
}

/* Is what was opened still what the path stands for, with its lock file? */
static bool is_current(const struct place *place)
{
        struct stat st;

        return place->has_lock_file && stat(place->path, &st) == 0 && st.st_dev == place->st.st_dev &&
               st.st_ino == place->st.st_ino;
}

/* Nobody uses what was opened: what does the path stand for by now? */
static enum tool_exit open_again(struct top *top)
{
        const char *path = top->place.path;
        bool was_drawn = screen_lines() > 0;

        screen_close(); /* there may be a complaint */
        place_close(&top->place);
        top->is_open = false;
        if (place_open_with_manifest(&top->place, path) != TOOL_DONE)
                return TOOL_FAILED;
        top->is_open = true;
        screen_open(was_drawn);
        return TOOL_DONE;
}

static enum tool_exit complain(struct top *top, int err)
{
        screen_close();
        tool_complain("%s: it cannot be looked at: %s", top->place.path, tool_explain(err));
        return TOOL_FAILED;
}

/* One sample after the other. */
static enum tool_exit run(struct top *top)
{
        uint64_t interval_ns = (uint64_t)(top->interval * 1e9), due_ns, now_ns;
        int err = sampler_take(&top->sampler);

        due_ns = top->sampler.sample.at_ns; /* the first sample may take a while: an interval follows it */
        if (!err && screen_lines())
                err = show(top);
        while (!err) {
                now_ns = sys_monotonic_ns();
                due_ns = due_ns + interval_ns > now_ns ? due_ns + interval_ns : now_ns;
                if (wait_and_look(top, due_ns) == SCREEN_END)
                        return TOOL_DONE;
                err = sampler_take(&top->sampler);
                if (!err)
                        err = show(top);
                if (!err && top->count && --top->count == 0)
                        return TOOL_DONE;
                if (!err && top->sampler.sample.state == SAMPLE_AT_REST && !is_current(&top->place) &&
                    open_again(top) != TOOL_DONE)
                        return TOOL_FAILED;
        }
        return complain(top, err);
}

/* ---- Command line ---- */

static bool take_interval(struct top *top, const char *text)
{
        return tool_seconds(text, "--interval", 0.1, 3600, &top->interval);
}

static bool take_count(struct top *top, const char *text)
{
        if (!tool_number(text, "--count", &top->count))
                return false;
        if (top->count == 0)
                tool_complain("--count takes a number from 1 on");
        return top->count > 0;
}

static enum tool_exit watch(struct top *top, const char *path)
{
        enum tool_exit result = place_open_with_manifest(&top->place, path);
        int err;

        if (result != TOOL_DONE)
                return result;
        top->is_open = true;
        err = sampler_open(&top->sampler, &top->place);
        if (err) {
                result = complain(top, err);
        } else {
                screen_open(!top->is_json && isatty(STDOUT_FILENO));
                result = run(top);
                screen_close();
                sampler_close(&top->sampler);
        }
        if (top->is_open)
                place_close(&top->place);
        return result;
}

enum tool_exit top_main(int argc, char **argv)
{
        static const struct option longs[] = { { "interval", required_argument, NULL, 'i' },
                                               { "count", required_argument, NULL, 'n' },
                                               { "json", no_argument, NULL, 'j' },
                                               { "help", no_argument, NULL, 'h' },
                                               { NULL, 0, NULL, 0 } };
        static struct top top = { .interval = 1 };
        const char *path;
        int option;

        while ((option = tool_next_option(argc, argv, ":i:n:jh", longs)) != -1) {
                if (option == 'h') {
                        fputs(top_help, stdout);
                        return TOOL_DONE;
                }
                if (option == 'j')
                        top.is_json = true;
                else if (option == '?' || !(option == 'i' ? take_interval : take_count)(&top, optarg))
                        return tool_usage("top");
        }
        path = tool_operand(argc, argv, "top");
        return path ? watch(&top, path) : tool_usage("top");
}
