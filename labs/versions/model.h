/* SPDX-License-Identifier: MIT */
#ifndef LABS_VERSIONS_MODEL_H
#define LABS_VERSIONS_MODEL_H

/*
 * What every commit has written and which snapshots readers hold, kept beside the store. From that follows what each
 * snapshot sees, and which versions have to be there. The store is in memory that the answer can write, and the model
 * is not: what the store says of snapshots and of the last commit is compared.
 */

#include <stdbool.h>
#include <stddef.h>

#include "labs/versions/store.h"

extern struct store *store;

/* A new store, and nothing written. */
void model_create(void);

/* A commit into the pages of a set, one bit for each; the values are drawn. Fails the test if the store is full. */
void model_commit(unsigned pages);

/* `reader` holds this snapshot, or the one of the last commit, or none. */
void model_hold(int reader, long snapshot);
void model_hold_last(int reader);
void model_let_go(int reader);
long model_held(int reader);
long model_last(void);

/* Do the store and the model agree on snapshots and the last commit? Fails the test if not. */
void model_check_held(void);

/* Of one page; some pages. */
unsigned model_draw_pages(void);

/* The commit whose version of the page a snapshot sees; 0: it sees none. */
long model_visible(int page, long snapshot);

/* Is this slot what the snapshot sees, with the value that was written? Fails the test if not; `who` has looked. */
void model_check_slot(const char *who, int page, long snapshot, int slot);

/* Is all there that the snapshots of readers see, in chains from the newest to the oldest? And is nothing else there:
 * MODEL_EXACT; or at least nothing that is older than what the oldest snapshot sees: MODEL_OLDEST. Calls
 * model_check_held(), too. */
enum model_rule { MODEL_OLDEST, MODEL_EXACT };
void model_check(enum model_rule rule);

/* How many versions somebody sees; how many a rule keeps. */
int model_count(enum model_rule rule);

/* The versions of a page, and who sees them. */
void model_show_page(int page, char *text, size_t text_bytes);

/* For steps_show(). */
void field_name(size_t offset, char *name, size_t name_bytes);

#endif
