/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ARCHIVE_HEADER_H
#define RECOVERY_ARCHIVE_HEADER_H

/*
 * The header of an archived part between memory and bytes (archive_format.h has the table), and the names of such
 * files. Decoding trusts nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recovery/archive_format.h"
#include "recovery/manifest.h"

struct archive_part {
        uint8_t uuid[16];
        uint64_t segment_bytes;
        uint32_t page_bytes;
        uint32_t header_bytes; /* encoding fills it in */
        uint64_t from;
        uint64_t to;
        struct manifest_session session;
        uint64_t first_record;
        uint64_t next_record;
        uint64_t before;
        uint64_t last;
        uint64_t oldest;
        uint64_t first_ns;
        uint64_t last_ns;
        uint64_t earliest_ns; /* of its groups, by the machine's clock; 0: not known */
        uint64_t back_ns;     /* so far was that behind first_ns to last_ns, at most: somebody has set it back */
        uint32_t packing;
        uint32_t packed_checksum;
        uint64_t packed_bytes;
};

struct archive_file {
        char name[MANIFEST_NAME_BYTES];
        struct manifest_place place;
        uint64_t byte_len;
};

/* The data files of the environment. */
struct archive_files {
        uint32_t count;
        struct archive_file file[MANIFEST_FILES];
};

/* Writes part->header_bytes, at most ARCHIVE_HEADER_MAX. */
void archive_header_encode(unsigned char *bytes, struct archive_part *part, const struct archive_files *files);
/* `byte_len` bytes of the file's beginning are there. `files` may be NULL. 0, XAC_CORRUPT or XAC_FORMAT. */
int archive_header_decode(const unsigned char *bytes, size_t byte_len, struct archive_part *part,
                          struct archive_files *files);

void archive_file_name(char name[ARCHIVE_NAME_BYTES], uint64_t from, uint64_t to, uint32_t incarnation);
/* Is it one, exactly as archive_file_name writes it? */
bool archive_file_numbers(const char *name, uint64_t *from, uint64_t *to, uint32_t *incarnation);

#endif
