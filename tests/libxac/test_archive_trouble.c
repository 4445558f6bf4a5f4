/* SPDX-License-Identifier: MIT */

/*
 * Archives with gaps, damage, too little room, of others, of copies; sessions without a log or without the archive;
 * retention. What cannot be restored is refused in words, and nothing wrong is ever restored.
 */

#include <dirent.h>
#include <stdatomic.h>

#include "base/checksum.h"
#include "recovery/bytes.h"
#include "tests/libxac/archive_stand.h"
#include "tests/support/leeway.h"

/* ---- Files of the archive ---- */

enum { PARTS_MAX = 4096 };

static char part_name[PARTS_MAX][256];
static unsigned part_count;

static int compare_names(const void *a, const void *b)
{
        return strcmp(a, b);
}

static void list_parts(void)
{
        DIR *directory = opendir(scratch_path("archive"));
        uint64_t from, to;
        uint32_t incarnation;

        check(directory != NULL);
        part_count = 0;
        for (struct dirent *entry; (entry = readdir(directory));)
                if (archive_file_numbers(entry->d_name, &from, &to, &incarnation) && part_count < PARTS_MAX)
                        snprintf(part_name[part_count++], sizeof(part_name[0]), "%s", entry->d_name);
        closedir(directory);
        qsort(part_name, part_count, sizeof(part_name[0]), compare_names);
}

static const char *part_path(unsigned i)
{
        static char path[300];

        snprintf(path, sizeof(path), "archive/%s", part_name[i]);
        return scratch_path(path);
}

/* ---- Gaps and damage ---- */

static struct stand *stand_with_archive(uint64_t commits)
{
        struct stand *stand = stand_new(chance_seed(), commits);

        stand->nosync_percent = 0;
        stand_session(stand, 0, STAND_CLOSE);
        stand_base("base");
        stand_run(stand);
        list_parts();
        check(part_count > 1);
        return stand;
}

static void a_gap_is_named(void)
{
        struct stand *stand = stand_with_archive(250);
        struct restore_until restore;
        unsigned hole = part_count / 2;
        struct archive_part part;
        int archive;

        check_ok(sys_open(AT_FDCWD, scratch_path("archive"), O_RDONLY | O_DIRECTORY, 0, &archive));
        check_ok(archive_look(archive, part_name[hole], &part, NULL));
        check_ok(unlink(part_path(hole)));
        check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
        check(strstr(restore.damage, "missing") != NULL && strstr(restore.damage, part_name[hole + 1]) != NULL);
        check_equal(scratch_file_size(scratch_path("restored/xac.manifest")),
                    scratch_file_size(scratch_path("base/xac.manifest")));
        if (part.last) {
                check_equal(stand_restore("base", RESTORE_SEQUENCE, part.last + 1, &restore), XAC_CORRUPT);
                check_ok(stand_restore("base", RESTORE_SEQUENCE, part.before - 1, &restore));
                stand_check_restored(stand, part.before - 1);
        }
        check_ok(unlink(part_path(0)));
        check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
        check(strstr(restore.damage, "not in the archive") != NULL);
        close(archive);
}

static void flip(const char *path, off_t at, unsigned char bits)
{
        unsigned char byte;
        int fd = open(path, O_RDWR);

        check(fd >= 0 && pread(fd, &byte, 1, at) == 1);
        byte ^= bits;
        check(pwrite(fd, &byte, 1, at) == 1);
        close(fd);
}

/* Any bit, anywhere in the archive: it is found. */
static void damage_is_named(void)
{
        struct stand *stand = stand_with_archive(120);
        struct restore_until restore;

        for (unsigned i = 0; i < 150; i++) {
                unsigned which = stand_draw(stand, part_count);
                off_t at = (off_t)chance_below(&stand->chance, (uint64_t)scratch_file_size(part_path(which)));
                unsigned char bits = (unsigned char)(1u << stand_draw(stand, 8));

                flip(part_path(which), at, bits);
                check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
                check(strstr(restore.damage, part_name[which]) != NULL);
                flip(part_path(which), at, bits);
        }
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        stand_check_restored(stand, stand->newest);
}

/* ---- Any bytes ---- */

/* The header's checksum made right again, and the file's name that which it claims: what is left to find is nonsense.
 */
