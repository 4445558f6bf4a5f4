/* SPDX-License-Identifier: MIT */
#include <xac/rewire.h>

/*
 * Areas show what they were told to: random calls are compared with a model, by content and by what the kernel says
 * (/proc/self/maps); and the limit of mappings is kept.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "rewire/mappings.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { PAGE = 4096 };

static xac_rewire_pool *make_pool(size_t page_bytes, uint64_t pages)
{
        const xac_rewire_pool_options options = { .page_bytes = page_bytes, .max_bytes = pages * page_bytes };
        xac_rewire_pool *pool;
        uint64_t first;

        check_ok(xac_rewire_pool_create(&options, &pool));
        check_ok(xac_rewire_pool_take(pool, pages, &first));
        check_equal(first, 0);
        for (uint64_t page = 0; page < pages; page++)
                *(uint64_t *)xac_rewire_pool_page(pool, page) = page;
        return pool;
}

static xac_rewire_area *make_area(xac_rewire_pool *pool, uint64_t pages, int flags)
{
        xac_rewire_area *area;

        check_ok(xac_rewire_area_create(pool, pages, flags, &area));
        check_equal((uintptr_t)xac_rewire_area_address(area) % XAC_REWIRE_HUGE_BYTES, 0);
        check_equal(xac_rewire_area_mappings(area), 1);
        return area;
}

static uint64_t word_at(const xac_rewire_area *area, uint64_t at, size_t page_bytes)
{
        return *(const uint64_t *)((const char *)xac_rewire_area_address(area) + at * page_bytes);
}

/* What the kernel has there. */
static uint64_t count_kernels(const xac_rewire_area *area, uint64_t byte_len)
{
        const uint64_t from = (uintptr_t)xac_rewire_area_address(area), to = from + byte_len;
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512];
        uint64_t first, end, n = 0;

        check(maps);
        while (fgets(line, sizeof(line), maps))
                if (sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &end) == 2)
                        n += first < to && end > from;
        fclose(maps);
        return n;
}

/* ---- by hand ---- */

static void pages_are_shown_where_they_are_mapped(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 10);
        xac_rewire_area *area = make_area(pool, 6, 0);
        const uint64_t pages[] = { 7, 3, 4, 5 };

        check_ok(xac_rewire_area_map(area, 0, 8, 2));
        check_ok(xac_rewire_area_map_each(area, 2, pages, 4));
        check_equal(xac_rewire_area_mappings(area), 3);
        check_equal(xac_rewire_area_page(area, 3), 3);
        for (uint64_t at = 0; at < 6; at++)
                check_equal(word_at(area, at, PAGE), at < 2 ? 8 + at : pages[at - 2]);
        *(uint64_t *)xac_rewire_area_address(area) = 88;
        check_equal(*(uint64_t *)xac_rewire_pool_page(pool, 8), 88);
        check_equal(xac_rewire_pool_destroy(pool), -EBUSY);
        check_equal(xac_rewire_area_map(area, 5, 0, 2), -EINVAL);
        check_equal(xac_rewire_area_map(area, 0, 9, 2), -EINVAL);
        check_equal(xac_rewire_area_map(area, 0, 0, 0), -EINVAL);
        check_equal(xac_rewire_area_swap(area, 0, 1, 2), -EINVAL);
        check_equal(xac_rewire_area_unmap(area, UINT64_MAX, 2), -EINVAL);
        xac_rewire_area_destroy(area);
        xac_rewire_area_destroy(NULL);
        check_equal(mappings_in_use(), 0);
        check_ok(xac_rewire_pool_destroy(pool));
}

