/* SPDX-License-Identifier: MIT */

/*
 * xac_backup into a directory: what carries over, and what is refused.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>

#include "backup/partial.h"
#include "base/checksum.h"
#include "base/sys.h"
#include "recovery/manifest.h"
#include "tests/backup/stand.h"
#include "tests/support/fd.h"

enum { PAGES = 8, BYTES = PAGES * STAND_PAGE };

static struct stat status_of(const char *path)
{
        struct stat st;

        check_equal(stat(scratch_path(path), &st), 0);
        return st;
}

static struct manifest manifest_of(const char *name)
{
        struct manifest manifest;
        int directory = open(scratch_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        check(directory >= 0);
        check_ok(manifest_read(directory, &manifest));
        close(directory);
        return manifest;
}

static void a_copy_is_an_environment_of_its_own(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);
        struct manifest own, copy;

        stand_put(env, view + STAND_PAGE, "one", 0);
        stand_back_up(env, "copy", NULL);
        check_equal(stand_result.pages, 1);
        check_equal(stand_result.sequence, 2);
        stand_put(env, view + STAND_PAGE, "two", 0);
        own = manifest_of("env");
        copy = manifest_of("copy");
        check(memcmp(own.uuid, copy.uuid, sizeof(own.uuid)) != 0);
        check_equal(copy.base_sequence, 2);
        check(copy.generation >= own.generation);
        check(copy.is_clean && copy.buffer == -1);
        stand_expect("copy", "file", BYTES, STAND_PAGE, "one");
        check_ok(xac_close(env));
}

/* What is neither in the log nor at home when it begins, and what the caller has not committed. */
static void it_has_what_was_committed_and_nothing_else(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        stand_put(env, view, "not waited for", XAC_NOSYNC);
        stand_put(env, view + STAND_PAGE, "committed", 0);
        check_ok(xbegin(env, 0));
        strcpy((char *)view + STAND_PAGE, "undecided");
        stand_back_up(env, "copy", NULL);
        check_ok(xabort(env));
        stand_expect("copy", "file", BYTES, 0, "not waited for");
        stand_expect("copy", "file", BYTES, STAND_PAGE, "committed");
        check_ok(xac_close(env));
}

static void a_volatile_environment_is_copied_as_it_is_now(void)
{
        xac_env *env = stand_open("env", XAC_CREATE | XAC_VOLATILE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        stand_put(env, view, "home", 0);
        check_ok(xac_checkpoint(env));
        stand_put(env, view + STAND_PAGE, "pool", 0);
        stand_back_up(env, "copy", NULL);
        stand_expect("copy", "file", BYTES, 0, "home");
        stand_expect("copy", "file", BYTES, STAND_PAGE, "pool");
        check_ok(xac_close(env));
}

static void names_modes_page_sizes_and_addresses_carry_over(void)
{
        static char name[MANIFEST_NAME_BYTES];
        const xac_options options = { .page_bytes = 65536, .mode = 0640, .max_participants = 2000 };
        xac_env *env;
        unsigned char *view;
        struct manifest own, copy;

        umask(0);
        env = stand_open("env", XAC_CREATE, &options);
        memset(name, 'n', sizeof(name) - 1);
        view = stand_map(env, "first", 65536);
        stand_put(env, view, "first", 0);
        stand_put(env, stand_map(env, name, 3 * 65536), "second", 0);
        stand_back_up(env, "copy", NULL);
        own = manifest_of("env");
        copy = manifest_of("copy");
        check_equal(copy.page_bytes, 65536);
        check_equal(copy.max_participants, own.max_participants);
        check_equal(copy.file_count, 2);
        check(memcmp(copy.file_name, own.file_name, sizeof(own.file_name)) == 0);
        check(memcmp(copy.file_place, own.file_place, sizeof(own.file_place)) == 0);
        check_equal(status_of("copy/first").st_mode & 0777, 0640);
        check_equal(status_of("copy/xac.manifest").st_mode & 0777, 0640);
        check_equal(status_of("copy/xac.lock").st_mode & 0777, 0600);
        check_equal(status_of("copy").st_mode & 0777, 0750);
        stand_expect("copy", name, 3 * 65536, 0, "second");
        check_ok(xac_close(env));
}

/* Which of its numbers were given away before is known to the copy, too. */
static void numbers_of_participants_are_not_used_again(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL), *copy;
        uint64_t number;

        for (int i = 0; i < 5; i++) {
                check_ok(xac_close(env));
                env = stand_open("env", 0, NULL);
        }
        number = xac_self(env);
        stand_back_up(env, "copy", NULL);
        check_ok(xac_close(env));
        copy = stand_open("copy", 0, NULL);
        check(xac_self(copy) != number);
        check_equal(xac_alive(copy, number), 0);
        check_ok(xac_close(copy));
}

