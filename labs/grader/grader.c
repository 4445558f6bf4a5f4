/* SPDX-License-Identifier: MIT */

/*
 *      grade --host FILE [--fast FILE] [--read FOLDER]... [--seed N] [--only NAME] [--first] [--loud]
 *            [--json FILE] [--again COMMAND]
 *      grade --broken FILE [...]
 *      grade --here [--only NAME] [--seed N]
 *
 * The script `judge` calls it. --host: the answer, as a program (serve.c); it may read what lies below the folders
 * given. --fast: the same answer, optimized, to be measured. --seed: else GRADER_SEED from the environment says it,
 * else it is drawn. An answer may read the arguments of other processes, and not their environment.
 * --first: no further test after one that has failed. --broken: the answer did not compile, and this is what the
 * compiler said. `--here` runs the one test in this process, for a debugger. GRADER_NONCE from the environment comes
 * back in the line of JSON.
 */

#include "labs/grader/grader.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/attempt.h"
#include "labs/grader/calls.h"
#include "labs/grader/confine.h"
#include "labs/grader/host_start.h"
#include "labs/grader/report.h"
#include "labs/grader/scratch.h"

enum {
        DEFAULT_SECONDS = 10,
        BUSY_MOST = 30,
        LAB_SECONDS = 55, /* for all tests together: an answer that always waits has its marks within a minute */
        FOLDERS_MOST = 32,
};

static const uint64_t SEED_BELOW = 1000000000000000;

struct options {
        uint64_t seed;
        const char *only, *json, *again, *broken;
        const char *fast;
        bool is_loud, is_here, is_first;
};

/* What an answer may read while it runs. What it may write is said when it starts (host.c). */
static const char *readable[FOLDERS_MOST] = {
        "/usr",
        "/lib",
        "/lib64",
        "/lib32",
        "/bin",
        "/opt",
        "/nix",
        "/etc/ld.so.cache",
        "/etc/localtime",
        "/proc",
        "/sys/devices/system/cpu",
        "/dev/zero",
        "/dev/urandom",
        "/dev/random",
        "/dev/full",
};
static const char *const none[] = { NULL };
static const struct grader_test *to_measure; /* NULL: nothing */
static struct host_program host = { .readable = readable };

struct grading {
        const struct grader_lab *lab;
        struct options options;
        struct report *report;
        int tests;
        bool has_failed;
        double seconds_left;
};

void grader_measures(const struct grader_test *measure)
{
        to_measure = measure;
}

static void add_readable(const char *path)
{
        int count = 0;
        while (readable[count] != NULL)
                count++;
        if (count + 1 == FOLDERS_MOST)
                exit(2);
        readable[count] = path;
}

/* So long that nobody finds it by trying them all, and short enough for JSON's numbers. */
static uint64_t draw_seed(void)
{
        const char *given = getenv("GRADER_SEED");
        uint64_t seed;
        if (given != NULL && *given != '\0')
                return strtoull(given, NULL, 10);
        if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
                exit(2);
        return seed % SEED_BELOW;
}

/* Reads it, and takes it from the arguments that others see. */
static uint64_t take_seed(char *text)
{
        const uint64_t seed = strtoull(text, NULL, 10);
        memset(text, '0', strlen(text));
        return seed;
}

