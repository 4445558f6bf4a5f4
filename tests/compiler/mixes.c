/* SPDX-License-Identifier: MIT */

/*
 * Compiled and other code on the same pages, within one transaction: random accesses, by each in turn, of random
 * lengths that may cross pages, in levels that end and abort, with pages that move and transactions that are undone;
 * all against a model in memory. This file is compiled by xac-cc; mixes_other.c is not, and its accesses fault.
 *
 *      mixes DIRECTORY SEED STEPS
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/compiler/mixes.h"

enum { PAGES = 24, BYTES = PAGES * 4096, LEVELS = 4, LENGTH_MAX = 40 };

static xac_env *env;
static unsigned char *view;
static unsigned char model[LEVELS + 1][BYTES]; /* [0]: committed; [n]: what level n sees */
static int depth;
static uint64_t state;
static long step;

static uint64_t draw(uint64_t below)
{
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return (state >> 33) % below;
}

static void fail(const char *what)
{
        printf("step %ld: %s\n", step, what);
        exit(1);
}

static void must(int err, const char *what)
{
        if (err) {
                printf("step %ld: %s: %s\n", step, what, xac_strerror(err));
                exit(1);
        }
}

static void begin(void)
{
        must(xbegin(env, XAC_NESTED), "xbegin");
        memcpy(model[depth + 1], model[depth], BYTES);
        depth++;
}

static void end(void)
{
        must(xend(env), "xend");
        memcpy(model[depth - 1], model[depth], BYTES);
        depth--;
}

static void undo(void)
{
        must(xabort(env), "xabort");
        depth--;
}

/* ---- compiled accesses ---- */

static void check_here(size_t at, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (view[at + i] != model[depth][at + i])
                        fail("compiled code reads something else");
}

static void check_words(size_t at)
{
        uint64_t expected;
        memcpy(&expected, model[depth] + at, 8);
        if (*(const mixes_word *)(view + at) != expected)
                fail("compiled code reads another word");
}

static void write_here(size_t at, const unsigned char *bytes, size_t len)
{
        if (len % 3)
                memcpy(view + at, bytes, len);
        else
                for (size_t i = 0; i < len; i++)
                        view[at + i] = bytes[i];
}

/* ---- one step ---- */

static void access_something(void)
{
        unsigned char bytes[LENGTH_MAX];
        const size_t len = 1 + draw(LENGTH_MAX);
        size_t at = draw(BYTES - LENGTH_MAX);
        if (draw(3) == 0)
                at = at / 4096 * 4096 + 4096 - 1 - draw(LENGTH_MAX); /* near the end of a page */
        if (at > BYTES - LENGTH_MAX)
                at = BYTES - LENGTH_MAX;
        for (size_t i = 0; i < len; i++)
                bytes[i] = (unsigned char)draw(256);
        switch (draw(7)) {
        case 0:
                check_here(at, len);
                return;
        case 1:
                check_words(at);
                return;
        case 2:
                if (!mixes_is_same(view + at, model[depth] + at, len))
                        fail("other code reads something else");
                return;
        case 3:
                mixes_write(view + at, bytes, len);
                break;
        case 4: {
                const size_t room = 4096 - at % 4096, piece = len < room ? len : room;
                mixes_write(xac_page_write(env, view + at), bytes, piece);
                memcpy(model[depth] + at, bytes, piece);
                return;
        }
        default:
                write_here(at, bytes, len);
        }
        memcpy(model[depth] + at, bytes, len);
}

static void move_pages(void)
{
        const size_t count = 1 + draw(4), to = draw(PAGES - 4), from = draw(PAGES - 4);
        unsigned char *pages = model[depth];
        if (to == from)
                return;
        must(xac_page_move(env, view + to * 4096, view + from * 4096, count), "xac_page_move");
        memmove(pages + to * 4096, pages + from * 4096, count * 4096);
        for (size_t page = from; page < from + count; page++)
                if (page < to || page >= to + count)
                        memset(pages + page * 4096, 0, 4096);
}

static void do_something(void)
{
        const uint64_t drawn = draw(100);
        if (!depth || (drawn < 4 && depth < LEVELS))
                begin();
        else if (drawn < 8)
                end();
        else if (drawn < 11)
                undo();
        else if (drawn < 13)
                move_pages();
        else
                access_something();
}

int main(int count, char **arguments)
{
        if (count != 4)
                return 2;
        state = strtoull(arguments[2], NULL, 0);
        const long steps = strtol(arguments[3], NULL, 0);
        must(xac_open(arguments[1], XAC_CREATE | XAC_VOLATILE | XAC_STRICT, NULL, &env), "xac_open");
        view = xac_mmap(env, "mixes", BYTES, 0);
        if (view == MAP_FAILED)
                fail("xac_mmap");
        for (step = 0; step < steps; step++)
                do_something();
        while (depth)
                end();
        begin();
        check_here(0, BYTES);
        if (!mixes_is_same(view, model[0], BYTES))
                fail("other code reads something else in the end");
        end();
        return xac_close(env) != 0;
}
