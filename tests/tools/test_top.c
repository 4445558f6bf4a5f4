/* SPDX-License-Identifier: MIT */

/*
 * xac top: rates, hot pages, who holds the oldest snapshot; participants that come and die, an environment that is
 * closed and removed meanwhile; that it changes nothing, and leaves a terminal as it was.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/support/leeway.h"
#include "tests/tools/tool.h"

/* ---- Reading what it said ---- */

/* The number behind the n-th `"key":` in the n-th line; the test fails if there is none. */
static double number_of(unsigned line_no, const char *part, const char *key)
{
        const char *line = tool.said, *at;
        char wanted[40];

        for (unsigned i = 0; i < line_no; i++) {
                line = strchr(line, '\n');
                check(line != NULL);
                line++;
        }
        at = strstr(line, part);
        check(at != NULL && at < strchr(line, '\n'));
        snprintf(wanted, sizeof(wanted), "\"%s\":", key);
        at = strstr(at, wanted);
        check(at != NULL && at < strchr(line, '\n'));
        return strtod(at + strlen(wanted), NULL);
}

static void check_between(double least, double number, double most)
{
        if (number < least || number > most)
                check_failed(__FILE__, __LINE__, "%g is not from %g to %g; xac said:\n%s", number, least, most,
                             tool.said);
}

/* ---- Others who are there ---- */

struct stage {
        struct crew_turn turn;
        _Atomic uint32_t commits;
        _Atomic uint32_t is_over;
};

/* Until it is over: page 3 each time, page 5 every fourth time. A hundred commits a second, or a little less. */
static void commit_steadily(int unused, void *stage_)
{
        struct stage *stage = stage_;
        xac_env *env;
        uint64_t *words = tool_open(XAC_VOLATILE, &env);

        (void)unused;
        for (unsigned i = 0; !stage->is_over; i++) {
                int err;

                do {
                        check_ok(xbegin(env, 0));
                        words[3 * 512]++;
                        if (i % 4 == 0)
                                words[5 * 512]++;
                        err = xend(env);
                } while (err == XAC_CONFLICT);
                check_ok(err);
                stage->commits++;
                if (i == 0)
                        crew_turn_pass(&stage->turn);
                crew_sleep_ms(10);
        }
        check_ok(xac_close(env));
}

static void hold_snapshot(int unused, void *stage_)
{
        struct stage *stage = stage_;
        xac_env *env;
        uint64_t *words = tool_open(XAC_VOLATILE, &env);

        (void)unused;
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[5], 0);
        crew_turn_pass(&stage->turn);
        while (!stage->is_over)
                crew_sleep_ms(5);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* xac top in a process of its own, so that something can happen meanwhile; it must end with that status. */
static void watch(int status, void *args)
{
        check_equal(tool_xac(args), status);
        crew_exit(0);
}

/* ---- What it tells ---- */

static void rates_are_those_of_the_program(void)
{
        struct stage *stage = crew_shared(sizeof(*stage));
        pid_t writer = crew_fork(commit_steadily, 0, stage);
        uint32_t before;
        uint64_t begun_ns;
        double rate, uneven;

        crew_turn_await(&stage->turn, 1);
        before = stage->commits;
        begun_ns = crew_clock_ns();
        check_xac(0, "top", "--json", "--interval", "0.6", "--count", "2", TOOL_ENV);
        rate = (double)(stage->commits - before) / ((double)(crew_clock_ns() - begun_ns) / 1e9);
        stage->is_over = 1;
        crew_join(writer);
        check_equal(tool_count_said("\n"), 2);
        check_equal(tool_count_said("\"state\":\"in use\",\"processes\":1,"), 2);
        /* On a busy machine the writer gets more of the processor in one interval than in the other. */
        uneven = 3 * leeway_factor();
        for (unsigned line = 0; line < 2; line++) {
                check_between(rate / uneven, number_of(line, "\"total\"", "commits"), rate * uneven);
                check_equal(number_of(line, "\"total\"", "conflicts"), 0);
                check_equal(number_of(line, "\"participants\"", "pid"), writer);
                check_between(rate / uneven, number_of(line, "\"participants\"", "commits"), rate * uneven);
        }
}

static void the_pages_that_change_most_are_found(void)
{
        struct stage *stage = crew_shared(sizeof(*stage));
        pid_t writer = crew_fork(commit_steadily, 0, stage);
        char expected[80];
        double all, hot, other, few;

        crew_turn_await(&stage->turn, 1);
        check_xac(0, "top", "--json", "--interval", "2", "--count", "1", TOOL_ENV);
        stage->is_over = 1;
        crew_join(writer);
        snprintf(expected, sizeof(expected), "\"pages\":[{\"file\":\"%s\",\"page\":3,\"changes\":", TOOL_FILE);
        check_said(expected);
        all = number_of(0, "\"total\"", "commits");
        hot = number_of(0, "\"page\":3,", "changes");
        other = number_of(0, "\"page\":5,", "changes");
        /* At each look the newest version of the one is that of the newest commit; of the other it is every fourth. The
         * looks are fewer on a busy machine. */
        few = leeway_factor();
        check_between(all * 0.7 / few, hot, all * 1.5 * few);
        check_between(all / 16 / few, other, all / 1.5 * few);
        check(other < hot);
        check_equal(tool_count_said("\"page\":"), 2);
}