static void large_files_stay_sparse(void)
{
        const size_t large = (size_t)5 << 30, far = large - STAND_PAGE;
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "large", large);

        stand_put(env, view + far, "far", 0);
        stand_put(env, view + 7 * STAND_PAGE, "near", 0);
        check_ok(xac_checkpoint(env));
        stand_put(env, view + large / 2, "half", 0);
        stand_back_up(env, "copy", NULL);
        check_equal(stand_result.pages, 3);
        check_equal(status_of("copy/large").st_size, large);
        check(status_of("copy/large").st_blocks < 1000);
        stand_expect("copy", "large", large, far, "far");
        stand_expect("copy", "large", large, large / 2, "half");
        check_ok(xac_close(env));
}

struct going_home {
        xac_env *env;
        int calls;
};

static int go_home(void *going_home_, const char *what, uint64_t done, uint64_t total)
{
        struct going_home *going_home = going_home_;

        (void)what, (void)done, (void)total;
        if (++going_home->calls == 2)
                check_ok(xac_checkpoint(going_home->env));
        return 0;
}

/* Where there was a hole when it began, and a file that ended in the middle of a page. */
static void pages_that_go_home_meanwhile_are_there(void)
{
        const size_t large = (size_t)8 << 20;
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", large);
        struct going_home going_home = { .env = env };
        const xac_backup_options options = { .progress = go_home, .progress_arg = &going_home };

        stand_put(env, view, "begin", 0);
        check_ok(xac_close(env));
        check_equal(truncate(scratch_path("env/file"), (off_t)large - 1000), 0);
        env = stand_open("env", 0, NULL);
        view = stand_map(env, "file", large);
        going_home.env = env;
        stand_put(env, view + large / 2, "half", 0);
        stand_put(env, view + large - 10, "end", 0);
        check_ok(xac_backup(env, scratch_path("copy"), &options));
        check(going_home.calls > 2);
        stand_expect("copy", "file", large, large / 2, "half");
        stand_expect("copy", "file", large, large - 10, "end");
        check_ok(xac_close(env));
}

static void pages_that_became_zeros_are_holes(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        for (int i = 0; i < PAGES; i++)
                stand_put(env, view + (size_t)i * STAND_PAGE, "something", 0);
        check_ok(xac_checkpoint(env));
        check_ok(xbegin(env, 0));
        memset(view, 0, BYTES);
        check_ok(xend(env));
        stand_back_up(env, "copy", NULL);
        check_equal(stand_result.pages, 0);
        check_equal(status_of("copy/file").st_size, BYTES);
        check_equal(status_of("copy/file").st_blocks, 0);
        check_ok(xac_close(env));
}

static void a_file_without_pages_stays_one(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);

        stand_put(env, stand_map(env, "file", BYTES), "text", 0);
        stand_map(env, "empty", STAND_PAGE);
        check_ok(xac_close(env));
        check_equal(truncate(scratch_path("env/empty"), 0), 0);
        env = stand_open("env", 0, NULL);
        stand_back_up(env, "copy", NULL);
        check_equal(status_of("copy/empty").st_size, 0);
        stand_expect("copy", "file", BYTES, 0, "text");
        check_ok(xac_close(env));
}

