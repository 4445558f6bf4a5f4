/* SPDX-License-Identifier: MIT */

/*
 * R29: bits that change at rest. Data files that rot keep their size and time; each page has a checksum beside it.
 * What is copied from home into a version is compared with it; files that somebody has changed while they were closed
 * are taken as they are, or refused; and any bit of an environment at rest that flips is found by a check, or does no
 * harm.
 *
 *      rot [--flips N [--say]]        so many bits (1,000), by XAC_TEST_SEED
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xac/xac.h>

#include "recovery/checksums.h"
#include "recovery/recover.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/heard.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { FILES = 2, PAGES = 300, PAGE_BYTES = 4096, WORDS = PAGE_BYTES / 8 };

static uint64_t flips = 1000;
static bool says_all; /* that is found: for debugging */

static const char *const file_names[FILES] = { "first", "second" };
static const xac_options options = { .pool_bytes = 16 << 20, .log_bytes = 1 << 20 };

struct seat {
        xac_env *env;
        uint64_t *words[FILES];
};

/* ---- Environments ---- */

static const char *env_path(void)
{
        return scratch_path("env");
}

static const char *path_in(const char *directory, const char *name)
{
        char path[NAME_MAX];

        snprintf(path, sizeof(path), "%s/%s", directory, name);
        return scratch_path(path);
}

static int open_at(const char *path, int flags, struct seat *seat)
{
        int err = xac_open(path, flags, &options, &seat->env);

        for (int i = 0; i < FILES && !err; i++) {
                seat->words[i] = xac_mmap(seat->env, file_names[i], (size_t)PAGES * PAGE_BYTES, 0);
                if (seat->words[i] == MAP_FAILED) {
                        err = errno == EIO ? XAC_CORRUPT : -errno;
                        (void)xac_close(seat->env);
                }
        }
        return err;
}

static void open_seat(int flags, struct seat *seat)
{
        check_ok(open_at(env_path(), flags, seat));
}

/* What a page holds after commit `round`: never zeros. */
static uint64_t value_of(int file, unsigned page, unsigned word, uint64_t round)
{
        return chance_mix(((uint64_t)file * PAGES + page) * WORDS + word + round * 1000003) | 1;
}

static void fill(const struct seat *seat, int file, unsigned page, uint64_t round)
{
        for (unsigned word = 0; word < WORDS; word++)
                seat->words[file][(size_t)page * WORDS + word] = value_of(file, page, word, round);
}

/* Pages 0 to PAGES - 50 of both files; the last ones are never written. */
static bool is_written(unsigned page)
{
        return page < PAGES - 50;
}

static void fill_all(const struct seat *seat, uint64_t round)
{
        for (int file = 0; file < FILES; file++) {
                check_ok(xbegin(seat->env, 0));
                for (unsigned page = 0; page < PAGES; page++)
                        if (is_written(page))
                                fill(seat, file, page, round);
                check_ok(xend(seat->env));
        }
}

static void make_closed(int flags)
{
        struct seat seat;

        open_seat(XAC_CREATE | flags, &seat);
        fill_all(&seat, 1);
        check_ok(xac_close(seat.env));
}

/* ---- Rot ---- */

/* Changes a byte, and leaves the file its time. */
static void rot_at(const char *path, uint64_t offset, unsigned char bits)
{
        int fd = open(path, O_RDWR | O_CLOEXEC);
        struct stat st;
        unsigned char byte;

        check(fd >= 0 && fstat(fd, &st) == 0);
        check_equal(pread(fd, &byte, 1, (off_t)offset), 1);
        byte ^= bits;
        check_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
        check_equal(futimens(fd, (struct timespec[2]){ st.st_atim, st.st_mtim }), 0);
        close(fd);
}

static void read_at(const char *path, uint64_t offset, void *bytes, size_t byte_len)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pread(fd, bytes, byte_len, (off_t)offset), byte_len);
        close(fd);
}

static void rot_page(int file, unsigned page)
{
        rot_at(path_in("env", file_names[file]), (uint64_t)page * PAGE_BYTES + 77, 0x10);
}

static int write_page(const struct seat *seat, int file, unsigned page, bool is_declared)
{
        uint64_t *words = seat->words[file] + (size_t)page * WORDS;

        check_ok(xbegin(seat->env, 0));
        if (is_declared) {
                uint64_t *there = xac_page_write(seat->env, words);

                if (there)
                        there[3] = 5;
        } else {
                words[3] = 5;
        }
        return xend(seat->env);
}

