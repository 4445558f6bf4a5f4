/* SPDX-License-Identifier: MIT */
#include "recovery/checkpoint_plan.h"

#include <errno.h>

#include "base/heap_sort.h"
#include "base/hook.h"

static int add(struct vector *list, uint32_t index)
{
        int err = vector_reserve(list, list->count + 1, sizeof(uint32_t));
        if (!err)
                ((uint32_t *)list->items)[list->count++] = index;
        return err;
}

static uint32_t get(const struct vector *list, uint32_t i)
{
        return ((const uint32_t *)list->items)[i];
}

static bool is_less(const void *arg, uint32_t a, uint32_t b)
{
        (void)arg;
        return a < b;
}

/* ---- What stands where ---- */

/* Nothing stands at C yet. */
static int sort_out_new(struct checkpoint_plan *plan, const struct plan_wanted *wanted)
{
        int err = 0;
        for (uint32_t i = 0; i < wanted->count && !err; i++)
                err = add(&plan->rest, i);
        return err;
}

/* CP10. Of what stands at C, the named buffer has what is held back and what may not be home. Other versions in the
 * pool have been superseded; they are home, although no head says so (CP11). */
static int sort_out_begun(struct checkpoint_plan *plan, const struct plan_wanted *wanted)
{
        const struct vector *named = &wanted->named->pages, *listed = &wanted->named->listed;
        int err = 0;
        for (uint32_t i = 0; i < wanted->count && !err; i++) {
                const struct plan_page *page = &wanted->pages[i];
                if (batches_have(named->items, named->count, page->page))
                        err = add(page->is_held ? &plan->carried : &plan->home, i);
                else if (!batches_have(listed->items, listed->count, page->page))
                        err = add(&plan->rest, i);
        }
        if (!err)
                err = batches_list_add(&plan->listed, listed->items, NULL, listed->count);
        if (!err)
                err = batches_list_add(&plan->listed, named->items, NULL, named->count);
        return err;
}

static int order(struct checkpoint_plan *plan, const struct plan_wanted *wanted)
{
        const bool has_first = !wanted->is_begun && !hook_has_bug(HOOK_BUG_BATCHES_BUFFER_GIVEN_UP);
        int err = vector_reserve(&plan->rest_pages, plan->rest.count, sizeof(uint64_t));
        if (err)
                return err;
        uint64_t *pages = plan->rest_pages.items;
        for (uint32_t i = 0; i < plan->rest.count; i++)
                pages[plan->rest_pages.count++] = wanted->pages[get(&plan->rest, i)].page;
        return batches_plan(&plan->batches,
                            &(struct batches_wanted){
                                    .pages = pages,
                                    .count = plan->rest_pages.count,
                                    .moves = wanted->moves,
                                    .move_count = hook_has_bug(HOOK_BUG_BATCHES_UNORDERED) ? 0 : wanted->move_count,
                                    .first = wanted->named->pages.items,
                                    .first_count = has_first ? wanted->named->pages.count : 0 });
}

int checkpoint_plan_make(struct checkpoint_plan *plan, const struct plan_wanted *wanted)
{
        *plan = (struct checkpoint_plan){ .pages = wanted->pages, .most = wanted->most, .stage = PLAN_BUFFERS };
        int err = wanted->is_begun ? sort_out_begun(plan, wanted) : sort_out_new(plan, wanted);
        if (wanted->is_begun && !hook_has_bug(HOOK_BUG_BATCHES_NOT_AGAIN))
                plan->stage = PLAN_AGAIN;
        return err ? err : order(plan, wanted);
}

void checkpoint_plan_free(struct checkpoint_plan *plan)
{
        vector_free(&plan->rest, sizeof(uint32_t));
        vector_free(&plan->rest_pages, sizeof(uint64_t));
        vector_free(&plan->carried, sizeof(uint32_t));
        vector_free(&plan->images, sizeof(uint32_t));
        vector_free(&plan->home, sizeof(uint32_t));
        vector_free(&plan->listed, sizeof(uint64_t));
        batches_free(&plan->batches);
}

/* ---- Steps ---- */

static int list_last_batch(struct checkpoint_plan *plan)
{
        int err = batches_list_add(&plan->listed, plan->rest_pages.items, plan->batch, plan->batch_count);
        plan->batch_count = 0;
        if (hook_has_bug(HOOK_BUG_BATCH_NOT_LISTED))
                plan->listed.count = 0;
        return err;
}

/* What is carried takes half of the buffer at most, unless it is more: then the buffer has as much again. */
static uint32_t batch_limit(const struct checkpoint_plan *plan)
{
        const uint32_t carried = plan->carried.count;
        return carried > plan->most / 2 ? carried : plan->most - carried;
}

static int add_to_buffer(struct checkpoint_plan *plan, uint32_t index)
{
        int err = add(&plan->images, index);
        return err ? err : add(plan->pages[index].is_held ? &plan->carried : &plan->home, index);
}

/* What the buffer is to have: those that are carried on, and the batch's pages. */
static int fill_buffer(struct checkpoint_plan *plan)
{
        int err = 0;
        plan->images.count = plan->home.count = 0;
        if (hook_has_bug(HOOK_BUG_BATCH_NOT_CARRIED))
                plan->carried.count = 0;
        plan->carried_before = plan->carried.count;
        for (uint32_t i = 0; i < plan->carried_before && !err; i++)
                err = add(&plan->images, get(&plan->carried, i));
        for (uint32_t i = 0; i < plan->batch_count && !err; i++)
                err = add_to_buffer(plan, get(&plan->rest, plan->batch[i]));
        heap_sort(plan->images.items, plan->images.count, is_less, NULL);
        return err;
}

static int next_buffer(struct checkpoint_plan *plan)
{
        int err = list_last_batch(plan);
        if (err)
                return err;
        plan->batch_count = batches_next(&plan->batches, batch_limit(plan), &plan->batch);
        return fill_buffer(plan);
}

int checkpoint_plan_next(struct checkpoint_plan *plan, struct plan_step *step)
{
        const bool has_buffer = plan->stage == PLAN_BUFFERS;
        int err = has_buffer ? next_buffer(plan) : 0;
        if (err)
                return err;
        plan->stage = has_buffer && batches_are_done(&plan->batches) ? PLAN_DONE : PLAN_BUFFERS;
        *step = (struct plan_step){ .has_buffer = has_buffer,
                                    .is_last = plan->stage == PLAN_DONE,
                                    .image = plan->images.items,
                                    .image_count = plan->images.count,
                                    .home = plan->home.items,
                                    .home_count = plan->home.count,
                                    .listed = plan->listed.items,
                                    .listed_count = plan->listed.count };
        return 0;
}

int checkpoint_plan_halve(struct checkpoint_plan *plan)
{
        if (plan->most <= DOUBLE_WRITE_PAGES_MIN)
                return -ENOSPC;
        plan->most /= 2;
        plan->carried.count = plan->carried_before;
        plan->batch_count = 0;
        plan->stage = PLAN_BUFFERS;
        batches_again(&plan->batches);
        return 0;
}

bool checkpoint_plan_is_done(const struct checkpoint_plan *plan)
{
        return plan->stage == PLAN_DONE;
}
