/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_SNAPSHOT_MAP_H
#define LIBXAC_VIEW_SNAPSHOT_MAP_H

/*
 * A file as of a snapshot, at addresses that all threads of the process may read. Its regions (regions.h) are shown by
 * the fault handler of whichever thread touches them first.
 *
 * When the snapshot is closed, its maps go on the environment's shelf: addresses, chunks and page tables are of use for
 * the next snapshot of the same file, which then only copies what has changed meanwhile. What is on the shelf gives its
 * chunks up when others need them, and all of it after some seconds.
 *
 * A map that needs memory, where all that readers may have is in use, takes it from any other map of the environment,
 * which copies again when it is touched the next time. So a touch never fails for lack of scan_bytes.
 *
 * Maps are listed for the fault handler, which may come at any time, in a table without locks.
 */

#include "libxac/store/env.h"
#include "libxac/store/regions.h"
#include "libxac/view/touch.h"

struct snapshot_map {
        struct regions regions;
        struct xac_env *env;
        uint64_t sequence;
        uint64_t file_len;         /* as long as the file was when it was mapped */
        uint64_t shelved_ns;       /* since when it is on the shelf */
        _Atomic bool is_lending;   /* others may take its chunks: it is open */
        _Atomic uint32_t takers;   /* that are at it */
        struct snapshot_map *next; /* of the snapshot, or on the shelf */
};

/* The file number is open here. Shares what `older`, which may be NULL, shows. Caller holds env->mutex. -ENOMEM,
 * XAC_LIMIT: too many. */
int snapshot_map_take_locked(struct xac_env *env, uint32_t file_no, uint64_t sequence, const struct snapshot_map *older,
                             struct snapshot_map **out);
/* Onto the shelf. Caller holds env->mutex. */
void snapshot_map_shelve_locked(struct snapshot_map *map);
/* Frees what is on the shelf. Caller holds env->mutex, or is alone. */
void snapshot_map_clear_shelf_locked(struct xac_env *env);
/* What is on the shelf gives its memory back: all of it, or what has been there for some seconds. Frees nothing, so
 * that the fault handler and the background thread may call it. */
void snapshot_map_empty_shelf(void *env);
void snapshot_map_tidy_shelf(struct xac_env *env);

/* The map at an address, or NULL. */
struct snapshot_map *snapshot_map_find(const void *addr);
/* A fault in it: NULL: run the access again; else why it cannot be. */
const char *snapshot_map_touch(struct snapshot_map *map, const void *addr, enum touch_access access);
/* Does now what touching each byte would do: for system calls, which do not fault. -EINVAL: not within the file;
 * -ENOMEM: it is more than scan_bytes has room for, or there is no memory; else errors of regions_show. */
int snapshot_map_advise(struct snapshot_map *map, const void *addr, size_t byte_len);
/* The address is in a home mapping of an environment that has snapshots, and could not be read: zeros stand there now.
 * 0: it is in none. */
int snapshot_map_replace_lost_page(const char *addr);

void snapshot_map_forget_in_child(void);

#endif
