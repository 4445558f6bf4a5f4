/* SPDX-License-Identifier: MIT */

/*
 * Random plans of checkpoints in batches, taken step by step on a disk of a few pages. Whoever takes them dies, or has
 * no room for a double-write buffer, at random, and the next one goes on. After each step, and in the middle of it,
 * recovery is asked what it would find (batches.h, checkpoint_plan.h: CP1 to CP11).
 */

#include "tests/base/scratch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "recovery/checkpoint_plan.h"
#include "tests/support/chance.h"

enum { PLANS = 100000, PAGES_MAX = 24, MOVES_MAX = 20, MOST_MAX = 16 };

/* What home has of a page. */
enum home { HOME_BASE, HOME_TORN, HOME_AT_C };

struct disk {
        uint32_t count;
        uint64_t page[PAGES_MAX];
        enum home home[PAGES_MAX];
        bool in_buffer[PAGES_MAX]; /* that the manifest names */
        bool is_listed[PAGES_MAX];
        bool is_held[PAGES_MAX];
        bool is_in_pool[PAGES_MAX]; /* its version has not gone home as far as heads say */
        bool is_begun, is_done;     /* C is the manifest's target, its base */
        struct batches_move moves[MOVES_MAX];
        uint32_t move_count;
};

static uint32_t plans;

static uint32_t index_of(const struct disk *disk, uint64_t page)
{
        for (uint32_t i = 0; i < disk->count; i++)
                if (disk->page[i] == page)
                        return i;
        return UINT32_MAX;
}

static bool stands_at_c(const struct disk *disk, uint32_t i)
{
        return disk->is_done || (disk->is_begun && (disk->in_buffer[i] || disk->is_listed[i]));
}

/* Recovery puts the named buffer home, believes the list, and replays the log on all other pages. */
static void check_recovery(const struct disk *disk)
{
        for (uint32_t i = 0; i < disk->count; i++) {
                if (disk->in_buffer[i])
                        continue;
                assert_int_equal(disk->home[i], stands_at_c(disk, i) ? HOME_AT_C : HOME_BASE);
        }
        for (uint32_t i = 0; i < disk->move_count && !disk->is_done; i++) {
                const uint32_t target = index_of(disk, disk->moves[i].target);
                const uint32_t source = index_of(disk, disk->moves[i].source);
                if (target < disk->count && source < disk->count && !stands_at_c(disk, target))
                        assert_false(stands_at_c(disk, source)); /* CP1, CP2: the replay needs what it was */
        }
}

/* A disk on which nothing of C is yet. What the buffer before has may be torn at home (CP8). */
static void draw(struct disk *disk, struct chance *chance)
{
        uint64_t page = 0;
        memset(disk, 0, sizeof(*disk));
        disk->count = 1 + (uint32_t)chance_below(chance, PAGES_MAX);
        for (uint32_t i = 0; i < disk->count; i++) {
                page += 1 + chance_below(chance, 5);
                disk->page[i] = page;
                disk->is_in_pool[i] = true;
                disk->in_buffer[i] = chance_percent(chance, 20);
                disk->is_held[i] = chance_percent(chance, 30);
                disk->home[i] = disk->in_buffer[i] && chance_percent(chance, 50) ? HOME_TORN : HOME_BASE;
        }
        disk->move_count = (uint32_t)chance_below(chance, MOVES_MAX);
        for (uint32_t i = 0; i < disk->move_count; i++)
                disk->moves[i] =
                        (struct batches_move){ 1 + chance_below(chance, page + 2), 1 + chance_below(chance, page + 2) };
}

/* ---- Steps ---- */

static void add_page(struct vector *list, uint64_t page)
{
        assert_int_equal(vector_reserve(list, list->count + 1, sizeof(page)), 0);
        ((uint64_t *)list->items)[list->count++] = page;
}

/* index[]: the disk's number of each page of the plan. */
struct taken {
        struct disk *disk;
        struct plan_page pages[PAGES_MAX];
        uint32_t index[PAGES_MAX];
        uint32_t count;
};

static void name_buffer(const struct taken *taken, const struct plan_step *step)
{
        struct disk *disk = taken->disk;
        memset(disk->in_buffer, 0, sizeof(disk->in_buffer));
        memset(disk->is_listed, 0, sizeof(disk->is_listed));
        for (uint32_t i = 0; i < step->image_count; i++) {
                assert_true(i == 0 || step->image[i] > step->image[i - 1]);
                disk->in_buffer[taken->index[step->image[i]]] = true;
        }
        for (uint32_t i = 0; i < step->listed_count; i++) {
                const uint32_t at = index_of(disk, step->listed[i]);
                assert_true(i == 0 || step->listed[i] > step->listed[i - 1]);
                assert_true(at < disk->count);
                disk->is_listed[at] = true;
        }
        disk->is_begun = !step->is_last;
        disk->is_done = step->is_last;
}

