/* SPDX-License-Identifier: MIT */

/*
 * Directories that somebody has crafted: environments, archives, backups and traces with changes that are made on
 * purpose, checksums included, through every subcommand of xac that takes a directory, as root. No tool ends by a
 * signal, takes 1 GiB or ten seconds, or touches what lies outside (crafted_ground.h).
 *
 *      crafted [--seconds N] [--directories N] [--jobs N] [--keep-going] [--verbose] [--execute] [--xac PROGRAM]
 *      crafted --seed S --directory K         that directory once more
 *
 * Each directory has a number; seed and number repeat it. Each run of xac is a process of its own. To load and link
 * xac takes as long as most of its subcommands, so that process is a child that calls xac's main(), but for one
 * directory in EXECUTED (--execute: none). A subcommand that is given only what no change has reached would do what it
 * did before, and is left out, but for the same directories.
 */

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/crafted/crafted_change.h"
#include "tests/crafted/crafted_ground.h"
#include "tests/crafted/crafted_run.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"

/* EXECUTED: of so many directories one meets xac executed as users do, all others call it (crafted_run.h). */
enum { SECONDS = 20, CHANGES_MAX = 4, WHAT = 200, EXECUTED = 50, JOBS = 2, TELL_SECONDS = 60 };
#define ALL UINT64_MAX

struct tally {
        _Atomic uint64_t directories, runs, failures;
        _Atomic uint64_t longest_ms, largest_kb;
        _Atomic bool is_forbidden;
};

struct drill {
        uint64_t seed, seconds, directories, jobs, directory;
        bool keeps_going, is_verbose, executes;
        const char *xac;
        uint64_t begun_ns;
        struct tally *tally;
        const char *self;
};

/* What one directory was made of. */
struct crafted {
        uint64_t number;
        bool executes; /* xac, as users do; and all tools meet it, also those that are given what did not change */
        unsigned changes;
        const char *where[CHANGES_MAX];
        char what[CHANGES_MAX][WHAT];
};

/* ---- Tools ---- */

struct tool {
        bool writes; /* so that it gets a copy of its own */
        const char *args[CRAFTED_ARGS];
};

/* A word with a slash at its beginning is a path in the copy. One with "</" is only read, and not copied. */
static const struct tool tools[] = {
        { false, { "stat", "/env" } },
        { false, { "check", "/env" } },
        { false, { "check", "--unchanged", "/env" } },
        { false, { "log", "/env" } },
        { false, { "log", "--bytes", "/env" } },
        { false, { "top", "--count", "1", "--interval", "0.1", "/env" } },
        { false, { "clean", "/env" } },
        { false, { "stat", "/full" } },
        { false, { "stat", "/next" } },
        { false, { "check", "/full" } },
        { false, { "archive", "--list", "--files", "/archive" } },
        { false, { "archive", "--check", "/archive" } },
        { false, { "restore", "--check", "/full", "/next" } },
        { false, { "trace", "/trace" } },
        { true, { "repair", "--from=</full", "/env" } },
        { true, { "scrub", "--force", "/env" } },
        { true, { "recover", "/env" } },
        { true, { "recover", "--force", "--give-up-damaged", "/env" } },
        { true, { "heap", "--force", "/env", "heap" } },
        { true, { "backup", "--force", "/env", "/out" } },
        { true, { "backup", "--force", "--since=</full", "/env", "/out" } },
        { true, { "restore", "</full", "</next", "/out" } },
        { true, { "restore", "--archive=</archive", "</full", "/out" } },
        { true, { "archive", "/env", "/archive" } },
        { true, { "archive", "--keep-since=5", "/archive" } },
        { true, { "trace", "--perfetto=/out", "</trace" } },
};

/* Of a server of a copy of the environment. */
static const struct tool server = { true, { "serve", "--force", "/env", "/socket" } };
static const struct tool clients[] = {
        { true, { "get", "--list", "/socket" } },
        { true, { "get", "/socket", "first" } },
        { true, { "get", "--count", "/socket", "trees", "words" } },
        { true, { "get", "--way=pages", "--repeat=2", "/socket", "trees", "numbers" } },
};

static bool is_only_read(const char *word, const char *slash)
{
        return slash > word && slash[-1] == '<';
}

static const char *in_copy(const char *word, bool writes, char path[GROUND_PATH])
{
        const char *slash = strchr(word, '/');

        if (!slash)
                return word;
        const bool is_read = is_only_read(word, slash);
        snprintf(path, GROUND_PATH, "%.*s%.3000s%s", (int)(slash - word) - is_read, word,
                 ground_path(writes && !is_read ? "work" : "crafted"), slash);
        return path;
}

/* Of what its words name, as far as it is there: `out` is the tool's to make. */
static void copy_what_it_needs(const struct tool *tool)
{
        ground_begin("work");
        for (int i = 0; i < CRAFTED_ARGS && tool->args[i]; i++) {
                const char *slash = strchr(tool->args[i], '/');

                if (slash && !is_only_read(tool->args[i], slash))
                        ground_copy_entry("crafted", "work", slash + 1);
        }
}

