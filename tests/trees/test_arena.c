/* SPDX-License-Identifier: MIT */

/*
 * The three ways into an arena: what can be opened, and how it grows.
 */

#include "pages/arena.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages/page_alloc.h"
#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trees/ways.h"

/* ---- opening ---- */

static void page_sizes_and_room_are_checked(void)
{
        xac_arena *arena = NULL;

        check_code(xac_arena_open_memory(0, 4096, NULL), -EINVAL);
        check_code(xac_arena_open_file(NULL, 0, 4096, &arena), -EINVAL);
        check_code(xac_arena_open_file(scratch_path("pages"), 0, 4096, NULL), -EINVAL);
        static const uint32_t wrong[] = { 1, 2048, 4097, 6000, 65535, 131072, UINT32_MAX };
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                check_code(xac_arena_open_memory(0, wrong[i], &arena), -EINVAL);
                check_code(xac_arena_open_file(scratch_path("pages"), 0, wrong[i], &arena), -EINVAL);
                check(arena == NULL);
        }
        check_code(xac_arena_open_memory((2 << 20) - 1, 4096, &arena), -EINVAL);
        check_code(xac_arena_open_memory(UINT64_C(1) << 62, 4096, &arena), -ENOMEM);
        check_code(xac_arena_open_file(scratch_path("none/pages"), 0, 0, &arena), -ENOENT);
        check_code(xac_arena_open_file(scratch_path("."), 0, 0, &arena), -EISDIR);
        check_code(xac_arena_open_file("/dev/null", 0, 0, &arena), -EINVAL);
        check(arena == NULL);
        for (uint32_t page_bytes = 4096; page_bytes <= 65536; page_bytes *= 2) {
                check_ok(xac_arena_open_memory(0, page_bytes, &arena));
                check_equal(arena->page_bytes, page_bytes);
                check_ok(xac_arena_close(arena));
        }
        check_code(xac_arena_close(NULL), -EINVAL);
}

static void only_pages_of_4_kib_are_rewired(void)
{
        xac_arena *arena = NULL;

        check_code(xac_arena_open_rewired(0, 4096, NULL), -EINVAL);
        check_code(xac_arena_open_rewired(0, 8192, &arena), -EINVAL);
        check_code(xac_arena_open_rewired(0, 65536, &arena), -EINVAL);
        check_code(xac_arena_open_rewired((2 << 20) - 1, 4096, &arena), -EINVAL);
        check(arena == NULL);
        check_ok(xac_arena_open_rewired(0, 0, &arena));
        check_equal(arena->page_bytes, 4096);
        check_ok(xac_arena_close(arena));
}

/* Page n is page n of the pool, also when it has grown. */
static void the_pages_of_a_rewired_arena_are_seen_elsewhere(void)
{
        struct xac_arena *arena;
        xac_rewire_pool_stats stats;
        xac_rewire_area *area;

        check_ok(xac_arena_open_rewired(0, 0, &arena));
        check_ok(xac_rewire_area_create(arena->pool, 40, 0, &area));
        for (uint64_t groups = 1; groups <= 40; groups++) {
                const page_no last = (page_no)(groups * GROUP_PAGES) - 1;

                check_ok(arena_grow(arena, groups * GROUP_PAGES));
                check_equal(arena->byte_len, groups * GROUP_PAGES * 4096);
                *(page_no *)arena_write(arena, last) = last;
                check_ok(xac_rewire_area_map(area, groups - 1, last, 1));
                check_equal(*(page_no *)((char *)xac_rewire_area_address(area) + (groups - 1) * 4096), last);
        }
        xac_rewire_pool_stat(arena->pool, &stats);
        check_equal(stats.taken_pages, 40 * GROUP_PAGES);
        xac_rewire_area_destroy(area);
        check_ok(xac_arena_close(arena));
}