/* ---- Failures ---- */

static void bad_arguments_are_refused(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        xac_backup_options options = { .reserved = { 0, 1 } };

        stand_map(env, "file", BYTES);
        check_code(xac_backup(NULL, "copy", NULL), -EINVAL);
        check_code(xac_backup(env, NULL, NULL), -EINVAL);
        check_code(xac_backup(env, scratch_path("copy"), &options), -EINVAL);
        options = (xac_backup_options){ .stream = -1 };
        check_code(xac_backup(env, "-", &options), -EINVAL);
        check_code(stand_try(env, "", NULL), -EINVAL);
        check_code(stand_try(env, ".", NULL), -EINVAL);
        check_code(stand_try(env, scratch_path(".."), NULL), -EINVAL);
        check_code(stand_try(env, "/", NULL), -EINVAL);
        check_code(stand_try(env, scratch_path("no/where"), NULL), -ENOENT);
        check_code(stand_try(env, scratch_path("env"), NULL), -EEXIST);
        stand_expect_said("is there already", stand_result.problem);
        check_code(stand_try(env, scratch_path("copy"), scratch_path("no-backup")), -ENOENT);
        stand_expect_said("is no backup", stand_result.problem);
        check_code(stand_try(env, scratch_path("copy"), scratch_path("env")), -ENOENT);
        check_code(stand_try(env, scratch_path("copy"), scratch_path("env/file")), XAC_CORRUPT);
        check(!stand_is_there("copy") && !stand_is_there(".copy.partial"));
        stand_back_up(env, "copy///", NULL); /* slashes at the end are nothing */
        check(stand_is_there("copy/xac.manifest"));
        check_ok(xac_close(env));
}

