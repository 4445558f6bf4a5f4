/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_REPLAY_H
#define RECOVERY_REPLAY_H

/*
 * Redo: builds, in memory, the pages that the log's commits changed since the manifest's checkpoint. Home is
 * only read (R17): shifts and moves are not idempotent, so nothing may be applied to a page in its file.
 *
 * Fragments are kept until the commit record that names them comes; those that none names are forgotten. Merged
 * commits are applied like one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/batches.h"
#include "recovery/double_write.h"
#include "recovery/log_record.h"

struct replay;

/* Reads the home content of a page into `bytes`; what lies beyond the file's end reads as zeros. REPLAY_LOST: nobody
 * has it any more (CP14); then what records make of it is lost as well. */
enum { REPLAY_LOST = 1 };
typedef int (*replay_home)(void *arg, uint64_t page, void *bytes);

/* May commits have changed a page? Not 0: no, and why; `arg` is that of replay_home. */
typedef int (*replay_need)(void *arg, uint64_t page);

/* Commits up to `base` are home already. */
int replay_open(uint32_t page_bytes, uint64_t base, replay_home read_home, void *arg, struct replay **replay);
/* Asked of each page before there is memory for it: a log may name any. What it says is returned by replay_record. */
void replay_ask(struct replay *replay, replay_need need);
/* These pages, ascending, stand at commit `target` already (CP3): what commits up to it did to them is passed over. */
void replay_pass_over(struct replay *replay, uint64_t target, const uint64_t *listed, uint32_t count);
void replay_close(struct replay *replay);

/* Takes one record of the log, in order. XAC_CORRUPT: it is valid by its checksums and makes no sense all
 * the same (a fragment is missing, an entry is malformed, a commit is out of order); any bytes may be given.
 * After any error nothing is left to do but to close it. */
int replay_record(struct replay *replay, const struct log_record *record, const unsigned char *payload);

/* The newest commit applied (`base` if none), how many were applied (merged ones each count), and the pages, in
 * ascending order. */
uint64_t replay_sequence(const struct replay *replay);
uint64_t replay_commits(const struct replay *replay);
/* Of a record that will come soon: the beginning of its first entry, not verified. Brings what it will need into the
 * processor's cache; is_near: in a second call, when where to find the page is there. */
void replay_expect(const struct replay *replay, const unsigned char *entry, bool is_near);
uint64_t replay_finish(struct replay *replay); /* sorts; the number of pages; no more records after it */
/* Pages that are lost, ascending; none of the others is one of them. */
const uint64_t *replay_lost(const struct replay *replay, uint32_t *count);
/* What was moved, in applied commits. */
const struct batches_move *replay_moves(const struct replay *replay, uint32_t *count);
struct page_image replay_page(const struct replay *replay, uint64_t i);

#endif
