/* SPDX-License-Identifier: MIT */

/*
 * Operations on trees while system calls and allocations fail: a script of all kinds of operations runs once for each
 * call k that it makes, with that call failing, and again with that one and many later ones of its kind failing. Each
 * operation has a code then, and has happened or not, as a whole; a transaction that is lost is lost as a whole. Once
 * nothing fails any more, xac_tree_check finds nothing, all trees hold what the codes said, and the script runs
 * through.
 *
 * One test for each way in and each kind of tree. There are many calls, so that SAMPLES of them fail unless
 * XAC_TEST_LONG is set, chosen by the seed. Replay one case: XAC_TEST_CASE=kind of tree,entry,k,errno,is_lasting (as
 * printed).
 */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/trees/failing.h"
#include "tests/trees/failure_script.h"

enum { SAMPLES = 40, CASE_SECONDS = 20, SECONDS = 100, REPORTS_MAX = 4 };

/* ---- cases ---- */

struct failing_case {
        enum entry entry;
        enum xtree_kind kind_of_tree;
        struct failing_plan plan;
        int kind;
};

/* The calls of the script, and how the cases went; in memory that processes share. */
static struct tally {
        int calls;
        uint8_t kinds[FAILING_MAX + 1];
        int cases, stuck, wrong;
} * tally;

static void run_case(int unused, void *case_)
{
        const struct failing_case *this = case_;

        (void)unused;
        crew_limit_s(CASE_SECONDS);
        script_prepare(this->entry, this->kind_of_tree);
        failing_start(&this->plan);
        script_play();
        int calls = failing_stop();
        check(calls < FAILING_MAX);
        if (!this->plan.nth) {
                tally->calls = calls;
                for (int i = 1; i <= calls; i++)
                        tally->kinds[i] = (uint8_t)failing_kind(i);
        }
        script_prove();
}

/* When mmap gives nothing at all any more, no page of a view can be shown, and the program is told why. */
static bool is_stuck(const struct failing_case *this, const struct crash *crash)
{
        return crash->signal == SIGSEGV && this->plan.is_lasting && entries[this->entry].access == XAC_ARENA_VIEW &&
               strstr(crash->said, "no mapping could be made");
}

static void try_case(const struct failing_case *this)
{
        struct crash crash;

        tally->cases++;
        crash_run(run_case, 0, (void *)(uintptr_t)this, &crash);
        script_clean_up();
        if (!crash.signal && !crash.status)
                return;
        if (is_stuck(this, &crash)) {
                tally->stuck++;
                return;
        }
        if (tally->wrong++ < REPORTS_MAX)
                dprintf(STDERR_FILENO,
                        "%s%s, %s: call number %d (%s) gives %s, %s: ended by signal %d, status %d\n"
                        "replay: XAC_TEST_CASE=%d,%d,%d,%d,%d\n",
                        crash.said, xtree_names[this->kind_of_tree], entries[this->entry].name, this->plan.nth,
                        failing_name(this->kind), strerror(-this->plan.with),
                        this->plan.is_lasting ? "from then on" : "once", crash.signal, crash.status, this->kind_of_tree,
                        this->entry, this->plan.nth, this->plan.with, this->plan.is_lasting);
}

static void try_number(const struct failing_case *usual, int nth)
{
        struct failing_case this = *usual;

        this.kind = tally->kinds[nth];

        for (const int *with = failing_errors(this.kind); *with; with++)
                for (int is_lasting = 0; is_lasting <= 1; is_lasting++) {
                        this.plan = (struct failing_plan){ nth, *with, is_lasting };
                        try_case(&this);
                }
}

/* Tests are numbered: entry + ENTRIES * kind of tree. */
static void try_entry(int number)
{
        const struct failing_case nothing_fails = { .entry = (enum entry)(number % ENTRIES),
                                                    .kind_of_tree = (enum xtree_kind)(number / ENTRIES) };
        struct chance chance = { chance_seed() };
        int stride = 1;

        tally = crew_shared(sizeof(*tally));
        try_case(&nothing_fails);
        check_equal(tally->wrong, 0);
        if (!getenv("XAC_TEST_LONG") && tally->calls > SAMPLES / 2)
                stride = tally->calls * 2 / SAMPLES + 1;
        for (int nth = 1 + (int)chance_below(&chance, (uint64_t)stride); nth <= tally->calls;
             nth += 1 + (int)chance_below(&chance, 2 * (uint64_t)stride - 1))
                try_number(&nothing_fails, nth);
        dprintf(STDOUT_FILENO, "%s, %s: %d calls; %d cases, %d stuck, %d wrong\n",
                xtree_names[nothing_fails.kind_of_tree], entries[nothing_fails.entry].name, tally->calls, tally->cases,
                tally->stuck, tally->wrong);
        check_equal(tally->wrong, 0);
}

static void replay_one(void)
{
        struct failing_case this = { .entry = IN_MEMORY };
        int kind, entry, is_lasting;

        check(sscanf(getenv("XAC_TEST_CASE"), "%d,%d,%d,%d,%d", &kind, &entry, &this.plan.nth, &this.plan.with,
                     &is_lasting) == 5);
        check(entry >= 0 && entry < ENTRIES && kind >= 0 && kind < XTREE_ORDERED);
        this.entry = (enum entry)entry;
        this.kind_of_tree = (enum xtree_kind)kind;
        tally = crew_shared(sizeof(*tally));
        try_case(&(struct failing_case){ .entry = this.entry, .kind_of_tree = this.kind_of_tree });
        this.kind = tally->kinds[this.plan.nth];
        this.plan.is_lasting = is_lasting;
        try_case(&this);
        check_equal(tally->wrong + tally->stuck, 0);
}

int main(void)
{
        enum { EACH = ENTRIES * XTREE_ORDERED };
        static char names[EACH][48];
        struct isolated isolated[EACH];
        struct CMUnitTest tests[EACH];
        const struct CMUnitTest replay[] = { isolated_test(replay_one) };

        places_prefer_memory(); /* many syncs */
        if (getenv("XAC_TEST_CASE"))
                return cmocka_run_group_tests_name("failure", replay, NULL, NULL);
        for (int i = 0; i < EACH; i++) {
                snprintf(names[i], sizeof(names[i]), "%s, %s", xtree_names[i / ENTRIES], entries[i % ENTRIES].name);
                isolated[i] = (struct isolated){ .each = try_entry,
                                                 .way = i,
                                                 .seconds = getenv("XAC_TEST_LONG") ? 36 * SECONDS : SECONDS };
                tests[i] = (struct CMUnitTest){ .name = names[i],
                                                .test_func = isolate_run,
                                                .initial_state = &isolated[i] };
        }
        return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
