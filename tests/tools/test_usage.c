/* SPDX-License-Identifier: MIT */

/*
 * The command line of xac: help, versions, mistakes, and directories that are no environments.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/tool.h"

static const char *const commands[] = { "stat", "top", "log", "check", "recover", "clean" };

#define XAC "\"${builddir:-.}\"/tools/xac/xac" /* for a shell */

enum { COMMANDS = 6, CLEAN = 5, ON_ENVIRONMENTS = 5 /* without "clean" */ };

static void help_is_given_and_is_no_mistake(void)
{
        check_xac(0, "--help");
        check_said("Usage: xac COMMAND");
        for (int i = 0; i < COMMANDS; i++) {
                char usage[40];

                check_xac(0, "help");
                check_said(commands[i]);
                snprintf(usage, sizeof(usage), "Usage: xac %s ", commands[i]);
                check_xac(0, commands[i], "--help");
                check_said(usage);
                check_said("Exit status");
                check_xac(0, "help", commands[i]);
                check_said(usage);
        }
}

/* ---- Exit statuses ---- */

static const char *const all_commands[] = { "stat",    "top",    "log",     "check",   "scrub", "repair",
                                            "recover", "backup", "restore", "archive", "clean", "heap",
                                            "compact", "send",   "serve",   "get",     "trace" };

enum { STATUSES = 5, USAGE = 2 };

/* 1 << status, of those that the help explains. */
static unsigned statuses_of_help(const char *command)
{
        unsigned statuses = 0;

        check_xac(0, "help", command);
        for (const char *at = strstr(tool.said, "Exit status: "); at && *at; at++)
                if (*at >= '0' && *at < '0' + STATUSES && at[1] == ' ' && strchr(" \n", at[-1]))
                        statuses |= 1u << (*at - '0');
        return statuses;
}

/* Of the entry of the list: a line each begins with a status. */
static unsigned statuses_of_manual(const char *manual, const char *command)
{
        unsigned statuses = 1u << USAGE;
        char row[40];
        const char *at;

        snprintf(row, sizeof(row), "\n.It Cm %s\n", command);
        at = strstr(manual, "\n.Sh EXIT STATUS\n");
        check(at != NULL);
        at = strstr(at, row);
        check(at != NULL);
        for (at += strlen(row); *at >= '0' && *at < '0' + STATUSES; at = strchr(at, '\n') + 1) {
                check(at[1] == ' ' && strchr(at, '\n'));
                statuses |= 1u << (*at - '0');
        }
        return statuses;
}

static void help_and_manual_agree_about_exit_statuses(void)
{
        static char manual[1 << 18];
        const char *srcdir = getenv("srcdir");
        char path[600];
        FILE *page;

        snprintf(path, sizeof(path), "%s/docs/man/xac.1", srcdir ? srcdir : ".");
        page = fopen(path, "r");
        check(page != NULL);
        check(fread(manual, 1, sizeof(manual) - 1, page) > 0);
        fclose(page);
        for (size_t i = 0; i < sizeof(all_commands) / sizeof(all_commands[0]); i++) {
                const unsigned of_help = statuses_of_help(all_commands[i]);
                const unsigned of_manual = statuses_of_manual(manual, all_commands[i]);

                if (of_help != of_manual)
                        check_failed(__FILE__, __LINE__, "%s: statuses %#x by its help, %#x by xac(1)", all_commands[i],
                                     of_help, of_manual);
        }
}

static void the_version_is_the_librarys(void)
{
        check_xac(0, "--version");
        check_said(xac_version());
}

