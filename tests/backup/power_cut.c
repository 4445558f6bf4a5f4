/* SPDX-License-Identifier: MIT */

/*
 * The power fails while a backup, one that continues another, or a restore is made: at each write, sync and change of a
 * name, with whatever the disk may hold then (tests/crash). Before the directory gets its name, nothing opens, or it is
 * whole; from the moment on at which it may have its name, it is whole. So it is where an earlier attempt had left all
 * but the name.
 *
 *      power_cut [--passes N] [--seed N]
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "backup/restore.h"
#include "base/sys.h"
#include "recovery/recover.h"
#include "tests/crash/engine.h"
#include "tests/crash/recorder.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/places.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        PAGE = 4096,
        FILES = 2,
        FILE_PAGES = 12,
        WHOLE = 0,
        OLD = 1,
        NEW = 2,
        TRACE_ROOM = 1 << 24,
        SEEN_ROOM = 1 << 18
};

static const char *const file_names[FILES] = { "alpha", "beta" };

static uint64_t passes = 2, seed;

static struct trace *trace;
static unsigned char expected[FILES][FILE_PAGES * PAGE];
static unsigned char before[FILES][FILE_PAGES * PAGE]; /* what an earlier attempt has left */
static bool may_be_named = true;

/* ---- What is recorded ---- */

static sys_record_hook recorder_hook;
static char partial_name[64];

/* The directory is made by what is recorded, and has its name at the latest from the renaming on. */
static void listen(const struct sys_change *change)
{
        if (recorder_hook)
                recorder_hook(change);
        if (change->call == SYS_MKDIR && change->is_done && strcmp(change->name, partial_name) == 0) {
                recorder_start(trace, scratch_path(partial_name));
                recorder_hook = sys_record;
                sys_record = listen;
        }
        if (change->call == SYS_RENAME && !change->is_done && may_be_named)
                trace_required(trace, WHOLE, NEW);
}

static void record_begin(const char *name)
{
        snprintf(partial_name, sizeof(partial_name), ".%s.partial", name);
        trace_clear(trace);
        trace_allowed(trace, WHOLE, NEW);
        recorder_hook = NULL;
        sys_record = listen;
}

static void record_end(void)
{
        recorder_stop();
        check(recorder_hook != NULL && !trace_is_full(trace));
}

/* ---- What is backed up ---- */

static void change(xac_env *env, unsigned char *const *views, uint64_t number)
{
        struct chance chance = { number };

        check_ok(xbegin(env, 0));
        for (int i = 0; i < 10; i++) {
                unsigned char *page =
                        views[chance_below(&chance, FILES)] + chance_below(&chance, FILE_PAGES - 3) * PAGE;

                memset(page, (int)chance_below(&chance, 5), PAGE);
                page[chance_below(&chance, PAGE)] = (unsigned char)chance_next(&chance);
        }
        check_ok(xend(env));
}

static void expect_as_now(unsigned char *const *views, xac_env *env)
{
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < FILES; i++)
                memcpy(expected[i], views[i], sizeof(expected[i]));
        check_ok(xend(env));
}

static void back_up(xac_env *env, const char *name, const char *since)
{
        xac_backup_result result;
        const xac_backup_options options = { .since = since, .result = &result };
        int err = xac_backup(env, scratch_path(name), &options);

        if (err)
                check_failed(__FILE__, __LINE__, "%s", result.problem);
}

/* ---- Judging ---- */

static char image_directory[4096], full_backup[4096]; /* scratch_path() forgets them after a while */

static struct trouble trouble;

static int restore(const char *newest, const char *destination)
{
        const char *backups[] = { full_backup, newest };
        struct restore_order order = { .backups = backups, .count = 2, .destination = destination };
        struct restore_result result;

        trouble = (struct trouble){ "" };
        return restore_run(&order, &result, &trouble);
}

static const struct image_file *file_of(const struct image *image, const char *name)
{
        for (unsigned i = 0; i < image->count; i++)
                if (strcmp(image->files[i].name, name) == 0)
                        return &image->files[i];
        return NULL;
}

static void find_nothing_wrong(void *verdict, const char *sentence)
{
        struct verdict *told = verdict;

        snprintf(told->text, sizeof(told->text), "%s", sentence);
}

static bool holds(const struct image *image, unsigned char (*bytes)[FILE_PAGES * PAGE])
{
        for (int i = 0; i < FILES; i++) {
                const struct image_file *file = file_of(image, file_names[i]);

                if (!file || file->size != sizeof(bytes[i]) || memcmp(file->bytes, bytes[i], sizeof(bytes[i])) != 0)
                        return false;
        }
        return true;
}

/* It opens: then everything has to be right. */
static void judge_whole(const struct image *image, int directory, const struct manifest *manifest,
                        struct verdict *verdict)
{
        struct recovery recovery = { .directory = directory };
        xac_env *env;