/* Somebody else has taken from its pool. */
static void pages_that_are_not_where_they_should_be_are_no_space(void)
{
        struct xac_arena *arena;
        xac_rewire_pool_stats before, after;
        uint64_t page;

        check_ok(xac_arena_open_rewired(0, 0, &arena));
        check_ok(xac_rewire_pool_take(arena->pool, 1, &page));
        xac_rewire_pool_stat(arena->pool, &before);
        check_code(arena_grow(arena, 2 * GROUP_PAGES), -ENOSPC);
        xac_rewire_pool_stat(arena->pool, &after);
        check_equal(after.taken_pages, before.taken_pages);
        check_equal(arena->byte_len, GROUP_PAGES * 4096);
        check_ok(xac_arena_close(arena));
}

static void environments_and_names_are_checked(void)
{
        xac_env *env;
        xac_arena *arena = NULL;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_code(xac_arena_open_env(NULL, "pages", XAC_ARENA_VIEW, &arena), -EINVAL);
        check_code(xac_arena_open_env(env, NULL, XAC_ARENA_VIEW, &arena), -EINVAL);
        check_code(xac_arena_open_env(env, "pages", XAC_ARENA_VIEW, NULL), -EINVAL);
        check_code(xac_arena_open_env(env, "pages", (enum xac_arena_access)3, &arena), -EINVAL);
        check_code(xac_arena_open_env(env, "", XAC_ARENA_VIEW, &arena), -EINVAL);
        check_code(xac_arena_open_env(env, "a/b", XAC_ARENA_VIEW, &arena), -EINVAL);
        check_code(xac_arena_open_env(env, "xac.pages", XAC_ARENA_DECLARED, &arena), -EINVAL);
        check(arena == NULL);
        check_ok(xac_close(env));
}

/* Writes something with the tree's number, which makes the header. */
static uint32_t put_mark(xac_arena *arena)
{
        uint32_t id;

        do {
                ways_begin();
                check_ok(page_alloc_tree_id(arena, &id));
        } while (ways_end() == XAC_CONFLICT);
        return id;
}

static void what_was_written_is_there_when_it_is_opened_again(int way)
{
        const uint32_t first = put_mark(ways_open(way));

        check_equal(ways.arena->page_bytes, ways_page_bytes(way));
        ways_close();
        for (uint32_t i = 1; i < 4; i++) {
                ways_open(way);
                check_equal(put_mark(ways.arena), (way & WAYS_KIND) == IN_MEMORY ? first : first + i);
                ways_close();
        }
}

static long long mark(uint64_t unused)
{
        (void)unused;
        return put_mark(ways.arena);
}

/* A view and declared access, by two threads or processes: one arena. */
static void all_arenas_of_a_file_are_one(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        actor_do(other, ways_enter, (way & WAYS_KIND) == IN_VIEW ? IN_DECLARED : IN_VIEW);
        for (uint32_t id = 2; id < 40; id += 2) {
                check_equal(put_mark(ways.arena), id);
                check_equal(actor_do(other, mark, 0), id + 1);
        }
        actor_do(other, ways_leave, 0);
        actor_stop(other);
        ways_close();
}

static void create_and_mark(int index, void *way)
{
        (void)index;
        for (int i = 0; i < 5; i++) {
                put_mark(ways_open(*(int *)way & WAYS_KIND));
                ways_close();
        }
}

static void many_who_create_an_arena_at_once_make_one(int way)
{
        if (way & WAYS_PROCESSES)
                crew_processes(4, create_and_mark, &way);
        else
                crew_threads(4, create_and_mark, &way);
        check_equal(put_mark(ways_open(way & WAYS_KIND)), 2 + 4 * 5);
        ways_close();
}

/* ---- what is no arena ---- */

static int try_open_file(uint32_t page_bytes)
{
        xac_arena *arena;
        int err = xac_arena_open_file(scratch_path("pages"), 0, page_bytes, &arena);

        check(!err == (arena != NULL));
        if (!err)
                check_ok(xac_arena_close(arena));
        return err;
}