static uint64_t processor_us(void)
{
        struct rusage usage;

        check_equal(getrusage(RUSAGE_SELF, &usage), 0);
        return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
               (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Each page of it once would be 32 times as many bytes. */
static void a_long_hole_is_not_gone_through(void)
{
        enum { HALF_GIB = 1 << 29, CHUNK = 1 << 20 };
        static unsigned char zeros[CHUNK];
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", (size_t)32 * HALF_GIB);
        uint32_t crc = 0;

        stand_put(env, view, "first", 0);
        stand_put(env, view + (size_t)32 * HALF_GIB - STAND_PAGE, "last", 0);
        check_ok(xac_checkpoint(env));
        uint64_t begun_us = processor_us();
        for (unsigned i = 0; i < HALF_GIB / CHUNK; i++)
                crc = checksum_crc32c(crc, zeros, CHUNK);
        const uint64_t part_us = processor_us() - begun_us;
        check(crc != 1);
        begun_us = processor_us();
        stand_back_up(env, "copy", NULL);
        check(processor_us() - begun_us < 20 * part_us);
        check_ok(xac_close(env));
        stand_expect("copy", "file", (size_t)32 * HALF_GIB, (size_t)32 * HALF_GIB - STAND_PAGE, "last");
}

static void in_a_child(int unused, void *env)
{
        (void)unused;
        check_code(xac_backup(env, scratch_path("copy"), NULL), XAC_FORKED);
}

static void a_forked_child_has_to_open_it_first(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);

        crew_join(crew_fork(in_a_child, 0, env));
        check_ok(xac_close(env));
}

static int close_it(void *env_, const char *what, uint64_t done, uint64_t total)
{
        xac_env **env = env_;

        (void)what, (void)done, (void)total;
        if (*env)
                check_ok(xac_close(*env));
        *env = NULL;
        return 0;
}

/* By another thread, say. */
static void it_stays_open_until_the_backup_is_made(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        const xac_backup_options options = { .progress = close_it, .progress_arg = &env };

        stand_put(env, stand_map(env, "file", BYTES), "text", 0);
        check_ok(xac_backup(env, scratch_path("copy"), &options));
        check(!env);
        stand_expect("copy", "file", BYTES, 0, "text");
}

/* What is said of the longest name there is has an end, also where there is not room for all of the name. */
static void sentences_about_a_long_name_are_whole(void)
{
        char name[NAME_MAX + 1] = "";
        xac_env *env = stand_open("env", XAC_CREATE, NULL);

        memset(name, '\x01', NAME_MAX);
        stand_map(env, name, BYTES);
        check_ok(xac_close(env));
        env = stand_open("env", 0, NULL);
        const int directory = open(scratch_path("env"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check_equal(unlinkat(directory, name, 0), 0);
        close(directory);
        check_code(stand_try(env, scratch_path("copy"), NULL), XAC_CORRUPT);
        stand_expect_said("\\x01\\x01", stand_result.problem);
        stand_expect_said(" is missing, although a file of the environment", stand_result.problem);
        check_ok(xac_close(env));
}

static void two_do_not_make_the_same(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        struct partial partial;
        struct trouble trouble = { "" };

        stand_map(env, "file", BYTES);
        check_ok(partial_make(&partial, scratch_path("copy"), &trouble));
        check_code(stand_try(env, scratch_path("copy"), NULL), -EBUSY);
        stand_expect_said("another process", stand_result.problem);
        partial_abandon(&partial);
        check(!stand_is_there(".copy.partial"));
        stand_back_up(env, "copy", NULL);
        check_ok(xac_close(env));
}

static void what_is_not_ours_stays(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);

        stand_map(env, "file", BYTES);
        check_equal(mkdir(scratch_path(".copy.partial"), 0700), 0);
        scratch_write_file(scratch_path(".copy.partial/letter"), "dear", 4);
        check_code(stand_try(env, scratch_path("copy"), NULL), -EEXIST);
        stand_expect_said("in the way", stand_result.problem);
        check(stand_is_there(".copy.partial/letter"));
        check_equal(unlink(scratch_path(".copy.partial/letter")), 0);
        if (geteuid() == 0) {
                check_equal(chown(scratch_path(".copy.partial"), 12345, 12345), 0);
                check_code(stand_try(env, scratch_path("copy"), NULL), -EEXIST);
                check_equal(chown(scratch_path(".copy.partial"), 0, 0), 0);
        }
        stand_back_up(env, "copy", NULL); /* an empty one is taken */
        check_ok(xac_close(env));
}

static void a_file_that_was_cut_or_removed_is_told(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        for (int i = 0; i < PAGES; i++)
                stand_put(env, view + (size_t)i * STAND_PAGE, "something", 0);
        check_ok(xac_checkpoint(env));
        check_equal(truncate(scratch_path("env/file"), BYTES / 2), 0);
        check_code(stand_try(env, scratch_path("copy"), NULL), XAC_CORRUPT);
        stand_expect_said("file was cut", stand_result.problem);
        check_equal(rename(scratch_path("env/file"), scratch_path("away")), 0);
        check_code(stand_try(env, scratch_path("copy"), NULL), XAC_CORRUPT);
        stand_expect_said("file is missing", stand_result.problem);
        check(!stand_is_there("copy") && !stand_is_there(".copy.partial"));
        check_equal(rename(scratch_path("away"), scratch_path("env/file")), 0);
        check_ok(xac_close(env));
}

/* A byte that nobody has written, and a page that the file system has lost. */
static void rot_is_not_copied(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);
        int fd = open(scratch_path("env/file"), O_RDWR | O_CLOEXEC);

        stand_put(env, view + STAND_PAGE, "text", 0);
        check_ok(xac_checkpoint(env));
        check(fd >= 0 && pwrite(fd, "?", 1, STAND_PAGE + 7) == 1);
        check_code(stand_try(env, scratch_path("copy"), NULL), XAC_CORRUPT);
        stand_expect_said("file, offset 4096: the page is not what its checksum says", stand_result.problem);
        check_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, STAND_PAGE, STAND_PAGE), 0);
        check_code(stand_try(env, scratch_path("copy"), NULL), XAC_CORRUPT);
        check(!stand_is_there("copy"));
        close(fd);
        check_ok(xac_close(env));
}

