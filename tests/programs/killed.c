/* SPDX-License-Identifier: MIT */

/*
 * Drives a program that speaks as examples/support/workers.h says: four processes of it work in one environment, half
 * of them are killed (SIGKILL) at random moments, the others come to their end. Then, and in between, the program must
 * find everything that was committed and nothing else, and no worker that printed a dot may have been promised too
 * much. Once more after all have closed the environment, when another process opens it.
 *
 *      killed --program PROGRAM [--operations N] [--seed SEED]      N of each that comes to its end
 */

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

#include <xac/xac.h>

enum { WORKERS = 4, KILLED = WORKERS / 2, DELAY_US = 500, SAID_BYTES = 4096, NUMBER_BYTES = 24, LIMIT_SECONDS = 120 };

static const char endless[] = "1000000000"; /* operations: who is to be killed does not come to its end */

static const char *program;
static uint64_t operations = 300;
static struct chance chance;

static const struct mode {
        const char *name, *option; /* NULL: none */
        int flags;
} modes[] = { { "volatile", "-v", XAC_VOLATILE }, { "durable", NULL, 0 } };
static const struct mode *mode;

struct call {
        const char *arguments[8]; /* behind the directory, up to NULL */
        int output;
};

/* ---- the program ---- */

static void execute(int unused, void *arg)
{
        const struct call *call = arg;
        const char *arguments[16] = { program };
        int count = 1;

        (void)unused;
        if (mode->option)
                arguments[count++] = mode->option;
        arguments[count++] = scratch_path(mode->name);
        for (int i = 0; call->arguments[i]; i++)
                arguments[count++] = call->arguments[i];
        check(dup2(call->output, STDOUT_FILENO) >= 0);
        execv(program, (char *const *)arguments);
        check_failed(__FILE__, __LINE__, "%s cannot be run", program);
}

/* What it prints can be read from *output. */
static pid_t start(struct call *call, int *output)
{
        int ends[2];

        check_equal(pipe2(ends, O_CLOEXEC), 0);
        call->output = ends[1];
        const pid_t pid = crew_fork(execute, 0, call);
        close(ends[1]);
        *output = ends[0];
        return pid;
}

/* What `check` says; it must find nothing wrong. */
static void check_program(char said[SAID_BYTES])
{
        size_t said_len = 0;
        ssize_t got;
        int output;
        const pid_t pid = start(&(struct call){ { "check" }, 0 }, &output);

        while ((got = read(output, said + said_len, SAID_BYTES - 1 - said_len)) > 0)
                said_len += (size_t)got;
        said[said_len] = '\0';
        close(output);
        const int status = crew_status(pid);
        if (status)
                check_failed(__FILE__, __LINE__, "%s: the check ends with status %#x: %s", mode->name, (unsigned)status,
                             said);
}

/* ---- its workers ---- */

static struct worker {
        pid_t pid;
        int output;     /* -1: it has ended */
        uint64_t dots;  /* operations that it was told to be committed */
        uint64_t limit; /* so many dots, and it is killed; 0: it is not */
} workers[WORKERS];

static void start_worker(int index)
{
        char index_text[NUMBER_BYTES], operations_text[NUMBER_BYTES], seed[NUMBER_BYTES];
        struct worker *worker = &workers[index];

        *worker = (struct worker){ .limit = index < KILLED ? 1 + chance_below(&chance, operations) : 0 };
        snprintf(index_text, sizeof(index_text), "%d", index);
        snprintf(operations_text, sizeof(operations_text), "%" PRIu64, operations);
        snprintf(seed, sizeof(seed), "%" PRIu64, chance_next(&chance));
        worker->pid =
                start(&(struct call){ { "work", index_text, worker->limit ? endless : operations_text, seed }, 0 },
                      &worker->output);
}

static void end_worker(struct worker *worker)
{
        const int status = crew_status(worker->pid);

        close(worker->output);
        worker->output = -1;
        check_equal(status, worker->limit ? SIGKILL : 0);
}

/* Reads dots, and perhaps kills it. False: there are no more. */
static bool hear(struct worker *worker)
{
        char dots[SAID_BYTES];
        const ssize_t got = read(worker->output, dots, sizeof(dots));

        check(got >= 0);
        const bool is_due = worker->limit && worker->dots < worker->limit;
        worker->dots += (uint64_t)got;
        if (is_due && worker->dots >= worker->limit) {
                usleep((useconds_t)chance_below(&chance, DELAY_US));
                check_equal(kill(worker->pid, SIGKILL), 0);
        }
        return got > 0;
}

/* Until all have ended. When the first has, the others work on while everything is looked at. */
static void attend(void)
{
        char said[SAID_BYTES];
        int left = WORKERS;

        while (left) {
                struct pollfd outputs[WORKERS];
                for (int i = 0; i < WORKERS; i++)
                        outputs[i] = (struct pollfd){ .fd = workers[i].output, .events = POLLIN };
                check(poll(outputs, WORKERS, -1) > 0);
                for (int i = 0; i < WORKERS; i++) {
                        if (!outputs[i].revents || hear(&workers[i]))
                                continue;
                        end_worker(&workers[i]);
                        if (left-- == WORKERS)
                                check_program(said);
                }
        }
}

/* Of what was promised nothing is missing; more there is one operation at most, in which a worker was killed. */
static void hold_to_dots(const char *said)
{
        for (int i = 0; i < WORKERS; i++) {
                char begin[NUMBER_BYTES];
                snprintf(begin, sizeof(begin), "worker %d: ", i);
                const char *line = strstr(said, begin);
                check(line != NULL);
                const uint64_t done = strtoull(line + strlen(begin), NULL, 10), dots = workers[i].dots;
                if (done != dots && !(workers[i].limit && done == dots + 1))
                        check_failed(__FILE__, __LINE__,
                                     "worker %d was told of %" PRIu64 " operations, of which %" PRIu64 " are there", i,
                                     dots, done);
        }
}

static void run(int unused, void *unused_too)
{
        char before[SAID_BYTES], after[SAID_BYTES];
        xac_env *env;

        (void)unused, (void)unused_too;
        crew_limit_s(LIMIT_SECONDS);
        for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
                mode = &modes[m];
                check_ok(xac_open(scratch_path(mode->name), XAC_CREATE | mode->flags, NULL, &env));
                for (int i = 0; i < WORKERS; i++)
                        start_worker(i);
                attend();
                check_program(before);
                hold_to_dots(before);
                check_ok(xac_close(env));
                check_equal(scratch_shared_memory_of(scratch_path(mode->name)), 0);
                check_program(after);
                if (strcmp(before, after) != 0)
                        check_failed(__FILE__, __LINE__, "%s: it was\n%s, and is, opened again,\n%s", mode->name,
                                     before, after);
                printf("%s: %d of %d killed, all is there:\n%s", mode->name, KILLED, WORKERS, after);
        }
}

int main(int argc, char **argv)
{
        const struct program_option known[] = { { "program", .text = &program },
                                                { "operations", .number = &operations },
                                                { 0 } };

        program_options(argc, argv, known);
        if (!program)
                return 2;
        chance.state = chance_seed();
        program_begin(false);
        return program_run(run, NULL);
}