static void what_is_read_only_or_private_is_so(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 4);
        xac_rewire_area *mine = make_area(pool, 4, XAC_REWIRE_PRIVATE),
                        *fixed = make_area(pool, 4, XAC_REWIRE_READ_ONLY);
        uint64_t *word = xac_rewire_area_address(fixed);

        check_equal(xac_rewire_area_map_touched(mine, 0, 0, 4), -EINVAL);
        check_equal(xac_rewire_area_map_touched(fixed, 0, 0, 4), -EINVAL);
        check_ok(xac_rewire_area_map(mine, 0, 0, 4));
        check_ok(xac_rewire_area_map(fixed, 0, 0, 4));
        *(uint64_t *)xac_rewire_area_address(mine) = 99;
        check_equal(word_at(mine, 0, PAGE), 99);
        check_equal(word_at(fixed, 0, PAGE), 0);
        const pid_t pid = fork();
        if (!pid) {
                signal(SIGSEGV, SIG_DFL);
                *word = 1;
                _exit(0);
        }
        int status;
        check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        check_ok(xac_rewire_area_protect(fixed, 0, 1, PROT_READ | PROT_WRITE));
        *word = 5;
        check_equal(*(uint64_t *)xac_rewire_pool_page(pool, 0), 5);
        check_equal(xac_rewire_area_mappings(fixed), 2);
        xac_rewire_area_destroy(mine);
        xac_rewire_area_destroy(fixed);
        check_ok(xac_rewire_pool_destroy(pool));
}

/* With what the page tables have: no page is faulted in again. */
static void moved_pages_are_not_faulted_in_again(void)
{
        enum { PAGES = 2048 };
        xac_rewire_pool *pool = make_pool(PAGE, PAGES);
        xac_rewire_area *from = make_area(pool, PAGES, 0), *to = make_area(pool, PAGES, 0);
        struct rusage before, after;

        check_ok(xac_rewire_area_map(from, 0, 0, PAGES));
        check_ok(xac_rewire_area_populate(from, 0, PAGES));
        check_ok(xac_rewire_area_move(from, 0, to, 0, PAGES));
        check_equal(xac_rewire_area_page(from, 5), XAC_REWIRE_NONE);
        check_equal(xac_rewire_area_page(to, 5), 5);
        check(!getrusage(RUSAGE_SELF, &before));
        for (uint64_t at = 0; at < PAGES; at++)
                ++*(uint64_t *)((char *)xac_rewire_area_address(to) + at * PAGE);
        check(!getrusage(RUSAGE_SELF, &after));
        check(after.ru_minflt - before.ru_minflt < PAGES / 4);
        for (uint64_t at = 0; at < PAGES; at++)
                check_equal(word_at(to, at, PAGE), at + 1);
        xac_rewire_area_destroy(from);
        xac_rewire_area_destroy(to);
        check_ok(xac_rewire_pool_destroy(pool));
}

/* The same from the pool itself, whose addresses show them as before. */
static void touched_pages_are_not_faulted_in_again(void)
{
        enum { PAGES = 2048 };
        xac_rewire_pool *pool = make_pool(PAGE, PAGES);
        xac_rewire_area *area = make_area(pool, PAGES, 0);
        struct rusage before, after;

        check_ok(xac_rewire_area_map_touched(area, 0, 0, PAGES));
        check(!getrusage(RUSAGE_SELF, &before));
        for (uint64_t at = 0; at < PAGES; at++)
                ++*(uint64_t *)((char *)xac_rewire_area_address(area) + at * PAGE);
        check(!getrusage(RUSAGE_SELF, &after));
        check(after.ru_minflt - before.ru_minflt < PAGES / 4);
        for (uint64_t page = 0; page < PAGES; page++)
                check_equal(*(uint64_t *)xac_rewire_pool_page(pool, page), page + 1);
        xac_rewire_area_destroy(area);
        check_ok(xac_rewire_pool_destroy(pool));
}

/* ---- random calls ---- */

struct side {
        xac_rewire_area *area;
        uint64_t shows[64]; /* of each place: its page, or XAC_REWIRE_NONE */
};

struct model {
        size_t page_bytes;
        uint64_t pages, places;
        xac_rewire_pool *pool;
        struct side side[2];
        struct chance chance;
};

static uint64_t below(struct model *model, uint64_t bound)
{
        return chance_below(&model->chance, bound);
}

