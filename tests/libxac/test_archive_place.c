/* SPDX-License-Identifier: MIT */

/*
 * Which directory an archive is (R40): a disk that is not mounted, or another one in its place, gets nothing; nor does
 * a directory that is something else. Who joins others need not reach it.
 */

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "recovery/archive_marker.h"
#include "recovery/manifest.h"
#include "tests/libxac/archive_stand.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"

#define ENV     scratch_path("env")
#define ARCHIVE scratch_path("archive")
#define AWAY    scratch_path("away")
#define OTHER   scratch_path("other")

enum { BYTES = 1 << 16, SEGMENTS = 40 };

static int try_open_with(const char *archive)
{
        const xac_options options = { .archive = archive, .log_bytes = 256 << 10, .pool_bytes = 4 << 20 };
        xac_env *env;
        const int err = xac_open(ENV, XAC_CREATE, &options, &env);

        return err ? err : xac_close(env);
}

static void begin(void)
{
        check_ok(mkdir(ARCHIVE, 0700));
        check_ok(try_open_with(ARCHIVE));
        hear();
}

static void replace_by_empty(void)
{
        check_ok(rename(ARCHIVE, AWAY));
        check_ok(mkdir(ARCHIVE, 0700));
}

static void put_back(void)
{
        scratch_shell("rm -rf '%s' && mv '%s' '%s'", ARCHIVE, AWAY, ARCHIVE);
}

static bool is_there(const char *directory, const char *name)
{
        char path[600];

        snprintf(path, sizeof(path), "%s/%s", directory, name);
        return access(path, F_OK) == 0;
}

