/* SPDX-License-Identifier: MIT */
#include "tests/crash/choices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

enum { SINGLES = 12 };

bool choices_harm = true;

/* What is being made. */
struct maker {
        const struct disk *disk;
        unsigned cells;
        uint8_t *choice;
        choices_take take;
        void *arg;
};

static void begin(struct maker *maker, const struct disk *disk, unsigned cells, choices_take take, void *arg)
{
        *maker = (struct maker){ .disk = disk, .cells = cells, .take = take, .arg = arg };
        maker->choice = calloc(cells + 1, 1);
        check(maker->choice != NULL);
}

static bool end(struct maker *maker, bool goes_on)
{
        free(maker->choice);
        return goes_on;
}

static uint8_t newest(const struct disk *disk, unsigned cell)
{
        return (uint8_t)disk_cell_versions(disk, cell);
}

static void set_all(struct maker *maker, bool is_new)
{
        for (unsigned i = 0; i < maker->cells; i++)
                maker->choice[i] = is_new ? newest(maker->disk, i) : 0;
}

static bool try(struct maker *maker)
{
        return maker->take(maker->arg, maker->choice);
}

/* ---- Structured ---- */

/* Sectors of one kind, names and sizes of the other. */
static bool try_kinds(struct maker *maker)
{
        for (int is_new = 0; is_new < 2; is_new++) {
                for (unsigned i = 0; i < maker->cells; i++)
                        maker->choice[i] =
                                disk_cell_is_sector(maker->disk, i) == (bool)is_new ? newest(maker->disk, i) : 0;
                if (!try(maker))
                        return false;
        }
        return true;
}

/* Every other cell; and the first and the second half of all. */
static bool try_patterns(struct maker *maker)
{
        for (unsigned pattern = 0; pattern < 4; pattern++) {
                for (unsigned i = 0; i < maker->cells; i++) {
                        bool is_new = pattern < 2 ? i % 2 == pattern : (i < maker->cells / 2) == (pattern == 2);

                        maker->choice[i] = is_new ? newest(maker->disk, i) : 0;
                }
                if (!try(maker))
                        return false;
        }
        return true;
}

/* Of the newest few writes in flight, each one alone, and all but that one. */
static bool try_writes(struct maker *maker)
{
        uint64_t before = UINT64_MAX;

        for (unsigned n = 0; n < SINGLES; n++) {
                uint64_t write = 0;

                for (unsigned i = 0; i < maker->cells; i++) {
                        uint64_t of_cell = disk_cell_write(maker->disk, i);

                        if (of_cell < before && of_cell > write)
                                write = of_cell;
                }
                if (write == 0)
                        return true;
                for (int is_alone = 0; is_alone < 2; is_alone++) {
                        for (unsigned i = 0; i < maker->cells; i++)
                                maker->choice[i] = (disk_cell_write(maker->disk, i) == write) == (bool)is_alone
                                                           ? newest(maker->disk, i)
                                                           : 0;
                        if (!try(maker))
                                return false;
                }
                before = write;
        }
        return true;
}

/* A few single cells: alone, missing, half, zero. */
static bool try_singles(struct maker *maker)
{
        unsigned step = maker->cells / SINGLES + 1;

        for (unsigned i = maker->cells % step; i < maker->cells; i += step) {
                set_all(maker, false);
                maker->choice[i] = newest(maker->disk, i);
                if (!try(maker))
                        return false;
                set_all(maker, true);
                maker->choice[i] = 0;
                if (!try(maker))
                        return false;
                maker->choice[i] = (uint8_t)(DISK_HALF + i % 3);
                if (choices_harm && disk_cell_is_sector(maker->disk, i) && !try(maker))
                        return false;
        }
        return true;
}

bool choices_structured(const struct disk *disk, unsigned cells, choices_take take, void *arg)
{
        struct maker maker;
        bool goes_on;

        begin(&maker, disk, cells, take, arg);
        set_all(&maker, false);
        goes_on = try(&maker);
        if (goes_on && cells > 0) {
                set_all(&maker, true);
                goes_on = try(&maker) && try_kinds(&maker) && try_patterns(&maker) && try_writes(&maker) &&
                          try_singles(&maker);
        }
        return end(&maker, goes_on);
}

/* ---- All ---- */

static uint64_t count_all(const struct disk *disk, unsigned cells, uint64_t limit)
{
        uint64_t count = 1;

        for (unsigned i = 0; i < cells && count <= limit; i++)
                if (disk_cell_is_live(disk, i))
                        count *= disk_cell_versions(disk, i) + 1u;
        return count;
}

/* Counts through all combinations like an odometer. */
static bool next_combination(struct maker *maker)
{
        for (unsigned i = 0; i < maker->cells; i++) {
                if (!disk_cell_is_live(maker->disk, i))
                        continue;
                if (maker->choice[i] < disk_cell_versions(maker->disk, i)) {
                        maker->choice[i]++;
                        return true;
                }
                maker->choice[i] = 0;
        }
        return false;
}