/* A range of places; returns how many. */
static uint64_t choose(struct model *model, uint64_t *at)
{
        *at = below(model, model->places);
        const uint64_t left = model->places - *at;
        return 1 + below(model, chance_percent(&model->chance, 50) && left > 4 ? 4 : left);
}

static void map_some(struct model *model, struct side *side)
{
        uint64_t at, pages[64];
        const uint64_t count = choose(model, &at);

        if (chance_percent(&model->chance, 50)) {
                const uint64_t page = below(model, model->pages - count + 1);
                const bool is_touched = chance_percent(&model->chance, 50);
                check_ok((is_touched ? xac_rewire_area_map_touched : xac_rewire_area_map)(side->area, at, page, count));
                for (uint64_t i = 0; i < count; i++)
                        pages[i] = page + i;
        } else {
                for (uint64_t i = 0; i < count; i++)
                        pages[i] = i && chance_percent(&model->chance, 60) && pages[i - 1] + 1 < model->pages
                                           ? pages[i - 1] + 1
                                           : below(model, model->pages);
                check_ok(xac_rewire_area_map_each(side->area, at, pages, count));
        }
        memcpy(side->shows + at, pages, count * sizeof(*pages));
}

static void unmap_some(struct model *model, struct side *side)
{
        uint64_t at;
        const uint64_t count = choose(model, &at);

        check_ok(xac_rewire_area_unmap(side->area, at, count));
        for (uint64_t i = 0; i < count; i++)
                side->shows[at + i] = XAC_REWIRE_NONE;
}

static void swap_some(struct model *model, struct side *side)
{
        uint64_t at, count = choose(model, &at);
        const uint64_t with = below(model, model->places - count + 1);
        const bool do_overlap = at < with + count && with < at + count;

        check_equal(xac_rewire_area_swap(side->area, at, with, count), do_overlap ? -EINVAL : 0);
        for (uint64_t i = 0; i < count && !do_overlap; i++) {
                const uint64_t page = side->shows[at + i];
                side->shows[at + i] = side->shows[with + i];
                side->shows[with + i] = page;
        }
}

static void move_some(struct model *model, struct side *from, struct side *to)
{
        uint64_t at, count = choose(model, &at);
        const uint64_t where = below(model, model->places - count + 1);
        const bool do_overlap = from == to && at < where + count && where < at + count;

        check_equal(xac_rewire_area_move(from->area, at, to->area, where, count), do_overlap ? -EINVAL : 0);
        for (uint64_t i = 0; i < count && !do_overlap; i++) {
                to->shows[where + i] = from->shows[at + i];
                from->shows[at + i] = XAC_REWIRE_NONE;
        }
}

static void protect_or_populate(struct model *model, struct side *side)
{
        uint64_t at, count = choose(model, &at);
        bool are_shown = true;

        for (uint64_t i = 0; i < count; i++)
                are_shown = are_shown && side->shows[at + i] != XAC_REWIRE_NONE;
        if (chance_percent(&model->chance, 50))
                check_ok(xac_rewire_area_populate(side->area, at, count));
        else
                check_equal(xac_rewire_area_protect(side->area, at, count, PROT_READ), are_shown ? 0 : -EINVAL);
}

static void check_side(const struct model *model, const struct side *side)
{
        for (uint64_t at = 0; at < model->places; at++) {
                check_equal(xac_rewire_area_page(side->area, at), side->shows[at]);
                if (side->shows[at] != XAC_REWIRE_NONE)
                        check_equal(word_at(side->area, at, model->page_bytes), side->shows[at]);
        }
        check_equal(xac_rewire_area_mappings(side->area), count_kernels(side->area, model->places * model->page_bytes));
}

