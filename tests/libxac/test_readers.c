/* SPDX-License-Identifier: MIT */

/*
 * Read-only transactions that read much of a view by plain pointers: they see their snapshot, whatever others or the
 * same thread did before, do meanwhile and do afterwards.
 */

#include <signal.h>
#include <string.h>
#include <time.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

static const struct stand large = { .stamped = { 1, 4096, 1300 } };

/* ---- The other participant ---- */

static struct stand other; /* in its own process */

static long long enter(uint64_t way)
{
        other = large;
        other.way = (int)way;
        stand_open(&other);
        return 0;
}

static long long leave(uint64_t unused)
{
        (void)unused;
        stand_close(&other);
        return 0;
}

static long long change(uint64_t count)
{
        return (long long)stand_commits(&other, (unsigned)count);
}

static long long change_unsynced(uint64_t count)
{
        uint64_t number = 0;

        while (count-- > 0)
                check_ok(stamped_commit(&other.stamped, other.env, other.view, other.way, XAC_NOSYNC, &number));
        return (long long)number;
}

static long long checkpoint(uint64_t unused)
{
        (void)unused;
        return xac_checkpoint(other.env);
}

static struct actor *other_start(int way)
{
        struct actor *actor = actor_start(WAY_PROCESS);

        actor_do(actor, enter, (uint64_t)way);
        return actor;
}

static void other_stop(struct actor *actor)
{
        actor_do(actor, leave, 0);
        actor_stop(actor);
}

/* ---- What a scan sees ---- */

static uint64_t scan(struct stand *stand, int flags)
{
        uint64_t number;

        check_ok(xbegin(stand->env, XAC_RDONLY | flags));
        number = stamped_check(&stand->model, stand->view);
        check_equal(stamped_check(&stand->model, stand->view), number);
        check_ok(xend(stand->env));
        return number;
}

static uint64_t look_here_and_there(struct stand *stand, struct chance *chance)
{
        uint64_t number;

        check_ok(xbegin(stand->env, XAC_RDONLY));
        number = stamped_number(stand->view);
        for (int i = 0; i < 3; i++) {
                uint32_t page = (uint32_t)chance_below(chance, stand->stamped.pages);

                check_equal(stamped_check_pages(&stand->model, stand->view, page, 1), number);
        }
        check_ok(xend(stand->env));
        return number;
}

static void others_change_between_scans(int way)
{
        struct actor *actor = other_start(way);
        struct stand stand = large;
        struct chance chance = { chance_seed() };
        long long number;

        number = actor_do(actor, change, 70);
        stand_open(&stand);
        for (int i = 0; i < 30; i++) {
                check_equal(chance_percent(&chance, 70) ? scan(&stand, 0) : look_here_and_there(&stand, &chance),
                            number);
                if (chance_percent(&chance, 80))
                        number = actor_do(actor, change, 1 + chance_below(&chance, i % 5 == 4 ? 60 : 3));
                if (chance_percent(&chance, 20))
                        check_equal(actor_do(actor, checkpoint, 0), 0);
        }
        other_stop(actor);
        stand_close(&stand);
}

static void others_change_during_a_scan(int way)
{
        struct actor *actor = other_start(way);
        struct stand stand = large;
        long long number = actor_do(actor, change, 70);
        uint32_t quarter = large.stamped.pages / 4;

        stand_open(&stand);
        for (int i = 0; i < 10; i++) {
                check_ok(xbegin(stand.env, XAC_RDONLY));
                for (uint32_t part = 0; part < 4; part++) {
                        uint32_t first = (part + (uint32_t)i) % 4 * quarter;

                        check_equal(stamped_check_pages(&stand.model, stand.view, first, quarter), number);
                        actor_do(actor, change, part == 1 ? 30 : 2);
                        if (part == 2)
                                check_equal(actor_do(actor, checkpoint, 0), 0);
                }
                stand_check(&stand, stand.view, (uint64_t)number);
                check_ok(xend(stand.env));
                number += 36;
        }
        other_stop(actor);
        stand_close(&stand);
}