static void read_marker(const char *path, struct archive_marker *marker)
{
        int directory;

        check_ok(sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(archive_marker_read(directory, marker));
        sys_close(directory);
}

/* As a version of before there were markers has written it. */
static void forget_marker(void)
{
        static struct manifest manifest;
        int directory;

        check_ok(sys_open(AT_FDCWD, ENV, O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(manifest_read(directory, &manifest));
        check(archive_id_is_known(manifest.archive.marker));
        memset(manifest.archive.marker, 0, sizeof(manifest.archive.marker));
        check_ok(manifest_write(directory, &manifest));
        sys_close(directory);
}

/* ---- At an open ---- */

static void what_is_not_mounted_is_refused(void)
{
        begin();
        replace_by_empty();
        check_equal(try_open_with(ARCHIVE), -ENOENT);
        check(is_heard_soon(
                "it is not mounted, or not the archive of before: mount it, or name another directory, or run "
                "'xac archive --new'"));
        check_ok(rmdir(ARCHIVE)); /* nothing was written there */
        check_ok(mkdir(ARCHIVE, 0700));
        put_back();
        check_ok(try_open_with(ARCHIVE));
}

/* Nor is it forgotten by sessions without one. */
static void who_leaves_it_does_not_forget_it(void)
{
        struct manifest manifest;
        int directory;

        begin();
        replace_by_empty();
        for (int i = 0; i < 2; i++) {
                check_ok(try_open_with(NULL));
                check_equal(try_open_with(ARCHIVE), -ENOENT);
        }
        check_ok(sys_open(AT_FDCWD, ENV, O_RDONLY | O_DIRECTORY, 0, &directory));
        check_ok(manifest_read(directory, &manifest));
        check(manifest.archive.is_left && strcmp(manifest.archive.path, ARCHIVE) == 0);
        put_back();
        check_ok(try_open_with(ARCHIVE));
        check_ok(manifest_read(directory, &manifest));
        check(!manifest.archive.is_left && strcmp(manifest.archive.path, ARCHIVE) == 0);
        sys_close(directory);
        check_ok(mkdir(OTHER, 0700));
        check_ok(try_open_with(NULL));
        check_ok(try_open_with(OTHER)); /* another path is a choice, and is the one to remember */
        replace_by_empty();
        check_ok(try_open_with(ARCHIVE));
}

/* A copy of the environment lies elsewhere, and has never had one. */
static void a_copy_forgets_it(void)
{
        begin();
        check_ok(try_open_with(NULL));
        scratch_shell("cp -r '%s' '%s'", ENV, OTHER);
        replace_by_empty();
        scratch_shell("rm -rf '%s' && mv '%s' '%s'", ENV, OTHER, ENV);
        check_ok(try_open_with(NULL));
        check_ok(try_open_with(ARCHIVE));
}

/* The same as operators do it. */
static void a_disk_is_unmounted(void)
{
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
                isolate_skip("only root may mount something");
        check_ok(mkdir(OTHER, 0700));
        check_ok(mkdir(ARCHIVE, 0700));
        check_ok(mount(OTHER, ARCHIVE, NULL, MS_BIND, NULL));
        check_ok(try_open_with(ARCHIVE));
        check_ok(umount(ARCHIVE));
        check_equal(try_open_with(ARCHIVE), -ENOENT);
        check(!is_there(ARCHIVE, ARCHIVE_LOCK));
        check_ok(mount(OTHER, ARCHIVE, NULL, MS_BIND, NULL));
        check_ok(try_open_with(ARCHIVE));
        check_ok(umount(ARCHIVE));
}

static void another_one_in_its_place_is_refused(void)
{
        begin();
        check_ok(mkdir(OTHER, 0700));
        check_ok(try_open_with(OTHER)); /* another path is a choice */
        check_ok(try_open_with(ARCHIVE));
        check_ok(rename(ARCHIVE, AWAY));
        check_ok(rename(OTHER, ARCHIVE));
        check_equal(try_open_with(ARCHIVE), -EEXIST);
        check(is_heard_soon("it is not the archive of before"));
        put_back();
        check_ok(try_open_with(ARCHIVE));
}

static void a_damaged_marker_is_told(void)
{
        begin();
        scratch_shell("truncate -s 10 '%s/" ARCHIVE_MARKER_NAME "'", ARCHIVE);
        check_equal(try_open_with(ARCHIVE), XAC_CORRUPT);
        check(is_heard_soon(ARCHIVE_MARKER_NAME " there is damaged"));
}

/* ---- Of before there were markers, or of somebody who died ---- */

static void an_old_archive_is_marked_once(void)
{
        struct archive_marker marker;

        begin();
        forget_marker();
        scratch_shell("rm '%s/" ARCHIVE_MARKER_NAME "'", ARCHIVE);
        check_ok(try_open_with(ARCHIVE));
        read_marker(ARCHIVE, &marker);
        scratch_shell("rm '%s/" ARCHIVE_MARKER_NAME "'", ARCHIVE);
        check_equal(try_open_with(ARCHIVE), -ENOENT);
}

static void an_old_archive_may_be_away_too(void)
{
        begin();
        forget_marker();
        scratch_shell("rm '%s/" ARCHIVE_MARKER_NAME "'", ARCHIVE);
        replace_by_empty();
        check_equal(try_open_with(ARCHIVE), -ENOENT);
        put_back();
        check_ok(try_open_with(ARCHIVE));
}

static void a_marker_that_nobody_remembers_is_taken(void)
{
        struct archive_marker before, after;

        begin();
        read_marker(ARCHIVE, &before);
        forget_marker();
        check_ok(try_open_with(ARCHIVE));
        read_marker(ARCHIVE, &after);
        check(memcmp(&before, &after, sizeof(before)) == 0);
        replace_by_empty(); /* and remembered from now on */
        check_equal(try_open_with(ARCHIVE), -ENOENT);
}

/* ---- What is no place for an archive ---- */

static void other_things_are_no_archives(void)
{
        xac_env *env;
        const xac_backup_options none = { 0 };

        check_ok(mkdir(ENV, 0700));
        hear();
        check_equal(try_open_with(ENV), -EINVAL);
        check(is_heard_soon("it is the environment itself"));
        check_ok(try_open_with(NULL));
        check_equal(try_open_with(ENV), -EINVAL);
        check_ok(xac_open(OTHER, XAC_CREATE, NULL, &env));
        check_ok(xac_backup(env, scratch_path("backup"), &none));
        check_ok(xac_close(env));
        check_equal(try_open_with(OTHER), -EEXIST);
        check(is_heard_soon("an environment or a backup is there"));
        check_equal(try_open_with(scratch_path("backup")), -EEXIST);
        scratch_shell("rm '%s/xac.manifest'", scratch_path("backup"));
        check_equal(try_open_with(scratch_path("backup")), -EEXIST);
}

/* ---- While it is in use ---- */

static void open_env_with(const char *archive, xac_env **env)
{
        const xac_options options = { .archive = archive, .log_bytes = 256 << 10, .pool_bytes = 4 << 20 };

        check_ok(xac_open(ENV, XAC_CREATE, &options, env));
}

static void fill(xac_env *env)
{
        uint64_t *words = xac_mmap(env, "a", BYTES, 0);

        check(words != MAP_FAILED);
        for (unsigned i = 0; i < SEGMENTS; i++) {
                check_ok(xbegin(env, 0));
                for (unsigned k = 0; k < BYTES / sizeof(*words); k++)
                        words[k] += k * UINT64_C(0x9e3779b97f4a7c15) + i;
                check_ok(xend(env));
        }
}

/* Even one that has parts of this environment: another archive of it, which is the same to whoever looks at parts. */
static void it_gets_nothing_while_another_is_there(void)
{
        xac_stats stats = { 0 };
        xac_env *env;

        begin();
        check_ok(mkdir(OTHER, 0700));
        open_env_with(OTHER, &env);
        fill(env);
        check_ok(xac_close(env));
        open_env_with(ARCHIVE, &env);
        check_ok(rename(ARCHIVE, AWAY));
        check_ok(rename(OTHER, ARCHIVE));
        scratch_shell("ls '%s' > '%s'", ARCHIVE, scratch_path("list"));
        fill(env);
        for (struct leeway left = leeway_of(10000); !stats.archive_error;) {
                check(leeway_pause(&left));
                check_ok(xac_stat(env, &stats));
        }
        check_equal(stats.archive_error, -ENOENT);
        scratch_shell("ls '%s' | cmp - '%s'", ARCHIVE, scratch_path("list"));
        put_back();
        check_ok(xac_close(env));
}

/* ---- Joining ---- */

static void join(int unused, void *path)
{
        xac_env *env;

        (void)unused;
        open_env_with(path, &env);
        check_ok(xac_close(env));
}

/* A worker that was killed is started anew with its options, while the archive is away and others go on. */
static void who_joins_need_not_reach_it(void)
{
        char straight[600], by_link[600], link[600];
        xac_env *env;

        begin();
        snprintf(straight, sizeof(straight), "%s", ARCHIVE);
        snprintf(link, sizeof(link), "%s", scratch_path("link"));
        snprintf(by_link, sizeof(by_link), "%s", "archive");
        check_ok(symlink(by_link, link));
        open_env_with(ARCHIVE, &env);
        check_ok(rename(ARCHIVE, AWAY));
        crew_join(crew_fork(join, 0, straight));
        crew_join(crew_fork(join, 0, link));
        put_back();
        check_ok(xac_close(env));
        check_ok(rename(ARCHIVE, AWAY));
        check_equal(try_open_with(ARCHIVE), -ENOENT); /* with nobody there the log would be given up */
        check(is_heard_soon("it is not there: mount it, or make the directory"));
        put_back();
        check_ok(try_open_with(ARCHIVE));
}

static void work_and_die(int unused, void *path)
{
        xac_env *env;

        (void)unused;
        open_env_with(path, &env);
        fill(env);
        crew_exit(0);
}

/* All were killed; the next one goes on with their shared memory, and with the log. */
static void all_were_killed_meanwhile(void)
{
        char straight[600];
        xac_env *env;

        begin();
        snprintf(straight, sizeof(straight), "%s", ARCHIVE);
        crew_join(crew_fork(work_and_die, 0, straight));
        check_ok(rename(ARCHIVE, AWAY));
        open_env_with(straight, &env);
        put_back();
        check_ok(xac_close(env));
        check_ok(try_open_with(ARCHIVE));
}

/* What they have left is in shared memory, which belongs to no archive: it is said how to get on. */
static void all_were_killed_without_it(void)
{
        begin();
        crew_join(crew_fork(work_and_die, 0, NULL));
        check_equal(try_open_with(ARCHIVE), -EINVAL);
        check(is_heard_soon("all who had it open without an archive were killed: open it once without one"));
        check_ok(try_open_with(NULL));
        check_ok(try_open_with(ARCHIVE));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_is_not_mounted_is_refused),
                isolated_test(who_leaves_it_does_not_forget_it),
                isolated_test(a_copy_forgets_it),
                isolated_test(a_disk_is_unmounted),
                isolated_test(another_one_in_its_place_is_refused),
                isolated_test(a_damaged_marker_is_told),
                isolated_test(an_old_archive_is_marked_once),
                isolated_test(an_old_archive_may_be_away_too),
                isolated_test(a_marker_that_nobody_remembers_is_taken),
                isolated_test(other_things_are_no_archives),
                isolated_test(it_gets_nothing_while_another_is_there),
                isolated_test(who_joins_need_not_reach_it),
                isolated_test(all_were_killed_meanwhile),
                isolated_test(all_were_killed_without_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