static void seal(unsigned char *bytes, size_t byte_len, char name[256])
{
        uint32_t header_bytes = bytes_get_u32(bytes + 44);

        if (header_bytes < 4096 || header_bytes > byte_len)
                return;
        uint32_t crc = checksum_crc32c(0, bytes, 12);
        bytes_put_u32(bytes + 12, checksum_crc32c(crc, bytes + 16, header_bytes - 16));
        archive_file_name(name, bytes_get_u64(bytes + 48), bytes_get_u64(bytes + 56), bytes_get_u32(bytes + 64));
}

static uint64_t odd_number(struct stand *stand)
{
        static const uint64_t odd[] = { 0,         1, 8, 4096, 65536, UINT32_MAX, UINT64_C(1) << 61, UINT64_MAX - 4095,
                                        UINT64_MAX };
        unsigned i = stand_draw(stand, 2 * sizeof(odd) / sizeof(odd[0]));

        return i < sizeof(odd) / sizeof(odd[0]) ? odd[i] : chance_next(&stand->chance) >> stand_draw(stand, 60);
}

static void spoil(struct stand *stand, unsigned char *bytes, size_t byte_len)
{
        for (unsigned n = 1 + stand_draw(stand, 3); n; n--) {
                if (stand_draw(stand, 4) == 0)
                        bytes[chance_below(&stand->chance, byte_len)] ^= (unsigned char)(1 + stand_draw(stand, 255));
                else if (stand_draw(stand, 2))
                        bytes_put_u64(bytes + 8 * (4 + stand_draw(stand, 18)), odd_number(stand));
                else
                        bytes_put_u32(bytes + 4 * (8 + stand_draw(stand, 34)), (uint32_t)odd_number(stand));
        }
        if (stand_draw(stand, 2)) /* as if that had been packed */
                bytes_put_u32(bytes + 148, checksum_crc32c(0, bytes + 4096, byte_len - 4096));
}

static void any_bytes_do_no_harm(void)
{
        static unsigned char bytes[1 << 20];
        struct stand *stand = stand_with_archive(80);
        struct restore_until restore;
        unsigned restored = 0;

        for (unsigned i = 0; i < 300; i++) {
                unsigned which = stand_draw(stand, part_count);
                size_t byte_len = (size_t)scratch_file_size(part_path(which));
                char name[256], path[300];

                check(byte_len <= sizeof(bytes));
                scratch_shell("rm -rf '%s' && cp -r '%s' '%s'", scratch_path("whole"), scratch_path("archive"),
                              scratch_path("whole"));
                scratch_read_file(part_path(which), bytes, byte_len);
                check_ok(unlink(part_path(which)));
                snprintf(name, sizeof(name), "%s", part_name[which]);
                spoil(stand, bytes, byte_len);
                if (stand_draw(stand, 10))
                        seal(bytes, byte_len, name);
                snprintf(path, sizeof(path), "archive/%s", name);
                scratch_write_file(scratch_path(path), bytes, byte_len);
                int err = stand_restore("base", RESTORE_NEWEST, 0, &restore);
                if (err && err != XAC_CORRUPT && err != -ERANGE && err != -ENOENT)
                        check_failed(__FILE__, __LINE__, "%s: %s, %s", name, xac_strerror(err), restore.damage);
                restored += !err;
                scratch_shell("rm -rf '%s' && mv '%s' '%s'", scratch_path("archive"), scratch_path("whole"),
                              scratch_path("archive"));
        }
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        stand_check_restored(stand, stand->newest);
        fprintf(stderr, "%u of 300 restored something\n", restored);
}

/* ---- Whose archive ---- */

static int try_open(const char *dir, int flags, const xac_options *options)
{
        xac_env *env;
        int err = xac_open(scratch_path(dir), flags, options, &env);

        return err ? err : xac_close(env);
}

static void another_environment_is_refused(void)
{
        xac_options options = stand_options();

        stand_with_archive(60);
        hear();
        check_equal(try_open("other", XAC_CREATE, &options), -EEXIST);
        check(was_heard("/other: archive ") && was_heard("/archive: of another environment"));
        options.archive = scratch_path("nowhere");
        check_equal(try_open("third", XAC_CREATE, &options), -ENOENT);
        check(was_heard("/nowhere: it is not there: mount it, or make the directory"));
        options = stand_options();
        check_equal(try_open("env", XAC_VOLATILE, &options), -EINVAL);
        check(was_heard("a volatile environment has no log"));
        check_ok(try_open("env", 0, &options));
}

