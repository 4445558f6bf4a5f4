/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_DISK_PARTS_H
#define TESTS_CRASH_DISK_PARTS_H

/*
 * What the model of a disk consists of: for disk.c, which puts events into it, and disk_image.c, which takes images
 * out of it.
 */

#include "tests/crash/disk.h"
#include "tests/crash/disk_cells.h"

enum { DISK_FILES_MAX = 1024 };

struct disk_file {
        uint64_t inode;
        unsigned char *base; /* the certain bytes; zeros where there were none */
        struct cell **sectors;
        uint64_t sector_count; /* in both of these */
        struct cell size;
};

struct disk_name {
        char name[IMAGE_NAME_BYTES];
        struct cell file; /* index + 1 of the file; 0: there is none */
};

struct disk {
        uint64_t directory;
        unsigned file_count, name_count;
        struct disk_file *files[DISK_FILES_MAX];
        struct disk_name *names[IMAGE_FILES * 2];

        unsigned cell_count, cell_room;
        struct cell **cells; /* uncertain now */
};

#endif
