/* SPDX-License-Identifier: MIT */

/*
 * P7, for every system call and every allocation: each script runs once for each call k that it makes, with that call
 * failing. It gives one of the errors that it may give, alone or with all later calls of its kind: the seed chooses
 * this way. With XAC_TEST_LONG it is each of these ways. Whatever the calls of the library return then, the program
 * goes on; and once nothing fails any more, everything committed is there, views show it, new transactions commit, no
 * slot, descriptor or mapping is lost, and the plain files are right after the last close.
 *
 * The same in a durable environment, where half of the cases end with the machine going down: everything that was
 * acknowledged is there, and the commit that ended in XAC_POISONED is there as a whole or not at all. These are
 * many more calls, so that only SAMPLES of them fail, chosen by the seed, unless XAC_TEST_LONG is set.
 *
 * Replay one case: XAC_TEST_CASE=script,k,errno,mode (as printed).
 */

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/failure/inject.h"
#include "tests/failure/scripts.h"
#include "tests/failure/world.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

enum {
        WORKERS = 2,
        SECONDS = 100,
        LONG_SECONDS = 3600,
        CASE_SECONDS = 20,
        SCRIPTS_MAX = 32,
        SAMPLES = 60,
        REPORTS_MAX = 4,
        LOST_PAGES_MAX = 1 << 18 /* a view reserves 2^22 pages of address space */
};

/* A script's number, with this added in a durable environment. */
enum { DURABLE = SCRIPTS_MAX };

struct fault_case {
        int script;
        struct inject_plan plan;
        int kind;
        const char *directory;
};

/* The calls of a script, in memory that processes share. */
struct script_calls {
        int count;
        uint8_t kind[INJECT_LIST_MAX + 1];
};
static struct script_calls *script_calls;

/* Of one script. */
static struct tally {
        _Atomic int cases;
        _Atomic int stuck; /* the fault handler could map nothing, and said so */
        _Atomic int wrong;
} * tally;

/* ---- One case ---- */

static int count_descriptors(void)
{
        DIR *open_now = opendir("/proc/self/fd");
        int count = 0;

        check(open_now != NULL);
        while (readdir(open_now))
                count++;
        closedir(open_now);
        return count;
}

static long long count_mapped_pages(void)
{
        long long pages = 0;
        FILE *statm = fopen("/proc/self/statm", "re");

        check(statm != NULL && fscanf(statm, "%lld", &pages) == 1);
        fclose(statm);
        return pages;
}

static const struct script *script_of(const struct fault_case *this)
{
        return &scripts[this->script % DURABLE];
}

/* The machine goes down at the end: the case's process ends as it is, and its shared memory goes. */
static bool ends_in_crash(const struct fault_case *this)
{
        return this->script >= DURABLE && (this->plan.nth + this->plan.mode) % 2;
}

static void finish(const struct script *script)
{
        while (world.depth)
                world_abort();
        /* Who shares a poisoned environment must leave it too before it is recovered. */
        if (script->is_shared && world_truth->is_poisoned && world.env)
                (void)world_close();
        if (!world_truth->is_poisoned)
                world_prove(!script->is_shared);
        scripts_dismiss_companion();
        if (world_truth->is_poisoned)
                world_prove(true);
        world_check_files();
}

static void run_case(int unused, void *case_)
{
        const struct fault_case *this = case_;
        const struct script *script = script_of(this);
        int descriptors = count_descriptors();
        long long mapped = count_mapped_pages();

        (void)unused;
        crew_limit_s(CASE_SECONDS);
        script->prepare();
        inject_start(&this->plan);
        script->act();
        script_calls->count = inject_stop();
        if (!this->plan.nth)
                for (int i = 1; i <= script_calls->count; i++)
                        script_calls->kind[i] = (uint8_t)inject_kind_of(i);
        if (ends_in_crash(this)) {
                scripts_kill_companion();
                _exit(0);
        }
        finish(script);
        check_equal(count_descriptors(), descriptors);
        if (!inject_failed(SYS_MUNMAP)) /* this->kind may not say so: see is_stuck */
                check(count_mapped_pages() - mapped < LOST_PAGES_MAX);
}

/* What a process that died left is there for the next one. */
static void rescue(int unused, void *case_)
{
        (void)unused, (void)case_;
        crew_limit_s(CASE_SECONDS);
        world_prove(true);
        world_check_files();
}

static void report(const struct fault_case *this, const struct crash *crash, const char *how)
{
        dprintf(STDERR_FILENO,
                "%s%s: %s, call number %d, gives %s, %s: ended by signal %d, status %d\n"
                "replay: XAC_TEST_CASE=%d,%d,%d,%d\n",
                crash->said, script_of(this)->name, inject_kind_name(this->kind), this->plan.nth,
                strerror(-this->plan.with), how, crash->signal, crash->status, this->script, this->plan.nth,
                this->plan.with, this->plan.mode);
}

static bool is_wrong(const struct crash *crash)
{
        return crash->signal || crash->status;
}

/* When mmap gives nothing at all any more, no page can be shown that is not: a program that
 * touches one cannot go on, and is told why. Nothing else may end it. (In a durable environment the
 * library's thread may have been quicker than when the calls were counted: then the number is another call's.) */
static bool is_stuck(const struct fault_case *this, const struct crash *crash)
{
        bool may_be_mmap = this->kind == SYS_MMAP || this->script >= DURABLE;

        return crash->signal == SIGSEGV && may_be_mmap && this->plan.mode == INJECT_FOR_GOOD &&
               strstr(crash->said, "libxac: access to") && strstr(crash->said, "no mapping could be made");
}