/* Who is given only what is as it was made has met that before. */
static bool meets_a_change(const struct tool *tool, const struct crafted *crafted)
{
        for (int i = 0; i < CRAFTED_ARGS && tool->args[i]; i++) {
                const char *slash = strchr(tool->args[i], '/');

                for (unsigned change = 0; slash && change < crafted->changes; change++)
                        if (strcmp(slash + 1, crafted->where[change]) == 0)
                                return true;
        }
        return crafted->executes;
}

static void set_args(const struct tool *tool, const char *args[CRAFTED_ARGS + 1])
{
        static char paths[CRAFTED_ARGS][GROUND_PATH];

        for (int i = 0; i < CRAFTED_ARGS && tool->args[i]; i++)
                args[i] = in_copy(tool->args[i], tool->writes, paths[i]);
}

static void run_tool(const struct tool *tool, struct crafted_run *run)
{
        const char *args[CRAFTED_ARGS + 1] = { NULL };

        set_args(tool, args);
        if (tool->writes)
                copy_what_it_needs(tool);
        crafted_run(run, args);
        if (tool->writes)
                ground_clean_memory();
}

/* ---- Rounds ---- */

static void note_most(_Atomic uint64_t *most, uint64_t now)
{
        for (uint64_t before = atomic_load(most); now > before && !atomic_compare_exchange_weak(most, &before, now);)
                ;
}

static void fail(const struct drill *drill, const struct crafted *crafted, const struct crafted_run *run,
                 const char *why)
{
        atomic_fetch_add(&drill->tally->failures, 1);
        printf("FAILED, directory %" PRIu64 ": xac %s: %s (%.1f s, %ld kB)\n", crafted->number, run->command, why,
               run->seconds, run->memory_kb);
        for (unsigned i = 0; i < crafted->changes; i++)
                printf("   %s\n", crafted->what[i]);
        printf("   it said: %.600s\n   replay: %s --seed %" PRIu64 " --directory %" PRIu64 "\n", run->said, drill->self,
               drill->seed, crafted->number);
}

static void craft(const struct drill *drill, uint64_t number, struct crafted *crafted)
{
        static const char *const places[] = { "env", "env", "env", "archive", "full", "next", "trace" };
        struct chance chance = { chance_mix(drill->seed ^ chance_mix(number)) };

        *crafted = (struct crafted){ .number = number,
                                     .executes = drill->executes || drill->xac || number % EXECUTED == 0,
                                     .changes = 1 + (unsigned)chance_below(&chance, CHANGES_MAX) };
        crafted_execute(crafted->executes);
        ground_remove("work"); /* a server may have filled the ground, by reading holes */
        ground_copy("template", "crafted");
        for (unsigned i = 0; i < crafted->changes; i++) {
                const char *where = places[chance_below(&chance, sizeof(places) / sizeof(places[0]))];
                char directory[WHAT] = "crafted"; /* `trace` is the one file there */

                if (strcmp(where, "trace") != 0)
                        snprintf(directory, sizeof(directory), "crafted/%s", where);
                crafted->where[i] = where;
                crafted_change(directory, &chance, crafted->what[i], WHAT);
        }
}

static bool is_over(const struct drill *drill)
{
        const struct tally *tally = drill->tally;

        if (atomic_load(&tally->failures) && !drill->keeps_going)
                return true;
        if (drill->directories && atomic_load(&tally->directories) >= drill->directories)
                return true;
        return drill->seconds && crew_clock_ns() - drill->begun_ns >= drill->seconds * 1000000000u;
}

/* No failure yet. Who reads the drill's output looks at it all the same. */
static void tell_if_near(const struct drill *drill, const struct crafted *crafted, const struct crafted_run *run)
{
        if (run->memory_kb < CRAFTED_MEMORY / 1024 / 4 && run->seconds < CRAFTED_SECONDS / 2.0)
                return;
        printf("near its limits, directory %" PRIu64 ": xac %s (%.1f s, %ld kB)\n", crafted->number, run->command,
               run->seconds, run->memory_kb);
        for (unsigned i = 0; i < crafted->changes; i++)
                printf("   %s\n", crafted->what[i]);
        printf("   replay: %s --seed %" PRIu64 " --directory %" PRIu64 "\n", drill->self, drill->seed, crafted->number);
}

static void judge(const struct drill *drill, const struct crafted *crafted, const struct crafted_run *run)
{
        const char *fault = crafted_fault(run);
        const char *touched = ground_look_beside();

        atomic_fetch_add(&drill->tally->runs, 1);
        note_most(&drill->tally->longest_ms, (uint64_t)(run->seconds * 1000));
        note_most(&drill->tally->largest_kb, (uint64_t)run->memory_kb);
        if (drill->is_verbose)
                printf("%" PRIu64 ": xac %s: status %d, %.3f s, %ld kB\n%.400s", crafted->number, run->command,
                       run->status, run->seconds, run->memory_kb, run->said);
        if (fault || touched)
                fail(drill, crafted, run, fault ? fault : touched);
        else
                tell_if_near(drill, crafted, run);
}