/* A copy that is taken back to an earlier state would write another history into the archive. */
static void a_copy_of_the_past_is_refused(void)
{
        struct stand *stand = stand_new(chance_seed(), 100);
        xac_options options = stand_options();

        stand_session(stand, 20, STAND_CLOSE);
        stand_copy("env", "past");
        stand_session(stand, 20, STAND_CLOSE);
        check_equal(try_open("past", 0, &options), -EEXIST);
        check_ok(try_open("past", 0, NULL));
        stand_session(stand, 20, STAND_CLOSE);
}

/* ---- A copy that goes on by itself ---- */

enum { FORK_COMMITS = 12 };

static uint64_t commit_elsewhere(const char *name, unsigned commits, const xac_options *options)
{
        xac_env *env;
        xac_stats stats;
        int err = xac_open(scratch_path(name), 0, options, &env);

        if (err)
                return 0;
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        check(view != MAP_FAILED);
        for (unsigned i = 0; i < commits; i++) {
                check_ok(xbegin(env, 0));
                memset(view + STAND_FILE_BYTES - 512, 0xe0 + (int)i, 512);
                check_ok(xend(env));
        }
        check_ok(xac_stat(env, &stats));
        check_ok(xac_close(env));
        return stats.sequence;
}

/* Its own commits stand at the same numbers, and positions, as the archive's: none is taken for the other. */
static void expect_nothing_of_another_history(struct stand *stand, uint64_t end)
{
        struct restore_until restore;

        check_ok(stand_restore("base", RESTORE_SEQUENCE, end, &restore));
        stand_check_restored(stand, end);
        check_ok(stand_restore("base", RESTORE_SEQUENCE, end - 1 - stand_draw(stand, 10), &restore));
        stand_check_restored(stand, restore.sequence);
        int err = stand_restore("base", RESTORE_NEWEST, 0, &restore);
        check(err == 0 || err == XAC_CORRUPT);
        if (!err)
                stand_check_restored(stand, restore.sequence);
        err = stand_restore("fork", RESTORE_NEWEST, 0, &restore);
        check(err == XAC_CORRUPT || (err == 0 && !restore.commits));
}

static void fork_once(uint64_t seed, unsigned commits, unsigned sessions, bool is_opened_again)
{
        struct stand *stand = stand_new(seed, 100);

        stand->nosync_percent = 0;
        stand_session(stand, 10, STAND_CLOSE);
        stand_base("base");
        stand_copy("env", "fork");
        stand_session(stand, 15 + stand_draw(stand, 10), STAND_CLOSE);
        for (unsigned i = 0; i < sessions; i++)
                check(commit_elsewhere("fork", commits / sessions, NULL) != 0);
        if (is_opened_again)
                check(commit_elsewhere("fork", 0, NULL) != 0);
        expect_nothing_of_another_history(stand, stand->newest);
        /* Into the same archive: refused, or kept apart. */
        xac_options options = stand_options();
        uint64_t taken = commit_elsewhere("fork", 3, &options);
        expect_nothing_of_another_history(stand, stand->newest);
        printf("%u commits in %u sessions%s: %s\n", commits, sessions, is_opened_again ? ", opened again" : "",
               taken ? "kept apart" : "refused");
}

static void a_copy_that_went_on_is_kept_apart(void)
{
        for (unsigned commits = 1; commits < 40; commits += 1 + commits / FORK_COMMITS * 7)
                for (unsigned sessions = 1; sessions <= 2; sessions++)
                        for (int again = 0; again < 2; again++) {
                                fork_once(chance_seed() + commits, commits * sessions, sessions, again);
                                scratch_clear();
                        }
}

/* ---- Sessions that the archive does not know ---- */