static void rot_is_found_by_the_first_write(int way)
{
        struct seat seat;

        make_closed(way & WAY_PROCESS ? XAC_VOLATILE : 0);
        rot_page(0, 17);
        rot_page(1, 200);
        hear();
        open_seat(way & WAY_PROCESS ? XAC_VOLATILE : 0, &seat);
        for (unsigned page = 0; page < PAGES; page++)
                for (int file = 0; file < FILES; file++) {
                        const bool is_rotten = (file == 0 && page == 17) || (file == 1 && page == 200);

                        check_code(write_page(&seat, file, page, way & WAY_DECLARED), is_rotten ? XAC_CORRUPT : 0);
                        check_code(write_page(&seat, file, page, way & WAY_DECLARED), is_rotten ? XAC_CORRUPT : 0);
                }
        check(was_heard("env/first: offset 69632: the page is not what its checksum (xac.sums.0) says"));
        check(was_heard("env/second: offset 819200: the page is not what its checksum (xac.sums.1) says"));
        check_ok(xac_close(seat.env));
}

static void rot_is_not_moved(void)
{
        struct seat seat;

        make_closed(0);
        rot_page(0, 17);
        hear();
        open_seat(0, &seat);
        check_ok(xbegin(seat.env, 0));
        check_code(xac_page_move(seat.env, seat.words[0] + (size_t)40 * WORDS, seat.words[0] + (size_t)17 * WORDS, 1),
                   XAC_CORRUPT);
        check_code(xend(seat.env), XAC_CORRUPT);
        check_ok(xbegin(seat.env, 0));
        check_ok(xac_page_move(seat.env, seat.words[0] + (size_t)40 * WORDS, seat.words[0] + (size_t)18 * WORDS, 1));
        check_ok(xend(seat.env));
        check_ok(xac_close(seat.env));
}

/* What never went home is a hole in both files. */
static void rot_where_nothing_was_written_is_found(void)
{
        struct seat seat;

        make_closed(0);
        rot_page(0, PAGES - 2);
        hear();
        open_seat(0, &seat);
        check_code(write_page(&seat, 0, PAGES - 3, false), 0);
        check_code(write_page(&seat, 0, PAGES - 2, false), XAC_CORRUPT);
        check_ok(xac_close(seat.env));
}

