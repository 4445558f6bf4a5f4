/* SPDX-License-Identifier: MIT */

/*
 * Lua's interpreter in a heap in a file (examples/lua/interpreter.h), and processes that are killed in it (deaths.h).
 * An operation is a call of a Lua function, or two: some end in an error of Lua's, which Lua catches, or which undoes
 * the transaction.
 *
 * Compiled by xac-cc (COMPILED) it takes no page fault.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "examples/lua/interpreter.h"
#include "tests/programs/deaths.h"
#include "tests/support/check.h"

static const char script[] = "local counts, done = {}, {}\n"
                             "function count(worker, word)\n"
                             "        counts[word] = (counts[word] or 0) + 1\n"
                             "        done[worker] = (done[worker] or 0) + 1\n"
                             "        return counts[word]\n"
                             "end\n"
                             "function spoil(worker, word)\n"
                             "        for i = 1, 20 do counts[word .. i] = { count(worker, word) } end\n"
                             "        error('spoiled')\n"
                             "end\n"
                             "function catch(worker, word)\n"
                             "        local found = {}\n"
                             "        local is_well, what = pcall(function ()\n"
                             "                for i = 1, 50 do found[i] = word .. i end\n"
                             "                error(found)\n"
                             "        end)\n"
                             "        if is_well or what ~= found or #what ~= 50 then error('not caught') end\n"
                             "        return count(worker, word)\n"
                             "end\n"
                             "function done_by(worker) return done[worker] or 0 end\n"
                             "function count_of(_, word) return counts[word] or 0 end\n"
                             "function different()\n"
                             "        local n = 0\n"
                             "        for word, count in pairs(counts) do n = n + 1 end\n"
                             "        return n\n"
                             "end\n";

static xac_env *env;
static xac_heap *heap;

static void open_it(const char *directory, int flags)
{
        const char *why;

        check_ok(xac_open(directory, flags, NULL, &env));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        if (interpreter_open(env, heap, (struct interpreter_script){ script, sizeof(script) - 1 }, &why))
                check_failed(__FILE__, __LINE__, "%s", why);
}

static void close_it(void)
{
#ifdef COMPILED
        xac_stats stats;
        check_ok(xac_stat(env, &stats));
        check_equal(stats.read_faults + stats.write_faults, 0);
#endif
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

/* ---- calls ---- */

struct question {
        struct interpreter_call call;
        bool is_kept, is_error;
        const char *why;
};

/* Returns 1 if it is undone. */
static int call_it(void *arg)
{
        struct question *question = arg;

        question->is_error = interpreter_call(&question->call, &question->why) != 0;
        return question->is_error || !question->is_kept;
}

static struct question ask(const char *function, int worker, const char *word, bool is_kept)
{
        struct question question = { .call = { .function = function, .argument = worker, .word = word },
                                     .is_kept = is_kept };
        const int err = xac_run(env, 0, call_it, &question);

        if (err != 0 && err != 1)
                check_code(err, 0);
        return question;
}

static long answer(const char *function, int worker, const char *word, bool is_kept)
{
        const struct question question = ask(function, worker, word, is_kept);

        if (question.is_error)
                check_failed(__FILE__, __LINE__, "%s: %s", function, question.why);
        return question.call.number;
}

static void operate(int worker, uint64_t number)
{
        char word[DEATHS_WORD_BYTES];

        deaths_word(deaths_word_of(worker, number), word);
        if (deaths_draw(worker, number, 5) == 0) {
                const struct question question = ask("spoil", worker, word, true);
                check(question.is_error && strstr(question.why, "spoiled"));
        }
        check(answer(deaths_draw(worker, number, 3) ? "count" : "catch", worker, word, true) > 0);
}

static uint64_t done(int worker)
{
        return (uint64_t)answer("done_by", worker, NULL, false);
}

static void compare(const uint64_t done_by[DEATHS_WORKERS])
{
        long counts[DEATHS_WORDS] = { 0 }, different = 0;
        char word[DEATHS_WORD_BYTES];

        for (int w = 0; w < DEATHS_WORKERS; w++)
                for (uint64_t number = 0; number < done_by[w]; number++)
                        counts[deaths_word_of(w, number)]++;
        for (int i = 0; i < DEATHS_WORDS; i++) {
                deaths_word(i, word);
                check_equal(answer("count_of", 0, word, false), counts[i]);
                different += counts[i] != 0;
        }
        check_equal(answer("different", 0, NULL, false), different);
        deaths_check_heap(heap);
}

int main(void)
{
        return deaths_main(&(struct deaths_program){ open_it, close_it, operate, done, compare });
}
