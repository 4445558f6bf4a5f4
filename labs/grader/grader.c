/* SPDX-License-Identifier: MIT */

/*
 *      grade [--seed N] [--only NAME] [--loud] [--here] [--json FILE] [--again COMMAND]
 *
 * lab.mk calls it; `--here` runs the one test in this process, for a debugger.
 */

#include "labs/grader/grader.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/attempt.h"
#include "labs/grader/report.h"

enum {
        DEFAULT_SECONDS = 10,
        BUSY_MOST = 30,
        LAB_SECONDS = 55, /* for all tests together: an answer that always waits has its marks within a minute */
};

struct options {
        uint32_t seed;
        const char *only, *json, *again;
        bool is_loud, is_here;
};

struct grading {
        const struct grader_lab *lab;
        struct options options;
        struct report *report;
        int tests;
        double seconds_left;
};

static struct options read_options(int argc, char **argv)
{
        static const struct option names[] = {
                { "seed", required_argument, NULL, 's' },
                { "only", required_argument, NULL, 'o' },
                { "json", required_argument, NULL, 'j' },
                { "again", required_argument, NULL, 'a' },
                { "loud", no_argument, NULL, 'l' },
                { "here", no_argument, NULL, 'h' },
                { NULL, 0, NULL, 0 },
        };
        struct options options = { .seed = (uint32_t)time(NULL) % 1000000, .again = "make grade" };

        for (int letter; (letter = getopt_long(argc, argv, "", names, NULL)) != -1;) {
                if (letter == 's')
                        options.seed = (uint32_t)strtoul(optarg, NULL, 10);
                else if (letter == 'o')
                        options.only = optarg;
                else if (letter == 'j')
                        options.json = optarg;
                else if (letter == 'a')
                        options.again = optarg;
                else if (letter == 'l')
                        options.is_loud = true;
                else if (letter == 'h')
                        options.is_here = true;
                else
                        exit(2);
        }
        return options;
}

/* GRADER_PATIENCE, or 1. */
static long patience_asked_for(void)
{
        const char *times = getenv("GRADER_PATIENCE");
        long value = times ? strtol(times, NULL, 10) : 1;
        return value >= 1 && value <= 100 ? value : 1;
}

/* /proc/loadavg: how many want to run, in the last minute, and now before the slash: 0.20 0.18 0.12 3/164 4711 */
int grader_patience(void)
{
        long processors = sysconf(_SC_NPROCESSORS_ONLN), now = 0;
        double minute = 0;
        FILE *file = fopen("/proc/loadavg", "re");

        if (file && fscanf(file, "%lf %*s %*s %ld", &minute, &now) != 2)
                minute = 0;
        if (file)
                fclose(file);
        double busy = (minute > (double)now ? minute : (double)now) / (double)(processors > 0 ? processors : 1);
        double times = (busy < 1 ? 1 : busy > BUSY_MOST ? BUSY_MOST : busy) * (double)patience_asked_for();
        return (int)(times + 0.999);
}

static void check_machine(int err)
{
        if (err == 0)
                return;
        fprintf(stderr, "the test cannot be run: %s\n", strerror(-err));
        exit(2);
}

static void grade_test(struct grading *grading, const struct grader_test *test, bool is_hidden)
{
        struct attempt result;
        struct attempt_options options = {
                .seed = grading->options.seed,
                .seconds = (test->seconds ? test->seconds : DEFAULT_SECONDS) * grader_patience(),
                .is_loud = grading->options.is_loud,
                .clean = grading->lab->clean,
        };
        if (grading->options.is_here) {
                check_machine(attempt_here(test, &options));
                return;
        }
        if (options.seconds > grading->seconds_left)
                options.seconds = (int)grading->seconds_left;
        if (options.seconds < 1) {
                report_test(grading->report, test, is_hidden, NULL);
                return;
        }
        check_machine(attempt_run(test, &options, &result));
        grading->seconds_left -= result.seconds;
        report_test(grading->report, test, is_hidden, &result);
}

static void grade_list(struct grading *grading, const struct grader_test *tests, bool is_hidden)
{
        for (const struct grader_test *test = tests; test->name != NULL; test++) {
                if (grading->options.only != NULL && strcmp(grading->options.only, test->name) != 0)
                        continue;
                grading->tests++;
                grade_test(grading, test, is_hidden);
        }
}

int grader_main(int argc, char **argv, const struct grader_lab *lab)
{
        struct grading grading = { .lab = lab, .options = read_options(argc, argv) };
        const struct options *options = &grading.options;

        setvbuf(stdout, NULL, _IOLBF, 0);
        grading.seconds_left = LAB_SECONDS * grader_patience();
        grading.report = options->is_here ? NULL : report_open(lab->name, options->again, options->seed);
        grade_list(&grading, lab->tests, false);
        grade_list(&grading, lab->hidden, true);
        if (grading.tests == 0) {
                fprintf(stderr, "no test is called %s\n", options->only ? options->only : "anything");
                return 2;
        }
        if (options->is_here)
                return 0;
        return report_close(grading.report, options->json) ? 0 : 1;
}
