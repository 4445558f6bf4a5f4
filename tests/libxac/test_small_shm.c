/* SPDX-License-Identifier: MIT */

/*
 * A /dev/shm of 64 MiB, as containers have it, and smaller ones: an environment takes what fits, says how much that is,
 * and ends in a code that says what is full. Never a signal.
 */

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/own_shm.h"
#include "tests/support/scratch.h"

#define MIB (UINT64_C(1) << 20)

enum { PAGE = 4096, PAGES = 18432 /* 72 MiB */ };

struct room {
        xac_env *env;
        char *bytes;
};

static struct room open_room(const char *name, uint64_t pool_bytes)
{
        const xac_options options = { .pool_bytes = pool_bytes };
        struct room room;

        check_ok(xac_open(scratch_path(name), XAC_CREATE, &options, &room.env));
        room.bytes = xac_mmap(room.env, "bytes", (size_t)PAGES * PAGE, 0);
        check(room.bytes != MAP_FAILED);
        return room;
}

static uint64_t ceiling(const struct room *room)
{
        xac_stats stats;

        check_ok(xac_stat(room->env, &stats));
        return stats.pool_bytes;
}

/* One transaction of so many pages, by plain stores. */
static int store_pages(const struct room *room, unsigned count, char value)
{
        check_ok(xbegin(room->env, XAC_NOSYNC));
        for (unsigned i = 0; i < count; i++)
                room->bytes[(size_t)i * PAGE] = value;
        return xend(room->env);
}

/* The same by declared access, which is faster. */
static int write_pages(const struct room *room, unsigned count, char value)
{
        char *byte = room->bytes;

        check_ok(xbegin(room->env, XAC_NOSYNC));
        for (unsigned i = 0; i < count && byte; i++) {
                byte = xac_page_write(room->env, room->bytes + (size_t)i * PAGE);
                if (byte)
                        *byte = value;
        }
        return xend(room->env);
}

static char read_page(const struct room *room, unsigned page)
{
        char value;

        check_ok(xbegin(room->env, XAC_RDONLY));
        value = room->bytes[(size_t)page * PAGE];
        check_ok(xend(room->env));
        return value;
}

static void check_it_goes_on(const struct room *room)
{
        for (char value = 50; value < 60; value++) {
                check_ok(store_pages(room, 100, value));
                check_equal(read_page(room, 99), value);
        }
}

static void the_default_takes_what_fits(void)
{
        own_shm("64m");
        struct room room = open_room("env", 0);

        check(ceiling(&room) >= 32 * MIB);
        check(ceiling(&room) <= 60 * MIB);
        check_ok(write_pages(&room, (unsigned)(ceiling(&room) / PAGE / 10 * 9), 1));
        check_code(store_pages(&room, PAGES, 2), XAC_FULL);
        check_equal(read_page(&room, 5), 1);
        check_it_goes_on(&room);
        check_ok(xac_close(room.env));
        check_equal(own_shm_files(), 0);
}

static void what_is_full_is_said(void)
{
        check(strstr(xac_strerror(XAC_FULL), "/dev/shm") != NULL);
        check(strstr(xac_strerror(XAC_FULL), "--shm-size") != NULL);
        check(strstr(xac_strerror(-ENOSPC), "/dev/shm") != NULL);
}

static void a_pool_larger_than_all_there_is_is_not_promised(void)
{
        own_shm("64m");
        struct room room = open_room("env", 1024 * MIB);

        check(ceiling(&room) > 50 * MIB);
        check(ceiling(&room) < 64 * MIB);
        check_code(write_pages(&room, PAGES, 2), XAC_FULL);
        check_it_goes_on(&room);
        check_ok(xac_close(room.env));
}

static void a_pool_that_fits_is_as_was_asked_for(void)
{
        own_shm("64m");
        struct room room = open_room("env", 16 * MIB);

        check_equal(ceiling(&room), 16 * MIB);
        check_ok(xac_close(room.env));
}

