/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_CHOICES_H
#define TESTS_CRASH_CHOICES_H

/*
 * Which of the states that a disk may be in (disk.h) are tried: a choice says of each uncertain cell what it
 * holds. A choice can be written as text:
 *
 *      old            nothing of what was in flight arrived
 *      new            all of it
 *      old+3:1+7:z    nothing but version 1 of cell 3, and cell 7 is zeros (g: garbage, h: half of each)
 *      new+4:0        all but cell 4
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/crash/disk.h"
#include "tests/support/chance.h"

/* Are sectors harmed as well (DISK_HALF and so on)? Yes, unless told otherwise. */
extern bool choices_harm;

/* Tries one choice; false: enough. */
typedef bool (*choices_take)(void *arg, const uint8_t *choice);

/* Nothing, everything, each write alone or missing, halves, names without bytes, ... */
bool choices_structured(const struct disk *disk, unsigned cells, choices_take take, void *arg);
/* Every one, if there are at most `limit`; zeros and garbage apart. */
bool choices_all(const struct disk *disk, unsigned cells, uint64_t limit, choices_take take, void *arg);
/* `count` drawn ones. */
bool choices_random(const struct disk *disk, unsigned cells, struct chance *chance, unsigned count, choices_take take,
                    void *arg);

/* text has room for CHOICES_TEXT bytes. */
enum { CHOICES_TEXT = 4096 };
void choices_print(const struct disk *disk, unsigned cells, const uint8_t *choice, char *text);
bool choices_parse(const struct disk *disk, unsigned cells, const char *text, uint8_t *choice);

#endif