static struct options read_options(int argc, char **argv)
{
        static const struct option names[] = {
                { "seed", required_argument, NULL, 's' },   { "only", required_argument, NULL, 'o' },
                { "json", required_argument, NULL, 'j' },   { "host", required_argument, NULL, 'H' },
                { "fast", required_argument, NULL, 'F' },   { "read", required_argument, NULL, 'r' },
                { "broken", required_argument, NULL, 'b' }, { "again", required_argument, NULL, 'a' },
                { "loud", no_argument, NULL, 'l' },         { "first", no_argument, NULL, 'f' },
                { "here", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
        };
        struct options options = { .seed = draw_seed(), .again = "make grade" };

        for (int letter; (letter = getopt_long(argc, argv, "", names, NULL)) != -1;) {
                if (letter == 's')
                        options.seed = take_seed(optarg);
                else if (letter == 'o')
                        options.only = optarg;
                else if (letter == 'j')
                        options.json = optarg;
                else if (letter == 'a')
                        options.again = optarg;
                else if (letter == 'b')
                        options.broken = optarg;
                else if (letter == 'H')
                        add_readable(host.path = optarg);
                else if (letter == 'F')
                        add_readable(options.fast = optarg);
                else if (letter == 'r')
                        add_readable(optarg);
                else if (letter == 'f')
                        options.is_first = true;
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

static struct attempt_options options_of(const struct grading *grading, const struct grader_test *test)
{
        return (struct attempt_options){
                .seed = grading->options.seed,
                .seconds = (test->seconds ? test->seconds : DEFAULT_SECONDS) * grader_patience(),
                .is_loud = grading->options.is_loud,
                .user = host.user,
                .clean = grading->lab->clean,
        };
}

static void grade_test(struct grading *grading, const struct grader_test *test, bool is_hidden)
{
        struct attempt result;
        struct attempt_options options = options_of(grading, test);
        if (grading->options.is_here) {
                check_machine(attempt_here(test, &options));
                return;
        }
        if (options.seconds > grading->seconds_left)
                options.seconds = (int)grading->seconds_left;
        if (options.seconds < 1 || grading->options.broken != NULL) {
                report_test(grading->report, test, is_hidden, NULL);
                return;
        }
        check_machine(attempt_run(test, &options, &result));
        grading->seconds_left -= result.seconds;
        grading->has_failed = grading->has_failed || !result.passed;
        report_test(grading->report, test, is_hidden, &result);
}

static void grade_list(struct grading *grading, const struct grader_test *tests, bool is_hidden)
{
        for (const struct grader_test *test = tests; test->name != NULL; test++) {
                if (grading->options.only != NULL && strcmp(grading->options.only, test->name) != 0)
                        continue;
                if (grading->options.is_first && grading->has_failed)
                        return;
                grading->tests++;
                grade_test(grading, test, is_hidden);
        }
}

/* Can this user reach the answer, what it is linked with, and such a folder? Nothing of the answer runs meanwhile. */
static bool can_reach(uid_t user)
{
        char folder[SCRATCH_NAME_BYTES];
        bool is_there[FOLDERS_MOST] = { false };
        int status = 1;
        if (scratch_make(folder, user) != 0)
                return false;
        for (int i = 0; readable[i] != NULL; i++)
                is_there[i] = access(readable[i], F_OK) == 0;
        pid_t pid = fork();
        if (pid == 0) {
                bool can = confine_become(user) == 0 && access(folder, W_OK) == 0 && access(host.path, X_OK) == 0;
                for (int i = 0; readable[i] != NULL; i++)
                        can = can && (!is_there[i] || access(readable[i], R_OK) == 0);
                _exit(can ? EXIT_SUCCESS : EXIT_FAILURE);
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        scratch_remove(folder);
        return pid > 0 && status == 0;
}

static bool can_limit_calls(void)
{
        int status = 1;
        pid_t pid = fork();
        if (pid == 0)
                _exit(calls_limit(CALLS_OF_ANSWERS) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        return status == 0;
}

/* What may come to nothing is said; whoever grades decides (labs/README.md). */
static void prepare_host(void)
{
        unsetenv("GRADER_NONCE");
        unsetenv("GRADER_SEED");
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        prctl(PR_SET_DUMPABLE, 0);
        host.user = confine_user();
        if (host.user != 0 && !can_reach(host.user)) {
                fprintf(stderr, "note: no other user can reach %s, or $TMPDIR: the answer runs as this one\n",
                        host.path);
                host.user = 0;
        }
        int rules = confine_rules(readable, none, none);
        if (rules < 0)
                fprintf(stderr, "note: this kernel has no Landlock: the answer can read files\n");
        else
                close(rules);
        if (!can_limit_calls())
                fprintf(stderr, "note: this kernel has no filters of calls: the answer can make processes and files\n");
        host_use(&host);
}

static void grade_all(struct grading *grading)
{
        grade_list(grading, grading->lab->tests, false);
        grade_list(grading, grading->lab->hidden, true);
}

/* Who has all marks, and was asked for all. */
static void measure(struct grading *grading)
{
        struct attempt result;
        if (to_measure == NULL || grading->options.fast == NULL || grading->options.only != NULL ||
            !report_is_full(grading->report))
                return;
        struct attempt_options options = options_of(grading, to_measure);
        host.path = grading->options.fast;
        check_machine(attempt_run(to_measure, &options, &result));
        report_measure(grading->report, to_measure, &result);
}

int grader_main(int argc, char **argv, const struct grader_lab *lab)
{
        struct grading grading = { .lab = lab, .options = read_options(argc, argv) };
        const struct options *options = &grading.options;

        setvbuf(stdout, NULL, _IOLBF, 0);
        grading.seconds_left = LAB_SECONDS * grader_patience();
        if (!options->is_here)
                grading.report = report_open(lab->name, options->again, options->seed, options->broken);
        if (host.path != NULL)
                prepare_host();
        else if (options->broken == NULL && !options->is_here) {
                fprintf(stderr, "grade: --host, --broken or --here\n");
                return 2;
        }
        grade_all(&grading);
        if (grading.tests == 0) {
                fprintf(stderr, "no test is called %s\n", options->only ? options->only : "anything");
                return 2;
        }
        if (options->is_here)
                return 0;
        measure(&grading);
        bool is_full = report_close(grading.report, options->json);
        if (options->broken != NULL)
                return 3;
        return is_full ? 0 : 1;
}