static void step(struct model *model)
{
        struct side *side = &model->side[below(model, 2)];
        const uint64_t what = below(model, 100);

        if (what < 45)
                map_some(model, side);
        else if (what < 55)
                unmap_some(model, side);
        else if (what < 70)
                swap_some(model, side);
        else if (what < 90)
                move_some(model, side, &model->side[below(model, 2)]);
        else
                protect_or_populate(model, side);
        check_side(model, &model->side[0]);
        check_side(model, &model->side[1]);
        check_equal(mappings_in_use(),
                    xac_rewire_area_mappings(model->side[0].area) + xac_rewire_area_mappings(model->side[1].area));
}

static void random_calls(size_t page_bytes, uint64_t pages, uint64_t places, int steps)
{
        struct model model = { .page_bytes = page_bytes, .pages = pages, .places = places };

        model.chance.state = chance_seed();
        model.pool = make_pool(page_bytes, pages);
        for (int i = 0; i < 2; i++) {
                model.side[i].area = make_area(model.pool, places, 0);
                for (uint64_t at = 0; at < places; at++)
                        model.side[i].shows[at] = XAC_REWIRE_NONE;
        }
        for (int i = 0; i < steps; i++)
                step(&model);
        xac_rewire_area_destroy(model.side[0].area);
        xac_rewire_area_destroy(model.side[1].area);
        check_ok(xac_rewire_pool_destroy(model.pool));
}

static void random_calls_against_a_model(void)
{
        random_calls(PAGE, 40, 30, 4000);
        random_calls(PAGE, 200, 64, 2000);
}

static void random_calls_with_huge_pages(void)
{
        random_calls(XAC_REWIRE_HUGE_BYTES, 12, 10, 500);
}

/* ---- calls that fail, and limits ---- */

static struct {
        struct chance chance;
        unsigned percent;
} failing;

static int fail_some(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        const bool is_mapping = call == SYS_MMAP || call == SYS_MREMAP || call == SYS_MPROTECT;
        return is_mapping && chance_percent(&failing.chance, failing.percent) ? -ENOMEM : 0;
}

/* Whatever fails: what the area says that it shows, it shows, and the kernel's mappings are as many as it says. */
static void after_a_failure_the_area_knows_what_it_shows(void)
{
        enum { PLACES = 40 };
        xac_rewire_pool *pool = make_pool(PAGE, 60);
        xac_rewire_area *area = make_area(pool, PLACES, 0);
        struct model model = { .places = PLACES, .pages = 60 };

        model.chance.state = failing.chance.state = chance_seed();
        failing.percent = 30;
        for (int i = 0; i < 5000; i++) {
                uint64_t at, pages[PLACES], count = choose(&model, &at);
                const uint64_t with = below(&model, PLACES - count + 1);
                for (uint64_t k = 0; k < count; k++)
                        pages[k] = below(&model, 60);
                sys_fail = fail_some;
                switch (below(&model, 4)) {
                case 0:
                        (void)xac_rewire_area_map_each(area, at, pages, count);
                        break;
                case 1:
                        (void)xac_rewire_area_swap(area, at, with, count);
                        break;
                case 2:
                        (void)xac_rewire_area_move(area, at, area, with, count);
                        break;
                default:
                        (void)xac_rewire_area_unmap(area, at, count);
                }
                sys_fail = NULL;
                for (uint64_t k = 0; k < PLACES; k++)
                        if (xac_rewire_area_page(area, k) != XAC_REWIRE_NONE)
                                check_equal(word_at(area, k, PAGE), xac_rewire_area_page(area, k));
                if (i % 10 == 0)
                        check_equal(xac_rewire_area_mappings(area), count_kernels(area, (uint64_t)PLACES * PAGE));
        }
        xac_rewire_area_destroy(area);
        check_ok(xac_rewire_pool_destroy(pool));
}

