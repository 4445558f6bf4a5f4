/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FAILURE_WORLD_H
#define TESTS_FAILURE_WORLD_H

/*
 * An environment whose contents are known: two files, and each page sealed with its file, its
 * number and one value, so that a page that shows anything but its own committed content, or
 * its transaction's own, is found out wherever it is read.
 *
 * What was committed is kept in memory that processes share (world_truth): another process
 * can go on checking when this one has died. A call that fails is an outcome here and never a
 * failed test; contents that are wrong are.
 *
 * While no other process uses the environment, world_audit looks inside: every slot of the
 * pool is free or the newest version of a page.
 *
 * The environment is volatile, or durable (world_set_durable). There a commit may end in XAC_POISONED: it may be
 * visible, and what is found after recovery may have all of it or nothing. Of the commits that end so only the
 * first can have happened at all.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/xac.h>

enum {
        WORLD_FILES = 2,
        WORLD_PAGES = 1280, /* of the truth; files may be shorter */
        WORLD_USUAL_PAGES = 64
};

/* Whether the commit that ended in XAC_POISONED has happened, as far as anybody has seen. */
enum world_doubt { WORLD_UNKNOWN, WORLD_HAPPENED, WORLD_DID_NOT };

struct world_truth {
        uint64_t value[WORLD_FILES][WORLD_PAGES];
        uint64_t doubtful[WORLD_FILES][WORLD_PAGES]; /* by that commit; 0: not written by it */
        enum world_doubt doubt;
        bool is_poisoned;            /* some commit has ended so since the last recovery */
        uint32_t pages[WORLD_FILES]; /* of each file, at least; 0: it may not exist */
        uint64_t last_value;
};
extern struct world_truth *world_truth;

/* This thread's seat. */
struct world {
        xac_env *env;
        char *view[WORLD_FILES];
        bool is_declared;
        bool is_refused; /* a declared access was: the transaction must not commit */
        bool is_odd;     /* an own write was not to be seen: likewise */
        int depth;
        struct world_truth *snapshot;
        struct world_write *writes;
        uint32_t write_count;
};
extern _Thread_local struct world world;

void world_make_truth(void);
void world_set_durable(bool is_durable);
bool world_is_durable(void);
/* The directory, which is empty or does not exist. */
void world_set_directory(const char *path);
const char *world_directory(void);
/* The files of its shared memory. Valid until the next call. */
enum { WORLD_PARTS = 3 };
enum world_part { WORLD_CONTROL, WORLD_HEADS, WORLD_POOL };
const char *world_shared_name(int part);
/* As if the machine had gone down; nobody has it open. */
void world_remove_shared_memory(void);
/* With everything in it, and its shared memory. */
void world_remove_directory(void);

/* Each returns the library's code. */
int world_open(int flags, const xac_options *options);
int world_map(int file, uint32_t pages);
int world_unmap(int file);
int world_close(void);

int world_begin(int flags);
int world_end(void);
int world_abort(void);
/* Beforehand, for a commit of which nobody will tell that it happened. */
void world_note_committed(void);
/* Writes a new value, reads and checks; only in files that are mapped, inside a transaction. */
void world_put(int file, uint32_t page);
void world_get(int file, uint32_t page);
/* One transaction that writes the page, until it has a code other than XAC_CONFLICT. */
int world_commit_one(int file, uint32_t page);
int world_commit_blindly(int file, uint32_t page); /* the same without reading it */

/* xac_run of a transaction that writes the page and loses so many times. */
int world_run(int file, uint32_t page, int losses);

/* Opens, commits one page, closes: the first code that is not 0. An actor's action. */
long long world_visit(uint64_t unused);

/* Opens and maps everything if it is not, and checks everything that was committed; commits more
 * and checks again; audits when `is_alone`; closes. Every call must succeed. If the environment is poisoned,
 * everything that is mapped can be read, and it is closed and, when `is_alone`, opened again before. */
void world_prove(bool is_alone);
void world_audit(void);
/* After the last close: the plain files have what was committed, and nothing is left behind. */
void world_check_files(void);

#endif
