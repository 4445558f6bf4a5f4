/* SPDX-License-Identifier: MIT */

/*
 * What opens an environment as a program does (opening.h) opens it with the archive that it was used with: nothing of
 * the log is given up that the archive lacks, but by --force.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/tool.h"

#define ARCHIVE scratch_path("archive")

/* So long as this is there the archive takes nothing, as on a full or read-only disk. */
#define OBSTACLE scratch_path("archive/xac.archive.new")

static void serve_for_a_moment(void)
{
        const char *const serve[] = { "serve", TOOL_ENV, scratch_path("socket"), NULL };
        int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
        int status;

        unlink(scratch_path("socket"));
        pid_t pid = tool_start(serve, silence);
        while (access(scratch_path("socket"), F_OK) != 0)
                check_equal(waitpid(pid, &status, WNOHANG), 0);
        check_ok(kill(pid, SIGTERM));
        check_equal(waitpid(pid, &status, 0), pid);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(silence);
}

static const char *const openers[][4] = { { "backup", "ENV", "DESTINATION" },
                                          { "scrub", "ENV" },
                                          { "heap", "ENV", TOOL_FILE },
                                          { "serve", "ENV", "SOCKET" } };
enum { OPENERS = sizeof(openers) / sizeof(*openers) };

/* The subcommand, if need be with --force. */
static int run_opener(int opener, const char *option)
{
        const char *args[6] = { openers[opener][0] };
        char copy[3][512];
        unsigned count = 1;

        if (option)
                args[count++] = option;
        for (unsigned i = 1; i < 4 && openers[opener][i]; i++) {
                const char *word = openers[opener][i];
                const char *path = strcmp(word, "ENV") == 0           ? TOOL_ENV
                                   : strcmp(word, "DESTINATION") == 0 ? scratch_path("destination")
                                   : strcmp(word, "SOCKET") == 0      ? scratch_path("socket")
                                                                      : word;
                snprintf(copy[i - 1], sizeof(copy[i - 1]), "%s", path);
                args[count++] = copy[i - 1];
        }
        return tool_xac(args);
}

static void begin_an_archive(void)
{
        xac_options options = { .archive = ARCHIVE };
        xac_env *env;

        check_ok(mkdir(ARCHIVE, 0700));
        tool_archive = strdup(ARCHIVE);
        check_ok(xac_open(TOOL_ENV, XAC_CREATE, &options, &env));
        check_ok(xac_close(env));
        tool_work(0, 5, TOOL_CLOSE);
}

static void check_no_gap(void)
{
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(0, "archive", "--check", ARCHIVE);
        check_not_said("GAP");
}

/* The log that a power cut has left is in the archive before it is given up. */
static void each_opens_with_the_archive(int opener)
{
        begin_an_archive();
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        if (strcmp(openers[opener][0], "serve") == 0)
                serve_for_a_moment();
        else
                check_equal(run_opener(opener, NULL), strcmp(openers[opener][0], "heap") == 0); /* there is no heap */
        check_no_gap();
}

/* The archive takes nothing, and some log is not in it: nothing is opened but by --force. */
static void none_goes_on_without_it(int opener)
{
        begin_an_archive();
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_ok(mkdir(OBSTACLE, 0700));
        check_equal(run_opener(opener, NULL), 1);
        check_said("or go on without it by --force");
        check(access(scratch_path("destination"), F_OK) != 0);
        check_ok(rmdir(OBSTACLE));
        check_no_gap();
}

static void by_force_it_does(int opener)
{
        const bool is_serve = strcmp(openers[opener][0], "serve") == 0; /* it would not end by itself */

        begin_an_archive();
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        check_ok(mkdir(OBSTACLE, 0700));
        if (is_serve)
                check_ok(mkdir(scratch_path("socket"), 0700));
        run_opener(opener, "--force");
        check_said("going on without its archive");
        check_said("opened without the archive that it was used with"); /* as any program is told */
        check_ok(rmdir(OBSTACLE));
        tool_work(0, 5, TOOL_CLOSE);
        check_xac(1, "archive", "--check", ARCHIVE);
        check_said("GAP");
}

/* Subcommands that do not open it: what the log has is archived by the next open. */
static void others_give_up_nothing(void)
{
        begin_an_archive();
        check_xac(0, "backup", TOOL_ENV, scratch_path("destination"));
        for (unsigned round = 0; round < 2; round++) {
                tool_work(0, 20, TOOL_KILL);
                tool_power_cut();
                check_xac(0, "check", TOOL_ENV);
                check_xac(0, "log", TOOL_ENV);
                check_xac(0, "stat", TOOL_ENV);
                if (round == 1)
                        check_xac(0, "repair", "--from", scratch_path("destination"), TOOL_ENV);
                check_xac(0, "recover", TOOL_ENV);
                check_no_gap();
        }
}

/* A mount that is away has left an empty directory: nobody takes it for the archive. */
static void an_empty_directory_is_no_archive(void)
{
        begin_an_archive();
        tool_work(0, 20, TOOL_KILL);
        tool_power_cut();
        scratch_shell("mv '%s' '%s.away' && mkdir '%s'", ARCHIVE, ARCHIVE, ARCHIVE);
        check_xac(1, "archive", TOOL_ENV, ARCHIVE);
        check_said("there is nothing in it");
        check_xac(1, "scrub", TOOL_ENV);
        check_said("it cannot be reached");
        check_xac(1, "backup", TOOL_ENV, scratch_path("destination"));
        scratch_shell("rmdir '%s' && mv '%s.away' '%s'", ARCHIVE, ARCHIVE, ARCHIVE);
        check_no_gap();
}

static void each_takes_force(void)
{
        for (unsigned i = 0; i < OPENERS; i++) {
                check_xac(0, openers[i][0], "--help");
                check_said("--force");
        }
}

#define each_opener(body)                                                                               \
        isolated_way(body, 0, "backup"), isolated_way(body, 1, "scrub"), isolated_way(body, 2, "heap"), \
                isolated_way(body, 3, "serve")

int main(void)
{
        const struct CMUnitTest tests[] = {
                each_opener(each_opens_with_the_archive),
                each_opener(none_goes_on_without_it),
                each_opener(by_force_it_does),
                isolated_test(others_give_up_nothing),
                isolated_test(an_empty_directory_is_no_archive),
                isolated_test(each_takes_force),
        };

        return cmocka_run_group_tests_name("tools/opening", tests, NULL, NULL);
}