/* What was written to private pages goes along; so does who may access them. */
static void what_is_private_is_swapped(void)
{
        enum { PLACES = 8 };
        xac_rewire_pool *pool = make_pool(PAGE, PLACES);
        xac_rewire_area *area = make_area(pool, PLACES, XAC_REWIRE_PRIVATE);
        char *bytes = xac_rewire_area_address(area);
        struct chance chance = { chance_seed() };
        unsigned char shown[PLACES];

        check_ok(xac_rewire_area_map(area, 0, 0, PLACES));
        for (unsigned i = 0; i < PLACES; i++)
                bytes[i * PAGE + 8] = (char)(shown[i] = (unsigned char)(i + 1));
        for (int round = 0; round < 300; round++) {
                const uint64_t count = 1 + chance_below(&chance, PLACES / 2);
                const uint64_t at = chance_below(&chance, PLACES / 2 - count + 1);
                const uint64_t with = PLACES / 2 + chance_below(&chance, PLACES / 2 - count + 1);

                check_ok(xac_rewire_area_swap(area, at, with, count));
                for (uint64_t i = 0; i < count; i++) {
                        const unsigned char page = shown[at + i];
                        shown[at + i] = shown[with + i];
                        shown[with + i] = page;
                }
                for (unsigned i = 0; i < PLACES; i++) {
                        check_equal(bytes[i * PAGE + 8], shown[i]);
                        check_equal(xac_rewire_area_page(area, i), shown[i] - 1);
                }
        }
        xac_rewire_area_destroy(area);
        check_ok(xac_rewire_pool_destroy(pool));
}

static void a_swap_keeps_protections(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 2);
        xac_rewire_area *area = make_area(pool, 2, 0);

        check_ok(xac_rewire_area_map(area, 0, 0, 2));
        check_ok(xac_rewire_area_protect(area, 0, 1, PROT_NONE));
        check_ok(xac_rewire_area_swap(area, 0, 1, 1));
        check_ok(xac_rewire_area_populate(area, 0, 2)); /* not where nothing can be read */
        check_equal(word_at(area, 0, PAGE), *(uint64_t *)xac_rewire_pool_page(pool, 1));
        check(sys_madvise((char *)xac_rewire_area_address(area) + PAGE, PAGE, MADV_POPULATE_READ) != 0);
        xac_rewire_area_destroy(area);
        check_ok(xac_rewire_pool_destroy(pool));
}

/* Half of what the kernel allows; then a refusal that changes nothing, and room again after something was unmapped. */
static void the_limit_of_mappings_is_not_reached(void)
{
        enum { PLACES = 100000 };
        xac_rewire_pool *pool = make_pool(PAGE, 2);
        xac_rewire_area *area = make_area(pool, PLACES, 0);
        uint64_t at = 0, *pages = calloc(PLACES, sizeof(*pages));
        int err;

        check(pages);
        check_equal(xac_rewire_area_map_each(area, 0, pages, PLACES), -EMLINK);
        check_equal(xac_rewire_area_mappings(area), 1);
        while (!(err = xac_rewire_area_map(area, at, 0, 1)) && at < PLACES)
                at++;
        check_equal(err, -EMLINK);
        check_equal(xac_rewire_area_page(area, at), XAC_REWIRE_NONE);
        check(at > 10000 && !mappings_are_scarce());
        check_equal(xac_rewire_area_mappings(area), count_kernels(area, (uint64_t)PLACES * PAGE));
        check_ok(xac_rewire_area_unmap(area, 0, 1000));
        check_ok(xac_rewire_area_map(area, at, 0, 1));
        xac_rewire_area_destroy(area);
        free(pages);
        check_ok(xac_rewire_pool_destroy(pool));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(pages_are_shown_where_they_are_mapped),
                isolated_test(what_is_read_only_or_private_is_so),
                isolated_test(moved_pages_are_not_faulted_in_again),
                isolated_test(touched_pages_are_not_faulted_in_again),
                isolated_test(random_calls_against_a_model),
                isolated_test(random_calls_with_huge_pages),
                isolated_test(after_a_failure_the_area_knows_what_it_shows),
                isolated_test(what_is_private_is_swapped),
                isolated_test(a_swap_keeps_protections),
                isolated_test(the_limit_of_mappings_is_not_reached),
        };

        return cmocka_run_group_tests_name("rewire/area", tests, NULL, NULL);
}
