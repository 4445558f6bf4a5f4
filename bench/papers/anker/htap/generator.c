/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/generator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/support/measure.h"

enum {
        LINES_MAX = 7,
        CURRENT_DAY = 1263, /* the 17th of June 1995 */
        LAST_ORDER_DAY = DAYS - 1 - 151,
        WORD_MAX = 96
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const instructions[] = { "COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN" };
static const char *const modes[] = { "AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK" };
static const char *const priorities[] = { "1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW" };
static const char *const flags[] = { "A", "N", "R" };
static const char *const statuses[] = { "F", "O", "P" };
static const char *const sizes[] = { "STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO" };
static const char *const finishes[] = { "ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED" };
static const char *const metals[] = { "TIN", "NICKEL", "BRASS", "STEEL", "COPPER" };
static const char *const packings[] = { "SM", "LG", "MED", "JUMBO", "WRAP" };
static const char *const containers[] = { "CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM" };
static const char *const words[] = { "carefully", "quickly",  "final", "pending", "regular",  "special",
                                     "express",   "ironic",   "bold",  "even",    "deposits", "accounts",
                                     "requests",  "packages", "ideas", "theories" };
static const char *const colours[] = { "almond",   "azure",    "beige", "blush", "burlywood", "chiffon",
                                       "coral",    "cornsilk", "cyan",  "drab",  "forest",    "gainsboro",
                                       "honeydew", "ivory",    "khaki", "lace" };

static uint32_t pick(uint64_t *random, uint32_t below)
{
        return (uint32_t)((measure_random(random) >> 16) % below);
}

static int32_t between(uint64_t *random, int32_t least, int32_t most)
{
        return least + (int32_t)pick(random, (uint32_t)(most - least + 1));
}

/* So many words of a list. */
static int32_t phrase(struct dictionary *dictionary, uint64_t *random, const char *const list[16], int count)
{
        char text[WORD_MAX];
        int len = 0;
        for (int i = 0; i < count; i++)
                len += snprintf(text + len, sizeof(text) - (size_t)len, i ? " %s" : "%s", list[pick(random, 16)]);
        return dictionary_code(dictionary, text);
}

/* The codes of these columns are places in their lists, so that who draws one needs no dictionary. */
static void enter(struct tables *tables, int column, const char *const *list, size_t count)
{
        for (size_t i = 0; i < count; i++)
                dictionary_code(&tables->words[column], list[i]);
}

static void enter_lists(struct tables *tables)
{
        char word[WORD_MAX];

        enter(tables, L_SHIPINSTRUCT, instructions, COUNT(instructions));
        enter(tables, L_SHIPMODE, modes, COUNT(modes));
        enter(tables, L_RETURNFLAG, flags, COUNT(flags));
        enter(tables, L_LINESTATUS, statuses, 2);
        enter(tables, O_ORDERSTATUS, statuses, COUNT(statuses));
        enter(tables, O_ORDERPRIORITY, priorities, COUNT(priorities));
        for (int m = 1; m <= 5; m++) {
                snprintf(word, sizeof(word), "Manufacturer#%d", m);
                dictionary_code(&tables->words[P_MFGR], word);
                for (int b = 1; b <= 5; b++) {
                        snprintf(word, sizeof(word), "Brand#%d%d", m, b);
                        dictionary_code(&tables->words[P_BRAND], word);
                }
        }
        for (size_t p = 0; p < COUNT(packings); p++)
                for (size_t c = 0; c < COUNT(containers); c++) {
                        snprintf(word, sizeof(word), "%s %s", packings[p], containers[c]);
                        dictionary_code(&tables->words[P_CONTAINER], word);
                }
}

static void fill_part(struct tables *tables, uint32_t row, uint64_t *random)
{
        int32_t **column = tables->column;
        const int32_t key = (int32_t)row + 1;
        char type[WORD_MAX];

        column[P_PARTKEY][row] = key;
        column[P_NAME][row] = phrase(&tables->words[P_NAME], random, colours, 5);
        column[P_BRAND][row] = between(random, 0, 24);
        column[P_MFGR][row] = column[P_BRAND][row] / 5;
        snprintf(type, sizeof(type), "%s %s %s", sizes[pick(random, COUNT(sizes))],
                 finishes[pick(random, COUNT(finishes))], metals[pick(random, COUNT(metals))]);
        column[P_TYPE][row] = dictionary_code(&tables->words[P_TYPE], type);
        column[P_SIZE][row] = between(random, 1, 50);
        column[P_CONTAINER][row] = between(random, 0, 39);
        column[P_RETAILPRICE][row] = 90000 + (key / 10) % 20001 + 100 * (key % 1000);
        column[P_COMMENT][row] = phrase(&tables->words[P_COMMENT], random, words, 2);
}

static void fill_line(struct tables *tables, uint32_t row, uint32_t order, int32_t number, uint64_t *random)
{
        int32_t **column = tables->column;
        const int32_t part = between(random, 1, (int32_t)tables->rows[PART]);
        const int32_t ordered = column[O_ORDERDATE][order];

        column[L_ORDERKEY][row] = (int32_t)order + 1;
        column[L_PARTKEY][row] = part;
        column[L_SUPPKEY][row] = between(random, 1, (int32_t)(tables->rows[PART] / 20 + 1));
        column[L_LINENUMBER][row] = number;
        column[L_QUANTITY][row] = between(random, 1, 50);
        column[L_EXTENDEDPRICE][row] = column[L_QUANTITY][row] * column[P_RETAILPRICE][part - 1];
        column[L_DISCOUNT][row] = between(random, 0, 10);
        column[L_TAX][row] = between(random, 0, 8);
        column[L_SHIPDATE][row] = ordered + between(random, 1, 121);
        column[L_COMMITDATE][row] = ordered + between(random, 30, 90);
        column[L_RECEIPTDATE][row] = column[L_SHIPDATE][row] + between(random, 1, 30);
        column[L_RETURNFLAG][row] = column[L_RECEIPTDATE][row] > CURRENT_DAY ? 1 : 2 * between(random, 0, 1);
        column[L_LINESTATUS][row] = column[L_SHIPDATE][row] > CURRENT_DAY;
        column[L_SHIPINSTRUCT][row] = between(random, 0, 3);
        column[L_SHIPMODE][row] = between(random, 0, 6);
        column[L_COMMENT][row] = phrase(&tables->words[L_COMMENT], random, words, 3);
}

/* Its status and price follow from its lines. */
static void sum_up_order(struct tables *tables, uint32_t row)
{
        int32_t **column = tables->column;
        const uint32_t first = tables->first_line[row], end = tables->first_line[row + 1];
        int64_t total = 0;
        uint32_t open = 0;

        for (uint32_t line = first; line < end; line++) {
                total += (int64_t)column[L_EXTENDEDPRICE][line] * (100 - column[L_DISCOUNT][line]) *
                         (100 + column[L_TAX][line]) / 10000;
                open += (uint32_t)column[L_LINESTATUS][line];
        }
        column[O_TOTALPRICE][row] = (int32_t)total;
        column[O_ORDERSTATUS][row] = open == 0 ? 0 : open == end - first ? 1 : 2;
}

static void fill_order(struct tables *tables, uint32_t row, uint64_t *random)
{
        int32_t **column = tables->column;
        char clerk[WORD_MAX];

        column[O_ORDERKEY][row] = (int32_t)row + 1;
        column[O_CUSTKEY][row] = between(random, 1, (int32_t)(tables->rows[ORDERS] / 10 + 1));
        column[O_ORDERDATE][row] = between(random, 0, LAST_ORDER_DAY);
        column[O_ORDERPRIORITY][row] = between(random, 0, 4);
        snprintf(clerk, sizeof(clerk), "Clerk#%09d", between(random, 1, (int32_t)(tables->rows[ORDERS] / 1500 + 1)));
        column[O_CLERK][row] = dictionary_code(&tables->words[O_CLERK], clerk);
        column[O_COMMENT][row] = phrase(&tables->words[O_COMMENT], random, words, 4);
        for (uint32_t line = tables->first_line[row]; line < tables->first_line[row + 1]; line++)
                fill_line(tables, line, row, (int32_t)(line - tables->first_line[row]) + 1, random);
        sum_up_order(tables, row);
}

static uint32_t scaled(uint32_t whole, uint64_t permille)
{
        const uint64_t rows = whole * permille / 1000;
        return rows ? (uint32_t)rows : 1;
}

int generator_run(struct tables *tables, uint64_t scale_permille, uint64_t seed)
{
        uint64_t random = seed * 2654435761u + 88172645463325252u;
        uint32_t rows[TABLES] = {
                [ORDERS] = scaled(ORDERS_PER_SCALE, scale_permille), [PART] = scaled(PARTS_PER_SCALE, scale_permille)
        };
        uint32_t *lines = malloc((size_t)rows[ORDERS] * sizeof(*lines));
        int err = lines ? 0 : -ENOMEM;

        for (uint32_t row = 0; lines && row < rows[ORDERS]; row++)
                rows[LINEITEM] += lines[row] = (uint32_t)between(&random, 1, LINES_MAX);
        if (!err)
                err = tables_make(tables, rows);
        if (err)
                goto done;
        enter_lists(tables);
        for (uint32_t row = 0; row < rows[PART]; row++)
                fill_part(tables, row, &random);
        for (uint32_t row = 0; row < rows[ORDERS]; row++) {
                tables->first_line[row + 1] = tables->first_line[row] + lines[row];
                fill_order(tables, row, &random);
        }
done:
        free(lines);
        return err;
}
