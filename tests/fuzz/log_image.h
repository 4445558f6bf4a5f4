/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_LOG_IMAGE_H
#define TESTS_FUZZ_LOG_IMAGE_H

/*
 * A log in memory for the fuzzer of the reader: four segments in a row and the files that hold them, to which
 * anything may be done; and what each of its bytes means, read without any cleverness.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/log_header.h"
#include "recovery/log_record.h"

enum {
        LOG_IMAGE_SEGMENT = 16 * 1024,
        LOG_IMAGE_SEGMENTS = 4,
        LOG_IMAGE_BYTES = LOG_IMAGE_SEGMENT * LOG_IMAGE_SEGMENTS,
        LOG_IMAGE_FILES = LOG_IMAGE_SEGMENTS + 1, /* one is a stranger: not there at first */
        LOG_IMAGE_RECORDS = 256,
        LOG_IMAGE_INCARNATION = 5
};

extern const uint8_t log_image_uuid[16];

struct log_image_file {
        bool is_there;
        struct log_header header; /* what was meant */
        unsigned char block[LOG_HEADER_BYTES];
        uint64_t byte_len;
};

struct log_image {
        uint64_t first; /* position of bytes[0]: the start of a segment */
        uint64_t begin; /* where reading begins */
        uint64_t end;   /* where the next record goes */
        uint64_t durable;
        uint32_t incarnation;
        bool is_raw; /* the reader is told `incarnation` rather than the usual one */
        uint32_t record_count;
        uint64_t record[LOG_IMAGE_RECORDS];
        struct log_image_file file[LOG_IMAGE_FILES]; /* file i holds segment i of `bytes` */
        unsigned char bytes[LOG_IMAGE_BYTES + 8];    /* a number may be read at the end */
};

/* ---- Making ---- */

void log_image_begin(struct log_image *image, uint64_t position);
unsigned char *log_image_at(struct log_image *image, uint64_t position);
/* Position, durable, incarnation and checksums are filled in. Nothing, where there is no room. */
void log_image_put(struct log_image *image, struct log_record *record, const unsigned char *payload);
void log_image_close_group(struct log_image *image);
/* Makes the checksums of the record right again, if its payload ends within the image. */
void log_image_seal(struct log_image *image, unsigned char *bytes);
void log_image_store(struct log_image *image);

/* ---- Reading ---- */

/* May a reader open these files? 0, XAC_CORRUPT or XAC_FORMAT. To be called before those that follow. */
int log_image_judge_files(struct log_image *image, bool *may_be_format);
/* *payload is good until the next call. */
bool log_image_valid(struct log_image *image, uint64_t position, struct log_record *record,
                     const unsigned char **payload);
/* Does a record of this log seem to begin there? */
bool log_image_claims(struct log_image *image, uint64_t position);
/* The first position from there on that a file holds, or UINT64_MAX. */
uint64_t log_image_next_there(uint64_t position);

#endif