/* In the same view: what it has written itself is seen, what it has undone is not. */
static void the_reader_writes_too(int way)
{
        struct actor *actor = other_start(0);
        struct stand stand = large;
        struct chance chance = { chance_seed() };
        uint64_t number = (uint64_t)actor_do(actor, change, 70);

        stand.way = way;
        stand_open(&stand);
        for (int i = 0; i < 30; i++) {
                if (chance_percent(&chance, 50))
                        check_equal(scan(&stand, 0), number);
                if (chance_percent(&chance, 30)) {
                        check_ok(xbegin(stand.env, 0));
                        check_equal(stamped_change(&stand.stamped, stand.env, stand.view, way), 0);
                        stand_check(&stand, stand.view, number + 1);
                        check_ok(xabort(stand.env));
                }
                if (chance_percent(&chance, 50))
                        number = stand_commits(&stand, 1 + (unsigned)chance_below(&chance, 3));
                check_equal(scan(&stand, 0), number);
                if (chance_percent(&chance, 40))
                        number = (uint64_t)actor_do(actor, change, 1);
        }
        other_stop(actor);
        stand_close(&stand);
}

/* What was shown to a scan is in nobody's read set; what an update reads afterwards is. */
static void conflicts_are_found_after_a_scan(int way)
{
        struct actor *actor = other_start(0);
        struct stand stand = large;
        uint64_t *mine;

        actor_do(actor, change, 70);
        stand.way = way;
        stand_open(&stand);
        for (int i = 0; i < 10; i++) {
                scan(&stand, 0);
                check_ok(xbegin(stand.env, 0));
                check(stamped_number(stand.view) == 70 + (uint64_t)i);
                (void)stamped_change(&stand.stamped, stand.env, stand.view, way);
                actor_do(actor, change, 1);
                check_code(xend(stand.env), XAC_CONFLICT);
                check_equal(scan(&stand, 0), 71 + i);
        }
        /* A file that the other one does not change. */
        mine = xac_mmap(stand.env, "mine", 4 << 20, 0);
        check(mine != MAP_FAILED);
        for (uint64_t i = 0; i < 10; i++) {
                scan(&stand, 0);
                check_ok(xbegin(stand.env, 0));
                check_equal(mine[512 * i], 0);
                mine[512 * i] = 1;
                actor_do(actor, change, 1);
                check_ok(xend(stand.env));
        }
        other_stop(actor);
        stand_close(&stand);
}

/* ---- Stores ---- */

static void store_after_scan(struct stand *stand, uint32_t page)
{
        volatile uint64_t *word = (volatile uint64_t *)(stand->view + (size_t)page * stand->stamped.page_bytes);
        uint64_t number, before;

        check_ok(xbegin(stand->env, XAC_RDONLY));
        number = stamped_check(&stand->model, stand->view);
        before = word[3];
        word[3] = before + 12345;
        check_equal(word[3], before + 12345); /* harmless: its own copy */
        check_code(xend(stand->env), XAC_WROTE);
        check_equal(scan(stand, 0), number);
        check_ok(xbegin(stand->env, 0));
        check_equal(word[3], before);
        check_ok(xend(stand->env));
}

static void a_store_into_what_was_scanned_is_xac_readonly(int flags)
{
        struct stand stand = large;

        stand.flags = flags;
        stand_open(&stand);
        stand_commits(&stand, 70);
        for (uint32_t page = 1; page < large.stamped.pages; page += 311) {
                store_after_scan(&stand, page);
                if (page % 2)
                        check_ok(xac_checkpoint(stand.env)); /* at home */
                else
                        stand_commit(&stand);
        }
        stand_close(&stand);
}

enum { TOUCHED_BEFORE_ANY, READ_AFTER_END, WRITE_AFTER_END };

static void touches_outside(int how, void *unused)
{
        struct stand stand = large;
        volatile char *byte;

        (void)unused;
        stand.flags = XAC_STRICT;
        stand_open(&stand);
        stand_commits(&stand, 70);
        byte = stand.view + 5000;
        if (how != TOUCHED_BEFORE_ANY)
                scan(&stand, 0);
        if (how == WRITE_AFTER_END)
                *byte = 1;
        else
                check(*byte == 77);
}

