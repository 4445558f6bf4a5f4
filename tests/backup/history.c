/* SPDX-License-Identifier: MIT */

/*
 * Backups of an environment that four processes write to without a pause: each is a prefix of their commits (story.h).
 *
 * Each round is one of these, by chance: a full backup, which is opened; a full one and up to three that continue it,
 * which are put together and opened; a full one as a stream, which tar unpacks; a backup, or a restore, whose process
 * is killed at some moment: nothing is there then, or all of it, and the next one goes through. Half of the rounds are
 * with B+-trees, half with cache-oblivious ones.
 *
 *      history [--backups N] [--kills N] [--pages N] [--seed N]
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backup/restore.h"
#include "tests/backup/story.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum { LINKS_MAX = 4 };

static struct {
        uint64_t backups, kills, pages;
} options = { 8, 10, 400 };

static struct {
        uint64_t full, chains, links, streams, killed, killed_whole, killed_restores, commits;
} tally;

static uint64_t seed;
static struct chance chance;
static uint64_t usual_us = 50000; /* that a backup took */

/* ---- Backups, each by a process of its own ---- */

struct errand {
        const char *destination;
        const char *since;
        int stream;
};

static void be_backup(int unused, void *errand_)
{
        const struct errand *errand = errand_;
        xac_backup_result result = { 0 };
        const xac_backup_options wanted = { .since = errand->since, .stream = errand->stream, .result = &result };
        xac_env *env;
        int err;

        (void)unused;
        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        err = xac_backup(env, errand->destination, &wanted);
        if (err)
                check_failed(__FILE__, __LINE__, "%s: %s", xac_strerror(err), result.problem);
        check(result.sequence >= result.since_sequence);
        check_ok(xac_close(env));
}

static void back_up(const char *destination, const char *since)
{
        struct errand errand = { destination, since, 0 };
        uint64_t begun_ns = crew_clock_ns();

        crew_join(crew_fork(be_backup, 0, &errand));
        usual_us = (crew_clock_ns() - begun_ns) / 1000;
}

static int restore(const char *const *backups, uint32_t count, const char *destination)
{
        struct restore_order order = { .backups = backups, .count = count, .destination = destination };
        struct restore_result result;
        struct trouble trouble = { "" };
        int err = restore_run(&order, &result, &trouble);

        if (err)
                fprintf(stderr, "%s\n", trouble.text);
        return err;
}

static void remove_tree(const char *path)
{
        char command[4200];

        snprintf(command, sizeof(command), "rm -rf '%s'", path);
        check_equal(system(command), 0);
}

/* ---- Rounds ---- */

static void full(void)
{
        const char *path = scratch_path("full");
        struct story_time since = story_now(), until;

        back_up(path, NULL);
        until = story_now();
        story_check(path, &since, &until);
        remove_tree(path);
        tally.full++;
}

static void chain(void)
{
        const char *const names[LINKS_MAX] = { "link0", "link1", "link2", "link3" };
        const char *paths[LINKS_MAX], *restored = scratch_path("restored");
        uint32_t count = 2 + (uint32_t)chance_below(&chance, LINKS_MAX - 1);
        struct story_time since, until;

        for (uint32_t i = 0; i < count; i++) {
                paths[i] = scratch_path(names[i]);
                since = story_now();
                back_up(paths[i], i ? paths[i - 1] : NULL);
                until = story_now();
        }
        check_ok(restore(paths, count, restored));
        story_check(restored, &since, &until);
        remove_tree(restored);
        for (uint32_t i = 0; i < count; i++)
                remove_tree(paths[i]);
        tally.chains++;
        tally.links += count;
}

static void stream(void)
{
        const char *path = scratch_path("unpacked");
        struct story_time since = story_now(), until;
        char command[4200];
        FILE *tar;
        struct errand errand = { "-", NULL, 0 };

        check_equal(mkdir(path, 0700), 0);
        snprintf(command, sizeof(command), "tar -x -C '%s'", path);
        tar = popen(command, "we");
        check(tar != NULL);
        errand.stream = fileno(tar);
        crew_join(crew_fork(be_backup, 0, &errand));
        check_equal(pclose(tar), 0);
        until = story_now();
        story_check(path, &since, &until);
        remove_tree(path);
        tally.streams++;
}