/* Of two: the log of the second is archived later, that of the first has been given up by then. */
static void a_session_without_the_archive_is_a_gap(void)
{
        struct stand *stand = stand_new(chance_seed(), 100);
        struct restore_until restore;

        stand->nosync_percent = 0;
        stand_session(stand, 10, STAND_CLOSE);
        stand_base("base");
        stand_session(stand, 10, STAND_CLOSE);
        uint64_t before = stand->newest;
        for (unsigned i = 0; i < 2; i++) {
                struct stand_session session = { .stand = stand };

                stand_open(&session, &(xac_options){ .log_bytes = 256 << 10 });
                stand_work(&session, 10);
                check_ok(xac_close(session.env));
        }
        stand_session(stand, 10, STAND_CLOSE);
        check_ok(stand_restore("base", RESTORE_SEQUENCE, before, &restore));
        stand_check_restored(stand, before);
        check_equal(stand_restore("base", RESTORE_SEQUENCE, before + 1, &restore), XAC_CORRUPT);
        check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
        check(strstr(restore.damage, "missing") != NULL);
}

/* What a session without the option has logged is archived by the next one that has it, if it is there still. */
static void a_crashed_session_is_caught_up(void)
{
        struct stand *stand = stand_new(chance_seed(), 100);
        struct restore_until restore;

        stand_session(stand, 5, STAND_CLOSE);
        stand_base("base");
        for (unsigned i = 0; i < 5; i++)
                stand_session(stand, 12, STAND_POWER_CUT);
        stand_session(stand, 0, STAND_CLOSE);
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        check_equal(restore.sequence, stand->newest);
        stand_check_restored(stand, stand->newest);
}

static void a_session_without_a_log_is_a_gap(void)
{
        struct stand *stand = stand_new(chance_seed(), 100);
        struct restore_until restore;
        xac_env *env;

        stand_session(stand, 10, STAND_CLOSE);
        stand_base("base");
        stand_session(stand, 10, STAND_CLOSE);
        uint64_t before = stand->newest;
        check_ok(xac_open(scratch_path("env"), XAC_VOLATILE, NULL, &env));
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        check_ok(xbegin(env, 0));
        view[100]++;
        stand->state[before].file[0][100]++;
        check_ok(xend(env));
        check_ok(xac_close(env));
        stand_base("later");
        stand_session(stand, 10, STAND_CLOSE);
        check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
        check(strstr(restore.damage, "XAC_VOLATILE") != NULL);
        check_ok(stand_restore("later", RESTORE_NEWEST, 0, &restore));
        check_equal(restore.sequence, stand->newest);
        stand_check_restored(stand, stand->newest);
}

/* ---- No room ---- */

static int failing_with; /* what writes to the archive get */

static int fail_archive(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        char link[64], path[512];

        (void)offset, (void)byte_len;
        if (!failing_with || call != SYS_PWRITE)
                return 0;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, path, sizeof(path) - 1);
        if (len < 0)
                return 0;
        path[len] = 0;
        return strstr(path, "/archive/") ? failing_with : 0;
}

static void commit_words(struct stand *stand, xac_env *env, unsigned char *view, unsigned commits, int *err)
{
        *err = 0;
        for (unsigned i = 0; i < commits && !*err; i++) {
                uint64_t words[512];

                for (unsigned k = 0; k < 512; k++)
                        words[k] = chance_next(&stand->chance);
                check_ok(xbegin(env, 0));
                memcpy(view + STAND_PAGE * (i % STAND_PAGES), words, STAND_PAGE);
                *err = xend(env);
        }
}

static void wait_for_archive(xac_env *env, int error)
{
        xac_stats stats = { 0 };

        for (struct leeway left = leeway_of(10000); leeway_pause(&left);) {
                check_ok(xac_stat(env, &stats));
                if (stats.archive_error == error)
                        return;
        }
        check_failed(__FILE__, __LINE__, "the archive has error %lld, not %d", (long long)stats.archive_error, error);
}

