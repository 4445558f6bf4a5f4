/* SPDX-License-Identifier: MIT */

/*
 * The shortcut of a directory: what it shows when it is in step, and that there is none when it is not. Each page of
 * the arena has its number in it.
 */

#include "trees/ehash_shortcut.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "pages/arena.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "trees/ehash_trial.h"

enum { BITS_MAX = 15, SLOTS_MAX = 1 << BITS_MAX, PAGES = 4 * GROUP_PAGES, PAGE = 4096 };

static struct xac_arena *arena;
static struct ehash_shortcut *shortcut;
static struct chance chance;

/* What the shortcut was told. */
static uint32_t directory[SLOTS_MAX];
static uint32_t bits;

/* `is_tried`: whether the shortcut is faster. */
static void begin(bool is_tried)
{
        if (chance.state == 0)
                chance.state = chance_seed();
        check_ok(xac_arena_open_rewired(0, 0, &arena));
        check_ok(arena_grow(arena, PAGES));
        for (page_no page = 0; page < PAGES; page++) /* from the last byte of a page on nothing is looked at */
                *(uint32_t *)((char *)arena_write(arena, page) + PAGE - sizeof(page)) = page;
        check_ok(ehash_shortcut_start(arena, is_tried, &shortcut));
}

static void end(void)
{
        ehash_shortcut_stop(shortcut);
        check_ok(xac_arena_close(arena));
}

static uint32_t slots(void)
{
        return UINT32_C(1) << bits;
}

static uint32_t below(uint32_t bound)
{
        return (uint32_t)chance_below(&chance, bound);
}

static uint32_t shown_at(const char *base, uint32_t slot)
{
        return *(const uint32_t *)(base + (size_t)slot * PAGE + PAGE - sizeof(slot));
}

static void check_slots(void)
{
        const char *base = ehash_shortcut_base(shortcut);

        check(base != NULL);
        for (uint32_t slot = 0; slot < slots(); slot++)
                check_equal(shown_at(base, slot), directory[slot]);
}

static enum ehash_shortcut_state state(void)
{
        struct ehash_shortcut_stats stats;

        ehash_shortcut_stat(shortcut, &stats);
        check_equal(stats.bits, bits);
        check(stats.is_in_step == (stats.state != EHASH_SHORTCUT_BEHIND));
        return stats.state;
}

static uint64_t mappings(void)
{
        struct ehash_shortcut_stats stats;

        ehash_shortcut_stat(shortcut, &stats);
        return stats.mappings;
}

/* ---- memory that runs out, for either side ---- */

static _Atomic bool malloc_fails, realloc_fails;

void *__real_malloc(size_t byte_len);
void *__wrap_malloc(size_t byte_len);
void *__real_realloc(void *bytes, size_t byte_len);
void *__wrap_realloc(void *bytes, size_t byte_len);

void *__wrap_malloc(size_t byte_len)
{
        return malloc_fails ? NULL : __real_malloc(byte_len);
}

void *__wrap_realloc(void *bytes, size_t byte_len)
{
        return realloc_fails ? NULL : __real_realloc(bytes, byte_len);
}

/* ---- what the directory may look like ---- */

static void anew(void)
{
        ehash_shortcut_anew(shortcut, bits, directory);
        ehash_shortcut_note_buckets(shortcut, slots());
        check(ehash_shortcut_base(shortcut) == NULL || atomic_load(&shortcut->shown) == shortcut->requests);
}

static void anew_at_random(uint32_t new_bits)
{
        bits = new_bits;
        for (uint32_t slot = 0; slot < slots(); slot++)
                directory[slot] = below(PAGES);
        anew();
}

/* Runs of neighbours, as long as the arena has pages. */
static void anew_in_runs(uint32_t new_bits)
{
        bits = new_bits;
        for (uint32_t slot = 0; slot < slots(); slot++)
                directory[slot] = slot % PAGES;
        anew();
}

/* Each slot shows the same page, which is a mapping for each. */
static void anew_of_one_page(uint32_t new_bits)
{
        bits = new_bits;
        for (uint32_t slot = 0; slot < slots(); slot++)
                directory[slot] = 7;
        anew();
}

static void set(uint32_t first, uint32_t count, uint32_t page)
{
        for (uint32_t slot = first; slot < first + count; slot++)
                directory[slot] = page;
        ehash_shortcut_set(shortcut, first, count, page);
}

static void set_at_random(void)
{
        const uint32_t first = below(slots());

        set(first, 1 + below(slots() - first < 8 ? slots() - first : 8), below(PAGES));
}

/* ---- tests ---- */

