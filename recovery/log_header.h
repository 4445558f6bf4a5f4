/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_LOG_HEADER_H
#define RECOVERY_LOG_HEADER_H

/*
 * The header of a segment file between memory and bytes (log_format.h has the table), and the names of such
 * files. Decoding trusts nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/log_format.h"

struct log_header {
        uint8_t uuid[16];
        uint64_t segment_no;
        uint64_t segment_bytes;
};

enum { LOG_NAME_BYTES = 64 };

/* Nobody has made so many files. With a higher one there, numbers for the next ones would run out. */
#define LOG_FILE_NO_MAX ((uint32_t)INT32_MAX)

/* A file that is to take the place of file_no's, in this turn of this owner (log_fence.h). */
struct log_new_file {
        uint64_t number;
        uint32_t owner;
        uint32_t file_no;
};

/* Writes the whole block of LOG_HEADER_BYTES, with both copies. */
void log_header_encode(unsigned char *block, const struct log_header *header);
/* Reads either copy. 0; XAC_FORMAT: of another version; XAC_CORRUPT: neither copy is valid. */
int log_header_decode(const unsigned char *block, struct log_header *header);

void log_file_name(char name[LOG_NAME_BYTES], uint32_t file_no);
/* Is it the name of a segment file, exactly as log_file_name writes it? N is 1 and up, below UINT32_MAX. */
bool log_file_number(const char *name, uint32_t *file_no);

void log_new_file_name(char name[LOG_NAME_BYTES], const struct log_new_file *file);
/* Is it such a name? */
bool log_new_file_parse(const char *name, struct log_new_file *file);

#endif
