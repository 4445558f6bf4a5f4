/* SPDX-License-Identifier: MIT */
#include "tests/crash/disk_cells.h"

#include <stdlib.h>
#include <string.h>

#include "tests/crash/disk.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"

void cell_empty(struct cell *cell)
{
        for (unsigned i = 0; i < cell->count; i++)
                free(cell->versions[i].bytes);
        free(cell->versions);
        cell->versions = NULL;
        cell->count = cell->room = 0;
}

void cell_free(struct cell *cell)
{
        if (cell)
                cell_empty(cell);
        free(cell);
}

/* ---- Versions ---- */

static void remove_versions(struct cell *cell, unsigned first, unsigned count)
{
        for (unsigned i = first; i < first + count; i++)
                free(cell->versions[i].bytes);
        cell->count -= count;
        memmove(cell->versions + first, cell->versions + first + count, (cell->count - first) * sizeof(struct version));
}

/* When there are too many, the oldest but one goes: a crash that leaves just that one is not tried. */
static struct version *add_version(struct cell *cell, uint64_t place, bool is_done)
{
        struct version *version;

        if (cell->count == DISK_VERSIONS_MAX)
                remove_versions(cell, 1, 1);
        if (cell->count == cell->room) {
                cell->room = cell->room * 2 + 1;
                cell->versions = realloc(cell->versions, cell->room * sizeof(struct version));
                check(cell->versions != NULL);
        }
        version = &cell->versions[cell->count++];
        *version = (struct version){ .write = place, .done_at = is_done ? place : UINT64_MAX };
        return version;
}

void cell_add_value(struct cell *cell, uint64_t value, uint64_t place)
{
        struct version *version = add_version(cell, place, true);

        version->value = value;
        version->is_whole = true;
}

/* How many versions are below those in flight that reach as far as `end`, or further. */
static unsigned count_below(const struct cell *cell, uint64_t end)
{
        unsigned at = cell->count;

        while (at > 0 && cell->versions[at - 1].done_at == UINT64_MAX && cell->versions[at - 1].value >= end)
                at--;
        return at;
}

/* What is in flight may never end: its writer may have died. What this write makes certain comes below that. */
void cell_add_end(struct cell *cell, uint64_t end, uint64_t place)
{
        unsigned below = count_below(cell, end);
        struct version *newest, added;

        if ((below > 0 ? cell->versions[below - 1].value : cell->base_value) >= end)
                return;
        newest = add_version(cell, place, false);
        newest->value = end;
        newest->is_whole = true;
        added = *newest;
        below = count_below(cell, end);
        memmove(cell->versions + below + 1, cell->versions + below, (cell->count - 1 - below) * sizeof(added));
        cell->versions[below] = added;
}

static const unsigned char *newest_bytes(const struct cell *cell)
{
        return cell->count ? cell->versions[cell->count - 1].bytes : cell->base;
}

void cell_add_bytes(struct cell *cell, uint64_t in_sector, uint64_t byte_len, const unsigned char *bytes,
                    uint64_t place, bool is_done)
{
        unsigned char *copy = malloc(DISK_SECTOR);
        struct version *version;

        check(copy != NULL);
        memcpy(copy, newest_bytes(cell), DISK_SECTOR);
        if (bytes)
                memcpy(copy + in_sector, bytes, byte_len);
        else
                memset(copy + in_sector, 0, byte_len);
        version = add_version(cell, place, is_done);
        version->bytes = copy;
        version->is_whole = byte_len == DISK_SECTOR;
}

/* Versions put over it keep what it brought: calls that fail are not followed so quickly by others. */
void cell_drop(struct cell *cell, uint64_t write)
{
        for (unsigned i = cell->count; i > 0; i--)
                if (cell->versions[i - 1].write == write)
                        remove_versions(cell, i - 1, 1);
}

unsigned cell_count_before(const struct cell *cell, uint64_t before)
{
        unsigned covered = 0;
        bool is_certain = true; /* all before it were done as well */

        for (unsigned i = 0; i < cell->count; i++) {
                bool is_done = cell->versions[i].done_at < before || before == UINT64_MAX;

                if (is_done && (is_certain || cell->versions[i].is_whole))
                        covered = i + 1;
                is_certain = is_certain && is_done;
        }
        return covered;
}

void cell_settle(struct cell *cell, unsigned count)
{
        if (count == 0)
                return;
        cell->base_value = cell->versions[count - 1].value;
        if (cell->kind == CELL_SECTOR)
                memcpy(cell->base, cell->versions[count - 1].bytes, DISK_SECTOR);
        remove_versions(cell, 0, count);
}

/* ---- Choices ---- */

uint64_t cell_value(const struct cell *cell)
{
        return cell->count ? cell->versions[cell->count - 1].value : cell->base_value;
}

bool cell_is_live(const struct cell *cell)
{
        for (unsigned i = 0; i < cell->count; i++) {
                const struct version *version = &cell->versions[i];

                if (cell->kind == CELL_SECTOR ? memcmp(version->bytes, cell->base, DISK_SECTOR) != 0
                                              : version->value != cell->base_value)
                        return true;
        }
        return false;
}

uint64_t cell_choose_value(const struct cell *cell, unsigned choice)
{
        return choice == 0 || choice > cell->count ? cell->base_value : cell->versions[choice - 1].value;
}

static void fill_garbage(const struct cell *cell, unsigned char *sector)
{
        struct chance chance = { .state = cell->sector * 64 + cell->index };

        for (unsigned at = 0; at < DISK_SECTOR; at += 8) {
                uint64_t word = chance_next(&chance);

                memcpy(sector + at, &word, 8);
        }
}

void cell_choose_bytes(const struct cell *cell, unsigned choice, unsigned char *sector)
{
        const unsigned char *newest = newest_bytes(cell);

        if (choice == DISK_GARBAGE) {
                fill_garbage(cell, sector);
        } else if (choice == DISK_ZERO) {
                memset(sector, 0, DISK_SECTOR);
        } else if (choice == DISK_HALF) {
                memcpy(sector, newest, DISK_SECTOR / 2);
                memcpy(sector + DISK_SECTOR / 2, cell->base + DISK_SECTOR / 2, DISK_SECTOR / 2);
        } else {
                memcpy(sector, choice == 0 || choice > cell->count ? cell->base : cell->versions[choice - 1].bytes,
                       DISK_SECTOR);
        }
}