static void who_holds_the_oldest_snapshot_is_told(void)
{
        struct stage *stage = crew_shared(sizeof(*stage));
        pid_t reader = crew_fork(hold_snapshot, 0, stage);
        char expected[80];
        pid_t writer;

        crew_turn_await(&stage->turn, 1);
        writer = crew_fork(commit_steadily, 0, stage);
        crew_turn_await(&stage->turn, 2);
        check_xac(0, "top", "--json", "--interval", "0.3", "--count", "2", TOOL_ENV);
        check_equal(number_of(0, "\"oldest\"", "snapshot"), 1);
        check(number_of(0, "\"oldest\"", "held") >= 0.3);
        check(number_of(1, "\"oldest\"", "held") >= 0.6);
        check(number_of(1, "\"oldest\"", "behind") > number_of(0, "\"oldest\"", "behind"));
        check_xac(0, "top", "--interval", "0.1", "--count", "1", TOOL_ENV);
        snprintf(expected, sizeof(expected), "snapshot 1 of row 0, pid %d: ", (int)reader);
        check_said(expected);
        check_said("in use by 2 processes, 2 participants");
        check_said("  in a transaction for ");
        check(atof(strstr(tool.said, "  in a transaction for ") + strlen("  in a transaction for ")) >= 0.1);
        stage->is_over = 1;
        crew_join(reader);
        crew_join(writer);
}

static void log_and_pool_are_told(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 0, 0);
        check_xac(0, "top", "--json", "--interval", "0.1", "--count", "1", TOOL_ENV);
        check_equal(number_of(0, "\"log\"", "limit"), 64 << 20);
        check_between(50, number_of(0, "\"log\"", "used"), 4096);
        check_between(8 << 19, number_of(0, "\"pool\"", "limit"), 8 << 20);
        check_between(4096, number_of(0, "\"pool\"", "used"), 8 << 20);
        check_equal(number_of(0, "\"pool\"", "dirty"), 1);
        check_said("\"oldest\":null");
        check_xac(0, "top", "--interval", "0.1", "--count", "1", TOOL_ENV);
        check_said("of 64 MiB that force a checkpoint");
        check_said("  1 dirty page,");
        check_said("nobody holds a snapshot");
        check_ok(xac_close(env));
}

/* ---- Participants and environments that come and go ---- */

/* Reads what it says, until it has said that; of processes there are two at most, all the time. */
static void await_said(int from, const char *text)
{
        tool.said_len = 0;
        do {
                ssize_t part = read(from, tool.said + tool.said_len, sizeof(tool.said) - 1 - tool.said_len);

                check(part > 0);
                tool.said_len += (size_t)part;
                tool.said[tool.said_len] = '\0';
        } while (!strstr(tool.said, text) || tool.said[tool.said_len - 1] != '\n');
        for (unsigned line = 0; line < tool_count_said("\n"); line++)
                check_between(0, number_of(line, "{", "processes"), 2);
}

static void participants_that_come_and_die_are_counted(void)
{
        struct stage *stages[2] = { crew_shared(sizeof(*stages[0])), crew_shared(sizeof(*stages[0])) };
        pid_t first = crew_fork(commit_steadily, 0, stages[0]);
        pid_t second, watcher;
        int ends[2];

        crew_turn_await(&stages[0]->turn, 1);
        check_equal(pipe2(ends, O_CLOEXEC), 0);
        watcher = tool_start(tool_args("top", "--json", "--interval", "0.1", TOOL_ENV), ends[1]);
        await_said(ends[0], "\"processes\":1,");
        second = crew_fork(commit_steadily, 0, stages[1]);
        await_said(ends[0], "\"processes\":2,");
        crew_kill(second);
        await_said(ends[0], "\"processes\":1,");
        stages[0]->is_over = 1;
        crew_join(first);
        await_said(ends[0], "\"state\":\"at rest\""); /* the last close removed what the dead one had left */
        crew_kill(watcher);
        close(ends[0]);
        close(ends[1]);
}

static void what_is_at_rest_or_abandoned_is_told(void)
{
        tool_work(0, 20, TOOL_CLOSE);
        check_xac(0, "top", "--interval", "0.1", "--count", "2", TOOL_ENV);
        check_equal(tool_count_said("at rest: nobody uses it"), 2);
        tool_work(0, 20, TOOL_KILL);
        check_xac(0, "top", "--interval", "0.1", "--count", "1", TOOL_ENV);
        check_said("its processes ended without xac_close");
        check_said("  DEAD\n");
        check_said("each second 0.0 commits");
        check_equal(tool_sum(), 40);
}

