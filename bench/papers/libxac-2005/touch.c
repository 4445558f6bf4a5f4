/* SPDX-License-Identifier: MIT */
#include "bench/papers/libxac-2005/touch.h"

const struct touch_way touch_ways[TOUCH_WAYS] = {
        [TOUCH_READ_COLD] = { "read_cold", XAC_READ, TOUCH_PLAIN, 1, false },
        [TOUCH_READ_COLD_ADVISED] = { "read_cold_advised", XAC_READ, TOUCH_ADVISED, 1, false },
        [TOUCH_READ_WARM] = { "read_warm", XAC_READ, TOUCH_PLAIN, 0, false },
        [TOUCH_READ_DECLARED] = { "read_declared", XAC_READ, TOUCH_DECLARED, 0, false },
        [TOUCH_WRITE_PLAIN] = { "write_plain", XAC_WRITE, TOUCH_PLAIN, 0, false },
        [TOUCH_WRITE_ADVISED] = { "write_advised", XAC_WRITE, TOUCH_ADVISED, 0, false },
        [TOUCH_WRITE_DECLARED] = { "write_declared", XAC_WRITE, TOUCH_DECLARED, 0, false },
};

void touch_open(struct touch *touch, const struct touch_way *way, size_t pages)
{
        *touch = (struct touch){ .way = way };
        scratch_make(&touch->scratch, pages);
        touch->scratch.is_durable = way->is_durable;
        scratch_open(&touch->scratch, way->is_cold ? XAC_TRACK : 0);
        scratch_fill(&touch->scratch);
        for (size_t i = 0; i < 2 * pages; i += 64)
                touch_pages(touch, 64); /* to the state that the transactions leave behind */
}

void touch_close(struct touch *touch)
{
        scratch_close(&touch->scratch);
        scratch_remove(&touch->scratch);
}

static void read_or_write(int access, const volatile long *read, volatile long *write)
{
        if (access == XAC_READ)
                (void)*read;
        else
                ++*write;
}

static void touch_declared(const struct touch *touch, char *from, size_t n)
{
        xac_env *env = touch->scratch.env;

        for (size_t i = 0; i < n; i++) {
                char *page = from + i * SCRATCH_PAGE;
                if (touch->way->access == XAC_READ)
                        read_or_write(XAC_READ, xac_page_read(env, page), NULL);
                else
                        read_or_write(XAC_WRITE, NULL, xac_page_write(env, page));
        }
}

static void touch_plain(const struct touch *touch, char *from, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                volatile long *word = (long *)(void *)(from + i * SCRATCH_PAGE);
                read_or_write(touch->way->access, word, word);
        }
}

void touch_pages(struct touch *touch, size_t n)
{
        const struct touch_way *way = touch->way;
        xac_env *env = touch->scratch.env;

        if (touch->next + n > touch->scratch.pages)
                touch->next = 0;
        char *from = scratch_page(&touch->scratch, touch->next);
        touch->next += n;

        must(xbegin(env, 0), "xbegin");
        if (way->how == TOUCH_ADVISED)
                must(xac_advise(env, from, n * SCRATCH_PAGE, way->access), "xac_advise");
        if (way->how == TOUCH_DECLARED)
                touch_declared(touch, from, n);
        else
                touch_plain(touch, from, n);
        must(xend(env), "xend");
}
