/* SPDX-License-Identifier: MIT */
#ifndef XAC_ARENA_H
#define XAC_ARENA_H

/*
 * Where search structures live: pages with numbers, in plain or rewired memory, in a plain file, or in a data file of
 * an environment. The structures are serial code over an arena; the arena decides what that code becomes:
 *
 *         xac_arena_open_memory()   malloc, as it were: one thread, gone afterwards
 *         xac_arena_open_rewired()  the same in a pool of <xac/rewire.h>: its pages may be seen in several places
 *         xac_arena_open_file()     a mapped file: one thread of one process, no atomicity, no durability
 *         xac_arena_open_env()      transactions: XAC_ARENA_VIEW by plain pointers into a view,
 *                                    XAC_ARENA_DECLARED by xac_page_read() and xac_page_write()
 *         xac_arena_open_snapshot() what a data file was when a snapshot was opened
 *
 * An arena of an environment belongs to the thread that opened it; each thread, of whatever process, opens its own on
 * the same file. All arenas of a file have the same pages, whichever way they came in.
 *
 * Functions return 0 or a negative number, which xac_strerror() explains.
 */

#include <stdint.h>

#include <xac/xac.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xac_arena xac_arena;

enum xac_arena_access {
        XAC_ARENA_VIEW = 1,    /* plain loads and stores; page faults tell libxac of them */
        XAC_ARENA_DECLARED = 2 /* each access to a page is declared; no faults, exact read sets; faster */
};

/* page_bytes: a power of two from 4096 to 65536, 0 = 4096. max_bytes: the address space it may grow into, 0 = 16 GiB.
 * -EINVAL, -ENOMEM. */
int xac_arena_open_memory(uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena);

/* The same, and page n is page n of a xac_rewire_pool of its own, for structures that show pages in other places, too.
 * It takes memory 2 MiB at a time, as one page of the kernel's where that has some. page_bytes: only pages of 4096
 * bytes can be rewired: 4096, or 0. -EINVAL (another one, too), -ENOMEM, -EMFILE. */
int xac_arena_open_rewired(uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena);

/* Creates the file when there is none or it is empty. -EINVAL, -ENOMEM, XAC_FORMAT (no arena, or other page_bytes),
 * and the errors of open(2), ftruncate(2) and mmap(2). */
int xac_arena_open_file(const char *path, uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena);

/* The environment's page size counts. Creates the file when there is none or it is empty, in a transaction of its own
 * or the one that is open. XAC_FORMAT (no arena), and the errors of xac_mmap() and xac_run(). */
int xac_arena_open_env(xac_env *env, const char *file, enum xac_arena_access access, xac_arena **arena);

/* A data file as of a snapshot, which is closed after it: for reading, XAC_WROTE for what would write. There may be
 * any number of them, each used by one thread at a time; transactions that are open play no part. -ENOENT, XAC_FORMAT
 * (no arena), and what xac_snapshot_map() says. */
int xac_arena_open_snapshot(xac_snapshot *snapshot, const char *file, xac_arena **arena);

/* Gives back what free pages take on the disk, as malloc_trim(3) does with memory: they become zeros, by transactions
 * of this call (XAC_NOSYNC) beside which others go on, and holes in the file when the next checkpoint takes them home,
 * where the file system has holes (xac_checkpoint() waits for that). The file stays as long as it is. What has been
 * deleted from trees is in the pages no more. *trimmed, unless it is NULL: bytes that were not zeros. `progress`,
 * unless it is NULL, is told now and then how many bytes of the file were looked at; what it returns that is not 0 ends
 * the call, and is returned. -EBUSY: a transaction is open; XAC_WROTE: it is a snapshot's; the errors of xac_run(). */
int xac_arena_trim(xac_arena *arena, int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                   uint64_t *trimmed);

/* Its trees are closed by now, and no transaction is open (-EBUSY). */
int xac_arena_close(xac_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
