/* SPDX-License-Identifier: MIT */

/* What a thread keeps of a large transaction's translations. The addresses are of no view: nobody follows them. */

#include "libxac/view/second_table.h"

#include <stddef.h>
#include <string.h>

#include "libxac/store/window.h"
#include "libxac/view/translation.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { MANY = 20000, LOST_MOST = MANY / 50, UNIT_BYTES = 1 << XAC_TRANSLATE_SHIFT, PRIME = 7919 };

static const char *page(size_t i)
{
        return (const char *)(UINT64_C(1) << XAC_WINDOW_SHIFT) + i * UNIT_BYTES;
}

/* In another order than their addresses, as slots are. */
static const char *place_of(size_t i)
{
        return (const char *)(uintptr_t)((i * PRIME % MANY + 1) * UNIT_BYTES);
}

static void keep_all(enum translated access)
{
        for (size_t i = 0; i < MANY; i++)
                translation_keep(page(i), place_of(i), access);
}

static size_t count_known(enum translated access)
{
        const xac_translation *entries = access == TRANSLATED_WRITE ? xac_kept->of_writes : xac_kept->of_reads;
        size_t known = 0;
        for (size_t i = 0; i < MANY; i++) {
                const char *addr = page(i);
                const xac_translation *entry = xac_entry_of(entries, addr);
                const char *found = translation_find(addr, access);
                if (entry->unit == (uintptr_t)addr >> XAC_TRANSLATE_SHIFT)
                        found = (const char *)((uintptr_t)addr + entry->delta);
                check(!found || found == place_of(i));
                known += found != NULL;
        }
        return known;
}

static void a_large_transaction_is_known(void)
{
        keep_all(TRANSLATED_READ);
        check(count_known(TRANSLATED_READ) >= MANY - LOST_MOST);
        check(count_known(TRANSLATED_READ) >= MANY - LOST_MOST);
        check_equal(count_known(TRANSLATED_WRITE), 0);
        keep_all(TRANSLATED_WRITE);
        check(count_known(TRANSLATED_WRITE) >= MANY - LOST_MOST);
        translations_forget_writes();
        check_equal(count_known(TRANSLATED_WRITE), 0);
        check(count_known(TRANSLATED_READ) >= MANY - LOST_MOST);
        translations_forget();
        check_equal(count_known(TRANSLATED_READ), 0);
        keep_all(TRANSLATED_READ);
        check_equal(count_known(TRANSLATED_WRITE), 0);
        translations_free();
}

/* What has given way is where compiled code looks as soon as it is asked for again. */
static void what_is_asked_for_comes_back(void)
{
        for (size_t i = 0; i < 3; i++)
                translation_keep(page(i * XAC_TRANSLATE_ENTRIES), place_of(i), TRANSLATED_READ);
        for (size_t i = 0; i < 3; i++) {
                check(translation_find(page(i * XAC_TRANSLATE_ENTRIES), TRANSLATED_READ) == place_of(i));
                check_equal(xac_entry_of(xac_kept->of_reads, page(0))->unit,
                            (uintptr_t)page(i * XAC_TRANSLATE_ENTRIES) >> XAC_TRANSLATE_SHIFT);
        }
        translations_free();
}

/* What came back is there twice. Once it leads elsewhere, the other one is wrong. */
static void what_came_back_gives_way_as_it_is_now(void)
{
        const char *addr = page(0);
        for (size_t i = 0; i < 3; i++) {
                translation_keep(page(i * XAC_TRANSLATE_ENTRIES), place_of(i), TRANSLATED_READ);
                check(!i || translation_find(addr, TRANSLATED_READ) == place_of(0));
        }
        translation_keep(addr, place_of(7), TRANSLATED_READ);
        check(translation_find(page(XAC_TRANSLATE_ENTRIES), TRANSLATED_READ) == place_of(1));
        check(translation_find(addr, TRANSLATED_READ) == place_of(7));
        translations_forget_page(addr, UNIT_BYTES);
        check(!translation_find(addr, TRANSLATED_READ));
        translation_keep(addr, place_of(8), TRANSLATED_READ);
        check(translation_find(page(XAC_TRANSLATE_ENTRIES), TRANSLATED_READ) == place_of(1));
        check(translation_find(addr, TRANSLATED_READ) == place_of(8));
        translations_free();
}

static void a_page_is_forgotten_in_both(void)
{
        keep_all(TRANSLATED_WRITE);
        for (size_t i = 0; i < MANY; i += 2)
                translations_forget_page(page(i), UNIT_BYTES);
        for (size_t i = 0; i < MANY; i += 2)
                check(!translation_find(page(i), TRANSLATED_READ) && !translation_find(page(i), TRANSLATED_WRITE));
        check(count_known(TRANSLATED_WRITE) <= MANY / 2);
        check(count_known(TRANSLATED_WRITE) >= MANY / 2 - LOST_MOST);
        translations_free();
}

/* The numbers of rounds are used up after 2^32 - 1: what an earlier one of that number knew is not right again. */
static void rounds_are_counted_anew(void)
{
        struct second_table table = { 0 };
        second_table_add(&table, 1, 10, true);
        const uint32_t first = table.reads;
        table.reads = table.writes = UINT32_MAX;
        second_table_forget(&table);
        check_equal(table.reads, first);
        check(!second_table_find(&table, 1, false) && !second_table_find(&table, 1, true));
        second_table_add(&table, 1, 11, false);
        check(second_table_find(&table, 1, false)->delta == 11 && !second_table_find(&table, 1, true));
        second_table_free(&table);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_large_transaction_is_known),
                isolated_test(what_is_asked_for_comes_back),
                isolated_test(what_came_back_gives_way_as_it_is_now),
                isolated_test(a_page_is_forgotten_in_both),
                isolated_test(rounds_are_counted_anew),
        };
        return cmocka_run_group_tests_name("second_table", tests, NULL, NULL);
}
