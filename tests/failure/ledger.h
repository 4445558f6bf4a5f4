/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILURE_LEDGER_H
#define TESTS_FAILURE_LEDGER_H

/*
 * A durable environment of which the content after each commit is known, as a machine crash left it, and its
 * files byte by byte in memory: to damage them, to open what comes of it, and to judge.
 *
 * Commits are numbered; the number of the newest stands in the first word of the first file. Commit k changes
 * what its number and the seed say, for the environment and for memory alike. Two of them rewrite every
 * page, so that the log from the second one on needs nothing that stands at home.
 *
 *      commits   1 (all pages) ... 5 | checkpoint | 6 ... 12 (all pages) ... 26 | power cut
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/xac.h>

enum {
        LEDGER_FILES = 2,
        LEDGER_PAGES = 8, /* of each file */
        LEDGER_PAGE = 4096,
        LEDGER_BYTES = LEDGER_FILES * LEDGER_PAGES * LEDGER_PAGE,
        LEDGER_CHECKPOINT = 5,
        LEDGER_LARGE = 12,
        LEDGER_NEWEST = 26,
        LEDGER_ENTRIES = 32
};

struct ledger_file {
        char name[64];
        unsigned char *bytes;
        size_t byte_len;
        bool is_gone;
};

/* The files of a directory, except for the lock file, in alphabetical order. */
struct ledger_image {
        uint32_t count;
        struct ledger_file file[LEDGER_ENTRIES];
};

struct ledger {
        char path[512];
        uint64_t seed;
        unsigned char (*content)[LEDGER_BYTES]; /* [k]: after commit k */
        struct ledger_image image;              /* as the crash left them */
        uint64_t end[LEDGER_NEWEST + 1];        /* of commit k's record in the log; 0: it is not in there */
        uint64_t group_end[LEDGER_NEWEST + 1];
        uint64_t segment_bytes;
        uint64_t base; /* the commit of the checkpoint */
};

/* Makes it in the scratch directory: a process commits, is killed, and its shared memory goes. */
void ledger_make(struct ledger *ledger, const char *name, uint64_t seed);

/* ---- Images ---- */

void ledger_copy(struct ledger_image *copy, const struct ledger_image *image);
void ledger_free(struct ledger_image *image);
struct ledger_file *ledger_find(struct ledger_image *image, const char *name); /* or NULL */
struct ledger_file *ledger_file(struct ledger_image *image, const char *name);
void ledger_set_bytes(struct ledger_file *file, const struct ledger_file *from);
void ledger_cut(struct ledger_file *file, size_t byte_len);
/* Adds an empty one. */
struct ledger_file *ledger_add(struct ledger_image *image, const char *name);
/* Puts exactly these files on the disk. */
void ledger_store(const struct ledger *ledger, const struct ledger_image *image);
/* Nothing on the disk differs from the image, but for pages that recovery has restored from the double-
 * write buffer before it came to the damage (recover.h). */
void ledger_check_unchanged(const struct ledger *ledger, const struct ledger_image *image);

/* Which segment a file of the log holds, and which double-write buffer the manifest names (-1: none). */
bool ledger_segment(const struct ledger *ledger, const struct ledger_file *file, uint64_t *segment_no);
int ledger_buffer(const struct ledger *ledger);

/* ---- Opening ---- */

/* Opens the directory as it is: the code; *commits is then how many it holds, whose content has been
 * checked to the last byte. */
int ledger_open(const struct ledger *ledger, uint64_t *commits);
/* Commits once more, and looks whether it is there when it has been closed and opened again. */
void ledger_go_on(const struct ledger *ledger);
void ledger_close(void);

/* Stores the image, opens and judges: either a code that says that there is damage, with nothing on the
 * disk changed, or at least `fewest` of the commits. The code. `what` and `at` name the damage for people. */
int ledger_try(const struct ledger *ledger, const struct ledger_image *image, uint64_t fewest, const char *what,
               uint64_t at);

#endif
