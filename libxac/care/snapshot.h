/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_SNAPSHOT_H
#define LIBXAC_CARE_SNAPSHOT_H

/*
 * A snapshot as an object: a participant that reads one commit for as long as the program likes, with maps of the files
 * as of it (snapshot_map.h). No thread's: any may use it.
 *
 * It pins what it may show like any reader's row, which a takeover frees when its process dies (R16). Others may join
 * it while it is there, by its number (R26).
 */

#include "libxac/store/env.h"

/* XAC_DURABLE or 0. -EINVAL, XAC_FORKED, XAC_LIMIT, -ENOMEM, -ENOSPC. */
int snapshot_open(struct xac_env *env, int flags, xac_snapshot **out);
/* -ESTALE: nobody holds it. */
int snapshot_open_at(struct xac_env *env, uint64_t sequence, xac_snapshot **out);
/* The newest, as the older one was opened. */
int snapshot_refresh(const xac_snapshot *older, xac_snapshot **out);
int snapshot_map_file(xac_snapshot *snapshot, const char *file, const void **base, size_t *byte_len);
uint64_t snapshot_sequence(const xac_snapshot *snapshot);
/* 0: nobody can change what it shows; 1: at rest, and unchanged so far; -ESTALE. */
int snapshot_check(const xac_snapshot *snapshot);
/* -EBUSY: something is open in it. */
int snapshot_close(xac_snapshot *snapshot);
int snapshot_retain(xac_snapshot *snapshot);
/* -EINVAL: it is not retained. */
int snapshot_release(xac_snapshot *snapshot);

/* Pages where they lie, and lent (lending.h). */
int snapshot_find_file(xac_snapshot *snapshot, const char *file, xac_snapshot_file *found);
const char *snapshot_page(const xac_snapshot *snapshot, uint32_t file_no, uint64_t page_no);
int snapshot_lend(xac_snapshot *snapshot, const void *page);
void snapshot_take_back(xac_snapshot *snapshot, const void *page);

#endif