static void a_file_that_is_no_arena_is_left_alone(void)
{
        static char bytes[16 * 4096];

        memcpy(bytes, "something else", 14);
        scratch_write_file(scratch_path("pages"), bytes, sizeof(bytes));
        check_code(try_open_file(4096), XAC_FORMAT);
        bytes[0] = PAGE_IS_MAP; /* but its group is wrong */
        scratch_write_file(scratch_path("pages"), bytes, sizeof(bytes));
        check_code(try_open_file(4096), XAC_FORMAT);
        for (size_t i = 0; i < 3; i++) { /* in one of the fixed pages */
                memset(bytes, 0, sizeof(bytes));
                bytes[i * 4096 + 4000] = 1;
                scratch_write_file(scratch_path("pages"), bytes, sizeof(bytes));
                check_code(try_open_file(4096), XAC_FORMAT);
        }
        scratch_write_file(scratch_path("pages"), "short", 5);
        check_code(try_open_file(4096), XAC_FORMAT);
        check_equal(scratch_file_size(scratch_path("pages")), 5);
        memset(bytes, 0, sizeof(bytes));
        scratch_write_file(scratch_path("pages"), bytes, 5000); /* of a page there is less than it may touch */
        check_code(try_open_file(65536), XAC_FORMAT);
        scratch_write_file(scratch_path("pages"), bytes, sizeof(bytes));
        check_ok(try_open_file(4096)); /* zeros: empty */
}

static void an_arena_of_another_page_size_is_xac_format(void)
{
        put_mark(ways_open(IN_FILE));
        ways_close();
        check_code(try_open_file(8192), XAC_FORMAT);
        check_code(try_open_file(65536), XAC_FORMAT);
        check_ok(try_open_file(0));
        check_equal(unlink(scratch_path("pages")), 0);
        put_mark(ways_open(IN_FILE | WAYS_BIG));
        ways_close();
        check_code(try_open_file(4096), XAC_FORMAT);
        check_code(try_open_file(32768), XAC_FORMAT);
        check_ok(try_open_file(65536));
}

/* The file of a plain arena can be put into an environment, and back. */
static void a_plain_file_is_an_arena_of_an_environment(int way)
{
        check_equal(put_mark(ways_open(way)), 2);
        ways_close();
        check_equal(rename(scratch_path("env/pages"), scratch_path("pages")), 0);
        check_equal(put_mark(ways_open(IN_FILE | (way & WAYS_BIG))), 3);
        ways_close();
        check_equal(rename(scratch_path("pages"), scratch_path("env/pages")), 0);
        check_equal(put_mark(ways_open(way)), 4);
        ways_close();
}

static void a_data_file_that_is_no_arena_is_xac_format(int way)
{
        static const enum xac_arena_access access[] = { XAC_ARENA_VIEW, XAC_ARENA_DECLARED };
        xac_arena *arena;
        char *text;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &ways.env));
        text = xac_mmap(ways.env, "text", 4096, 0);
        check(text != MAP_FAILED);
        run_until_committed(ways.env, 0) strcpy(text + way, "something else");
        for (int i = 0; i < 2; i++)
                check_code(xac_arena_open_env(ways.env, "text", access[i], &arena), XAC_FORMAT);
        check_ok(xbegin(ways.env, 0));
        for (int i = 0; i < 2; i++)
                check_code(xac_arena_open_env(ways.env, "text", access[i], &arena), XAC_FORMAT);
        check_ok(xend(ways.env));
        check_equal(scratch_file_size(scratch_path("env/text")), 4096);
        check_ok(xac_close(ways.env));
}

/* Created by somebody who died before he wrote to it, or by hand. */
static void empty_files_of_an_environment_are_arenas(int way)
{
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &ways.env));
        scratch_write_file(scratch_path("env/pages"), "", 0);
        check_ok(xac_close(ways.env));
        check_equal(put_mark(ways_open(way)), 2);
        ways_close();
        check_equal(put_mark(ways_open(way)), 3);
        ways_close();
}

/* ---- opening and closing around transactions ---- */

/* Its last byte. */
static int touch(void *arena_)
{
        struct xac_arena *arena = arena_;
        const uint64_t pages = arena->byte_len >> arena->page_shift;
        char *last = arena_write(arena, (page_no)pages - 1);

        if (last == NULL)
                return ARENA_LOST;
        last[arena->page_bytes - 1] = 1;
        return 0;
}