/* ---- Deaths ---- */

static bool is_there(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0;
}

/* It may have done its work by then. */
static void kill_at_some_moment(pid_t pid, uint64_t within_us)
{
        int status;

        usleep((useconds_t)chance_below(&chance, within_us));
        check_equal(kill(pid, SIGKILL), 0);
        status = crew_status(pid);
        check(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

/* What opens is whole, under whatever name. */
static void check_remains(const char *path, const char *partial, const struct story_time *since)
{
        char manifest[4200];
        struct story_time until = story_now();

        snprintf(manifest, sizeof(manifest), "%s/xac.manifest", partial);
        if (is_there(path)) {
                story_check(path, since, &until);
                tally.killed_whole++;
        } else if (is_there(manifest)) {
                check_equal(rename(partial, path), 0);
                story_check(path, since, &until);
        }
        remove_tree(path);
}

static void killed(void)
{
        const char *path = scratch_path("killed");
        struct errand errand = { path, NULL, 0 };
        struct story_time since = story_now();

        kill_at_some_moment(crew_fork(be_backup, 0, &errand), usual_us + usual_us / 4);
        check_remains(path, scratch_path(".killed.partial"), &since);
        if (chance_percent(&chance, 20)) /* over what is left of it */
                back_up(path, NULL);
        remove_tree(path);
        tally.killed++;
}

static void be_restore(int unused, void *path)
{
        const char *backups[] = { path };

        (void)unused;
        check_ok(restore(backups, 1, scratch_path("killed")));
}

static void killed_restore(void)
{
        const char *path = scratch_path("from");
        struct story_time since = story_now();

        back_up(path, NULL);
        for (int i = 0; i < 4; i++) {
                kill_at_some_moment(crew_fork(be_restore, 0, (void *)(uintptr_t)path), usual_us);
                check_remains(scratch_path("killed"), scratch_path(".killed.partial"), &since);
                tally.killed_restores++;
        }
        remove_tree(path);
}

/* ---- All of it ---- */

static void some_round(void)
{
        static void (*const rounds[])(void) = { full, chain, stream };

        rounds[chance_below(&chance, 3)]();
}

static void tell_story(enum xtree_kind kind, uint64_t backups, uint64_t kills)
{
        struct story_time since, until;

        story_begin(kind, (uint32_t)options.pages, seed + kind);
        story_start_writers(scratch_path("env"), 0);
        for (uint64_t i = 0; i < backups || i < kills; i++) {
                if (i < backups)
                        some_round();
                if (i < kills && i % 8 == 7)
                        killed_restore();
                else if (i < kills)
                        killed();
        }
        story_end_writers();
        until = since = story_now();
        for (int i = 0; i < STORY_WRITERS; i++)
                tally.commits += until.done[i];
        story_check(scratch_path("env"), &since, &until); /* the deaths have done it no harm */
        remove_tree(scratch_path("env"));
}

static void run(int unused, void *nothing)
{
        (void)unused, (void)nothing;
        seed = chance_seed();
        chance.state = seed;
        tell_story(XTREE_BPTREE, (options.backups + 1) / 2, (options.kills + 1) / 2);
        tell_story(XTREE_COBTREE, options.backups / 2, options.kills / 2);
        printf("history: %" PRIu64 " full backups, %" PRIu64 " chains of %" PRIu64 ", %" PRIu64
               " streams, each a prefix; %" PRIu64 " backups and %" PRIu64 " restores killed, of which %" PRIu64
               " were whole by then; %" PRIu64 " commits meanwhile\n",
               tally.full, tally.chains, tally.links, tally.streams, tally.killed, tally.killed_restores,
               tally.killed_whole, tally.commits);
}

int main(int argc, char **argv)
{
        const struct program_option known[] = {
                { .name = "backups", .number = &options.backups },
                { .name = "kills", .number = &options.kills },
                { .name = "pages", .number = &options.pages },
                { .name = NULL },
        };

        program_options(argc, argv, known);
        program_begin(false);
        return program_run(run, NULL);
}
