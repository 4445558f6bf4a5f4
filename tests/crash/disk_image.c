/* SPDX-License-Identifier: MIT */
#include "tests/crash/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/crash/disk_parts.h"
#include "tests/support/check.h"

/* ---- Cells ---- */

static void gather(struct disk *disk, struct cell *cell)
{
        if (!cell || cell->count == 0)
                return;
        if (disk->cell_count == disk->cell_room) {
                disk->cell_room = disk->cell_room * 2 + 256;
                disk->cells = realloc(disk->cells, disk->cell_room * sizeof(struct cell *));
                check(disk->cells != NULL);
        }
        cell->number = disk->cell_count;
        disk->cells[disk->cell_count++] = cell;
}

unsigned disk_cells(struct disk *disk)
{
        disk->cell_count = 0;
        for (unsigned i = 0; i < disk->name_count; i++)
                gather(disk, &disk->names[i]->file);
        for (unsigned i = 0; i < disk->file_count; i++) {
                struct disk_file *file = disk->files[i];

                gather(disk, &file->size);
                for (uint64_t s = 0; s < file->sector_count; s++) {
                        gather(disk, file->sectors[s]);
                        if (file->sectors[s])
                                file->sectors[s]->base = file->base + s * DISK_SECTOR;
                }
        }
        return disk->cell_count;
}

unsigned disk_cell_versions(const struct disk *disk, unsigned cell)
{
        return disk->cells[cell]->count;
}

bool disk_cell_is_sector(const struct disk *disk, unsigned cell)
{
        return disk->cells[cell]->kind == CELL_SECTOR;
}

bool disk_cell_is_live(const struct disk *disk, unsigned cell)
{
        return cell_is_live(disk->cells[cell]);
}

uint64_t disk_cell_write(const struct disk *disk, unsigned cell)
{
        const struct cell *it = disk->cells[cell];

        return it->versions[it->count - 1].write;
}

static const char *name_of_file(const struct disk *disk, unsigned index)
{
        for (unsigned i = 0; i < disk->name_count; i++) {
                const struct cell *cell = &disk->names[i]->file;

                if (cell->base_value == index + 1)
                        return disk->names[i]->name;
                for (unsigned v = 0; v < cell->count; v++)
                        if (cell->versions[v].value == index + 1)
                                return disk->names[i]->name;
        }
        return "a removed file";
}

void disk_cell_describe(const struct disk *disk, unsigned number, char text[128])
{
        const struct cell *cell = disk->cells[number];

        if (cell->kind == CELL_NAME)
                snprintf(text, 128, "name %s", disk->names[cell->index]->name);
        else if (cell->kind == CELL_SIZE)
                snprintf(text, 128, "size of %s (%llu ... %llu)", name_of_file(disk, cell->index),
                         (unsigned long long)cell->base_value, (unsigned long long)cell_value(cell));
        else
                snprintf(text, 128, "%s offset %llu", name_of_file(disk, cell->index),
                         (unsigned long long)cell->sector * DISK_SECTOR);
}

/* ---- Images ---- */

static uint64_t chosen_value(const struct cell *cell, const uint8_t *choice)
{
        return cell->count == 0 ? cell->base_value : cell_choose_value(cell, choice[cell->number]);
}

static void compose_file(const struct disk_file *file, const uint8_t *choice, struct image_file *out)
{
        unsigned char sector[DISK_SECTOR];
        uint64_t have = file->sector_count * DISK_SECTOR;

        memcpy(out->bytes, file->base, out->size < have ? out->size : have);
        for (uint64_t at = 0; at < out->size && at < have; at += DISK_SECTOR) {
                const struct cell *cell = file->sectors[at / DISK_SECTOR];

                if (!cell || choice[cell->number] == 0)
                        continue;
                cell_choose_bytes(cell, choice[cell->number], sector);
                memcpy(out->bytes + at, sector, out->size - at < DISK_SECTOR ? out->size - at : DISK_SECTOR);
        }
}

void disk_image(const struct disk *disk, const uint8_t *choice, struct image *image)
{
        image_clear(image);
        for (unsigned i = 0; i < disk->name_count; i++) {
                const struct disk_name *name = disk->names[i];
                uint64_t file = chosen_value(&name->file, choice);

                if (file == 0)
                        continue;
                struct image_file *out =
                        image_add(image, name->name, chosen_value(&disk->files[file - 1]->size, choice));
                if (out->size > 0 && disk->files[file - 1]->sector_count > 0)
                        compose_file(disk->files[file - 1], choice, out);
        }
}
