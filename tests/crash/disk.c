/* SPDX-License-Identifier: MIT */
#include "tests/crash/disk.h"

#include <stdlib.h>
#include <string.h>

#include "tests/crash/disk_parts.h"
#include "tests/support/check.h"

struct disk *disk_new(uint64_t directory)
{
        struct disk *disk = calloc(1, sizeof(*disk));

        check(disk != NULL);
        disk->directory = directory;
        return disk;
}

void disk_free(struct disk *disk)
{
        for (unsigned i = 0; i < disk->file_count; i++) {
                struct disk_file *file = disk->files[i];

                for (uint64_t s = 0; s < file->sector_count; s++)
                        cell_free(file->sectors[s]);
                cell_empty(&file->size);
                free(file->sectors);
                free(file->base);
                free(file);
        }
        for (unsigned i = 0; i < disk->name_count; i++) {
                cell_empty(&disk->names[i]->file);
                free(disk->names[i]);
        }
        free(disk->cells);
        free(disk);
}

/* ---- Files and names ---- */

/* The newest of this inode number: those before it have been removed. NULL: it is not in our directory. */
static struct disk_file *find_file(struct disk *disk, uint64_t inode)
{
        for (unsigned i = disk->file_count; i > 0; i--)
                if (disk->files[i - 1]->inode == inode)
                        return disk->files[i - 1];
        return NULL;
}

static struct disk_name *find_name(struct disk *disk, const char *name)
{
        struct disk_name *found;

        for (unsigned i = 0; i < disk->name_count; i++)
                if (strcmp(disk->names[i]->name, name) == 0)
                        return disk->names[i];
        check(disk->name_count < IMAGE_FILES * 2 && strlen(name) < IMAGE_NAME_BYTES);
        found = calloc(1, sizeof(*found));
        check(found != NULL);
        strcpy(found->name, name);
        found->file.kind = CELL_NAME;
        disk->names[disk->name_count] = found;
        found->file.index = disk->name_count++;
        return found;
}

static void add_file(struct disk *disk, const struct trace_event *event, uint64_t place)
{
        struct disk_file *file = calloc(1, sizeof(*file));

        check(file != NULL && disk->file_count < DISK_FILES_MAX);
        file->inode = event->file;
        file->size.kind = CELL_SIZE;
        file->size.index = disk->file_count;
        disk->files[disk->file_count++] = file;
        cell_add_value(&find_name(disk, (const char *)event->bytes)->file, disk->file_count, place);
}

static void add_link(struct disk *disk, const struct trace_event *event, uint64_t place)
{
        const char *from = (const char *)event->bytes, *to = from + strlen(from) + 1;

        cell_add_value(&find_name(disk, to)->file, cell_value(&find_name(disk, from)->file), place);
}

/* ---- Bytes ---- */

static void make_room(struct disk_file *file, uint64_t byte_len)
{
        uint64_t count = (byte_len + DISK_SECTOR - 1) / DISK_SECTOR;

        if (count <= file->sector_count)
                return;
        count = count + count / 2 + 16;
        file->base = realloc(file->base, count * DISK_SECTOR);
        file->sectors = realloc(file->sectors, count * sizeof(struct cell *));
        check(file->base != NULL && file->sectors != NULL);
        memset(file->base + file->sector_count * DISK_SECTOR, 0, (count - file->sector_count) * DISK_SECTOR);
        memset(file->sectors + file->sector_count, 0, (count - file->sector_count) * sizeof(struct cell *));
        file->sector_count = count;
}

static struct cell *sector_cell(struct disk_file *file, uint64_t sector)
{
        struct cell *cell = file->sectors[sector];

        if (!cell) {
                cell = file->sectors[sector] = calloc(1, sizeof(*cell));
                check(cell != NULL);
                cell->kind = CELL_SECTOR;
                cell->index = file->size.index;
                cell->sector = sector;
        }
        cell->base = file->base + sector * DISK_SECTOR;
        return cell;
}

/* Puts bytes (NULL: zeros) over [offset, offset + byte_len), sector by sector. */
static void put_bytes(struct disk_file *file, uint64_t offset, uint64_t byte_len, const unsigned char *bytes,
                      uint64_t place, bool is_done)
{
        make_room(file, offset + byte_len);
        while (byte_len > 0) {
                uint64_t sector = offset / DISK_SECTOR, in_sector = offset % DISK_SECTOR;
                uint64_t piece = DISK_SECTOR - in_sector < byte_len ? DISK_SECTOR - in_sector : byte_len;

                cell_add_bytes(sector_cell(file, sector), in_sector, piece, bytes, place, is_done);
                bytes = bytes ? bytes + piece : NULL;
                offset += piece;
                byte_len -= piece;
        }
}

static void apply_write(struct disk_file *file, const struct trace_event *event, uint64_t place)
{
        put_bytes(file, event->offset, event->bytes_len, event->bytes, place, false);
        cell_add_end(&file->size, event->offset + event->bytes_len, place);
}

/* What lies beyond the new end reads as zeros should the file grow again. */
static void apply_size(struct disk_file *file, uint64_t size, uint64_t place)
{
        uint64_t old = cell_value(&file->size);

        if (size < old)
                put_bytes(file, size, old - size, NULL, place, true);
        if (size != old)
                cell_add_value(&file->size, size, place);
}

