/* SPDX-License-Identifier: MIT */
#include "tests/programs/deaths.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum { WORKERS = DEATHS_WORKERS, TO_BE_KILLED = WORKERS / 2, ROUNDS = 4, OPERATIONS = 150, KILL_MS = 120 };
enum { STUCK_SECONDS = 120 };

static const struct mode {
        const char *name;
        int flags;
} modes[] = { { "volatile", XAC_VOLATILE }, { "durable", 0 } };

/* In memory that processes share. */
static struct {
        _Atomic uint64_t told; /* operations that it knows to be committed */
} * ledger;

static const struct deaths_program *program;
static const struct mode *mode;

/* ---- what an operation is about ---- */

uint64_t deaths_draw(int worker, uint64_t number, uint64_t bound)
{
        return chance_mix(chance_mix((uint64_t)worker + 1) ^ number) % bound;
}

int deaths_word_of(int worker, uint64_t number)
{
        return (int)deaths_draw(worker, chance_mix(number), DEATHS_WORDS);
}

void deaths_word(int word, char text[DEATHS_WORD_BYTES])
{
        snprintf(text, DEATHS_WORD_BYTES, "word %d%s", word,
                 word % 3 ? "" : ", which is longer than what fits into a string itself");
}

/* ---- processes ---- */

static void open_it(void)
{
        program->open(scratch_path(mode->name), XAC_CREATE | mode->flags);
}

/* So many are there: what it was told, or one more, which it did not live to hear of. */
static void hold_to(int worker, uint64_t done)
{
        const uint64_t told = atomic_load(&ledger[worker].told);

        if (done != told && done != told + 1)
                check_failed(__FILE__, __LINE__, "worker %d was told of %" PRIu64 " operations, %" PRIu64 " are there",
                             worker, told, done);
        atomic_store(&ledger[worker].told, done);
}

/* One that is to be killed goes on until it is. */
static void work(int worker, void *unused)
{
        (void)unused;
        open_it();
        uint64_t number = program->done(worker);

        hold_to(worker, number);
        for (const uint64_t end = number + OPERATIONS; worker < TO_BE_KILLED || number < end;) {
                program->operate(worker, number);
                atomic_store(&ledger[worker].told, ++number);
        }
        program->close();
}

/* Nobody works. */
static void audit(int unused, void *arg)
{
        uint64_t done[WORKERS];

        (void)unused;
        (void)arg;
        open_it();
        for (int w = 0; w < WORKERS; w++) {
                done[w] = program->done(w);
                hold_to(w, done[w]);
        }
        program->compare(done);
        program->close();
}

/* Those that are killed die while all others are at work, or when these are done. */
static void run_round(struct chance *chance)
{
        pid_t worker[WORKERS];

        for (int w = 0; w < WORKERS; w++)
                worker[w] = crew_fork(work, w, NULL);
        for (int w = 0; w < TO_BE_KILLED; w++) {
                crew_sleep_ms((unsigned)chance_below(chance, KILL_MS));
                crew_kill(worker[w]);
        }
        for (int w = TO_BE_KILLED; w < WORKERS; w++)
                crew_join(worker[w]);
        crew_join(crew_fork(audit, 0, NULL));
        check_equal(scratch_shared_memory_of(scratch_path(mode->name)), 0);
}

static void run_mode(struct chance *chance)
{
        uint64_t operations = 0;

        ledger = crew_shared(WORKERS * sizeof(*ledger));
        for (int round = 0; round < ROUNDS; round++)
                run_round(chance);
        crew_join(crew_fork(audit, 0, NULL));
        for (int w = 0; w < WORKERS; w++)
                operations += ledger[w].told;
        printf("%s: %d processes killed, %" PRIu64 " operations, all there\n", mode->name, ROUNDS * TO_BE_KILLED,
               operations);
}

static void run_modes(int unused, void *arg)
{
        struct chance chance;

        (void)unused;
        (void)arg;
        chance.state = chance_seed();
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
                mode = &modes[i];
                run_mode(&chance);
        }
}

int deaths_main(const struct deaths_program *its)
{
        program = its;
        setpgid(0, 0);
        crew_limit_s(STUCK_SECONDS);
        program_begin(false);
        return program_run(run_modes, NULL);
}

/* ---- for programs ---- */

static void print_finding(void *arg, const char *text)
{
        (void)arg;
        printf("the heap: %s\n", text);
        fflush(stdout);
}

void deaths_check_heap(xac_heap *heap)
{
        check_ok(xac_heap_check(heap, NULL, print_finding, NULL));
}