static void what_others_use_is_not_counted_on(void)
{
        own_shm("64m");
        int fd = open("/dev/shm/others", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        check(fd >= 0);
        check_equal(posix_fallocate(fd, 0, 32 << 20), 0);
        struct room room = open_room("env", 0);
        check(ceiling(&room) >= 12 * MIB);
        check(ceiling(&room) <= 28 * MIB);
        check_code(write_pages(&room, PAGES, 2), XAC_FULL);
        check_it_goes_on(&room);
        check_ok(xac_close(room.env));
        close(fd);
}

static void two_environments_share_what_there_is(void)
{
        own_shm("64m");
        struct room room = open_room("env", 0), other = open_room("other", 0);

        check_ok(write_pages(&room, 20 * MIB / PAGE, 1));
        for (char value = 1; value < 4; value++) {
                int err = write_pages(&other, PAGES, value);

                check_code(err, XAC_FULL);
                check_code(write_pages(&room, PAGES, value), XAC_FULL);
                check_equal(read_page(&room, 7), value == 1 ? 1 : 59);
                check_it_goes_on(&room);
                check_it_goes_on(&other);
        }
        check_ok(xac_close(other.env));
        check_ok(xac_close(room.env));
}

enum { PART_PAGES = 256, PARTS = 8, ROOM_MS = 5000 };

static int store_part(const struct room *room, unsigned part, char value)
{
        check_ok(xbegin(room->env, XAC_NOSYNC));
        for (unsigned i = 0; i < PART_PAGES; i++)
                room->bytes[(size_t)(part * PART_PAGES + i) * PAGE] = value;
        return xend(room->env);
}

/* While the background thread logs, the versions that it logs stay: in so small a pool there may be no room meanwhile.
 */
static void store_part_when_there_is_room(const struct room *room, unsigned part, char value)
{
        int err = store_part(room, part, value);

        for (struct leeway left = leeway_of(ROOM_MS); err == XAC_FULL && leeway_pause(&left);)
                err = store_part(room, part, value);
        check_ok(err);
}

static void sixteen_mebibytes_are_enough(void)
{
        own_shm("16m");
        struct room room = open_room("env", 0);

        check(ceiling(&room) >= 4 * MIB);
        check_code(write_pages(&room, PAGES, 2), XAC_FULL);
        check_it_goes_on(&room);
        for (unsigned round = 0; round < 20; round++) /* more than the pool: pages go home */
                for (unsigned part = 0; part < PARTS; part++)
                        store_part_when_there_is_room(&room, part, (char)round);
        check_equal(read_page(&room, 2000), 19);
        check_ok(xac_close(room.env));
}

/* The views of the only thread show most of the pool, which cannot go home while its transaction is open. */
static void check_the_next_try_has_room(int flags)
{
        const xac_options options = { .pool_bytes = 16 * MIB };
        struct room room;
        struct leeway left;
        unsigned tries = 0;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | flags, &options, &room.env));
        room.bytes = xac_mmap(room.env, "bytes", (size_t)PAGES * PAGE, 0);
        check(room.bytes != MAP_FAILED);
        for (unsigned part = 0; part < 11; part++)
                check_ok(store_part(&room, part, 1));
        room.bytes += (size_t)11 * PART_PAGES * PAGE;
        left = leeway_of(1000);
        while (store_pages(&room, 6 * PART_PAGES, 2) == XAC_FULL)
                check(++tries < 10 || leeway_pause(&left)); /* it has not come to log on a busy machine */
        check_equal(room.bytes[(size_t)(6 * PART_PAGES - 1) * PAGE], 2);
        check_equal(room.bytes[-PAGE], 1);
        check_ok(xac_close(room.env));
}

static void what_found_no_room_has_some_the_next_time(void)
{
        check_the_next_try_has_room(0);
}

static void so_it_has_in_a_volatile_environment(void)
{
        check_the_next_try_has_room(XAC_VOLATILE);
}

/* Ten pages, all of their bytes, on disk. */
static int fill_ten_pages(const struct room *room, char value)
{
        check_ok(xbegin(room->env, 0));
        memset(room->bytes, value, (size_t)10 * PAGE);
        return xend(room->env);
}

/* The log's ring gets memory as it is used (R43). Where there is none, a commit fails and nothing else does. */
static void a_ring_that_cannot_grow_fails_a_commit_alone(void)
{
        own_shm("64m");
        struct room room = open_room("env", 8 * MIB);
        char value = 1;

        check_ok(fill_ten_pages(&room, value));
        int fd = open("/dev/shm/others", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        check(fd >= 0);
        for (off_t at = 0; posix_fallocate(fd, at, PAGE) == 0; at += PAGE)
                ;
        int err = 0;
        while (!err && value < 20)
                err = fill_ten_pages(&room, ++value);
        check_code(err, -ENOSPC);
        check_equal(read_page(&room, 9), value - 1);
        check_equal(ftruncate(fd, 0), 0);
        check_it_goes_on(&room);
        check_ok(xac_close(room.env));
        close(fd);
}

static void where_nothing_fits_the_open_says_so(void)
{
        xac_env *env;

        own_shm("3m");
        check_code(xac_open(scratch_path("env"), XAC_CREATE, NULL, &env), -ENOSPC);
        check(env == NULL);
        check_equal(own_shm_files(), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(the_default_takes_what_fits, 120),
                isolated_test(what_is_full_is_said),
                isolated_timed(a_pool_larger_than_all_there_is_is_not_promised, 120),
                isolated_test(a_pool_that_fits_is_as_was_asked_for),
                isolated_timed(what_others_use_is_not_counted_on, 120),
                isolated_timed(two_environments_share_what_there_is, 120),
                isolated_timed(sixteen_mebibytes_are_enough, 120),
                isolated_timed(what_found_no_room_has_some_the_next_time, 120),
                isolated_timed(so_it_has_in_a_volatile_environment, 120),
                isolated_timed(a_ring_that_cannot_grow_fails_a_commit_alone, 120),
                isolated_test(where_nothing_fits_the_open_says_so),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