static void another_arena_has_no_shortcut(void)
{
        xac_arena *plain;
        struct ehash_shortcut *none = NULL;

        check_ok(xac_arena_open_memory(0, 0, &plain));
        check_code(ehash_shortcut_start(plain, false, &none), -EINVAL);
        check(none == NULL);
        check_ok(xac_arena_close(plain));
        ehash_shortcut_stop(NULL);
}

static void without_a_directory_there_is_no_base(void)
{
        begin(false);
        check(ehash_shortcut_base(shortcut) == NULL);
        check_equal(state(), EHASH_SHORTCUT_NONE);
        check(!ehash_shortcut_wait(shortcut));
        ehash_shortcut_note_buckets(shortcut, 1);
        check(ehash_shortcut_base(shortcut) == NULL);
        end();
}

static void in_step_each_slot_shows_its_page(void)
{
        begin(false);
        for (int round = 0; round < 200; round++) {
                if (round == 0 || chance_percent(&chance, 20))
                        anew_at_random(below(10));
                else if (chance_percent(&chance, 10))
                        anew_in_runs(bits);
                for (uint32_t sets = below(40); sets > 0; sets--)
                        set_at_random();
                check(ehash_shortcut_wait(shortcut));
                check_equal(state(), EHASH_SHORTCUT_READY);
                check_slots();
        }
        end();
}

static void what_is_written_to_the_arena_is_seen(void)
{
        begin(false);
        anew_in_runs(8);
        check(ehash_shortcut_wait(shortcut));
        for (uint32_t page = 0; page < slots(); page++) {
                strcpy(arena_write(arena, page), "written");
                check(strcmp(ehash_shortcut_base(shortcut) + (size_t)page * PAGE, "written") == 0);
        }
        end();
}

/* Right after a request the mapper waits for quiet. */
static void out_of_step_there_is_no_base(void)
{
        uint32_t without = 0;

        begin(false);
        anew_at_random(12);
        check(ehash_shortcut_wait(shortcut));
        for (int round = 0; round < 1000; round++) {
                set_at_random();
                if (ehash_shortcut_base(shortcut) == NULL) {
                        without++;
                        continue;
                }
                check_slots();
        }
        check(without > 900);
        check(ehash_shortcut_wait(shortcut));
        check_slots();
        end();
}

static void neighbours_are_one_mapping(void)
{
        begin(false);
        anew_in_runs(10);
        check(ehash_shortcut_wait(shortcut));
        check(mappings() <= 2);
        set(512, 1, 3);
        check(ehash_shortcut_wait(shortcut));
        check(mappings() <= 4);
        set(512, 1, 512);
        check(ehash_shortcut_wait(shortcut));
        check(mappings() <= 2);
        check_slots();
        end();
}

static void with_few_buckets_it_is_not_taken(void)
{
        begin(false);
        anew_at_random(6);
        check(ehash_shortcut_wait(shortcut));
        check_slots();
        ehash_shortcut_note_buckets(shortcut, 7);
        check(ehash_shortcut_base(shortcut) == NULL);
        check_equal(state(), EHASH_SHORTCUT_WIDE);
        set_at_random();
        check(ehash_shortcut_wait(shortcut));
        check(ehash_shortcut_base(shortcut) == NULL);
        ehash_shortcut_note_buckets(shortcut, 8);
        check_equal(state(), EHASH_SHORTCUT_READY);
        check_slots();
        end();
}

static void check_refused(void)
{
        check(!ehash_shortcut_wait(shortcut));
        check(ehash_shortcut_base(shortcut) == NULL);
        check_equal(state(), EHASH_SHORTCUT_REFUSED);
        check_equal(mappings(), 0);
}

/* vm.max_map_count allows areas 32,765 mappings. */
static void too_many_mappings_are_no_shortcut_until_there_are_fewer(void)
{
        begin(false);
        anew_of_one_page(BITS_MAX);
        check_refused();
        set(0, 1, 8);
        check_refused();
        anew_in_runs(BITS_MAX);
        check(ehash_shortcut_wait(shortcut));
        check_slots();
        for (uint32_t slot = 0; slot < slots(); slot++)
                set(slot, 1, 9);
        check_refused();
        anew_of_one_page(BITS_MAX);
        check_refused();
        anew_of_one_page(10);
        check(ehash_shortcut_wait(shortcut));
        check_slots();
        end();
}

/* A request that is lost, a whole directory that is, and one that the mapper has no memory for: the next one is good.
 */
static void without_memory_there_is_no_shortcut_until_the_next_directory(void)
{
        begin(false);
        for (uint32_t round = 0; round < 6; round++) {
                anew_at_random(4 + round);
                check(ehash_shortcut_wait(shortcut));
                check_slots();
                malloc_fails = round % 3 != 2;
                realloc_fails = round % 3 == 2;
                if (round % 3 == 0)
                        set_at_random();
                else
                        anew_at_random(bits + 1);
                check(!ehash_shortcut_wait(shortcut));
                check(ehash_shortcut_base(shortcut) == NULL);
                malloc_fails = realloc_fails = false;
                set_at_random();
                ehash_shortcut_note_buckets(shortcut, slots());
                check(!ehash_shortcut_wait(shortcut));
                check(ehash_shortcut_base(shortcut) == NULL);
        }
        end();
}