static void an_arena_may_be_opened_inside_a_transaction(int way)
{
        enum xac_arena_access access = (way & WAYS_KIND) == IN_VIEW ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED;

        for (int round = 0; round < 3; round++) {
                const char *file = round == 0 ? "one" : round == 1 ? "two" : "three";

                check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &ways.env));
                check_ok(xbegin(ways.env, round == 0 ? XAC_RDONLY : 0));
                check_ok(xac_arena_open_env(ways.env, file, access, &ways.arena));
                check_code(xac_arena_close(ways.arena), -EBUSY);
                uint32_t id = 0;
                if (round > 0)
                        check_ok(page_alloc_tree_id(ways.arena, &id));
                if (round == 1)
                        check_ok(xabort(ways.env)); /* with the header */
                else
                        check_ok(xend(ways.env));
                check_equal(put_mark(ways.arena), round == 2 ? 3 : 2);
                ways_close();
        }
}

static void an_arena_with_trees_is_busy(int way)
{
        ways_open(way);
        ways.arena->trees = (struct xac_tree *)ways.arena;
        check_code(xac_arena_close(ways.arena), -EBUSY);
        ways.arena->trees = NULL;
        ways_close();
}

/* The pages are looked at inside transactions only. */
static void strict_and_tracked_views_will_do(int flag)
{
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0) | flag, NULL, &ways.env));
        check_ok(xac_arena_open_env(ways.env, "pages", XAC_ARENA_VIEW, &ways.arena));
        check_equal(put_mark(ways.arena), 2);
        check_ok(arena_grow(ways.arena, 50 * GROUP_PAGES));
        check_ok(arena_run(ways.arena, 0, touch, ways.arena));
        check_equal(put_mark(ways.arena), 3);
        ways_close();
}

/* However often it was mapped, to grow. */
static void closing_gives_the_view_back(int way)
{
        struct xac_arena *one = ways_open(way), *two;
        void *base = one->base;

        check_ok(xac_arena_open_env(ways.env, "pages", XAC_ARENA_VIEW, &two));
        check(two->base == base);
        for (uint64_t groups = 1; groups < 100; groups += 20) {
                check_ok(arena_grow(one, groups * GROUP_PAGES));
                check_ok(arena_grow(two, groups * GROUP_PAGES));
        }
        check_ok(xac_arena_close(one));
        check_ok(arena_run(two, 0, touch, two));
        check_ok(xac_arena_close(two));
        check_code(xac_munmap(ways.env, base), XAC_NOVIEW);
        check_ok(xac_close(ways.env));
}

/* ---- growing ---- */

static void an_arena_grows_in_steps_as_far_as_it_is_needed(int way)
{
        struct xac_arena *arena = ways_open(way);
        int steps = 0;

        for (uint64_t groups = 1; groups <= 100; groups++) {
                uint64_t before = arena->byte_len;

                check_ok(arena_grow(arena, groups * GROUP_PAGES));
                check(arena->byte_len >> arena->page_shift >= groups * GROUP_PAGES);
                steps += arena->byte_len != before;
        }
        check(steps <= 7 || way & WAYS_REWIRED);
        check(arena->byte_len <= UINT64_C(125) * GROUP_PAGES << arena->page_shift);
        check_ok(arena_run(arena, 0, touch, arena));
        ways_close();
}

static void another_arena_of_the_file_finds_it_grown(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        check_ok(arena_grow(ways.arena, 100 * GROUP_PAGES));
        long long size = scratch_file_size(scratch_path("env/pages"));
        actor_do(other, mark, 0);
        actor_do(other, ways_leave, 0);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        check_ok(arena_run(ways.arena, 0, touch, ways.arena));
        actor_do(other, mark, 0);
        check_equal(scratch_file_size(scratch_path("env/pages")), size);
        actor_do(other, ways_leave, 0);
        actor_stop(other);
        ways_close();
}

static void growing_is_not_undone_by_an_abort(int way)
{
        struct xac_arena *arena = ways_open(way);

        for (uint64_t groups = 20; groups < 100; groups += 30) {
                ways_begin();
                check_ok(arena_grow(arena, groups * GROUP_PAGES));
                check_ok(touch(arena));
                ways_abort();
                check_ok(arena_run(arena, 0, touch, arena));
        }
        ways_close();
}