static int fail_log(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        return call == SYS_PWRITE && fd_is_named(fd, "xac.log") ? -EIO : 0;
}

/* What is known to be on disk can be saved then. */
static void a_poisoned_environment_can_be_backed_up(void)
{
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", BYTES);

        stand_put(env, view, "durable", 0);
        check_ok(xbegin(env, 0));
        strcpy((char *)view, "doubtful");
        sys_fail = fail_log;
        check_code(xend(env), XAC_POISONED);
        sys_fail = NULL;
        stand_back_up(env, "copy", NULL);
        stand_expect("copy", "file", BYTES, 0, "durable");
        xac_close(env);
}

/* ---- Rate and progress ---- */

struct seen {
        xac_env *env;
        uint64_t done[2], total[2], calls;
};

static int take_progress(void *seen_, const char *what, uint64_t done, uint64_t total)
{
        struct seen *seen = seen_;
        int which = strcmp(what, "verify") == 0;
        xac_stats stats;

        check(which || strcmp(what, "backup") == 0);
        check(done > seen->done[which] && done <= total);
        seen->done[which] = done;
        seen->total[which] = total;
        seen->calls++;
        check_ok(xac_stat(seen->env, &stats));
        check_equal(stats.participants, which ? 1 : 2); /* the snapshot is open while it copies, and no longer */
        return 0;
}

static void the_rate_is_kept_and_progress_is_told(void)
{
        enum { MANY = 512 };
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", (size_t)MANY * STAND_PAGE);
        struct seen seen = { .env = env };
        const xac_backup_options options = { .bytes_per_second = 8 << 20,
                                             .progress = take_progress,
                                             .progress_arg = &seen };
        uint64_t begun_ns;

        check_ok(xbegin(env, 0));
        for (int i = 0; i < MANY; i++)
                view[(size_t)i * STAND_PAGE] = 1;
        check_ok(xend(env));
        begun_ns = crew_clock_ns();
        check_ok(xac_backup(env, scratch_path("copy"), &options)); /* 2 MiB, copied and read back */
        check(crew_clock_ns() - begun_ns > 450000000);
        check_equal(seen.done[0], MANY);
        check_equal(seen.done[1], MANY);
        check(seen.calls > 4);
        check_ok(xac_close(env));
}

/* ---- Ended early ---- */

static int end_after(void *calls_, const char *what, uint64_t done, uint64_t total)
{
        int *calls = calls_;

        (void)what, (void)done, (void)total;
        return --*calls ? 0 : -ECANCELED;
}

/* Full, or what has changed since another. Returns how many calls it took to let it come to its end. */
static int end_after_each(xac_env *env, const char *since)
{
        xac_backup_result result = { 0 };
        struct stat st;
        int calls = 0, left, err;

        do {
                const xac_backup_options options = { .since = since ? scratch_path(since) : NULL,
                                                     .progress = end_after,
                                                     .progress_arg = &left,
                                                     .result = &result };

                left = ++calls;
                err = xac_backup(env, scratch_path("ended"), &options);
                check_equal(stat(scratch_path("ended"), &st) == 0, !err);
                check(stat(scratch_path(".ended.partial"), &st) != 0);
                check(!err || (err == -ECANCELED && strstr(result.problem, "ended")));
        } while (err);
        return calls;
}

