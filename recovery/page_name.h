/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_PAGE_NAME_H
#define RECOVERY_PAGE_NAME_H

/*
 * A page's name, as it stands in the log, in double-write buffers and archives: its file's number above 28 bits, its
 * own number in the file below.
 */

#include <stdint.h>

enum { PAGE_NAME_BITS = 28 };

/* So many pages has a file at most. */
#define PAGE_NAME_NUMBERS (UINT64_C(1) << PAGE_NAME_BITS)

static inline uint64_t page_name(uint64_t file_no, uint64_t page_no)
{
        return file_no << PAGE_NAME_BITS | page_no;
}

static inline uint64_t page_name_file(uint64_t name)
{
        return name >> PAGE_NAME_BITS;
}

static inline uint64_t page_name_number(uint64_t name)
{
        return name & (PAGE_NAME_NUMBERS - 1);
}

#endif