static void mistakes_are_explained(void)
{
        check_xac(2, NULL);
        check_said("Usage: xac COMMAND");
        check_xac(2, "mend", "env");
        check_said("mend");
        check_xac(2, "help", "mend");
        for (int i = 0; i < COMMANDS; i++) {
                if (i != 0 && i != CLEAN) { /* these do without a directory */
                        check_xac(2, commands[i]);
                        check_said("--help");
                }
                check_xac(2, commands[i], "env", "env");
                check_said("--help");
                check_xac(2, commands[i], "--nonsense", "env");
        }
        check_xac(2, "clean", "--dry-run", "-xyz", "env");
        check_said("there is no option '-x'");
        check_xac(2, "clean", "--dry-run", "-n", "env"); /* the value that --dry-run has, and no letter */
        check_said("there is no option '-n'");
        check_xac(2, "trace", "--top=5", "-jx", "file");
        check_said("there is no option '-j'");
        check_xac(2, "clean", "--dry-run=no", "env");
        check_said("the option '--dry-run=no' takes no argument");
        check_xac(2, "clean", "--dry=no", "env");
        check_said("the option '--dry=no' takes no argument");
        check_xac(2, "trace", "--top");
        check_said("the option '--top' needs an argument");
        check_xac(2, "log", "--from", "12x", "env");
        check_said("12x");
        check_xac(2, "log", "--to", "-1", "env");
        check_xac(2, "log", "--to", "99999999999999999999", "env");
}

static void what_is_no_environment_is_left_alone(void)
{
        const char *dir = scratch_path("empty");
        const char *file = scratch_path("file");

        check_equal(mkdir(dir, 0700), 0);
        scratch_write_file(file, "x", 1);
        for (int i = 0; i < ON_ENVIRONMENTS; i++) {
                check_xac(1, commands[i], dir);
                check_said("no environment");
                check_xac(1, commands[i], scratch_path("absent"));
                check_said("No such file");
                check_xac(1, commands[i], file);
                check_said("Not a directory");
        }
        check_equal(rmdir(dir), 0); /* nothing was made in it */
}

static void a_full_disk_under_the_output_is_a_failure(void)
{
        char command[200];
        int status;

        tool_work(0, 3, TOOL_CLOSE);
        snprintf(command, sizeof(command), XAC " stat '%s' >/dev/full 2>/dev/null", TOOL_ENV);
        status = system(command);
        check(WIFEXITED(status));
        check_equal(WEXITSTATUS(status), 1);
}

/* Numbers that whoever calls it has closed. */
static void check_taken(pid_t pid)
{
        for (int fd = 0; fd < 3; fd++) {
                char path[64], name[64] = "";

                snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
                check(readlink(path, name, sizeof(name) - 1) > 0);
                check_equal(strcmp(name, "/dev/null"), 0);
        }
}

static void no_file_gets_a_descriptor_that_is_printed_to(void)
{
        char command[1024];

        tool_work(0, 5, TOOL_CLOSE);
        snprintf(command, sizeof(command), "exec " XAC " serve '%s' '%s' <&- >&- 2>&-", TOOL_ENV,
                 scratch_path("socket"));
        pid_t pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                execl("/bin/sh", "sh", "-c", command, (char *)NULL);
                _exit(127);
        }
        while (access(scratch_path("socket"), F_OK) != 0)
                check_equal(waitpid(pid, NULL, WNOHANG), 0);
        check_taken(pid);
        check_ok(kill(pid, SIGTERM));
        check_equal(waitpid(pid, NULL, 0), pid);
        scratch_shell(XAC " backup --quiet '%s' '%s' <&- 2>&-", TOOL_ENV, scratch_path("backup"));
        check_xac(0, "check", TOOL_ENV);
        check_xac(0, "check", scratch_path("backup"));
        check_equal(tool_sum(), 5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(help_is_given_and_is_no_mistake),
                isolated_test(help_and_manual_agree_about_exit_statuses),
                isolated_test(the_version_is_the_librarys),
                isolated_test(mistakes_are_explained),
                isolated_test(what_is_no_environment_is_left_alone),
                isolated_test(a_full_disk_under_the_output_is_a_failure),
                isolated_test(no_file_gets_a_descriptor_that_is_printed_to),
        };
        return cmocka_run_group_tests_name("xac", tests, NULL, NULL);
}