/* Commits go on up to the bound, then are refused; when there is room again, all goes on, without a gap. */
static void a_full_archive_holds_the_log(void)
{
        struct stand *stand = stand_new(chance_seed(), 10);
        xac_options options = stand_options();
        struct restore_until restore;
        unsigned char content[STAND_FILE_BYTES];
        xac_stats stats;
        xac_env *env;
        int err;

        options.archive_held_bytes = 1 << 20;
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        check(xac_mmap(env, "a", STAND_FILE_BYTES, 0) != MAP_FAILED);
        check_ok(xac_close(env));
        stand_base("base");
        check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        sys_fail = fail_archive;
        failing_with = -ENOSPC;
        hear();
        commit_words(stand, env, view, 60, &err);
        check_ok(err);
        wait_for_archive(env, -ENOSPC);
        check(is_heard_soon("/archive takes nothing: no space left"));
        commit_words(stand, env, view, 1000, &err);
        check_equal(err, -ENOSPC);
        failing_with = 0;
        wait_for_archive(env, 0);
        check(is_heard_soon("/archive takes the log again"));
        commit_words(stand, env, view, 200, &err);
        check_ok(err);
        memcpy(content, view, sizeof(content));
        check_ok(xac_stat(env, &stats));
        check_ok(xac_close(env));
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        check_equal(restore.sequence, stats.sequence);
        memcpy(stand->state[1].file[0], content, sizeof(content));
        stand_check_restored(stand, 1);
}

static void a_full_archive_may_be_left_behind(void)
{
        struct stand *stand = stand_new(chance_seed(), 10);
        xac_options options = stand_options();
        struct restore_until restore;
        xac_env *env;
        int err;

        options.archive_held_bytes = 1 << 20;
        options.archive_flags = XAC_ARCHIVE_DROP;
        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        check(xac_mmap(env, "a", STAND_FILE_BYTES, 0) != MAP_FAILED);
        check_ok(xac_close(env));
        stand_base("base");
        check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        sys_fail = fail_archive;
        failing_with = -ENOSPC;
        commit_words(stand, env, view, 100, &err);
        wait_for_archive(env, -ENOSPC);
        commit_words(stand, env, view, 1000, &err);
        check_ok(err);
        check_ok(xac_checkpoint(env));
        failing_with = 0;
        wait_for_archive(env, 0);
        check_ok(xac_close(env));
        check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
        check(strstr(restore.damage, "archive") != NULL || strstr(restore.damage, "missing") != NULL);
}

/* The environment is closed all the same, and the archive gets the rest with the next one. */
static void a_close_without_room_says_so(void)
{
        struct stand *stand = stand_new(chance_seed(), 10);
        xac_options options = stand_options();
        struct restore_until restore;
        xac_env *env;
        int err;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        check(xac_mmap(env, "a", STAND_FILE_BYTES, 0) != MAP_FAILED);
        check_ok(xac_close(env));
        stand_base("base");
        check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        commit_words(stand, env, view, 20, &err);
        memcpy(stand->state[1].file[0], view, STAND_FILE_BYTES);
        sys_fail = fail_archive;
        failing_with = -ENOSPC;
        check_equal(xac_close(env), -ENOSPC);
        check_equal(try_open("env", 0, &options), -ENOSPC);
        failing_with = 0;
        check_ok(try_open("env", 0, &options));
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        stand_check_restored(stand, 1);
}

/* ---- Each call ---- */

static _Atomic unsigned calls_made; /* on the archive */
static unsigned call_that_fails;

static int fail_one_call(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        char link[64], path[512];

        (void)call, (void)offset, (void)byte_len;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t len = fd < 0 || !failing_with ? -1 : readlink(link, path, sizeof(path) - 1);
        if (len < 0)
                return 0;
        path[len] = 0;
        if (!strstr(path, "/archive"))
                return 0;
        return atomic_fetch_add(&calls_made, 1) + 1 == call_that_fails ? failing_with : 0;
}

/* One call on the archive fails, in an open, a commit or a close: nothing else does, and nothing is missing later.
 * False: there were not so many calls. */
static bool let_one_fail(struct stand *stand, int error, unsigned call)
{
        xac_options options = stand_options();
        xac_env *env;
        int err;

        failing_with = error;
        call_that_fails = call;
        atomic_store(&calls_made, 0);
        err = xac_open(scratch_path("env"), 0, &options, &env);
        if (err) {
                check_equal(err, error);
                failing_with = 0;
                check_ok(xac_open(scratch_path("env"), 0, &options, &env));
        }
        unsigned char *view = xac_mmap(env, "a", STAND_FILE_BYTES, 0);
        commit_words(stand, env, view, 25, &err);
        check_ok(err);
        memcpy(stand->state[1].file[0], view, STAND_FILE_BYTES);
        err = xac_close(env);
        check(err == 0 || err == error);
        failing_with = 0;
        check_ok(try_open("env", 0, &options));
        return atomic_load(&calls_made) >= call;
}