bool choices_all(const struct disk *disk, unsigned cells, uint64_t limit, choices_take take, void *arg)
{
        struct maker maker;
        bool goes_on = true;

        if (count_all(disk, cells, limit) > limit)
                return true;
        begin(&maker, disk, cells, take, arg);
        do
                goes_on = try(&maker);
        while (goes_on && next_combination(&maker));
        return end(&maker, goes_on);
}

/* ---- Random ---- */

/* Each cell for itself, more or less likely new. */
static void draw_cells(struct maker *maker, struct chance *chance)
{
        static const unsigned likely[] = { 3, 20, 50, 80, 97 };
        unsigned percent = likely[chance_below(chance, 5)];

        for (unsigned i = 0; i < maker->cells; i++) {
                unsigned versions = disk_cell_versions(maker->disk, i);

                maker->choice[i] = chance_percent(chance, percent) ? (uint8_t)(1 + chance_below(chance, versions)) : 0;
        }
}

/* Each write as a whole, but for one in so many that is torn. */
static void draw_writes(struct maker *maker, struct chance *chance)
{
        uint64_t salt = chance_next(chance);

        for (unsigned i = 0; i < maker->cells; i++) {
                uint64_t coin = chance_mix(disk_cell_write(maker->disk, i) ^ salt);
                bool is_new = coin % 8 == 0 ? chance_percent(chance, 50) != 0 : (coin & 8) != 0;

                maker->choice[i] = is_new ? newest(maker->disk, i) : 0;
        }
}

static void draw_harm(struct maker *maker, struct chance *chance)
{
        unsigned percent = chance_percent(chance, 50) ? 5 : 50;

        for (unsigned i = 0; i < maker->cells; i++)
                if (disk_cell_is_sector(maker->disk, i) && chance_percent(chance, percent))
                        maker->choice[i] = (uint8_t)(DISK_HALF + chance_below(chance, 3));
}

bool choices_random(const struct disk *disk, unsigned cells, struct chance *chance, unsigned count, choices_take take,
                    void *arg)
{
        struct maker maker;
        bool goes_on = true;

        if (cells == 0)
                return true;
        begin(&maker, disk, cells, take, arg);
        for (unsigned i = 0; goes_on && i < count; i++) {
                if (chance_percent(chance, 60))
                        draw_cells(&maker, chance);
                else
                        draw_writes(&maker, chance);
                if (choices_harm && chance_percent(chance, 30))
                        draw_harm(&maker, chance);
                goes_on = try(&maker);
        }
        return end(&maker, goes_on);
}

/* ---- Text ---- */

static const char *const SPECIAL = "hzg"; /* DISK_HALF, DISK_ZERO, DISK_GARBAGE */

static unsigned count_other(const struct disk *disk, unsigned cells, const uint8_t *choice, bool than_new)
{
        unsigned count = 0;

        for (unsigned i = 0; i < cells; i++)
                count += choice[i] != (than_new ? newest(disk, i) : 0);
        return count;
}

void choices_print(const struct disk *disk, unsigned cells, const uint8_t *choice, char *text)
{
        bool than_new = count_other(disk, cells, choice, true) < count_other(disk, cells, choice, false);
        size_t at = (size_t)sprintf(text, than_new ? "new" : "old");

        for (unsigned i = 0; i < cells && at < CHOICES_TEXT - 32; i++) {
                if (choice[i] == (than_new ? newest(disk, i) : 0))
                        continue;
                if (choice[i] >= DISK_HALF)
                        at += (size_t)sprintf(text + at, "+%u:%c", i, SPECIAL[choice[i] - DISK_HALF]);
                else
                        at += (size_t)sprintf(text + at, "+%u:%u", i, choice[i]);
        }
}

bool choices_parse(const struct disk *disk, unsigned cells, const char *text, uint8_t *choice)
{
        bool is_new = strncmp(text, "new", 3) == 0;

        if (!is_new && strncmp(text, "old", 3) != 0)
                return false;
        for (unsigned i = 0; i < cells; i++)
                choice[i] = is_new ? newest(disk, i) : 0;
        for (text += 3; *text == '+';) {
                unsigned long cell = strtoul(text + 1, (char **)(uintptr_t)&text, 10);
                const char *special;

                if (cell >= cells || *text++ != ':' || !*text)
                        return false;
                special = strchr(SPECIAL, *text);
                if (special) {
                        choice[cell] = (uint8_t)(DISK_HALF + (special - SPECIAL));
                        text++;
                } else {
                        choice[cell] = (uint8_t)strtoul(text, (char **)(uintptr_t)&text, 10);
                }
        }
        return *text == '\0';
}