/* Writes are torn until the sync; then heads say so. Returns false: dead in between. */
static bool take_home(const struct taken *taken, const struct plan_step *step, struct chance *chance)
{
        struct disk *disk = taken->disk;
        for (uint32_t i = 0; i < step->home_count; i++) {
                const uint32_t at = taken->index[step->home[i]];
                assert_false(disk->is_held[at]); /* I3 */
                disk->home[at] = HOME_TORN;
                check_recovery(disk);
                if (chance_percent(chance, 2))
                        return false;
        }
        for (uint32_t i = 0; i < step->home_count; i++) {
                const uint32_t at = taken->index[step->home[i]];
                disk->home[at] = HOME_AT_C;
                disk->is_in_pool[at] =
                        chance_percent(chance, 10); /* superseded: it stays, and no head says where it is */
        }
        check_recovery(disk);
        return true;
}

/* Returns false: dead, or without room. */
static bool take_steps(const struct taken *taken, struct checkpoint_plan *plan, struct chance *chance)
{
        for (uint32_t steps = 0; !checkpoint_plan_is_done(plan); steps++) {
                struct plan_step step;
                assert_in_range(steps, 0, 8 * PAGES_MAX);
                assert_int_equal(checkpoint_plan_next(plan, &step), 0);
                if (step.has_buffer && chance_percent(chance, 5)) {
                        if (checkpoint_plan_halve(plan) == -ENOSPC)
                                return false;
                        continue;
                }
                if (chance_percent(chance, 5))
                        return false;
                if (step.has_buffer)
                        name_buffer(taken, &step);
                check_recovery(taken->disk);
                if (chance_percent(chance, 5) || !take_home(taken, &step, chance))
                        return false;
        }
        return true;
}

static void collect(struct taken *taken, struct double_write_contents *named)
{
        const struct disk *disk = taken->disk;
        for (uint32_t i = 0; i < disk->count; i++) {
                if (disk->in_buffer[i])
                        add_page(&named->pages, disk->page[i]);
                if (disk->is_listed[i])
                        add_page(&named->listed, disk->page[i]);
                if (!disk->is_in_pool[i])
                        continue;
                taken->index[taken->count] = i;
                taken->pages[taken->count++] = (struct plan_page){ disk->page[i], disk->is_held[i] };
        }
}

/* One who takes the checkpoint as far as he comes. Snapshots end meanwhile, and a transaction takes a page. */
static bool run_one(struct disk *disk, struct chance *chance)
{
        struct taken taken = { .disk = disk };
        struct double_write_contents named = { .position = 0 };
        struct checkpoint_plan plan;
        for (uint32_t i = 0; i < disk->count; i++)
                disk->is_held[i] = chance_percent(chance, disk->is_held[i] ? 70 : 2);
        collect(&taken, &named);
        assert_int_equal(
                checkpoint_plan_make(&plan, &(struct plan_wanted){ .pages = taken.pages,
                                                                   .count = taken.count,
                                                                   .moves = disk->moves,
                                                                   .move_count = disk->move_count,
                                                                   .named = &named,
                                                                   .is_begun = disk->is_begun,
                                                                   .most = DOUBLE_WRITE_PAGES_MIN +
                                                                           (uint32_t)chance_below(chance, MOST_MAX) }),
                0);
        plans++;
        const bool is_whole = take_steps(&taken, &plan, chance);
        checkpoint_plan_free(&plan);
        vector_free(&named.pages, sizeof(uint64_t));
        vector_free(&named.listed, sizeof(uint64_t));
        return is_whole || disk->is_done; /* what the named buffer has is the next checkpoint's (CP8) */
}

static void test_random_plans(void **state)
{
        struct chance chance = { chance_seed() };
        struct disk disk;
        (void)state;
        while (plans < PLANS) {
                draw(&disk, &chance);
                check_recovery(&disk);
                while (!run_one(&disk, &chance))
                        continue;
                for (uint32_t i = 0; i < disk.count; i++)
                        assert_true(disk.in_buffer[i] || disk.home[i] == HOME_AT_C); /* C is the base, of all pages */
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random_plans),
        };
        return cmocka_run_group_tests_name("recovery/checkpoint_plan", tests, NULL, NULL);
}
