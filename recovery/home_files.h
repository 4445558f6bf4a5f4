/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_HOME_FILES_H
#define RECOVERY_HOME_FILES_H

/*
 * The data files of an environment that nobody has open, by number: recovery reads pages from them and writes
 * pages home.
 *
 * Growth is durable before any commit to what has grown, so a file that is missing or too short for a page
 * that was committed was removed or cut by somebody else. That is damage: what else it held is lost.
 *
 * Checksums (checksums.h) are read and written with the pages, where files are opened to write.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/double_write.h"
#include "recovery/findings.h"
#include "recovery/manifest.h"

struct home_file {
        const char *name;
        int fd;           /* -1: there is none */
        int why_not;      /* -ENOENT, -ELOOP, ... */
        int checksums_fd; /* -1: there are none, or none to be believed */
        uint64_t settled; /* the block of checksums, counted from 1, in which what a crash has harmed was found last */
        uint64_t size;
        bool is_written; /* since the last sync */
        bool is_harmed;  /* a power cut may have zeroed checksums in blocks that are put right: see settle_hole */
        bool is_reported;
};

struct home_files {
        uint32_t page_bytes;
        uint32_t count;
        struct findings *findings;
        struct home_file file[MANIFEST_FILES];
        bool is_stray_reported; /* a page of no file */
        bool gives_up;          /* to be set: home_files_read says HOME_FILES_LOST */
        bool keeps_unknown;     /* what is put goes on from what is at home */

        unsigned char *run; /* pages put, but not yet written: consecutive ones of one file */
        uint64_t run_page;  /* the first of them */
        uint32_t run_pages;
        bool run_is_zeros;
};

/* Opens those that exist; `manifest` must stay. Failures that are not about one file alone are returned. */
int home_files_open(struct home_files *homes, int directory, const struct manifest *manifest, bool is_to_write,
                    struct findings *findings);
void home_files_close(struct home_files *homes);

/* 0, or XAC_CORRUPT, reported once for each file: it is missing, or no plain file, or too short for this
 * page. */
int home_files_need(struct home_files *homes, uint64_t page);

/* The same for a file of which nothing is known but that the manifest names it. */
int home_files_expect(struct home_files *homes, uint32_t file_no);

/* For people: the file of a page and where it stands there. */
const char *home_files_name(const struct home_files *homes, uint64_t page);
uint64_t home_files_offset(const struct home_files *homes, uint64_t page);

/* Reads what stands at home; what the last page lacks at the file's end reads as zeros. Where files are opened to
 * write, it is compared with its checksum: if it is another page (R29), XAC_CORRUPT, reported; or, if that is
 * wanted, HOME_FILES_LOST. */
enum { HOME_FILES_LOST = 1 };
int home_files_read(struct home_files *homes, uint64_t page, void *bytes);

/* Its checksums are not what they were, and no power cut did that: where they are a hole, nothing is known of its pages
 * from now on. */
int home_files_distrust(struct home_files *homes, uint32_t file_no);

/* Reads the page if it has this CRC, whatever its checksum says. -ENODATA, unreported: it has another, or
 * is not there. */
int home_files_find(const struct home_files *homes, uint64_t page, uint32_t checksum, void *bytes);

/* Of a page that stands at home as it is to be (CP13): it may be in memory only, and its checksum another. Its bytes
 * are not written again, which might tear them (CP11). On disk after home_files_sync only. */
int home_files_keep(struct home_files *homes, const struct page_image *image);

/* Of a page that nobody has any more (CP14): its checksum becomes that of what it was, as far as the double-write
 * buffer tells by a CRC, or one that no page has. What stands at home is left there, and is damaged for everybody.
 * XAC_CORRUPT, reported: there are no checksums to say so, or home_files_need. On disk after home_files_sync only. */
int home_files_lose_known(struct home_files *homes, uint64_t page, uint32_t checksum);
int home_files_lose(struct home_files *homes, uint64_t page);
/* May it be lost so? Reported likewise. */
int home_files_may_lose(struct home_files *homes, uint64_t page);
bool home_files_has_checksums(const struct home_files *homes, uint64_t page);

/* Writes pages home, in runs, and their checksums: `bytes` may change after the call. On disk after home_files_sync
 * only. */
int home_files_put(struct home_files *homes, const struct page_image *image);
int home_files_sync(struct home_files *homes);

#endif