/* A table with a mapper that tries it out: there is an area and it is taken, or there is none. */
static void a_shortcut_that_is_tried_is_taken_or_gone(void)
{
        begin(true);
        for (uint32_t round = 0; round < 30; round++) {
                anew_at_random(1 + below(12));
                const bool is_taken = ehash_shortcut_wait(shortcut);
                check_equal(state(), is_taken ? EHASH_SHORTCUT_READY : EHASH_SHORTCUT_SLOWER);
                check((mappings() > 0) == is_taken);
                set_at_random();
                check(ehash_shortcut_wait(shortcut) == is_taken);
                if (is_taken)
                        check_slots();
        }
        end();
}

/* Both ways to memory of the same size: where one of them leads to the same page again and again, it is faster. */
static void the_faster_way_is_found(void)
{
        enum { TRIAL_BITS = 15, TRIAL_SLOTS = 1 << TRIAL_BITS };
        const size_t byte_len = (size_t)TRIAL_SLOTS * PAGE;
        char *touched = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *zeros = mmap(NULL, byte_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        static page_no same[TRIAL_SLOTS], another[TRIAL_SLOTS];
        struct ehash_ways ways = { .arena = touched, .page_shift = 12, .bits = TRIAL_BITS };

        check(touched != MAP_FAILED && zeros != MAP_FAILED);
        memset(touched, 1, byte_len);
        for (uint32_t slot = 0; slot < TRIAL_SLOTS; slot++)
                another[slot] = slot;
        ways.directory = same;
        ways.area = touched;
        check(!ehash_area_is_faster(&ways));
        ways.directory = another;
        ways.area = zeros; /* the kernel's page of zeros in each slot */
        check(ehash_area_is_faster(&ways));
        check_ok(munmap(touched, byte_len));
        check_ok(munmap(zeros, byte_len));
}

static void requests_that_wait_are_forgotten_at_the_end(void)
{
        for (int round = 0; round < 20; round++) {
                begin(false);
                anew_at_random(10);
                for (uint32_t sets = below(3000); sets > 0; sets--)
                        set_at_random();
                if (chance_percent(&chance, 50))
                        anew_at_random(12);
                end();
        }
}

static uint64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void change_at_random(void)
{
        if (chance_percent(&chance, 3))
                anew_at_random(6 + below(6));
        else if (chance_percent(&chance, 3))
                anew_in_runs(6 + below(8));
        else
                for (uint32_t sets = 1 + below(10); sets > 0; sets--)
                        set_at_random();
}

/* Lookups and changes at random moments of the mapper's work. */
static void lookups_see_the_directory_whatever_the_mapper_does(void)
{
        const uint64_t until = now_ms() + 2000;
        struct leeway left = leeway_of(20000);
        uint64_t found = 0, none = 0;

        begin(false);
        anew_at_random(8);
        /* Longer where the mapper did not get to its work in that time. */
        while (now_ms() < until || ((!found || !none) && leeway_is_left(&left))) {
                const uint64_t lookups = chance_percent(&chance, 50) ? below(30) : below(30000);

                for (uint64_t i = 0; i < lookups; i++) {
                        const char *base = ehash_shortcut_base(shortcut);
                        const uint32_t slot = below(slots());

                        if (base != NULL)
                                check_equal(shown_at(base, slot), directory[slot]);
                        found += base != NULL;
                        none += base == NULL;
                }
                if (chance_percent(&chance, 5))
                        check(ehash_shortcut_wait(shortcut));
                change_at_random();
        }
        check(found > 0 && none > 0);
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(another_arena_has_no_shortcut),
                isolated_test(without_a_directory_there_is_no_base),
                isolated_test(in_step_each_slot_shows_its_page),
                isolated_test(what_is_written_to_the_arena_is_seen),
                isolated_test(out_of_step_there_is_no_base),
                isolated_test(neighbours_are_one_mapping),
                isolated_test(with_few_buckets_it_is_not_taken),
                isolated_test(too_many_mappings_are_no_shortcut_until_there_are_fewer),
                isolated_test(without_memory_there_is_no_shortcut_until_the_next_directory),
                isolated_test(a_shortcut_that_is_tried_is_taken_or_gone),
                isolated_test(the_faster_way_is_found),
                isolated_test(requests_that_wait_are_forgotten_at_the_end),
                isolated_test(lookups_see_the_directory_whatever_the_mapper_does),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