static void strict_views_cannot_be_read_after_a_scan(void)
{
        for (int how = TOUCHED_BEFORE_ANY; how <= WRITE_AFTER_END; how++) {
                struct crash crash;

                crash_run(touches_outside, how, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                if (crash_lines(&crash) == 0 ||
                    strstr(crash.said, "libxac: access to stamped at offset 0x1388") == NULL)
                        check_failed(__FILE__, __LINE__, "said: %s", crash.said);
                scratch_shared_memory_left(1);
                scratch_clear();
        }
}

static void strict_views_are_scanned(void)
{
        struct stand stand = large;
        uint64_t number;

        stand.flags = XAC_STRICT;
        stand_open(&stand);
        number = stand_commits(&stand, 70);
        for (unsigned i = 0; i < 20; i++) {
                check_equal(scan(&stand, 0), number);
                check_equal(scan(&stand, 0), number);
                number = stand_commits(&stand, 1 + i % 4);
        }
        stand_close(&stand);
}

/* ---- Durable reads ---- */

/* Backwards to what is on disk, and forwards again. */
static void durable_scans_and_others_alternate(void)
{
        struct actor *actor;
        struct stand stand = large;
        struct chance chance = { chance_seed() };
        uint64_t number, durable = 70;

        if (!seat_is_durable())
                isolate_skip("the environment is volatile");
        actor = other_start(0);
        actor_do(actor, change, 70);
        stand_open(&stand);
        for (int i = 0; i < 40; i++) {
                uint64_t seen;

                number = (uint64_t)actor_do(actor, change_unsynced, 1 + chance_below(&chance, 5));
                check_equal(scan(&stand, 0), number);
                seen = scan(&stand, XAC_DURABLE);
                check(seen >= durable && seen <= number);
                durable = seen;
                if (chance_percent(&chance, 50))
                        check_equal(scan(&stand, 0), number);
                if (chance_percent(&chance, 20)) {
                        check_ok(xac_sync(stand.env));
                        check_equal(scan(&stand, XAC_DURABLE), number);
                }
                if (chance_percent(&chance, 20))
                        stand_commits(&stand, 2);
        }
        other_stop(actor);
        stand_close(&stand);
}

/* ---- Waiting ---- */

static long long change_late(uint64_t count)
{
        crew_sleep_ms(30);
        return change(count);
}

/* A scan before, of the same view, hides nothing from who waits. */
static void a_change_is_waited_for_after_a_scan(void)
{
        const struct timespec long_enough = { 100, 0 }, a_moment = { 0, 30000000 };
        struct actor *actor = other_start(0);
        struct stand stand = large;
        uint64_t number = (uint64_t)actor_do(actor, change, 70);

        stand_open(&stand);
        for (int i = 0; i < 6; i++) {
                check_equal(scan(&stand, 0), number);
                check_ok(xbegin(stand.env, 0));
                if (i % 2)
                        stand_check(&stand, stand.view, number); /* all of it */
                else
                        check_equal(stamped_number(stand.view), number);
                actor_send(actor, change_late, 1);
                check_code(xac_wait(stand.env, &long_enough), XAC_CONFLICT);
                actor_result(actor);
                check_equal(scan(&stand, 0), ++number);
                check_ok(xbegin(stand.env, 0));
                check_equal(stamped_number(stand.view), number);
                check_code(xac_wait(stand.env, &a_moment), -ETIMEDOUT);
                check_equal(scan(&stand, 0), number);
        }
        other_stop(actor);
        stand_close(&stand);
}

/* The scan has left copies of both regions, which are kept hidden. Pages on both sides of the border are moved, of
 * which one is shown: the others, and what is around them, are not lost with that. */
static void moved_pages_were_scanned(void)
{
        const size_t count = 20, first = (2 << 20) / 4096 - count;
        struct actor *actor = other_start(0);
        struct stand stand = large;
        long long number = actor_do(actor, change, 70);

        stand_open(&stand);
        for (int i = 0; i < 10; i++)
                check_equal(scan(&stand, 0), number);
        check_ok(xbegin(stand.env, 0));
        (void)((const volatile char *)stand.view)[first * 4096];
        check_ok(xac_page_move(stand.env, stand.view + first * 4096, stand.view + 40 * 4096, count * 2));
        check_ok(xabort(stand.env));
        for (int i = 0; i < 10; i++)
                check_equal(scan(&stand, 0), number);
        other_stop(actor);
        stand_close(&stand);
}

/* ---- Growth, and little memory ---- */

static void check_words(const uint64_t *words, size_t from, size_t to, uint64_t value)
{
        for (size_t i = from; i < to; i++)
                if (words[i] != value)
                        check_failed(__FILE__, __LINE__, "word %zu is %llx instead of %llx", i,
                                     (unsigned long long)words[i], (unsigned long long)value);
}

enum { FULL_WORDS = (12 << 20) / 8, FILLED_PAGES = 40 };

static long long fill_file(const char *file, size_t words, uint64_t value)
{
        uint64_t *view = xac_mmap(other.env, file, words * 8, 0);

        check(view != MAP_FAILED);
        run_until_committed(other.env, 0) for (size_t i = 0; i < words; i++) view[i] = value;
        return xac_munmap(other.env, view);
}

static long long fill_full(uint64_t value)
{
        return fill_file("full", FULL_WORDS, value);
}

static long long fill_grown(uint64_t value)
{
        return fill_file("grown", (size_t)FILLED_PAGES * 512, value);
}

/* Leaves memory behind in which readers have seen other bytes. */
static void use_memory(struct stand *stand, struct actor *actor)
{
        uint64_t *full = xac_mmap(stand->env, "full", FULL_WORDS * 8, 0);

        check(full != MAP_FAILED);
        check_equal(actor_do(actor, fill_full, 0x5a5a5a5a), 0);
        check_ok(xbegin(stand->env, XAC_RDONLY));
        check_words(full, 0, FULL_WORDS, 0x5a5a5a5a);
        check_ok(xend(stand->env));
        check_ok(xac_munmap(stand->env, full));
}

static void scan_words(struct stand *stand, const uint64_t *words, size_t pages, uint64_t value)
{
        check_ok(xbegin(stand->env, XAC_RDONLY));
        check_words(words, 0, (size_t)FILLED_PAGES * 512, value);
        check_words(words, (size_t)FILLED_PAGES * 512, pages * 512, 0);
        check_ok(xend(stand->env));
}

/* What is new in a file reads as zeros, though memory shows it that has shown something else. */
static void a_view_that_grows(void)
{
        struct actor *actor = other_start(0);
        struct stand stand = large;
        size_t pages = FILLED_PAGES + 10;
        uint64_t *words;

        stand.scan_bytes = 1; /* few copies at once: they are used again soon */
        stand_open(&stand);
        use_memory(&stand, actor);
        words = xac_mmap(stand.env, "grown", pages * 4096, 0);
        check(words != MAP_FAILED);
        for (uint64_t round = 1; round <= 30; round++) {
                check_equal(actor_do(actor, fill_grown, round), 0);
                scan_words(&stand, words, pages, round);
                pages += 10 * (round % 3);
                check(xac_mmap(stand.env, "grown", pages * 4096, 0) == words);
                scan_words(&stand, words, pages, round);
        }
        other_stop(actor);
        stand_close(&stand);
}

struct scanners {
        struct stand stand;
        uint64_t end_ns;
};

static void scan_or_write(int index, void *scanners_)
{
        const struct scanners *scanners = scanners_;
        struct stand mine = scanners->stand;
        uint64_t number = 0;

        stand_open(&mine);
        while (crew_clock_ns() < scanners->end_ns) {
                if (index == 0) {
                        number = stand_commit(&mine);
                } else {
                        uint64_t seen = scan(&mine, 0);

                        check(seen >= number);
                        number = seen;
                }
        }
        stand_close(&mine);
}

/* Memory for eight copies, and views of twelve regions: four, of a process of four threads or of four processes. */
static void little_memory_is_enough(int way)
{
        struct scanners scanners = { .stand = { .stamped = { chance_seed(), 4096, 12 * 512 }, .scan_bytes = 1 } };

        stand_open(&scanners.stand);
        stand_commits(&scanners.stand, 200);
        scanners.end_ns = crew_clock_ns() + UINT64_C(1500000000);
        if (way & WAY_PROCESS)
                crew_processes(4, scan_or_write, &scanners);
        else
                crew_threads(4, scan_or_write, &scanners);
        stand_close(&scanners.stand);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(others_change_between_scans),
                isolated_by_access(others_change_during_a_scan),
                isolated_way(the_reader_writes_too, 0, "view"),
                isolated_way(the_reader_writes_too, WAY_TRACK, "tracked view"),
                isolated_way(the_reader_writes_too, WAY_DECLARED, "declared"),
                isolated_way(conflicts_are_found_after_a_scan, 0, "view"),
                isolated_way(conflicts_are_found_after_a_scan, WAY_TRACK, "tracked view"),
                isolated_way(a_store_into_what_was_scanned_is_xac_readonly, 0, "view"),
                isolated_way(a_store_into_what_was_scanned_is_xac_readonly, XAC_TRACK, "tracked view"),
                isolated_way(a_store_into_what_was_scanned_is_xac_readonly, XAC_STRICT, "strict view"),
                isolated_test(strict_views_cannot_be_read_after_a_scan),
                isolated_test(strict_views_are_scanned),
                isolated_test(durable_scans_and_others_alternate),
                isolated_test(a_change_is_waited_for_after_a_scan),
                isolated_test(moved_pages_were_scanned),
                isolated_test(a_view_that_grows),
                isolated_way(little_memory_is_enough, 0, "threads"),
                isolated_way(little_memory_is_enough, WAY_PROCESS, "processes"),
        };
        return cmocka_run_group_tests_name("readers", tests, NULL, NULL);
}