static void each_call_on_the_archive_may_fail(void)
{
        static const int errors[] = { -EIO, -ENOSPC, -EMFILE };
        struct stand *stand = stand_new(chance_seed(), 10);
        struct restore_until restore;
        xac_stats stats;
        xac_options options = stand_options();
        xac_env *env;
        unsigned cases = 0;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE, &options, &env));
        check(xac_mmap(env, "a", STAND_FILE_BYTES, 0) != MAP_FAILED);
        check_ok(xac_close(env));
        stand_base("base");
        sys_fail = fail_one_call;
        for (unsigned i = 0; i < 3; i++)
                for (unsigned call = 1; let_one_fail(stand, errors[i], call); call++)
                        cases++;
        sys_fail = NULL;
        check_ok(xac_open(scratch_path("env"), 0, NULL, &env));
        check_ok(xac_stat(env, &stats));
        check_ok(xac_close(env));
        check_ok(stand_restore("base", RESTORE_NEWEST, 0, &restore));
        check_equal(restore.sequence, stats.sequence);
        stand_check_restored(stand, 1);
        check(cases > 60);
}

/* ---- Retention ---- */

static void what_is_old_is_forgotten(void)
{
        struct stand *stand = stand_with_archive(250);
        struct restore_until restore;
        struct archive_line line;
        struct findings findings = { .report = NULL };
        uint64_t removed, session_ns = 0;
        int archive;

        uint64_t since = stand->newest / 2;
        check_ok(stand_restore("base", RESTORE_SEQUENCE, since, &restore));
        stand_copy("restored", "half"); /* as a later backup: of the same environment */
        check_ok(sys_open(AT_FDCWD, scratch_path("archive"), O_RDONLY | O_DIRECTORY, 0, &archive));
        check_ok(archive_line_open(&line, archive, NULL, &findings));
        for (uint32_t i = 0; i < line.count && line.piece[i].part.before < since; i++)
                if (line.piece[i].part.last)
                        session_ns = line.piece[i].part.session.time_ns;
        check_ok(archive_line_forget(&line, archive, since, 0, &removed));
        archive_line_close(&line);
        check(removed > 0 && removed < part_count);
        check_equal(stand_restore("base", RESTORE_NEWEST, 0, &restore), XAC_CORRUPT);
        for (unsigned i = 0; i < 2; i++) {
                int directory;

                stand_copy("half", "restored");
                check_ok(sys_open(AT_FDCWD, scratch_path("restored"), O_RDONLY | O_DIRECTORY, 0, &directory));
                struct restore_until later = { .kind = RESTORE_SEQUENCE, .target = i ? stand->newest : since + 1 };
                check_ok(restore_until_base(&later, directory));
                memcpy(later.uuid, restore.uuid, sizeof(later.uuid));
                later.history = restore.history;
                later.session_ns = session_ns;
                later.archive = archive;
                check_ok(restore_until_run(&later));
                stand_check_restored(stand, later.sequence);
                close(directory);
        }
        check_ok(archive_line_open(&line, archive, NULL, &findings));
        check_ok(archive_line_forget(&line, archive, UINT64_MAX, 0, &removed));
        archive_line_close(&line);
        list_parts();
        check(part_count >= 1);
        close(archive);
        stand->most += 10;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_gap_is_named),
                stand_test(damage_is_named, 120),
                stand_test(any_bytes_do_no_harm, 120),
                isolated_test(another_environment_is_refused),
                isolated_test(a_copy_of_the_past_is_refused),
                stand_test(a_copy_that_went_on_is_kept_apart, 200),
                isolated_test(a_session_without_the_archive_is_a_gap),
                isolated_test(a_crashed_session_is_caught_up),
                isolated_test(a_session_without_a_log_is_a_gap),
                isolated_test(a_full_archive_holds_the_log),
                isolated_test(a_full_archive_may_be_left_behind),
                isolated_test(a_close_without_room_says_so),
                stand_test(each_call_on_the_archive_may_fail, 200),
                isolated_test(what_is_old_is_forgotten),
        };

        return cmocka_run_group_tests_name("libxac/archive in trouble", tests, NULL, NULL);
}