/* max_bytes is of no concern to what is there already. */
static void a_file_that_is_longer_than_allowed_is_all_there(void)
{
        ways_open(IN_FILE);
        check_ok(arena_grow(ways.arena, 30 * GROUP_PAGES));
        ways_close();
        check_ok(xac_arena_open_file(scratch_path("pages"), 2 << 20, 0, &ways.arena));
        check(ways.arena->byte_len >= UINT64_C(30) * GROUP_PAGES * 4096);
        check_ok(touch(ways.arena));
        check_code(arena_grow(ways.arena, 100 * GROUP_PAGES), -ENOSPC);
        ways_close();
}

/* A step that is too large becomes what is needed. */
static void the_last_room_is_used(int way)
{
        const uint32_t page_bytes = ways_page_bytes(way);
        const uint64_t max_bytes = UINT64_C(21) * GROUP_PAGES * page_bytes;
        const xac_options options = { .page_bytes = page_bytes, .reserve_bytes = max_bytes };
        int full = -ENOSPC;

        if ((way & WAYS_KIND) == IN_MEMORY)
                check_ok(ways_open_memory(way, max_bytes + page_bytes, &ways.arena));
        else if ((way & WAYS_KIND) == IN_FILE)
                check_ok(xac_arena_open_file(scratch_path("pages"), max_bytes, page_bytes, &ways.arena));
        else {
                ways_open_with(way, &options);
                full = -ENOMEM;
        }
        check_ok(arena_grow(ways.arena, 17 * GROUP_PAGES));
        check_equal(ways.arena->byte_len, UINT64_C(17) * GROUP_PAGES * page_bytes);
        check_ok(arena_grow(ways.arena, 21 * GROUP_PAGES));
        check_ok(arena_run(ways.arena, 0, touch, ways.arena));
        check_code(arena_grow(ways.arena, 22 * GROUP_PAGES), full);
        check_code(arena_grow(ways.arena, UINT64_C(1) << 32), -ENOSPC);
        check_equal(ways.arena->byte_len, max_bytes);
        check_ok(arena_run(ways.arena, 0, touch, ways.arena));
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(page_sizes_and_room_are_checked),
                isolated_test(only_pages_of_4_kib_are_rewired),
                isolated_test(the_pages_of_a_rewired_arena_are_seen_elsewhere),
                isolated_test(pages_that_are_not_where_they_should_be_are_no_space),
                isolated_test(environments_and_names_are_checked),
                ways_all(what_was_written_is_there_when_it_is_opened_again),
                ways_crowd(all_arenas_of_a_file_are_one),
                ways_crowd(many_who_create_an_arena_at_once_make_one),
                isolated_test(a_file_that_is_no_arena_is_left_alone),
                isolated_test(an_arena_of_another_page_size_is_xac_format),
                ways_env(a_plain_file_is_an_arena_of_an_environment),
                isolated_way(a_data_file_that_is_no_arena_is_xac_format, 0, "first byte"),
                isolated_way(a_data_file_that_is_no_arena_is_xac_format, 2000, "later"),
                ways_env(empty_files_of_an_environment_are_arenas),
                isolated_way(an_arena_may_be_opened_inside_a_transaction, IN_VIEW, "view"),
                isolated_way(an_arena_may_be_opened_inside_a_transaction, IN_DECLARED, "declared"),
                ways_all(an_arena_with_trees_is_busy),
                isolated_way(strict_and_tracked_views_will_do, XAC_STRICT, "strict"),
                isolated_way(strict_and_tracked_views_will_do, XAC_TRACK, "tracked"),
                ways_env(closing_gives_the_view_back),
                isolated_test(a_file_that_is_longer_than_allowed_is_all_there),
                ways_all(an_arena_grows_in_steps_as_far_as_it_is_needed),
                ways_crowd(another_arena_of_the_file_finds_it_grown),
                ways_env(growing_is_not_undone_by_an_abort),
                ways_all(the_last_room_is_used),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