static void recovery_does_not_go_on_from_rot(void)
{
        struct seat seat;
        struct recovery recovery = { 0 };
        struct manifest manifest;
        pid_t child;

        make_closed(0);
        child = fork();
        check(child >= 0);
        if (!child) {
                open_seat(0, &seat);
                check_ok(write_page(&seat, 0, 30, true));
                kill(getpid(), SIGKILL);
        }
        crew_status(child);
        scratch_shared_memory_left(1);
        rot_page(0, 30);
        check_code(xac_open(env_path(), 0, &options, &seat.env), XAC_CORRUPT);
        recovery.directory = open(env_path(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check_ok(manifest_read(recovery.directory, &manifest));
        check_code(recover_run(&recovery, &manifest), XAC_CORRUPT);
        check(strstr(recovery.damage, "first: offset 122880: the page is not what its checksum says") != NULL);
        rot_page(0, 30); /* back */
        open_seat(0, &seat);
        check_equal(seat.words[0][(size_t)30 * WORDS + 4], value_of(0, 30, 4, 1));
        check_ok(xac_close(seat.env));
        close(recovery.directory);
}

/* ---- Changed by others ---- */

static void change_word(unsigned page, uint64_t value)
{
        int fd = open(path_in("env", file_names[0]), O_RDWR | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pwrite(fd, &value, sizeof(value), (off_t)page * PAGE_BYTES), sizeof(value));
        close(fd);
}

static void expect_all_verified(const struct seat *seat)
{
        xac_scrub_result result;

        check_ok(xac_scrub(seat->env, NULL, &result));
        check_equal(result.pages, FILES * PAGES);
        check_equal(result.verified, FILES * PAGES);
}

static void what_others_change_is_adopted(int way)
{
        const int flags = way & WAY_PROCESS ? XAC_VOLATILE : 0;
        struct seat seat;

        make_closed(flags);
        change_word(17, 4711);
        hear();
        check_code(xac_open(env_path(), flags | XAC_UNCHANGED, &options, &seat.env), XAC_CORRUPT);
        check(was_heard("env/first: 1 of its 300 pages are not what their checksums say"));
        check(was_heard("XAC_UNCHANGED"));
        open_seat(flags, &seat);
        check(was_heard("it is taken as it is"));
        check_equal(seat.words[0][(size_t)17 * WORDS], 4711);
        expect_all_verified(&seat);
        check_code(write_page(&seat, 0, 17, false), 0);
        check_ok(xac_close(seat.env));
        hear();
        check_ok(xac_open(env_path(), flags | XAC_UNCHANGED, &options, &seat.env));
        check_ok(xac_close(seat.env));
        check(!was_heard("libxac"));
}

/* As a copy has: another time, the same bytes. */
static void another_time_alone_is_no_change(void)
{
        struct seat seat;

        make_closed(0);
        check_equal(utimensat(AT_FDCWD, path_in("env", file_names[0]), (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0),
                    0);
        hear();
        check_ok(xac_open(env_path(), XAC_UNCHANGED, &options, &seat.env));
        check_ok(xac_close(seat.env));
        check(!was_heard("libxac"));
}

/* Nothing is written among the checksums then, also where they are not known: a power cut could harm what is. */
static void another_time_leaves_the_checksums_alone(void)
{
        unsigned char before[CHECKSUMS_SECTOR_BYTES], after[CHECKSUMS_SECTOR_BYTES];
        struct seat seat;

        make_closed(0);
        rot_at(path_in("env", "xac.sums.0"), CHECKSUMS_HEADER_BYTES + 100, 0x04);
        check_equal(utimensat(AT_FDCWD, path_in("env", file_names[0]), (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0),
                    0);
        read_at(path_in("env", "xac.sums.0"), CHECKSUMS_HEADER_BYTES, before, sizeof(before));
        check_ok(xac_open(env_path(), XAC_UNCHANGED, &options, &seat.env));
        check_ok(xac_close(seat.env));
        read_at(path_in("env", "xac.sums.0"), CHECKSUMS_HEADER_BYTES, after, sizeof(after));
        check(memcmp(before, after, sizeof(before)) == 0);
}

static void what_others_cut_is_a_change(void)
{
        struct seat seat;

        make_closed(0);
        check_equal(truncate(path_in("env", file_names[0]), (off_t)100 * PAGE_BYTES), 0);
        hear();
        check_code(xac_open(env_path(), XAC_UNCHANGED, &options, &seat.env), XAC_CORRUPT);
        open_seat(0, &seat);
        check(was_heard("env/first: it has 409600 bytes, and had 1228800 when it was closed"));
        check(was_heard("env/first: 150 of its 300 pages"));
        expect_all_verified(&seat);
        check_equal(seat.words[0][(size_t)120 * WORDS], 0);
        check_code(write_page(&seat, 0, 120, false), 0);
        check_ok(xac_close(seat.env));
}

/* Zeros at the end are what a hole would be: only the size tells of them. */
static void zeros_that_others_cut_are_a_change(void)
{
        struct seat seat;

        make_closed(0);
        check_equal(truncate(path_in("env", file_names[0]), (off_t)(PAGES - 1) * PAGE_BYTES), 0);
        hear();
        check_code(xac_open(env_path(), XAC_UNCHANGED, &options, &seat.env), XAC_CORRUPT);
        check(was_heard("XAC_UNCHANGED"));
        open_seat(0, &seat);
        expect_all_verified(&seat);
        check_ok(xac_close(seat.env));
}

static void what_others_remove_is_a_change(void)
{
        struct seat seat;

        make_closed(0);
        check_equal(unlink(path_in("env", file_names[0])), 0);
        hear();
        check_code(xac_open(env_path(), XAC_UNCHANGED, &options, &seat.env), XAC_CORRUPT);
        check(was_heard("env/first: it is missing, and had 1228800 bytes when it was closed"));
        check(access(path_in("env", file_names[0]), F_OK) != 0);
        hear();
        open_seat(0, &seat);
        check(was_heard("env/first: it is missing"));
        expect_all_verified(&seat);
        check_equal(seat.words[0][(size_t)17 * WORDS], 0);
        check_code(write_page(&seat, 0, 17, false), 0);
        check_ok(xac_close(seat.env));
}

/* The machine goes down in a volatile session: what is at home is of any age. */
static void what_a_volatile_session_leaves_gets_checksums_anew(void)
{
        struct seat seat;
        pid_t child;

        make_closed(XAC_VOLATILE);
        child = fork();
        check(child >= 0);
        if (!child) {
                open_seat(XAC_VOLATILE, &seat);
                fill_all(&seat, 2);
                check_ok(xac_checkpoint(seat.env));
                kill(getpid(), SIGKILL);
        }
        crew_status(child);
        scratch_shared_memory_left(1);
        rot_page(0, 3); /* as if it were torn */
        hear();
        open_seat(XAC_VOLATILE | XAC_UNCHANGED, &seat);
        check(was_heard("env/first: 1 of its 300 pages are not what their checksums say: the machine went down in a "
                        "volatile session"));
        expect_all_verified(&seat);
        check_ok(xac_close(seat.env));
}

/* ---- Scrubbing ---- */

static void count_sentence(void *count, const char *sentence)
{
        if (says_all)
                printf("%s\n", sentence);
        ++*(unsigned *)count;
}

static void write_for_a_while(int index, void *stop_)
{
        _Atomic bool *stop = stop_;
        struct seat seat;
        struct chance chance = { 4711 + (uint64_t)index };
        int err;

        open_seat(0, &seat);
        for (uint64_t round = 2; !atomic_load(stop); round++) {
                check_ok(xbegin(seat.env, XAC_NOSYNC));
                fill(&seat, (int)chance_below(&chance, FILES), (unsigned)chance_below(&chance, PAGES - 50), round);
                err = xend(seat.env);
                check(err == 0 || err == XAC_CONFLICT);
                if (round % 50 == 0)
                        check_ok(xac_checkpoint(seat.env));
        }
        check_ok(xac_close(seat.env));
}

static void scrubbing_beside_writers_finds_nothing_that_is_not_there(void)
{
        _Atomic bool *stop = crew_shared(sizeof(*stop));
        pid_t writer[2];
        struct seat seat;
        uint64_t verified = 0;
        unsigned sentences = 0;
        struct recovery recovery = { 0 };
        struct manifest manifest;

        make_closed(0);
        for (int i = 0; i < 2; i++)
                writer[i] = crew_fork(write_for_a_while, i, stop);
        open_seat(0, &seat);
        for (int i = 0; i < 60; i++) {
                xac_scrub_result result;

                check_ok(xac_scrub(seat.env, NULL, &result));
                check_equal(result.pages, FILES * PAGES);
                check_equal(result.damaged + result.unknown + result.summed, 0);
                check_equal(result.verified + result.in_pool, result.pages);
                verified += result.verified;
        }
        check(verified > 0);
        atomic_store(stop, true);
        for (int i = 0; i < 2; i++)
                crew_join(writer[i]);
        check_ok(xac_close(seat.env));
        recovery.directory = open(env_path(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check_ok(manifest_read(recovery.directory, &manifest));
        check_ok(recover_check(&recovery, &manifest, count_sentence, &sentences));
        check_equal(sentences, 0);
        check_equal(recovery.checksums_pages, FILES * PAGES);
        check_equal(recovery.checksums_unknown, 0);
        close(recovery.directory);
}

struct found {
        unsigned count;
        uint64_t offset;
        char file[64];
};

static void note_damage(void *arg, const char *file, uint64_t offset)
{
        struct found *found = arg;

        found->count++;
        found->offset = offset;
        snprintf(found->file, sizeof(found->file), "%s", file);
}

static int end_it(void *arg, const char *file, uint64_t done, uint64_t total)
{
        (void)arg;
        check(done <= total && strlen(file));
        return -ECANCELED;
}

static void scrubbing_finds_rot(void)
{
        struct found found = { 0 };
        const xac_scrub_options with = { .damage = note_damage, .arg = &found, .bytes_per_second = UINT64_C(1) << 32 };
        const xac_scrub_options ended = { .progress = end_it };
        const xac_scrub_options wrong = { .flags = 2 }, later = { .reserved = { [3] = 1 } };
        xac_scrub_result result;
        struct seat seat;

        make_closed(0);
        rot_page(1, 123);
        open_seat(0, &seat);
        check_code(xac_scrub(seat.env, &with, &result), XAC_CORRUPT);
        check_equal(found.count, 1);
        check_equal(found.offset, 123 * PAGE_BYTES);
        check(strcmp(found.file, "second") == 0);
        check_equal(result.damaged, 1);
        check_equal(result.verified, FILES * PAGES - 1);
        check_code(xac_scrub(seat.env, &ended, NULL), -ECANCELED);
        check_code(xac_scrub(seat.env, &wrong, NULL), -EINVAL);
        check_code(xac_scrub(seat.env, &later, NULL), -EINVAL);
        check_ok(xac_close(seat.env));
}

/* A backup that is taken while the environment is in use has no page that is not what it should be, or there is none.
 */
static void rot_goes_into_no_backup(void)
{
        struct seat seat;

        make_closed(0);
        open_seat(0, &seat);
        check_ok(xac_backup(seat.env, scratch_path("sound"), NULL));
        rot_page(1, 123);
        hear();
        check_code(xac_backup(seat.env, scratch_path("rotten"), NULL), XAC_CORRUPT);
        check(was_heard("second: offset 503808: the page is not what its checksum"));
        check(access(scratch_path("rotten"), F_OK) != 0);
        check_ok(xac_close(seat.env));
}

/* An environment of before there were checksums; also one whose checksums were taken away. */
static void what_has_no_checksums_gets_them(void)
{
        const xac_scrub_options summing = { .flags = XAC_SCRUB_SUM };
        xac_scrub_result result;
        struct seat seat;

        make_closed(0);
        check_equal(unlink(path_in("env", "xac.sums.0")), 0);
        hear();
        check_code(xac_open(env_path(), XAC_UNCHANGED, &options, &seat.env), XAC_CORRUPT);
        check(was_heard("env/first: its checksums (xac.sums.0) are missing") && was_heard("XAC_UNCHANGED"));
        open_seat(0, &seat);
        check_ok(xac_scrub(seat.env, NULL, &result));
        const uint64_t unknown = result.unknown; /* what lies in the hole behind the data is known */
        check(unknown >= 250 && unknown <= 256); /* however large the blocks of the file system are */
        check_code(write_page(&seat, 0, 17, false), 0);
        check_ok(xac_checkpoint(seat.env));
        check_ok(xac_scrub(seat.env, NULL, &result));
        check_equal(result.unknown, unknown - 1);
        check_ok(xac_scrub(seat.env, &summing, &result));
        check_equal(result.summed, unknown - 1);
        expect_all_verified(&seat);
        check_ok(xac_close(seat.env));
        rot_page(0, 18);
        hear();
        open_seat(0, &seat);
        check_code(write_page(&seat, 0, 18, false), XAC_CORRUPT);
        check_ok(xac_close(seat.env));
}

static void a_file_that_grows_has_checksums_all_along(void)
{
        xac_scrub_result result;
        struct seat seat;

        make_closed(0);
        open_seat(0, &seat);
        for (unsigned pages = PAGES; pages < 2000; pages += 333) {
                check_ok(xac_munmap(seat.env, seat.words[0]));
                seat.words[0] = xac_mmap(seat.env, file_names[0], (size_t)pages * PAGE_BYTES, 0);
                check(seat.words[0] != MAP_FAILED);
                check_code(write_page(&seat, 0, pages - 1, false), 0);
                check_ok(xac_checkpoint(seat.env));
                check_ok(xac_scrub(seat.env, NULL, &result));
                check_equal(result.verified, result.pages);
        }
        check_ok(xac_close(seat.env));
}

/* ---- Any bit ---- */

static void copy_file(const char *from, const char *to)
{
        long long byte_len = scratch_file_size(from);
        unsigned char *bytes = malloc((size_t)byte_len + 1);
        struct stat st;

        check(byte_len >= 0 && bytes);
        scratch_read_file(from, bytes, (size_t)byte_len);
        scratch_write_file(to, bytes, (size_t)byte_len);
        check_equal(stat(from, &st), 0);
        check_equal(utimensat(AT_FDCWD, to, (struct timespec[2]){ st.st_atim, st.st_mtim }, 0), 0);
        free(bytes);
}

enum { ROTTING_MAX = 64 };
static char rotting[ROTTING_MAX][NAME_MAX + 1]; /* all files but the lock file, which is empty */
static unsigned rotting_count;

static void list_environment(void)
{
        DIR *names = opendir(env_path());
        const struct dirent *name;

        check(names != NULL);
        while ((name = readdir(names)) != NULL)
                if (name->d_name[0] != '.' && strcmp(name->d_name, "xac.lock") != 0) {
                        check(rotting_count < ROTTING_MAX);
                        strcpy(rotting[rotting_count++], name->d_name);
                }
        closedir(names);
}

static void copy_environment(void)
{
        (void)mkdir(scratch_path("copy"), 0700);
        for (unsigned i = 0; i < rotting_count; i++) {
                char from[PATH_MAX];

                snprintf(from, sizeof(from), "%s", path_in("env", rotting[i]));
                copy_file(from, path_in("copy", rotting[i]));
        }
}

/* How much a check of `directory` finds. A bit in the newest records of the log is a torn tail to whoever reads it:
 * *is_torn, and what is lost are the newest commits. */
static unsigned found_by_check(const char *path, bool *is_torn)
{
        unsigned count = 0;
        struct recovery recovery = { .directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        static struct manifest manifest;
        unsigned char slots[2][65536 / 2];
        int err;

        check(recovery.directory >= 0);
        err = manifest_read(recovery.directory, &manifest);
        if (err || (recover_check(&recovery, &manifest, count_sentence, &count) && !count))
                count++;
        /* A slot of the manifest that is torn or damaged is told by xac check. */
        scratch_read_file(path_in(strrchr(path, '/') + 1, "xac.manifest"), slots, sizeof(slots));
        slots[1][56] = slots[0][56];
        memcpy(slots[1] + 12, slots[0] + 12, 4); /* but for turn and checksum */
        count += memcmp(slots[0], slots[1], sizeof(slots[0])) != 0;
        *is_torn = recovery.has_torn_tail;
        close(recovery.directory);
        return count;
}

static uint64_t expected[FILES][PAGES]; /* the round of each page; 0: zeros */

struct fate {
        bool was_found;
        bool is_torn; /* the newest commits may be lost, each as a whole */
};

static bool is_page(const uint64_t *words, int file, unsigned page, uint64_t round)
{
        for (unsigned word = 0; word < WORDS; word++)
                if (words[word] != (round ? value_of(file, page, word, round) : 0))
                        return false;
        return true;
}

/* What may be committed on top of is right. */
static void use_page(const struct seat *seat, int file, unsigned page, const struct fate *fate)
{
        uint64_t *words = seat->words[file] + (size_t)page * WORDS;
        bool is_right;
        int err;

        check_ok(xbegin(seat->env, 0));
        *(volatile uint64_t *)words = words[0];
        is_right = is_page(words, file, page, expected[file][page]) ||
                   (fate->is_torn && is_page(words, file, page, is_written(page)));
        err = xend(seat->env);
        check(err == 0 || (fate->was_found && err == XAC_CORRUPT));
        check(is_right || err);
}

/* Opens the copy. What was not found must be all right; what was must not lead to a crash, nor be taken for sound. */
static void use_copy(int unused, void *fate_)
{
        const struct fate *fate = fate_;
        struct seat seat;
        int err;

        (void)unused;
        hear();
        err = open_at(scratch_path("copy"), 0, &seat);
        if (err) {
                check(fate->was_found);
                check(err == XAC_CORRUPT || err == XAC_FORMAT);
                return;
        }
        for (int file = 0; file < FILES; file++)
                for (unsigned page = 0; page < PAGES; page++)
                        use_page(&seat, file, page, fate);
        check_ok(xac_close(seat.env));
}

/* What an open has made besides, too. */
static void clear_copy(void)
{
        DIR *names = opendir(scratch_path("copy"));
        const struct dirent *name;

        check(names != NULL);
        while ((name = readdir(names)) != NULL)
                if (strcmp(name->d_name, ".") != 0 && strcmp(name->d_name, "..") != 0)
                        check_equal(unlinkat(dirfd(names), name->d_name, 0), 0);
        closedir(names);
        scratch_shared_memory_left(1);
}

static void flip_one(struct chance *chance, unsigned *harmless)
{
        const char *name = rotting[chance_below(chance, rotting_count)];
        long long byte_len = scratch_file_size(path_in("copy", name));
        uint64_t offset;
        unsigned bit;
        struct fate fate;
        pid_t child;

        if (byte_len <= 0)
                return;
        offset = chance_below(chance, (uint64_t)byte_len);
        bit = (unsigned)chance_below(chance, 8);
        rot_at(path_in("copy", name), offset, (unsigned char)(1 << bit));
        fate.was_found = found_by_check(scratch_path("copy"), &fate.is_torn) != 0;
        *harmless += !fate.was_found && !fate.is_torn;
        if (fate.was_found && chance_below(chance, 8)) {
                rot_at(path_in("copy", name), offset, (unsigned char)(1 << bit));
                return;
        }
        child = crew_fork(use_copy, 0, &fate);
        if (crew_status(child) != 0)
                check_failed(__FILE__, __LINE__, "bit %u at offset %llu of %s, which the check %s", bit,
                             (unsigned long long)offset, name, fate.was_found ? "finds" : "does not find");
        clear_copy();
        copy_environment();
}

static void flip_many(uint64_t count)
{
        struct chance chance = { chance_seed() };
        unsigned harmless = 0;
        bool is_torn;

        list_environment();
        copy_environment();
        check_equal(found_by_check(scratch_path("copy"), &is_torn), 0);
        check(!is_torn);
        for (uint64_t i = 0; i < count; i++)
                flip_one(&chance, &harmless);
        printf("%llu bits flipped, of which %u did no harm and were not found\n", (unsigned long long)count, harmless);
}

static void any_bit_of_a_closed_environment(void)
{
        make_closed(0);
        for (int file = 0; file < FILES; file++)
                for (unsigned page = 0; page < PAGES; page++)
                        expected[file][page] = is_written(page);
        flip_many(flips / 2);
}

/* With a double-write buffer that the manifest names, and a log behind it. */
static void make_crashed(void)
{
        struct seat seat;

        open_seat(0, &seat);
        for (unsigned page = 0; page < 40; page += 2) {
                check_ok(xbegin(seat.env, 0));
                fill(&seat, 0, page, 2);
                check_ok(xend(seat.env));
        }
        check_ok(xac_checkpoint(seat.env));
        for (unsigned page = 0; page < 30; page += 3) {
                check_ok(xbegin(seat.env, 0));
                fill(&seat, 1, page, 3);
                check_ok(xend(seat.env));
        }
        kill(getpid(), SIGKILL);
}

static void any_bit_of_a_crashed_environment(void)
{
        pid_t child;

        make_closed(0);
        child = fork();
        check(child >= 0);
        if (!child)
                make_crashed();
        crew_status(child);
        scratch_shared_memory_left(1);
        for (int file = 0; file < FILES; file++)
                for (unsigned page = 0; page < PAGES; page++)
                        expected[file][page] = is_written(page);
        for (unsigned page = 0; page < 40; page += 2)
                expected[0][page] = 2;
        for (unsigned page = 0; page < 30; page += 3)
                expected[1][page] = 3;
        flip_many(flips / 2);
}

#define isolated_in_memory(body, limit_s)                                    \
        {                                                                    \
#body, isolate_run, NULL, NULL, &(struct isolated)           \
                {                                                            \
                        .once = (body), .seconds = (limit_s), .in_memory = 1 \
                }                                                            \
        }

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                isolated_way(rot_is_found_by_the_first_write, 0, "view"),
                isolated_way(rot_is_found_by_the_first_write, WAY_DECLARED, "declared"),
                isolated_way(rot_is_found_by_the_first_write, WAY_PROCESS, "volatile"),
                isolated_test(rot_is_not_moved),
                isolated_test(rot_where_nothing_was_written_is_found),
                isolated_test(recovery_does_not_go_on_from_rot),
                isolated_way(what_others_change_is_adopted, 0, "durable"),
                isolated_way(what_others_change_is_adopted, WAY_PROCESS, "volatile"),
                isolated_test(another_time_alone_is_no_change),
                isolated_test(another_time_leaves_the_checksums_alone),
                isolated_test(what_others_cut_is_a_change),
                isolated_test(zeros_that_others_cut_are_a_change),
                isolated_test(what_others_remove_is_a_change),
                isolated_test(what_a_volatile_session_leaves_gets_checksums_anew),
                isolated_timed(scrubbing_beside_writers_finds_nothing_that_is_not_there, 120),
                isolated_test(scrubbing_finds_rot),
                isolated_test(rot_goes_into_no_backup),
                isolated_test(what_has_no_checksums_gets_them),
                isolated_test(a_file_that_grows_has_checksums_all_along),
                isolated_in_memory(any_bit_of_a_closed_environment, 3600),
                isolated_in_memory(any_bit_of_a_crashed_environment, 3600),
        };

        if (argc >= 3 && strcmp(argv[1], "--flips") == 0)
                flips = strtoull(argv[2], NULL, 10);
        says_all = argc == 4 && strcmp(argv[3], "--say") == 0;
        return cmocka_run_group_tests_name("bits that rot", tests, NULL, NULL);
}