static void one_that_is_ended_leaves_nothing(void)
{
        enum { MANY = 1024 };
        xac_env *env = stand_open("env", XAC_CREATE, NULL);
        unsigned char *view = stand_map(env, "file", (size_t)MANY * STAND_PAGE);

        check_ok(xbegin(env, 0));
        for (int i = 0; i < MANY; i++)
                view[(size_t)i * STAND_PAGE] = 1;
        check_ok(xend(env));
        check_ok(xac_backup(env, scratch_path("full"), NULL));
        check(end_after_each(env, NULL) > 4);
        stand_expect("ended", "file", (size_t)MANY * STAND_PAGE, 0, "\1");
        check_equal(rename(scratch_path("ended"), scratch_path("not ended")), 0);
        stand_put(env, view, "text", 0);
        check(end_after_each(env, "full") > 2);
        check_ok(xac_close(env));
}

/* ---- Beside others ---- */

static void back_up_slowly(int unused, void *unused_)
{
        xac_env *env = stand_open("env", 0, NULL);
        const xac_backup_options options = { .bytes_per_second = 2 << 20 };

        (void)unused, (void)unused_;
        check_ok(xac_backup(env, scratch_path("copy"), &options));
        check_ok(xac_close(env));
}

/* Every page changes again and again meanwhile: the log is recycled, and the pool has two versions of each page and
 * what is on its way back. */
static void log_and_pool_stay_bounded(void)
{
        enum { MANY = 512, COMMITS = 30000, SLACK = 4 << 20 };
        const xac_options options = { .log_bytes = 2 << 20 };
        const size_t bytes = (size_t)MANY * STAND_PAGE;
        xac_env *env = stand_open("env", XAC_CREATE, &options);
        unsigned char *view = stand_map(env, "file", bytes);
        xac_stats stats;
        pid_t pid;

        for (unsigned i = 0; i < MANY; i++)
                stand_put(env, view + (size_t)i * STAND_PAGE, "as it was", XAC_NOSYNC);
        pid = crew_fork(back_up_slowly, 0, NULL);
        for (unsigned i = 0; i < COMMITS || !stand_is_there("copy"); i++) {
                check_ok(xbegin(env, XAC_NOSYNC));
                memset(view + (size_t)(i % MANY) * STAND_PAGE + 100, (int)(i / MANY), STAND_PAGE - 200);
                check_ok(xend(env));
                if (i % MANY)
                        continue;
                check_ok(xac_stat(env, &stats));
                check(stats.log_bytes_used <= 8 * options.log_bytes);
                check(stats.pool_bytes_used <= 8 * bytes + SLACK);
        }
        crew_join(pid);
        stand_expect("copy", "file", bytes, (size_t)(MANY - 1) * STAND_PAGE, "as it was");
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_copy_is_an_environment_of_its_own),
                isolated_test(it_has_what_was_committed_and_nothing_else),
                isolated_test(a_volatile_environment_is_copied_as_it_is_now),
                isolated_test(names_modes_page_sizes_and_addresses_carry_over),
                isolated_test(numbers_of_participants_are_not_used_again),
                isolated_test(large_files_stay_sparse),
                isolated_test(pages_that_go_home_meanwhile_are_there),
                isolated_test(pages_that_became_zeros_are_holes),
                isolated_test(a_long_hole_is_not_gone_through),
                isolated_test(a_file_without_pages_stays_one),
                isolated_test(bad_arguments_are_refused),
                isolated_test(a_forked_child_has_to_open_it_first),
                isolated_test(it_stays_open_until_the_backup_is_made),
                isolated_test(sentences_about_a_long_name_are_whole),
                isolated_test(two_do_not_make_the_same),
                isolated_test(what_is_not_ours_stays),
                isolated_test(a_file_that_was_cut_or_removed_is_told),
                isolated_test(rot_is_not_copied),
                isolated_test(a_poisoned_environment_can_be_backed_up),
                isolated_test(log_and_pool_stay_bounded),
                isolated_test(the_rate_is_kept_and_progress_is_told),
                isolated_test(one_that_is_ended_leaves_nothing),
        };
        return cmocka_run_group_tests_name("xac_backup", tests, NULL, NULL);
}
