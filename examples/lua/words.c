/* SPDX-License-Identifier: MIT */

/*
 * Lua's interpreter, all of it, lives in a heap in a file (interpreter.h), and four processes share it: each counts its
 * part of the words of a text in a Lua table. A call is a transaction. When half of its words are counted, two of the
 * four are killed with kill -9, in whatever they just do. What they had been told to be counted must be counted, and at
 * most one call more. Others then take over where the table says that they were.
 *
 *      words DIRECTORY SCRIPT TEXT [COUNTS]     COUNTS: a file for what the table holds in the end, as uniq -c says it
 *
 * It goes on with the table that is in the directory. On stderr: how long a call took, and its page faults. Compiled by
 * any compiler it works by these; by xac-cc, unchanged and with the sources of Lua, without one.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "examples/lua/interpreter.h"

enum { WORKERS = 4, TO_BE_KILLED = 2, LOOK_EVERY_NS = 100000, STUCK_SECONDS = 300 };
enum { TEXT_MAX = 8 << 20, WORD_BYTES = 40 };

static const char *directory;
static struct interpreter_script script;
static xac_heap *heap;
static char *words[TEXT_MAX / 2];
static long word_count;
static _Atomic long *told; /* for each worker: calls that it was told to be committed */

static _Noreturn void fail(const char *what, const char *why)
{
        fprintf(stderr, "%s: %s\n", what, why);
        exit(EXIT_FAILURE);
}

static void must(int err, const char *what)
{
        if (err)
                fail(what, xac_strerror(err));
}

static char *read_file(const char *path, size_t *byte_len)
{
        char *bytes = malloc(TEXT_MAX);
        FILE *file = fopen(path, "r");

        if (!bytes || !file)
                fail(path, "cannot be read");
        *byte_len = fread(bytes, 1, TEXT_MAX - 1, file);
        bytes[*byte_len] = '\0';
        fclose(file);
        return bytes;
}

/* Of letters, which become small. */
static void find_words(char *text)
{
        for (char *c = text; *c; c++)
                *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c >= 'a' && *c <= 'z' ? *c : ' ';
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
                if (strlen(word) >= WORD_BYTES)
                        word[WORD_BYTES - 1] = '\0';
                words[word_count++] = word;
        }
}

/* In each process, which makes the interpreter if it is the first. */
static xac_env *open_interpreter(void)
{
        xac_env *env;
        const char *why;

        must(xac_open(directory, XAC_CREATE | XAC_NOSYNC, NULL, &env), directory);
        must(xac_heap_open(env, "heap", XAC_CREATE, &heap), directory);
        if (interpreter_open(env, heap, script, &why))
                fail(directory, why);
        return env;
}

static void close_interpreter(xac_env *env)
{
        must(xac_heap_close(heap), "xac_heap_close");
        must(xac_close(env), "xac_close");
}

/* ---- transactions ---- */

static int call_it(void *call)
{
        const char *why;
        return interpreter_call(call, &why);
}

struct question {
        struct interpreter_call call;
        const char *why;
};

/* Returns 1, so that it is undone: nothing stays of what Lua needed to answer. */
static int ask_and_undo(void *arg)
{
        struct question *question = arg;
        return interpreter_call(&question->call, &question->why) ? -1 : 1;
}

static long ask(xac_env *env, struct interpreter_call call)
{
        struct question question = { .call = call, .why = "the transaction failed" };

        if (xac_run(env, 0, ask_and_undo, &question) != 1)
                fail(call.function, question.why);
        return question.call.number;
}

static long progress_of(xac_env *env, int worker)
{
        return ask(env, (struct interpreter_call){ .function = "progress", .argument = worker });
}

static void check_heap(void)
{
        must(xac_heap_check(heap, NULL, NULL, NULL), "xac_heap_check");
}

/* ---- processes ---- */

/* Its part is each fourth word; it begins where the table says. One that is to be killed waits for it if it must. */
static _Noreturn void work(int worker, bool is_to_be_killed)
{
        xac_env *env = open_interpreter();
        long done = progress_of(env, worker);

        for (long i = worker + done * WORKERS; i < word_count; i += WORKERS) {
                struct interpreter_call call = { .function = "count", .argument = worker, .word = words[i] };
                must(xac_run(env, 0, call_it, &call), "count");
                told[worker] = ++done;
        }
        if (is_to_be_killed)
                pause();
        close_interpreter(env);
        _exit(EXIT_SUCCESS);
}

