/* SPDX-License-Identifier: MIT */
#include "tests/trees/damaged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"

struct damaged damaged;

static void put_word(unsigned i, size_t value_len)
{
        static char value[DAMAGED_LONG];
        char key[40];
        int len = snprintf(key, sizeof(key), "%06u is the number of this key", i);

        check_ok(xac_tree_put(damaged.words, key, (size_t)len, value, value_len, 0));
}

static void fill(void)
{
        const size_t usual = xtree_is_cob() ? 800 : 40;
        const char value[100] = "";

        for (unsigned i = 0; i < DAMAGED_WORDS; i++) {
                uint64_t key = chance_mix(i);

                put_word(i, usual);
                check_ok(xac_tree_put(damaged.numbers, &key, 8, value, sizeof(value), 0));
        }
        put_word(77, DAMAGED_LONG);
        put_word(99, DAMAGED_LONG);
        put_word(99, 10);
}

void damaged_begin(int way)
{
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 100 };
        xac_tree_report report;

        damaged.arena = ways_open(way);
        check_ok(xtree_open(damaged.arena, "words", XAC_TREE_CREATE, NULL, &damaged.words));
        check_ok(xtree_open(damaged.arena, "numbers", XAC_TREE_CREATE, &fixed, &damaged.numbers));
        fill();
        check_ok(xac_tree_check(damaged.arena, &report));
        check_equal(report.trees, 2);
        check_equal(report.records, 2 * DAMAGED_WORDS);
        check(report.page_no == 0 && report.message[0] == '\0');
        damaged.sound_bytes = report.pages << damaged.arena->page_shift;
        damaged.pages_used = report.pages - report.free_pages;
        damaged.sound = malloc(damaged.sound_bytes);
        check(damaged.sound != NULL);
        memcpy(damaged.sound, damaged.arena->base, damaged.sound_bytes);
}

void damaged_end(void)
{
        free(damaged.sound);
        xac_tree_close(damaged.words);
        xac_tree_close(damaged.numbers);
        ways_close();
}

static void repair(void)
{
        xac_tree_report report;

        memcpy(damaged.arena->base, damaged.sound, damaged.sound_bytes);
        check_ok(xac_tree_check(damaged.arena, &report));
}

void damaged_repair_page(page_no page)
{
        memcpy(damaged_page(page), damaged.sound + ((uint64_t)page << damaged.arena->page_shift),
               damaged.arena->page_bytes);
}

void damaged_is_found(page_no page, const char *what)
{
        xac_tree_report report;

        check_code(xac_tree_check(damaged.arena, &report), XAC_CORRUPT);
        if (!strstr(report.message, what) || (page && report.page_no != page))
                check_failed(__FILE__, __LINE__, "said: \"%s\", page %" PRIu64 "; it should be \"%s\", page %u",
                             report.message, report.page_no, what, page);
        repair();
}