static void serve(const struct drill *drill, const struct crafted *crafted)
{
        static struct crafted_run serving, run;
        const char *args[CRAFTED_ARGS + 1] = { NULL };

        set_args(&server, args);
        copy_what_it_needs(&server);
        crafted_begin(&serving, args, ground_path("work/socket"));
        for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
                const char *words[CRAFTED_ARGS + 1] = { NULL };

                set_args(&clients[i], words);
                crafted_run(&run, words);
                judge(drill, crafted, &run);
        }
        crafted_end(&serving);
        judge(drill, crafted, &serving);
        ground_clean_memory();
}

static void try_all(const struct drill *drill, const struct crafted *crafted)
{
        static struct crafted_run run;

        for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
                if (!meets_a_change(&tools[i], crafted))
                        continue;
                run_tool(&tools[i], &run);
                judge(drill, crafted, &run);
        }
        if (meets_a_change(&server, crafted))
                serve(drill, crafted);
        atomic_fetch_add(&drill->tally->directories, 1);
}

/* How far the drill is, now and then, for whoever waits for it. */
static void tell_progress(const struct drill *drill)
{
        static uint64_t told;
        const uint64_t minutes = (crew_clock_ns() - drill->begun_ns) / 1000000000u / TELL_SECONDS;

        if (minutes == told)
                return;
        told = minutes;
        printf("%" PRIu64 " min: %" PRIu64 " directories, %" PRIu64 " runs of xac\n", minutes,
               atomic_load(&drill->tally->directories), atomic_load(&drill->tally->runs));
        fflush(stdout);
}

static void work(int index, void *drill_)
{
        const struct drill *drill = drill_;
        struct crafted crafted;

        if (!ground_make((unsigned)index)) {
                atomic_store(&drill->tally->is_forbidden, true);
                return;
        }
        ground_make_template();
        for (uint64_t number = (uint64_t)index; drill->directory == ALL && !is_over(drill); number += drill->jobs) {
                craft(drill, number, &crafted);
                try_all(drill, &crafted);
                if (index == 0)
                        tell_progress(drill);
        }
        if (drill->directory != ALL) {
                craft(drill, drill->directory, &crafted);
                for (unsigned i = 0; i < crafted.changes; i++)
                        printf("%s\n", crafted.what[i]);
                try_all(drill, &crafted);
        }
}

static void drill_all(int unused, void *drill_)
{
        struct drill *drill = drill_;
        const struct tally *tally = drill->tally;

        (void)unused;
        crafted_choose(drill->xac);
        drill->begun_ns = crew_clock_ns();
        crew_processes((int)drill->jobs, work, drill);
        if (atomic_load(&tally->is_forbidden))
                printf("skipped: namespaces of mounts are not permitted here\n");
        printf("%" PRIu64 " directories, %" PRIu64 " runs of xac in %.0f s: the longest %" PRIu64
               " ms, the largest %" PRIu64 " kB; %" PRIu64 " failures\n",
               atomic_load(&tally->directories), atomic_load(&tally->runs),
               (double)(crew_clock_ns() - drill->begun_ns) / 1e9, atomic_load(&tally->longest_ms),
               atomic_load(&tally->largest_kb), atomic_load(&tally->failures));
        if (atomic_load(&tally->failures))
                crew_exit(1);
}

/* xac's own main() is in this program, too, so the linker sends whoever calls main() here (--wrap).
 * NOLINTBEGIN(bugprone-reserved-identifier) */
int __wrap_main(int argc, char **argv);
int __wrap_main(int argc, char **argv)
/* NOLINTEND(bugprone-reserved-identifier) */
{
        struct drill drill = { .directory = ALL, .self = argv[0] };
        const struct program_option options[] = {
                { "seconds", .number = &drill.seconds },
                { "directories", .number = &drill.directories },
                { "jobs", .number = &drill.jobs },
                { "directory", .number = &drill.directory },
                { "keep-going", .flag = &drill.keeps_going },
                { "verbose", .flag = &drill.is_verbose },
                { "execute", .flag = &drill.executes },
                { "xac", .text = &drill.xac },
                { NULL },
        };

        program_options(argc, argv, options);
        drill.seed = chance_seed();
        if (!drill.seconds && !drill.directories)
                drill.seconds = SECONDS;
        if (drill.jobs == 0) /* some tools wait for most of their time */
                drill.jobs = JOBS * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
        if (drill.directory != ALL)
                drill.jobs = 1;
        drill.tally = crew_shared(sizeof(*drill.tally));
        program_begin(false);
        return program_run(drill_all, &drill);
}