static pid_t start(int worker, bool is_to_be_killed)
{
        const pid_t pid = fork();

        if (pid < 0)
                fail("fork", "there is no process left");
        if (!pid && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
                work(worker, is_to_be_killed);
        return pid;
}

static void await(pid_t pid)
{
        int status;

        if (waitpid(pid, &status, 0) != pid || status)
                fail("a worker", "failed");
}

/* Those that are to be, each when it has counted half of its words. */
static void kill_half_way(const pid_t *pids)
{
        const struct timespec pause = { 0, LOOK_EVERY_NS };
        bool is_killed[TO_BE_KILLED] = { false };

        for (int killed = 0; killed < TO_BE_KILLED; nanosleep(&pause, NULL))
                for (int w = 0; w < TO_BE_KILLED; w++) {
                        if (is_killed[w] || told[w] < word_count / WORKERS / 2)
                                continue;
                        kill(pids[w], SIGKILL);
                        is_killed[w] = true;
                        killed++;
                }
        for (int w = 0; w < TO_BE_KILLED; w++) {
                int status;
                if (waitpid(pids[w], &status, 0) != pids[w] || !WIFSIGNALED(status))
                        fail("a worker", "had ended before it was killed");
        }
}

/* ---- the play ---- */

/* Nothing that a worker was told is missing, and it has done at most one call that it did not live to be told. */
static void check_told(xac_env *env, int worker, const char *what)
{
        const long done = progress_of(env, worker);

        printf("worker %d %s: it was told of %ld words, the table has %ld\n", worker, what, (long)told[worker], done);
        if (done != told[worker] && done != told[worker] + 1)
                fail("the table", "it is not what the worker was told");
}

static void play(xac_env *env)
{
        pid_t pids[WORKERS];

        for (int w = 0; w < WORKERS; w++)
                pids[w] = start(w, w < TO_BE_KILLED);
        kill_half_way(pids);
        for (int w = TO_BE_KILLED; w < WORKERS; w++)
                await(pids[w]);
        for (int w = 0; w < WORKERS; w++)
                check_told(env, w, w < TO_BE_KILLED ? "was killed" : "came to its end");
        for (int w = 0; w < TO_BE_KILLED; w++)
                pids[w] = start(w, false);
        for (int w = 0; w < TO_BE_KILLED; w++)
                await(pids[w]);
}

static double now_us(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static uint64_t faults_of(xac_env *env)
{
        xac_stats stats;
        must(xac_stat(env, &stats), "xac_stat");
        return stats.read_faults + stats.write_faults;
}

static void play_measured(xac_env *env)
{
        const uint64_t faults = faults_of(env);
        const double begun = now_us();

        play(env);
        fprintf(stderr, "%.1f us a word, ", (now_us() - begun) / (double)word_count);
        fprintf(stderr, "%lu page faults\n", (unsigned long)(faults_of(env) - faults));
}

static void write_counts(xac_env *env, const char *path)
{
        char *text = malloc(TEXT_MAX);
        FILE *file = fopen(path, "w");

        if (!text || !file)
                fail(path, "cannot be written");
        ask(env, (struct interpreter_call){ .function = "report", .text = text, .text_room = TEXT_MAX });
        fputs(text, file);
        if (fclose(file))
                fail(path, "cannot be written");
        free(text);
}

int main(int argc, char **argv)
{
        size_t text_len;

        if (argc < 4)
                fail(argv[0], "DIRECTORY SCRIPT TEXT [COUNTS]");
        alarm(STUCK_SECONDS); /* nobody waits for ever */
        directory = argv[1];
        script.bytes = read_file(argv[2], &script.byte_len);
        find_words(read_file(argv[3], &text_len));
        told = mmap(NULL, WORKERS * sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        xac_env *env = open_interpreter();
        must(xac_run(env, 0, call_it, &(struct interpreter_call){ .function = "begin" }), "begin");
        const long before = ask(env, (struct interpreter_call){ .function = "total" });
        play_measured(env);
        check_heap();
        const long total = ask(env, (struct interpreter_call){ .function = "total" });
        printf("%ld words were in the table, %ld were counted, %ld are there, %ld of them different\n", before,
               word_count, total, ask(env, (struct interpreter_call){ .function = "different" }));
        if (argc > 4)
                write_counts(env, argv[4]);
        close_interpreter(env);
        return total == before + word_count ? EXIT_SUCCESS : EXIT_FAILURE;
}