/* ---- Ends of calls ---- */

static void each_sector(struct disk_file *file, void (*visit)(struct cell *cell, uint64_t a, uint64_t b), uint64_t a,
                        uint64_t b)
{
        for (uint64_t s = 0; s < file->sector_count; s++) {
                struct cell *cell = file->sectors[s];

                if (!cell)
                        continue;
                cell->base = file->base + s * DISK_SECTOR;
                visit(cell, a, b);
                if (cell->count == 0) {
                        cell_free(cell);
                        file->sectors[s] = NULL;
                }
        }
        visit(&file->size, a, b);
}

static void mark_done(struct cell *cell, uint64_t write, uint64_t place)
{
        for (unsigned i = 0; i < cell->count; i++)
                if (cell->versions[i].write == write)
                        cell->versions[i].done_at = place;
}

static void drop_write(struct cell *cell, uint64_t write, uint64_t place)
{
        (void)place;
        cell_drop(cell, write);
}

static void settle_write(struct cell *cell, uint64_t write, uint64_t place)
{
        mark_done(cell, write, place);
        for (unsigned i = cell->count; i > 0; i--)
                if (cell->versions[i - 1].write == write) {
                        cell_settle(cell, i);
                        return;
                }
}

static void settle_before(struct cell *cell, uint64_t before, uint64_t unused)
{
        (void)unused;
        cell_settle(cell, cell_count_before(cell, before));
}

/* Whether a crash may leave a name that leads to it. */
static bool may_have_name(const struct disk *disk, const struct disk_file *file)
{
        const uint64_t value = (uint64_t)file->size.index + 1;

        for (unsigned i = 0; i < disk->name_count; i++) {
                const struct cell *name = &disk->names[i]->file;

                if (name->base_value == value)
                        return true;
                for (unsigned v = 0; v < name->count; v++)
                        if (name->versions[v].value == value)
                                return true;
        }
        return false;
}

/* Who is overtaken in the middle of a write goes on writing to a file that was replaced before (R31): bytes that change
 * meanwhile reach nobody. */
static const char *apply_written(struct disk *disk, const struct trace_event *event, uint64_t place, uint64_t wanted)
{
        struct disk_file *file = find_file(disk, event->file);

        if (!file)
                return NULL;
        if (event->flags & TRACE_IS_UNSTABLE && may_have_name(disk, file))
                return "bytes changed while they were being written";
        if (event->value < 0)
                each_sector(file, drop_write, event->begin, place);
        else if ((uint64_t)event->value != wanted)
                return "a short write: the model knows whole ones only";
        else
                each_sector(file, event->flags & TRACE_IS_DURABLE ? settle_write : mark_done, event->begin, place);
        return NULL;
}

static void apply_synced(struct disk *disk, const struct trace_event *event)
{
        struct disk_file *file = find_file(disk, event->file);

        if (file)
                each_sector(file, settle_before, event->begin, 0);
        if (event->file != disk->directory)
                return;
        for (unsigned i = 0; i < disk->name_count; i++)
                settle_before(&disk->names[i]->file, event->begin, 0);
}

static void apply_base(struct disk *disk)
{
        for (unsigned i = 0; i < disk->file_count; i++)
                each_sector(disk->files[i], settle_before, UINT64_MAX, 0);
        for (unsigned i = 0; i < disk->name_count; i++)
                settle_before(&disk->names[i]->file, UINT64_MAX, 0);
}

static const char *apply_bytes(struct disk *disk, const struct trace_event *event, uint64_t place)
{
        struct disk_file *file = find_file(disk, event->file);

        if (!file)
                return NULL;
        if (event->kind == TRACE_WRITE)
                apply_write(file, event, place);
        else if (event->kind == TRACE_SIZE || (uint64_t)event->value > cell_value(&file->size))
                apply_size(file, (uint64_t)event->value, place);
        return NULL;
}

const char *disk_apply(struct disk *disk, const struct trace_event *event, uint64_t place)
{
        switch ((enum trace_kind)event->kind) {
        case TRACE_FILE:
                add_file(disk, event, place);
                break;
        case TRACE_LINK:
                add_link(disk, event, place);
                break;
        case TRACE_RENAME: /* the two names may reach the disk apart: no file system is worse than that */
                add_link(disk, event, place);
                cell_add_value(&find_name(disk, (const char *)event->bytes)->file, 0, place);
                break;
        case TRACE_UNLINK:
                cell_add_value(&find_name(disk, (const char *)event->bytes)->file, 0, place);
                break;
        case TRACE_SIZE:
        case TRACE_EXTEND:
        case TRACE_WRITE:
                return apply_bytes(disk, event, place);
        case TRACE_WRITTEN: {
                const unsigned char *events = (const unsigned char *)event - place;
                const struct trace_event *write = (const void *)(events + event->begin);

                return apply_written(disk, event, place, write->bytes_len);
        }
        case TRACE_SYNCED:
                apply_synced(disk, event);
                break;
        case TRACE_BASE:
                apply_base(disk);
                break;
        default:
                break;
        }
        return NULL;
}