static void a_directory_that_is_removed_ends_it(void)
{
        char command[512];
        pid_t watcher;

        tool_work(0, 20, TOOL_CLOSE);
        watcher = crew_fork(watch, 1, (void *)(uintptr_t)tool_args("top", "--interval", "0.1", TOOL_ENV));
        crew_sleep_ms(250);
        snprintf(command, sizeof(command), "rm -r '%s'", TOOL_ENV);
        check_equal(system(command), 0);
        crew_join(watcher);
}

static void it_changes_nothing(void)
{
        uint64_t before;

        tool_work(0, 20, TOOL_KILL);
        before = tool_state_of_everything();
        check_xac(0, "top", "--interval", "0.1", "--count", "2", TOOL_ENV);
        check_equal(tool_state_of_everything(), before);
        check_equal(tool_sum(), 20);
}

/* ---- On a terminal ---- */

struct terminal {
        int keys;  /* what is typed is written here, and what is shown is read */
        int other; /* the program's end, also ours, so that its settings can be seen */
        pid_t pid;
};

static struct terminal start_on_terminal(const char *const *args)
{
        struct terminal terminal = { .keys = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC) };
        const char *builddir = getenv("builddir");
        const char *argv[12] = { NULL };
        char program[4096];
        int count = 1;

        check(terminal.keys >= 0 && grantpt(terminal.keys) == 0 && unlockpt(terminal.keys) == 0);
        terminal.other = open(ptsname(terminal.keys), O_RDWR | O_NOCTTY | O_CLOEXEC);
        check(terminal.other >= 0);
        snprintf(program, sizeof(program), "%s/tools/xac/xac", builddir ? builddir : ".");
        for (argv[0] = program; *args; args++)
                argv[count++] = *args;
        fflush(NULL);
        terminal.pid = fork();
        check(terminal.pid >= 0);
        if (terminal.pid == 0) {
                dup2(terminal.other, STDIN_FILENO);
                dup2(terminal.other, STDOUT_FILENO);
                execv(program, (char **)(uintptr_t)argv);
                _exit(127);
        }
        return terminal;
}

/* Reads until it has shown that. */
static void await_shown(const struct terminal *terminal, const char *text)
{
        tool.said_len = 0;
        do {
                ssize_t part = read(terminal->keys, tool.said + tool.said_len, sizeof(tool.said) - 1 - tool.said_len);

                check(part > 0);
                tool.said_len += (size_t)part;
                tool.said[tool.said_len] = '\0';
        } while (!strstr(tool.said, text));
}

static void check_it_ends_by(const char *key, int signal_no)
{
        struct terminal terminal = start_on_terminal(tool_args("top", "--interval", "0.1", TOOL_ENV));
        struct termios before, after;
        int status;

        check_equal(tcgetattr(terminal.other, &before), 0);
        await_shown(&terminal, "\033[?1049h");
        await_shown(&terminal, "commits, 0.0 conflicts");
        if (key)
                check_equal(write(terminal.keys, key, 1), 1);
        else
                check_equal(kill(terminal.pid, signal_no), 0);
        await_shown(&terminal, "\033[?1049l"); /* the first screen is back, and the cursor */
        check_said("\033[?25h");
        check_equal(waitpid(terminal.pid, &status, 0), terminal.pid);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        check_equal(tcgetattr(terminal.other, &after), 0);
        check_equal(after.c_lflag, before.c_lflag | ICANON | ECHO);
        check_equal(memcmp(after.c_cc, before.c_cc, VSUSP), 0);
        close(terminal.keys);
        close(terminal.other);
}

static void a_terminal_is_left_as_it_was(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 0, 0);
        check_it_ends_by("q", 0);
        check_it_ends_by(NULL, SIGINT);
        check_it_ends_by(NULL, SIGTERM);
        check_ok(xac_close(env));
}

/* ---- Mistakes ---- */

static void mistakes_are_explained(void)
{
        check_xac(2, "top", "--interval", "0", TOOL_ENV);
        check_said("--interval takes seconds");
        check_xac(2, "top", "--interval", "1s", TOOL_ENV);
        check_said("'1s'");
        check_xac(2, "top", "--interval", "nan", TOOL_ENV);
        check_xac(2, "top", "--count", "0", TOOL_ENV);
        check_xac(2, "top", "--count", "x", TOOL_ENV);
        check_said("'x'");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(rates_are_those_of_the_program),
                isolated_test(the_pages_that_change_most_are_found),
                isolated_test(who_holds_the_oldest_snapshot_is_told),
                isolated_test(log_and_pool_are_told),
                isolated_test(participants_that_come_and_die_are_counted),
                isolated_test(what_is_at_rest_or_abandoned_is_told),
                isolated_test(a_directory_that_is_removed_ends_it),
                isolated_test(it_changes_nothing),
                isolated_test(a_terminal_is_left_as_it_was),
                isolated_test(mistakes_are_explained),
        };
        return cmocka_run_group_tests_name("xac top", tests, NULL, NULL);
}