/* A process of its own for each case. */
static void try_case(const struct fault_case *this)
{
        struct crash crash;

        tally->cases++;
        world_set_durable(this->script >= DURABLE);
        world_set_directory(this->directory);
        crash_run(run_case, 0, (void *)(uintptr_t)this, &crash);
        if (is_stuck(this, &crash)) {
                tally->stuck++;
                if (getenv("XAC_TEST_STUCK"))
                        report(this, &crash, "stuck");
                crash_run(rescue, 0, NULL, &crash);
        } else if (ends_in_crash(this) && !is_wrong(&crash)) {
                world_remove_shared_memory();
                crash_run(rescue, 0, NULL, &crash);
        }
        if (is_wrong(&crash) && tally->wrong++ < REPORTS_MAX)
                report(this, &crash, this->plan.mode == INJECT_ONCE ? "once" : "from then on");
        world_remove_directory();
}

/* ---- All cases of a script ---- */

struct job {
        int script;
        uint64_t seed;
        struct script_calls *calls; /* the script's, when nothing fails */
};

static bool is_long(void)
{
        return getenv("XAC_TEST_LONG") != NULL;
}

static void try_number(const struct job *job, const char *directory, int nth)
{
        int kind = job->calls->kind[nth];
        uint64_t ways = 0, way = 0;

        for (const int *with = inject_errors(kind); *with; with++)
                ways += 2;
        uint64_t chosen = chance_mix(job->seed + (uint64_t)nth) % (ways ? ways : 1);
        for (const int *with = inject_errors(kind); *with; with++)
                for (enum inject_mode mode = INJECT_ONCE; mode <= INJECT_FOR_GOOD; mode++) {
                        const struct fault_case this = { job->script, { nth, *with, mode }, kind, directory };

                        if (is_long() || way++ == chosen)
                                try_case(&this);
                }
}

/* Every call, or of many every so-manieth. */
static int stride_of(const struct job *job)
{
        bool is_sampled = job->script >= DURABLE && !is_long();

        return is_sampled && job->calls->count > SAMPLES ? job->calls->count / SAMPLES : 1;
}

/* One of the workers: every WORKERS-th of these calls is its own. */
static void work(int index, void *job_)
{
        const struct job *job = job_;
        const int stride = stride_of(job);
        char directory[32];

        world_make_truth();
        script_calls = crew_shared(sizeof(*script_calls));
        snprintf(directory, sizeof(directory), "env%d", index);
        for (int nth = 1 + (int)(job->seed % (uint64_t)stride) + index * stride; nth <= job->calls->count;
             nth += WORKERS * stride)
                try_number(job, scratch_path(directory), nth);
}

static int count_kind(const struct script_calls *calls, int kind)
{
        int count = 0;

        for (int i = 1; i <= calls->count; i++)
                count += calls->kind[i] == kind;
        return count;
}

static void try_script(int script)
{
        struct job job = { .script = script, .seed = is_long() ? 0 : chance_seed() };
        const struct fault_case nothing_fails = { .script = script, .directory = scratch_path("env") };

        tally = crew_shared(sizeof(*tally));
        world_make_truth();
        job.calls = script_calls = crew_shared(sizeof(*script_calls));
        try_case(&nothing_fails);
        crew_processes(WORKERS, work, &job);
        dprintf(STDOUT_FILENO, "%s: %d calls, %d of them allocations; %d cases, %d stuck, %d wrong\n",
                scripts[script % DURABLE].name, job.calls->count, count_kind(job.calls, INJECT_MALLOC), tally->cases,
                tally->stuck, tally->wrong);
        check_equal(tally->wrong, 0);
}

/* ---- As tests ---- */

static void replay_one(void)
{
        struct fault_case this = { .directory = scratch_path("env") };
        int mode;

        check(sscanf(getenv("XAC_TEST_CASE"), "%d,%d,%d,%d", &this.script, &this.plan.nth, &this.plan.with, &mode) ==
              4);
        this.plan.mode = (enum inject_mode)mode;
        check(this.script >= 0 && this.script % DURABLE < script_count);
        tally = crew_shared(sizeof(*tally));
        world_make_truth();
        script_calls = crew_shared(sizeof(*script_calls));
        try_case(&(struct fault_case){ .script = this.script, .directory = this.directory });
        this.kind = script_calls->kind[this.plan.nth];
        try_case(&this);
        check_equal(tally->wrong + tally->stuck, 0);
}

static void add_test(struct CMUnitTest *test, struct isolated *isolated, int script, const char *name)
{
        *isolated =
                (struct isolated){ .each = try_script, .way = script, .seconds = is_long() ? LONG_SECONDS : SECONDS };
        *test = (struct CMUnitTest){ .name = name, .test_func = isolate_run, .initial_state = isolated };
}

int main(void)
{
        struct CMUnitTest tests[2 * SCRIPTS_MAX];
        struct isolated isolated[2 * SCRIPTS_MAX];
        char names[SCRIPTS_MAX][64];
        size_t count = 0;
        const struct CMUnitTest replay[] = { isolated_test(replay_one) };

        if (getenv("XAC_TEST_CASE"))
                return cmocka_run_group_tests_name("every_call", replay, NULL, NULL);
        places_prefer_memory(); /* tens of thousands of syncs */
        for (int i = 0; i < script_count; i++) {
                if (scripts[i].where != SCRIPT_DURABLE) {
                        add_test(&tests[count], &isolated[count], i, scripts[i].name);
                        count++;
                }
                if (scripts[i].where == SCRIPT_VOLATILE)
                        continue;
                snprintf(names[i], sizeof(names[i]), "%s, durably", scripts[i].name);
                add_test(&tests[count], &isolated[count], DURABLE + i, names[i]);
                count++;
        }
        return _cmocka_run_group_tests("every_call", tests, count, NULL, NULL);
}