        verdict->found[WHOLE] = holds(image, expected) ? NEW : OLD;
        snprintf(verdict->text, sizeof(verdict->text), "the files have other bytes");
        verdict->is_sound = (holds(image, expected) || holds(image, before)) &&
                            !recover_check(&recovery, manifest, find_nothing_wrong, verdict);
        if (!verdict->is_sound)
                return;
        check_ok(xac_open(image_directory, 0, NULL, &env));
        check_ok(xac_close(env));
}

static void judge_environment(void *unused, const struct trace *unused_trace, const struct image *image,
                              struct verdict *verdict)
{
        static struct manifest manifest;
        int directory;

        (void)unused, (void)unused_trace;
        verdict->is_sound = true;
        image_store(image, image_directory);
        check_ok(sys_open(AT_FDCWD, image_directory, O_RDONLY | O_DIRECTORY, 0, &directory));
        if (!manifest_read(directory, &manifest))
                judge_whole(image, directory, &manifest, verdict);
        sys_close(directory);
        image_erase(image_directory);
}

static void judge_increment(void *unused, const struct trace *unused_trace, const struct image *image,
                            struct verdict *verdict)
{
        (void)unused, (void)unused_trace;
        verdict->is_sound = true;
        image_store(image, image_directory);
        verdict->found[WHOLE] = restore(image_directory, NULL) ? 0 : NEW;
        snprintf(verdict->text, sizeof(verdict->text), "%s", trouble.text);
        image_erase(image_directory);
}

static void judge_all(const char *what,
                      void (*judge_image)(void *, const struct trace *, const struct image *, struct verdict *))
{
        struct judge judge = { .judge = judge_image };
        struct engine_tally *tally = calloc(1, sizeof(*tally));
        struct engine engine = { .judge = &judge,
                                 .judged = seen_new(SEEN_ROOM),
                                 .distinct = seen_new(SEEN_ROOM),
                                 .tally = tally,
                                 .seed = seed,
                                 .workers = 1,
                                 .stride = 1,
                                 .keep_in = places_kept(),
                                 .command = "power_cut" };

        check(tally != NULL);
        for (unsigned pass = 0; pass < passes; pass++)
                check(engine_pass(&engine, trace, pass));
        printf("power cuts: %s: %" PRIu64 " cuts, %" PRIu64 " images, each nothing or the whole\n", what,
               (uint64_t)tally->cuts, seen_count(engine.distinct));
        check(tally->cuts > 10 && !tally->violations);
        seen_free(engine.judged);
        seen_free(engine.distinct);
        free(tally);
}

/* ---- Over what was left ---- */

static int fail_at_the_end(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        static bool is_at_the_end;

        (void)fd, (void)offset, (void)byte_len;
        is_at_the_end |= call == SYS_RENAME;
        return is_at_the_end && (call == SYS_RENAME || call == SYS_UNLINK) ? -EIO : 0;
}

/* The first attempt gets as far as it can without the name, and cannot remove what it has made. */
static void over_what_was_left(xac_env *env, unsigned char *const *views)
{
        const xac_backup_options defaults = { 0 };

        memcpy(before, expected, sizeof(before));
        record_begin("again");
        may_be_named = false;
        sys_fail = fail_at_the_end;
        check_code(xac_backup(env, scratch_path("again"), &defaults), -EIO);
        sys_fail = NULL;
        may_be_named = true;
        check_equal(access(scratch_path(".again.partial/xac.manifest"), F_OK), 0);
        change(env, views, seed + 2);
        expect_as_now(views, env);
        back_up(env, "again", NULL);
        record_end();
        judge_all("one over what was left", judge_environment);
        memcpy(expected, before, sizeof(expected));
}

/* ---- All of it ---- */

static void run(int unused, void *nothing)
{
        unsigned char *views[FILES];
        xac_env *env;

        (void)unused, (void)nothing;
        seed = chance_seed();
        trace = trace_new(TRACE_ROOM);
        snprintf(image_directory, sizeof(image_directory), "%s", scratch_path("image"));
        snprintf(full_backup, sizeof(full_backup), "%s", scratch_path("full"));
        check_equal(mkdir(image_directory, 0700), 0);
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env));
        for (int i = 0; i < FILES; i++) {
                views[i] = xac_mmap(env, file_names[i], sizeof(expected[i]), 0);
                check(views[i] != MAP_FAILED);
        }
        change(env, views, seed);
        expect_as_now(views, env);
        record_begin("full");
        back_up(env, "full", NULL);
        record_end();
        judge_all("a full backup", judge_environment);

        change(env, views, seed + 1);
        expect_as_now(views, env);
        record_begin("increment");
        back_up(env, "increment", scratch_path("full"));
        record_end();
        judge_all("one that continues it", judge_increment);

        over_what_was_left(env, views);
        record_begin("restored");
        check_ok(restore(scratch_path("increment"), scratch_path("restored")));
        record_end();
        judge_all("a restore", judge_environment);
        check_ok(xac_close(env));
}

int main(int argc, char **argv)
{
        const struct program_option known[] = { { .name = "passes", .number = &passes }, { .name = NULL } };

        program_options(argc, argv, known);
        program_begin(false);
        return program_run(run, NULL);
}
